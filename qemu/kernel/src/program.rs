//! Programs: from an ELF file to what has to be mapped where.
//!
//! Keeps KERNEL-W-XOR-X for user memory: an image with a segment that is both
//! writable and executable is refused, as is one outside the published layout.

use alloc::vec::Vec;

use capos_config::process_layout::{
    USER_IMAGE_BASE, USER_IMAGE_LINK_LIMIT, USER_PAGE_BYTES, USER_TLS_REGION_BASE,
    USER_TLS_REGION_LIMIT,
};

/// Most program headers that are looked at; each costs heap, and honest
/// programs have a handful.
pub const HEADERS_MAX: u16 = 32;

/// Where an ELF file says how many program headers it has.
const HEADER_COUNT_OFFSET: usize = 56;
const EXECUTE: u32 = 1;
const WRITE: u32 = 2;

/// Rights of a segment's pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SegmentAccess {
    /// Code.
    Execute,
    /// Constants.
    Read,
    /// Data.
    Write,
}

/// One segment, already checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Segment<'a> {
    /// First address; need not lie on a page border.
    pub address: u64,
    /// What the file gives; the rest up to `bytes` is zero.
    pub content: &'a [u8],
    /// Bytes in memory.
    pub bytes: u64,
    /// Rights.
    pub access: SegmentAccess,
}

/// The thread-local block of the one thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThreadLocal<'a> {
    /// Where the block starts.
    pub address: u64,
    /// What the file gives; the rest up to `pointer` is zero.
    pub content: &'a [u8],
    /// The thread pointer: the first address behind the block, which holds its
    /// own value.
    pub pointer: u64,
}

/// A program that may be loaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program<'a> {
    /// Where it starts.
    pub entry: u64,
    /// Its segments, in order of address, no two on one page.
    pub segments: Vec<Segment<'a>>,
    /// Its thread-local block, if it has one.
    pub thread_local: Option<ThreadLocal<'a>>,
}

/// Why a program cannot be loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProgramError {
    /// It is no such ELF file; the reason is the parser's.
    Malformed(&'static str),
    /// It has more program headers than [`HEADERS_MAX`].
    TooManyHeaders(u16),
    /// A segment lies outside the published image range.
    OutsideLayout {
        /// Its address.
        address: u64,
    },
    /// A segment is both writable and executable.
    WritableCode {
        /// Its address.
        address: u64,
    },
    /// The thread-local block is larger than its region, or oddly aligned.
    ThreadLocalTooLarge,
}

impl core::fmt::Display for ProgramError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Malformed(reason) => write!(f, "not a loadable ELF file: {reason}"),
            Self::TooManyHeaders(count) => {
                write!(f, "{count} program headers; at most {HEADERS_MAX} are read")
            }
            Self::OutsideLayout { address } => write!(
                f,
                "segment at {address:#x} is out of layout; images lie in {USER_IMAGE_BASE:#x}..{USER_IMAGE_LINK_LIMIT:#x}"
            ),
            Self::WritableCode { address } => {
                write!(f, "segment at {address:#x} is writable and executable")
            }
            Self::ThreadLocalTooLarge => f.write_str("thread-local block does not fit its region"),
        }
    }
}

/// Checks the ELF file `file`.
///
/// # Errors
/// As [`ProgramError`] tells.
pub fn read(file: &[u8]) -> Result<Program<'_>, ProgramError> {
    let header_count = file
        .get(HEADER_COUNT_OFFSET..)
        .and_then(|rest| rest.first_chunk())
        .map_or(0, |bytes| u16::from_le_bytes(*bytes));
    if header_count > HEADERS_MAX {
        return Err(ProgramError::TooManyHeaders(header_count));
    }
    let elf = capos_lib::elf::parse(file).map_err(ProgramError::Malformed)?;
    let mut segments = Vec::with_capacity(elf.segments.len());
    for segment in &elf.segments {
        if segment.memsz == 0 {
            continue;
        }
        let address = segment.vaddr;
        let end = address.checked_add(segment.memsz);
        if address < USER_IMAGE_BASE || end.is_none_or(|end| end > USER_IMAGE_LINK_LIMIT) {
            return Err(ProgramError::OutsideLayout { address });
        }
        let access = match (segment.flags & WRITE != 0, segment.flags & EXECUTE != 0) {
            (true, true) => return Err(ProgramError::WritableCode { address }),
            (true, false) => SegmentAccess::Write,
            (false, true) => SegmentAccess::Execute,
            (false, false) => SegmentAccess::Read,
        };
        segments.push(Segment {
            address,
            content: content(file, segment.offset, segment.filesz)?,
            bytes: segment.memsz,
            access,
        });
    }
    let thread_local = match &elf.tls {
        Some(tls) if tls.memsz > 0 => Some(place_thread_local(file, tls)?),
        _ => None,
    };
    Ok(Program {
        entry: elf.entry,
        segments,
        thread_local,
    })
}

fn content(file: &[u8], offset: u64, length: u64) -> Result<&[u8], ProgramError> {
    let outside = ProgramError::Malformed("segment file data out of bounds");
    let start = usize::try_from(offset).map_err(|_| outside)?;
    let length = usize::try_from(length).map_err(|_| outside)?;
    let end = start.checked_add(length).ok_or(outside)?;
    file.get(start..end).ok_or(outside)
}

/// The block ends where the thread pointer points, as the machine's convention
/// for static images has it.
fn place_thread_local<'a>(
    file: &'a [u8],
    tls: &capos_lib::elf::ElfTls,
) -> Result<ThreadLocal<'a>, ProgramError> {
    let align = tls.align.max(8);
    let room = USER_TLS_REGION_LIMIT.saturating_sub(USER_TLS_REGION_BASE);
    let block = tls
        .memsz
        .checked_next_multiple_of(align)
        .filter(|_| align <= USER_PAGE_BYTES)
        .filter(|block| block.saturating_add(8) <= room)
        .ok_or(ProgramError::ThreadLocalTooLarge)?;
    Ok(ThreadLocal {
        address: USER_TLS_REGION_BASE,
        content: content(file, tls.offset, tls.filesz)?,
        pointer: USER_TLS_REGION_BASE.saturating_add(block),
    })
}

#[cfg(test)]
#[expect(
    clippy::arithmetic_side_effects,
    reason = "offsets of a file made up here"
)]
mod tests {
    use super::*;

    /// An ELF file with the given program headers: type, flags, address,
    /// bytes in memory, alignment. Each header's content is its index, twice.
    fn elf(headers: &[(u32, u32, u64, u64, u64)]) -> Vec<u8> {
        let mut file = vec![0; 64];
        file[..7].copy_from_slice(b"\x7fELF\x02\x01\x01");
        file[16..20].copy_from_slice(&[2, 0, 0x3e, 0]);
        file[24..32].copy_from_slice(&0x20_0010_u64.to_le_bytes());
        file[32..40].copy_from_slice(&64_u64.to_le_bytes());
        file[54..56].copy_from_slice(&56_u16.to_le_bytes());
        file[56..58].copy_from_slice(&u16::try_from(headers.len()).unwrap().to_le_bytes());
        for (index, &(kind, flags, address, bytes, align)) in headers.iter().enumerate() {
            let offset = 0x1000 * (index as u64 + 1) + (address & 0xfff);
            file.extend(kind.to_le_bytes());
            file.extend(flags.to_le_bytes());
            for field in [offset, address, address, bytes.min(2), bytes, align] {
                file.extend(field.to_le_bytes());
            }
        }
        file.resize(0x1000 * (headers.len() + 2), 0);
        for (index, &(_, _, address, ..)) in headers.iter().enumerate() {
            let offset = 0x1000 * (index + 1) + usize::try_from(address & 0xfff).unwrap();
            file[offset..offset + 2].fill(u8::try_from(index).unwrap());
        }
        file
    }

    const CODE: (u32, u32, u64, u64, u64) = (1, 5, 0x20_0000, 0x100, 4096);

    #[test]
    fn reads_a_program() {
        let file = elf(&[
            CODE,
            (1, 4, 0x20_1008, 2, 8),
            (1, 6, 0x20_3000, 0x5000, 4096),
        ]);
        let program = read(&file).unwrap();
        assert_eq!(program.entry, 0x20_0010);
        let found: Vec<_> = program
            .segments
            .iter()
            .map(|s| (s.address, s.content.to_vec(), s.bytes, s.access))
            .collect();
        assert_eq!(
            found,
            [
                (0x20_0000, vec![0, 0], 0x100, SegmentAccess::Execute),
                (0x20_1008, vec![1, 1], 2, SegmentAccess::Read),
                (0x20_3000, vec![2, 2], 0x5000, SegmentAccess::Write),
            ]
        );
        assert_eq!(program.thread_local, None);
    }

    #[test]
    fn refuses_segments_out_of_layout() {
        for (address, bytes) in [
            (0x1f_f000, 2),
            (0, 2),
            (USER_IMAGE_LINK_LIMIT - 1, 2),
            (USER_IMAGE_LINK_LIMIT, 1),
            (0x7fff_ffff_f000, 2),
            (0x30_0000, USER_IMAGE_LINK_LIMIT),
        ] {
            let file = elf(&[CODE, (1, 6, address, bytes, 1)]);
            assert_eq!(read(&file), Err(ProgramError::OutsideLayout { address }));
        }
        let file = elf(&[CODE, (1, 6, USER_IMAGE_LINK_LIMIT - 1, 1, 1)]);
        assert!(read(&file).is_ok());
    }

    #[test]
    fn refuses_more_headers_than_it_reads() {
        let mut file = elf(&[CODE]);
        for count in [HEADERS_MAX + 1, u16::MAX] {
            file[56..58].copy_from_slice(&count.to_le_bytes());
            assert_eq!(read(&file), Err(ProgramError::TooManyHeaders(count)));
        }
        let unused = (0, 0, 0, 0, 0);
        let most: Vec<_> = core::iter::once(CODE)
            .chain(core::iter::repeat(unused))
            .take(usize::from(HEADERS_MAX))
            .collect();
        assert!(read(&elf(&most)).is_ok());
    }

    #[test]
    fn refuses_writable_code() {
        let file = elf(&[CODE, (1, 7, 0x20_1000, 8, 4096)]);
        assert_eq!(
            read(&file),
            Err(ProgramError::WritableCode { address: 0x20_1000 })
        );
    }

    #[test]
    fn places_the_thread_local_block_below_its_pointer() {
        let file = elf(&[CODE, (1, 6, 0x20_1000, 16, 4096), (7, 4, 0x20_1000, 20, 16)]);
        let block = read(&file).unwrap().thread_local.unwrap();
        assert_eq!(block.address, USER_TLS_REGION_BASE);
        assert_eq!(block.pointer, USER_TLS_REGION_BASE + 32);
        let empty = elf(&[CODE, (7, 4, 0x20_1000, 0, 1)]);
        assert_eq!(read(&empty).unwrap().thread_local, None);
    }

    #[test]
    fn refuses_thread_local_blocks_that_do_not_fit() {
        let room = USER_TLS_REGION_LIMIT - USER_TLS_REGION_BASE;
        for (bytes, align) in [(room, 8), (room - 7, 8), (8, 8192), (1 << 46, 16)] {
            let file = elf(&[CODE, (7, 4, 0x20_1000, bytes, align)]);
            assert_eq!(read(&file), Err(ProgramError::ThreadLocalTooLarge));
        }
    }

    #[test]
    fn survives_any_cut_and_any_changed_byte() {
        let file = elf(&[CODE, (1, 6, 0x20_1000, 64, 4096), (7, 4, 0x20_1000, 20, 16)]);
        for length in 0..file.len().min(400) {
            assert!(read(&file[..length]).is_err());
        }
        for at in 0..232 {
            for value in [0, 1, 7, 0x7f, 0x80, 0xff] {
                let mut changed = file.clone();
                changed[at] = value;
                if let Ok(program) = read(&changed) {
                    assert!(
                        program
                            .segments
                            .iter()
                            .all(|s| s.bytes >= s.content.len() as u64)
                    );
                }
            }
        }
    }
}
