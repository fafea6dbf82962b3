//! What a connection does that has left request and answer behind.
//!
//! At the upgrade slot and reservation go back; the permit stays until the connection's end. Receive
//! and send are independent from there on: each is asked for when there is room, or something, for
//! it, whatever the other does. A session is quiet (INV-QUIET): no request is in flight on it, so that
//! evidence is reported and a service counts as settled beside it. What is not being read is ended by the
//! write phase's deadline; while nothing is to be sent nothing is timed.
//!
//! A drain tells each session that it must end once the grace is over; whoever has not by the end of
//! the patience is ended (INV-DRAIN).

use crate::connection::buffers::{NOTE_BYTES, PREFIX};
use crate::connection::output::Output;
use crate::connection::record::{Doing, Reason, Stage};
use crate::connection::table::{Parts, Place};
use crate::server::{Now, Server};

/// What is spoken after an upgrade.
#[derive(Debug)]
pub struct Protocol {
    /// Its name in the `Upgrade` field.
    pub name: &'static str,
    /// Takes what has come, and writes what is to go.
    pub turn: fn(&mut Turn<'_>),
}

/// One turn of a session: it is given whenever something has come or gone.
#[derive(Debug)]
pub struct Turn<'a> {
    /// What has come and was not taken.
    pub input: &'a [u8],
    /// Room for what is to go; empty while the last is still going.
    pub output: &'a mut [u8],
    /// Whether more input may come; if not, `input` is the last.
    pub input_goes_on: bool,
    /// Whether the service is being drained: a session ends as soon as its protocol lets it.
    pub must_end: bool,
    /// Bytes of `input` that this turn takes.
    pub taken: usize,
    /// Bytes of `output` that this turn has written.
    pub written: usize,
    /// Whether the connection ends once these have gone.
    pub is_over: bool,
}

impl<const CONNS: usize, const SLOTS: usize> Server<'_, CONNS, SLOTS> {
    /// The upgrade's answer was sent: the session begins, perhaps with input that came behind the
    /// request.
    pub(crate) fn begin_session(&mut self, at: Place, protocol: &'static Protocol, now: Now) {
        let session = Doing::Session {
            protocol,
            output: Output::new(),
            is_over: false,
        };
        self.enter(at, session);
        self.take_turn(at, now);
    }

    /// Lets a session go on, if the connection is one.
    pub(crate) fn take_turn(&mut self, at: Place, now: Now) {
        let must_end = self.is_grace_over();
        let Some(next) = turn(self.memory.parts(at), must_end) else {
            return;
        };
        match next.output {
            Going::Nothing if next.is_over => return self.end(at, Reason::Answered),
            Going::Nothing => self.set_deadline(at, None),
            Going::New => {
                let write = self.phases(self.memory[at].lane()).write;
                self.set_deadline(at, now.map(|now| now.after(write)));
                self.want_send(at);
            }
            Going::Still => {}
        }
        if next.wants_receive && !next.is_over {
            self.want_receive(at);
        }
    }

    /// Has every session end that can: the grace of a drain is over.
    pub(crate) fn end_sessions(&mut self, now: Now) {
        for at in self.memory.places() {
            self.take_turn(at, now);
        }
    }
}

/// What a session has to send after a turn.
#[derive(Clone, Copy)]
enum Going {
    Nothing,
    New,
    Still,
}

/// What a turn leaves to do.
struct Next {
    output: Going,
    wants_receive: bool,
    is_over: bool,
}

/// Gives a session its turn. `None`: the connection is none.
fn turn(parts: Parts<'_>, must_end: bool) -> Option<Next> {
    let Parts {
        record,
        input,
        note,
    } = parts;
    let Stage::Open {
        doing:
            Doing::Session {
                protocol,
                output,
                is_over,
            },
        ..
    } = &mut record.stage
    else {
        return None;
    };
    // While a receive is outstanding the input is lent, and all of it was taken before.
    let is_lent = record.outstanding.receive;
    let was_free = output.is_empty();
    let room = if was_free { NOTE_BYTES } else { 0 };
    let mut turn = Turn {
        input: if is_lent {
            &[]
        } else {
            record.input.unread(input)
        },
        output: note
            .get_mut(PREFIX..PREFIX.saturating_add(room))
            .unwrap_or_default(),
        input_goes_on: !record.peer_closed,
        must_end,
        taken: 0,
        written: 0,
        is_over: false,
    };
    if !*is_over {
        (protocol.turn)(&mut turn);
    }
    let (taken, written) = (turn.taken, turn.written.min(room));
    *is_over |= turn.is_over;
    if written > 0 {
        *output = Output::start(written, &[]);
    }
    record.input.consume(taken);
    let idles = was_free && taken == 0 && written == 0;
    // Nothing that a protocol waits for is longer than the input.
    *is_over |= idles && record.input.is_full();
    Some(Next {
        output: match (was_free, written > 0) {
            (false, _) => Going::Still,
            (true, true) => Going::New,
            (true, false) => Going::Nothing,
        },
        // More is asked for when all was taken, or what is there is not enough for a step.
        wants_receive: (record.input.is_empty() || idles) && !record.peer_closed && !is_lent,
        is_over: *is_over,
    })
}
