//! A driver that turns bytes into the doings of hostile peers and of processes, and
//! checks after each that the stack is whole. `cargo test` feeds it random bytes for
//! seconds, `tools/fuzz` what coverage leads to.
#![allow(dead_code, reason = "each user has its own part")]

mod beside;
pub(crate) mod card;
mod hostile;
pub(crate) mod random;
pub(crate) mod segment;

use beside::{Bystander, Held};
use card::{Card, LISTEN_PORT};
use harness_net::{
    Binding, ClientId, Instant, ListenOptions, ListenerId, NetConfig, NetStack, NicConfig,
    PollBudget, TransportId,
};
use std::net::Ipv4Addr;

pub(crate) const OWN: Ipv4Addr = Ipv4Addr::new(10, 0, 2, 15);
pub(crate) const PEER: Ipv4Addr = Ipv4Addr::new(10, 0, 2, 2);
const OWN_APART: Ipv4Addr = Ipv4Addr::new(10, 0, 3, 15);
const PEER_APART: Ipv4Addr = Ipv4Addr::new(10, 0, 3, 2);

/// Sockets of the pool, few enough to run out.
const SOCKETS: u16 = 16;

/// Receive buffers to choose from: small ones bring the edges of a window close.
const RX_BYTES: [usize; 4] = [16, 64, 600, 2_048];

/// Where decisions come from.
pub(crate) struct Bytes<'a>(pub(crate) &'a [u8]);

impl Bytes<'_> {
    fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else {
            return 0;
        };
        self.0 = rest;
        *first
    }

    fn long(&mut self) -> u32 {
        u32::from_le_bytes([self.byte(), self.byte(), self.byte(), self.byte()])
    }

    fn pick<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[usize::from(self.byte()) % choices.len()]
    }
}

/// What a run has reached.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Tally {
    /// Frames that the stack was sent.
    pub(crate) frames: u64,
    /// Connections that came to be, of hostile peers and to them.
    pub(crate) accepted: u64,
    pub(crate) connected: u64,
    /// Bytes that processes heard from hostile peers, and ends and resets.
    pub(crate) heard: u64,
    pub(crate) ended: u64,
    pub(crate) reset: u64,
    /// What the gate kept away, and what it answered.
    pub(crate) unacceptable: u64,
    pub(crate) challenges: u64,
}

impl std::ops::AddAssign for Tally {
    fn add_assign(&mut self, other: Self) {
        self.frames += other.frames;
        self.accepted += other.accepted;
        self.connected += other.connected;
        self.heard += other.heard;
        self.ended += other.ended;
        self.reset += other.reset;
        self.unacceptable += other.unacceptable;
        self.challenges += other.challenges;
    }
}

/// A stack, the hostile wire, and what is beside it.
pub(crate) struct Fuzz {
    stack: NetStack<Card>,
    hostile: TransportId,
    apart: TransportId,
    listeners: [ListenerId; 2],
    held: Vec<Held>,
    bystander: Option<Bystander>,
    now_nanos: u64,
    steps: u64,
    tally: Tally,
}

impl Fuzz {
    /// A stack with a bystander's connection on a card of its own.
    pub(crate) fn new(bytes: &mut Bytes<'_>) -> Self {
        let config = NetConfig {
            sockets: SOCKETS,
            rx_bytes: bytes.pick(&RX_BYTES),
            tx_bytes: bytes.pick(&[64, 2_048, 4_096]),
            outgoing_reserve: 3,
            loop_frames: 8,
            ..NetConfig::new([bytes.long().into(), bytes.long().into()])
        };
        let mut stack = NetStack::new(config);
        stack.add_client(ClientId(0)).unwrap();
        let mut nic = |address, gateway| {
            let config = NicConfig {
                address,
                prefix_len: 24,
                gateway: Some(gateway),
            };
            stack.add_nic(config, Card::new()).unwrap()
        };
        let (hostile, apart) = (nic(OWN, PEER), nic(OWN_APART, PEER_APART));
        let options = ListenOptions {
            backlog: 4,
            reserve: 2,
        };
        let mut listen = |transport| {
            stack
                .listen(Binding::Transport(transport), LISTEN_PORT, options)
                .unwrap()
        };
        let listeners = [listen(hostile), listen(TransportId::LOOPBACK)];
        let quiet = listen(apart);
        let mut fuzz = Self {
            stack,
            hostile,
            apart,
            listeners,
            held: Vec::new(),
            bystander: None,
            now_nanos: 1_000_000_000,
            steps: 0,
            tally: Tally::default(),
        };
        fuzz.open_bystander(quiet);
        fuzz
    }

    /// Takes all of `bytes` for decisions, then ends everything and looks for what is
    /// left.
    pub(crate) fn run(mut self, mut bytes: Bytes<'_>) -> Tally {
        while !bytes.0.is_empty() {
            self.step(&mut bytes);
        }
        self.end_all();
        let seen = self.stack.transport_counters(self.hostile).unwrap();
        self.tally.unacceptable = seen.unacceptable;
        self.tally.challenges = seen.challenges_sent;
        self.tally
    }

    fn step(&mut self, bytes: &mut Bytes<'_>) {
        let kind = bytes.byte();
        match kind {
            0..140 => self.send_hostile(bytes),
            140..196 => self.send_honest(bytes),
            196..204 => self.send_other(bytes),
            204..208 => self.card().reorder(),
            208..212 => self.card().room = bytes.pick(&[0, 1, 2, 100]),
            212..222 => self.pass_time(bytes),
            _ => self.process(kind, bytes),
        }
        if kind.is_multiple_of(2) {
            self.poll();
        }
        self.steps += 1;
        if self.steps.is_multiple_of(256) {
            self.bystander_is_answered();
            assert_eq!(self.stack.pool_counters().faults, 0);
        }
    }

    fn card(&mut self) -> &mut Card {
        self.stack.device_mut(self.hostile).unwrap()
    }

    fn pass_time(&mut self, bytes: &mut Bytes<'_>) {
        const MICROS: [u64; 8] = [
            10, 100, 1_000, 11_000, 100_000, 600_000, 1_100_000, 21_000_000,
        ];
        self.now_nanos += bytes.pick(&MICROS) * 1_000;
        self.card().room = u32::MAX;
        self.poll();
    }

    fn poll(&mut self) {
        let now = Instant::from_nanos(self.now_nanos);
        for _ in 0..16 {
            if !self.stack.poll(now, PollBudget::TURN).more_work {
                return;
            }
        }
    }

    /// No socket is lost: when all is given up, only the bystander's is in use.
    fn end_all(&mut self) {
        self.card().room = u32::MAX;
        for _ in 0..64 {
            for held in core::mem::take(&mut self.held) {
                self.stack.abort(held.socket);
            }
            self.now_nanos += 2_000_000_000;
            self.poll();
            for listener in self.listeners {
                self.accept(listener);
            }
        }
        self.bystander_is_answered();
        let pool = self.stack.pool_counters();
        assert_eq!((pool.in_use, pool.faults), (1, 0), "{pool:?}");
    }
}
