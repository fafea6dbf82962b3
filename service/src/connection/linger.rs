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

use crate::connection::record::{Doing, Reason, Stage};
use crate::connection::table::{Parts, Place};
use crate::server::{Now, Server};

/// How long the connection lingers in all.
const LINGER: Span = Span::from_secs(1);

/// How long it waits for more after the last input.
const QUIET: Span = Span::from_millis(200);

/// Most bytes that are thrown away.
const DISCARD_MAX: usize = 256 * 1024;

impl<const CONNS: usize, const SLOTS: usize> Server<'_, CONNS, SLOTS> {
    /// The last answer was sent, but a close now might take it back.
    pub(crate) fn linger(&mut self, at: Place, now: Now) {
        let Parts { record, input, .. } = self.memory.parts(at);
        record.input.discard(input);
        if record.peer_closed {
            return self.end(at, Reason::Answered);
        }
        let lingering = Doing::Lingering {
            until: now.map(|now| now.after(LINGER)),
            discarded: 0,
        };
        self.enter(at, lingering);
        self.set_deadline(at, now.map(|now| now.after(QUIET)));
        self.want_receive(at);
    }

    /// Input that came after the last answer was written.
    pub(crate) fn discard(&mut self, at: Place, bytes: usize, now: Now) {
        let Parts { record, input, .. } = self.memory.parts(at);
        record.input.discard(input);
        let Stage::Open {
            doing: Doing::Lingering { until, discarded },
            ..
        } = &mut record.stage
        else {
            return;
        };
        *discarded = discarded.saturating_add(bytes);
        let until = *until;
        if bytes == 0 || *discarded > DISCARD_MAX {
            return self.end(at, Reason::Answered);
        }
        let quiet = now.map(|now| now.after(QUIET));
        let deadline = quiet.zip(until).map(|(quiet, until)| quiet.min(until));
        self.set_deadline(at, deadline);
        self.want_receive(at);
    }
}
