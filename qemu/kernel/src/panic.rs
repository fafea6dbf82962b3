//! The end of a kernel that found itself wrong.

use core::panic::PanicInfo;

use crate::device::console;
use crate::device::exit::{Ending, leave};

#[panic_handler]
fn panic(info: &PanicInfo<'_>) -> ! {
    // SAFETY: nothing continues after a panic.
    unsafe {
        match info.location() {
            Some(place) => console::last_words(format_args!(
                "panic: {} at {}:{}",
                info.message(),
                place.file(),
                place.line()
            )),
            None => console::last_words(format_args!("panic: {}", info.message())),
        }
    }
    // SAFETY: as above.
    unsafe { console::last_words(format_args!("exit {}", Ending::Panic.name())) };
    leave(Ending::Panic)
}
