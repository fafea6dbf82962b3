//! Exceptions: of a user program, which end it, and of the kernel, which end
//! the machine.

/// Names of the processor's exceptions, by vector.
const NAMES: [&str; 32] = [
    "divide error", "debug exception", "non-maskable interrupt", "breakpoint",
    "overflow", "bound range exceeded", "invalid opcode", "no floating point unit",
    "double fault", "coprocessor overrun", "invalid task state", "segment not present",
    "stack segment fault", "general protection fault", "page fault", "reserved exception",
    "floating point error", "alignment check", "machine check", "vector floating point error",
    "virtualisation exception", "control protection exception", "reserved exception",
    "reserved exception", "reserved exception", "reserved exception", "reserved exception",
    "reserved exception", "hypervisor injection", "virtual machine communication",
    "security exception", "reserved exception",
];

/// Name of exception `vector`.
pub(crate) fn name(vector: u64) -> &'static str {
    usize::try_from(vector)
        .ok()
        .and_then(|index| NAMES.get(index))
        .copied()
        .unwrap_or("unexpected interrupt")
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
