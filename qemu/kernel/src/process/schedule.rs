//! Who runs: processes in turn, each until it waits, ends, or has had its
//! slice; nobody, and the processor halts.

use super::{Process, ProcessIndex, Waiting};
use crate::cpu;
use crate::device::output::Pumped;
use crate::device::{console, pic, pit};
use crate::kernel::Kernel;
use crate::memory::kernel_map;
use crate::process::end::EndReason;
use crate::time;
use crate::trap::{idle, user_context};

/// Period of the tick while a process runs.
const TICK_NANOSECONDS: u64 = 10_000_000;
/// How long a process keeps the processor, in its system calls, while another
/// could run.
const SLICE_NANOSECONDS: u64 = 50_000;
/// Longest halt; the interval timer reaches little further.
const HALT_NANOSECONDS: u64 = 50_000_000;
/// How long an idle processor sends output before it looks for work again.
const IDLE_OUTPUT_NANOSECONDS: u64 = 200_000;
/// Line of the interval timer.
const TIMER_LINE: u32 = 0;
/// Line of the second serial port, the terminal's.
const TERMINAL_LINE: u32 = 3;

impl Kernel {
    /// Picks the next process and leaves its state to be resumed. Halts while
    /// there is none.
    pub(crate) fn run_next(&mut self) {
        loop {
            self.poll_devices();
            self.wake_waiting();
            if let Some(index) = self.next_runnable() {
                self.switch_to(index);
                return;
            }
            self.halt();
        }
    }

    /// After a system call that need not wait: lets another process run if
    /// this one has had its slice.
    pub(crate) fn maybe_yield(&mut self) {
        if self.others_alive() && time::now().saturating_sub(self.running_since) > SLICE_NANOSECONDS
        {
            self.wake_waiting();
            if let Some(index) = self.next_runnable()
                && Some(index) != self.running
            {
                self.switch_to(index);
            }
        }
    }

    /// Handles the interrupt lines in `lines`, one bit each.
    pub(crate) fn handle_interrupts(&mut self, lines: u32) {
        if lines & 1 << TIMER_LINE != 0 {
            pit::expired();
        }
        if lines & 1 << TERMINAL_LINE != 0 {
            self.terminal.has_input();
        }
        self.network.acknowledge(lines);
    }

    /// Lets the lines through that [`Kernel::handle_interrupts`] knows.
    pub(crate) fn allow_interrupts(&self) {
        pic::allow(1 << TIMER_LINE | 1 << TERMINAL_LINE | self.network.interrupt_lines());
    }

    fn others_alive(&self) -> bool {
        self.processes.iter().flatten().count() > 1
    }

    /// Delivers to every waiting process what is ready for it, and ends the
    /// waits that are over.
    fn wake_waiting(&mut self) {
        let now = time::now();
        for place in 0..self.processes.len() {
            let index = ProcessIndex(place);
            let Some(Process {
                waiting: Waiting::Completions { least, deadline },
                ..
            }) = self.process_mut(index)
            else {
                continue;
            };
            let (least, deadline) = (*least, *deadline);
            self.deliver(index);
            let Some(process) = self.process_mut(index) else {
                continue;
            };
            match process.ring.available() {
                Ok(available) if available >= least || deadline.is_some_and(|at| at <= now) => {
                    process.waiting = Waiting::Nothing;
                    process.saved.rax = u64::from(available);
                    if self.running == Some(index) {
                        // Its state is still the loaded one.
                        // SAFETY: the reference ends with this statement.
                        unsafe { user_context::current() }.rax = u64::from(available);
                    }
                }
                Ok(_) => {}
                Err(_) => self.end_process(
                    index,
                    EndReason::Broke("completion queue indices are corrupt"),
                ),
            }
        }
    }

    /// The first process after the running one, in turn, that can run.
    fn next_runnable(&self) -> Option<ProcessIndex> {
        let count = self.processes.len();
        let after = self.running.map_or(0, |index| index.0.saturating_add(1));
        (0..count)
            .filter_map(|step| after.saturating_add(step).checked_rem(count))
            .map(ProcessIndex)
            .find(|index| {
                self.processes
                    .get(index.0)
                    .and_then(Option::as_ref)
                    .is_some_and(|process| process.waiting == Waiting::Nothing)
            })
    }

    fn switch_to(&mut self, index: ProcessIndex) {
        let now = time::now();
        self.running_since = now;
        if self.running != Some(index) {
            if let Some(process) = self.running.and_then(|old| self.process_mut(old)) {
                user_context::put_away(&mut process.saved);
            }
            if let Some(process) = self.process_mut(index) {
                user_context::take_up(&process.saved);
                // SAFETY: every address space shares the kernel half.
                unsafe { cpu::load_tables(process.space.root()) };
            }
            self.running = Some(index);
        }
        pit::arm_by(now.saturating_add(TICK_NANOSECONDS), now);
    }

    /// Halts until an interrupt or the next deadline; but while output waits
    /// and its port takes some, only long enough to send a little of it, so
    /// that whoever is woken meanwhile need not wait for all of it.
    fn halt(&mut self) {
        let console = console::pump(IDLE_OUTPUT_NANOSECONDS);
        let terminal = self.terminal.pump(IDLE_OUTPUT_NANOSECONDS);
        if console == Pumped::TimeUp || terminal == Pumped::TimeUp {
            return;
        }
        if self.processes.iter().flatten().count() == 0 {
            panic!("no process left, and none decided the end");
        }
        let now = time::now();
        let deadline = self
            .processes
            .iter()
            .flatten()
            .filter_map(Process::next_deadline)
            .chain(self.network.next_deadline(now))
            .min();
        let longest = now.saturating_add(HALT_NANOSECONDS);
        let deadline = deadline.map_or(longest, |at| at.min(longest));
        if deadline <= now {
            return;
        }
        pit::arm_by(deadline, now);
        if self.network.may_halt() {
            let lines = idle::wait();
            self.handle_interrupts(lines);
        }
    }

    /// Makes the kernel's own tables current, before a process's are freed.
    pub(crate) fn leave_space(&mut self, index: ProcessIndex) {
        if self.running == Some(index) {
            self.running = None;
            if let Some(root) = kernel_map::root() {
                // SAFETY: the kernel's own space has the kernel half.
                unsafe { cpu::load_tables(root.address()) };
            }
        }
    }
}
