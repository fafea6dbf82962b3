//! One TCP connection of the harness's client.

use std::fmt;
use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::time::Instant;

use crate::http::response::{Framing, Malformed, Response};
use crate::http::{ANEW, PATIENCE};

/// The largest response that is read.
const RESPONSE_BYTES_MAX: usize = 8 << 20;

/// How an exchange ended without a response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// The host's own TCP refused the connection.
    Refused,
    /// The connection was made and closed, or reset, before a byte of an answer: what a
    /// forwarded port shows when the guest refuses.
    ClosedUnanswered,
    /// It was reset in the middle of an answer.
    Reset,
    /// It was closed in the middle of an answer.
    Truncated,
    /// Nothing came in time.
    TimedOut,
    /// The answer breaks HTTP.
    Malformed(Malformed),
    /// Another error of the host's.
    Other(String),
}

impl Ending {
    /// Its name in counts.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Refused => "refused",
            Self::ClosedUnanswered => "closed-unanswered",
            Self::Reset => "reset",
            Self::Truncated => "truncated",
            Self::TimedOut => "timed-out",
            Self::Malformed(_) => "malformed",
            Self::Other(_) => "other",
        }
    }

    /// Whether the guest let nothing in: no byte of an answer.
    pub(crate) fn is_refusal(&self) -> bool {
        matches!(self, Self::Refused | Self::ClosedUnanswered)
    }

    fn from_error(error: &std::io::Error, answered: bool) -> Self {
        match error.kind() {
            ErrorKind::WouldBlock | ErrorKind::TimedOut => Self::TimedOut,
            ErrorKind::ConnectionRefused => Self::Refused,
            ErrorKind::ConnectionReset | ErrorKind::BrokenPipe | ErrorKind::ConnectionAborted => {
                if answered {
                    Self::Reset
                } else {
                    Self::ClosedUnanswered
                }
            }
            _ => Self::Other(error.to_string()),
        }
    }
}

impl fmt::Display for Ending {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Malformed(malformed) => malformed.fmt(out),
            Self::Other(error) => out.write_str(error),
            _ => out.write_str(self.name()),
        }
    }
}

/// Connects; while other programs hold every port of the host's that a connection could come
/// from, it waits for one.
pub(crate) fn dial(address: SocketAddr) -> std::io::Result<TcpStream> {
    let begun = Instant::now();
    loop {
        match TcpStream::connect_timeout(&address, PATIENCE) {
            Err(error)
                if error.kind() == ErrorKind::AddrNotAvailable && begun.elapsed() < PATIENCE =>
            {
                std::thread::sleep(ANEW);
            }
            connected => return connected,
        }
    }
}

/// A connection with what was read beyond the last response.
pub(crate) struct Wire {
    stream: TcpStream,
    pending: Vec<u8>,
}

impl Wire {
    pub(crate) fn connect(address: SocketAddr) -> Result<Self, Ending> {
        let stream = dial(address).map_err(|error| Ending::from_error(&error, false))?;
        let set = stream
            .set_read_timeout(Some(PATIENCE))
            .and_then(|()| stream.set_write_timeout(Some(PATIENCE)))
            .and_then(|()| stream.set_nodelay(true));
        set.map_err(|error| Ending::Other(error.to_string()))?;
        Ok(Self {
            stream,
            pending: Vec::new(),
        })
    }

    /// Sends exactly these bytes.
    pub(crate) fn send(&mut self, bytes: &[u8]) -> Result<(), Ending> {
        self.stream
            .write_all(bytes)
            .map_err(|error| Ending::from_error(&error, false))
    }

    pub(crate) fn finish_sending(&self) {
        drop(self.stream.shutdown(Shutdown::Write));
    }

    /// Reads the next response to `request` (which decides whether a body follows), past
    /// interim ones.
    pub(crate) fn response(&mut self, request: &[u8]) -> Result<Response, Ending> {
        let deadline = Instant::now() + PATIENCE;
        let to_head = request.starts_with(b"HEAD ");
        loop {
            let end = self.head_end(deadline)?;
            let head: Vec<u8> = self.pending.drain(..end).collect();
            let (mut response, framing) =
                Response::parse_head(&head, to_head).map_err(Ending::Malformed)?;
            if (100..200).contains(&response.status) {
                continue;
            }
            response.body = self.body(framing, deadline)?;
            return Ok(response);
        }
    }

    /// The length of the head at the start of what is pending, once it is complete.
    fn head_end(&mut self, deadline: Instant) -> Result<usize, Ending> {
        let mut searched = 0_usize;
        loop {
            let unsearched = self.pending.get(searched..).unwrap_or_default();
            if let Some(at) = unsearched.windows(4).position(|four| four == b"\r\n\r\n") {
                return Ok(searched + at + 4);
            }
            searched = self.pending.len().saturating_sub(3);
            self.fill(deadline, !self.pending.is_empty())?;
        }
    }

    fn body(&mut self, framing: Framing, deadline: Instant) -> Result<Vec<u8>, Ending> {
        match framing {
            Framing::Length(length) => {
                while self.pending.len() < length {
                    self.fill(deadline, true)?;
                }
                Ok(self.pending.drain(..length).collect())
            }
            Framing::UntilClose => loop {
                match self.fill(deadline, true) {
                    Ok(()) => {}
                    Err(Ending::Truncated) => return Ok(std::mem::take(&mut self.pending)),
                    Err(other) => return Err(other),
                }
            },
        }
    }

    /// Reads once more.
    fn fill(&mut self, deadline: Instant, answered: bool) -> Result<(), Ending> {
        if Instant::now() > deadline {
            return Err(Ending::TimedOut);
        }
        if self.pending.len() > RESPONSE_BYTES_MAX {
            return Err(Ending::Malformed(Malformed("endless response".into())));
        }
        let mut chunk = [0; 16 << 10];
        let count = self
            .stream
            .read(&mut chunk)
            .map_err(|error| Ending::from_error(&error, answered))?;
        if count == 0 {
            return Err(if answered {
                Ending::Truncated
            } else {
                Ending::ClosedUnanswered
            });
        }
        self.pending.extend(chunk.iter().take(count));
        Ok(())
    }
}
