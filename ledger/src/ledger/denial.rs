//! Denials: what a lane answers without admitting it, paid for from the lane's rate as an
//! admission is (keeps L4).
//!
//! An answer costs the service something whatever it says. A peer that is denied a route, sends
//! what is no request, or is told 429, would otherwise have any number of such answers on one
//! connection that it keeps.

use super::IngressLedger;
use crate::counters::bump;
use crate::lane::Lane;
use crate::overload::IngressOverload;
use crate::units::Instant;

impl<const TICKETS: usize> IngressLedger<'_, TICKETS> {
    /// Takes from the lane's rate what one answer costs for which no request was admitted: a
    /// denied route, a malformed request, a refusal of [`IngressLedger::request`]. Called once
    /// before each such answer. `now` is `None` where the clock was lost.
    ///
    /// A lane without a rate pays nothing, and its denials are counted all the same.
    ///
    /// # Errors
    /// [`IngressOverload::RateLimited`] past the budget, or [`IngressOverload::ClockLost`]: the
    /// connection is closed, so that what its peer can still cost is bounded by the rate of
    /// accepts. Nothing is charged then; one counter tells.
    #[inline]
    pub fn charge_denial(
        &mut self,
        lane: Lane,
        now: Option<Instant>,
    ) -> Result<(), IngressOverload> {
        let paid = self.pay(lane, now);
        let counters = &mut self.books[lane].counters;
        bump(match paid {
            Ok(()) => &mut counters.denials,
            Err(_) => &mut counters.denials_unpaid,
        });
        paid
    }

    #[inline]
    fn pay(&mut self, lane: Lane, now: Option<Instant>) -> Result<(), IngressOverload> {
        let now = self.observe(now.ok_or(IngressOverload::ClockLost)?);
        let rate = &mut self.books[lane].rate;
        rate.check(now)
            .map_err(|ready_in| IngressOverload::RateLimited { ready_in })?;
        rate.take(now);
        Ok(())
    }
}
