//! The interrupt controllers, remapped behind the exceptions. Lines are masked
//! until a device asks for its own.

use crate::cell::KernelCell;
use crate::cpu::port_write;

/// Vector of line 0.
pub(crate) const FIRST_VECTOR: u64 = 32;
const COMMAND: [u16; 2] = [0x20, 0xa0];
const DATA: [u16; 2] = [0x21, 0xa1];
/// Last word of the first controller's set-up: it takes an interrupt as handled
/// when it delivers it. None nests here, and saying so each time would cost an
/// exit from the guest.
const AUTOMATIC: u8 = 3;
/// The second controller's: it is told. The first sees it rise and not that it
/// stays up, so while it has one interrupt delivered it must hold the next back:
/// of two lines at the same moment one, and then every later one, would be lost.
const TOLD: u8 = 1;
const CASCADE: u16 = 1 << 2;
/// The interrupt of a line, added to the line's number, is handled.
const HANDLED: u8 = 0x60;
/// The second controller's first line.
const SECOND: u32 = 8;

/// Mask as it was last written to the controllers.
static MASK: KernelCell<u16> = KernelCell::new(0xffff);

/// Remaps both controllers and masks every line but the cascade.
pub(crate) fn start() {
    let [command, second_command] = COMMAND;
    let [data, second_data] = DATA;
    for (port, value) in [
        (command, 0x11),
        (second_command, 0x11),
        (data, 32),
        (second_data, 40),
        (data, 4),
        (second_data, 2),
        (data, AUTOMATIC),
        (second_data, TOLD),
    ] {
        port_write(port, value);
    }
    write(!CASCADE);
}

/// Lets exactly the lines in `lines` through.
pub(crate) fn allow(lines: u16) {
    write(!(lines | CASCADE));
}

/// Tells that the interrupts of `lines`, one bit each, are handled.
pub(crate) fn handled(lines: u32) {
    let [_, second_command] = COMMAND;
    for line in 0..8_u8 {
        if lines >> SECOND & 1 << line != 0 {
            port_write(second_command, HANDLED | line);
        }
    }
}

fn write(mask: u16) {
    let [low, high] = mask.to_le_bytes();
    let [data, second_data] = DATA;
    let last = MASK.with(|last| core::mem::replace(last, mask));
    let [last_low, last_high] = last.to_le_bytes();
    if low != last_low {
        port_write(data, low);
    }
    if high != last_high {
        port_write(second_data, high);
    }
}
