//! Slow clients: many connections that hold what they can for as long as they may, and open
//! again as soon as the server closes them, so that the pressure never ends by itself.

use std::collections::BTreeMap;
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use socket2::{Domain, Protocol, Socket, Type};

use crate::http::PATIENCE;
use crate::load::background::Background;

/// What a slow client is slow at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Slowness {
    /// Sends its request head a byte at a time, and never ends it.
    Head,
    /// Sends a head, then its body a byte at a time.
    Body,
    /// Asks for many pages at once, and reads a byte at a time.
    Read,
    /// Connects and says nothing.
    Silent,
}

impl Slowness {
    pub(crate) const ALL: [Self; 4] = [Self::Head, Self::Body, Self::Read, Self::Silent];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Head => "slow head",
            Self::Body => "slow body",
            Self::Read => "slow read",
            Self::Silent => "silent",
        }
    }

    /// What is sent at once.
    fn opening(self) -> Vec<u8> {
        match self {
            Self::Head => b"GET / HTTP/1.1\r\nHost: capos.test\r\nX-Slow: ".to_vec(),
            Self::Body => {
                b"POST /upload HTTP/1.1\r\nHost: capos.test\r\nContent-Length: 1000\r\n\r\n"
                    .to_vec()
            }
            Self::Read => b"GET /app.js HTTP/1.1\r\nHost: capos.test\r\n\r\n".repeat(PAGES),
            Self::Silent => Vec::new(),
        }
    }
}

/// Pages that a slow reader asks for: more than the buffers between it and the guest hold, and
/// no more, for what the host holds of its requests is served long after it has gone.
const PAGES: usize = 700;

#[derive(Clone, Debug, Default)]
pub(crate) struct Slowed {
    pub(crate) opened: u64,
    /// Connections that the server ended.
    pub(crate) closed: u64,
    /// First statuses seen on them.
    pub(crate) statuses: BTreeMap<u16, u64>,
}

impl Slowed {
    pub(crate) fn add(&mut self, other: &Self) {
        self.opened += other.opened;
        self.closed += other.closed;
        for (status, count) in &other.statuses {
            *self.statuses.entry(*status).or_default() += count;
        }
    }
}

/// Slow clients at work, in one thread: with a thread each, a thousand of them would take the
/// processor that the guest is measured on.
pub(crate) struct SlowClients {
    work: Background<Slowed>,
    most: Arc<AtomicUsize>,
}

struct Client {
    stream: TcpStream,
    head: Vec<u8>,
    unsent: Vec<u8>,
}

impl SlowClients {
    /// Holds `count` connections to `address`, each touched once every `pace`.
    pub(crate) fn start(
        address: SocketAddr,
        slowness: Slowness,
        count: usize,
        pace: Duration,
    ) -> Self {
        let most = Arc::new(AtomicUsize::new(0));
        let told = Arc::clone(&most);
        let work = Background::start(move |stop| {
            let mut seen = Slowed::default();
            let mut clients: Vec<Option<Client>> = (0..count).map(|_| None).collect();
            while !stop.is_told() {
                let begun = Instant::now();
                for client in &mut clients {
                    if stop.is_told() {
                        break;
                    }
                    turn(client, address, slowness, &mut seen);
                }
                let open = clients.iter().filter(|client| client.is_some()).count();
                told.fetch_max(open, Ordering::AcqRel);
                std::thread::sleep(pace.saturating_sub(begun.elapsed()));
            }
            seen
        });
        Self { work, most }
    }

    /// Holds `count` connections of every kind.
    pub(crate) fn start_all(address: SocketAddr, count: usize, pace: Duration) -> Vec<Self> {
        Slowness::ALL
            .into_iter()
            .map(|slowness| Self::start(address, slowness, count, pace))
            .collect()
    }

    /// Lets go of every connection and tells what was seen.
    pub(crate) fn finish(self) -> Slowed {
        self.work.finish()
    }

    /// Waits until as many were open at one time, or for as long as a client waits for
    /// anything; tells the most that were.
    pub(crate) fn await_open(&self, wanted: usize) -> usize {
        let begun = Instant::now();
        loop {
            let most = self.most.load(Ordering::Acquire);
            if most >= wanted || begun.elapsed() > PATIENCE {
                return most;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

/// One touch of one client: open it, or send and read a byte.
fn turn(client: &mut Option<Client>, address: SocketAddr, slowness: Slowness, seen: &mut Slowed) {
    let Some(open) = client else {
        *client = connect(address, slowness);
        seen.opened += u64::from(client.is_some());
        return;
    };
    if touch(open, slowness).is_err() {
        seen.closed += 1;
        if let Some(status) = status(&open.head) {
            *seen.statuses.entry(status).or_default() += 1;
        }
        *client = None;
    }
}

fn connect(address: SocketAddr, slowness: Slowness) -> Option<Client> {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, Some(Protocol::TCP)).ok()?;
    if slowness == Slowness::Read {
        // A small window makes the server's side fill up soon.
        socket.set_recv_buffer_size(4096).ok()?;
    }
    socket.connect_timeout(&address.into(), PATIENCE).ok()?;
    let stream: TcpStream = socket.into();
    stream.set_nonblocking(true).ok()?;
    Some(Client {
        stream,
        head: Vec::new(),
        unsent: slowness.opening(),
    })
}

/// Sends what may be sent, reads what may be read; an error when the server has ended it.
fn touch(client: &mut Client, slowness: Slowness) -> Result<(), ()> {
    if client.unsent.is_empty() {
        match slowness {
            Slowness::Head | Slowness::Body => client.unsent.push(b'x'),
            Slowness::Read | Slowness::Silent => {}
        }
    }
    match client.stream.write(&client.unsent) {
        Ok(sent) => drop(client.unsent.drain(..sent.min(client.unsent.len()))),
        Err(error) if error.kind() == ErrorKind::WouldBlock => {}
        Err(_) => return Err(()),
    }
    let mut byte = [0; 1];
    let mut chunk = [0; 64];
    let room: &mut [u8] = if slowness == Slowness::Read {
        &mut byte
    } else {
        &mut chunk
    };
    match client.stream.read(room) {
        Ok(0) => Err(()),
        Ok(count) => {
            if client.head.len() < 32 {
                client.head.extend(room.iter().take(count));
            }
            Ok(())
        }
        Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(()),
        Err(_) => Err(()),
    }
}

fn status(head: &[u8]) -> Option<u16> {
    let code = head.strip_prefix(b"HTTP/1.1 ")?.get(..3)?;
    std::str::from_utf8(code).ok()?.parse().ok()
}
