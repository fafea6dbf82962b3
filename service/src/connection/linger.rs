//! After a last answer: what is still under way is received and thrown away, for a while.
//!
//! A socket that is closed with input unread may be reset, and the reset may take the answer with it
//! (RFC 9112 §9.6). But a client that reads up to the end of the connection waits for the close; so
//! the end is not put off for longer than input keeps coming:
//!
//! | what came | the connection is closed |
//! |---|---|
//! | the end of the client's stream | at once |
//! | something | when nothing has come for [`QUIET`] |
//! | too much, or for too long | at once |

use ingress_ledger::Span;

use crate::connection::record::Phase;
use crate::ids::ConnId;
use crate::server::{Ending, Now, Server};

/// How long the connection lingers in all.
const LINGER: Span = Span::from_secs(1);

/// How long it waits for more after the last input.
const QUIET: Span = Span::from_millis(200);

/// Most bytes that are thrown away.
const DISCARD_MAX: usize = 256 * 1024;

impl<const CONNS: usize, const SLOTS: usize> Server<'_, CONNS, SLOTS> {
    /// The last answer was sent, but a close now might take it back.
    pub(crate) fn linger(&mut self, conn: ConnId, now: Now) {
        let Some(record) = self.memory.record(conn) else {
            return;
        };
        record.input.discard();
        if record.peer_closed {
            return self.end(conn, Ending::Close);
        }
        record.linger_until = now.map(|now| now.after(LINGER));
        self.enter(conn, Phase::Lingering);
        self.set_deadline(conn, now.map(|now| now.after(QUIET)));
        self.want_receive(conn);
    }

    /// Input that came after the last answer was written.
    pub(crate) fn discard(&mut self, conn: ConnId, bytes: usize, now: Now) {
        let Some(record) = self.memory.record(conn) else {
            return;
        };
        record.input.discard();
        record.discarded = record.discarded.saturating_add(bytes);
        if record.phase != Phase::Lingering {
            return;
        }
        if bytes == 0 || record.discarded > DISCARD_MAX {
            return self.end(conn, Ending::Close);
        }
        let quiet = now.map(|now| now.after(QUIET));
        let deadline = quiet
            .zip(record.linger_until)
            .map(|(quiet, until)| quiet.min(until));
        self.set_deadline(conn, deadline);
        self.want_receive(conn);
    }
}
