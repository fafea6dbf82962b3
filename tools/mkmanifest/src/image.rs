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

fn program_headers_end(elf: &[u8]) -> Option<u64> {
    let offset = u64::from_le_bytes(elf.get(PROGRAM_OFFSET)?.try_into().ok()?);
    let size = u16::from_le_bytes(elf.get(PROGRAM_ENTRY_SIZE)?.try_into().ok()?);
    let count = u16::from_le_bytes(elf.get(PROGRAM_COUNT)?.try_into().ok()?);
    offset.checked_add(u64::from(size).checked_mul(u64::from(count))?)
}
