//! ELF files of a package: segments that lie in the file and in order, no two on one page.

use harness_kernel::program::read;

const PAGE_BYTES: u64 = 4096;

/// The bytes are the file.
pub(super) fn run(bytes: &[u8]) {
    let Ok(program) = read(bytes) else {
        return;
    };
    let range = bytes.as_ptr_range();
    let mut page = 0;
    for segment in &program.segments {
        let content = segment.content.as_ptr_range();
        let is_inside = range.start <= content.start && content.end <= range.end;
        assert!(segment.content.is_empty() || is_inside);
        assert!(segment.bytes > 0 && segment.content.len() as u64 <= segment.bytes);
        assert!(segment.address / PAGE_BYTES >= page, "two on one page");
        page = (segment.address + segment.bytes - 1) / PAGE_BYTES + 1;
    }
}
