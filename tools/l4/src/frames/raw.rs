//! IPv4 packets with any source, sent through the host's own routes: as fast as the host can,
//! where the wire is a TAP device.

use std::net::SocketAddr;

use socket2::{Domain, Protocol, Socket, Type};

use crate::failure::Failure;

/// The protocol number of packets that come with their own header.
const OWN_HEADER: i32 = 255;

/// A way to send them to one address.
pub(crate) struct RawSender {
    socket: Socket,
    to: SocketAddr,
}

impl RawSender {
    /// Opens it; only root may.
    pub(crate) fn open(to: SocketAddr) -> Result<Self, Failure> {
        let protocol = Some(Protocol::from(OWN_HEADER));
        let socket = Socket::new(Domain::IPV4, Type::RAW, protocol)
            .map_err(|error| Failure::host("opening a raw socket", error))?;
        Ok(Self { socket, to })
    }

    /// Sends a packet; whether the host took it.
    pub(crate) fn send(&self, packet: &[u8]) -> bool {
        self.socket.send_to(packet, &self.to.into()).is_ok()
    }
}
