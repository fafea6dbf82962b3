//! Who pool sockets are charged to: each listener, and each client's outgoing
//! connections.
//!
//! Invariants: NET-RESERVE (the sockets of an account's reserve are given to no
//! other account, closing sockets included), NET-CLIENT (no client's outgoing
//! connections, closing ones included, are more than its bound).

use crate::config::{CLIENTS_MAX, LISTENERS_MAX};
use crate::ids::ClientId;
use crate::lists::take_one;

/// Accounts: one a listener, then one a client.
pub(crate) const ACCOUNTS: usize = LISTENERS_MAX + CLIENTS_MAX;

/// The account of the listener at `index`.
pub(crate) fn of_listener(index: u8) -> u8 {
    index
}

/// The account of a client's outgoing connections; none for a client too many.
pub(crate) fn of_client(client: ClientId) -> Option<u8> {
    let place = LISTENERS_MAX.checked_add(usize::from(client.0))?;
    (place < ACCOUNTS).then(|| u8::try_from(place).ok())?
}

#[derive(Debug, Clone, Copy)]
struct Account {
    used: u16,
    reserve: u16,
    limit: u16,
}

impl Default for Account {
    fn default() -> Self {
        Self {
            used: 0,
            reserve: 0,
            limit: u16::MAX,
        }
    }
}

impl Account {
    fn unmet(self) -> u32 {
        u32::from(self.reserve.saturating_sub(self.used))
    }
}

/// Every account of one pool.
#[derive(Debug, Default)]
pub(crate) struct Accounts {
    accounts: [Account; ACCOUNTS],
    /// Sockets that reserves lack in all, kept beside what it is the sum of: each
    /// request of a flood asks.
    unmet: u32,
}

impl Accounts {
    fn account(&self, account: u8) -> Account {
        self.accounts
            .get(usize::from(account))
            .copied()
            .unwrap_or_default()
    }

    /// Changes an account; the answer of `change`, or none if there is no account.
    fn change<R>(&mut self, account: u8, change: impl FnOnce(&mut Account) -> R) -> Option<R> {
        let account = self.accounts.get_mut(usize::from(account))?;
        let others = self.unmet.saturating_sub(account.unmet());
        let answer = change(account);
        self.unmet = others.saturating_add(account.unmet());
        Some(answer)
    }

    /// Whether `account` may take one of `free` sockets.
    pub(crate) fn may_take(&self, account: u8, free: u16) -> bool {
        if self.is_at_limit(account) {
            return false;
        }
        let others = self.unmet.saturating_sub(self.account(account).unmet());
        u32::from(free) > others
    }

    /// Whether `account` has as many sockets as it may ever have: it must give
    /// back one of its own.
    pub(crate) fn is_at_limit(&self, account: u8) -> bool {
        let account = self.account(account);
        account.used >= account.limit
    }

    /// Sets the most that an account may have.
    pub(crate) fn set_limit(&mut self, account: u8, limit: u16) {
        self.change(account, |account| account.limit = limit);
    }

    /// Whether giving one of `account`'s sockets back would help another one.
    pub(crate) fn is_above_reserve(&self, account: u8) -> bool {
        let account = self.account(account);
        account.used > account.reserve
    }

    /// Sets a reserve if `free` sockets can honour it beside all others.
    pub(crate) fn set_reserve(&mut self, account: u8, reserve: u16, free: u16) -> Result<(), ()> {
        let set =
            |reserve| move |slot: &mut Account| core::mem::replace(&mut slot.reserve, reserve);
        let before = self.change(account, set(reserve)).ok_or(())?;
        if self.unmet <= u32::from(free) {
            return Ok(());
        }
        self.change(account, set(before));
        Err(())
    }

    /// Charges one socket.
    pub(crate) fn charge(&mut self, account: u8) {
        self.change(account, |slot| slot.used = slot.used.saturating_add(1));
    }

    /// Gives one socket back; false if the account was charged for none.
    #[must_use]
    pub(crate) fn discharge(&mut self, account: u8) -> bool {
        self.change(account, |slot| take_one(&mut slot.used))
            .unwrap_or(false)
    }

    /// Sockets charged to `account` now.
    pub(crate) fn used(&self, account: u8) -> u16 {
        self.account(account).used
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reserve_is_nobody_elses() {
        let mut accounts = Accounts::default();
        accounts.set_reserve(2, 3, 10).unwrap();
        let mut free = 10;
        let mut taken = 0;
        while accounts.may_take(1, free) {
            accounts.charge(1);
            free -= 1;
            taken += 1;
        }
        assert_eq!(taken, 7);
        for _ in 0..3 {
            assert!(accounts.may_take(2, free));
            accounts.charge(2);
            free -= 1;
        }
        assert!(!accounts.may_take(2, free));
    }

    #[test]
    fn a_reserve_that_cannot_be_kept_is_refused_without_effect() {
        let mut accounts = Accounts::default();
        accounts.set_reserve(1, 6, 10).unwrap();
        assert_eq!(accounts.set_reserve(2, 5, 10), Err(()));
        assert!(accounts.may_take(3, 7));
        assert!(!accounts.may_take(3, 6));
    }
}
