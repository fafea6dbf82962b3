//! From the CapSet to a running service, or to a refusal that says why.
//!
//! ```text
//!  CapSet → grants → identities → distinct → policy → listen → bound → serve
//! ```
//!
//! Invariants: nothing listens before the grants, the identities and the policy
//! have passed (INV-DISTINCT, INV-POLICY); nothing is accepted before the bound
//! ports have; every refusal is one console line and a non-zero exit.

use core::fmt;

use capos_rt::{Console as ConsoleType, Runtime};
use ingress_ledger::{Instant, Lane, Listener, PerLane};
use remote_session_web_ui::buffers::Buffers;
use remote_session_web_ui::distinct::{self, Bound, Identified};
use remote_session_web_ui::grants::{CapId, Grants, Role};
use remote_session_web_ui::ids::JitterSeed;
use remote_session_web_ui::policy::{self, MarkerSet, Policy};
use remote_session_web_ui::server::{Config, Server, State, WallClock};
use remote_session_web_ui::wire::Identity;

use super::calls::Calls;
use super::clock::Clock;
use super::console::Console;
use super::fault::{Fault, exit};
use super::grants::Entries;
use super::inbox::Inbox;
use super::listeners::Listeners;
use super::refusal::Refusal;
use super::ring::Ring;
use super::serve::{SLOTS, Service};
use super::sockets::{CONNS, Releases, Sockets};
use super::storage::Once;

static CONSOLE: Once<Console> = Once::new(Console::new());
static LISTENERS: Once<Listeners> = Once::new(Listeners::new());
static SOCKETS: Once<Sockets> = Once::new(Sockets::new());
static RELEASE_QUEUE: Once<Releases> = Once::new(Releases::new());
static STATE: Once<State> = Once::new(State::new());
static BUFFERS: Once<Buffers<CONNS, SLOTS>> = Once::new(Buffers::new());

/// A step of the boot sequence: done, refused, or the process is at its end.
type Step<'a, T> = Result<Result<T, Refusal<'a>>, Fault>;

/// What a refused step leaves to do, and what a done one gives.
macro_rules! step {
    ($step:expr) => {
        match $step? {
            Ok(done) => done,
            Err(refusal) => return Ok(Err(refusal)),
        }
    };
}

/// The process's whole life; its exit code.
pub(crate) fn start(runtime: Runtime) -> i64 {
    let Ok(console_cap) = runtime.capset().get_typed::<ConsoleType>(b"console") else {
        // Nowhere to say it.
        return exit::REFUSED;
    };
    // SAFETY: the runtime has checked that this is the ring page of the process,
    // and no ring client is ever asked of it.
    let ring = unsafe { Ring::attach(runtime.ring()) };
    let (Ok(mut ring), Ok(console)) = (ring, CONSOLE.take()) else {
        return exit::FAULT;
    };
    console.open(CapId(console_cap.cap_id()));
    let entries = Entries::read(runtime.capset());
    let prepared = prepare(&mut Calls::new(&mut ring, console), &entries);
    let outcome = match prepared {
        Ok(Ok(prepared)) => serve(&mut ring, console, prepared).map(|()| exit::DONE),
        Ok(Err(refusal)) => {
            console.say(format_args!("[web-ui] refused: {refusal}"));
            Ok(exit::REFUSED)
        }
        Err(fault) => Err(fault),
    };
    let code = outcome.unwrap_or_else(|fault| {
        console.say(format_args!("[web-ui] fault: {fault}"));
        exit::FAULT
    });
    // If the last lines cannot be written, the exit code still says it.
    match Calls::new(&mut ring, console).flush() {
        Ok(()) => code,
        Err(_) if code == exit::DONE => exit::FAULT,
        Err(_) => code,
    }
}

/// What the boot sequence hands to the serve loop.
struct Prepared {
    timer: CapId,
    now: Instant,
    listeners: &'static mut Listeners,
    server: Server<'static, CONNS, SLOTS>,
}

fn prepare<'a>(calls: &mut Calls<'_>, entries: &'a Entries) -> Step<'a, Prepared> {
    let grants = step!(Ok(Grants::collect(entries.iter()).map_err(Refusal::Grants)));
    let identities = step!(identify(calls, &grants));
    let policy = step!(Ok(resolve(entries, &grants, &identities)));
    let now_ns = step!(Ok(calls.now(grants.timer)?.map_err(Refusal::Clock)));
    let now = Instant::from_nanos(now_ns);
    calls.console().say(format_args!("[web-ui] {policy}"));
    let config = Config {
        policy,
        jitter: seed(calls, grants.entropy, now_ns)?,
        now,
    };
    let server = Server::start(STATE.take()?, BUFFERS.take()?, config);
    let mut server = step!(Ok(server.map_err(Refusal::Start)));
    if let Some(wall_clock) = wall_clock(calls, grants.wall_clock)? {
        server.set_wall_clock(wall_clock);
    }
    let listeners = LISTENERS.take()?;
    step!(listen(calls, &grants, &identities, listeners));
    calls
        .console()
        .say(format_args!("[web-ui] ready lanes={}", Lanes(&grants)));
    Ok(Ok(Prepared {
        timer: grants.timer,
        now,
        listeners,
        server,
    }))
}

/// Asks the kernel what each listener is, and proves them pairwise distinct.
fn identify<'a>(calls: &mut Calls<'_>, grants: &Grants) -> Step<'a, PerLane<Option<Identity>>> {
    let mut identities = PerLane::all(None);
    let Some(discriminator) = grants.discriminator else {
        return Ok(Ok(identities));
    };
    let mut before: [Option<(CapId, Identified)>; Lane::ALL.len()] = [None; Lane::ALL.len()];
    for (place, lane) in Lane::ALL.into_iter().enumerate() {
        let Some(cap) = grants.listeners[lane] else {
            continue;
        };
        let identity = step!(Ok(calls
            .identify(discriminator, cap)?
            .map_err(|failure| Refusal::Identify(lane, failure))));
        let own = step!(Ok(
            Identified::new(lane, identity).map_err(Refusal::Distinct)
        ));
        for (other_cap, other) in before.into_iter().flatten() {
            let compared = step!(Ok(calls
                .compare(discriminator, other_cap, cap)?
                .map_err(|failure| Refusal::Identify(lane, failure))));
            step!(Ok(
                distinct::check_pair([other, own], compared).map_err(Refusal::Distinct)
            ));
        }
        if let Some(place) = before.get_mut(place) {
            *place = Some((cap, own));
        }
        identities[lane] = Some(identity);
    }
    Ok(Ok(identities))
}

fn resolve<'a>(
    entries: &Entries,
    grants: &Grants,
    identities: &PerLane<Option<Identity>>,
) -> Result<Policy, Refusal<'a>> {
    let mut markers = MarkerSet::new();
    for grant in entries.iter() {
        if Role::of(grant.name) == Some(Role::Marker) {
            markers
                .add(grant.name)
                .map_err(|error| Refusal::Policy(error.into()))?;
        }
    }
    let listeners = PerLane::from_fn(|lane| match (grants.listeners[lane], identities[lane]) {
        (None, _) => Listener::Absent,
        (Some(_), Some(identity)) if identity.transport_id == 0 && !identity.wildcard => {
            Listener::Loopback
        }
        // What cannot be told to be loopback is not trusted to be.
        (Some(_), _) => Listener::Network,
    });
    policy::resolve(&markers, listeners).map_err(Refusal::Policy)
}

/// The time of day, where it is granted and trusted; answers go undated else.
fn wall_clock(calls: &mut Calls<'_>, granted: Option<CapId>) -> Result<Option<WallClock>, Fault> {
    let Some(cap) = granted else {
        return Ok(None);
    };
    let reading = calls.wall_time(cap)?.ok();
    Ok(reading.map(|time| WallClock {
        unix_seconds: time.unix_seconds,
        at: Instant::from_nanos(time.monotonic_ns),
    }))
}

/// A seed for jitter: random if there is a source, else the clock's.
fn seed(calls: &mut Calls<'_>, entropy: Option<CapId>, now_ns: u64) -> Result<JitterSeed, Fault> {
    let drawn = match entropy {
        Some(entropy) => calls.random(entropy)?.ok(),
        None => None,
    };
    let [a, b, c, d, ..] = now_ns.to_le_bytes();
    Ok(JitterSeed::new(
        drawn.unwrap_or(u32::from_le_bytes([a, b, c, d])),
    ))
}

/// Binds every listener, then checks what was bound.
fn listen<'a>(
    calls: &mut Calls<'_>,
    grants: &Grants,
    identities: &PerLane<Option<Identity>>,
    listeners: &mut Listeners,
) -> Step<'a, ()> {
    let mut bound: [Option<Bound>; Lane::ALL.len()] = [None; Lane::ALL.len()];
    for (place, lane) in bound.iter_mut().zip(Lane::ALL) {
        let Some(authority) = grants.listeners[lane] else {
            continue;
        };
        let (listener, listening) = step!(Ok(calls
            .listen(authority)?
            .map_err(|failure| Refusal::Listen(lane, failure))));
        listeners.open(lane, listener);
        *place = Some(Bound {
            lane,
            port: listening.port,
            identity: identities[lane],
        });
    }
    Ok(distinct::check_bound(bound.into_iter().flatten()).map_err(Refusal::Distinct))
}

/// The lanes that exist, as on the readiness line.
struct Lanes<'a>(&'a Grants);

impl fmt::Display for Lanes<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut separator = "";
        for (lane, listener) in self.0.listeners.iter() {
            if listener.is_some() {
                write!(out, "{separator}{}", lane.name())?;
                separator = ",";
            }
        }
        Ok(())
    }
}

fn serve(ring: &mut Ring, console: &mut Console, prepared: Prepared) -> Result<(), Fault> {
    let mut service = Service {
        ring,
        clock: Clock::new(prepared.timer, prepared.now),
        console,
        listeners: prepared.listeners,
        sockets: SOCKETS.take()?,
        releases: RELEASE_QUEUE.take()?,
        server: prepared.server,
        inbox: Inbox::new(),
        hurry: 0,
    };
    service.run()
}
