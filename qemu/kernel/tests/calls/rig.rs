//! A kernel of some processes, and calls as a process makes them.

use capnp::message::{Builder, HeapAllocator};
use capos_config::LogLevel;
use capos_config::capos_capnp::{ExceptionType, cap_exception};
use capos_config::ring::{
    CAP_ERR_APPLICATION_EXCEPTION, CAP_OP_CALL, CAP_OP_NOP, CAP_OP_RELEASE, CQ_ENTRIES, CapCqe,
    CapSqe, SQ_ENTRIES,
};
use harness_kernel::call::kinds::Object;
use harness_kernel::call::scratch::Scratch;
use harness_kernel::call::ticket::ProcessIndex;
use harness_kernel::cap_table::{CapId, CapTable};
use harness_kernel::object::reader::Terminal;
use harness_kernel::object::world::{SystemFacts, World};
use harness_kernel::process::state::Process;
use harness_kernel::sockets::network::Network;
use harness_kernel::syscall::enter::{Asked, Entered, Entry};
use harness_net::{NetConfig, NetStack};

use crate::machine::Machine;
use crate::memory::{BASE, Memory};

/// Where a call's parameters are put.
pub(crate) const PARAMS: u64 = BASE;
/// Where results go, a page a call.
pub(crate) const RESULT: u64 = BASE + 0x1_0000;
const RESULT_BYTES: u32 = 0x1000;
const TURN_NANOSECONDS: u64 = 1_000_000;

/// The kernel.
pub(crate) struct Rig {
    pub(crate) world: World<Machine>,
    pub(crate) processes: Vec<Process<Memory>>,
    scratch: Box<Scratch>,
}

impl Rig {
    /// So many processes without a capability.
    pub(crate) fn of(count: usize) -> Self {
        let mut config = NetConfig::new([1, 2]);
        config.sockets = 64;
        let sockets = config.sockets;
        let mut stack = NetStack::new(config);
        let processes = (0..count).map(ProcessIndex).map(|index| {
            stack.add_client(index.client()).unwrap();
            let name = format!("p{}", index.0);
            Process::new(index, name, Memory::new(), CapTable::new())
        });
        let processes = processes.collect();
        Self {
            world: World {
                platform: Machine {
                    now: TURN_NANOSECONDS,
                    ..Machine::default()
                },
                network: Network::new(stack, sockets),
                terminal: Terminal::new(),
                authorities: Vec::new(),
                facts: SystemFacts {
                    motd: "good day".to_owned(),
                    hostname: "host".to_owned(),
                    log_level: LogLevel::Info,
                },
            },
            processes,
            scratch: Box::new(Scratch::new()),
        }
    }

    /// Gives process `who` a capability to `object`.
    pub(crate) fn grant(&mut self, who: usize, object: Object) -> u32 {
        self.processes[who].caps.insert(object).unwrap().wire()
    }

    /// What process `who` holds under `cap`.
    pub(crate) fn held(&self, who: usize, cap: u32) -> Option<Object> {
        self.processes[who].caps.find(CapId::from_wire(cap)).ok()
    }

    /// Queues a submission.
    pub(crate) fn submit(&mut self, who: usize, submission: CapSqe) {
        let ring = self.ring(who);
        let tail = ring.submission_tail.get();
        ring.submissions.borrow_mut()[(tail % SQ_ENTRIES) as usize] = Some(submission);
        ring.submission_tail.set(tail.wrapping_add(1));
    }

    /// `cap_enter` of process `who`.
    pub(crate) fn enter(&mut self, who: usize, least: u64, timeout: u64) -> Entered {
        let asked = Asked::new(least, timeout);
        let mut entry = Entry {
            world: &mut self.world,
            process: &mut self.processes[who],
            scratch: &mut self.scratch,
        };
        let taken = entry.take_submissions();
        entry.world.platform.now += TURN_NANOSECONDS;
        entry.world.poll();
        entry.conclude(asked, taken)
    }

    /// Looks after process `who`, which waits.
    pub(crate) fn look_after(&mut self, who: usize) -> Option<Entered> {
        let now = self.world.platform.now;
        Entry {
            world: &mut self.world,
            process: &mut self.processes[who],
            scratch: &mut self.scratch,
        }
        .look_after(now)
    }

    /// The completions that process `who` has not taken, taken.
    pub(crate) fn take(&mut self, who: usize) -> Vec<CapCqe> {
        let ring = self.ring(who);
        let (head, tail) = (ring.completion_head.get(), ring.completion_tail.get());
        let taken = (0..tail.wrapping_sub(head)).map(|step| {
            let number = head.wrapping_add(step);
            ring.completions.borrow()[(number % CQ_ENTRIES) as usize].unwrap()
        });
        let taken = taken.collect();
        ring.completion_head.set(tail);
        taken
    }

    /// Submits one thing and takes what is completed at once.
    pub(crate) fn at_once(&mut self, who: usize, submission: CapSqe) -> Vec<CapCqe> {
        self.submit(who, submission);
        self.enter(who, 0, 0);
        self.take(who)
    }

    /// Submits one thing that is answered at once: its code.
    pub(crate) fn code(&mut self, who: usize, submission: CapSqe) -> i32 {
        let completed = self.at_once(who, submission);
        assert_eq!(completed.len(), 1);
        completed[0].result
    }

    /// Calls a method that raises at once: what it raises.
    pub(crate) fn raised(&mut self, who: usize, submission: CapSqe) -> (ExceptionType, String) {
        assert_eq!(self.code(who, submission), CAP_ERR_APPLICATION_EXCEPTION);
        self.exception(who, submission.result_addr)
    }

    /// The exception at `address`.
    pub(crate) fn exception(&self, who: usize, address: u64) -> (ExceptionType, String) {
        let bytes = self.processes[who]
            .space
            .get(address, RESULT_BYTES as usize);
        let message = capnp::serialize::read_message(&bytes[..], Default::default()).unwrap();
        let root: cap_exception::Reader<'_> = message.get_root().unwrap();
        let text = root.get_message().unwrap().to_string().unwrap();
        (root.get_type().unwrap(), text)
    }

    /// The word at `index` of the result's data, counted behind table and root.
    pub(crate) fn word(&self, who: usize, index: u64) -> u64 {
        let bytes = self.processes[who].space.get(RESULT + 16 + index * 8, 8);
        u64::from_le_bytes(bytes.try_into().unwrap())
    }

    /// The capability that came with a result of so many bytes at `address`.
    pub(crate) fn brought(&self, who: usize, address: u64, bytes: i32) -> u32 {
        let record = self.processes[who]
            .space
            .get(address + bytes.unsigned_abs() as u64, 4);
        u32::from_le_bytes(record.try_into().unwrap())
    }

    /// Lets time pass for everyone, and completes what has become ready.
    pub(crate) fn turns(&mut self, count: u32) {
        for _ in 0..count {
            for who in 0..self.processes.len() {
                self.enter(who, 0, 0);
            }
        }
    }

    pub(crate) fn ring(&self, who: usize) -> &crate::memory::Ring {
        use harness_kernel::user_space::UserSpace;
        self.processes[who].space.queues()
    }

    /// Puts a message to where parameters go; its length.
    pub(crate) fn params(
        &mut self,
        who: usize,
        build: impl FnOnce(&mut Builder<HeapAllocator>),
    ) -> u32 {
        let mut message = Builder::new_default();
        build(&mut message);
        let bytes = capnp::serialize::write_message_to_words(&message);
        self.processes[who].space.put(PARAMS, &bytes);
        bytes.len() as u32
    }
}

/// A submission that does nothing.
pub(crate) const NOP: CapSqe = CapSqe {
    opcode: CAP_OP_NOP,
    flags: 0,
    method_id: 0,
    cap_id: 0,
    user_data: 0,
    addr: 0,
    len: 0,
    result_len: 0,
    result_addr: 0,
    pipeline_dep: 0,
    pipeline_field: 0,
    xfer_cap_count: 0,
    call_id: 0,
    session_disclosure: 0,
};

/// A call with a page for its result.
pub(crate) fn call(cap: u32, method: u16, params_bytes: u32) -> CapSqe {
    CapSqe {
        opcode: CAP_OP_CALL,
        method_id: method,
        cap_id: cap,
        user_data: u64::from(method) + 100,
        addr: if params_bytes > 0 { PARAMS } else { 0 },
        len: params_bytes,
        result_addr: RESULT,
        result_len: RESULT_BYTES,
        ..NOP
    }
}

/// Gives `cap` back.
pub(crate) fn release(cap: u32) -> CapSqe {
    CapSqe {
        opcode: CAP_OP_RELEASE,
        cap_id: cap,
        ..NOP
    }
}
