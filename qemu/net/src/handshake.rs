//! Passive opens: a request is answered from no state; the acknowledgement that
//! proves the peer received the answer gets a socket.
//!
//! Invariants: NET-COOKIE, NET-BACKLOG (a listener's waiting connections never
//! exceed its backlog, and a full one costs no other listener anything).

use crate::account::of_listener as account_of;
use crate::adapter::{Replay, wire};
use crate::classify::Arrival;
use crate::cookie::seed_for;
use crate::counters::ListenerCounters;
use crate::device::FrameDevice;
use crate::egress::Turn;
use crate::flow::{FlowKey, PortIndex};
use crate::gate::Gate;
use crate::pool::{Victim, backlog};
use crate::replies::{self, Opening};
use crate::segment::Segment;
use crate::slot::Phase;
use crate::stack::NetStack;
use core::time::Duration;
use smoltcp::iface::{Config, Interface};
use smoltcp::socket::tcp::State;
use smoltcp::wire::{HardwareAddress, IpCidr, IpListenEndpoint};

/// How long a learned neighbour is not learned again.
const NEIGHBOUR_FRESH: Duration = Duration::from_secs(20);

/// The segment size that a connection request offers.
pub(crate) enum Offer<'a> {
    /// Read, and its request is sound.
    Read(u16),
    /// Unread, in this frame.
    In(&'a [u8]),
}

/// Why a listener takes no connection now.
enum NoRoom {
    Backlog,
    Pool,
}

impl<D: FrameDevice> NetStack<D> {
    /// Answers a connection request with a cookie, if there is room for the
    /// connection that it may become.
    pub(crate) fn answer_request(
        &mut self,
        port: PortIndex,
        listener: u8,
        request: &Arrival,
        offer: Offer<'_>,
    ) {
        if let Err(reason) = self.room_for(listener) {
            self.count_no_room(listener, &reason);
            return;
        }
        let offered = match offer {
            Offer::Read(segment_bytes) => Some(segment_bytes),
            Offer::In(frame) => self.offered(port, frame),
        };
        let Some(segment_bytes) = offered else {
            self.count(port, |counters| &mut counters.malformed);
            return;
        };
        let isn = self.cookies.bake(
            request.key,
            request.segment.sequence,
            segment_bytes,
            self.now,
        );
        if self.send_answer(port, request, isn) {
            self.count_listener(listener, |counters| &mut counters.syn_answered);
            self.note_answer(port, request, isn);
        }
    }

    /// Opens the connection whose handshake `acknowledgement` completes; what
    /// completes none is refused.
    pub(crate) fn complete_handshake(
        &mut self,
        port: PortIndex,
        listener: u8,
        acknowledgement: &Arrival,
        frame: &[u8],
    ) {
        let key = acknowledgement.key;
        let their_isn = acknowledgement.segment.sequence.wrapping_sub(1);
        let isn = acknowledgement.segment.acknowledgement.wrapping_sub(1);
        let segment_bytes = self
            .cookies
            .check(key, their_isn, isn, self.now)
            .filter(|_| !self.spent.contains(key, isn));
        let Some(segment_bytes) = segment_bytes else {
            self.count_listener(listener, |counters| &mut counters.handshake_invalid);
            // Whoever has our answer and is ahead of it has lost its first segments
            // on the way, and will send them again.
            if !self.is_answered_lately(port, isn) {
                self.refuse(port, frame);
            }
            return;
        };
        if let Err(reason) = self.room_for(listener) {
            // Not refused: the peer will send again, and there may be room then.
            self.count_no_room(listener, &reason);
            return;
        }
        let Some(index) = self.take_socket(account_of(listener)) else {
            return;
        };
        let opening = Opening {
            isn: their_isn,
            acknowledges: None,
            window: 0,
            segment_bytes,
        };
        let answer = self.replay(index, key, opening, isn);
        let Some(answer) = answer.filter(|answer| answer.sequence == isn) else {
            debug_assert!(
                false,
                "smoltcp's generator is not the one that cookies assume"
            );
            self.pool.free(index);
            return;
        };
        if let Some(slot) = self.pool.slot_mut(index) {
            slot.gate = Gate::answered(&answer);
        }
        self.pool.flows.insert(key, index);
        self.deliver(port, index, acknowledgement, frame);
        let state = self.pool.slot(index).map(crate::slot::Slot::state);
        if !matches!(state, Some(State::Established | State::CloseWait)) {
            // Its checksum was wrong, or it was out of the window after all.
            self.pool.free(index);
            self.count(port, |counters| &mut counters.malformed);
            return;
        }
        self.spent.insert(key, isn);
        self.time_handshake(port, index, isn);
        if let Some(slot) = self.pool.slot_mut(index) {
            slot.phase = Phase::Queued;
        }
        self.pool.move_to(backlog(account_of(listener)), index);
        self.count_listener(listener, |counters| &mut counters.established);
        self.learn_neighbour(port, acknowledgement);
        self.announce(listener, self.transport_of(port));
        self.schedule(port, index, Turn::Heard);
    }

    /// Brings a fresh socket to SYN-RECEIVED with the initial sequence number
    /// that the cookie chose; answers what smoltcp wrote to the peer's request.
    fn replay(&mut self, index: u16, key: FlowKey, opening: Opening, isn: u32) -> Option<Segment> {
        let request = replies::request_again(key, opening);
        let slot = self.pool.slot_mut(index)?;
        slot.port = key.port;
        let endpoint = IpListenEndpoint {
            addr: Some(wire(key.local)),
            port: key.local_port,
        };
        slot.socket_mut().listen(endpoint).ok()?;
        let mut device = Replay {
            request: Some(&request),
            answer: None,
        };
        let now = self.now.wire();
        let mut config = Config::new(HardwareAddress::Ip);
        // The peer's acknowledgement names the number that smoltcp must draw.
        config.random_seed = seed_for(isn);
        let mut interface = Interface::new(config, &mut device, now);
        interface.update_ip_addrs(|addresses| {
            let added = addresses.push(IpCidr::new(wire(key.local), 32));
            debug_assert!(added.is_ok(), "a fresh interface has room for one address");
        });
        interface.poll_ingress_single(now, &mut device, &mut slot.set);
        interface.poll_egress(now, &mut device, &mut slot.set);
        device.answer
    }

    /// A completed handshake shows that the peer's packets come from, and ours
    /// reach, this hardware address: no need to ask for it.
    fn learn_neighbour(&mut self, port: PortIndex, arrival: &Arrival) {
        let transport = self.transport_of(port);
        let Some(hop) = self
            .transports
            .get(usize::from(transport.0))
            .and_then(|transport| transport.next_hop(arrival.key.remote))
        else {
            return;
        };
        let now = self.now;
        let Some(at) = self.ports.get_mut(usize::from(port.0)) else {
            return;
        };
        if at.receiver.medium == smoltcp::phy::Medium::Ip {
            return;
        }
        if let Some((address, mac, when)) = at.learned
            && address == hop
            && mac == arrival.sender
            && now.since(when) < NEIGHBOUR_FRESH
        {
            return;
        }
        at.learned = Some((hop, arrival.sender, now));
        let reply = replies::neighbour_reply(&at.receiver, hop, arrival.sender);
        self.feed(port, &reply);
    }

    /// Takes a pool socket for `account`, ending another's remains if need be.
    pub(crate) fn take_socket(&mut self, account: u8) -> Option<u16> {
        if let Some(index) = self.pool.take(account) {
            return Some(index);
        }
        let counters = &mut self.pool.counters;
        let (time_wait, orphans) = (
            counters.time_wait_reclaimed.saturating_add(1),
            counters.orphans_reclaimed.saturating_add(1),
        );
        match self
            .pool
            .victim(account, self.now, self.config.orphan_floor)?
        {
            Victim::TimeWait(index) => {
                self.pool.free(index);
                self.pool.counters.time_wait_reclaimed = time_wait;
            }
            Victim::Orphan(index) => {
                self.kill(index);
                self.pool.counters.orphans_reclaimed = orphans;
            }
        }
        self.pool.take(account)
    }

    fn room_for(&self, listener: u8) -> Result<(), NoRoom> {
        let account = account_of(listener);
        let limit = self
            .listeners
            .get(usize::from(listener))
            .map_or(0, |listener| listener.options.backlog);
        if self.pool.lists.len(backlog(account)) >= limit {
            return Err(NoRoom::Backlog);
        }
        let floor = self.config.orphan_floor;
        if self.pool.may_take(account) || self.pool.victim(account, self.now, floor).is_some() {
            Ok(())
        } else {
            Err(NoRoom::Pool)
        }
    }

    fn count_no_room(&mut self, listener: u8, reason: &NoRoom) {
        match reason {
            NoRoom::Backlog => self.count_listener(listener, |c| &mut c.backlog_refused),
            NoRoom::Pool => self.count_listener(listener, |c| &mut c.pool_refused),
        }
    }

    /// Adds one to a counter of a listener.
    pub(crate) fn count_listener(
        &mut self,
        listener: u8,
        which: impl FnOnce(&mut ListenerCounters) -> &mut u64,
    ) {
        if let Some(listener) = self.listeners.get_mut(usize::from(listener)) {
            let counter = which(&mut listener.counters);
            *counter = counter.saturating_add(1);
        }
    }
}
