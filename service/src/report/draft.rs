//! A row as it is written in the table: in words, without its name.

use super::about::{About, Kind, Unit};
use super::row::{Row, Shows};

/// What the table says of a figure beside its name and how it is read.
#[derive(Debug, Clone, Copy)]
pub(super) struct Draft {
    kind: Kind,
    unit: Unit,
    meaning: &'static str,
    look: &'static str,
    shows: Shows,
    fields: (u16, u16),
    line: Told,
    json: Told,
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

impl Draft {
    const fn new(kind: Kind, unit: Unit, meaning: &'static str) -> Self {
        Self {
            kind,
            unit,
            meaning,
            look: "",
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

    pub(super) const fn look(self, look: &'static str) -> Self {
        Self { look, ..self }
    }

    pub(super) const fn row<R: Copy>(self, name: &'static str, read: R) -> Row<R> {
        Row {
            read,
            shows: self.shows,
            line: self.line.key(name),
            json: self.json.key(name),
            fields: self.fields,
        }
    }

    pub(super) const fn about(self, name: &'static str) -> About {
        About {
            name,
            kind: self.kind,
            unit: self.unit,
            meaning: self.meaning,
            look: self.look,
        }
    }
}
