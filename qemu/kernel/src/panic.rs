//! The end of a kernel that found itself wrong.

use core::panic::PanicInfo;

use crate::device::console;
use crate::device::exit::{Ending, leave};

#[panic_handler]
fn panic(info: &PanicInfo<'_>) -> ! {
    let (file, line) = info
        .location()
        .map_or(("?", 0), |place| (place.file(), place.line()));
    let message = info.message();
    // SAFETY: nothing continues after a panic.
    unsafe { console::last_words(format_args!("panic: {message} at {file}:{line}")) };
    // SAFETY: as above.
    unsafe { console::last_words(format_args!("exit {}", Ending::Panic.name())) };
    leave(Ending::Panic)
}
