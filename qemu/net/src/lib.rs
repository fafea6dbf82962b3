//! harness-net: TCP for the harness kernel.
//!
//! One `smoltcp` interface per transport (loopback; each network card), with
//! demultiplexing, handshakes, timers and bounds of our own around it, so that
//! no packet costs work in proportion to idle connections and no transport can
//! take what another needs. `README.md` follows one packet through.
//!
//! ```text
//!  card 1 ──┐ budget ┌ classify ┐ known flow ──► its gate ──► its smoltcp state
//!  card 2 ──┼──────► │ 4-tuple  ├─ SYN ────────► cookie SYN|ACK (no state)
//!  loops  ──┘        └──────────┘ valid ACK ───► pool socket ► backlog ► accept
//!                                 else ────────► RST, rate limited
//! ```
//!
//! The caller drives it: [`NetStack::poll`] when a card has interrupted, a
//! deadline is due, or after socket operations; then [`NetStack::next_event`]
//! until it is empty. Nothing is allocated after construction and `add_nic`.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod account;
mod adapter;
mod answers;
mod bucket;
mod classify;
mod config;
mod construct;
mod cookie;
mod counters;
mod deliver;
mod device;
mod egress;
mod events;
mod flow;
mod gate;
mod handshake;
mod ids;
mod ingress;
mod link;
mod listener;
mod lists;
mod numbers;
mod ops;
mod outcome;
mod pool;
mod recovery;
mod replies;
mod resend;
mod segment;
mod settle;
mod siphash;
mod slot;
mod spent;
mod stack;
mod time;
mod timers;
mod transport;
mod turn;

pub use config::{
    CLIENTS_MAX, FRAME_BYTES_MAX, LISTENERS_MAX, ListenOptions, NetConfig, NicConfig, PollBudget,
    TRANSPORTS_MAX,
};
pub use counters::{ListenerCounters, ListenerReport, PoolCounters, TransportCounters};
pub use device::FrameDevice;
pub use ids::{Binding, ClientId, ListenerId, SocketId, TransportId, TransportSet};
pub use outcome::{
    Accept, Accepted, AddError, ConnectError, ConnectState, Event, ListenError, Polled, Recv, Sent,
};
pub use stack::NetStack;
pub use time::Instant;
