//! Memory that every process of this program reserves: more than the machine
//! has for two of them. The witness finds its own whatever another has taken.

/// 10 MiB.
const BYTES: usize = 10 << 20;
const PAGE_BYTES: usize = 4096;

static mut RESERVE: [u8; BYTES] = [0; BYTES];

/// Address of part `number` of it, of `bytes` each; the first where there is none.
pub(crate) fn place(number: usize, bytes: u32) -> u64 {
    let start = (&raw mut RESERVE).expose_provenance() as u64;
    let offset = (number as u64).wrapping_mul(u64::from(bytes));
    if offset.wrapping_add(u64::from(bytes)) <= BYTES as u64 {
        start.wrapping_add(offset)
    } else {
        start
    }
}

/// Writes to every page of it.
pub(crate) fn touch_all() {
    let start = (&raw mut RESERVE).cast::<u8>();
    for offset in (0..BYTES).step_by(PAGE_BYTES) {
        let page = start.wrapping_add(offset);
        // SAFETY: the byte lies in the static, and only one thread uses it.
        unsafe { page.write_volatile(1) };
    }
}
