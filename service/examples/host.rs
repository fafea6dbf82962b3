//! The service on an ordinary host: the same library, with sockets of the host instead of capOS ones.
//!
//! ```text
//! cargo run --release -p remote-session-web-ui --example host -- \
//!     --public 8080 --local 8082 --provider 8081 [ingress_public_slots=20 ...]
//! ```
//! Each lane is a port on 127.0.0.1; a lane that is not named does not exist. Further arguments are
//! policy markers. Evidence lines go to standard output, as in the guest.

#![expect(
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation,
    reason = "an example for a host, where a panic is a good answer"
)]

use std::collections::VecDeque;
use std::error::Error;
use std::io::{ErrorKind, Read, Write};
use std::net::Shutdown;
use std::sync::Mutex;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use ingress_ledger::{AcceptFailure, Instant, Lane, Listener, PerLane};
use mio::net::{TcpListener, TcpStream};
use mio::{Events, Interest, Poll, Token};
use remote_session_web_ui::buffers::PREFIX;
use remote_session_web_ui::ids::JitterSeed;
use remote_session_web_ui::policy::{self, MarkerSet};
use remote_session_web_ui::request::job::{Job, Outcome};
use remote_session_web_ui::server::WallClock;
use remote_session_web_ui::{Action, Buffers, Config, ConnId, Server, State};

const CONNS: usize = 1072;
const SLOTS: usize = 96;

static STATE: Mutex<State> = Mutex::new(State::new());
static BUFFERS: Mutex<Buffers<CONNS, SLOTS>> = Mutex::new(Buffers::new());

/// One connection's socket and what the server waits for on it.
struct Socket {
    conn: ConnId,
    stream: TcpStream,
    receives: bool,
    sends: bool,
}

struct Host {
    poll: Poll,
    listeners: Vec<(Lane, TcpListener)>,
    sockets: Vec<Option<Socket>>,
    /// Sockets on which an operation may go on.
    ready: VecDeque<usize>,
    start: std::time::Instant,
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut ports = PerLane::all(None);
    let mut markers = MarkerSet::new();
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let lane = match argument.as_str() {
            "--public" => Lane::Anonymous,
            "--local" => Lane::LocalHealth,
            "--provider" => Lane::ProviderHealth,
            marker => {
                markers.add(marker.as_bytes())?;
                continue;
            }
        };
        ports[lane] = Some(
            arguments
                .next()
                .ok_or("a port is missing")?
                .parse::<u16>()?,
        );
    }
    let listeners = PerLane::from_fn(|lane| match (ports[lane], lane) {
        (None, _) => Listener::Absent,
        (Some(_), Lane::LocalHealth) => Listener::Loopback,
        (Some(_), _) => Listener::Network,
    });
    let policy = policy::resolve(&markers, listeners)?;
    println!("[web-ui] {policy}");

    let mut host = Host {
        poll: Poll::new()?,
        listeners: Vec::new(),
        sockets: (0..CONNS).map(|_| None).collect(),
        ready: VecDeque::new(),
        start: std::time::Instant::now(),
    };
    for lane in Lane::ALL {
        let Some(port) = ports[lane] else { continue };
        let mut listener = TcpListener::bind(std::net::SocketAddr::from(([127, 0, 0, 1], port)))?;
        let token = Token(CONNS + host.listeners.len());
        host.poll
            .registry()
            .register(&mut listener, token, Interest::READABLE)?;
        println!(
            "[web-ui] {} on http://{}/",
            lane.name(),
            listener.local_addr()?
        );
        host.listeners.push((lane, listener));
    }
    let mut state = STATE.lock().map_err(|_| "poisoned")?;
    let mut buffers = BUFFERS.lock().map_err(|_| "poisoned")?;
    let now = SystemTime::now().duration_since(UNIX_EPOCH)?;
    let jitter = JitterSeed::new(now.subsec_nanos());
    let config = Config {
        policy,
        jitter,
        now: Instant::ZERO,
    };
    let mut server = Server::start(&mut state, &mut buffers, config)?;
    server.set_wall_clock(WallClock {
        unix_seconds: now.as_secs(),
        at: Instant::ZERO,
    });
    host.run(&mut server)
}

type TheServer<'m> = Server<'m, CONNS, SLOTS>;

impl Host {
    fn run(&mut self, server: &mut TheServer<'_>) -> Result<(), Box<dyn Error>> {
        let mut events = Events::with_capacity(1024);
        while !server.finished() {
            let timeout = server
                .next_deadline()
                .map(|at| Duration::from_nanos(at.since(self.now()).as_nanos()));
            self.poll.poll(&mut events, timeout)?;
            let indices = events.iter().map(|event| event.token().0);
            self.ready.extend(indices.filter(|index| *index < CONNS));
            // All of them: a listener that was not accepted from has no event to come.
            for place in 0..self.listeners.len() {
                self.accept(server, place)?;
            }
            server.tick(Some(self.now()));
            self.work(server)?;
            if server.evidence_due(Some(self.now())) {
                println!("[web-ui] evidence {}", server.evidence());
            }
        }
        Ok(())
    }

    fn now(&self) -> Instant {
        Instant::from_nanos(self.start.elapsed().as_nanos() as u64)
    }

    fn accept(&mut self, server: &mut TheServer<'_>, place: usize) -> Result<(), Box<dyn Error>> {
        loop {
            let now = Some(self.now());
            let (lane, listener) = &self.listeners[place];
            if !server.may_accept(*lane, now) {
                return Ok(());
            }
            let accepted = listener.accept();
            if matches!(&accepted, Err(error) if error.kind() == ErrorKind::WouldBlock) {
                return Ok(());
            }
            // It has ended as soon as it was started, and would have been allowed to start.
            assert!(server.start_accept(*lane, now));
            match accepted {
                Ok((mut stream, _)) => match server.accepted(*lane, now) {
                    Some(conn) => {
                        let index = usize::from(conn.index());
                        let interest = Interest::READABLE | Interest::WRITABLE;
                        self.poll
                            .registry()
                            .register(&mut stream, Token(index), interest)?;
                        stream.set_nodelay(true)?;
                        self.sockets[index] = Some(Socket {
                            conn,
                            stream,
                            receives: false,
                            sends: false,
                        });
                    }
                    None => drop(stream),
                },
                Err(error) => {
                    eprintln!("accept: {error}");
                    server.accept_failed(*lane, AcceptFailure::Spins, now);
                    return Ok(());
                }
            }
        }
    }

    /// Does what the server asks for and what sockets are ready for, until there is nothing left.
    fn work(&mut self, server: &mut TheServer<'_>) -> Result<(), Box<dyn Error>> {
        loop {
            if let Some(index) = self.ready.pop_front() {
                self.operate(server, index);
                continue;
            }
            let Some(action) = server.next_action() else {
                return Ok(());
            };
            match action {
                Action::Receive(conn) => self.socket(conn, |socket| socket.receives = true),
                Action::Send(conn) => self.socket(conn, |socket| socket.sends = true),
                Action::Start(id, Job::ReadWallClock) => {
                    let now = SystemTime::now().duration_since(UNIX_EPOCH)?;
                    let wall = WallClock {
                        unix_seconds: now.as_secs(),
                        at: self.now(),
                    };
                    server.job_ended(id, Outcome::WallClock(wall), Some(self.now()));
                }
                Action::Close(conn) | Action::Abort(conn) => {
                    if let (Action::Close(_), Some(socket)) =
                        (action, &mut self.sockets[usize::from(conn.index())])
                    {
                        // Input that is left unread would make this host reset the connection.
                        drop(socket.stream.shutdown(Shutdown::Write));
                        while matches!(socket.stream.read(&mut [0; 4096]), Ok(1..)) {}
                    }
                    self.sockets[usize::from(conn.index())] = None;
                    server.closed(conn, Some(self.now()));
                }
            }
        }
    }

    fn socket(&mut self, conn: ConnId, change: impl FnOnce(&mut Socket)) {
        let index = usize::from(conn.index());
        if let Some(socket) = &mut self.sockets[index] {
            change(socket);
            self.ready.push_back(index);
        }
    }

    fn operate(&mut self, server: &mut TheServer<'_>, index: usize) {
        let now = Some(self.now());
        let Some(socket) = &mut self.sockets[index] else {
            return;
        };
        let conn = socket.conn;
        if socket.sends
            && let Some(window) = server.send_window(conn)
        {
            match socket
                .stream
                .write(&window.message[PREFIX..PREFIX + window.payload])
            {
                Ok(bytes) => {
                    socket.sends = false;
                    server.sent(conn, bytes, now);
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                Err(_) => server.failed(conn, now),
            }
        }
        if socket.receives
            && let Some(window) = server.receive_window(conn)
        {
            match socket
                .stream
                .read(&mut window.message[PREFIX..PREFIX + window.payload_max])
            {
                Ok(bytes) => {
                    socket.receives = false;
                    server.received(conn, bytes, now);
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                Err(_) => server.failed(conn, now),
            }
        }
    }
}
