//! The resolved policy as one line, `policy total_slots=96 ... clamped=none`, in the markers' own words.

use core::fmt;

use ingress_ledger::{Field as Limit, Lane, RatePolicy, Resource};

use crate::boot::policy::marker::{Field, Scope};
use crate::boot::policy::resolve::Policy;

impl fmt::Display for Policy {
    /// `key=value` pairs; keys are `<scope>_<field>` as in markers, lanes without listener are left out.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let limits = self.profile.limits();
        write!(
            out,
            "policy total_slots={} total_conns={} total_bytes={} total_refusal_ms={} total_drain_ms={} general_slots={} general_conns={}",
            limits.slots,
            limits.connections,
            limits.bytes_in_flight,
            limits.refusal_deadline.as_millis(),
            self.drain.as_millis(),
            self.profile.general_pool(Resource::Slots),
            self.profile.general_pool(Resource::Connections),
        )?;
        for lane in Lane::ALL
            .into_iter()
            .filter(|lane| self.profile.is_enabled(*lane))
        {
            self.lane(lane, out)?;
        }
        let mut clamps = self.clamped().peekable();
        out.write_str(" clamped=")?;
        if clamps.peek().is_none() {
            return out.write_str("none");
        }
        let mut separator = "";
        for (scope, word) in clamps {
            write!(out, "{separator}{}_{word}", scope.word())?;
            separator = ",";
        }
        Ok(())
    }
}

impl Policy {
    /// What was asked above the structural maximum and cut to it: scope, and the marker's word.
    pub fn clamped(&self) -> impl Iterator<Item = (Scope, &'static str)> + '_ {
        let drain = (Scope::Total, Field::DrainMs.word());
        let cut = self.profile.clamps().iter().map(|clamp| {
            let scope = clamp.lane.map_or(Scope::Total, Scope::Lane);
            (scope, marker_word(clamp.field))
        });
        cut.chain(self.drain_clamped.then_some(drain))
    }

    fn lane(&self, lane: Lane, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let limits = self.profile.lane(lane);
        let phases = &self.phases[lane];
        let word = Scope::Lane(lane).word();
        write!(
            out,
            " {word}_slots={} {word}_reserve={} {word}_queue={} {word}_conns={} {word}_conn_reserve={} {word}_refusals={} {word}_per_conn={} {word}_deadline_ms={} {word}_head_ms={} {word}_body_ms={} {word}_write_ms={} {word}_idle_ms={}",
            self.profile.ceiling(lane, Resource::Slots),
            limits.slot_reserve,
            limits.queue,
            self.profile.ceiling(lane, Resource::Connections),
            limits.connection_reserve,
            limits.refusals,
            limits.per_connection,
            limits.deadline.as_millis(),
            phases.head.as_millis(),
            phases.body.as_millis(),
            phases.write.as_millis(),
            phases.idle.as_millis(),
        )?;
        rate(word, ("rate", "burst"), limits.request_rate, out)?;
        rate(
            word,
            ("accept_rate", "accept_burst"),
            limits.accept_rate,
            out,
        )
    }
}

/// The marker that asks for a limit; a footprint is the service's own and has none.
const fn marker_word(limit: Limit) -> &'static str {
    match limit {
        Limit::Slots => Field::Slots.word(),
        Limit::Connections => Field::Conns.word(),
        Limit::BytesInFlight => Field::Bytes.word(),
        Limit::RefusalDeadline => Field::RefusalMs.word(),
        Limit::SlotReserve => Field::Reserve.word(),
        Limit::Queue => Field::Queue.word(),
        Limit::ConnectionReserve => Field::ConnReserve.word(),
        Limit::Refusals => Field::Refusals.word(),
        Limit::PerConnection => Field::PerConn.word(),
        Limit::Footprint => "footprint",
        Limit::Deadline => Field::DeadlineMs.word(),
        Limit::Head => Field::HeadMs.word(),
        Limit::Body => Field::BodyMs.word(),
        Limit::Write => Field::WriteMs.word(),
        Limit::Idle => Field::IdleMs.word(),
        Limit::RequestRate => Field::Rate.word(),
        Limit::AcceptRate => Field::AcceptRate.word(),
    }
}

fn rate(
    word: &str,
    names: (&str, &str),
    rate: RatePolicy,
    out: &mut fmt::Formatter<'_>,
) -> fmt::Result {
    let (rate_name, burst_name) = names;
    match rate {
        RatePolicy::Budget(budget) => write!(
            out,
            " {word}_{rate_name}={} {word}_{burst_name}={}",
            budget.per_second, budget.burst
        ),
        RatePolicy::LoopbackExempt => write!(out, " {word}_{rate_name}=exempt"),
        RatePolicy::Unmetered => write!(out, " {word}_{rate_name}=unmetered"),
    }
}

#[cfg(test)]
mod tests {
    use ingress_ledger::{Lane, Listener, PerLane};

    use crate::boot::policy::{MarkerSet, resolve};

    #[test]
    fn the_readback_speaks_the_markers_words() {
        let mut markers = MarkerSet::new();
        markers.add(b"ingress_total_conns=5000").unwrap();
        let listeners = PerLane::all(Listener::Network).with(Lane::LocalHealth, Listener::Absent);
        let line = resolve(&markers, listeners).unwrap().to_string();
        for part in [
            "policy total_slots=96 total_conns=1024",
            " public_slots=88",
            " provider_reserve=8",
            " provider_rate=50 provider_burst=100",
            " public_rate=unmetered",
            " clamped=total_conns",
        ] {
            assert!(line.contains(part), "{part} in {line}");
        }
        assert!(!line.contains("local_"), "{line}");
    }
}
