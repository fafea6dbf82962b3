//! Release: the end of a reservation, once, on its own ledger (keeps L5).

use super::IngressLedger;
use super::table::State;
use crate::counters::bump;
use crate::partition::OVERDRAWN;
use crate::reservation::{ConnectionUse, IngressReservation, Misuse, ReleaseRefused};

type Released<'a> = Result<(), ReleaseRefused<IngressReservation<'a>>>;

impl<'a, const TICKETS: usize> IngressLedger<'a, TICKETS> {
    /// Ends a request that was fully served.
    ///
    /// # Errors
    /// Misuse, without effect and with the token; a debug build panics instead.
    #[track_caller]
    pub fn complete(
        &mut self,
        reservation: IngressReservation<'a>,
        connection: &mut ConnectionUse,
    ) -> Released<'a> {
        match self.inspect(&reservation, connection) {
            Ok(State::Serving) => {}
            Ok(_) => return Err(ReleaseRefused::new(reservation, Misuse::NotServing)),
            Err(misuse) => return Err(ReleaseRefused::new(reservation, misuse)),
        }
        bump(&mut self.books[connection.lane()].counters.completed);
        self.release(reservation, connection);
        Ok(())
    }

    /// Ends a request in any other way: time-out, cancellation, close or error.
    ///
    /// # Errors
    /// Misuse, without effect and with the token; a debug build panics instead.
    #[track_caller]
    pub fn cancel(
        &mut self,
        reservation: IngressReservation<'a>,
        connection: &mut ConnectionUse,
    ) -> Released<'a> {
        if let Err(misuse) = self.inspect(&reservation, connection) {
            return Err(ReleaseRefused::new(reservation, misuse));
        }
        bump(&mut self.books[connection.lane()].counters.cancelled);
        self.release(reservation, connection);
        Ok(())
    }

    /// What the reservation is doing, if it and the connection belong here.
    fn inspect(
        &self,
        reservation: &IngressReservation<'a>,
        connection: &ConnectionUse,
    ) -> Result<State, Misuse> {
        self.issuer.assert_unleaked();
        if !reservation.seal.is_of(self.issuer, self.name) {
            return Err(Misuse::ForeignToken);
        }
        let entry = self
            .table
            .entry(reservation.ticket)
            .ok_or(Misuse::ForeignToken)?;
        let same = entry.owner == connection.owner() && entry.lane == connection.lane();
        if !same || connection.outstanding == 0 {
            return Err(Misuse::WrongConnection);
        }
        Ok(entry.state)
    }

    /// Gives everything back that the reservation was charged.
    fn release(&mut self, reservation: IngressReservation<'a>, connection: &mut ConnectionUse) {
        let Some(entry) = self.table.remove(reservation.ticket) else {
            return self.fault("released a ticket that is not there");
        };
        reservation.seal.open();
        connection.outstanding = connection.outstanding.wrapping_sub(1);
        let mut balanced = self.bytes.release(entry.lane, entry.footprint);
        if entry.state == State::Serving {
            balanced &= self.slots.release(entry.lane, 1);
        } else if let Some(waiting) = self.books[entry.lane].waiting.checked_sub(1) {
            self.books[entry.lane].waiting = waiting;
        } else {
            balanced = false;
        }
        if !balanced {
            self.fault(OVERDRAWN);
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::issuer::{Issuer, Seal};
    use crate::lane::Lane;
    use crate::ledger::IngressLedger;
    use crate::ledger::explore::SMALL;
    use crate::partition::Partition;
    use crate::reservation::{ConnectionUse, IngressReservation};
    use crate::units::{Instant, Owner};

    const SERVED: usize = 0;
    const WAITING: usize = 2;

    /// Faults after `corrupt`, which no caller can do, and the cancelling of one of three
    /// requests, of which the last waits.
    fn faults(cancelled: usize, corrupt: impl FnOnce(&mut IngressLedger<'_, 12>)) -> u64 {
        let issuer = Issuer::new();
        let mut ledger = IngressLedger::new(&SMALL.validate().unwrap(), &issuer).unwrap();
        let footprint = ledger.footprint(Lane::Anonymous).unwrap();
        let mut connection = ConnectionUse::new(Lane::Anonymous, Owner(0));
        let tickets = [(); 3].map(|()| {
            let now = Some(Instant::ZERO);
            let asked = ledger.request(&mut connection, footprint, Instant::MAX, now);
            let token = asked.unwrap();
            let ticket = token.ticket();
            core::mem::forget(token);
            ticket
        });
        corrupt(&mut ledger);
        let seal = Seal::new(&issuer, ledger.name);
        let ticket = tickets[cancelled];
        let token = IngressReservation { seal, ticket };
        ledger.cancel(token, &mut connection).unwrap();
        ledger.evidence().faults
    }

    #[test]
    fn sound_release_is_no_fault() {
        assert_eq!(faults(SERVED, |_| {}), 0);
        assert_eq!(faults(WAITING, |_| {}), 0);
    }

    #[test]
    #[cfg_attr(
        debug_assertions,
        should_panic(expected = "released more than was charged")
    )]
    fn release_of_an_uncounted_ticket_is_a_fault() {
        assert_eq!(
            faults(WAITING, |ledger| ledger.books[Lane::Anonymous].waiting = 0),
            1
        );
    }

    #[test]
    #[cfg_attr(
        debug_assertions,
        should_panic(expected = "released more than was charged")
    )]
    fn release_of_uncharged_bytes_is_a_fault() {
        assert_eq!(faults(SERVED, |ledger| ledger.bytes = Partition::CLOSED), 1);
    }

    #[test]
    #[cfg_attr(
        debug_assertions,
        should_panic(expected = "released more than was charged")
    )]
    fn release_of_an_uncharged_slot_is_a_fault() {
        assert_eq!(faults(SERVED, |ledger| ledger.slots = Partition::CLOSED), 1);
    }
}
