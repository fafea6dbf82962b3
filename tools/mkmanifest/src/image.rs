//! Cuts an ELF file down to the bytes that are loaded: no sections, symbols, debug data.
//!
//! A boot package holds every binary whole, and the guest has little memory, so
//! what only a debugger reads stays on the host.

/// Offsets of the section table's description in an ELF64 header.
const SECTION_OFFSET: std::ops::Range<usize> = 40..48;
const SECTION_SIZE_COUNT_NAMES: std::ops::Range<usize> = 58..64;

/// End of the program headers: where they begin, their size and their count.
const PROGRAM_OFFSET: std::ops::Range<usize> = 32..40;
const PROGRAM_ENTRY_SIZE: std::ops::Range<usize> = 54..56;
const PROGRAM_COUNT: std::ops::Range<usize> = 56..58;

/// Type of a loaded segment, and where a program header has its size in the file.
const LOAD: [u8; 4] = 1u32.to_le_bytes();
const FILE_SIZE: std::ops::Range<usize> = 32..40;

/// The loadable part of a program, itself a valid ELF file.
///
/// # Errors
/// What the published ELF reader has against it.
pub(crate) fn loadable(elf: &[u8]) -> Result<Vec<u8>, &'static str> {
    let info = capos_lib::elf::parse(elf)?;
    let headers = program_headers_end(elf).ok_or("program headers end beyond the file")?;
    let loaded = info
        .segments
        .iter()
        .filter_map(|segment| segment.offset.checked_add(segment.filesz));
    let tls = info
        .tls
        .iter()
        .filter_map(|tls| tls.offset.checked_add(tls.filesz));
    let end = loaded.chain(tls).fold(headers, u64::max);
    let end = usize::try_from(end).map_err(|_| "segments end beyond the file")?;
    let mut image = elf
        .get(..end)
        .ok_or("segments end beyond the file")?
        .to_vec();
    for field in [SECTION_OFFSET, SECTION_SIZE_COUNT_NAMES] {
        if let Some(bytes) = image.get_mut(field) {
            bytes.fill(0);
        }
    }
    capos_lib::elf::parse(&image)?;
    Ok(image)
}

/// What a boot loader reads of an ELF file: headers and file bytes of every loaded segment.
///
/// Meant for a kernel, which the published reader does not take; what is no ELF
/// file counts whole.
#[must_use]
pub fn loaded_bytes(file: &[u8]) -> usize {
    segments(file).unwrap_or(file.len())
}

fn segments(elf: &[u8]) -> Option<usize> {
    let offset = usize::try_from(u64::from_le_bytes(
        elf.get(PROGRAM_OFFSET)?.try_into().ok()?,
    ))
    .ok()?;
    let size = u16::from_le_bytes(elf.get(PROGRAM_ENTRY_SIZE)?.try_into().ok()?);
    let count = u16::from_le_bytes(elf.get(PROGRAM_COUNT)?.try_into().ok()?);
    if !elf.starts_with(b"\x7fELF") || size < 56 {
        return None;
    }
    let mut sum = usize::try_from(program_headers_end(elf)?).ok()?;
    let headers = elf
        .get(offset..)?
        .chunks_exact(usize::from(size))
        .take(usize::from(count));
    for header in headers {
        if header.get(..4)? == LOAD {
            let bytes = u64::from_le_bytes(header.get(FILE_SIZE)?.try_into().ok()?);
            sum = sum.checked_add(usize::try_from(bytes).ok()?)?;
        }
    }
    (sum <= elf.len()).then_some(sum)
}

fn program_headers_end(elf: &[u8]) -> Option<u64> {
    let offset = u64::from_le_bytes(elf.get(PROGRAM_OFFSET)?.try_into().ok()?);
    let size = u16::from_le_bytes(elf.get(PROGRAM_ENTRY_SIZE)?.try_into().ok()?);
    let count = u16::from_le_bytes(elf.get(PROGRAM_COUNT)?.try_into().ok()?);
    offset.checked_add(u64::from(size).checked_mul(u64::from(count))?)
}
