//! What keeps a manifest and its binaries from becoming a package, or bytes from being one.

use std::fmt;
use std::path::PathBuf;

/// What keeps a manifest and its binaries from becoming a package, or bytes from being one.
#[derive(Debug)]
#[non_exhaustive]
pub enum PackageFault {
    /// A binary that the manifest names was not given.
    BinaryNotFound {
        /// Its name.
        name: String,
        /// Where it was looked for.
        looked: PathBuf,
    },
    /// A binary that the kernel could not load.
    BinaryNotLoadable {
        /// Its name.
        name: String,
        /// What the ELF reader says.
        reason: &'static str,
    },
    /// The published validators refuse the manifest.
    Published(capos_config::Error),
    /// The package is larger than it may be.
    PackageTooLarge {
        /// Its size.
        bytes: usize,
        /// What it may have.
        limit: usize,
    },
    /// A binary is there but cannot be read: a directory, a loop of links, a permission.
    BinaryNotReadable {
        /// Its name.
        name: String,
        /// Where it is.
        looked: PathBuf,
        /// Why not.
        error: std::io::Error,
    },
    /// The bytes are no boot package.
    NotAPackage(capos_config::Error),
}

impl fmt::Display for PackageFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BinaryNotFound { name, looked } => {
                write!(f, "binary `{name}` is not at {}", looked.display())
            }
            Self::BinaryNotReadable {
                name,
                looked,
                error,
            } => {
                let looked = looked.display();
                write!(f, "binary `{name}` cannot be read at {looked}: {error}")
            }
            Self::BinaryNotLoadable { name, reason } => {
                write!(f, "binary `{name}` cannot be loaded: {reason}")
            }
            Self::Published(error) => write!(f, "the published validator says: {error}"),
            Self::PackageTooLarge { bytes, limit } => {
                write!(f, "the boot package has {bytes} bytes and may have {limit}")
            }
            Self::NotAPackage(error) => write!(f, "this is not a boot package: {error}"),
        }
    }
}

impl PackageFault {
    /// What to do about it.
    pub(super) fn cure(&self) -> String {
        match self {
            Self::BinaryNotFound { name, .. } => {
                format!("build it, or give its path with --bin {name}=PATH")
            }
            Self::BinaryNotReadable { name, .. } => {
                format!("correct it, or give another path with --bin {name}=PATH")
            }
            Self::BinaryNotLoadable { .. } => "build it with its own linker script".into(),
            Self::Published(_) => "correct the field that it names".into(),
            Self::PackageTooLarge { .. } => {
                "build the binaries in release mode, and pack fewer of them".into()
            }
            Self::NotAPackage(_) => "make one with `mkmanifest build`".into(),
        }
    }
}
