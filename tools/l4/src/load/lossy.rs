//! Clients that read pages over a wire that loses some of what is sent, and ask again for
//! what it ate.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use crate::failure::Failure;
use crate::http::{self, Tally};
use crate::lane::Lane;
use crate::load::quantiles::Quantiles;
use crate::trial::Trial;

/// How often a client asks for one page.
const ATTEMPTS: usize = 6;

/// What is read: each client reads every page, some rounds long.
#[derive(Clone, Copy)]
pub(crate) struct Reading {
    /// Clients at the same time.
    pub(crate) clients: usize,
    pub(crate) rounds: usize,
    pub(crate) pages: &'static [&'static str],
}

/// One client.
#[derive(Default)]
struct Reader {
    tally: Tally,
    /// The pages that came, each with its body.
    pages: Vec<(&'static str, Vec<u8>)>,
    times: Vec<Duration>,
    /// What came instead of a page.
    broken: Vec<String>,
}

impl Reading {
    /// Reads, and asserts that every page came, and whole.
    pub(crate) fn judge(self, trial: &mut Trial<'_, '_>, wire: &str) -> Result<(), Failure> {
        let guest = &trial.guest;
        let (head, write) = (
            guest.policy("public_head_ms")?,
            guest.policy("public_write_ms")?,
        );
        let excuse = Duration::from_millis(head.min(write));
        let address = guest.public()?;
        let readers: Vec<Reader> = std::thread::scope(|scope| {
            let spawned: Vec<_> = (0..self.clients)
                .map(|_| scope.spawn(|| self.read(address, excuse)))
                .collect();
            spawned
                .into_iter()
                .filter_map(|reader| reader.join().ok())
                .collect()
        });
        let asked = self.clients * self.rounds * self.pages.len();
        let mut seen = Tally::default();
        readers.iter().for_each(|reader| seen.add(&reader.tally));
        let pages: Vec<_> = readers.iter().flat_map(|reader| &reader.pages).collect();
        let whole = self.pages.iter().all(|target| {
            let mut bodies = pages.iter().filter(|(of, _)| of == target);
            let first = bodies.clone().next().map(|(_, body)| body);
            bodies.all(|(_, body)| Some(body) == first && !body.is_empty())
        });
        let broken: Vec<_> = readers.iter().flat_map(|reader| &reader.broken).collect();
        trial.session.check(
            format!("every answer over {wire} is whole"),
            whole && broken.is_empty() && pages.len() == asked,
            format_args!("{} of {asked}: {seen:?}; {broken:?}", pages.len()),
        );
        let times = readers.iter().flat_map(|reader| reader.times.clone());
        trial
            .session
            .figure(format!("page over {wire}"), Quantiles::of(times.collect()));
        trial.count(Lane::Anonymous, &seen);
        Ok(())
    }

    fn read(self, address: SocketAddr, excuse: Duration) -> Reader {
        let mut reader = Reader::default();
        for target in (0..self.rounds).flat_map(|_| self.pages) {
            let begun = Instant::now();
            match reader.page(address, target, excuse) {
                Ok(body) => reader.pages.push((target, body)),
                Err(instead) => reader.broken.push(format!("{target}: {instead}")),
            }
            reader.times.push(begun.elapsed());
        }
        reader
    }
}

impl Reader {
    /// One page. What the wire loses for longer than the service lets a client take, the
    /// service gives up, and QEMU's user network what it loses for a minute: such an attempt
    /// took that long, and is made again. One that fails sooner is broken.
    fn page(
        &mut self,
        address: SocketAddr,
        target: &str,
        excuse: Duration,
    ) -> Result<Vec<u8>, String> {
        let bytes = http::once("GET", target);
        let mut failed = String::new();
        for _ in 0..ATTEMPTS {
            let begun = Instant::now();
            let answer = http::counted(&mut self.tally, address, &bytes);
            failed = match answer {
                Ok(answer) if answer.status == 200 => return Ok(answer.body),
                Ok(answer) => format!("{} {}", answer.status, answer.text()),
                Err(ending) => ending.to_string(),
            };
            let took = begun.elapsed();
            if took < excuse {
                return Err(format!("{failed} after {took:.1?}"));
            }
        }
        Err(format!("{failed}, {ATTEMPTS} times"))
    }
}
