//! Processes: what each one is, how it comes to be, runs and ends.

pub(crate) mod deliver;
pub(crate) mod end;
pub(crate) mod load;
pub(crate) mod ring;
pub(crate) mod schedule;

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::string::String;

use capos_abi::PROCESS_TIMER_SLEEP_WAITER_LIMIT;
use harness_kernel::boot_package::PROCESSES_MAX;
use harness_kernel::cap_table::CapTable;
use harness_net::{CLIENTS_MAX, ClientId};

use crate::memory::address_space::AddressSpace;
use crate::object::Object;
use crate::syscall::complete::Ticket;
use crate::trap::user_context::UserContext;
use load::Loaded;
use ring::Progress;

/// Complaints about one process that are printed.
const COMPLAINTS_MAX: u32 = 16;

/// Ticks of computing without a system call after which a process is told of:
/// 1 s of the processor, a thousand times what an honest one takes.
const SILENT_TICKS: u32 = 100;

/// Place of a process in the kernel's table; also its list index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ProcessIndex(pub(crate) usize);

impl ProcessIndex {
    /// The network's name for the process.
    pub(crate) fn client(self) -> ClientId {
        ClientId(u8::try_from(self.0).unwrap_or(u8::MAX))
    }
}

const _: () = assert!(PROCESSES_MAX <= CLIENTS_MAX, "every process is a client");

/// What a process waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Waiting {
    /// Nothing: it can run.
    Nothing,
    /// Completions, in `cap_enter`.
    Completions {
        /// So many must be in its queue.
        least: u32,
        /// Or this moment must have come.
        deadline: Option<u64>,
    },
}

/// A sleep under way.
#[derive(Clone, Copy)]
pub(crate) struct Sleep {
    /// When it ends.
    pub(crate) until: u64,
    /// Whose call it is.
    pub(crate) ticket: Ticket,
}

/// A process.
pub(crate) struct Process {
    /// Its name on the console.
    pub(crate) name: String,
    /// Its number, from 1.
    pub(crate) pid: u32,
    /// Its memory.
    pub(crate) space: AddressSpace,
    /// Its processor state while it does not run.
    pub(crate) saved: Box<UserContext>,
    /// What it may use.
    pub(crate) caps: CapTable<Object>,
    progress: Progress,
    /// What it waits for.
    pub(crate) waiting: Waiting,
    /// Its sleeps.
    pub(crate) sleeps: [Option<Sleep>; PROCESS_TIMER_SLEEP_WAITER_LIMIT],
    /// Calls whose object is gone, to be completed so.
    pub(crate) cancelled: VecDeque<Ticket>,
    complaints: u32,
    /// Ticks that found it computing since its last system call.
    silent_ticks: u32,
}

impl Process {
    /// A process that can run from its first instruction.
    pub(crate) fn new(name: String, pid: u32, loaded: Loaded, caps: CapTable<Object>) -> Self {
        Self {
            name,
            pid,
            space: loaded.space,
            saved: Box::new(loaded.context),
            caps,
            progress: Progress::default(),
            waiting: Waiting::Nothing,
            sleeps: [None; PROCESS_TIMER_SLEEP_WAITER_LIMIT],
            cancelled: VecDeque::new(),
            complaints: 0,
            silent_ticks: 0,
        }
    }

    /// It makes a system call.
    pub(crate) fn calls(&mut self) {
        self.silent_ticks = 0;
    }

    /// A tick finds it computing at `rip`. Nobody else may ever hear of it, so
    /// one that does nothing else is told of, once.
    pub(crate) fn computes(&mut self, rip: u64) {
        self.silent_ticks = self.silent_ticks.saturating_add(1);
        if self.silent_ticks == SILENT_TICKS {
            self.complain(format_args!(
                "has computed for {SILENT_TICKS} ticks without a system call: rip={rip:#x}"
            ));
        }
    }

    /// Says on the console what the process did wrong; after many times no more.
    pub(crate) fn complain(&mut self, what: core::fmt::Arguments<'_>) {
        self.complaints = self.complaints.saturating_add(1);
        let (name, pid) = (&self.name, self.pid);
        if self.complaints < COMPLAINTS_MAX {
            crate::device::console::print(format_args!("process {name} pid={pid} {what}"));
        } else if self.complaints == COMPLAINTS_MAX {
            crate::device::console::print(format_args!(
                "process {name} pid={pid} {what}; further complaints are not printed"
            ));
        }
    }

    /// The earliest moment at which it must be looked at again.
    pub(crate) fn next_deadline(&self) -> Option<u64> {
        let waits = match self.waiting {
            Waiting::Completions { deadline, .. } => deadline,
            Waiting::Nothing => None,
        };
        let sleeps = self.sleeps.iter().flatten().map(|sleep| sleep.until);
        sleeps.chain(waits).min()
    }
}
