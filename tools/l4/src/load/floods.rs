//! The loads on the public lane beside which the order of work is measured.

use std::path::Path;
use std::time::Duration;

use crate::failure::Failure;
use crate::frames::RawSender;
use crate::frames::attack::{self, Kind, Sources};
use crate::guest::Guest;
use crate::http::Tally;
use crate::lane::Lane;
use crate::load::busy::Busy;
use crate::load::slow::{SlowClients, Slowness};
use crate::tool::slowhttptest::{self, Mode};
use crate::tool::{hping3, wrk};

/// How often a slow client does anything.
const PACE: Duration = Duration::from_millis(100);
/// Slow clients that one thread keeps up with.
const A_THREAD: usize = 1_000;

/// A load on the public lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Load {
    /// So many kept connections, each with one request after the other.
    Kept(usize),
    /// The same, with other work on the host's processors.
    KeptOnBusyHost(usize),
    /// A connection for each request, so many at a time.
    Once(usize),
    /// Heads that never end, on connections that are opened once.
    HeadsOnce(usize),
    /// Clients slow at something, which open again whatever is closed.
    Slow(Slowness, usize),
    /// Requests for connections, from addresses that never answer, so many a second.
    Requests(u32),
    /// The same, as fast as the host can.
    RequestFlood,
}

impl Load {
    /// Every load, each by its name.
    pub(crate) const ALL: [(&str, Self); 11] = [
        ("256 kept connections", Self::Kept(256)),
        (
            "256 kept connections, other work on the host",
            Self::KeptOnBusyHost(256),
        ),
        ("a connection a request, 64", Self::Once(64)),
        ("a connection a request, 256", Self::Once(256)),
        ("slow heads, slowhttptest, 1,000", Self::HeadsOnce(1_000)),
        (
            "slow heads that reopen, 1,000",
            Self::Slow(Slowness::Head, 1_000),
        ),
        (
            "slow heads that reopen, 4,000",
            Self::Slow(Slowness::Head, 4_000),
        ),
        ("slow bodies, 1,000", Self::Slow(Slowness::Body, 1_000)),
        ("slow readers, 1,000", Self::Slow(Slowness::Read, 1_000)),
        ("connection requests, 5,000 a second", Self::Requests(5_000)),
        (
            "connection requests, as fast as the host can",
            Self::RequestFlood,
        ),
    ];

    /// Carries it on for `time`; tells the answers that its clients have read, if they tell.
    pub(crate) fn carry_on(
        self,
        guest: &Guest,
        time: Duration,
        folder: &Path,
    ) -> Result<Tally, Failure> {
        let kept = |connections, headers: &[&str]| {
            let report = wrk::load(guest.public(), "/healthz", connections, time, headers)?;
            let mut tally = Tally::default();
            tally.status(200, report.requests.saturating_sub(report.unsuccessful));
            Ok(tally)
        };
        match self {
            Self::Kept(connections) => return kept(connections, &[]),
            Self::KeptOnBusyHost(connections) => {
                let _busy = Busy::start();
                return kept(connections, &[]);
            }
            Self::Once(connections) => return kept(connections, &["Connection: close"]),
            Self::HeadsOnce(connections) => {
                slowhttptest::attack(
                    guest.public(),
                    "/",
                    Mode::Headers,
                    connections,
                    time,
                    folder,
                )?;
            }
            Self::Slow(slowness, count) => {
                let clients: Vec<SlowClients> = (0..count.div_ceil(A_THREAD))
                    .map(|_| SlowClients::start(guest.public(), slowness, A_THREAD, PACE))
                    .collect();
                std::thread::sleep(time);
                drop(clients);
            }
            Self::Requests(rate) => {
                let sender = RawSender::open(guest.public())?;
                let port = Lane::Anonymous.port();
                let packets = Kind::SpoofedSyn.packets(port, Sources::Many);
                attack::flood(|packet| sender.send(packet), &packets, rate, time);
            }
            Self::RequestFlood => hping3::flood(guest.public(), time).map(drop)?,
        }
        Ok(Tally::default())
    }
}
