//! Ports on the host's loopback that QEMU and HAProxy are to bind, kept from all others until
//! they have, and for as long as the reservation lives.
//!
//! Both bind with `SO_REUSEADDR`, which the kernel allows beside another socket that has set
//! it too and does not listen. It chooses no port on its own that is bound already.

use std::net::{Ipv4Addr, SocketAddr};

use socket2::{Domain, Socket, Type};

use crate::failure::Failure;
use crate::machine::nic::{self, Backend, HostPort, Nic};

/// A port that is reserved for a program that will bind it.
pub(crate) struct Reserved {
    address: SocketAddr,
    _socket: Socket,
}

impl Reserved {
    pub(crate) fn tcp() -> Result<Self, Failure> {
        Self::listen_on(0).map_err(|error| Failure::host("reserving a port", error))
    }

    /// Reserves this port for a TCP listener, or any if it is 0.
    pub(crate) fn this_or_any(port: u16) -> Result<Self, Failure> {
        Self::listen_on(port).map_err(|error| Failure::PortTaken {
            cause: format!("{port}: {error}"),
        })
    }

    fn listen_on(port: u16) -> std::io::Result<Self> {
        Self::keep(Socket::new(Domain::IPV4, Type::STREAM, None), |socket| {
            // Before the port is chosen: it is the first to bind who decides whether it can
            // be shared.
            socket.set_reuse_address(true)?;
            loopback(socket, port)
        })
    }

    pub(crate) fn udp() -> Result<Self, Failure> {
        Self::keep(Socket::new(Domain::IPV4, Type::DGRAM, None), |socket| {
            let address = loopback(socket, 0)?;
            // Only now, or the port could be one that another reservation shares.
            socket.set_reuse_address(true)?;
            // A socket that is connected takes nothing from anybody else: every datagram is
            // for the other one.
            socket.connect(&address.into())?;
            Ok(address)
        })
        .map_err(|error| Failure::host("reserving a port", error))
    }

    fn keep(
        socket: std::io::Result<Socket>,
        bind: impl FnOnce(&Socket) -> std::io::Result<SocketAddr>,
    ) -> std::io::Result<Self> {
        let socket = socket?;
        let address = bind(&socket)?;
        Ok(Self {
            address,
            _socket: socket,
        })
    }

    /// The port, with the loopback's address.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }
}

fn loopback(socket: &Socket, port: u16) -> std::io::Result<SocketAddr> {
    socket.bind(&SocketAddr::from((Ipv4Addr::LOCALHOST, port)).into())?;
    let address = socket.local_addr()?.as_socket();
    address.ok_or_else(|| std::io::Error::other("not an address of IP"))
}

/// Where the host reaches each NIC, in order, and what is reserved for it. The guest behind
/// a TAP device is reached at its own address, and not at all where the harness is the wire.
pub(crate) fn choose(nics: &[Nic]) -> Result<(Vec<Option<SocketAddr>>, Vec<Reserved>), Failure> {
    let mut reserved = Vec::new();
    let mut chosen = Vec::new();
    for (number, nic) in (1..).zip(nics) {
        chosen.push(match nic.backend {
            Backend::User(HostPort::Fixed(port)) => {
                Some(SocketAddr::from((Ipv4Addr::LOCALHOST, port)))
            }
            Backend::User(HostPort::Ephemeral) => {
                let port = Reserved::tcp()?;
                let address = port.address();
                reserved.push(port);
                Some(address)
            }
            Backend::Tap(_) => Some(SocketAddr::from((nic::guest_ip(number), nic.guest_port))),
            Backend::Frames(_) => None,
        });
    }
    Ok((chosen, reserved))
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::net::{TcpListener, TcpStream, UdpSocket};

    use super::*;

    /// Binds as QEMU does.
    fn bind(kind: Type, address: SocketAddr) -> std::io::Result<Socket> {
        let socket = Socket::new(Domain::IPV4, kind, None)?;
        socket.set_reuse_address(true)?;
        socket.bind(&address.into())?;
        Ok(socket)
    }

    #[test]
    fn a_reserved_port_is_its_owners_and_nobody_elses() {
        let port = Reserved::tcp().unwrap();
        let plain = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
        assert!(plain.bind(&port.address().into()).is_err());
        let owner = bind(Type::STREAM, port.address()).unwrap();
        owner.listen(1).unwrap();
        assert!(TcpListener::bind(port.address()).is_err());
        let client = TcpStream::connect(port.address()).unwrap();
        let (accepted, _) = owner.accept().unwrap();
        drop(client);
        assert_eq!(TcpStream::from(accepted).read(&mut [0; 1]).unwrap(), 0);
    }

    #[test]
    fn datagrams_to_a_reserved_port_are_its_owners() {
        let port = Reserved::udp().unwrap();
        assert!(UdpSocket::bind(port.address()).is_err());
        let owner = UdpSocket::from(bind(Type::DGRAM, port.address()).unwrap());
        let sender = UdpSocket::bind("127.0.0.1:0").unwrap();
        let mut byte = [0; 1];
        for number in 0..100 {
            sender.send_to(&[number], port.address()).unwrap();
            assert_eq!(owner.recv(&mut byte).unwrap(), 1);
            assert_eq!(byte, [number]);
        }
    }
}
