//! What is wrong with a file before it is looked into.

use std::fmt;
use std::path::PathBuf;

/// What is wrong with a file before it is looked into.
#[derive(Debug)]
#[non_exhaustive]
pub enum FileFault {
    /// A file cannot be read or written.
    Io(std::io::Error),
    /// A file that would be written is one that was read.
    IsAnInput {
        /// The same file, as it was named for reading.
        input: PathBuf,
    },
    /// A file that is read has more bytes than any of its kind, or no end.
    FileTooLarge {
        /// The file.
        file: PathBuf,
        /// What it may have, in bytes.
        limit: usize,
    },
}

impl fmt::Display for FileFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(error) => write!(f, "{error}"),
            Self::IsAnInput { input } => {
                write!(
                    f,
                    "this is the input {}, and would be lost",
                    input.display()
                )
            }
            Self::FileTooLarge { file, limit } => {
                write!(f, "{} has more than {limit} bytes", file.display())
            }
        }
    }
}

impl FileFault {
    /// What to do about it.
    pub(super) fn cure(&self) -> String {
        match self {
            Self::Io(_) => "check the path and its permissions".into(),
            Self::IsAnInput { .. } => "name another file for the output".into(),
            Self::FileTooLarge { .. } => "check that the path is the right one".into(),
        }
    }
}
