//! The end of a kernel that found itself wrong.

use core::panic::PanicInfo;

use crate::device::console;

#[panic_handler]
fn panic(info: &PanicInfo<'_>) -> ! {
    let (file, line) = info
        .location()
        .map_or(("?", 0), |place| (place.file(), place.line()));
    let message = info.message();
    console::give_up(format_args!("{message} at {file}:{line}"))
}
