//! How processes end, and with them the system.

use harness_kernel::call::ticket::ProcessIndex;

use super::state::{Kernel, Remains};
use crate::device::console::{self, print_line};
use crate::device::exit::{Ending, leave};
use crate::memory::evidence;
use crate::network::report::print_reports;
use crate::time;
use crate::trap::exception::Fault;

/// Why a process ends.
#[derive(Clone, Copy)]
pub(crate) enum EndReason {
    /// It asked to, with this code.
    Exited(i64),
    /// It did what the processor would not do.
    Faulted(Fault),
    /// It broke a rule without which the kernel cannot serve it.
    Broke(&'static str),
}

const INIT: ProcessIndex = ProcessIndex(0);

impl Kernel {
    /// Ends a process: everything that it held is given back in the turns that
    /// follow, whatever the reason. Ends the machine if it was one that decides.
    pub(crate) fn end_process(&mut self, index: ProcessIndex, reason: EndReason) {
        if self.running == Some(index) {
            self.running = None;
        }
        let Some(task) = self.tasks.get_mut(index.0).and_then(Option::take) else {
            return;
        };
        let process = task.process;
        let (name, pid) = (&process.name, process.pid);
        match reason {
            EndReason::Exited(code) => print_line!("process {name} pid={pid} exited code={code}"),
            EndReason::Faulted(fault) => print_line!("process {name} pid={pid} faulted: {fault}"),
            EndReason::Broke(rule) => print_line!("process {name} pid={pid} faulted: {rule}"),
        }
        self.world.forget(index);
        self.remains.push(Remains {
            process,
            place: Some(0),
        });
        if index == INIT || index == self.decisive {
            self.end_machine(match reason {
                EndReason::Exited(0) => Ending::Success,
                _ => Ending::ServiceFailure,
            });
        }
    }

    /// Prints the last figures and ends the machine.
    fn end_machine(&mut self, ending: Ending) -> ! {
        console::drain();
        print_reports(&self.world.network);
        evidence::tell();
        print_line!("uptime ns={}", time::now());
        print_line!("console dropped={}", console::dropped());
        print_line!("exit {}", ending.name());
        self.world.platform.drain_terminal();
        console::drain();
        leave(ending)
    }
}
