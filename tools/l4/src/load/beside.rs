//! Probes of both protected lanes beside whatever is done: the provider's from outside and
//! from inside the guest, the local lane's from inside. Each is to be answered 200.

use std::time::Duration;

use crate::failure::Failure;
use crate::http::{PATIENCE, Tally};
use crate::lane::Lane;
use crate::load::prober::Prober;
use crate::load::watch::PACE;
use crate::session::Session;
use crate::trial::Trial;

/// What is done, and for how long there are probes at least.
#[derive(Clone, Copy)]
pub(crate) struct Deed<'name> {
    /// Its name in checks.
    pub(crate) name: &'name str,
    /// From its begin.
    pub(crate) time: Duration,
}

/// Probes while `meanwhile` does what it does, counts the probes and asserts that each was
/// answered 200; tells what `meanwhile` came to.
pub(crate) fn beside<T>(
    trial: &mut Trial<'_, '_>,
    deed: Deed<'_>,
    meanwhile: impl FnOnce(&mut Session<'_>) -> Result<T, Failure>,
) -> Result<T, Failure> {
    trial.session.step(deed.name);
    let (pace, patience) = (PACE.as_millis(), PATIENCE.as_secs());
    let command = format!(
        "watch provider /healthz for={}ms every={pace}ms timeout={patience}s \
         watch=local/readyz watch_every={pace}ms",
        deed.time.as_millis()
    );
    trial.guest.probe()?.say(&command)?;
    let prober = Prober::start(trial.guest.provider()?, PACE);
    let came = meanwhile(trial.session)?;
    let probe = trial.guest.probe()?;
    let inside = probe.result(&command, deed.time + 2 * PATIENCE);
    let outside = prober.finish();
    outside.judge(trial.session, deed.name);
    let inside = inside?;
    let (provider, local) = (inside.tally(), inside.tally_beside());
    for (lane, seen) in [
        (Lane::ProviderHealth, &provider),
        (Lane::LocalHealth, &local),
    ] {
        trial.session.check(
            format!(
                "{}: every {} probe inside the guest is answered 200",
                deed.name,
                lane.target()
            ),
            all_healthy(seen),
            &inside.line,
        );
    }
    trial.count(Lane::ProviderHealth, &outside.tally);
    trial.count(Lane::ProviderHealth, &provider);
    trial.count(Lane::LocalHealth, &local);
    Ok(came)
}

fn all_healthy(seen: &Tally) -> bool {
    seen.of(200) > 0 && seen.of(200) == seen.responses() && seen.unanswered() == 0
}
