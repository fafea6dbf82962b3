//! Case `bad-wire`: a public wire that loses, doubles and reorders frames still carries
//! every answer whole.

use std::net::SocketAddr;
use std::time::Duration;

use mkmanifest::LaneRules;

use crate::cases::{Case, Control, Need, Suite};
use crate::failure::Failure;
use crate::frames::{Badness, Relay};
use crate::http::{self, Tally};
use crate::lane::Lane;
use crate::machine::spec::{Backend, HostPort};
use crate::session::{ClientCounts, Counting, Sabotage, Session};

pub(crate) const CASE: Case = Case {
    name: "bad-wire",
    title: "5 % loss, doubled and reordered frames: every answer still comes whole",
    suite: Suite::Attack,
    need: Need::Nothing,
    run,
    controls: &[Control {
        name: "swapped-listeners",
        breaks: "the bad wire leads to the provider lane, which has no page to carry",
        sabotage: Sabotage::Manifest {
            of: "three-lanes",
            instead: "swapped-listeners",
        },
        must_fail: "every answer over the bad wire is whole",
    }],
};

const BADNESS: Badness = Badness {
    lost: 5,
    doubled: 5,
    overtaken: 5,
};
const CLIENTS: usize = 4;
const ROUNDS: usize = 10;
const PAGES: [&str; 3] = ["/", "/app.js", "/style.css"];

/// QEMU's user network sends a lost segment again after 6 s, then 12, then 24.
const PATIENCE: Duration = Duration::from_secs(120);
/// How often a client asks for a page whose request did not come in time.
const ATTEMPTS: usize = 6;

fn run(session: &mut Session<'_>) -> Result<(), Failure> {
    let (relay, ports) = Relay::open(BADNESS, 0xbad)?;
    let mut nics = Session::usual_nics();
    if let Some(public) = nics.first_mut() {
        public.backend = Backend::UserThroughRelay(HostPort::Ephemeral, ports);
    }
    let mut guest = session.launch("three-lanes", LaneRules::Checked, nics)?;
    guest.await_ready()?;
    session.note_ready(&guest);
    let mut clients = ClientCounts {
        counting: Counting::AtMost,
        ..ClientCounts::default()
    };
    session.step("pages over the bad wire");
    let address = guest.public();
    let readers: Vec<Reader> = std::thread::scope(|scope| {
        let spawned: Vec<_> = (0..CLIENTS)
            .map(|_| scope.spawn(|| Reader::read(address)))
            .collect();
        spawned
            .into_iter()
            .filter_map(|reader| reader.join().ok())
            .collect()
    });
    for reader in &readers {
        clients.lane(Lane::Anonymous).add(&reader.tally);
    }
    let pages: Vec<_> = readers.iter().flat_map(|reader| &reader.pages).collect();
    let asked = CLIENTS * ROUNDS * PAGES.len();
    let whole = PAGES.iter().all(|target| {
        let mut bodies = pages.iter().filter(|(of, _)| of == target);
        let first = bodies.clone().next().map(|(_, body)| body);
        bodies.all(|(_, body)| Some(body) == first && !body.is_empty())
    });
    let late = clients.lane(Lane::Anonymous).of(408);
    let broken: Vec<_> = readers.iter().flat_map(|reader| &reader.broken).collect();
    session.check(
        "every answer over the bad wire is whole",
        whole && broken.is_empty() && pages.len() == asked,
        format_args!(
            "{} of {asked}; {late} requests lost past their deadline; {broken:?}",
            pages.len()
        ),
    );
    let [passed, lost, doubled, overtaken] = relay.counts();
    session.check(
        "the wire was bad",
        lost > 0 && doubled > 0 && overtaken > 0,
        format_args!("{passed} passed, {lost} lost, {doubled} doubled, {overtaken} overtaken"),
    );
    session.settle(guest, &clients).map(drop)
}

/// A client that reads every page, some rounds long.
#[derive(Default)]
struct Reader {
    tally: Tally,
    /// The pages that came, each with its body.
    pages: Vec<(&'static str, Vec<u8>)>,
    /// What came instead of a page.
    broken: Vec<String>,
}

impl Reader {
    fn read(address: SocketAddr) -> Self {
        let mut reader = Self::default();
        for target in (0..ROUNDS).flat_map(|_| PAGES) {
            match reader.page(address, target) {
                Ok(body) => reader.pages.push((target, body)),
                Err(instead) => reader.broken.push(format!("{target}: {instead}")),
            }
        }
        reader
    }

    /// One page. A request that the wire lost for longer than a head may take is answered
    /// 408, and asked again.
    fn page(&mut self, address: SocketAddr, target: &str) -> Result<Vec<u8>, String> {
        for _ in 0..ATTEMPTS {
            let bytes = http::once("GET", target);
            match http::counted(&mut self.tally, address, &bytes, PATIENCE) {
                Ok(answer) if answer.status == 200 => return Ok(answer.body),
                Ok(answer) if answer.status == 408 => {}
                Ok(answer) => return Err(format!("{} {}", answer.status, answer.text())),
                Err(ending) => return Err(ending.to_string()),
            }
        }
        Err(format!("408, {ATTEMPTS} times"))
    }
}
