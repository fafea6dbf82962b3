//! As much of the runtime crate as the process names.

use capos_config::capset::CapSetEntry;

use crate::kernel::Kernel;

/// The process's bootstrap: ring page and CapSet.
pub(crate) struct Runtime {
    ring: *mut u8,
    capset: CapSet,
}

impl Runtime {
    /// The bootstrap that `kernel` gives.
    pub(crate) fn of(kernel: &Kernel) -> Self {
        Self {
            ring: kernel.between.page(),
            capset: CapSet(kernel.capset().leak()),
        }
    }

    pub(crate) fn ring(&self) -> *mut u8 {
        self.ring
    }

    pub(crate) fn capset(&self) -> CapSet {
        self.capset
    }
}

/// The granted names.
#[derive(Clone, Copy)]
pub(crate) struct CapSet(&'static [CapSetEntry]);

impl CapSet {
    pub(crate) fn iter(self) -> impl Iterator<Item = CapSetEntry> {
        self.0.iter().copied()
    }

    /// The first entry of that name, if its interface is `T`'s.
    pub(crate) fn get_typed<T: Interface>(self, name: &[u8]) -> Result<Capability, ()> {
        let entry = self
            .0
            .iter()
            .find(|entry| entry.name_bytes() == name)
            .ok_or(())?;
        if entry.interface_id == T::ID {
            Ok(Capability(entry.cap_id))
        } else {
            Err(())
        }
    }
}

/// A typed slot.
pub(crate) struct Capability(u32);

impl Capability {
    pub(crate) fn cap_id(&self) -> u32 {
        self.0
    }
}

/// A type that stands for an interface.
pub(crate) trait Interface {
    const ID: u64;
}

/// `Console`.
pub(crate) enum Console {}

impl Interface for Console {
    const ID: u64 = capos_config::CONSOLE_INTERFACE_ID;
}

/// The system calls.
pub(crate) mod syscall {
    pub(crate) const CAP_ENTER_WAIT_FOREVER: u64 = u64::MAX;

    #[derive(Clone, Copy, Debug)]
    #[expect(
        dead_code,
        reason = "the process handles what this kernel never answers"
    )]
    pub(crate) enum SyscallError {
        Rejected,
        ThreadOwnedHead,
        SqConsumerBusy,
    }

    pub(crate) fn cap_enter(least: u32, timeout_ns: u64) -> Result<u32, SyscallError> {
        crate::kernel::enter(least, timeout_ns).ok_or(SyscallError::Rejected)
    }
}
