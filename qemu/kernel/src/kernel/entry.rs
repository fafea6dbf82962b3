//! The ways in which control comes to the kernel: its start, a system call, an
//! interrupt or an exception.

use harness_kernel::call::ticket::ProcessIndex;
use harness_kernel::syscall::enter::{Asked, Entered};

use super::end::EndReason;
use super::state::Kernel;
use crate::cell::KernelCell;
use crate::device::pic;
use crate::memory::address_space::Touch;
use crate::trap::user_context::{self, set_result};
use crate::trap::{entry, exception};

static KERNEL: KernelCell<Option<Kernel>> = KernelCell::new(None);

const EXIT: u64 = 1;
const CAP_ENTER: u64 = 2;
/// What every other number, and a rejected call, returns.
const REJECTED: u64 = u64::MAX;

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
#[unsafe(no_mangle)]
extern "C" fn handle_syscall() {
    with_running(Kernel::system_call);
}

/// An interrupt or exception while a process ran.
#[unsafe(no_mangle)]
extern "C" fn handle_trap(vector: u64, error: u64) {
    with_running(|kernel, index| kernel.trap(index, vector, error));
}

impl Kernel {
    /// Handles the system call of the running process, and leaves the state of
    /// whatever process runs next to be resumed.
    fn system_call(&mut self, index: ProcessIndex) {
        let (number, first, second) = user_context::system_call();
        if let Some(task) = self.task_mut(index) {
            task.process.calls();
        }
        match number {
            EXIT => {
                self.end_process(index, EndReason::Exited(first.cast_signed()));
                self.run_next();
            }
            CAP_ENTER => self.cap_enter(index, Asked::new(first, second)),
            _ => set_result(REJECTED),
        }
    }

    fn cap_enter(&mut self, index: ProcessIndex, asked: Asked) {
        let Some(mut entry) = self.entry(index) else {
            return;
        };
        let taken = entry.take_submissions();
        self.poll_devices();
        let Some(mut entry) = self.entry(index) else {
            return;
        };
        match entry.conclude(asked, taken) {
            Entered::Returns(available) => {
                set_result(u64::from(available));
                self.maybe_yield();
            }
            Entered::Rejected => set_result(REJECTED),
            Entered::CallsAgain => {
                user_context::call_again();
                self.maybe_yield();
            }
            Entered::Waits => self.run_next(),
            Entered::Broke(rule) => {
                self.end_process(index, EndReason::Broke(rule));
                self.run_next();
            }
        }
    }

    fn trap(&mut self, index: ProcessIndex, vector: u64, error: u64) {
        match vector {
            // The machine itself is broken: no process is to blame.
            2 | 8 | 18 => panic!("{} while a process ran", exception::name(vector)),
            0..pic::FIRST_VECTOR => {
                let fault = exception::Fault::read(vector, error);
                let touch = fault
                    .missing_page()
                    .zip(self.task_mut(index))
                    .map(|(address, task)| task.process.space.touch(address));
                match touch {
                    Some(Touch::Mapped) => return,
                    Some(Touch::OutOfFrames) => {
                        self.end_process(index, EndReason::Broke("out of memory"));
                    }
                    _ => self.end_process(index, EndReason::Faulted(fault)),
                }
            }
            _ => {
                let line = vector.saturating_sub(pic::FIRST_VECTOR);
                self.handle_interrupts(1 << (line & 15));
            }
        }
        self.run_next();
    }
}
