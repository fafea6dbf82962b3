//! The kernel's state.

use alloc::boxed::Box;
use alloc::vec::Vec;

use harness_kernel::call::scratch::Scratch;
use harness_kernel::call::ticket::ProcessIndex;
use harness_kernel::object::world::World;
use harness_kernel::process::state::Process;
use harness_kernel::shares::Shares;
use harness_kernel::syscall::enter::Entry;

use super::hardware::Hardware;
use crate::device::console;
use crate::memory::address_space::AddressSpace;
use crate::memory::evidence::MemoryEvidence;
use crate::time;
use crate::trap::user_context::UserContext;

/// A process and its processor state.
pub(crate) struct Task {
    /// The process.
    pub(crate) process: Process<AddressSpace>,
    /// Its processor state while it does not run.
    pub(crate) saved: Box<UserContext>,
}

/// What a process that has ended left behind, and how far it is given back. Each
/// turn gives back a little, so that a thousand connections or all the memory of
/// the machine keep nobody waiting (keeps KERNEL-ENTRY).
pub(crate) struct Remains {
    /// The process.
    pub(crate) process: Process<AddressSpace>,
    /// The next place of the connections to look at, if any is left.
    pub(crate) place: Option<usize>,
}

/// Everything that is not memory or a device.
pub(crate) struct Kernel {
    /// All processes; an ended one leaves its place empty.
    pub(crate) tasks: Vec<Option<Task>>,
    /// What ended processes left, to be given back.
    pub(crate) remains: Vec<Remains>,
    /// The process whose state is loaded.
    pub(crate) running: Option<ProcessIndex>,
    /// Since when its time is not booked.
    pub(crate) running_since: u64,
    /// What each process has had of the processor.
    pub(crate) shares: Shares,
    /// When the present tick ends.
    pub(crate) tick_at: u64,
    /// When the ports' output has its next turn.
    pub(crate) output_at: u64,
    /// Interrupts of the cards since the tick began.
    pub(crate) interruptions: u32,
    /// What was told of the memory in use.
    pub(crate) memory: MemoryEvidence,
    /// What the objects are.
    pub(crate) world: World<Hardware>,
    /// Memory for the call that is looked at.
    pub(crate) scratch: &'static mut Scratch,
    /// The process whose end ends the system, besides init.
    pub(crate) decisive: ProcessIndex,
}

/// Time that the output of a port may take in one turn, so that it never holds
/// a service up.
const OUTPUT_TURN_NANOSECONDS: u64 = 50_000;
/// Time from one such turn to the next while a process wants the processor: a
/// service enters the kernel several times for one request, and would pay each
/// time for what another process prints.
const OUTPUT_PAUSE_NANOSECONDS: u64 = 1_000_000;

impl Kernel {
    /// The task at `index`, while its process lives.
    pub(crate) fn task_mut(&mut self, index: ProcessIndex) -> Option<&mut Task> {
        self.tasks.get_mut(index.0)?.as_mut()
    }

    /// The process at `index`, while it lives, in the kernel.
    pub(crate) fn entry(&mut self, index: ProcessIndex) -> Option<Entry<'_, Hardware>> {
        Some(Entry {
            process: &mut self.tasks.get_mut(index.0)?.as_mut()?.process,
            world: &mut self.world,
            scratch: self.scratch,
        })
    }

    /// The processes that live.
    pub(crate) fn alive(&self) -> impl Iterator<Item = &Process<AddressSpace>> {
        self.tasks.iter().flatten().map(|task| &task.process)
    }

    /// Gives every device its turn: network, terminal, console; and what ended
    /// processes left.
    pub(crate) fn poll_devices(&mut self) {
        self.world.poll();
        self.give_remains_back();
        let now = time::now();
        if now >= self.output_at {
            console::pump(OUTPUT_TURN_NANOSECONDS);
            self.world.platform.pump_terminal(OUTPUT_TURN_NANOSECONDS);
            self.output_at = now.saturating_add(OUTPUT_PAUSE_NANOSECONDS);
        }
    }

    /// Gives a bounded part of what ended processes held back.
    fn give_remains_back(&mut self) {
        let Some(remains) = self.remains.last_mut() else {
            return;
        };
        let process = &mut remains.process;
        match remains.place {
            Some(place) => {
                remains.place = self.world.network.forget_some(process.index, place);
            }
            None if process.space.free_some() => {}
            None => drop(self.remains.pop()),
        }
    }
}
