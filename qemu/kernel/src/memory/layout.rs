//! Where things are in the kernel half of every address space.
//!
//! ```text
//! 0xffff_8000_0000_0000  all physical memory, readable and writable, never
//!                        executable; the kernel's own code and constants in
//!                        it are read-only
//! 0xffff_8080_0000_0000  device registers, uncached
//! 0xffff_ffff_8010_0000  the kernel image
//! ```

/// Bytes of a page and of a frame.
pub(crate) const PAGE_BYTES: u64 = 4096;
/// Bytes of a page of the second level.
pub(crate) const LARGE_PAGE_BYTES: u64 = 0x20_0000;
/// The kernel image is linked at its load address plus this.
pub(crate) const KERNEL_BASE: u64 = 0xffff_ffff_8000_0000;
/// Physical memory appears here.
pub(crate) const PHYSICAL_BASE: u64 = 0xffff_8000_0000_0000;
/// Device registers appear here.
pub(crate) const DEVICE_BASE: u64 = 0xffff_8080_0000_0000;
/// No frame above this is used; the boot tables reach as far.
pub(crate) const FRAMES_LIMIT: u64 = 0x4000_0000;
/// Memory above this is not mapped; loaders put the boot package below it.
pub(crate) const MAPPED_LIMIT: u64 = 0x1_0000_0000;

/// A 64-bit number as an index or length.
#[expect(
    clippy::cast_possible_truncation,
    reason = "usize has 64 bits on this machine"
)]
pub(crate) const fn to_usize(number: u64) -> usize {
    number as usize
}

/// Kernel pointer to the `length` bytes at `physical`, through the boot
/// tables; `None` where they do not reach.
pub(crate) fn boot_pointer(physical: u64, length: usize) -> Option<*const u8> {
    let end = physical.checked_add(u64::try_from(length).ok()?)?;
    if end > FRAMES_LIMIT {
        return None;
    }
    let address = usize::try_from(KERNEL_BASE.checked_add(physical)?).ok()?;
    Some(core::ptr::with_exposed_provenance(address))
}

/// Kernel pointer to `physical`, through the map of all memory.
///
/// The pointer is good only for frames below the RAM that the map covers;
/// callers hold such frames.
pub(crate) fn physical_pointer(physical: u64) -> *mut u8 {
    debug_assert!(physical < MAPPED_LIMIT, "beyond mapped memory");
    core::ptr::with_exposed_provenance_mut(to_usize(PHYSICAL_BASE.wrapping_add(physical)))
}

/// Addresses of the linked image, in the order of the link script.
pub(crate) struct Image {
    /// First byte of code.
    pub(crate) code: u64,
    /// First byte of constants, the end of code.
    pub(crate) constants: u64,
    /// First byte of writable data, the end of constants.
    pub(crate) data: u64,
    /// End of the image.
    pub(crate) end: u64,
    /// Pages left unmapped below the stacks.
    pub(crate) guards: [u64; 2],
}

unsafe extern "C" {
    static kernel_code_start: u8;
    static kernel_constants_start: u8;
    static kernel_data_start: u8;
    static kernel_end: u8;
    static kernel_stack_guard: u8;
    static kernel_stack_top: u8;
    static fault_stack_guard: u8;
    static fault_stack_top: u8;
}

/// The image as it was linked.
pub(crate) fn image() -> Image {
    Image {
        code: address_of(&raw const kernel_code_start),
        constants: address_of(&raw const kernel_constants_start),
        data: address_of(&raw const kernel_data_start),
        end: address_of(&raw const kernel_end),
        guards: [
            address_of(&raw const kernel_stack_guard),
            address_of(&raw const fault_stack_guard),
        ],
    }
}

/// Top of the stack that every entry from ring 3 starts on.
pub(crate) fn kernel_stack() -> u64 {
    address_of(&raw const kernel_stack_top)
}

/// Top of the stack for faults that must not touch the kernel stack.
pub(crate) fn fault_stack() -> u64 {
    address_of(&raw const fault_stack_top)
}

fn address_of(symbol: *const u8) -> u64 {
    symbol.expose_provenance() as u64
}
