//! What a row of the counter table says of a figure; the rows stand in `table`.

use core::fmt::{self, Write};
use core::ops::Range;

use ingress_ledger::{Lane, LaneEvidence, LanePermitEvidence, OverloadKind};

use super::evidence::{Evidence, ServiceCounters};
use crate::http::status::Status;

/// How a figure changes, in the words of OpenMetrics where it has one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// It only grows, from zero at the start.
    Counter,
    /// It goes up and down, or is a limit, or a mark that only a greater one replaces.
    Gauge,
    /// It is a word, not a number.
    Word,
}

impl Kind {
    /// As the documents call it.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Counter => "counter",
            Self::Gauge => "gauge",
            Self::Word => "word",
        }
    }
}

/// What a figure counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "each is its own word")]
pub enum Unit {
    Requests,
    Slots,
    Connections,
    Refusals,
    Accepts,
    Responses,
    Bytes,
    Nanoseconds,
    Milliseconds,
    Faults,
    None,
}

impl Unit {
    /// As the documents call it.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Requests => "requests",
            Self::Slots => "slots",
            Self::Connections => "connections",
            Self::Refusals => "refusals",
            Self::Accepts => "accepts",
            Self::Responses => "responses",
            Self::Bytes => "bytes",
            Self::Nanoseconds => "ns",
            Self::Milliseconds => "ms",
            Self::Faults => "faults",
            Self::None => "",
        }
    }
}

/// How a lane's figure is read: one number, one for each label, or a word.
#[derive(Debug, Clone, Copy)]
pub enum LaneRead {
    /// One number.
    Number(fn(&LaneFigures<'_>) -> u64),
    /// One number a kind of overload.
    Overload(fn(&LaneFigures<'_>, OverloadKind) -> u64),
    /// One number a status; zeros are left out.
    Status(fn(&LaneFigures<'_>, Status) -> u64),
    /// A word.
    Word(fn(&LaneFigures<'_>) -> &'static str),
}

/// How a figure of the whole service is read.
#[derive(Debug, Clone, Copy)]
pub enum ServiceRead {
    /// One number.
    Number(fn(&Evidence) -> u64),
    /// One number a class of statuses.
    Class(fn(&Evidence, StatusClass) -> u64),
    /// A word.
    Word(fn(&Evidence) -> &'static str),
}

/// A row's name, or a kind of overload's, as the schema writes it: `conns_in_use` is `connsInUse`.
#[derive(Debug, Clone, Copy)]
pub struct FieldName<'n>(pub &'n str);

impl fmt::Display for FieldName<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut words = self.0.split('_');
        out.write_str(words.next().unwrap_or_default())?;
        words.try_for_each(|word| {
            let mut letters = word.chars();
            let first = letters.next().map(|letter| letter.to_ascii_uppercase());
            first
                .into_iter()
                .chain(letters)
                .try_for_each(|letter| out.write_char(letter))
        })
    }
}

/// The hundreds of a status.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StatusClass(pub u16);

impl StatusClass {
    /// Those that this service sends, or could.
    pub const ALL: [Self; 4] = [Self(2), Self(3), Self(4), Self(5)];
}

/// What a lane's rows are read from.
#[derive(Debug, Clone, Copy)]
pub struct LaneFigures<'a> {
    /// Its requests.
    pub requests: &'a LaneEvidence,
    /// Its connections.
    pub conns: &'a LanePermitEvidence,
    /// What the service counts beside the ledger.
    pub service: &'a ServiceCounters,
}

impl<'a> LaneFigures<'a> {
    /// Those of one lane.
    #[must_use]
    pub fn of(evidence: &'a Evidence, lane: Lane) -> Self {
        Self {
            requests: &evidence.ledger.lanes[lane],
            conns: &evidence.permits.lanes[lane],
            service: &evidence.service[lane],
        }
    }

    /// Refused connections that were closed without their answer: past the ceiling, or because
    /// it was not taken.
    #[must_use]
    pub fn refusals_unanswered(&self) -> u64 {
        let past_ceiling = self.conns.counters.refusals_unanswered;
        past_ceiling.saturating_add(self.service.refusals_unsent)
    }
}

/// Under which key something is told, if it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Told {
    Not,
    Named,
    As(&'static str),
}

impl Told {
    const fn key(self, name: &'static str) -> Option<&'static str> {
        match self {
            Self::Not => None,
            Self::Named => Some(name),
            Self::As(key) => Some(key),
        }
    }
}

/// Which lanes show a figure on the line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shows {
    /// Those that have a listener.
    Served,
    /// All: that a lane without one was never charged is worth seeing.
    Every,
}

/// One figure, and how it is read.
#[derive(Debug, Clone, Copy)]
pub struct Row<R> {
    /// Its name: the record's field is called so.
    pub name: &'static str,
    /// How it changes.
    pub kind: Kind,
    /// What it counts.
    pub unit: Unit,
    /// What it means, in a phrase.
    pub meaning: &'static str,
    /// When an operator should look at it, and what to do then; empty where nothing is.
    pub look: &'static str,
    /// How it is read.
    pub read: R,
    /// Which lanes show it.
    pub shows: Shows,
    /// Its first number in `evidence.capnp`, and the one past its last.
    fields: (u16, u16),
    line: Told,
    json: Told,
}

/// A row before the table gives it its name.
impl Row<()> {
    const fn new(kind: Kind, unit: Unit, meaning: &'static str) -> Self {
        Self {
            name: "",
            kind,
            unit,
            meaning,
            look: "",
            read: (),
            shows: Shows::Served,
            fields: (0, 0),
            line: Told::Not,
            json: Told::Not,
        }
    }

    pub(super) const fn counter(unit: Unit, meaning: &'static str) -> Self {
        Self::new(Kind::Counter, unit, meaning)
    }

    pub(super) const fn gauge(unit: Unit, meaning: &'static str) -> Self {
        Self::new(Kind::Gauge, unit, meaning)
    }

    pub(super) const fn word(meaning: &'static str) -> Self {
        Self::new(Kind::Word, Unit::None, meaning)
    }

    pub(super) const fn line(self) -> Self {
        Self {
            line: Told::Named,
            ..self
        }
    }

    pub(super) const fn line_as(self, key: &'static str) -> Self {
        Self {
            line: Told::As(key),
            ..self
        }
    }

    pub(super) const fn on_every_lane(self) -> Self {
        Self {
            shows: Shows::Every,
            ..self
        }
    }

    pub(super) const fn json(self) -> Self {
        Self {
            json: Told::Named,
            ..self
        }
    }

    pub(super) const fn json_as(self, key: &'static str) -> Self {
        Self {
            json: Told::As(key),
            ..self
        }
    }

    pub(super) const fn field(self, number: u16) -> Self {
        self.in_fields((number, number.saturating_add(1)))
    }

    pub(super) const fn in_fields(self, fields: (u16, u16)) -> Self {
        Self { fields, ..self }
    }

    /// What an operator reads stands in the guide alone: the guest's image does without it.
    pub(super) const fn look(self, look: &'static str) -> Self {
        if cfg!(feature = "capos") {
            self
        } else {
            Self { look, ..self }
        }
    }

    pub(super) const fn of<R: Copy>(self, name: &'static str, read: R) -> Row<R> {
        Row {
            name,
            read,
            kind: self.kind,
            unit: self.unit,
            meaning: self.meaning,
            look: self.look,
            shows: self.shows,
            fields: self.fields,
            line: self.line,
            json: self.json,
        }
    }
}

impl<R> Row<R> {
    /// Its key on the evidence line, if it is there; a label and a lane may follow.
    #[must_use]
    pub const fn line_key(&self) -> Option<&'static str> {
        self.line.key(self.name)
    }

    /// Its key in a lane's object of `GET /api/ingress`, if it is there.
    #[must_use]
    pub const fn json_key(&self) -> Option<&'static str> {
        self.json.key(self.name)
    }

    /// Its numbers in `evidence.capnp`, one for each number that it reads as; none if it is not
    /// there.
    #[must_use]
    pub const fn fields(&self) -> Range<u16> {
        self.fields.0..self.fields.1
    }
}
