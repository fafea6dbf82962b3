//! The socket pool: free sockets, whose they are, and who gives way to whom.
//!
//! Invariants: NET-POOL (a socket is either free or charged to exactly one
//! account; its flow, its timer and its place in every list end when it is
//! freed, so that nothing of it waits behind its old transport).

use crate::account::{ACCOUNTS, Accounts};
use crate::config::{NetConfig, PORTS_MAX};
use crate::counters::PoolCounters;
use crate::events::{Ready, Source};
use crate::flow::{FlowTable, PortIndex};
use crate::lists::{ListName, Lists, take_one};
use crate::slot::{Phase, Slot};
use crate::time::Instant;
use crate::timers::Timers;
use alloc::vec::Vec;

const FREE: ListName = ListName(0);

const LISTS_PER_ACCOUNT: u16 = 3;

/// Sockets of `port` that may have something to send, in turn.
fn transmitters(port: PortIndex) -> ListName {
    ListName(u16::from(port.0))
}

/// Sockets that were given something to send since a poll, and one poll before: see
/// [`Pool::hold`].
const HELD: [ListName; 2] = [ListName(PORTS), ListName(PORTS + 1)];

/// Lists of [`transmitters`].
const PORTS: u16 = 16;
const _: () = assert!(PORTS as usize == PORTS_MAX);

/// Sockets that wait in `account`'s backlog for `accept`, oldest first.
pub(crate) fn backlog(account: u8) -> ListName {
    ListName(
        u16::from(account)
            .wrapping_mul(LISTS_PER_ACCOUNT)
            .wrapping_add(1),
    )
}

/// Orphans of `account` that are still closing, oldest first.
pub(crate) fn orphans(account: u8) -> ListName {
    ListName(
        u16::from(account)
            .wrapping_mul(LISTS_PER_ACCOUNT)
            .wrapping_add(2),
    )
}

/// Orphans of `account` in TIME-WAIT, oldest first.
pub(crate) fn time_wait(account: u8) -> ListName {
    ListName(
        u16::from(account)
            .wrapping_mul(LISTS_PER_ACCOUNT)
            .wrapping_add(3),
    )
}

/// A socket that may be ended in favour of a newcomer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Victim {
    /// Its connection is over in all but waiting.
    TimeWait(u16),
    /// Its process is gone, and it has had its floor of time.
    Orphan(u16),
}

/// The pool and every index over it.
pub(crate) struct Pool {
    slots: Vec<Slot>,
    pub(crate) lists: Lists,
    /// Sockets that may have something to send: one list a port, and those held.
    transmit: Lists,
    /// Which of [`HELD`] takes newcomers.
    holding: usize,
    /// What is to be reported.
    pub(crate) ready: Ready,
    pub(crate) flows: FlowTable,
    pub(crate) timers: Timers,
    pub(crate) accounts: Accounts,
    pub(crate) counters: PoolCounters,
}

impl Pool {
    /// A pool as configured, all sockets free.
    pub(crate) fn new(config: &NetConfig) -> Self {
        let count = config.sockets;
        let lists_count = u16::try_from(ACCOUNTS)
            .unwrap_or(u16::MAX)
            .saturating_mul(LISTS_PER_ACCOUNT)
            .saturating_add(1);
        let mut lists = Lists::new(count, lists_count);
        for index in 0..count {
            lists.append(FREE, index);
        }
        let [key, tweak] = config.secret;
        Self {
            slots: (0..count)
                .map(|_| Slot::new(config.rx_bytes, config.tx_bytes))
                .collect(),
            lists,
            transmit: Lists::new(count, PORTS.saturating_add(2)),
            holding: 0,
            ready: Ready::new(count),
            flows: FlowTable::new(count, [tweak, key ^ u64::MAX]),
            timers: Timers::new(count),
            accounts: Accounts::default(),
            counters: PoolCounters::default(),
        }
    }

    pub(crate) fn slot(&self, index: u16) -> Option<&Slot> {
        self.slots.get(usize::from(index))
    }

    pub(crate) fn slot_mut(&mut self, index: u16) -> Option<&mut Slot> {
        self.slots.get_mut(usize::from(index))
    }

    /// Free sockets.
    pub(crate) fn free_count(&self) -> u16 {
        self.lists.len(FREE)
    }

    /// Whether `account` may take a socket without anyone giving way.
    pub(crate) fn may_take(&self, account: u8) -> bool {
        self.accounts.may_take(account, self.free_count())
    }

    /// Takes a free socket for `account`, if it may have one.
    pub(crate) fn take(&mut self, account: u8) -> Option<u16> {
        if !self.may_take(account) {
            return None;
        }
        // The newest: its memory is the most likely to be in a cache.
        let index = self.lists.pop_last(FREE)?;
        self.accounts.charge(account);
        if let Some(slot) = self.slot_mut(index) {
            slot.account = account;
        }
        self.counters.in_use = self.counters.in_use.saturating_add(1);
        self.counters.high_water = self.counters.high_water.max(self.counters.in_use);
        Some(index)
    }

    /// Frees a socket, whatever state its connection is in. Sends nothing.
    pub(crate) fn free(&mut self, index: u16) {
        let Some(slot) = self.slot_mut(index) else {
            return;
        };
        if slot.phase == Phase::Free && self.lists.list_of(index) == Some(FREE) {
            return;
        }
        let Some(slot) = self.slot_mut(index) else {
            return;
        };
        let account = slot.account;
        slot.recycle();
        self.flows.remove(index);
        self.timers.set(index, None);
        self.transmit.unlink(index);
        self.ready.remove(Source::Socket(index));
        self.move_to(FREE, index);
        let is_charged = self.accounts.discharge(account);
        let is_counted = take_one(&mut self.counters.in_use);
        if !(is_charged && is_counted) {
            self.fault();
        }
    }

    /// Lets a socket that was just given something to send wait for one poll: if its process
    /// closes it when it hears that all was taken, text and end leave in one segment. What it
    /// wanted to transmit already, an acknowledgement as a rule, rides along.
    pub(crate) fn hold(&mut self, index: u16) {
        let is_held = self
            .transmit
            .list_of(index)
            .is_some_and(|list| HELD.contains(&list));
        if cfg!(feature = "broken-lone-end") {
            self.wants_transmit(index);
        } else if !is_held && let Some(&list) = HELD.get(self.holding) {
            self.transmit.append(list, index);
        }
    }

    /// Lets those transmit that were held at the last poll; whether any are held still.
    pub(crate) fn end_holds(&mut self) -> bool {
        let newer = HELD.get(self.holding).copied();
        self.holding ^= 1;
        let older = HELD.get(self.holding).copied();
        while let Some(index) = older.and_then(|list| self.transmit.pop_first(list)) {
            self.wants_transmit(index);
        }
        newer.is_some_and(|list| self.transmit.len(list) > 0)
    }

    /// Moves a socket to `list`, keeping the counts of closing sockets.
    pub(crate) fn move_to(&mut self, list: ListName, index: u16) {
        let before = self.lists.list_of(index);
        if self.gauge(before).is_some_and(|gauge| !take_one(gauge)) {
            self.fault();
        }
        self.lists.append(list, index);
        if let Some(gauge) = self.gauge(Some(list)) {
            *gauge = gauge.saturating_add(1);
        }
    }

    /// Puts a socket last among those that its port lets transmit, unless it is
    /// one of them. It is held no longer.
    pub(crate) fn wants_transmit(&mut self, index: u16) {
        let Some(slot) = self.slot(index).filter(|slot| slot.phase != Phase::Free) else {
            return;
        };
        let port = transmitters(slot.port);
        if self.transmit.list_of(index) != Some(port) {
            self.transmit.append(port, index);
        }
    }

    /// Whether any socket of `port` may have something to send.
    pub(crate) fn has_transmitter(&self, port: PortIndex) -> bool {
        self.transmit.first(transmitters(port)).is_some()
    }

    /// Takes the socket of `port` whose turn to transmit it is.
    pub(crate) fn next_transmitter(&mut self, port: PortIndex) -> Option<u16> {
        self.transmit.pop_first(transmitters(port))
    }

    /// What the pool counts, faults of its lists included.
    pub(crate) fn counters(&self) -> PoolCounters {
        let lists = [
            self.lists.faults(),
            self.transmit.faults(),
            self.ready.faults(),
        ];
        PoolCounters {
            faults: lists
                .into_iter()
                .fold(self.counters.faults, u64::saturating_add),
            ..self.counters
        }
    }

    /// Counts accounts of sockets, or of their numbers, that did not add up.
    #[cold]
    pub(crate) fn fault(&mut self) {
        self.counters.faults = self.counters.faults.saturating_add(1);
    }

    fn gauge(&mut self, list: Option<ListName>) -> Option<&mut u16> {
        let name = list?.0.checked_sub(1)?;
        match name.checked_rem(LISTS_PER_ACCOUNT)? {
            1 => Some(&mut self.counters.orphans),
            2 => Some(&mut self.counters.time_wait),
            _ => None,
        }
    }

    /// Who would give way to `account`: sockets in TIME-WAIT before orphans, its
    /// own before those of accounts above their reserve, oldest first.
    pub(crate) fn victim(
        &self,
        account: u8,
        now: Instant,
        floor: core::time::Duration,
    ) -> Option<Victim> {
        let others = (0_u8..)
            .take(ACCOUNTS)
            .filter(|&other| other != account && self.accounts.is_above_reserve(other))
            // At its own bound another's socket would be of no use to it.
            .filter(|_| !self.accounts.is_at_limit(account));
        let candidates = || core::iter::once(account).chain(others.clone());
        if let Some(index) = candidates().find_map(|a| self.lists.first(time_wait(a))) {
            return Some(Victim::TimeWait(index));
        }
        let old_enough = |&index: &u16| {
            self.slot(index)
                .is_some_and(|slot| now.since(slot.orphaned) >= floor)
        };
        candidates()
            .filter_map(|a| self.lists.first(orphans(a)))
            .find(old_enough)
            .map(Victim::Orphan)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::time::Duration;

    fn pool(sockets: u16) -> Pool {
        let mut config = NetConfig::new([1, 2]);
        config.sockets = sockets;
        config.rx_bytes = 64;
        config.tx_bytes = 64;
        Pool::new(&config)
    }

    #[test]
    fn takes_and_frees_all() {
        let mut pool = pool(4);
        let taken: Vec<u16> = core::iter::from_fn(|| pool.take(1)).collect();
        assert_eq!(taken.len(), 4);
        assert_eq!(pool.counters.in_use, 4);
        for index in taken {
            pool.free(index);
            pool.free(index); // a second free has no effect
        }
        assert_eq!((pool.counters.in_use, pool.counters.high_water), (0, 4));
        assert_eq!(pool.free_count(), 4);
        assert_eq!(pool.accounts.used(1), 0);
    }

    /// Faults after a socket in TIME-WAIT was freed from a pool that `corrupt` has miscounted.
    fn faults(corrupt: impl FnOnce(&mut Pool)) -> u64 {
        let mut pool = pool(4);
        let index = pool.take(1).unwrap();
        pool.move_to(time_wait(1), index);
        corrupt(&mut pool);
        pool.free(index);
        assert_eq!(pool.free_count(), 4);
        pool.counters().faults
    }

    #[test]
    fn a_sound_pool_has_no_faults() {
        assert_eq!(faults(|_| {}), 0);
    }

    #[test]
    #[cfg_attr(
        debug_assertions,
        should_panic(expected = "more were taken than were counted")
    )]
    fn a_gauge_that_counts_none_is_a_fault() {
        assert_eq!(faults(|pool| pool.counters.time_wait = 0), 1);
    }

    #[test]
    #[cfg_attr(
        debug_assertions,
        should_panic(expected = "more were taken than were counted")
    )]
    fn a_socket_charged_to_nobody_is_a_fault() {
        assert_eq!(faults(|pool| pool.accounts = Accounts::default()), 1);
    }

    #[test]
    fn time_wait_gives_way_before_orphans_and_own_before_others() {
        let floor = Duration::from_millis(500);
        let now = Instant::from_millis(1_000);
        let mut pool = pool(4);
        let mine = pool.take(1).unwrap();
        let theirs = pool.take(2).unwrap();
        assert_eq!(pool.victim(1, now, floor), None);
        pool.move_to(orphans(2), theirs);
        assert_eq!(pool.victim(1, now, floor), Some(Victim::Orphan(theirs)));
        pool.move_to(orphans(1), mine);
        assert_eq!(pool.victim(1, now, floor), Some(Victim::Orphan(mine)));
        pool.move_to(time_wait(2), theirs);
        assert_eq!(pool.victim(1, now, floor), Some(Victim::TimeWait(theirs)));
        assert_eq!((pool.counters.orphans, pool.counters.time_wait), (1, 1));
    }

    #[test]
    fn young_orphans_and_other_reserves_are_spared() {
        let floor = Duration::from_millis(500);
        let mut pool = pool(4);
        pool.accounts.set_reserve(2, 2, 4).unwrap();
        let theirs = pool.take(2).unwrap();
        pool.move_to(time_wait(2), theirs);
        assert_eq!(
            pool.victim(1, Instant::from_millis(1_000), floor),
            None,
            "within its reserve"
        );
        let mine = pool.take(1).unwrap();
        pool.move_to(orphans(1), mine);
        assert_eq!(
            pool.victim(1, Instant::from_millis(499), floor),
            None,
            "too young"
        );
    }
}
