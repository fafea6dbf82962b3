//! What the probe can be asked to do.

use alloc::string::String;
use alloc::vec::Vec;

use crate::request::Request;
use crate::target::Target;

/// Most connections of one command.
pub const CONNS_MAX: u32 = 128;
/// Most connections that are held at once.
pub const HELD_MAX: u32 = 1_100;
/// Most requests that are sent at once on one connection.
pub const PIPELINE_MAX: u32 = 16;

/// What a line asks for.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Command {
    /// Send requests, read answers, count and time them.
    Load(Load),
    /// Open connections and keep them.
    Hold(Hold),
    /// Close what is held.
    Drop,
    /// End the process.
    Exit(i64),
}

/// A line with its id.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Line {
    /// Given with `id=`, or `None`.
    pub id: Option<u64>,
    /// First word, repeated in the result.
    pub word: String,
    /// The command.
    pub command: Command,
}

/// What happens to a connection once a request is out.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum After {
    /// Its answer is read.
    Read,
    /// The connection is dropped at once, unread.
    Abort,
}

/// How long a connection lives.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Reuse {
    /// As long as the server keeps it.
    KeepAlive,
    /// For one batch of requests.
    Fresh,
}

/// Whether a worker goes on when its connection ended before its answer.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Reopen {
    /// It opens another.
    Yes,
    /// It stops.
    No,
}

/// The rhythm of one side of a connection; all at once if `bytes` is `None`.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Pace {
    /// Bytes at a time.
    pub bytes: Option<u32>,
    /// Pause after each of them.
    pub pause_ns: u64,
}

impl Pace {
    /// Without a rhythm.
    pub const FULL: Self = Self {
        bytes: None,
        pause_ns: 0,
    };
}

/// Requests to one target.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Load {
    /// Where to.
    pub target: Target,
    /// The request, in bytes.
    pub request: Request,
    /// Requests in all; `None` as many as fit into `for_ns`.
    pub count: Option<u64>,
    /// No request is started later than this after the start.
    pub for_ns: Option<u64>,
    /// Connections at once.
    pub conns: u32,
    /// Requests sent together.
    pub pipeline: u32,
    /// Whether connections are used again.
    pub reuse: Reuse,
    /// Whether answers are read.
    pub after: After,
    /// Whether a broken connection is replaced.
    pub reopen: Reopen,
    /// From one start of a connection's request to its next.
    pub every_ns: u64,
    /// From the start of a request to its answer.
    pub timeout_ns: u64,
    /// How the request is sent.
    pub send: Pace,
    /// How the answer is read.
    pub receive: Pace,
    /// Another target, probed meanwhile.
    pub watch: Option<Watch>,
}

/// A probe beside a load.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Watch {
    /// Where to.
    pub target: Target,
    /// What.
    pub request: Request,
    /// From one probe to the next.
    pub every_ns: u64,
}

/// Connections without requests.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Hold {
    /// Where to.
    pub target: Target,
    /// How many.
    pub count: u32,
    /// Bytes sent on each.
    pub first: Vec<u8>,
    /// How long; `None` until `drop`.
    pub for_ns: Option<u64>,
}
