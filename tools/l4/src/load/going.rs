//! A load on the public lane, from its begin to what it tells of itself. Which loads there are
//! stands in [`super::table`].

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::failure::Failure;
use crate::frames::attack::{self, Kind, Sources};
use crate::frames::{Injector, RawSender};
use crate::http::{self, Tally, Wire};
use crate::lane::Lane;
use crate::load::background::Background;
use crate::load::busy::Busy;
use crate::load::slow::{SlowClients, Slowed, Slowness};
use crate::load::storm;
use crate::tool::slowhttptest::{self, Mode, Report};
use crate::tool::{hping3, wrk};
use crate::trial::Trial;

/// Slow clients that one thread keeps up with.
const A_THREAD: usize = 1_000;
/// Single packets a second: about a third of what the emulated NIC can take at all.
const PACKET_RATE: u32 = 15_000;

#[derive(Clone, Copy, Debug)]
pub(crate) enum Load {
    /// So many kept connections of `wrk`, each with one request after the other.
    Kept(usize),
    /// The same, with other work on the host's processors.
    KeptOnBusyHost(usize),
    /// `wrk` with a connection for each request, so many at a time.
    Once(usize),
    /// `slowhttptest`, which opens each of its connections once, on a target.
    Tool(Mode, usize, &'static str),
    /// Clients slow at something, each touched at a pace, which open again whatever is closed.
    Slow(Slowness, usize, Duration),
    /// Connections that send a hundred requests at once, over and over.
    Pipelined,
    /// Connections that are reset right after they were made.
    Resets,
    /// Requests for connections, from addresses that never answer, so many a second.
    Requests(u32),
    /// The same, as fast as the host can.
    RequestFlood,
    /// Single packets, put on the wire by the harness.
    Packets(Kind),
}

/// Where a load is carried on.
pub(crate) struct Site {
    public: SocketAddr,
    /// Where its tools leave their files.
    folder: PathBuf,
    /// How single packets come on the wire, and from how many addresses they seem to come.
    injector: Option<(Arc<Injector>, Sources)>,
}

impl Site {
    /// The public lane of a guest.
    pub(crate) fn of(trial: &Trial<'_, '_>) -> Result<Self, Failure> {
        Ok(Self {
            public: trial.guest.public()?,
            folder: trial.session.folder().to_owned(),
            injector: None,
        })
    }

    /// With a way onto its wire.
    pub(crate) fn with(self, injector: &Arc<Injector>, sources: Sources) -> Self {
        Self {
            injector: Some((Arc::clone(injector), sources)),
            ..self
        }
    }
}

/// What a load tells of itself, as far as it does.
#[derive(Default)]
pub(crate) struct Carried {
    /// Answers that its clients have read.
    pub(crate) tally: Tally,
    pub(crate) slowed: Slowed,
    pub(crate) report: Report,
    /// Packets that the wire took.
    pub(crate) packets: u64,
}

impl Carried {
    /// Answers alone.
    fn read(tally: Tally) -> Self {
        Self {
            tally,
            ..Self::default()
        }
    }
}

/// A load that goes on: to the end of its time, or until it is dropped.
pub(crate) enum Going {
    /// Slow clients, which would go on for ever.
    Clients(Vec<SlowClients>),
    /// Whatever else; nothing only before it has ended.
    Work(Background<Option<Result<Carried, Failure>>>),
}

impl Going {
    fn doing(work: impl FnOnce() -> Result<Carried, Failure> + Send + 'static) -> Self {
        Self::Work(Background::start(|_| Some(work())))
    }

    /// Waits until as many slow clients were open at one time; tells the most that were.
    pub(crate) fn await_open(&self, wanted: usize) -> usize {
        match self {
            Self::Clients(clients) => {
                let each = wanted.div_ceil(clients.len().max(1));
                clients.iter().map(|some| some.await_open(each)).sum()
            }
            Self::Work(_) => 0,
        }
    }

    /// Lets go of slow clients, awaits the end of all else, and tells what it was.
    pub(crate) fn finish(self) -> Result<Carried, Failure> {
        match self {
            Self::Clients(clients) => {
                let mut carried = Carried::default();
                for some in clients {
                    carried.slowed.add(&some.finish());
                }
                Ok(carried)
            }
            Self::Work(work) => work.finish().unwrap_or_else(|| {
                Err(Failure::host(
                    "carrying a load on",
                    "its thread has ended early",
                ))
            }),
        }
    }
}

impl Load {
    /// Begins it, for `time` if it is to end by itself. Whatever must not take of that time is
    /// prepared before.
    pub(crate) fn begin(self, site: &Site, time: Duration) -> Result<Going, Failure> {
        let public = site.public;
        let port = Lane::Anonymous.port();
        Ok(match self {
            Self::Kept(count) => Going::doing(move || wrk(public, count, time, &[])),
            Self::KeptOnBusyHost(count) => Going::doing(move || {
                let _busy = Busy::start();
                wrk(public, count, time, &[])
            }),
            Self::Once(count) => {
                Going::doing(move || wrk(public, count, time, &["Connection: close"]))
            }
            Self::Tool(mode, count, target) => {
                let folder = site.folder.clone();
                Going::doing(move || {
                    let report = slowhttptest::attack(public, target, mode, count, time, &folder)?;
                    Ok(Carried {
                        report,
                        ..Carried::default()
                    })
                })
            }
            Self::Slow(slowness, count, pace) => {
                let threads = count.div_ceil(A_THREAD);
                let some = |_| SlowClients::start(public, slowness, count / threads, pace);
                Going::Clients((0..threads).map(some).collect())
            }
            Self::Pipelined => Going::doing(move || Ok(Carried::read(pipelined(public, time)))),
            Self::Resets => Going::doing(move || {
                storm::resets(public, usize::MAX, time);
                Ok(Carried::default())
            }),
            Self::Requests(rate) => {
                let sender = RawSender::open(public)?;
                let packets = Kind::SpoofedSyn.packets(port, Sources::Many);
                flood(move |packet| sender.send(packet), packets, rate, time)
            }
            Self::RequestFlood => Going::doing(move || {
                hping3::flood(public, time)?;
                Ok(Carried::default())
            }),
            Self::Packets(kind) => {
                let (injector, sources) = site.injector.clone().ok_or_else(|| {
                    Failure::host("putting packets on the wire", "it has no injector")
                })?;
                let frames = kind.frames(port, sources);
                flood(move |frame| injector.send(frame), frames, PACKET_RATE, time)
            }
        })
    }

    pub(crate) fn carry_on(self, site: &Site, time: Duration) -> Result<Carried, Failure> {
        let going = self.begin(site, time)?;
        if matches!(going, Going::Clients(_)) {
            std::thread::sleep(time);
        }
        going.finish()
    }
}

fn flood(
    send: impl Fn(&[u8]) -> bool + Send + 'static,
    packets: Vec<Vec<u8>>,
    rate: u32,
    time: Duration,
) -> Going {
    Going::doing(move || {
        Ok(Carried {
            packets: attack::flood(send, &packets, rate, time),
            ..Carried::default()
        })
    })
}

/// `wrk`, which takes little of the processor that it shares with the guest.
fn wrk(
    public: SocketAddr,
    connections: usize,
    time: Duration,
    headers: &[&str],
) -> Result<Carried, Failure> {
    let report = wrk::load(public, "/healthz", connections, time, headers)?;
    let mut tally = Tally::default();
    tally.status(200, report.requests.saturating_sub(report.unsuccessful));
    Ok(Carried::read(tally))
}

fn pipelined(public: SocketAddr, time: Duration) -> Tally {
    let request = http::keep("GET", "/healthz");
    let hundred = request.repeat(100);
    let mut tally = Tally::default();
    let begun = Instant::now();
    while begun.elapsed() < time {
        let Ok(mut wire) = Wire::connect(public) else {
            continue;
        };
        if wire.send(&hundred).is_err() {
            continue;
        }
        for _ in 0..100 {
            let answer = wire.response(&request);
            let ended = answer.is_err();
            tally.count(&answer);
            if ended {
                break;
            }
        }
    }
    tally
}
