//! Where in a manifest something stands: the line, and the field by its full name.

use std::fmt;

/// A place in one manifest file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Location {
    /// Line, from 1.
    pub line: usize,
    /// The field by its full name, as `init.caps.ui_listener.port`.
    pub field: String,
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` (line {})", self.field, self.line)
    }
}

/// A value and the place it was read from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct At<T> {
    /// The value.
    pub value: T,
    /// Its place.
    pub at: Location,
}

/// Where the lines of a file end: a place is found without reading the file again.
pub(crate) struct Lines {
    ends: Vec<usize>,
}

impl Lines {
    pub(crate) fn of(text: &str) -> Self {
        Self {
            ends: text.match_indices('\n').map(|(at, _)| at).collect(),
        }
    }

    /// The line of a byte offset, from 1.
    pub(crate) fn line_of(&self, offset: usize) -> usize {
        self.ends
            .partition_point(|end| *end < offset)
            .saturating_add(1)
    }
}
