//! The one table of loads on the public lane. A load more is a row more: the case that carries
//! it on finds it here, under the name that checks, charts and reports give it.

use std::time::Duration;

use crate::failure::Failure;
use crate::frames::attack::Kind;
use crate::load::going::Load;
use crate::load::slow::Slowness;
use crate::record::Chart;
use crate::tool::slowhttptest::Mode;
use crate::trial::Trial;

/// The case that carries a load on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Of {
    /// `lane-order`: what the load does to the order of work.
    LaneOrder,
    /// `starvation`: each point of contention by itself; the name says which.
    Starvation,
    /// `slow-clients`.
    SlowClients,
    /// `slowhttptest`.
    Slowhttptest,
    /// `packet-floods`.
    PacketFloods,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Row {
    /// Its name in checks and reports.
    pub(crate) name: &'static str,
    /// Whose it is.
    of: Of,
    pub(crate) load: Load,
}

const fn row(of: Of, name: &'static str, load: Load) -> Row {
    Row { name, of, load }
}

const fn slow(slowness: Slowness) -> Row {
    let load = Load::Slow(slowness, SLOW_CLIENTS, ms(500));
    row(Of::SlowClients, slowness.name(), load)
}

const fn tool(mode: Mode) -> Row {
    let load = Load::Tool(mode, TOOL_CONNECTIONS, "/app.js");
    row(Of::Slowhttptest, mode.name(), load)
}

const fn packets(kind: Kind) -> Row {
    row(Of::PacketFloods, kind.name(), Load::Packets(kind))
}

const fn ms(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}

/// As many as the public lane has permits, but for those who ask beside them.
pub(crate) const SLOW_CLIENTS: usize = 1_000;
/// As many as leave room for the tool's own probe: what happens past the limit is
/// `slow-clients`' matter.
pub(crate) const TOOL_CONNECTIONS: usize = 900;

/// Every load.
const ROWS: &[Row] = {
    use Load::{Kept, KeptOnBusyHost, Once, Pipelined, RequestFlood, Requests, Resets, Slow, Tool};
    use Of::{LaneOrder, Starvation};
    use Slowness::{Body, Head, Read, Silent};
    &[
        row(LaneOrder, "256 kept connections", Kept(256)),
        row(
            LaneOrder,
            "256 kept connections, other work on the host",
            KeptOnBusyHost(256),
        ),
        row(LaneOrder, "a connection a request, 64", Once(64)),
        row(LaneOrder, "a connection a request, 256", Once(256)),
        row(
            LaneOrder,
            "slow heads, slowhttptest, 1,000",
            Tool(Mode::Headers, 1_000, "/"),
        ),
        row(
            LaneOrder,
            "slow heads that reopen, 1,000",
            Slow(Head, 1_000, ms(100)),
        ),
        row(
            LaneOrder,
            "slow heads that reopen, 4,000",
            Slow(Head, 4_000, ms(100)),
        ),
        row(LaneOrder, "slow bodies, 1,000", Slow(Body, 1_000, ms(100))),
        row(LaneOrder, "slow readers, 1,000", Slow(Read, 1_000, ms(100))),
        row(
            LaneOrder,
            "connection requests, 5,000 a second",
            Requests(5_000),
        ),
        row(
            LaneOrder,
            "connection requests, as fast as the host can",
            RequestFlood,
        ),
        row(
            Starvation,
            "accept: a connection for each request",
            Once(32),
        ),
        row(Starvation, "serve loop: keep-alive requests", Kept(32)),
        // Ten thousand pages a second are asked for in all. What is asked for faster than it is
        // served waits in the host's buffers, and is served long after the clients have gone.
        row(
            Starvation,
            "slots and bytes: unread pages",
            Slow(Read, 200, ms(1_000)),
        ),
        row(Starvation, "parser: pipelined requests", Pipelined),
        row(Starvation, "backlog: resets", Resets),
        row(
            Starvation,
            "permits: silent connections",
            Slow(Silent, 1_100, ms(250)),
        ),
        slow(Head),
        slow(Body),
        slow(Read),
        slow(Silent),
        tool(Mode::Headers),
        tool(Mode::Body),
        tool(Mode::Read),
        packets(Kind::SpoofedSyn),
        packets(Kind::HalfOpen),
        packets(Kind::Reset),
        packets(Kind::Finish),
        packets(Kind::OutOfWindow),
    ]
};

/// A line of a chart: its name, and values by seconds.
pub(crate) type Line = (String, Vec<(f64, f64)>);

/// Carries every load of a case on, one after the other, and charts beside them what `one`
/// tells of each, after an idle guest's `before`.
pub(crate) fn each<'session, 'bench>(
    trial: &mut Trial<'session, 'bench>,
    of: Of,
    title: &str,
    before: Option<Line>,
    mut one: impl FnMut(&mut Trial<'session, 'bench>, Row) -> Result<Vec<(f64, f64)>, Failure>,
) -> Result<(), Failure> {
    let mut lines: Vec<Line> = before.into_iter().collect();
    for row in ROWS.iter().filter(|row| row.of == of) {
        trial.session.step(row.name);
        lines.push((row.name.to_owned(), one(trial, *row)?));
    }
    trial.session.chart(Chart {
        title: title.to_owned(),
        unit: "ms".to_owned(),
        lines,
    });
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_tells_a_load_from_the_others_of_its_case() {
        for (index, row) in ROWS.iter().enumerate() {
            let others = ROWS.iter().skip(index + 1);
            assert!(
                others
                    .filter(|other| other.of == row.of)
                    .all(|other| other.name != row.name),
                "{}",
                row.name
            );
        }
    }
}
