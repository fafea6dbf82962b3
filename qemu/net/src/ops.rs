//! What a process does with a connection, through the kernel.

use crate::account;
use crate::adapter::wire;
use crate::device::FrameDevice;
use crate::flow::{FlowKey, PortIndex};
use crate::ids::{ClientId, SocketId};
use crate::outcome::{ConnectError, ConnectState, Recv, Sent};
use crate::slot::{Attempt, Notice, Phase, Slot};
use crate::stack::NetStack;
use core::net::{Ipv4Addr, SocketAddrV4};
use smoltcp::socket::tcp::{RecvError, State};
use smoltcp::wire::{IpEndpoint, IpListenEndpoint};

/// First ephemeral port (RFC 6335).
const EPHEMERAL_FIRST: u16 = 49_152;
const EPHEMERAL_MASK: u16 = 0x3fff;

/// Ports tried before giving up; a free one is next as a rule.
const EPHEMERAL_TRIES: usize = 1_024;

impl<D: FrameDevice> NetStack<D> {
    /// Starts a connection of `client`. `Event::Connected` or `Event::Failed`
    /// follows.
    ///
    /// # Errors
    /// There is no such peer address, or no socket or port for it.
    pub fn connect(
        &mut self,
        client: ClientId,
        peer: SocketAddrV4,
    ) -> Result<SocketId, ConnectError> {
        if peer.port() == 0 {
            return Err(ConnectError::PortZero);
        }
        let port = self.route(*peer.ip()).ok_or(ConnectError::NoRoute)?;
        let own = self
            .ports
            .get(usize::from(port.0))
            .ok_or(ConnectError::NoRoute)?
            .receiver
            .address();
        let key = self.free_flow(port, own, peer)?;
        let account = account::of_client(client).ok_or(ConnectError::PoolExhausted)?;
        let index =
            self.take_socket(account)
                .ok_or(if self.pool.accounts.is_at_limit(account) {
                    ConnectError::ClientLimit
                } else {
                    ConnectError::PoolExhausted
                })?;
        let deadline = self.now.after(self.config.connect_time);
        let started = self.start_attempt(index, key);
        if !started {
            self.pool.free(index);
            return Err(ConnectError::NoRoute);
        }
        let Some(slot) = self.pool.slot_mut(index) else {
            return Err(ConnectError::PoolExhausted);
        };
        slot.phase = Phase::Connecting;
        slot.attempt = Attempt::Failed;
        slot.deadline = Some(deadline);
        let id = SocketId {
            index,
            generation: slot.generation,
        };
        self.pool.flows.insert(key, index);
        self.pool.timers.set(index, Some(deadline));
        self.wants_transmit(index);
        Ok(id)
    }

    fn start_attempt(&mut self, index: u16, key: FlowKey) -> bool {
        let Some(at) = self.ports.get_mut(usize::from(key.port.0)) else {
            return false;
        };
        let Some(slot) = self.pool.slot_mut(index) else {
            return false;
        };
        slot.port = key.port;
        let remote = IpEndpoint::new(wire(key.remote), key.remote_port);
        let local = IpListenEndpoint {
            addr: Some(wire(key.local)),
            port: key.local_port,
        };
        let context = at.interface.context();
        slot.socket_mut().connect(context, remote, local).is_ok()
    }

    /// The port that reaches `address`: the inside of the transport whose own
    /// address it is, else the card on whose subnet it is.
    fn route(&self, address: Ipv4Addr) -> Option<PortIndex> {
        for transport in &self.transports {
            if transport.subnet.address() == address {
                return Some(transport.inside);
            }
        }
        let host = !address.is_unspecified() && !address.is_multicast() && !address.is_broadcast();
        self.transports
            .iter()
            .filter(|transport| host && transport.subnet.contains_addr(&address))
            .filter(|transport| transport.subnet.broadcast() != Some(address))
            .find_map(|transport| transport.card)
    }

    fn free_flow(
        &mut self,
        port: PortIndex,
        own: Ipv4Addr,
        peer: SocketAddrV4,
    ) -> Result<FlowKey, ConnectError> {
        for _ in 0..EPHEMERAL_TRIES {
            self.next_ephemeral = self.next_ephemeral.wrapping_add(1);
            let key = FlowKey {
                port,
                local: own,
                local_port: EPHEMERAL_FIRST | (self.next_ephemeral & EPHEMERAL_MASK),
                remote: *peer.ip(),
                remote_port: peer.port(),
            };
            let to_itself = key.local == key.remote && key.local_port == key.remote_port;
            if !to_itself && self.pool.flows.find(key).is_none() {
                return Ok(key);
            }
        }
        Err(ConnectError::PortsExhausted)
    }

    /// The slot that a process holds by `id`.
    fn held(&mut self, id: SocketId) -> Option<&mut Slot> {
        let slot = self.pool.slot_mut(id.index)?;
        let held = matches!(slot.phase, Phase::Owned | Phase::Connecting);
        (held && slot.generation == id.generation).then_some(slot)
    }

    /// Where an outgoing connection stands; an accepted one is `Connected`.
    pub fn connect_state(&mut self, id: SocketId) -> ConnectState {
        let Some(slot) = self.held(id) else {
            return ConnectState::Stale;
        };
        match (slot.phase, slot.attempt) {
            (Phase::Connecting, _) => ConnectState::Connecting,
            (_, Attempt::Established) => ConnectState::Connected,
            (_, Attempt::Failed) => ConnectState::Failed,
        }
    }

    /// Copies received bytes into `buffer`.
    pub fn recv(&mut self, id: SocketId, buffer: &mut [u8]) -> Recv {
        let Some(slot) = self.held(id) else {
            return Recv::Stale;
        };
        let connecting = slot.phase == Phase::Connecting;
        match slot.socket_mut().recv_slice(buffer) {
            Ok(0) if buffer.is_empty() => Recv::Bytes(0),
            Ok(0) => {
                slot.waits.readable = true;
                Recv::WouldBlock
            }
            Ok(count) => {
                slot.settle_wait(Notice::Readable);
                let port = slot.port;
                // The window may have opened enough to tell the peer: smoltcp tells of
                // one that has doubled, which one that is wide open cannot.
                let capacity = slot.socket().recv_capacity();
                if !slot.gate.is_wide(capacity) && self.has_segment(port, id.index) {
                    self.wants_transmit(id.index);
                }
                Recv::Bytes(count)
            }
            Err(RecvError::Finished) => Recv::PeerClosed,
            Err(RecvError::InvalidState) if connecting => {
                slot.waits.readable = true;
                Recv::WouldBlock
            }
            Err(RecvError::InvalidState) => Recv::Reset,
        }
    }

    /// Queues bytes for sending; the next `poll` but one sends them, or the next one with
    /// whatever else makes the socket transmit: the end that follows an answer rides on it.
    pub fn send(&mut self, id: SocketId, bytes: &[u8]) -> Sent {
        let Some(slot) = self.held(id) else {
            return Sent::Stale;
        };
        let connecting = slot.phase == Phase::Connecting;
        match slot.socket_mut().send_slice(bytes) {
            Ok(0) if bytes.is_empty() => Sent::Bytes(0),
            Ok(0) => {
                slot.waits.writable = true;
                Sent::WouldBlock
            }
            Ok(count) => {
                slot.settle_wait(Notice::Writable);
                self.pool.hold(id.index);
                Sent::Bytes(count)
            }
            Err(_) if connecting => {
                slot.waits.writable = true;
                Sent::WouldBlock
            }
            Err(_) if slot.state() == State::Closed => Sent::Reset,
            Err(_) => Sent::Closed,
        }
    }

    /// Ends the write side once everything queued is sent; reading goes on. The
    /// handle stays valid.
    pub fn close(&mut self, id: SocketId) {
        if let Some(slot) = self.held(id) {
            slot.socket_mut().close();
            self.settle(id.index);
            self.wants_transmit(id.index);
        }
    }

    /// Whether data may still be sent: the connection is open, and neither
    /// [`NetStack::close`] nor a reset has ended the write side.
    pub fn may_send(&mut self, id: SocketId) -> bool {
        self.held(id).is_some_and(|slot| slot.socket().may_send())
    }

    /// Resets the connection and gives the handle up.
    pub fn abort(&mut self, id: SocketId) {
        if self.held(id).is_some() {
            self.kill(id.index);
        }
    }

    /// Gives the handle up. What is queued is still sent and the connection
    /// ended in order, within [`crate::NetConfig::orphan_time`]; what arrives is
    /// discarded.
    pub fn release(&mut self, id: SocketId) {
        if self.held(id).is_some() {
            self.orphan(id.index);
        }
    }
}
