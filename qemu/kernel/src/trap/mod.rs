//! How control comes into the kernel and leaves it.

pub(crate) mod descriptors;
pub(crate) mod entry;
pub(crate) mod exception;
pub(crate) mod idle;
pub(crate) mod user_context;

core::arch::global_asm!(
    include_str!("entry.s"),
    rax = const core::mem::offset_of!(user_context::UserContext, rax),
    rbx = const core::mem::offset_of!(user_context::UserContext, rbx),
    rcx = const core::mem::offset_of!(user_context::UserContext, rcx),
    rdx = const core::mem::offset_of!(user_context::UserContext, rdx),
    rsi = const core::mem::offset_of!(user_context::UserContext, rsi),
    rdi = const core::mem::offset_of!(user_context::UserContext, rdi),
    rbp = const core::mem::offset_of!(user_context::UserContext, rbp),
    r8 = const core::mem::offset_of!(user_context::UserContext, r8),
    r9 = const core::mem::offset_of!(user_context::UserContext, r9),
    r10 = const core::mem::offset_of!(user_context::UserContext, r10),
    r11 = const core::mem::offset_of!(user_context::UserContext, r11),
    r12 = const core::mem::offset_of!(user_context::UserContext, r12),
    r13 = const core::mem::offset_of!(user_context::UserContext, r13),
    r14 = const core::mem::offset_of!(user_context::UserContext, r14),
    r15 = const core::mem::offset_of!(user_context::UserContext, r15),
    rip = const core::mem::offset_of!(user_context::UserContext, rip),
    rflags = const core::mem::offset_of!(user_context::UserContext, rflags),
    rsp = const core::mem::offset_of!(user_context::UserContext, rsp),
    by_syscall = const core::mem::offset_of!(user_context::UserContext, by_syscall),
    xmm = const user_context::XMM_OFFSET,
    user_code = const descriptors::USER_CODE,
    user_data = const descriptors::USER_DATA,
);
