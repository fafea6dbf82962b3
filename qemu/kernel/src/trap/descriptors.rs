//! Segments, the task state with the interrupt stacks, the interrupt table and
//! the system call entry.

use core::arch::asm;

use crate::cpu;
use crate::memory::layout;

/// Kernel code segment.
const KERNEL_CODE: u16 = 8;
/// Kernel data segment.
const KERNEL_DATA: u16 = 16;
/// User data segment, with its privilege.
pub(crate) const USER_DATA: u16 = 24 | 3;
/// User code segment, with its privilege.
pub(crate) const USER_CODE: u16 = 32 | 3;
const TASK: u16 = 40;

const VECTORS: usize = 48;
const STAR: u32 = 0xc000_0081;
const LSTAR: u32 = 0xc000_0082;
const SYSCALL_MASK: u32 = 0xc000_0084;
/// Flags cleared on a system call: trap, interrupt, direction, nested task,
/// alignment check.
const SYSCALL_CLEARS: u64 = 0x4_4700;

/// The limit of a descriptor table or segment that holds a `T`. All of them are
/// far smaller than 64 KiB.
const fn limit_of<T>() -> u16 {
    const { assert!(size_of::<T>() <= 0x1_0000 && size_of::<T>() > 0) };
    let [low, high, ..] = size_of::<T>().wrapping_sub(1).to_le_bytes();
    u16::from_le_bytes([low, high])
}

#[repr(C, packed(4))]
struct TaskState {
    reserved0: u32,
    ring_stacks: [u64; 3],
    reserved1: u64,
    interrupt_stacks: [u64; 7],
    reserved2: [u16; 5],
    io_map: u16,
}

#[repr(C, align(16))]
struct Gate {
    low: u64,
    high: u64,
}

#[repr(C, packed)]
struct Register {
    limit: u16,
    base: u64,
}

static mut TASK_STATE: TaskState = TaskState {
    reserved0: 0,
    ring_stacks: [0; 3],
    reserved1: 0,
    interrupt_stacks: [0; 7],
    reserved2: [0; 5],
    io_map: limit_of::<TaskState>().wrapping_add(1),
};
static mut SEGMENTS: [u64; 7] = [
    0,
    0x00af_9a00_0000_ffff,
    0x00cf_9200_0000_ffff,
    0x00cf_f200_0000_ffff,
    0x00af_fa00_0000_ffff,
    0,
    0,
];
static mut GATES: [Gate; VECTORS] = [const { Gate { low: 0, high: 0 } }; VECTORS];

unsafe extern "C" {
    static trap_table: [u64; VECTORS];
    fn syscall_entry();
}

/// Loads all of it. Called once, before the first process.
pub(crate) fn load() {
    let task = &raw mut TASK_STATE;
    // SAFETY: nothing else touches these statics, and they live for ever.
    let task = unsafe { &mut *task };
    task.ring_stacks = [layout::kernel_stack(), 0, 0];
    task.interrupt_stacks = [layout::fault_stack(), 0, 0, 0, 0, 0, 0];

    let task_base = (&raw const *task).expose_provenance() as u64;
    let segments = &raw mut SEGMENTS;
    // SAFETY: as above.
    let segments = unsafe { &mut *segments };
    let [.., task_low, task_high] = segments;
    *task_low = task_descriptor_low(task_base);
    *task_high = task_base >> 32;

    let stubs = &raw const trap_table;
    // SAFETY: the table is defined beside the stubs, with as many entries.
    let stubs = unsafe { &*stubs };
    let gates = &raw mut GATES;
    // SAFETY: as for the other statics.
    let gates = unsafe { &mut *gates };
    for (vector, (gate, &stub)) in gates.iter_mut().zip(stubs).enumerate() {
        // Double fault, NMI and machine check bring their own stack.
        let stack = u64::from(matches!(vector, 2 | 8 | 18));
        *gate = Gate {
            low: (stub & 0xffff)
                | (u64::from(KERNEL_CODE) << 16)
                | (stack << 32)
                | (0x8e << 40)
                | ((stub >> 16 & 0xffff) << 48),
            high: stub >> 32,
        };
    }
    load_registers(segments, gates);

    cpu::write_msr(
        STAR,
        (u64::from(KERNEL_DATA | 3) << 48) | (u64::from(KERNEL_CODE) << 32),
    );
    cpu::write_msr(
        LSTAR,
        (syscall_entry as *const ()).expose_provenance() as u64,
    );
    cpu::write_msr(SYSCALL_MASK, SYSCALL_CLEARS);
}

const fn task_descriptor_low(base: u64) -> u64 {
    limit_of::<TaskState>() as u64
        | (base & 0xff_ffff) << 16
        | 0x89 << 40
        | (base >> 24 & 0xff) << 56
}

fn load_registers(segments: &'static [u64; 7], gates: &'static [Gate; VECTORS]) {
    let segment_register = Register {
        limit: limit_of::<[u64; 7]>(),
        base: (&raw const *segments).expose_provenance() as u64,
    };
    let gate_register = Register {
        limit: limit_of::<[Gate; VECTORS]>(),
        base: (&raw const *gates).expose_provenance() as u64,
    };
    // SAFETY: both registers name tables that live for ever; the far return
    // loads the code segment that the kernel already runs with.
    unsafe {
        asm!(
            "lgdt [{segments}]",
            "lidt [{gates}]",
            "push {code}",
            "lea {scratch}, [rip + 2f]",
            "push {scratch}",
            "retfq",
            "2:",
            "mov ss, {data:e}",
            "ltr {task:x}",
            // The machine starts with a local table at address 0.
            "xor {scratch:e}, {scratch:e}",
            "lldt {scratch:x}",
            segments = in(reg) &raw const segment_register,
            gates = in(reg) &raw const gate_register,
            code = const KERNEL_CODE,
            scratch = out(reg) _,
            data = in(reg) u32::from(KERNEL_DATA),
            task = in(reg) TASK,
        );
    }
}
