//! The page that tells a process the names of its capabilities.

use alloc::vec::Vec;

use capos_config::capset::{
    CAPSET_MAGIC, CAPSET_MAX_ENTRIES, CAPSET_NAME_MAX, CAPSET_VERSION, CapSetEntry, CapSetHeader,
};

use crate::cap_table::CapId;

/// Bytes of the page.
pub const PAGE_BYTES: usize = 4096;
const HEADER_BYTES: usize = size_of::<CapSetHeader>();
const ENTRY_BYTES: usize = size_of::<CapSetEntry>();

/// One named capability.
#[derive(Clone, Copy, Debug)]
pub struct NamedCap<'a> {
    /// Its name, at most [`CAPSET_NAME_MAX`] bytes.
    pub name: &'a str,
    /// Its id in the process's table.
    pub id: CapId,
    /// What interface it has.
    pub interface: u64,
}

/// Why a set of capabilities makes no page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CapSetPageError {
    /// More entries than a page holds.
    TooMany,
    /// A name is empty or too long.
    BadName,
}

impl CapSetPageError {
    /// One sentence for the console.
    #[must_use]
    pub const fn explain(self) -> &'static str {
        match self {
            Self::TooMany => "more capabilities than the CapSet page holds",
            Self::BadName => "a capability name is empty or longer than 32 bytes",
        }
    }
}

/// Lays down the page, [`PAGE_BYTES`] long.
///
/// # Errors
/// As [`CapSetPageError`] tells.
pub fn build(caps: &[NamedCap<'_>]) -> Result<Vec<u8>, CapSetPageError> {
    if caps.len() > CAPSET_MAX_ENTRIES {
        return Err(CapSetPageError::TooMany);
    }
    let count = u32::try_from(caps.len()).map_err(|_| CapSetPageError::TooMany)?;
    let mut page = Vec::with_capacity(PAGE_BYTES);
    page.extend(CAPSET_MAGIC.to_le_bytes());
    page.extend(CAPSET_VERSION.to_le_bytes());
    page.extend(count.to_le_bytes());
    for cap in caps {
        let name = cap.name.as_bytes();
        if name.is_empty() || name.len() > CAPSET_NAME_MAX {
            return Err(CapSetPageError::BadName);
        }
        let length = u32::try_from(name.len()).map_err(|_| CapSetPageError::BadName)?;
        let end = page.len().saturating_add(ENTRY_BYTES);
        page.extend(cap.id.wire().to_le_bytes());
        page.extend(length.to_le_bytes());
        page.extend(cap.interface.to_le_bytes());
        page.extend(name);
        page.resize(end, 0);
    }
    page.resize(PAGE_BYTES, 0);
    Ok(page)
}

const _: () = assert!(HEADER_BYTES == 16 && ENTRY_BYTES == 48 && CAPSET_MAX_ENTRIES <= 85);

#[cfg(test)]
mod tests {
    use super::*;

    fn cap(name: &str, id: u32) -> NamedCap<'_> {
        NamedCap {
            name,
            id: CapId::from_wire(id),
            interface: 0x1122_3344_5566_7788,
        }
    }

    fn word(page: &[u8], at: usize) -> u32 {
        u32::from_le_bytes(*page[at..].first_chunk().unwrap())
    }

    #[test]
    fn lays_down_header_and_entries() {
        let page = build(&[cap("console", 7), cap("ui_listener", 9)]).unwrap();
        assert_eq!(page.len(), PAGE_BYTES);
        assert_eq!(&page[..8], b"capsetv1");
        assert_eq!((word(&page, 8), word(&page, 12)), (CAPSET_VERSION, 2));
        assert_eq!((word(&page, 16), word(&page, 20)), (7, 7));
        assert_eq!(&page[24..32], &0x1122_3344_5566_7788_u64.to_le_bytes());
        assert_eq!(&page[32..40], b"console\0");
        assert_eq!((word(&page, 64), word(&page, 68)), (9, 11));
    }

    #[test]
    fn fills_the_page_and_no_more() {
        let all = vec![cap("n", 1); CAPSET_MAX_ENTRIES];
        assert_eq!(build(&all).map(|page| page.len()), Ok(PAGE_BYTES));
        let more = vec![cap("n", 1); CAPSET_MAX_ENTRIES + 1];
        assert_eq!(build(&more), Err(CapSetPageError::TooMany));
    }

    #[test]
    fn refuses_bad_names() {
        let long = "n".repeat(CAPSET_NAME_MAX + 1);
        for name in ["", &long] {
            assert_eq!(build(&[cap(name, 1)]), Err(CapSetPageError::BadName));
        }
        assert!(build(&[cap(&long[1..], 1)]).is_ok());
    }
}
