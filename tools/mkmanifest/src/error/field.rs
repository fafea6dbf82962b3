//! What is wrong with the form of a manifest: fields, types, words.

use std::fmt;

/// What is wrong with the form of a manifest: fields, types, words.
#[derive(Debug)]
#[non_exhaustive]
pub enum FieldFault {
    /// The file is not TOML.
    Syntax(String),
    /// A field that this format does not have; `known` lists those that it has.
    UnknownField {
        /// What the table may hold.
        known: &'static str,
    },
    /// A field that must be there is not.
    MissingField,
    /// A value of another type.
    WrongType {
        /// What the field takes.
        expected: &'static str,
        /// What stands there.
        found: &'static str,
    },
    /// A number outside of its range.
    NumberOutOfRange {
        /// The range.
        range: &'static str,
    },
    /// A word that is none of those that the field takes.
    UnknownWord {
        /// What stands there.
        found: String,
        /// The words.
        expected: String,
    },
    /// A word that stands in the same list already.
    Repeated {
        /// The word.
        word: String,
    },
    /// `transport` or `port` on a source that does not listen.
    BindingOnOtherSource {
        /// The grant's source.
        source: String,
    },
}

impl fmt::Display for FieldFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Syntax(message) => write!(f, "this is not TOML: {message}"),
            Self::UnknownField { .. } => f.write_str("there is no such field"),
            Self::MissingField => f.write_str("this field is missing"),
            Self::WrongType { expected, found } => write!(f, "expected {expected}, found {found}"),
            Self::NumberOutOfRange { range } => write!(f, "the number is not in {range}"),
            Self::UnknownWord { found, .. } => {
                write!(f, "`{}` is not known here", found.escape_debug())
            }
            Self::Repeated { word } => write!(f, "`{word}` stands in this list already"),
            Self::BindingOnOtherSource { source } => {
                write!(f, "a `{source}` grant has no transport and no port")
            }
        }
    }
}

impl FieldFault {
    /// What to do about it.
    pub(super) fn cure(&self) -> String {
        match self {
            Self::Syntax(_) => "correct the line".into(),
            Self::UnknownField { known } => format!("remove it, or use one of: {known}"),
            Self::MissingField => "add it".into(),
            Self::WrongType { expected, .. } => format!("write {expected}"),
            Self::NumberOutOfRange { range } => format!("write a number in {range}"),
            Self::UnknownWord { expected, .. } => format!("use one of: {expected}"),
            Self::Repeated { .. } => "remove it".into(),
            Self::BindingOnOtherSource { .. } => {
                "remove `transport` and `port`, or set source = \"tcp_listen_authority\"".into()
            }
        }
    }
}
