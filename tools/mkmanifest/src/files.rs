//! Reads a file whole, up to a bound: a path may lead to a device that has no end. Writes one
//! whole or not at all, and never over what it was made from.

use std::fs::{self, File, Metadata};
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::error::{Fault, ManifestError};

/// Most bytes of a manifest, a hundred times what any has.
pub const MANIFEST_BYTES_MAX: usize = 1 << 20;

/// Most bytes of a program as it was built, debug data included, and of a package.
pub const PROGRAM_BYTES_MAX: usize = 64 << 20;

/// Reads a file that has at most `limit` bytes.
///
/// # Errors
/// [`Fault::Io`], or [`Fault::FileTooLarge`] as soon as there is one byte more.
pub(crate) fn read_bounded(file: &Path, limit: usize) -> Result<Vec<u8>, Fault> {
    let mut bytes = Vec::new();
    let more = u64::try_from(limit).unwrap_or(u64::MAX).saturating_add(1);
    File::open(file)
        .and_then(|open| open.take(more).read_to_end(&mut bytes))
        .map_err(Fault::from)?;
    if bytes.len() > limit {
        let file = file.to_owned();
        return Err(Fault::FileTooLarge { file, limit });
    }
    Ok(bytes)
}

/// Reads a program or a package.
///
/// # Errors
/// It cannot be read, or has more than [`PROGRAM_BYTES_MAX`] bytes.
pub fn read_program(file: &Path) -> Result<Vec<u8>, ManifestError> {
    read_bounded(file, PROGRAM_BYTES_MAX).map_err(|fault| ManifestError::whole(file, fault))
}

/// Gives a file these bytes: written beside it and renamed, so that a reader finds the old ones or
/// the new ones and a failure leaves the old. What is no regular file (a device, a pipe) is written
/// to. `inputs` are the files that the bytes were made from.
///
/// # Errors
/// [`Fault::IsAnInput`] if the file is one of the inputs, under whatever name or link, or
/// [`Fault::Io`].
pub fn replace(file: &Path, bytes: &[u8], inputs: &[PathBuf]) -> Result<(), ManifestError> {
    let fault = |fault| ManifestError::whole(file, fault);
    let old = fs::metadata(file).ok();
    if let Some(input) = old.as_ref().and_then(|old| same_file(old, inputs)) {
        let input = input.to_owned();
        return Err(fault(Fault::IsAnInput { input }));
    }
    let written = match old {
        Some(old) if !old.is_file() => fs::write(file, bytes),
        _ => write_beside(file, bytes),
    };
    written.map_err(|error| fault(Fault::Io { error }))
}

fn same_file<'a>(old: &Metadata, inputs: &'a [PathBuf]) -> Option<&'a Path> {
    let identity = |file: &Metadata| (file.dev(), file.ino());
    inputs
        .iter()
        .find(|input| fs::metadata(input).is_ok_and(|input| identity(&input) == identity(old)))
        .map(PathBuf::as_path)
}

/// A link is followed, so that it stays one.
fn write_beside(file: &Path, bytes: &[u8]) -> io::Result<()> {
    let target = fs::canonicalize(file).unwrap_or_else(|_| file.to_owned());
    let mut name = target.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.new", std::process::id()));
    let beside = target.with_file_name(name);
    fs::write(&beside, bytes)
        .and_then(|()| fs::rename(&beside, &target))
        .inspect_err(|_| drop(fs::remove_file(&beside)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_may_have_its_limit_and_not_a_byte_more() {
        let file = std::env::temp_dir().join(format!("mkmanifest-files-{}", std::process::id()));
        std::fs::write(&file, [7; 100]).unwrap();
        assert_eq!(read_bounded(&file, 100).unwrap(), [7; 100]);
        assert!(matches!(
            read_bounded(&file, 99),
            Err(Fault::FileTooLarge { limit: 99, .. })
        ));
        std::fs::remove_file(&file).unwrap();
        assert!(matches!(read_bounded(&file, 100), Err(Fault::Io { .. })));
    }
}
