//! The connections that the host still has to a machine. QEMU's user network holds one for
//! each of its own, those too that it has not got through to the guest yet: it sends what was
//! lost again seconds after the client has gone.

use std::net::SocketAddr;

/// States of a socket that brings the guest nothing any more, as `/proc/net/tcp` numbers
/// them: the other side has closed (FIN-WAIT-2), both have (TIME-WAIT), or it listens.
const QUIET: [&str; 3] = ["05", "06", "0A"];

/// How many sockets of the host's have `address` at either end and are not quiet.
pub(crate) fn count(address: SocketAddr) -> std::io::Result<usize> {
    let table = std::fs::read_to_string("/proc/self/net/tcp")?;
    Ok(count_in(&table, address))
}

fn count_in(table: &str, address: SocketAddr) -> usize {
    let SocketAddr::V4(address) = address else {
        return 0;
    };
    let ip = u32::from_ne_bytes(address.ip().octets());
    let wanted = format!("{ip:08X}:{:04X}", address.port());
    let busy = |line: &&str| {
        let mut words = line.split_whitespace().skip(1);
        let (local, remote, state) = (words.next(), words.next(), words.next());
        [local, remote].contains(&Some(&wanted)) && state.is_some_and(|one| !QUIET.contains(&one))
    };
    table.lines().filter(busy).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{TcpListener, TcpStream};
    use std::time::{Duration, Instant};

    #[test]
    fn a_connection_counts_at_both_ends_until_it_is_closed() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        assert_eq!(count(address).unwrap(), 0);
        let client = TcpStream::connect(address).unwrap();
        assert_eq!(count(address).unwrap(), 2);
        drop(client);
        drop(listener.accept().unwrap());
        let limit = Instant::now() + Duration::from_secs(60);
        while count(address).unwrap() > 0 {
            assert!(Instant::now() < limit, "still counted");
            std::thread::yield_now();
        }
    }
}
