//! The harness kernel's own objects and system calls for one process, a clock
//! that only moves when nothing happens, and the scenarios' side of it all.
//!
//! Whatever the process must not do is a panic here. What no honest kernel does
//! stands in `between.rs`, through which every call goes.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::num::NonZeroU16;
use std::ops::{Deref, DerefMut};

use capos_config::LogLevel;
use capos_config::capset::{CAPSET_NAME_MAX, CapSetEntry};
use harness_kernel::call::kinds::Object;
use harness_kernel::call::scratch::Scratch;
use harness_kernel::call::ticket::ProcessIndex;
use harness_kernel::cap_table::CapTable;
use harness_kernel::object::reader::Terminal;
use harness_kernel::object::world::{SystemFacts, World};
use harness_kernel::process::state::Process;
use harness_kernel::sockets::network::Network;
use harness_kernel::syscall::enter::Entry;
use ingress_schema::listen::{ListenBinding, Transport};

use crate::between::{Between, Page};
use crate::capos;
use crate::lent::Space;
use crate::machine::Machine;
use crate::network::Peers;
use crate::runtime::Runtime;

const SECOND_NS: u64 = 1_000_000_000;
/// Turns without a wait that may bring nothing.
const SPINS_MAX: u32 = 50;
/// What a system call takes.
const ENTRY_NS: u64 = 1_000;
/// Virtual time without an end after which a scenario has failed.
const PATIENCE_NS: u64 = 300 * SECOND_NS;
/// More connections than any scenario makes: their names are not used again.
const SOCKETS: u16 = 4_096;

/// What a scenario grants.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Grant {
    /// The one object of its kind, or an endpoint.
    Object(Object),
    /// The authority of that number, bound so.
    Authority {
        number: u64,
        transport: u16,
        port: u16,
    },
}

impl From<Object> for Grant {
    fn from(object: Object) -> Self {
        Self::Object(object)
    }
}

/// A grant that only its name says something of.
pub(crate) const MARKER: Object = Object::Endpoint(1);

type Step = Box<dyn FnOnce(&mut Kernel)>;

/// The kernel and everything around the process.
pub(crate) struct Kernel {
    pub(crate) world: World<Machine>,
    pub(crate) process: Process<Space>,
    scratch: Box<Scratch>,
    /// Between the process and its kernel.
    pub(crate) between: Between,
    granted: Vec<(String, u32, u64)>,
    /// The scenario's numbers of the authorities.
    authorities: Vec<u64>,
    on_release: Option<Step>,
    on_entry: Option<(u32, Step)>,
    steps: VecDeque<(u64, Step)>,
    due_ns: Option<u64>,
    last_step_ns: u64,
    /// Every entry is rejected from now on.
    pub(crate) reject: bool,
    /// Entries in a row that neither brought nor waited for anything.
    spins: u32,
}

thread_local! {
    static KERNEL: RefCell<Option<Kernel>> = const { RefCell::new(None) };
}

/// The one system call; `None` is a rejection.
pub(crate) fn enter(least: u32, timeout_ns: u64) -> Option<u32> {
    KERNEL.with(|kernel| {
        kernel
            .borrow_mut()
            .as_mut()
            .unwrap()
            .enter(least, timeout_ns)
    })
}

/// What is on the other side of the wire is what scenarios drive most.
impl Deref for Kernel {
    type Target = Peers;

    fn deref(&self) -> &Peers {
        &self.world.network.stack
    }
}

impl DerefMut for Kernel {
    fn deref_mut(&mut self) -> &mut Peers {
        &mut self.world.network.stack
    }
}

impl Kernel {
    /// A kernel that has granted nothing.
    pub(crate) fn new() -> Self {
        let index = ProcessIndex(0);
        Self {
            world: World {
                platform: Machine {
                    now_ns: SECOND_NS,
                    lines: Vec::new(),
                },
                network: Network::new(Peers::new(), SOCKETS),
                terminal: Terminal::new(),
                authorities: Vec::new(),
                facts: SystemFacts {
                    motd: String::new(),
                    hostname: String::new(),
                    log_level: LogLevel::Info,
                },
            },
            process: Process::new(index, "service".into(), Space::default(), CapTable::new()),
            scratch: Box::new(Scratch::new()),
            between: Between::new(Page::new()),
            granted: Vec::new(),
            authorities: Vec::new(),
            on_release: None,
            on_entry: None,
            steps: VecDeque::new(),
            due_ns: None,
            last_step_ns: SECOND_NS,
            reject: false,
            spins: 0,
        }
    }

    /// Grants something under `name`.
    pub(crate) fn grant(&mut self, name: &str, grant: impl Into<Grant>) -> &mut Self {
        let object = self.object(grant.into());
        self.insert(name, object, object.interface())
    }

    /// Grants something under `name` with an interface id of the caller's choice.
    pub(crate) fn grant_as(&mut self, name: &str, grant: Grant, interface: u64) -> &mut Self {
        let object = self.object(grant);
        self.insert(name, object, interface)
    }

    fn insert(&mut self, name: &str, object: Object, interface: u64) -> &mut Self {
        let cap = self.process.caps.insert(object).unwrap().wire();
        self.granted.push((name.to_owned(), cap, interface));
        self
    }

    fn object(&mut self, grant: Grant) -> Object {
        let (number, transport, port) = match grant {
            Grant::Object(object) => return object,
            Grant::Authority {
                number,
                transport,
                port,
            } => (number, transport, port),
        };
        let known = self.authorities.iter().position(|other| *other == number);
        let place = known.unwrap_or_else(|| {
            let port = NonZeroU16::new(port).unwrap();
            let binding = ListenBinding::new(Transport::from_id(transport), port);
            self.world.authorities.push(binding);
            self.authorities.push(number);
            self.authorities.len() - 1
        });
        Object::ListenAuthority(place as u16)
    }

    /// Adds a step: it runs when the process has nothing left to do.
    pub(crate) fn then(&mut self, step: impl FnOnce(&mut Self) + 'static) -> &mut Self {
        self.after(0, step)
    }

    /// Adds a step that runs so much later than the one before it.
    pub(crate) fn after(&mut self, ns: u64, step: impl FnOnce(&mut Self) + 'static) -> &mut Self {
        self.steps.push_back((ns, Box::new(step)));
        self
    }

    /// Runs `step` in the moment in which the next slot is given back.
    pub(crate) fn on_release(&mut self, step: impl FnOnce(&mut Self) + 'static) {
        self.on_release = Some(Box::new(step));
    }

    /// Runs `step` so many entries from now, whatever the process is doing.
    pub(crate) fn on_entry(&mut self, entries: u32, step: impl FnOnce(&mut Self) + 'static) {
        self.on_entry = Some((entries, Box::new(step)));
    }

    /// Runs the process to its end; its exit code and what is left.
    pub(crate) fn run(self) -> (i64, Self) {
        let runtime = Runtime::of(&self);
        KERNEL.with(|kernel| *kernel.borrow_mut() = Some(self));
        let code = capos::start(runtime);
        let kernel = KERNEL.with(|kernel| kernel.borrow_mut().take()).unwrap();
        for lent in &*kernel.process.space.lent.borrow() {
            lent.check_untouched();
        }
        (code, kernel)
    }

    /// The CapSet page's entries.
    pub(crate) fn capset(&self) -> Vec<CapSetEntry> {
        let entry = |(name, cap, interface): &(String, u32, u64)| {
            let mut inline = [0; CAPSET_NAME_MAX];
            let kept = name.len().min(CAPSET_NAME_MAX);
            inline[..kept].copy_from_slice(&name.as_bytes()[..kept]);
            CapSetEntry {
                cap_id: *cap,
                name_len: name.len() as u32,
                interface_id: *interface,
                name: inline,
            }
        };
        self.granted.iter().map(entry).collect()
    }

    /// The monotonic clock.
    pub(crate) fn now_ns(&self) -> u64 {
        self.world.platform.now_ns
    }

    /// What the process wrote to its console.
    pub(crate) fn lines(&self) -> &[String] {
        &self.world.platform.lines
    }

    /// Slots that hold sockets.
    pub(crate) fn open_sockets(&self) -> usize {
        let is_socket = |object: &Object| matches!(object, Object::Socket(_));
        self.process.caps.objects().filter(is_socket).count()
    }

    /// The last evidence line.
    pub(crate) fn evidence(&self) -> &str {
        let mut lines = self.lines().iter().rev();
        lines
            .find(|line| line.starts_with("[web-ui] evidence"))
            .expect("there is one")
    }

    /// A number of the last evidence line.
    pub(crate) fn counted(&self, key: &str) -> u64 {
        let words = self.evidence().split(' ');
        let mut values = words.filter_map(|word| word.strip_prefix(key)?.strip_prefix('='));
        values.next().unwrap_or("0").parse().unwrap()
    }

    /// The process in its kernel.
    pub(crate) fn entry(&mut self) -> Entry<'_, Machine> {
        Entry {
            world: &mut self.world,
            process: &mut self.process,
            scratch: &mut self.scratch,
        }
    }

    fn enter(&mut self, least: u32, timeout_ns: u64) -> Option<u32> {
        if self.reject {
            return None;
        }
        self.world.platform.now_ns += ENTRY_NS;
        self.count_entry();
        while let Some(entry) = self.between.next_submission() {
            self.submitted(entry);
        }
        self.deliver(least);
        self.watch_for_spinning(least, timeout_ns);
        if self.available() < least && timeout_ns > 0 {
            self.wait(least, timeout_ns);
        }
        Some(self.available())
    }

    fn available(&self) -> u32 {
        self.between.available()
    }

    fn count_entry(&mut self) {
        match self.on_entry.take() {
            Some((0, step)) => step(self),
            Some((left, step)) => self.on_entry = Some((left - 1, step)),
            None => {}
        }
    }

    /// A slot was given back.
    pub(crate) fn released(&mut self) {
        if let Some(step) = self.on_release.take() {
            step(self);
        }
    }

    /// The clock answers at once in every turn; a turn that brings nothing else
    /// must wait.
    fn watch_for_spinning(&mut self, least: u32, timeout_ns: u64) {
        let is_idle = self.available() <= 1;
        self.spins = match (is_idle, least > 0 && timeout_ns > 0) {
            (true, false) => self.spins + 1,
            _ => 0,
        };
        assert!(self.spins < SPINS_MAX, "the process spins");
    }

    /// Nothing is there: the scenario goes on, or time passes.
    fn wait(&mut self, least: u32, timeout_ns: u64) {
        if self.between.owes() {
            // It comes by itself, one entry after the other.
            self.deliver(least);
            return;
        }
        while let Some((delay_ns, _)) = self.steps.front() {
            let due_ns = *self.due_ns.get_or_insert(self.now_ns() + delay_ns);
            if self.now_ns() < due_ns {
                self.world.platform.now_ns += timeout_ns.min(due_ns - self.now_ns()).max(1);
                return;
            }
            self.due_ns = None;
            let (_, step) = self.steps.pop_front().unwrap();
            step(self);
            self.last_step_ns = self.now_ns();
            self.deliver(least);
            if self.available() > 0 {
                return;
            }
        }
        assert_ne!(timeout_ns, u64::MAX, "the process waits for ever");
        self.world.platform.now_ns += timeout_ns.max(1);
        let alone_ns = self.now_ns() - self.last_step_ns;
        assert!(
            alone_ns < PATIENCE_NS,
            "the process does not end: {:#?}",
            self.lines()
        );
    }
}
