//! Exceptions: of a user program, which end it, and of the kernel, which end
//! the machine.

use core::fmt;

use capos_config::process_layout::{USER_IMAGE_LINK_LIMIT, USER_STACK_BASE};

use super::user_context;

const PAGE_FAULT: u64 = 14;

/// Names of the processor's exceptions, by vector.
const NAMES: [&str; 32] = [
    "divide error",
    "debug exception",
    "non-maskable interrupt",
    "breakpoint",
    "overflow",
    "bound range exceeded",
    "invalid opcode",
    "no floating point unit",
    "double fault",
    "coprocessor overrun",
    "invalid task state",
    "segment not present",
    "stack segment fault",
    "general protection fault",
    "page fault",
    "reserved exception",
    "floating point error",
    "alignment check",
    "machine check",
    "vector floating point error",
    "virtualisation exception",
    "control protection exception",
    "reserved exception",
    "reserved exception",
    "reserved exception",
    "reserved exception",
    "reserved exception",
    "reserved exception",
    "hypervisor injection",
    "virtual machine communication",
    "security exception",
    "reserved exception",
];

/// Name of exception `vector`.
pub(crate) fn name(vector: u64) -> &'static str {
    usize::try_from(vector)
        .ok()
        .and_then(|index| NAMES.get(index))
        .copied()
        .unwrap_or("unexpected interrupt")
}

/// What a process did that the processor would not do.
#[derive(Clone, Copy)]
pub(crate) struct Fault {
    vector: u64,
    error: u64,
    address: u64,
    rip: u64,
    rsp: u64,
}

impl Fault {
    /// The fault that the entry code just reported for the running process.
    pub(crate) fn read(vector: u64, error: u64) -> Self {
        // SAFETY: the reference ends with this statement.
        let (rip, rsp) = user_context::place();
        Self {
            vector,
            error,
            address: crate::cpu::fault_address(),
            rip,
            rsp,
        }
    }
}

impl Fault {
    /// The address, if the process read or wrote a page that is not there.
    pub(crate) const fn missing_page(&self) -> Option<u64> {
        let present_or_fetch = self.error & 0b1_0001 != 0;
        if self.vector == PAGE_FAULT && !present_or_fetch {
            Some(self.address)
        } else {
            None
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            vector,
            error,
            address,
            rip,
            rsp,
        } = *self;
        write!(
            f,
            "{} error={error:#x} rip={rip:#x} rsp={rsp:#x}",
            name(vector)
        )?;
        if vector == PAGE_FAULT {
            write!(f, " address={address:#x}")?;
            if is_stack_guard(address) {
                f.write_str(" (stack exhausted)")?;
            }
        }
        Ok(())
    }
}

/// Whether `address` lies in the unmapped space below the stack.
const fn is_stack_guard(address: u64) -> bool {
    address < USER_STACK_BASE && address >= USER_IMAGE_LINK_LIMIT
}

/// An exception in ring 0 is a fault of the kernel.
#[unsafe(no_mangle)]
extern "C" fn handle_kernel_fault(vector: u64, error: u64, rip: u64) -> ! {
    panic!(
        "{} in the kernel: error={error:#x} rip={rip:#x} address={:#x}",
        name(vector),
        crate::cpu::fault_address()
    );
}
