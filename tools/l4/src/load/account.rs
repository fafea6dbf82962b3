//! The service's own account of its lanes, read from `/api/ingress` on a public connection
//! that is never idle: on a full lane, it gives way after all that are.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::failure::Failure;
use crate::http::{Pinned, Tally};
use crate::lane::Lane;
use crate::session::SLOW_HOST;
use crate::trial::Trial;

/// Between two looks while something is awaited.
const PACE: Duration = Duration::from_millis(20);

/// The way to the account.
pub(crate) struct Account {
    public: SocketAddr,
    kept: Option<Pinned>,
    /// What its own requests came to.
    pub(crate) tally: Tally,
}

/// What the account says at one time.
pub(crate) struct Lanes(Value);

impl Account {
    /// Connects when it is first asked for anything.
    pub(crate) fn of(public: SocketAddr) -> Self {
        Self {
            public,
            kept: None,
            tally: Tally::default(),
        }
    }

    /// Asks once. A refusal is told like any other answer: where every slot is taken, it says
    /// how many there are.
    pub(crate) fn ask(&mut self) -> Option<Lanes> {
        let pinned = match self.kept.take() {
            Some(pinned) => Ok(pinned),
            None => Pinned::open(self.public, "/api/ingress"),
        };
        let answer = pinned.and_then(|mut pinned| {
            let answer = pinned.ask()?;
            self.kept = (!answer.closes()).then_some(pinned);
            Ok(answer)
        });
        self.tally.count(&answer);
        answer.ok()?.json().map(Lanes)
    }

    /// Asks until the account is `wanted`, or as long as a slow host may take; whether it came
    /// to be.
    pub(crate) fn until(&mut self, mut wanted: impl FnMut(&Lanes) -> bool) -> bool {
        let begun = Instant::now();
        loop {
            if self.ask().is_some_and(|lanes| wanted(&lanes)) {
                return true;
            }
            if begun.elapsed() > SLOW_HOST {
                return false;
            }
            std::thread::sleep(PACE);
        }
    }

    /// Waits until a lane has no connection; tells how many it had until then, or nothing if
    /// that did not come to be.
    pub(crate) fn await_free(&mut self, lane: Lane) -> Option<u64> {
        let mut had = None;
        self.until(|lanes| {
            had = lanes.of(lane, "conns_admitted");
            lanes.of(lane, "conns") == Some(0)
        })
        .then_some(had)
        .flatten()
    }
}

/// Asserts that the public lane comes to rest: that it serves no more than whoever asks for
/// the account and one other client. What is loaded next is then measured alone.
pub(crate) fn rest(trial: &mut Trial<'_, '_>, after: &str) -> Result<(), Failure> {
    let mut account = Account::of(trial.guest.public()?);
    let rested = account.until(|lanes| {
        let of = |counter| lanes.of(Lane::Anonymous, counter);
        matches!((of("serving"), of("waiting")), (Some(serving), Some(waiting))
            if serving + waiting <= 2)
    });
    trial.count(Lane::Anonymous, &account.tally);
    trial.session.check(
        format!("{after}: the public lane comes to rest"),
        rested,
        format_args!("within {SLOW_HOST:?}"),
    );
    Ok(())
}

impl Lanes {
    /// A lane's counter; `None` where the answer does not tell it.
    pub(crate) fn of(&self, lane: Lane, counter: &str) -> Option<u64> {
        let named = |one: &&Value| one["lane"] == lane.key();
        let lanes = self.0.get("lanes")?.as_array()?;
        lanes.iter().find(named)?.get(counter)?.as_u64()
    }

    pub(crate) fn json(&self) -> &Value {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_counter_is_told_by_lane_and_absent_where_the_answer_is_a_refusal() {
        let lanes = Lanes(serde_json::json!({"lanes": [
            {"lane": "anonymous", "conns": 7}, {"lane": "provider_health", "conns": 3}]}));
        assert_eq!(lanes.of(Lane::ProviderHealth, "conns"), Some(3));
        assert_eq!(lanes.of(Lane::LocalHealth, "conns"), None);
        let refused = Lanes(serde_json::json!({"code": "lane_pool_full", "in_use": 4}));
        assert_eq!(refused.of(Lane::Anonymous, "conns"), None);
    }
}
