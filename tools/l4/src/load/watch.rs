//! The provider's probe seen from both sides at the same time: from outside, through QEMU's
//! network and the host's scheduler, and from inside the guest, by the guest's own clock.

use std::time::Duration;

use crate::failure::Failure;
use crate::http::PATIENCE;
use crate::lane::Lane;
use crate::load::prober::{Probed, Prober};
use crate::load::quantiles::milliseconds;
use crate::machine::share::Shares;
use crate::probe::Reply;
use crate::record::{ProbeRow, Side};
use crate::session::Session;
use crate::trial::Trial;

/// Two probes at this pace stay within the provider lane's default rate.
pub(crate) const PACE: Duration = Duration::from_millis(50);

/// Long enough that an idle guest's p99 is not its one slowest probe.
const IDLE_FOR: Duration = Duration::from_secs(12);

/// Longest gaps between two answers, in time that the host gave. Outside, QEMU's own network
/// takes part; the guest's share is judged inside.
const GAP_OUTSIDE: Duration = Duration::from_secs(5);
const GAP_INSIDE: Duration = Duration::from_secs(1);

pub(crate) struct Watched {
    pub(crate) outside: Probed,
    pub(crate) inside: Reply,
    /// What the host gave QEMU of the processor time that it asked for.
    shares: Shares,
}

/// Probes an idle guest, to compare with.
pub(crate) fn idle(trial: &mut Trial<'_, '_>) -> Result<Watched, Failure> {
    trial.session.step("idle baseline");
    let wait = |_: &mut Trial<'_, '_>| {
        std::thread::sleep(IDLE_FOR);
        Ok(())
    };
    let (idle, ()) = watch(trial, IDLE_FOR, wait)?;
    trial.session.probes(idle.rows("idle", &idle));
    Ok(idle)
}

/// Probes for `time` while `meanwhile` does what it does, and counts the probes; tells what
/// they saw, and what `meanwhile` came to.
pub(crate) fn watch<'session, 'bench, T>(
    trial: &mut Trial<'session, 'bench>,
    time: Duration,
    meanwhile: impl FnOnce(&mut Trial<'session, 'bench>) -> Result<T, Failure>,
) -> Result<(Watched, T), Failure> {
    let command = format!(
        "watch provider /healthz for={}ms every={}ms timeout={}s",
        time.as_millis(),
        PACE.as_millis(),
        PATIENCE.as_secs()
    );
    trial.guest.probe()?.say(&command)?;
    let shares = trial.guest.machine().watch_share();
    let prober = Prober::start(trial.guest.provider()?, PACE);
    let came = meanwhile(trial)?;
    let outside = prober.finish();
    let inside = trial.guest.probe()?.result(&command, time + 2 * PATIENCE)?;
    trial.count(Lane::ProviderHealth, &outside.tally);
    trial.count(Lane::ProviderHealth, &inside.tally());
    let watched = Watched {
        outside,
        inside,
        shares: shares.finish(),
    };
    Ok((watched, came))
}

impl Watched {
    /// Asserts that both probes were always answered, without a long gap.
    pub(crate) fn judge(&self, session: &mut Session<'_>, name: &str) {
        self.outside.judge(session, name);
        let healthy = self.inside.count("status_200");
        session.check(
            format!("{name}: every provider probe inside the guest is answered 200"),
            healthy > 0
                && healthy == self.inside.tally().responses()
                && self.inside.tally().unanswered() == 0,
            &self.inside.line,
        );
        let inside = Duration::from_nanos(self.inside.count("ns_gap"));
        for (side, gap, limit) in [
            ("outside", self.outside.longest_gap(), GAP_OUTSIDE),
            ("inside", inside, GAP_INSIDE),
        ] {
            // Where in the load the gap was is not known, so the guest is given the doubt.
            let given = self.shares.given_of(gap);
            session.check(
                format!("{name}: no gap {side} is longer than {limit:?} that the host gave"),
                given < limit,
                format_args!(
                    "{}, of which the host gave at least {}",
                    milliseconds(gap),
                    milliseconds(given)
                ),
            );
        }
    }

    /// Success and latency on both sides, beside an idle guest's.
    pub(crate) fn rows(&self, load: &str, idle: &Self) -> [ProbeRow; 2] {
        let outside = self
            .outside
            .row(load, Side::Outside, &idle.outside, &self.shares);
        let inside = ProbeRow {
            side: Side::Inside,
            asked: self.inside.count("sent"),
            answered: self.inside.count("status_200"),
            loaded_ms: KEYS.map(|key| told_ms(&self.inside, key)),
            idle_ms: KEYS.map(|key| told_ms(&idle.inside, key)),
            max_ms: told_ms(&self.inside, "ns_max"),
            gap_ms: told_ms(&self.inside, "ns_gap"),
            ..outside.clone()
        };
        [outside, inside]
    }
}

/// The quantiles that are told, as keys in what the in-guest client tells.
const KEYS: [&str; 3] = ["ns_p50", "ns_p90", "ns_p99"];

fn told_ms(reply: &Reply, key: &str) -> f64 {
    Duration::from_nanos(reply.count(key)).as_secs_f64() * 1e3
}
