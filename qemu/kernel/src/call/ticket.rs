//! Who called, for what, and where the answer goes.

use harness_net::ClientId;

use crate::user_range::UserRange;

/// Bytes of a transfer record, as lengths in messages are counted.
pub const RECORD_BYTES: u32 = 16;

/// Place of a process in the kernel's table; also its list index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProcessIndex(pub usize);

impl ProcessIndex {
    /// The number by which the process and the console know it, from 1.
    #[must_use]
    pub fn number(self) -> u32 {
        u32::try_from(self.0).unwrap_or(u32::MAX).saturating_add(1)
    }

    /// The network's name for the process.
    #[must_use]
    pub fn client(self) -> ClientId {
        ClientId(u8::try_from(self.0).unwrap_or(u8::MAX))
    }
}

const _: () = assert!(
    ingress_schema::PROCESSES_MAX <= harness_net::CLIENTS_MAX,
    "every process is a client"
);

/// A call that will be completed: the caller's own name for it, and where the
/// answer goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ticket {
    /// The caller's own name for the call.
    pub user_data: u64,
    /// Result buffer; checked when the call was submitted.
    pub result: Option<UserRange>,
}

impl Ticket {
    /// Bytes of the result buffer.
    #[must_use]
    pub fn result_bytes(&self) -> u32 {
        self.result.map_or(0, UserRange::length)
    }

    /// `bytes` of the result buffer from `offset`, if it is as long.
    #[must_use]
    pub fn result_part(&self, offset: u32, bytes: usize) -> Option<UserRange> {
        let result = self.result?;
        let bytes = u32::try_from(bytes).ok()?;
        if offset.checked_add(bytes)? > result.length() {
            return None;
        }
        UserRange::new(result.start().checked_add(u64::from(offset))?, bytes).ok()
    }

    /// Whether a message of `bytes` with one capability fits the result buffer.
    #[must_use]
    pub fn fits_with_cap(&self, bytes: u32) -> bool {
        bytes.saturating_add(RECORD_BYTES) <= self.result_bytes()
    }
}

/// A call whose buffers are checked.
#[derive(Clone, Copy, Debug)]
pub struct Call<M> {
    /// Who asked, and where the answer goes.
    pub ticket: Ticket,
    /// Which method: a number until the object is known, then one of its own.
    pub method: M,
    /// The parameters, if there are any.
    pub params: Option<UserRange>,
}

impl<M> Call<M> {
    /// The same call, of `method`.
    pub fn of<T>(self, method: T) -> Call<T> {
        Call {
            ticket: self.ticket,
            method,
            params: self.params,
        }
    }
}
