//! What a figure is called and means: for whoever tells it to people.

use core::fmt::{self, Write};

/// What a row is about. The guest tells its figures by their keys alone, so none of this is in its
/// image.
#[derive(Debug, Clone, Copy)]
pub struct About {
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
}

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
