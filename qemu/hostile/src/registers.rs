//! Deeds about processor state: odd flags on entry, and registers that must be
//! found again.
#![expect(
    clippy::multiple_unsafe_ops_per_block,
    reason = "each sequence of instructions is one step"
)]

use core::arch::asm;

const BROKEN: i64 = 1;
const ROUNDS: u64 = 25;

/// Makes system calls with the direction flag, alignment checks and a stack
/// pointer that points nowhere.
pub(crate) fn odd_flags() -> i64 {
    let mut results = [0_u64; 3];
    let [direction, alignment, stack] = &mut results;
    // SAFETY: each changes a flag or the stack pointer around a system call
    // that takes neither, and puts it back.
    unsafe {
        asm!("std", "syscall", "cld", inlateout("rax") 99_u64 => *direction,
            out("rcx") _, out("r11") _);
        asm!("pushfq", "or qword ptr [rsp], 0x40000", "popfq", "syscall",
            "pushfq", "and qword ptr [rsp], -262145", "popfq",
            inlateout("rax") 99_u64 => *alignment, out("rcx") _, out("r11") _);
        asm!("mov {kept}, rsp", "mov rsp, {nowhere}", "syscall", "mov rsp, {kept}",
            kept = out(reg) _, nowhere = in(reg) 0xdead_0000_0000_0007_u64,
            inlateout("rax") 99_u64 => *stack, out("rcx") _, out("r11") _, options(nostack));
    }
    if results == [u64::MAX; 3] { 0 } else { BROKEN }
}

/// Fills general and vector registers, enters the kernel and waits there while
/// others run, and looks at them again.
pub(crate) fn keep_registers() -> i64 {
    for round in 0..ROUNDS {
        let seed = round.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mut wrong: u64;
        // SAFETY: the registers are declared; the call waits for one
        // completion that never comes, for a tenth of a millisecond.
        unsafe {
            asm!(
                "movq xmm0, {seed}", "punpcklqdq xmm0, xmm0",
                "movaps xmm1, xmm0", "paddq xmm1, xmm0", "movaps xmm15, xmm1", "paddq xmm15, xmm0",
                "mov r8, {seed}", "mov r15, {seed}", "not r15",
                "mov eax, 2", "mov edi, 1", "mov esi, 100000",
                "syscall",
                "movaps xmm2, xmm0", "paddq xmm2, xmm0", "pcmpeqd xmm2, xmm1",
                "movaps xmm3, xmm1", "paddq xmm3, xmm0", "pcmpeqd xmm3, xmm15",
                "pand xmm2, xmm3", "movmskps ecx, xmm2", "xor ecx, 15",
                "mov {wrong:e}, ecx",
                "xor r8, {seed}", "or {wrong}, r8",
                "not r15", "xor r15, {seed}", "or {wrong}, r15",
                seed = in(reg) seed,
                wrong = out(reg) wrong,
                out("rax") _, out("rcx") _, out("rsi") _, out("rdi") _, out("r8") _, out("r11") _, out("r15") _,
                out("xmm0") _, out("xmm1") _, out("xmm2") _, out("xmm3") _, out("xmm15") _,
            );
        }
        if wrong != 0 || !survives_preemption(seed) {
            return BROKEN;
        }
    }
    0
}

/// Keeps values in registers over a loop long enough to be preempted in.
fn survives_preemption(seed: u64) -> bool {
    let mut wrong: u64;
    // SAFETY: registers only.
    unsafe {
        asm!(
            "movq xmm7, {seed}", "mov r11, {seed}", "mov rcx, 100000",
            "2:", "dec rcx", "jnz 2b",
            "movq {wrong}, xmm7", "xor {wrong}, {seed}",
            "xor r11, {seed}", "or {wrong}, r11",
            seed = in(reg) seed, wrong = out(reg) wrong,
            out("rcx") _, out("r11") _, out("xmm7") _,
            options(nomem, nostack),
        );
    }
    wrong == 0
}
