//! Ranges of user addresses: what may be named at all, and how a range falls
//! into pages. Whether its pages are mapped is for the page tables to say.

const PAGE_BYTES: u64 = 4096;

/// First address that no process may name: the end of the published layout's
/// last page (the CapSet page), so far below the kernel half.
pub const USER_END: u64 = capos_config::capset::CAPSET_VADDR + PAGE_BYTES;

/// A range that lies in the user part and is not empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UserRange {
    start: u64,
    length: u32,
}

/// Why a range cannot be one of user addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UserRangeError {
    /// It holds no byte.
    Empty,
    /// It reaches outside the user part.
    OutsideUserPart,
}

impl UserRange {
    /// Checks `length` bytes from `start`.
    ///
    /// # Errors
    /// As [`UserRangeError`] tells.
    pub const fn new(start: u64, length: u32) -> Result<Self, UserRangeError> {
        if length == 0 {
            return Err(UserRangeError::Empty);
        }
        match start.checked_add(length as u64) {
            Some(end) if end <= USER_END => Ok(Self { start, length }),
            _ => Err(UserRangeError::OutsideUserPart),
        }
    }

    /// First address.
    #[must_use]
    pub const fn start(self) -> u64 {
        self.start
    }

    /// Bytes; never zero.
    #[must_use]
    pub const fn length(self) -> u32 {
        self.length
    }
}

/// A part of a range that lies in one page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// First address.
    pub address: u64,
    /// Bytes, at most a page.
    pub length: usize,
}

/// Splits a range at page borders, in order.
pub fn page_pieces(range: UserRange) -> impl Iterator<Item = Piece> {
    let mut at = range.start;
    let end = range.start.saturating_add(u64::from(range.length));
    core::iter::from_fn(move || {
        if at >= end {
            return None;
        }
        let page_end = (at | (PAGE_BYTES - 1)).saturating_add(1);
        let length = page_end.min(end).saturating_sub(at);
        let piece = Piece {
            address: at,
            length: usize::try_from(length).ok()?,
        };
        at = page_end;
        Some(piece)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pieces(start: u64, length: u32) -> Vec<(u64, usize)> {
        page_pieces(UserRange::new(start, length).unwrap())
            .map(|piece| (piece.address, piece.length))
            .collect()
    }

    #[test]
    fn splits_at_page_borders() {
        assert_eq!(pieces(0x20_0000, 4096), [(0x20_0000, 4096)]);
        assert_eq!(pieces(0x20_0ffe, 4), [(0x20_0ffe, 2), (0x20_1000, 2)]);
        assert_eq!(
            pieces(0x20_0001, 8192),
            [(0x20_0001, 4095), (0x20_1000, 4096), (0x20_2000, 1)]
        );
    }

    #[test]
    fn accepts_the_last_user_byte_and_not_the_next() {
        assert!(UserRange::new(USER_END - 1, 1).is_ok());
        assert_eq!(
            UserRange::new(USER_END, 1),
            Err(UserRangeError::OutsideUserPart)
        );
        assert_eq!(
            UserRange::new(USER_END - 1, 2),
            Err(UserRangeError::OutsideUserPart)
        );
    }

    #[test]
    fn refuses_empty_wrapping_and_kernel_ranges() {
        assert_eq!(UserRange::new(0x20_0000, 0), Err(UserRangeError::Empty));
        for start in [u64::MAX, u64::MAX - 7, 0xffff_8000_0000_0000] {
            assert_eq!(
                UserRange::new(start, 8),
                Err(UserRangeError::OutsideUserPart)
            );
        }
    }
}
