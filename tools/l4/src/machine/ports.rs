//! Free host ports: bound to port 0, read, and let go just before QEMU binds them. Another
//! program may take one in between, so a boot that QEMU refuses for that is tried again.

use std::net::{Ipv4Addr, SocketAddr, TcpListener};

use crate::failure::Failure;
use crate::machine::spec::{Backend, HostPort, Nic};

/// One host address for each NIC, in order. A TAP NIC has the unspecified address.
pub(crate) fn choose(nics: &[Nic]) -> Result<Vec<SocketAddr>, Failure> {
    let mut held = Vec::new();
    let mut chosen = Vec::new();
    for nic in nics {
        let port = match &nic.backend {
            Backend::User(port)
            | Backend::UserWithInjector(port, _)
            | Backend::UserThroughRelay(port, _) => *port,
            Backend::Tap(_) => {
                chosen.push(SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0)));
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
