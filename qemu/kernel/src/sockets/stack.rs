//! What the kernel asks of its TCP stack. The binary's is `harness_net`'s; tests
//! may have one whose peers do as they are told.

use core::net::{Ipv4Addr, SocketAddrV4};

use harness_net::{
    Accept, Binding, ClientId, ConnectError, ConnectState, Event, FrameDevice, Instant,
    ListenError, ListenOptions, ListenerId, NetStack, PollBudget, Polled, Recv, Sent, SocketId,
    TransportId,
};

/// A TCP stack; each method is that of [`NetStack`] of the same name.
#[expect(
    missing_docs,
    clippy::missing_errors_doc,
    reason = "each is the stack's of the same name"
)]
pub trait Stack {
    fn poll(&mut self, now: Instant, budget: PollBudget) -> Polled;
    fn next_event(&mut self) -> Option<Event>;
    fn listen(
        &mut self,
        binding: Binding,
        port: u16,
        options: ListenOptions,
    ) -> Result<ListenerId, ListenError>;
    fn close_listener(&mut self, id: ListenerId);
    fn accept(&mut self, id: ListenerId) -> Accept;
    fn connect(&mut self, client: ClientId, peer: SocketAddrV4) -> Result<SocketId, ConnectError>;
    fn connect_state(&mut self, id: SocketId) -> ConnectState;
    fn recv(&mut self, id: SocketId, buffer: &mut [u8]) -> Recv;
    fn send(&mut self, id: SocketId, bytes: &[u8]) -> Sent;
    fn close(&mut self, id: SocketId);
    fn may_send(&mut self, id: SocketId) -> bool;
    fn abort(&mut self, id: SocketId);
    fn release(&mut self, id: SocketId);
    fn transport_address(&self, transport: TransportId) -> Option<Ipv4Addr>;
}

impl<D: FrameDevice> Stack for NetStack<D> {
    fn poll(&mut self, now: Instant, budget: PollBudget) -> Polled {
        Self::poll(self, now, budget)
    }

    fn next_event(&mut self) -> Option<Event> {
        Self::next_event(self)
    }

    fn listen(
        &mut self,
        binding: Binding,
        port: u16,
        options: ListenOptions,
    ) -> Result<ListenerId, ListenError> {
        Self::listen(self, binding, port, options)
    }

    fn close_listener(&mut self, id: ListenerId) {
        // The stack keeps the report, which is printed at the end.
        let _report = Self::close_listener(self, id);
    }

    fn accept(&mut self, id: ListenerId) -> Accept {
        Self::accept(self, id)
    }

    fn connect(&mut self, client: ClientId, peer: SocketAddrV4) -> Result<SocketId, ConnectError> {
        Self::connect(self, client, peer)
    }

    fn connect_state(&mut self, id: SocketId) -> ConnectState {
        Self::connect_state(self, id)
    }

    fn recv(&mut self, id: SocketId, buffer: &mut [u8]) -> Recv {
        Self::recv(self, id, buffer)
    }

    fn send(&mut self, id: SocketId, bytes: &[u8]) -> Sent {
        Self::send(self, id, bytes)
    }

    fn close(&mut self, id: SocketId) {
        Self::close(self, id);
    }

    fn may_send(&mut self, id: SocketId) -> bool {
        Self::may_send(self, id)
    }

    fn abort(&mut self, id: SocketId) {
        Self::abort(self, id);
    }

    fn release(&mut self, id: SocketId) {
        Self::release(self, id);
    }

    fn transport_address(&self, transport: TransportId) -> Option<Ipv4Addr> {
        Self::transport_address(self, transport)
    }
}
