//! Reads a file whole, up to a bound: a path may lead to a device that has no end.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use crate::error::{FileFault, ManifestError};

/// Most bytes of a manifest, a hundred times what any has.
pub const MANIFEST_BYTES_MAX: usize = 1 << 20;

/// Most bytes of a program as it was built, debug data included, and of a package.
pub const PROGRAM_BYTES_MAX: usize = 64 << 20;

/// Reads a file that has at most `limit` bytes.
///
/// # Errors
/// [`FileFault::Io`], or [`FileFault::FileTooLarge`] as soon as there is one byte more.
pub(crate) fn read_bounded(file: &Path, limit: usize) -> Result<Vec<u8>, FileFault> {
    let mut bytes = Vec::new();
    let more = u64::try_from(limit).unwrap_or(u64::MAX).saturating_add(1);
    File::open(file)
        .and_then(|open| open.take(more).read_to_end(&mut bytes))
        .map_err(FileFault::Io)?;
    if bytes.len() > limit {
        let file = file.to_owned();
        return Err(FileFault::FileTooLarge { file, limit });
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
            Err(FileFault::FileTooLarge { limit: 99, .. })
        ));
        std::fs::remove_file(&file).unwrap();
        assert!(matches!(read_bounded(&file, 100), Err(FileFault::Io(_))));
    }
}
