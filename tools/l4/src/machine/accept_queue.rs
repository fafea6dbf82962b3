//! Room for connections that arrive at once at QEMU's forwarded ports.
//!
//! QEMU listens on them with a queue of one: of 64 clients that connect together, the host
//! itself makes most wait one second, then three, before the guest ever hears of them. That
//! would be measured as the guest's doing. Listening again on the same socket, through a
//! duplicate of QEMU's descriptor, makes the queue longer; QEMU does not notice.

use std::os::fd::RawFd;

use rustix::process::{Pid, PidfdFlags, PidfdGetfdFlags, pidfd_getfd, pidfd_open};

/// Connections that may wait at each forwarded port.
const QUEUE: i32 = 1_024;

/// Makes the queue of every socket on which process `process` listens for TCP long enough;
/// how many there were. Where the host does not allow it, none are.
pub(crate) fn deepen(process: u32) -> usize {
    let Some(pid) = i32::try_from(process).ok().and_then(Pid::from_raw) else {
        return 0;
    };
    let Ok(handle) = pidfd_open(pid, PidfdFlags::empty()) else {
        return 0;
    };
    let Ok(entries) = std::fs::read_dir(format!("/proc/{process}/fd")) else {
        return 0;
    };
    entries
        .flatten()
        .filter(|entry| {
            std::fs::read_link(entry.path())
                .is_ok_and(|target| target.to_string_lossy().starts_with("socket:"))
        })
        .filter_map(|entry| entry.file_name().to_string_lossy().parse::<RawFd>().ok())
        .filter_map(|fd| pidfd_getfd(&handle, fd, PidfdGetfdFlags::empty()).ok())
        .map(socket2::Socket::from)
        .filter(|socket| {
            let tcp = socket
                .local_addr()
                .is_ok_and(|address| address.as_socket().is_some());
            tcp && socket.is_listener().unwrap_or(false) && socket.listen(QUEUE).is_ok()
        })
        .count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use socket2::{Domain, Socket, Type};
    use std::net::{Ipv4Addr, SocketAddr, TcpStream};
    use std::time::Duration;

    /// How many of 32 clients get through to a listener that accepts none.
    fn clients_that_connect(address: SocketAddr, patience: Duration) -> usize {
        let clients: Vec<_> = (0..32)
            .map(|_| std::thread::spawn(move || TcpStream::connect_timeout(&address, patience)))
            .collect();
        let done: Vec<_> = clients
            .into_iter()
            .map(std::thread::JoinHandle::join)
            .collect();
        done.iter()
            .filter(|client| matches!(client, Ok(Ok(_))))
            .count()
    }

    #[test]
    fn a_short_queue_becomes_long_enough() {
        let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
        socket
            .bind(&SocketAddr::from((Ipv4Addr::LOCALHOST, 0)).into())
            .unwrap();
        socket.listen(1).unwrap();
        let address = socket.local_addr().unwrap().as_socket().unwrap();
        let moment = Duration::from_millis(300);
        assert!(
            clients_that_connect(address, moment) < 32,
            "the queue was short"
        );
        assert!(deepen(std::process::id()) >= 1);
        assert_eq!(clients_that_connect(address, Duration::from_secs(60)), 32);
    }

    #[test]
    fn a_process_that_is_gone_has_none() {
        let mut child = std::process::Command::new("true").spawn().unwrap();
        let process = child.id();
        child.wait().unwrap();
        assert_eq!(deepen(process), 0);
    }
}
