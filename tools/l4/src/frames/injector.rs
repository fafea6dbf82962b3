//! Puts frames on the hub before a NIC through QEMU's UDP socket, and answers the guest's
//! ARP requests for addresses that injected frames came from.

use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::time::Duration;

use crate::failure::Failure;
use crate::frames::{PEER_MAC, build};
use crate::load::background::Background;
use crate::machine::nic::FrameInjector;
use crate::machine::ports::Reserved;

/// A socket to a NIC's hub. Its ARP answers stop when it is dropped.
pub(crate) struct Injector {
    socket: UdpSocket,
    guest: Reserved,
    _arp: Background<()>,
}

impl Injector {
    /// Binds this end, and reserves QEMU's. From now on ARP requests for the addresses in the
    /// guest's network that QEMU itself does not use are answered.
    pub(crate) fn open() -> Result<(Self, FrameInjector), Failure> {
        let failed = |error| Failure::host("opening a frame socket", error);
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).map_err(failed)?;
        let from_guest = socket.local_addr().map_err(failed)?.port();
        socket
            .set_read_timeout(Some(Duration::from_millis(100)))
            .map_err(failed)?;
        let guest = Reserved::udp()?;
        let ports = FrameInjector {
            to_guest: guest.address().port(),
            from_guest,
        };
        let injector = Self {
            _arp: answer_arp(socket.try_clone().map_err(failed)?, guest.address()),
            socket,
            guest,
        };
        Ok((injector, ports))
    }

    /// Sends one frame. A frame that the host's socket has no room for is lost, as on a
    /// real wire.
    pub(crate) fn send(&self, frame: &[u8]) -> bool {
        self.socket.send_to(frame, self.guest.address()).is_ok()
    }
}

fn answer_arp(socket: UdpSocket, guest: SocketAddr) -> Background<()> {
    Background::start(move |stop| {
        let mut frame = [0; 2048];
        while !stop.is_told() {
            let Ok(count) = socket.recv(&mut frame) else {
                continue;
            };
            let received = frame.get(..count).unwrap_or_default();
            let ours = |ip: Ipv4Addr| ip.octets()[3] >= 64;
            if let Some(reply) = build::arp_reply(received, PEER_MAC, ours) {
                drop(socket.send_to(&reply, guest));
            }
        }
    })
}
