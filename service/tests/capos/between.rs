//! Between the process and its kernel: passes submissions and completions on, and
//! does on the way what a kernel may do to a process but this one does not, or not
//! when a scenario wants it.

use std::collections::VecDeque;

use capos_config::ring::{
    self, CAP_ERR_APPLICATION_EXCEPTION, CAP_ERR_APPLICATION_EXCEPTION_TRUNCATED, CAP_OP_CALL,
    CAP_OP_RELEASE, CQ_ENTRIES, CapCqe, CapSqe, SQ_ENTRIES,
};
use harness_kernel::call::kinds::Object;
use harness_kernel::cap_table::CapId;
use harness_kernel::message::{ExceptionKind, encode_exception};
use harness_kernel::user_space::UserSpace;

use crate::kernel::Kernel;
use crate::lent::Lent;
use crate::network::AcceptFailure;

/// Entries from a cancellation to its completions: the kernel cancels at once, and
/// another may take its time, with the memory still lent.
const CANCEL_ENTRIES: u32 = 20;
const RECV: u16 = 1;

/// A completion that the process has not been given.
struct Held {
    completion: CapCqe,
    lent: Lent,
    /// Deliveries until it may be.
    delay: u32,
}

/// What stands between.
pub(crate) struct Between {
    page: Page,
    serial: u64,
    held: VecDeque<Held>,
    /// Serial numbers of the calls whose object was given back.
    gone: Vec<u64>,
    /// The timer raises instead of telling the time.
    pub(crate) clock_lost: bool,
    /// The console does not answer.
    pub(crate) console_stuck: bool,
    /// Receives are answered in another layout than every builder gives.
    pub(crate) odd_layout: bool,
    /// Completions are delivered in an order that the seed decides.
    pub(crate) scramble: Option<u64>,
    /// A completion that answers nothing is posted once.
    pub(crate) forge: bool,
}

impl Between {
    pub(crate) fn new(page: Page) -> Self {
        Self {
            page,
            serial: 0,
            held: VecDeque::new(),
            gone: Vec::new(),
            clock_lost: false,
            console_stuck: false,
            odd_layout: false,
            scramble: None,
            forge: false,
        }
    }

    /// The process's page.
    pub(crate) fn page(&self) -> *mut u8 {
        self.page.base
    }

    /// Completions that the process has not taken.
    pub(crate) fn available(&self) -> u32 {
        self.page.available()
    }

    /// The process's next submission, while there is room for its completion.
    pub(crate) fn next_submission(&mut self) -> Option<CapSqe> {
        self.page.has_room().then(|| self.page.take())?
    }

    /// Whether a completion comes after some more entries.
    pub(crate) fn owes(&self) -> bool {
        self.held.iter().any(|held| held.delay > 0)
    }

    fn holds_back(&self, held: &Held) -> bool {
        held.delay > 0 || self.console_stuck && held.lent.object == Object::Console
    }

    /// Takes the next completion that the process may be given.
    fn next_held(&mut self) -> Option<Held> {
        let mut free = (0..self.held.len()).filter(|at| !self.holds_back(&self.held[*at]));
        let Some(seed) = self.scramble else {
            let first = free.next()?;
            return self.held.remove(first);
        };
        let free: Vec<usize> = free.collect();
        let mut seed = seed;
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        self.scramble = Some(seed);
        let chosen = *free.get((seed % free.len().max(1) as u64) as usize)?;
        self.held.remove(chosen)
    }
}

impl Kernel {
    /// Lets the kernel have one submission.
    pub(crate) fn submitted(&mut self, entry: CapSqe) {
        let cap = CapId::from_wire(entry.cap_id);
        let object = self.process.caps.find(cap);
        let object = object.expect("the process holds the slot");
        self.between.serial += 1;
        let lent = Lent::take(self.between.serial, entry, object);
        self.check(&lent);
        let seen = lent.seen();
        self.process.space.lent.borrow_mut().push(lent);
        self.process.space.queues().submit(seen);
        assert!(self.entry().take_submissions().is_ok());
        self.collect();
        if entry.opcode == CAP_OP_RELEASE {
            assert!(
                matches!(object, Object::Socket(_)),
                "{object:?} was given back"
            );
            let all = self.process.space.lent.borrow();
            let of_it = all.iter().filter(|lent| lent.object == object);
            self.between.gone.extend(of_it.map(|lent| lent.serial));
            drop(all);
            self.released();
        }
    }

    fn check(&self, lent: &Lent) {
        let entry = &lent.entry;
        assert!([CAP_OP_CALL, CAP_OP_RELEASE].contains(&entry.opcode));
        let in_flight = self.process.space.lent.borrow();
        let held = self.between.held.iter().map(|held| &held.lent);
        for other in in_flight.iter().chain(held) {
            lent.check_apart(other);
            let is_same = (other.object, other.entry.method_id, other.entry.opcode)
                == (lent.object, entry.method_id, entry.opcode);
            let is_single = matches!(
                lent.object,
                Object::Socket(_) | Object::Console | Object::Timer
            );
            assert!(
                !(is_same && is_single),
                "{:?}: method {} twice at once",
                lent.object,
                entry.method_id
            );
        }
    }

    /// Gives devices and completions their turn.
    pub(crate) fn deliver(&mut self, least: u32) {
        self.world.poll();
        self.entry().deliver(least);
        self.collect();
        let between = &mut self.between;
        if std::mem::take(&mut between.forge) {
            between.page.post(CapCqe {
                user_data: u64::MAX,
                ..COMPLETED
            });
        }
        for held in &mut between.held {
            held.delay = held.delay.saturating_sub(1);
        }
        while self.between.page.has_room()
            && let Some(held) = self.between.next_held()
        {
            self.pass_on(held);
        }
    }

    /// Takes what the kernel has completed.
    fn collect(&mut self) {
        let space = &self.process.space;
        let between = &mut self.between;
        while let Some(completion) = space.queues().take() {
            let mut lent = space.lent.borrow_mut();
            let mut all = lent.iter();
            let place = all.position(|lent| lent.serial == completion.user_data);
            let lent = lent.remove(place.expect("the kernel answers what was asked"));
            let gone = between.gone.iter().position(|gone| *gone == lent.serial);
            let delay = gone.map_or(0, |place| {
                between.gone.remove(place);
                CANCEL_ENTRIES
            });
            between.held.push_back(Held {
                completion,
                lent,
                delay,
            });
        }
    }

    fn pass_on(&mut self, held: Held) {
        let Held {
            mut completion,
            mut lent,
            ..
        } = held;
        match lent.object {
            Object::Timer if self.between.clock_lost => {
                completion.result = raise(&mut lent, ExceptionKind::Failed);
            }
            Object::Listener(id)
                if completion.result == CAP_ERR_APPLICATION_EXCEPTION
                    && self.listeners[id.index()].failure == Some(AcceptFailure::Overloaded) =>
            {
                completion.result = raise(&mut lent, ExceptionKind::Overloaded);
            }
            Object::Socket(_)
                if self.between.odd_layout
                    && lent.entry.method_id == RECV
                    && completion.result > 0 =>
            {
                completion.result = lay_out_oddly(&mut lent);
            }
            _ => {}
        }
        lent.check_untouched();
        completion.user_data = lent.entry.user_data;
        self.between.page.post(completion);
    }
}

const COMPLETED: CapCqe = CapCqe {
    user_data: 0,
    result: 0,
    flags: 0,
    cap_count: 0,
    badge: 0,
    call_id: 0,
    _reserved: 0,
};

/// Writes an exception over the result; its code.
fn raise(lent: &mut Lent, kind: ExceptionKind) -> i32 {
    let mut message = [0; 128];
    let length = encode_exception(&mut message, kind, "raised by the scenario").unwrap();
    if length > lent.result().len() {
        return CAP_ERR_APPLICATION_EXCEPTION_TRUNCATED;
    }
    lent.write(0, &message[..length]);
    CAP_ERR_APPLICATION_EXCEPTION
}

/// Writes the one `Data` of the result anew, with an unused word between the root
/// and its struct; the length.
fn lay_out_oddly(lent: &mut Lent) -> i32 {
    let list = u64::from_le_bytes(lent.result()[16..24].try_into().unwrap());
    let data = lent.result()[24..24 + (list >> 35) as usize].to_vec();
    let data_words = data.len().div_ceil(8);
    let table = (data_words as u64 + 3) << 32;
    let root = (1 << 48) | (1 << 2);
    let mut message: Vec<u8> = [table, root, 0, list]
        .into_iter()
        .flat_map(u64::to_le_bytes)
        .collect();
    message.extend(data);
    message.resize((data_words + 4) * 8, 0);
    lent.write(0, &message);
    message.len() as i32
}

/// The page that the process shares with what it takes for its kernel.
pub(crate) struct Page {
    base: *mut u8,
    taken: u32,
    posted: u32,
}

impl Page {
    pub(crate) fn new() -> Self {
        let base = Box::leak(Box::new([0_u64; 512])).as_mut_ptr().cast::<u8>();
        // SAFETY: the page is zeroed, aligned and leaked.
        unsafe { ring::init_ring_header(base.cast()) };
        Self {
            base,
            taken: 0,
            posted: 0,
        }
    }

    fn available(&self) -> u32 {
        // SAFETY: the page is the process's ring.
        let head = unsafe { ring::cq_head(self.base.cast()) };
        ring::cq_pending_or_recovery_head(head, self.posted).expect("the process keeps its indices")
    }

    fn has_room(&self) -> bool {
        self.available() < CQ_ENTRIES
    }

    fn take(&mut self) -> Option<CapSqe> {
        // SAFETY: the page is the process's ring.
        let tail = unsafe { ring::sq_tail(self.base.cast()) };
        let waiting = ring::sq_pending_or_recovery_head(self.taken, tail);
        if waiting.expect("the process keeps its indices") == 0 {
            return None;
        }
        // SAFETY: the index is masked.
        let place = unsafe { ring::sqe_at(self.base, self.taken & (SQ_ENTRIES - 1)) };
        // SAFETY: the entry lies in the page.
        let entry = unsafe { place.read_volatile() };
        self.taken = self.taken.wrapping_add(1);
        // SAFETY: the page is the process's ring.
        unsafe { ring::set_sq_head(self.base.cast(), self.taken) };
        Some(entry)
    }

    fn post(&mut self, completion: CapCqe) {
        // SAFETY: the index is masked.
        let place = unsafe { ring::cqe_at_mut(self.base, self.posted & (CQ_ENTRIES - 1)) };
        // SAFETY: the entry lies in the page.
        unsafe { place.write_volatile(completion) };
        self.posted = self.posted.wrapping_add(1);
        // SAFETY: the page is the process's ring.
        unsafe { ring::set_cq_tail(self.base.cast(), self.posted) };
    }
}
