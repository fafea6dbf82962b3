//! Connections that are thrown away: reset right after they were made, or after some noise.

use std::io::Write;
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use socket2::SockRef;

use crate::http::PATIENCE;
use crate::http::wire::dial;
use crate::random::Random;

/// Makes a connection whose close is a reset: an orderly one leaves the host's side in TIME-WAIT
/// for a minute, and ten thousand of them would use up the ports that the next clients come from.
fn connect(address: SocketAddr) -> Option<TcpStream> {
    let stream = dial(address).ok()?;
    SockRef::from(&stream)
        .set_linger(Some(Duration::ZERO))
        .ok()?;
    stream.set_write_timeout(Some(PATIENCE)).ok()?;
    Some(stream)
}

/// `count` connections from a few threads, each reset at once; a third of them after an
/// unfinished request. None is begun after `time_max`. Tells how many were made.
pub(crate) fn resets(address: SocketAddr, count: usize, time_max: Duration) -> usize {
    let begun = Instant::now();
    let next = AtomicUsize::new(0);
    let made = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                while begun.elapsed() < time_max {
                    let number = next.fetch_add(1, Ordering::AcqRel);
                    if number >= count {
                        break;
                    }
                    if let Some(mut stream) = connect(address) {
                        if number.is_multiple_of(3) {
                            drop(stream.write_all(b"GET /healthz HTTP/1.1\r\nHos"));
                        }
                        made.fetch_add(1, Ordering::AcqRel);
                    }
                }
            });
        }
    });
    made.into_inner()
}

/// `count` connections that send noise of up to 4 KiB, some of it after a plausible start,
/// and are then closed in one of three ways. Tells how many were made.
pub(crate) fn noise(address: SocketAddr, count: usize, random: &mut Random) -> usize {
    let starts: [&[u8]; 4] = [
        b"",
        b"GET / HTTP/1.1\r\n",
        b"POST /drain HTTP/1.1\r\nContent-Length:",
        b"\x16\x03\x01",
    ];
    let mut made = 0;
    for number in 0..count {
        let Some(mut stream) = connect(address) else {
            continue;
        };
        made += 1;
        let mut bytes = starts
            .get(number % starts.len())
            .copied()
            .unwrap_or_default()
            .to_vec();
        let length = random.below(4096);
        bytes.extend(random.bytes(length));
        drop(stream.write_all(&bytes));
        match number % 3 {
            0 => {}
            1 => drop(stream.shutdown(std::net::Shutdown::Write)),
            _ => drop(SockRef::from(&stream).set_linger(None)),
        }
    }
    made
}
