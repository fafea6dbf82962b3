//! Who runs: of the processes that want the processor the one that has had least
//! of it, until it waits, ends, or has had more than another; nobody, and the
//! processor halts.

use harness_kernel::call::ticket::ProcessIndex;
use harness_kernel::process::state::Process;
use harness_kernel::shares::SLICE_NANOSECONDS;
use harness_kernel::syscall::enter::Entered;

use super::end::EndReason;
use super::state::{Kernel, Task};
use crate::device::output::Pumped;
use crate::device::{console, pic, pit};
use crate::network::interrupts;
use crate::time;
use crate::trap::{idle, user_context};

/// Period of the tick while a process runs.
const TICK_NANOSECONDS: u64 = SLICE_NANOSECONDS;
/// Longest halt; the interval timer reaches little further.
const HALT_NANOSECONDS: u64 = 50_000_000;
/// How often the kernel looks whether something came in while it prepared to
/// resume a process.
const LOOKS_MAX: u32 = 4;
/// Interrupts of the cards in one tick that a computing process has to bear:
/// it loses little to them, however much arrives.
const INTERRUPTIONS_MAX: u32 = 32;
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
        self.charge_running();
        let mut looks = LOOKS_MAX;
        loop {
            self.poll_devices();
            self.wake_waiting();
            let Some(index) = self.next_runnable() else {
                self.halt();
                continue;
            };
            self.switch_to(index);
            looks = looks.saturating_sub(1);
            if looks == 0 || self.may_compute() {
                return;
            }
        }
    }

    /// Prepares for a process that was interrupted and may go on computing:
    /// what others wait for shall interrupt it. False if something is there
    /// already. One that comes from a system call will soon make another, and
    /// is not disturbed.
    fn may_compute(&mut self) -> bool {
        let others_wait = self.alive().any(Process::is_waiting);
        if !others_wait || !user_context::is_interrupted() {
            return true;
        }
        let now = time::now();
        if let Some(deadline) = self.next_deadline(now) {
            pit::arm_by(deadline, now);
        }
        self.interruptions >= INTERRUPTIONS_MAX
            || interrupts::arm_cards(&mut self.world.network, now)
    }

    /// The earliest moment at which a process or the network wants a turn.
    fn next_deadline(&self, now: u64) -> Option<u64> {
        self.alive()
            .filter_map(Process::next_deadline)
            .chain(self.world.network.next_deadline(now))
            .min()
    }

    /// After a system call that need not wait: lets another process run if it
    /// has had less.
    pub(crate) fn maybe_yield(&mut self) {
        self.charge_running();
        if !self.others_alive() {
            return;
        }
        self.wake_waiting();
        if let (Some(running), Some(next)) = (self.running, self.next_runnable())
            && self.shares.gives_way(running.0, next.0)
        {
            self.switch_to(next);
        }
    }

    /// Books the time since the running process got the processor.
    fn charge_running(&mut self) {
        let now = time::now();
        if let Some(running) = self.running {
            let had = now.saturating_sub(self.running_since);
            self.shares.charge(running.0, had);
        }
        self.running_since = now;
    }

    /// Handles the interrupt lines in `lines`, one bit each.
    pub(crate) fn handle_interrupts(&mut self, lines: u32) {
        if lines & 1 << TIMER_LINE != 0 {
            pit::expired();
            let now = time::now();
            if now >= self.tick_at {
                self.tick_at = now.saturating_add(TICK_NANOSECONDS);
                self.interruptions = 0;
                self.tick_running();
            }
        }
        if lines & 1 << TERMINAL_LINE != 0 {
            self.world.terminal.has_input();
        }
        if interrupts::acknowledge(&mut self.world.network, lines) {
            self.interruptions = self.interruptions.saturating_add(1);
        }
        pic::handled(lines);
    }

    /// Books a tick to the process that computes, if one does.
    fn tick_running(&mut self) {
        let (rip, _) = user_context::place();
        if let Some(entry) = self.running.and_then(|index| self.entry(index))
            && !entry.process.is_waiting()
        {
            entry.process.computes(&mut entry.world.platform, rip);
        }
    }

    /// Lets the lines through that [`Kernel::handle_interrupts`] knows.
    pub(crate) fn allow_interrupts(&self) {
        pic::allow(1 << TIMER_LINE | 1 << TERMINAL_LINE | self.world.network.interrupt_lines());
    }

    fn others_alive(&self) -> bool {
        self.alive().count() > 1
    }

    /// Delivers to every waiting process what is ready for it, and ends the
    /// waits that are over.
    fn wake_waiting(&mut self) {
        let now = time::now();
        for index in (0..self.tasks.len()).map(ProcessIndex) {
            let entered = self
                .entry(index)
                .and_then(|mut entry| entry.look_after(now));
            match entered {
                Some(Entered::Returns(available)) => self.wake(index, u64::from(available)),
                Some(Entered::Broke(rule)) => self.end_process(index, EndReason::Broke(rule)),
                _ => {}
            }
        }
    }

    /// Lets a process go on whose system call returns `result`.
    fn wake(&mut self, index: ProcessIndex, result: u64) {
        if let Some(task) = self.task_mut(index) {
            task.saved.rax = result;
        }
        self.shares.wake(index.0);
        if self.running == Some(index) {
            // Its state is still the loaded one.
            user_context::set_result(result);
        }
    }

    /// Of the processes that can run, the one that has had least.
    fn next_runnable(&mut self) -> Option<ProcessIndex> {
        self.shares.choose(wanting(&self.tasks)).map(ProcessIndex)
    }

    fn switch_to(&mut self, index: ProcessIndex) {
        let now = time::now();
        self.running_since = now;
        if self.running != Some(index) {
            if let Some(task) = self.running.and_then(|old| self.task_mut(old)) {
                user_context::put_away(&mut task.saved);
            }
            if let Some(task) = self.task_mut(index) {
                user_context::take_up(&task.saved);
                task.process.space.activate();
            }
            self.running = Some(index);
        }
        let slice = self.shares.slice(index.0, wanting(&self.tasks));
        pit::arm_by(now.saturating_add(slice), now);
    }

    /// Halts until an interrupt or the next deadline; or, if there is something to
    /// do at once, lets in an interrupt that waits. Without that glance a kernel
    /// that is kept busy by its cards alone (it answers connection requests
    /// without any process) never took one: the timer, the terminal and the cards
    /// would keep their lines up, and an emulator that has an interrupt to deliver
    /// asks again and again whether it may, taking the lock that the cards'
    /// packets wait for.
    fn halt(&mut self) {
        let lines = if self.may_halt() {
            idle::wait()
        } else {
            idle::glance()
        };
        self.handle_interrupts(lines);
    }

    /// Prepares for a halt; false if there is something to do. While output waits
    /// and its port takes some, only a little of it is sent, so that whoever is
    /// woken meanwhile need not wait for all of it.
    fn may_halt(&mut self) -> bool {
        let console = console::pump(IDLE_OUTPUT_NANOSECONDS);
        let terminal = self.world.platform.pump_terminal(IDLE_OUTPUT_NANOSECONDS);
        if console == Pumped::TimeUp || terminal == Pumped::TimeUp {
            return false;
        }
        if self.alive().count() == 0 {
            panic!("no process left, and none decided the end");
        }
        let now = time::now();
        self.memory.idle(now);
        if !self.remains.is_empty() || self.world.network.end_rests(now) {
            return false;
        }
        let deadline = self.next_deadline(now);
        let longest = now.saturating_add(HALT_NANOSECONDS);
        let deadline = deadline.map_or(longest, |at| at.min(longest));
        if deadline <= now {
            return false;
        }
        pit::arm_by(deadline, now);
        interrupts::arm_cards(&mut self.world.network, now)
    }
}

/// The places of the processes that want the processor.
fn wanting(tasks: &[Option<Task>]) -> impl Iterator<Item = usize> {
    tasks.iter().enumerate().filter_map(|(place, task)| {
        let task = task.as_ref()?;
        (!task.process.is_waiting()).then_some(place)
    })
}
