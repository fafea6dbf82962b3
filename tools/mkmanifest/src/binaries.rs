//! Finds the binaries of a manifest and reduces them to what a kernel loads.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use crate::error::Fault;
use crate::files::{PROGRAM_BYTES_MAX, read_bounded};
use crate::image;
use crate::location::At;
use crate::reader::Refused;

/// Where binaries are: by name, else in a directory under their own name.
#[derive(Clone, Debug, Default)]
pub struct Binaries {
    directory: PathBuf,
    named: BTreeMap<String, PathBuf>,
}

/// What is done to a binary before it is packed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Images {
    /// Checked with the published ELF reader and cut down to what is loaded.
    #[default]
    Loadable,
    /// Packed as it is, whatever it is: for proofs that the kernel refuses it.
    AsGiven,
}

impl Binaries {
    /// Binaries in a directory, each under its own name.
    #[must_use]
    pub fn in_directory(directory: impl Into<PathBuf>) -> Self {
        Self {
            directory: directory.into(),
            named: BTreeMap::new(),
        }
    }

    /// The same, with one binary from a path of its own.
    #[must_use]
    pub fn with(mut self, name: impl Into<String>, path: impl Into<PathBuf>) -> Self {
        self.named.insert(name.into(), path.into());
        self
    }

    /// Where the binary of that name would be.
    #[must_use]
    pub fn path(&self, name: &str) -> PathBuf {
        match self.named.get(name) {
            Some(path) => path.clone(),
            None => self.directory.join(name),
        }
    }

    pub(crate) fn load(&self, name: &At<String>, images: Images) -> Result<Vec<u8>, Refused> {
        let path = self.path(&name.value);
        let bytes = read(&path, name)?;
        match images {
            Images::AsGiven => Ok(bytes),
            Images::Loadable => image::loadable(&bytes).map_err(|reason| {
                let name_of = name.value.clone();
                let fault = Fault::BinaryNotLoadable {
                    name: name_of,
                    reason,
                };
                Refused::new(name.at.clone(), fault)
            }),
        }
    }
}

fn read(path: &Path, name: &At<String>) -> Result<Vec<u8>, Refused> {
    read_bounded(path, PROGRAM_BYTES_MAX).map_err(|fault| {
        let fault = match fault {
            Fault::Io { error } => {
                let (name, looked) = (name.value.clone(), path.to_owned());
                if error.kind() == ErrorKind::NotFound {
                    Fault::BinaryNotFound { name, looked }
                } else {
                    Fault::BinaryNotReadable {
                        name,
                        looked,
                        error,
                    }
                }
            }
            other => other,
        };
        Refused::new(name.at.clone(), fault)
    })
}
