//! The kernel's state, and the two ways in which a process reaches it.

use alloc::string::String;
use alloc::vec::Vec;

use capos_config::LogLevel;
use harness_kernel::shares::Shares;
use ingress_schema::listen::ListenBinding;

use crate::cell::KernelCell;
use crate::device::{console, pic};
use crate::memory::address_space::Touch;
use crate::memory::evidence::MemoryEvidence;
use crate::network::Network;
use crate::object::terminal::Terminal;
use crate::process::end::{EndReason, Remains};
use crate::process::{Process, ProcessIndex};
use crate::time;
use crate::trap::{entry, exception};

static KERNEL: KernelCell<Option<Kernel>> = KernelCell::new(None);

/// What the boot package says about the system itself.
pub(crate) struct SystemFacts {
    /// Message of the day.
    pub(crate) motd: String,
    /// Host name.
    pub(crate) hostname: String,
    /// Least level that the log takes.
    pub(crate) log_level: LogLevel,
    /// The process whose end ends the system, besides init.
    pub(crate) decisive: ProcessIndex,
}

/// Everything that is not memory or a device.
pub(crate) struct Kernel {
    /// All processes; an ended one leaves its place empty.
    pub(crate) processes: Vec<Option<Process>>,
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
    /// One authority for each distinct binding.
    pub(crate) authorities: Vec<ListenBinding>,
    /// What was told of the memory in use.
    pub(crate) memory: MemoryEvidence,
    /// The network and what waits for it.
    pub(crate) network: Network,
    /// The terminal and who reads it.
    pub(crate) terminal: Terminal,
    /// What the boot package says.
    pub(crate) facts: SystemFacts,
}

impl Kernel {
    /// The process at `index`, while it lives.
    pub(crate) fn process_mut(&mut self, index: ProcessIndex) -> Option<&mut Process> {
        self.processes.get_mut(index.0)?.as_mut()
    }

    /// Gives every device its turn: network, terminal, console; and what ended
    /// processes left.
    pub(crate) fn poll_devices(&mut self) {
        self.network.poll();
        self.terminal.poll();
        self.give_remains_back();
        let now = time::now();
        if now >= self.output_at {
            console::pump(OUTPUT_TURN_NANOSECONDS);
            self.terminal.pump(OUTPUT_TURN_NANOSECONDS);
            self.output_at = now.saturating_add(OUTPUT_PAUSE_NANOSECONDS);
        }
    }
}

/// Time that the output of a port may take in one turn, so that it never holds
/// a service up.
const OUTPUT_TURN_NANOSECONDS: u64 = 50_000;
/// Time from one such turn to the next while a process wants the processor: a
/// service enters the kernel several times for one request, and would pay each
/// time for what another process prints.
const OUTPUT_PAUSE_NANOSECONDS: u64 = 1_000_000;

/// Hands the kernel its state and starts the first process.
pub(crate) fn start(kernel: Kernel) -> ! {
    KERNEL.with(|slot| {
        let kernel = slot.insert(kernel);
        kernel.allow_interrupts();
        kernel.run_next();
    });
    entry::resume()
}

fn with_running(body: impl FnOnce(&mut Kernel, ProcessIndex)) {
    KERNEL.with(|slot| {
        let running = slot
            .as_mut()
            .and_then(|kernel| Some((kernel.running?, kernel)));
        match running {
            Some((index, kernel)) => body(kernel, index),
            None => panic!("entry from ring 3 without a running process"),
        }
    });
}

/// A system call of the running process.
pub(crate) fn system_call() {
    with_running(crate::syscall::enter::handle);
}

/// An interrupt or exception while a process ran.
pub(crate) fn trap(vector: u64, error: u64) {
    with_running(|kernel, index| {
        match vector {
            // The machine itself is broken: no process is to blame.
            2 | 8 | 18 => panic!("{} while a process ran", exception::name(vector)),
            0..pic::FIRST_VECTOR => {
                let fault = exception::Fault::read(vector, error);
                let touch = fault
                    .missing_page()
                    .zip(kernel.process_mut(index))
                    .map(|(address, process)| process.space.touch(address));
                match touch {
                    Some(Touch::Mapped) => return,
                    Some(Touch::OutOfFrames) => {
                        kernel.end_process(index, EndReason::Broke("out of memory"));
                    }
                    _ => kernel.end_process(index, EndReason::Faulted(fault)),
                }
            }
            _ => {
                let line = vector.saturating_sub(pic::FIRST_VECTOR);
                kernel.handle_interrupts(1 << (line & 15));
            }
        }
        kernel.run_next();
    });
}
