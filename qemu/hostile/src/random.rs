//! The deed of asking everything of everything: random methods of every
//! capability, those that calls bring included, with parameters that are nearly
//! right and buffers that mostly are. No answer is wrong; the kernel must only
//! give one, or keep the call waiting, and go on.

use capos_config::ring::{CAP_OP_CALL, CAP_OP_RELEASE, CapCqe, CapSqe, SQ_ENTRIES};
use capos_rt::{Runtime, syscall};

use crate::requests::{EMPTY, Queues};

const BROKEN: i64 = 1;
/// Calls that must be made before the deed counts as done: some 25 ms of them,
/// so that a busy machine has made them long before the witness is done.
const CALLS: u64 = 10_000;
const GRANTED_MAX: usize = 16;
const GAINED: usize = 8;
const BATCH: usize = SQ_ENTRIES as usize;
const PARAMS_WORDS: usize = 8;
const RESULT_BYTES: u32 = 256;

/// `NetworkManager.connectTcp(127.0.0.1, 9000)`: the manifest's listen grant.
const CONNECT: Params = [
    7 << 32,
    1 << 32 | 1 << 48,
    9_000,
    1 | 1 << 2 | 2 << 32 | 4 << 35,
    0,
    0x0100_007f,
    0,
    0,
];

type Params = [u64; PARAMS_WORDS];
type Result = [u8; RESULT_BYTES as usize];

/// The kernel writes here whenever a call ends, so it is read by copies only.
static mut RESULTS: [Result; BATCH] = [[0; RESULT_BYTES as usize]; BATCH];

/// Makes the calls; the exit code is zero if each round was answered.
pub(crate) fn random_calls(runtime: &mut Runtime) -> i64 {
    let mut caps = Caps {
        granted: [0; GRANTED_MAX],
        gained: [0; GAINED],
    };
    let capset = runtime.capset();
    let held = core::iter::repeat_with(|| capset.iter().map(|entry| entry.cap_id)).take(2);
    for (slot, id) in caps.granted.iter_mut().zip(held.flatten()) {
        *slot = id;
    }
    let mut random = Random(0x1234_5678_9abc_def1);
    let mut params = [[0; PARAMS_WORDS]; BATCH];
    let mut made = 0;
    while made < CALLS {
        for (number, params) in (0_u64..).zip(&mut params) {
            *params = random.params();
            Queues::submit(&random.request(number, params, &caps));
            made = made.wrapping_add(1);
        }
        // Whatever is there is taken, so that the next round has room.
        loop {
            match syscall::cap_enter(0, 0) {
                Ok(0) => break,
                Ok(count) => (0..count).for_each(|_| caps.note(&Queues::take(), &mut random)),
                Err(_) => return BROKEN,
            }
        }
    }
    0
}

/// What there is to call.
struct Caps {
    granted: [u32; GRANTED_MAX],
    gained: [u32; GAINED],
}

impl Caps {
    /// Keeps a capability that came with a completion, in a random place.
    fn note(&mut self, completion: &CapCqe, random: &mut Random) {
        let place = usize::try_from(completion.user_data).ok();
        let offset = usize::try_from(completion.result).ok();
        if completion.cap_count == 0 {
            return;
        }
        let id = place.zip(offset).and_then(|(place, offset)| {
            let results = &raw const RESULTS;
            // SAFETY: a copy of plain bytes, whatever the kernel wrote there.
            let results = unsafe { results.read_volatile() };
            let bytes = results.get(place)?.get(offset..)?;
            Some(u32::from_le_bytes(*bytes.first_chunk()?))
        });
        let kept = usize::try_from(random.below(GAINED as u64)).unwrap_or(0);
        if let Some((slot, id)) = self.gained.get_mut(kept).zip(id) {
            *slot = id;
        }
    }
}

struct Random(u64);

impl Random {
    fn word(&mut self) -> u64 {
        let mut x = self.0;
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        self.0 = x;
        x.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// Less than `bound`, which is small.
    fn below(&mut self, bound: u64) -> u64 {
        (self.word() >> 32).wrapping_mul(bound) >> 32
    }

    fn one_in(&mut self, times: u64) -> bool {
        self.below(times) == 0
    }

    fn pick<T: Copy, const N: usize>(&mut self, from: &[T; N], or: T) -> T {
        let place = usize::try_from(self.below(N as u64)).unwrap_or(0);
        from.get(place).copied().unwrap_or(or)
    }

    /// A message with one struct of up to two words and up to one byte string;
    /// now and then with a word of it spoiled.
    fn params(&mut self) -> Params {
        let data = self.below(3);
        let strings = self.below(2);
        let bytes = self.pick(&[0, 1, 4, 4, 16, 24], 4);
        let small = self.below(200);
        let word = self.word();
        let first = self.pick(&[9_000, 1, 40, small, word], 0);
        let second = self.word();
        let list = 1 | 2 << 32 | bytes << 35;
        let text = u64::from_le_bytes(*b"[kernel]");
        let content = self.pick(&[0x0100_007f, text, word], 0);
        let mut params: Params = [
            7 << 32,
            data << 32 | strings << 48,
            0,
            0,
            0,
            content,
            word,
            0,
        ];
        let fields = [first, second];
        let used = fields.iter().take(usize::try_from(data).unwrap_or(0));
        let fields = used.copied().chain((strings > 0).then(|| {
            // The content is in the sixth word, counted from behind the pointer.
            let offset = 2_u64.saturating_sub(data);
            list | offset << 2
        }));
        for (slot, field) in params.iter_mut().skip(2).zip(fields) {
            *slot = field;
        }
        if self.one_in(6) {
            // Whatever else it is, it opens a connection to this process's port.
            return CONNECT;
        }
        if self.one_in(4) {
            let spoiled = self.below(PARAMS_WORDS as u64);
            let word = self.pick(&[0, 1, u64::MAX, word, second], 0);
            let place = usize::try_from(spoiled).unwrap_or(0);
            params
                .iter_mut()
                .skip(place)
                .take(1)
                .for_each(|slot| *slot = word);
        }
        params
    }

    fn request(&mut self, number: u64, params: &Params, caps: &Caps) -> CapSqe {
        let gained = self.pick(&caps.gained, 0);
        let granted = self.pick(&caps.granted, 0);
        let is_gained = gained != 0 && self.one_in(2);
        let cap_id = if is_gained { gained } else { granted };
        if is_gained && self.one_in(12) {
            return CapSqe {
                opcode: CAP_OP_RELEASE,
                cap_id,
                user_data: number,
                ..EMPTY
            };
        }
        let results = &raw mut RESULTS;
        let place = results
            .cast::<Result>()
            .wrapping_add(usize::try_from(number).unwrap_or(0));
        let params_bytes = 64_u32;
        let short = u32::try_from(self.below(80)).unwrap_or(0);
        let odd = self.word();
        CapSqe {
            opcode: CAP_OP_CALL,
            method_id: u16::try_from(self.below(4)).unwrap_or(0),
            cap_id: if self.one_in(40) {
                cap_id ^ 0x800
            } else {
                cap_id
            },
            user_data: number,
            addr: if self.one_in(60) {
                odd
            } else {
                params.as_ptr().expose_provenance() as u64
            },
            len: if self.one_in(20) { short } else { params_bytes },
            result_addr: place.expose_provenance() as u64,
            result_len: if self.one_in(10) { short } else { RESULT_BYTES },
            ..EMPTY
        }
    }
}
