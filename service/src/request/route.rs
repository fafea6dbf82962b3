//! The one table of routes: what may be asked for, on which lane, with which method (INV-ROUTES).
//!
//! Denial is the default: a path that is not here, or not for this lane, or not with this method,
//! reaches no handler. What answers it is a small typed denial.

use ingress_ledger::Lane;

use crate::handlers::assets::{self, Asset};
use crate::http::condition::Selected;
use crate::http::head::Head;
use crate::http::method::{Method, Methods};
use crate::http::status::Status;
use crate::http::target::Target;

/// What serves a route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Handler {
    /// A file of the web UI.
    Asset(&'static Asset),
    /// The fixed tiny answer to a probe.
    Health,
    /// Whether the service takes work, for an operator's or a supervisor's check.
    Readiness,
    /// The lanes' counters, for the web UI.
    Ingress,
    /// State, uptime, lanes and permits, for a local operator.
    Status,
    /// Every counter as one capnp record.
    Evidence,
    /// The beginning of a drain.
    Drain,
    /// What the server as a whole allows.
    Options,
}

impl Handler {
    /// What a request's preconditions are about.
    #[must_use]
    pub fn selected(self) -> Selected<'static> {
        match self {
            Self::Asset(asset) => Selected::Tagged(&asset.etag),
            Self::Health | Self::Readiness | Self::Ingress | Self::Status | Self::Evidence => {
                Selected::Untagged
            }
            Self::Drain | Self::Options => Selected::Nothing,
        }
    }
}

/// One route.
#[derive(Debug, PartialEq, Eq)]
pub struct Route {
    /// The path, unescaped; `*` is the server itself.
    pub path: &'static str,
    /// The methods it answers.
    pub methods: Methods,
    /// The lanes that may ask for it.
    pub lanes: &'static [Lane],
    /// Most body bytes it takes; zero: none.
    pub body_bytes_max: usize,
    /// What serves it.
    pub handler: Handler,
}

const READ: Methods = Methods::of(&[Method::Get, Method::Head]);
const POST: Methods = Methods::of(&[Method::Post]);
const OPTIONS: Methods = Methods::of(&[Method::Options]);

const PUBLIC: &[Lane] = &[Lane::Anonymous];
const LOCAL: &[Lane] = &[Lane::LocalHealth];
const EVERY: &[Lane] = &[Lane::Anonymous, Lane::LocalHealth, Lane::ProviderHealth];

const fn route(
    path: &'static str,
    methods: Methods,
    lanes: &'static [Lane],
    handler: Handler,
) -> Route {
    Route {
        path,
        methods,
        lanes,
        body_bytes_max: 0,
        handler,
    }
}

/// Every route there is.
pub static ROUTES: &[Route] = &[
    route("/healthz", READ, EVERY, Handler::Health),
    route("/", READ, PUBLIC, Handler::Asset(&assets::INDEX)),
    route("/style.css", READ, PUBLIC, Handler::Asset(&assets::STYLE)),
    route("/app.js", READ, PUBLIC, Handler::Asset(&assets::SCRIPT)),
    route("/icon.svg", READ, PUBLIC, Handler::Asset(&assets::ICON)),
    route("/favicon.ico", READ, PUBLIC, Handler::Asset(&assets::ICON)),
    route("/robots.txt", READ, PUBLIC, Handler::Asset(&assets::ROBOTS)),
    route("/api/ingress", READ, PUBLIC, Handler::Ingress),
    route("*", OPTIONS, PUBLIC, Handler::Options),
    route("/readyz", READ, LOCAL, Handler::Readiness),
    route("/api/status", READ, LOCAL, Handler::Status),
    route("/api/evidence", READ, LOCAL, Handler::Evidence),
    Route {
        body_bytes_max: 256,
        ..route("/drain", POST, LOCAL, Handler::Drain)
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
pub fn decide(lane: Lane, head: &Head<'_>) -> Result<&'static Route, Denial> {
    let found = ROUTES.iter().find(|route| match head.target {
        Target::Path(path) => path.is(route.path),
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
        decide(lane, &Head::parse(text.as_bytes()).unwrap()).map(|route| route.path)
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
