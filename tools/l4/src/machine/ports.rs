//! Free host ports: bound to port 0, read, and let go just before QEMU binds them. Another
//! program may take one in between, so a boot that QEMU refuses for that is tried again.

use std::net::{Ipv4Addr, SocketAddr, TcpListener};

use crate::failure::Failure;
use crate::machine::spec::{Backend, HostPort, Nic};

/// One host address for each NIC, in order. The guest behind a TAP device is reached
/// at its own address.
pub(crate) fn choose(nics: &[Nic]) -> Result<Vec<SocketAddr>, Failure> {
    let mut held = Vec::new();
    let mut chosen = Vec::new();
    for (index, nic) in nics.iter().enumerate() {
        let port = match &nic.backend {
            Backend::User(port)
            | Backend::UserWithInjector(port, _)
            | Backend::UserThroughRelay(port, _) => *port,
            Backend::Tap(_) | Backend::TapWithInjector(..) => {
                let network = u8::try_from(index + 2).unwrap_or(u8::MAX);
                let guest = Ipv4Addr::new(10, 0, network, 15);
                chosen.push(SocketAddr::from((guest, nic.guest_port)));
                continue;
            }
        };
        chosen.push(match port {
            HostPort::Fixed(port) => SocketAddr::from((Ipv4Addr::LOCALHOST, port)),
            HostPort::Ephemeral => {
                let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
                    .map_err(|error| Failure::host("looking for a free port", error))?;
                let address = listener
                    .local_addr()
                    .map_err(|error| Failure::host("looking for a free port", error))?;
                held.push(listener);
                address
            }
        });
    }
    Ok(chosen)
}
