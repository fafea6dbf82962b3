//! How processes end, and with them the system.

use super::{Process, ProcessIndex};
use crate::device::console::{self, print_line};
use crate::device::exit::{Ending, leave};
use crate::kernel::Kernel;
use crate::memory::evidence;
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

/// What a process that has ended left behind, and how far it is given back. Each
/// turn gives back a little, so that a thousand connections or all the memory of
/// the machine keep nobody waiting (keeps KERNEL-ENTRY).
pub(crate) struct Remains {
    index: ProcessIndex,
    process: Process,
    /// The next place of the connections to look at, if any is left.
    place: Option<usize>,
}

const INIT: ProcessIndex = ProcessIndex(0);

impl Kernel {
    /// Ends a process: everything that it held is given back in the turns that
    /// follow, whatever the reason. Ends the machine if it was one that decides.
    pub(crate) fn end_process(&mut self, index: ProcessIndex, reason: EndReason) {
        if self.running == Some(index) {
            self.running = None;
        }
        let Some(process) = self.processes.get_mut(index.0).and_then(Option::take) else {
            return;
        };
        let (name, pid) = (&process.name, process.pid);
        match reason {
            EndReason::Exited(code) => print_line!("process {name} pid={pid} exited code={code}"),
            EndReason::Faulted(fault) => print_line!("process {name} pid={pid} faulted: {fault}"),
            EndReason::Broke(rule) => print_line!("process {name} pid={pid} faulted: {rule}"),
        }
        self.terminal.forget(index);
        self.network.forget_listeners(index);
        self.remains.push(Remains {
            index,
            process,
            place: Some(0),
        });
        if index == INIT || index == self.facts.decisive {
            self.end_machine(match reason {
                EndReason::Exited(0) => Ending::Success,
                _ => Ending::ServiceFailure,
            });
        }
    }

    /// Gives a bounded part of what ended processes held back.
    pub(crate) fn give_remains_back(&mut self) {
        let Some(remains) = self.remains.last_mut() else {
            return;
        };
        match remains.place {
            Some(place) => remains.place = self.network.forget_some(remains.index, place),
            None if remains.process.space.free_some() => {}
            None => drop(self.remains.pop()),
        }
    }

    /// Prints the last figures and ends the machine.
    fn end_machine(&mut self, ending: Ending) -> ! {
        console::drain();
        self.network.print_reports();
        evidence::tell();
        print_line!("uptime ns={}", time::now());
        print_line!("console dropped={}", console::dropped());
        print_line!("exit {}", ending.name());
        self.terminal.drain();
        console::drain();
        leave(ending)
    }
}
