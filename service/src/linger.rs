//! After a last answer: what is still under way is received and thrown away, for a while.
//!
//! A socket that is closed with input unread may be reset, and the reset may take the answer with it
//! (RFC 9112 §9.6). But a client that reads up to the end of the connection waits for the close; so
//! the end is not put off for longer than input keeps coming:
//!
//! | what came | the connection is closed |
//! |---|---|
//! | the end of the client's stream | at once |
//! | exactly one whole head, on a refused connection | at once: there is no more of it |
//! | something | when nothing has come for [`QUIET`] |
//! | too much, or for too long | at once |

use ingress_ledger::Span;

use crate::http::scan::Scanned;
use crate::ids::ConnId;
use crate::record::Phase;
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
        let refusal = record.refusal.as_ref().map(|permit| permit.deadline());
        let until = refusal.or(now.map(|now| now.after(LINGER)));
        record.linger_until = until;
        // A refused client has yet to send its request; any other has sent what is answered.
        let deadline = match refusal {
            Some(deadline) => Some(deadline),
            None => now.map(|now| now.after(QUIET)),
        };
        self.enter(conn, Phase::Lingering);
        self.set_deadline(conn, deadline);
        self.want_receive(conn);
    }

    /// Input that came after the last answer was written.
    pub(crate) fn discard(&mut self, conn: ConnId, bytes: usize, now: Now) {
        let Some(parts) = self.memory.parts(conn) else {
            return;
        };
        let record = parts.record;
        record.discarded = record.discarded.saturating_add(bytes);
        if record.phase != Phase::Lingering {
            return record.input.discard();
        }
        let unread = record.input.unread(parts.input);
        let scanned = record
            .refusal
            .as_ref()
            .map(|_| record.input.scan.advance(unread));
        let is_whole_request =
            matches!(scanned, Some(Ok(Scanned::Whole { end, .. })) if end == unread.len());
        let may_become_whole = scanned == Some(Ok(Scanned::Partial)) && !record.input.is_full();
        if !may_become_whole {
            record.input.discard();
        }
        if bytes == 0 || is_whole_request || record.discarded > DISCARD_MAX {
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
