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

use super::calls::{CallError, Calls, optional};
use super::clock::Clock;
use super::console::Console;
use super::fatal::{Fatal, exit};
use super::grants::Entries;
use super::inbox::Inbox;
use super::jobs::{self, Jobs};
use super::listeners::Listeners;
use super::outcome::CallFailure;
use super::refusal::Refusal;
use super::ring::Ring;
use super::serve::{SLOTS, Service};
use super::sockets::{CONNS, Releases, Sockets};
use super::storage::Once;

static CONSOLE: Once<Console> = Once::new(Console::new());
static LISTENERS: Once<Listeners> = Once::new(Listeners::new());
static SOCKETS: Once<Sockets> = Once::new(Sockets::new());
static RELEASE_QUEUE: Once<Releases> = Once::new(Releases::new());
static JOBS: Once<Jobs> = Once::new(Jobs::new());
static STATE: Once<State> = Once::new(State::new());
static BUFFERS: Once<Buffers<CONNS, SLOTS>> = Once::new(Buffers::new());

/// Why the boot sequence goes no further.
enum Stop<'a> {
    /// The service does not serve what it was granted.
    Refused(Refusal<'a>),
    /// The process is at its end.
    Fatal(Fatal),
}

impl<'a, R: Into<Refusal<'a>>> From<R> for Stop<'a> {
    fn from(refusal: R) -> Self {
        Self::Refused(refusal.into())
    }
}

impl From<Fatal> for Stop<'_> {
    fn from(fatal: Fatal) -> Self {
        Self::Fatal(fatal)
    }
}

impl<'a> Stop<'a> {
    /// A call failed that the service cannot do without.
    fn by(error: CallError, refusal: impl FnOnce(CallFailure) -> Refusal<'a>) -> Self {
        match error {
            CallError::Call(failure) => Self::Refused(refusal(failure)),
            CallError::Process(fatal) => Self::Fatal(fatal),
        }
    }
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
        Ok(prepared) => serve(&mut ring, console, prepared).map(|()| exit::DONE),
        Err(Stop::Refused(refusal)) => {
            console.say(format_args!("[web-ui] refused: {refusal}"));
            Ok(exit::REFUSED)
        }
        Err(Stop::Fatal(fatal)) => Err(fatal),
    };
    let code = outcome.unwrap_or_else(|fatal| {
        console.say(format_args!("[web-ui] fault: {fatal}"));
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
    jobs: &'static mut Jobs,
    server: Server<'static, CONNS, SLOTS>,
}

fn prepare<'a>(calls: &mut Calls<'_>, entries: &'a Entries) -> Result<Prepared, Stop<'a>> {
    let grants = Grants::collect(entries.iter())?;
    let identities = identify(calls, &grants)?;
    let policy = resolve(entries, &grants, &identities)?;
    let now_ns = calls
        .now(grants.timer)
        .map_err(|error| Stop::by(error, Refusal::Clock))?;
    let now = Instant::from_nanos(now_ns);
    calls.console().say(format_args!("[web-ui] {policy}"));
    let config = Config {
        policy,
        jitter: seed(calls, grants.entropy, now_ns)?,
        now,
    };
    let mut server = Server::start(STATE.take()?, BUFFERS.take()?, config)?;
    if let Some(wall_clock) = wall_clock(calls, grants.wall_clock)? {
        server.set_wall_clock(wall_clock);
    }
    let jobs = JOBS.take()?;
    jobs.open(grants.wall_clock);
    let listeners = LISTENERS.take()?;
    listen(calls, &grants, &identities, listeners)?;
    calls
        .console()
        .say(format_args!("[web-ui] ready lanes={}", Lanes(&grants)));
    Ok(Prepared {
        timer: grants.timer,
        now,
        listeners,
        jobs,
        server,
    })
}

/// Asks the kernel what each listener is, and proves them pairwise distinct.
fn identify<'a>(
    calls: &mut Calls<'_>,
    grants: &Grants,
) -> Result<PerLane<Option<Identity>>, Stop<'a>> {
    let mut identities = PerLane::all(None);
    let Some(discriminator) = grants.discriminator else {
        return Ok(identities);
    };
    let mut before: PerLane<Option<(CapId, Identified)>> = PerLane::all(None);
    for lane in Lane::ALL {
        let Some(cap) = grants.listeners[lane] else {
            continue;
        };
        let unknown = |error| Stop::by(error, |failure| Refusal::Identify(lane, failure));
        let identity = calls.identify(discriminator, cap).map_err(unknown)?;
        let own = Identified::new(lane, identity)?;
        for (_, other) in before.iter() {
            let Some((other_cap, other)) = *other else {
                continue;
            };
            let compared = calls
                .compare(discriminator, other_cap, cap)
                .map_err(unknown)?;
            distinct::check_pair([other, own], compared)?;
        }
        before[lane] = Some((cap, own));
        identities[lane] = Some(identity);
    }
    Ok(identities)
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
fn wall_clock(calls: &mut Calls<'_>, granted: Option<CapId>) -> Result<Option<WallClock>, Fatal> {
    let Some(cap) = granted else {
        return Ok(None);
    };
    let time = optional(calls.wall_time(cap))?;
    Ok(time.map(jobs::reading))
}

/// A seed for jitter: random if there is a source, else the clock's.
fn seed(calls: &mut Calls<'_>, entropy: Option<CapId>, now_ns: u64) -> Result<JitterSeed, Fatal> {
    let drawn = match entropy {
        Some(entropy) => optional(calls.random(entropy))?,
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
) -> Result<(), Stop<'a>> {
    let mut bound: PerLane<Option<Bound>> = PerLane::all(None);
    for lane in Lane::ALL {
        let Some(authority) = grants.listeners[lane] else {
            continue;
        };
        let (listener, listening) = calls
            .listen(authority)
            .map_err(|error| Stop::by(error, |failure| Refusal::Listen(lane, failure)))?;
        listeners.open(lane, listener);
        bound[lane] = Some(Bound {
            lane,
            port: listening.port,
            identity: identities[lane],
        });
    }
    let bound = Lane::ALL.into_iter().filter_map(|lane| bound[lane]);
    Ok(distinct::check_bound(bound)?)
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

fn serve(ring: &mut Ring, console: &mut Console, prepared: Prepared) -> Result<(), Fatal> {
    let mut service = Service {
        ring,
        clock: Clock::new(prepared.timer, prepared.now),
        console,
        listeners: prepared.listeners,
        sockets: SOCKETS.take()?,
        releases: RELEASE_QUEUE.take()?,
        jobs: prepared.jobs,
        server: prepared.server,
        inbox: Inbox::new(),
        hurry: 0,
    };
    service.run()
}
