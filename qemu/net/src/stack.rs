//! The stack: transports, listeners and the socket pool, and the turn that
//! drives them.
//!
//! Invariants: NET-TURN (a poll does bounded work for each transport, loopback
//! included, and starts at another one each time; a card that rests is not
//! received from).

use crate::adapter::Scratch;
use crate::config::{NetConfig, PollBudget};
use crate::cookie::CookieJar;
use crate::counters::{PoolCounters, TransportCounters};
use crate::device::FrameDevice;
use crate::flow::PortIndex;
use crate::ids::{TransportId, TransportSet};
use crate::link::Link;
use crate::listener::Listener;
use crate::outcome::Polled;
use crate::pool::Pool;
use crate::spent::SpentCookies;
use crate::time::Instant;
use crate::transport::{Port, Transport};
use alloc::vec::Vec;
use core::net::Ipv4Addr;
use core::time::Duration;
use smoltcp::iface::SocketSet;

/// When to look again at a link that had no room to transmit.
const BLOCKED_RETRY: Duration = Duration::from_millis(1);

/// Rounds of receiving and transmitting in one poll of a port: enough for a
/// handshake and an answer inside a loop.
const ROUNDS: usize = 4;

/// Timers that one poll expires.
const TIMERS_PER_POLL: usize = 256;

/// TCP over every transport of one machine. See the crate's documentation.
pub struct NetStack<D: FrameDevice> {
    pub(crate) config: NetConfig,
    pub(crate) now: Instant,
    pub(crate) ports: Vec<Port<D>>,
    pub(crate) transports: Vec<Transport>,
    pub(crate) listeners: Vec<Listener>,
    pub(crate) pool: Pool,
    pub(crate) cookies: CookieJar,
    pub(crate) spent: SpentCookies,
    /// The socket set of frames that belong to no socket.
    pub(crate) nobody: SocketSet<'static>,
    pub(crate) scratch: Scratch,
    pub(crate) next_ephemeral: u16,
    pub(crate) turn: usize,
}

/// How a port's turn ended.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct TurnEnd {
    /// Frames or segments could still be handled now.
    pub(crate) more: Option<More>,
    /// As many frames as it may receive were received.
    pub(crate) exhausted: Option<Exhausted>,
    /// The link has no room to transmit.
    pub(crate) blocked: Option<Blocked>,
}

/// Marker: work is left.
#[derive(Debug, Clone, Copy)]
pub(crate) struct More;

/// Marker: the budget of frames is used up.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Exhausted;

/// Marker: waiting for room.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Blocked;

impl<D: FrameDevice> NetStack<D> {
    /// The card of a transport, for what only its driver knows (interrupts).
    pub fn device_mut(&mut self, transport: TransportId) -> Option<&mut D> {
        let card = self.transports.get(usize::from(transport.0))?.card?;
        match &mut self.ports.get_mut(usize::from(card.0))?.link {
            Link::Card(device) => Some(device),
            Link::Loop(_) => None,
        }
    }

    /// Does a turn's work at instant `now`: expires timers, then receives and
    /// transmits on each transport within `budget`.
    pub fn poll(&mut self, now: Instant, budget: PollBudget) -> Polled {
        self.now = self.now.max(now);
        let mut more_work = self.expire_timers();
        let mut blocked = false;
        let mut exhausted = TransportSet::EMPTY;
        let count = self.ports.len();
        for offset in 0..count {
            let at = self
                .turn
                .wrapping_add(offset)
                .checked_rem(count)
                .unwrap_or(0);
            let port = PortIndex(u8::try_from(at).unwrap_or(u8::MAX));
            let end = self.port_turn(port, budget);
            if end.exhausted.is_some() {
                exhausted = exhausted.with(self.transport_of(port));
            }
            more_work |= end.more.is_some();
            blocked |= end.blocked.is_some();
        }
        self.turn = self.turn.wrapping_add(1).checked_rem(count).unwrap_or(0);
        let mut next_deadline = self.pool.timers.next();
        if blocked {
            let retry = self.now.after(BLOCKED_RETRY);
            next_deadline = Some(next_deadline.map_or(retry, |due| due.min(retry)));
        }
        Polled {
            more_work,
            next_deadline,
            exhausted,
        }
    }

    /// Expires due timers, a bounded number; true if some are left.
    fn expire_timers(&mut self) -> bool {
        for _ in 0..TIMERS_PER_POLL {
            let Some(index) = self.pool.timers.pop_due(self.now) else {
                return false;
            };
            self.expire(index);
        }
        self.pool.timers.next().is_some_and(|due| due <= self.now)
    }

    fn port_turn(&mut self, port: PortIndex, budget: PollBudget) -> TurnEnd {
        let frames_max = self.frames_of(port, budget);
        let mut frames = frames_max;
        let mut segments = budget.segments;
        let mut end = TurnEnd::default();
        for _ in 0..ROUNDS {
            let received = self.receive_some(port, frames);
            frames = frames.saturating_sub(received);
            let (sent, blocked) = self.transmit_some(port, segments);
            segments = segments.saturating_sub(sent);
            end.blocked = blocked;
            if received == 0 && sent == 0 {
                return end;
            }
            if frames == 0 && frames_max > 0 {
                self.count(port, |counters| &mut counters.budget_exhausted);
                end.exhausted = Some(Exhausted);
                break;
            }
            if segments == 0 {
                break;
            }
        }
        end.more = Some(More);
        end
    }

    /// Frames that a port may receive in this turn: none, if its card rests.
    fn frames_of(&self, port: PortIndex, budget: PollBudget) -> u16 {
        let is_card = self
            .ports
            .get(usize::from(port.0))
            .is_some_and(|port| matches!(port.link, Link::Card(_)));
        if is_card && budget.resting.contains(self.transport_of(port)) {
            0
        } else {
            budget.frames
        }
    }

    /// The counters of a transport.
    #[must_use]
    pub fn transport_counters(&self, transport: TransportId) -> Option<TransportCounters> {
        let transport = self.transports.get(usize::from(transport.0))?;
        Some(transport.counters)
    }

    /// The counters of the socket pool.
    #[must_use]
    pub fn pool_counters(&self) -> PoolCounters {
        self.pool.counters()
    }

    /// How many transports there are, loopback included.
    #[must_use]
    pub fn transport_count(&self) -> usize {
        self.transports.len()
    }

    /// The own address of a transport.
    #[must_use]
    pub fn transport_address(&self, transport: TransportId) -> Option<Ipv4Addr> {
        let transport = self.transports.get(usize::from(transport.0))?;
        Some(transport.subnet.address())
    }

    /// The transport that a port belongs to.
    pub(crate) fn transport_of(&self, port: PortIndex) -> TransportId {
        self.ports
            .get(usize::from(port.0))
            .map_or(TransportId::LOOPBACK, |port| port.transport)
    }

    /// Adds one to a counter of the port's transport.
    pub(crate) fn count(
        &mut self,
        port: PortIndex,
        which: impl FnOnce(&mut TransportCounters) -> &mut u64,
    ) {
        let transport = self.transport_of(port);
        if let Some(transport) = self.transports.get_mut(usize::from(transport.0)) {
            let counter = which(&mut transport.counters);
            *counter = counter.saturating_add(1);
        }
    }
}
