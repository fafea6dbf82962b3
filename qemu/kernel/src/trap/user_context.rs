//! All processor state of a user thread.
//!
//! The entry code keeps the running thread's general and xmm registers in
//! [`current_user`]; the rest of the floating point state stays in the
//! processor until another process runs.

use core::arch::asm;

/// Saved state. `by_syscall` decides the way back: `sysret` when set, which
/// does not restore rcx and r11, else `iret`.
#[repr(C, align(16))]
#[derive(Clone)]
pub(crate) struct UserContext {
    pub(crate) rax: u64,
    pub(crate) rbx: u64,
    pub(crate) rcx: u64,
    pub(crate) rdx: u64,
    pub(crate) rsi: u64,
    pub(crate) rdi: u64,
    pub(crate) rbp: u64,
    pub(crate) r8: u64,
    pub(crate) r9: u64,
    pub(crate) r10: u64,
    pub(crate) r11: u64,
    pub(crate) r12: u64,
    pub(crate) r13: u64,
    pub(crate) r14: u64,
    pub(crate) r15: u64,
    pub(crate) rip: u64,
    pub(crate) rflags: u64,
    pub(crate) rsp: u64,
    pub(crate) by_syscall: u64,
    /// Start of thread-local storage.
    pub(crate) fs_base: u64,
    floating: FloatingState,
}

/// The processor's own format: control words, x87 registers, xmm registers.
#[repr(C, align(16))]
#[derive(Clone)]
struct FloatingState([u8; 512]);

/// Where xmm0 is in a [`FloatingState`].
const XMM_IN_FLOATING: usize = 160;
/// Where xmm0 is in a [`UserContext`].
pub(crate) const XMM_OFFSET: usize = core::mem::offset_of!(UserContext, floating) + XMM_IN_FLOATING;

/// Length of the instruction `syscall`, which the saved place is behind.
const SYSCALL_BYTES: u64 = 2;
const RFLAGS_START: u64 = 0x202;
const CONTROL_START: u16 = 0x037f;
const MXCSR_START: u32 = 0x1f80;

impl UserContext {
    /// No state at all, for a static.
    const fn empty() -> Self {
        Self {
            rax: 0,
            rbx: 0,
            rcx: 0,
            rdx: 0,
            rsi: 0,
            rdi: 0,
            rbp: 0,
            r8: 0,
            r9: 0,
            r10: 0,
            r11: 0,
            r12: 0,
            r13: 0,
            r14: 0,
            r15: 0,
            rip: 0,
            rflags: 0,
            rsp: 0,
            by_syscall: 0,
            fs_base: 0,
            floating: FloatingState([0; 512]),
        }
    }

    /// A thread about to call `entry` with up to three arguments, on a stack
    /// aligned as after a call.
    pub(crate) fn starting(entry: u64, stack_top: u64, arguments: [u64; 3]) -> Self {
        let [rdi, rsi, rdx] = arguments;
        let mut context = Self {
            rdi,
            rsi,
            rdx,
            rip: entry,
            rflags: RFLAGS_START,
            rsp: stack_top.wrapping_sub(8),
            ..Self::empty()
        };
        let bytes = &mut context.floating.0;
        if let Some(control) = bytes.first_chunk_mut::<2>() {
            *control = CONTROL_START.to_le_bytes();
        }
        if let Some(mxcsr) = bytes.get_mut(24..28) {
            mxcsr.copy_from_slice(&MXCSR_START.to_le_bytes());
        }
        context
    }
}

/// The state that the entry code saves to and resumes from.
#[unsafe(no_mangle)]
static mut current_user: UserContext = UserContext::empty();

/// Lends the running thread's saved state; `body` must not call what does so
/// itself, so it stays in this file.
fn with_current<R>(body: impl FnOnce(&mut UserContext) -> R) -> R {
    let current = &raw mut current_user;
    // SAFETY: one processor, no interrupts in ring 0, and no `body` below comes
    // back here: the reference is the only one.
    body(unsafe { &mut *current })
}

/// Number and arguments of the running thread's system call.
pub(crate) fn system_call() -> (u64, u64, u64) {
    with_current(|current| (current.rax, current.rdi, current.rsi))
}

/// Sets what the running thread's system call returns.
pub(crate) fn set_result(value: u64) {
    with_current(|current| current.rax = value);
}

/// Lets the running thread make its system call anew when it is resumed: its
/// number and arguments are still where it put them.
pub(crate) fn call_again() {
    with_current(|current| current.rip = current.rip.wrapping_sub(SYSCALL_BYTES));
}

/// Where the running thread is: instruction and stack pointer.
pub(crate) fn place() -> (u64, u64) {
    with_current(|current| (current.rip, current.rsp))
}

/// Whether the running thread was interrupted, as opposed to having called.
pub(crate) fn is_interrupted() -> bool {
    with_current(|current| current.by_syscall == 0)
}

/// Moves the running thread's state into `slot`; x87 state comes from the
/// processor, xmm state from where the entry code put it.
pub(crate) fn put_away(slot: &mut UserContext) {
    let mut live = FloatingState([0; 512]);
    // SAFETY: 512 aligned bytes are what `fxsave64` writes.
    unsafe { asm!("fxsave64 [{}]", in(reg) &raw mut live, options(nostack, preserves_flags)) };
    with_current(|current| slot.clone_from(current));
    if let (Some(to), Some(from)) = (
        slot.floating.0.get_mut(..XMM_IN_FLOATING),
        live.0.get(..XMM_IN_FLOATING),
    ) {
        to.copy_from_slice(from);
    }
}

/// Makes `slot` the running thread's state.
pub(crate) fn take_up(slot: &UserContext) {
    with_current(|current| current.clone_from(slot));
    // SAFETY: the area is aligned and was built by `starting` or `fxsave64`,
    // so no reserved control bit is set. The xmm registers it loads are not
    // live across this statement: they are declared clobbered.
    unsafe {
        asm!("fxrstor64 [{}]", in(reg) &raw const slot.floating,
            out("xmm0") _, out("xmm1") _, out("xmm2") _, out("xmm3") _,
            out("xmm4") _, out("xmm5") _, out("xmm6") _, out("xmm7") _,
            out("xmm8") _, out("xmm9") _, out("xmm10") _, out("xmm11") _,
            out("xmm12") _, out("xmm13") _, out("xmm14") _, out("xmm15") _,
            options(nostack));
    }
    crate::cpu::set_fs_base(slot.fs_base);
}
