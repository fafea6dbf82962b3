//! A kernel for one process: the published ring, the few objects, a clock that
//! only moves when nothing happens, and a client side for the scenarios.
//!
//! Results are built with the `capnp` crate. Whatever the process must not do
//! is a panic here.

use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};

use capos_config::capos_capnp::{self as schema, ExceptionType};
use capos_config::capset::{CAPSET_NAME_MAX, CapSetEntry};
use capos_config::ring::{
    self, CAP_CQE_TRANSFER_RESULT_CAPS, CAP_ERR_APPLICATION_EXCEPTION,
    CAP_ERR_APPLICATION_EXCEPTION_TRUNCATED, CAP_OP_CALL, CAP_OP_RELEASE, CQ_ENTRIES, CapCqe,
    CapSqe, SQ_ENTRIES,
};
use capos_config::{
    CONSOLE_INTERFACE_ID, ENDPOINT_INTERFACE_ID, ENTROPY_SOURCE_INTERFACE_ID,
    TCP_LISTEN_AUTHORITY_INTERFACE_ID, TCP_LISTENER_INTERFACE_ID, TCP_SOCKET_INTERFACE_ID,
    TIMER_INTERFACE_ID, WALL_CLOCK_INTERFACE_ID,
};
use ingress_schema::CAP_DISCRIMINATOR_INTERFACE_ID;

use crate::capos;
use crate::lent::Lent;
use crate::network::{Binding, Connection, Listener};
use crate::objects::encode;
use crate::runtime::Runtime;

const SECOND_NS: u64 = 1_000_000_000;
/// Turns without a wait that may bring nothing.
const SPINS_MAX: u32 = 50;
/// Entries from a cancellation to its completions.
const CANCEL_ENTRIES: u32 = 20;
/// What a system call takes.
const ENTRY_NS: u64 = 1_000;
/// Virtual time without an end after which a scenario has failed.
const PATIENCE_NS: u64 = 300 * SECOND_NS;

/// What a slot holds.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Object {
    Console,
    Timer,
    WallClock,
    Entropy,
    Discriminator,
    Marker,
    Authority(Binding),
    Listener(usize),
    Socket(usize),
}

impl Object {
    const fn interface(self) -> u64 {
        match self {
            Self::Console => CONSOLE_INTERFACE_ID,
            Self::Timer => TIMER_INTERFACE_ID,
            Self::WallClock => WALL_CLOCK_INTERFACE_ID,
            Self::Entropy => ENTROPY_SOURCE_INTERFACE_ID,
            Self::Discriminator => CAP_DISCRIMINATOR_INTERFACE_ID,
            Self::Marker => ENDPOINT_INTERFACE_ID,
            Self::Authority(_) => TCP_LISTEN_AUTHORITY_INTERFACE_ID,
            Self::Listener(_) => TCP_LISTENER_INTERFACE_ID,
            Self::Socket(_) => TCP_SOCKET_INTERFACE_ID,
        }
    }
}

/// A call in flight.
pub(crate) struct Pending {
    pub(crate) entry: CapSqe,
    pub(crate) object: Object,
    pub(crate) lent: Lent,
}

/// What an object answers.
pub(crate) enum Reply {
    Void,
    Message(Vec<u8>),
    WithCap(Vec<u8>, Object),
    Raised(ExceptionType),
}

type Step = Box<dyn FnOnce(&mut Kernel)>;

/// The kernel and everything around the process.
pub(crate) struct Kernel {
    page: *mut u8,
    taken: u32,
    posted: u32,
    /// The monotonic clock.
    pub(crate) now_ns: u64,
    granted: Vec<(String, u32, u64)>,
    pub(crate) caps: BTreeMap<u32, Object>,
    next_cap: u32,
    pending: VecDeque<Pending>,
    /// What was in flight on sockets that were given back: still lent, and
    /// answered a few entries later.
    cancelled: VecDeque<(u32, Pending)>,
    on_release: Option<Step>,
    on_entry: Option<(u32, Step)>,
    /// Connections whose bytes were taken by a send, one for each send, oldest first.
    pub(crate) sends: Vec<usize>,
    steps: VecDeque<(u64, Step)>,
    due_ns: Option<u64>,
    last_step_ns: u64,
    /// What the process wrote to its console.
    pub(crate) lines: Vec<String>,
    /// Listeners by port, in the order in which they were bound.
    pub(crate) listeners: Vec<(Binding, Listener)>,
    /// All connections, open and gone.
    pub(crate) connections: Vec<Connection>,
    /// The timer raises instead of telling the time.
    pub(crate) clock_lost: bool,
    /// The console does not answer.
    pub(crate) console_stuck: bool,
    /// Most bytes that one send or receive moves.
    pub(crate) piece_bytes: usize,
    /// Receives are answered in another layout than every builder gives.
    pub(crate) odd_layout: bool,
    /// Completions are delivered in an order that the seed decides.
    pub(crate) scramble: Option<u64>,
    /// Every entry is rejected from now on.
    pub(crate) reject: bool,
    /// A completion that answers nothing is posted once.
    pub(crate) forge: bool,
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

impl Kernel {
    /// A kernel that has granted nothing.
    pub(crate) fn new() -> Self {
        let page = Box::leak(Box::new([0_u64; 512])).as_mut_ptr().cast::<u8>();
        // SAFETY: the page is zeroed, aligned and leaked.
        unsafe { ring::init_ring_header(page.cast()) };
        Self {
            page,
            taken: 0,
            posted: 0,
            now_ns: SECOND_NS,
            granted: Vec::new(),
            caps: BTreeMap::new(),
            next_cap: 100,
            pending: VecDeque::new(),
            cancelled: VecDeque::new(),
            on_release: None,
            on_entry: None,
            sends: Vec::new(),
            steps: VecDeque::new(),
            due_ns: None,
            last_step_ns: SECOND_NS,
            lines: Vec::new(),
            listeners: Vec::new(),
            connections: Vec::new(),
            clock_lost: false,
            console_stuck: false,
            piece_bytes: usize::MAX,
            odd_layout: false,
            scramble: None,
            reject: false,
            forge: false,
            spins: 0,
        }
    }

    /// Grants `object` under `name`.
    pub(crate) fn grant(&mut self, name: &str, object: Object) -> &mut Self {
        self.grant_as(name, object, object.interface())
    }

    /// Grants `object` under `name` with an interface id of the caller's choice.
    pub(crate) fn grant_as(&mut self, name: &str, object: Object, interface: u64) -> &mut Self {
        let cap = self.insert(object);
        self.granted.push((name.to_owned(), cap, interface));
        self
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
        for pending in &kernel.pending {
            pending.lent.check_untouched();
        }
        (code, kernel)
    }

    pub(crate) fn page(&self) -> *mut u8 {
        self.page
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

    /// A client connects to `port`; its connection.
    pub(crate) fn connect(&mut self, port: u16) -> usize {
        let id = self.connections.len();
        self.connections.push(Connection::default());
        self.listener(port).backlog.push_back(id);
        id
    }

    /// A client connects to `port` and sends.
    pub(crate) fn request(&mut self, port: u16, bytes: &[u8]) -> usize {
        let id = self.connect(port);
        self.send(id, bytes);
        id
    }

    /// A client sends more.
    pub(crate) fn send(&mut self, connection: usize, bytes: &[u8]) {
        self.connections[connection].to_service.extend(bytes);
    }

    /// The listener of `port`.
    pub(crate) fn listener(&mut self, port: u16) -> &mut Listener {
        let found = self
            .listeners
            .iter_mut()
            .find(|(binding, _)| binding.port == port);
        &mut found.expect("the port is bound").1
    }

    /// Slots that hold sockets.
    pub(crate) fn open_sockets(&self) -> usize {
        let is_socket = |object: &&Object| matches!(object, Object::Socket(_));
        self.caps.values().filter(is_socket).count()
    }

    /// The last evidence line.
    pub(crate) fn evidence(&self) -> &str {
        let mut lines = self.lines.iter().rev();
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

    fn insert(&mut self, object: Object) -> u32 {
        self.next_cap += 1;
        self.caps.insert(self.next_cap, object);
        self.next_cap
    }

    fn enter(&mut self, least: u32, timeout_ns: u64) -> Option<u32> {
        if self.reject {
            return None;
        }
        self.now_ns += ENTRY_NS;
        self.count_entry();
        self.take_submissions();
        self.deliver();
        self.watch_for_spinning(least, timeout_ns);
        if self.available() < least && timeout_ns > 0 {
            self.wait(timeout_ns);
        }
        Some(self.available())
    }

    fn count_entry(&mut self) {
        match self.on_entry.take() {
            Some((0, step)) => step(self),
            Some((left, step)) => self.on_entry = Some((left - 1, step)),
            None => {}
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
    fn wait(&mut self, timeout_ns: u64) {
        if !self.cancelled.is_empty() {
            // They come by themselves, one entry after the other.
            self.deliver();
            return;
        }
        while let Some((delay_ns, _)) = self.steps.front() {
            let due_ns = *self.due_ns.get_or_insert(self.now_ns + delay_ns);
            if self.now_ns < due_ns {
                self.now_ns += timeout_ns.min(due_ns - self.now_ns).max(1);
                return;
            }
            self.due_ns = None;
            let (_, step) = self.steps.pop_front().unwrap();
            step(self);
            self.last_step_ns = self.now_ns;
            self.deliver();
            if self.available() > 0 {
                return;
            }
        }
        assert_ne!(timeout_ns, u64::MAX, "the process waits for ever");
        self.now_ns += timeout_ns.max(1);
        let alone_ns = self.now_ns - self.last_step_ns;
        assert!(
            alone_ns < PATIENCE_NS,
            "the process does not end: {:#?}",
            self.lines
        );
    }

    fn available(&self) -> u32 {
        // SAFETY: the page is the process's ring.
        let head = unsafe { ring::cq_head(self.page.cast()) };
        ring::cq_pending_or_recovery_head(head, self.posted).expect("the process keeps its indices")
    }

    fn has_room(&self) -> bool {
        self.available() < CQ_ENTRIES
    }

    fn take_submissions(&mut self) {
        while self.has_room() {
            // SAFETY: the page is the process's ring.
            let tail = unsafe { ring::sq_tail(self.page.cast()) };
            let waiting = ring::sq_pending_or_recovery_head(self.taken, tail);
            if waiting.expect("the process keeps its indices") == 0 {
                return;
            }
            // SAFETY: the index is masked.
            let place = unsafe { ring::sqe_at(self.page, self.taken & (SQ_ENTRIES - 1)) };
            // SAFETY: the entry lies in the page.
            let entry = unsafe { place.read_volatile() };
            self.taken = self.taken.wrapping_add(1);
            // SAFETY: the page is the process's ring.
            unsafe { ring::set_sq_head(self.page.cast(), self.taken) };
            assert_eq!(ring::sqe_wire_validation_error(&entry), Ok(()));
            self.submitted(entry);
        }
    }

    fn submitted(&mut self, entry: CapSqe) {
        let object = *self
            .caps
            .get(&entry.cap_id)
            .expect("the process holds the slot");
        if entry.opcode == CAP_OP_RELEASE {
            self.caps.remove(&entry.cap_id);
            self.post(entry.user_data, 0, 0);
            self.released(object);
            return;
        }
        assert_eq!(entry.opcode, CAP_OP_CALL);
        let lent = Lent::take(
            (entry.addr, entry.len),
            (entry.result_addr, entry.result_len),
        );
        for (_, other) in &self.cancelled {
            lent.check_apart(&other.lent);
        }
        for other in &self.pending {
            lent.check_apart(&other.lent);
            let twice = (other.object, other.entry.method_id) == (object, entry.method_id)
                && matches!(object, Object::Socket(_) | Object::Console | Object::Timer);
            assert!(
                !twice,
                "{object:?}: method {} twice at once",
                entry.method_id
            );
        }
        self.pending.push_back(Pending {
            entry,
            object,
            lent,
        });
    }

    fn released(&mut self, object: Object) {
        let Object::Socket(id) = object else {
            panic!("{object:?} was given back");
        };
        self.connections[id].released = true;
        let (gone, kept) = std::mem::take(&mut self.pending)
            .into_iter()
            .partition(|pending| pending.object == object);
        self.pending = kept;
        let gone: VecDeque<Pending> = gone;
        self.cancelled
            .extend(gone.into_iter().map(|pending| (CANCEL_ENTRIES, pending)));
        if let Some(step) = self.on_release.take() {
            step(self);
        }
    }

    /// Answers what was cancelled a while ago.
    fn deliver_cancelled(&mut self) {
        for (entries, _) in &mut self.cancelled {
            *entries = entries.saturating_sub(1);
        }
        while self.has_room()
            && self
                .cancelled
                .front()
                .is_some_and(|(entries, _)| *entries == 0)
        {
            let (_, pending) = self.cancelled.pop_front().unwrap();
            self.complete(pending, Reply::Raised(ExceptionType::Disconnected));
        }
    }

    /// Answers what can be answered while there is room.
    fn deliver(&mut self) {
        if self.forge && self.has_room() {
            self.forge = false;
            self.post(u64::MAX, 0, 0);
        }
        self.deliver_cancelled();
        let mut unanswered = VecDeque::new();
        while self.has_room() {
            let Some(pending) = self.next_pending() else {
                break;
            };
            match self.reply(&pending) {
                Some(reply) => self.complete(pending, reply),
                None => unanswered.push_back(pending),
            }
        }
        unanswered.append(&mut self.pending);
        self.pending = unanswered;
    }

    fn next_pending(&mut self) -> Option<Pending> {
        if let Some(seed) = &mut self.scramble {
            *seed ^= *seed << 13;
            *seed ^= *seed >> 7;
            *seed ^= *seed << 17;
            let index = (*seed % (self.pending.len().max(1) as u64)) as usize;
            return self.pending.remove(index);
        }
        self.pending.pop_front()
    }

    fn complete(&mut self, pending: Pending, reply: Reply) {
        let Pending { entry, lent, .. } = pending;
        match reply {
            Reply::Void => {
                lent.finish(&[]);
                self.post(entry.user_data, 0, 0);
            }
            Reply::Message(message) => {
                lent.finish(&message);
                self.post(entry.user_data, message.len() as i32, 0);
            }
            Reply::WithCap(mut message, object) => {
                let bytes = message.len();
                let cap = self.insert(object);
                message.extend(u64::from(cap).to_le_bytes());
                message.extend(object.interface().to_le_bytes());
                lent.finish(&message);
                self.post(entry.user_data, bytes as i32, 1);
            }
            Reply::Raised(kind) => {
                let message = encode(|message| {
                    let mut root = message.init_root::<schema::cap_exception::Builder<'_>>();
                    root.set_type(kind);
                    root.set_message("raised by the scenario");
                });
                let fits = message.len() <= lent.room();
                lent.finish(if fits { &message } else { &[] });
                let code = if fits {
                    CAP_ERR_APPLICATION_EXCEPTION
                } else {
                    CAP_ERR_APPLICATION_EXCEPTION_TRUNCATED
                };
                self.post(entry.user_data, code, 0);
            }
        }
    }

    fn post(&mut self, user_data: u64, result: i32, cap_count: u16) {
        let flags = if cap_count > 0 {
            CAP_CQE_TRANSFER_RESULT_CAPS
        } else {
            0
        };
        // SAFETY: the index is masked.
        let place = unsafe { ring::cqe_at_mut(self.page, self.posted & (CQ_ENTRIES - 1)) };
        let entry = CapCqe {
            user_data,
            result,
            flags,
            cap_count,
            badge: 0,
            call_id: 0,
            _reserved: 0,
        };
        // SAFETY: the entry lies in the page.
        unsafe { place.write_volatile(entry) };
        self.posted = self.posted.wrapping_add(1);
        // SAFETY: the page is the process's ring.
        unsafe { ring::set_cq_tail(self.page.cast(), self.posted) };
    }
}
