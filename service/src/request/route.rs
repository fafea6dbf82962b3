//! The one table of routes: what may be asked for, on which lane, with which method (INV-ROUTES).
//!
//! Denial is the default: a path that is not here, or not for this lane, or not with this method,
//! reaches no handler. What answers it is a small typed denial.

use ingress_ledger::Lane;

use crate::handlers::assets::{self, Asset};
use crate::handlers::{self, Handler};
use crate::http::condition::Representation;
use crate::http::head::Head;
use crate::http::method::{Method, Methods};
use crate::http::status::Status;
use crate::http::target::Target;

/// What a request to a route is about, as far as its preconditions go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum About {
    /// Something that is done, or the server itself.
    Action,
    /// Something that is as it is at the moment.
    Present,
    /// A file of the web UI.
    File(&'static Asset),
}

impl About {
    /// What preconditions are compared with.
    #[must_use]
    pub fn representation(self) -> Representation<'static> {
        match self {
            Self::Action => Representation::Nothing,
            Self::Present => Representation::Untagged,
            Self::File(asset) => Representation::Tagged(&asset.etag),
        }
    }
}

/// One route.
#[derive(Debug, Clone, Copy)]
pub struct Route {
    /// The path, unescaped. One that ends in `/*` matches every path with that beginning, and the
    /// handler gets its tail; `*` alone is the server itself. The first route that matches counts.
    pub path: &'static str,
    /// The methods it answers.
    pub methods: Methods,
    /// The lanes that may ask for it.
    pub lanes: &'static [Lane],
    /// Most body bytes it takes; zero: none.
    pub body_bytes_max: usize,
    /// What it is about.
    pub about: About,
    /// Who serves it.
    pub handler: Handler,
}

const READ: Methods = Methods::of(&[Method::Get, Method::Head]);
const POST: Methods = Methods::of(&[Method::Post]);
const OPTIONS: Methods = Methods::of(&[Method::Options]);

const PUBLIC: &[Lane] = &[Lane::Anonymous];
const LOCAL: &[Lane] = &[Lane::LocalHealth];
const EVERY: &[Lane] = &Lane::ALL;

/// A route without a body.
const fn route(
    path: &'static str,
    (methods, about): (Methods, About),
    lanes: &'static [Lane],
    handler: Handler,
) -> Route {
    Route {
        path,
        methods,
        lanes,
        body_bytes_max: 0,
        about,
        handler,
    }
}

/// A route to what is as it is at the moment.
const fn present(path: &'static str, lanes: &'static [Lane], handler: Handler) -> Route {
    route(path, (READ, About::Present), lanes, handler)
}

/// A route to a file.
const fn file(path: &'static str, asset: &'static Asset) -> Route {
    route(
        path,
        (READ, About::File(asset)),
        PUBLIC,
        handlers::file::serve,
    )
}

/// Every route there is.
pub static ROUTES: &[Route] = &[
    present("/healthz", EVERY, handlers::health::serve),
    file("/", &assets::INDEX),
    file("/style.css", &assets::STYLE),
    file("/app.js", &assets::SCRIPT),
    file("/icon.svg", &assets::ICON),
    file("/favicon.ico", &assets::ICON),
    file("/robots.txt", &assets::ROBOTS),
    present("/api/ingress", PUBLIC, handlers::ingress::serve),
    route(
        "*",
        (OPTIONS, About::Action),
        PUBLIC,
        handlers::options::serve,
    ),
    present("/readyz", LOCAL, handlers::readiness::serve),
    present("/api/status", LOCAL, handlers::status::serve),
    present("/api/evidence", LOCAL, handlers::evidence::serve),
    Route {
        body_bytes_max: 256,
        ..route(
            "/drain",
            (POST, About::Action),
            LOCAL,
            handlers::drain::serve,
        )
    },
];

/// Why a request reaches no handler.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Denial {
    /// No route has this path, and the lane is public: nothing is there.
    NotFound,
    /// The path is not one of this lane's.
    NotOnThisLane,
    /// The path is one of this lane's, with other methods.
    MethodNotAllowed(Methods),
    /// The method means nothing here.
    MethodUnknown,
}

impl Denial {
    /// The one status of this denial.
    #[must_use]
    pub const fn status(self) -> Status {
        match self {
            Self::NotFound => Status::NotFound,
            Self::NotOnThisLane => Status::Forbidden,
            Self::MethodNotAllowed(_) => Status::MethodNotAllowed,
            Self::MethodUnknown => Status::NotImplemented,
        }
    }

    /// The stable word for programs.
    #[must_use]
    pub const fn code(self) -> &'static str {
        match self {
            Self::NotFound => "not_found",
            Self::NotOnThisLane => "route_denied",
            Self::MethodNotAllowed(_) => "method_not_allowed",
            Self::MethodUnknown => "method_unknown",
        }
    }

    /// One sentence for people.
    #[must_use]
    pub const fn explain(self) -> &'static str {
        match self {
            Self::NotFound => "There is nothing at this path.",
            Self::NotOnThisLane => "This lane does not serve this path.",
            Self::MethodNotAllowed(_) => "This path does not answer this method.",
            Self::MethodUnknown => "This method is not known here.",
        }
    }
}

/// Finds the route of a request that came in on `lane`.
///
/// # Errors
/// The [`Denial`] that answers it instead.
pub fn decide(
    routes: &'static [Route],
    lane: Lane,
    head: &Head<'_>,
) -> Result<&'static Route, Denial> {
    let found = routes.iter().find(|route| match head.target {
        Target::Path(path) => match route.path.strip_suffix("/*") {
            Some(_) => path.behind(route.path.trim_end_matches('*')).is_some(),
            None => path.is(route.path),
        },
        Target::Server => route.path == "*",
    });
    match (found, head.method) {
        (Some(route), Some(method)) if route.lanes.contains(&lane) => {
            if route.methods.contains(method) {
                Ok(route)
            } else {
                Err(Denial::MethodNotAllowed(route.methods))
            }
        }
        (_, None) => Err(Denial::MethodUnknown),
        (None, Some(_)) if !lane.is_protected() => Err(Denial::NotFound),
        (None | Some(_), Some(_)) => Err(Denial::NotOnThisLane),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decided(lane: Lane, request: &str) -> Result<&'static str, Denial> {
        let text = format!("{request} HTTP/1.1\r\nHost: a\r\n\r\n");
        decide(ROUTES, lane, &Head::parse(text.as_bytes()).unwrap()).map(|route| route.path)
    }

    #[test]
    fn every_route_is_reached_on_its_lanes_and_denied_on_all_others() {
        for route in ROUTES {
            for method in route.methods.iter() {
                for lane in Lane::ALL {
                    let decided = decided(lane, &format!("{} {}", method.name(), route.path));
                    if route.lanes.contains(&lane) {
                        assert_eq!(decided, Ok(route.path));
                    } else {
                        assert_eq!(
                            decided,
                            Err(Denial::NotOnThisLane),
                            "{} {lane:?}",
                            route.path
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn a_provider_reaches_its_probe_and_nothing_else() {
        let reachable: Vec<_> = ROUTES
            .iter()
            .filter(|route| route.lanes.contains(&Lane::ProviderHealth))
            .map(|route| route.path)
            .collect();
        assert_eq!(reachable, ["/healthz"]);
    }

    #[test]
    fn unknown_paths_are_missing_in_public_and_denied_elsewhere() {
        assert_eq!(
            decided(Lane::Anonymous, "GET /nothing"),
            Err(Denial::NotFound)
        );
        for lane in [Lane::LocalHealth, Lane::ProviderHealth] {
            for path in [
                "/nothing",
                "/login",
                "/app.js",
                "/.well-known/acme-challenge/x",
                "/recovery",
            ] {
                assert_eq!(
                    decided(lane, &format!("GET {path}")),
                    Err(Denial::NotOnThisLane)
                );
            }
        }
    }

    #[test]
    fn a_prefix_matches_what_begins_with_it_and_nothing_else() {
        static TABLE: &[Route] = &[
            present("/files/*", PUBLIC, handlers::health::serve),
            present("/*", LOCAL, handlers::health::serve),
        ];
        for (path, expected) in [
            ("/files/", "/files/*"),
            ("/files/a/b", "/files/*"),
            ("/f%69les/a", "/files/*"),
            ("/files", "/*"),
            ("/filesystem/a", "/*"),
        ] {
            let text = format!("GET {path} HTTP/1.1\r\nHost: a\r\n\r\n");
            let head = Head::parse(text.as_bytes()).unwrap();
            let routes = |lane| decide(TABLE, lane, &head).map(|route| route.path);
            let lane = if expected == "/*" {
                Lane::LocalHealth
            } else {
                Lane::Anonymous
            };
            assert_eq!(routes(lane), Ok(expected), "{path}");
        }
    }

    #[test]
    fn other_methods_are_not_allowed_and_unknown_ones_unknown() {
        for lane in Lane::ALL {
            assert_eq!(
                decided(lane, "POST /healthz"),
                Err(Denial::MethodNotAllowed(READ))
            );
            assert_eq!(decided(lane, "BREW /healthz"), Err(Denial::MethodUnknown));
        }
        assert_eq!(
            decided(Lane::LocalHealth, "GET /drain"),
            Err(Denial::MethodNotAllowed(POST))
        );
        assert_eq!(decided(Lane::Anonymous, "OPTIONS *"), Ok("*"));
        assert_eq!(
            decided(Lane::Anonymous, "CONNECT a:443"),
            Err(Denial::MethodUnknown)
        );
    }

    #[test]
    fn only_drain_takes_a_body() {
        assert!(
            ROUTES
                .iter()
                .all(|route| (route.body_bytes_max > 0) == (route.path == "/drain"))
        );
    }
}
