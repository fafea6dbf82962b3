//! The interrupt controllers, remapped behind the exceptions. Lines are masked
//! until a device asks for its own.

use crate::cell::KernelCell;
use crate::cpu::port_write;

/// Vector of line 0.
pub(crate) const FIRST_VECTOR: u64 = 32;
const COMMAND: [u16; 2] = [0x20, 0xa0];
const DATA: [u16; 2] = [0x21, 0xa1];
/// Last word of the set-up: the controllers take an interrupt as handled when
/// they deliver it. None nests here, and saying so each time would cost an exit
/// from the guest or two.
const AUTOMATIC: u8 = 3;
const CASCADE: u16 = 1 << 2;

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
        (second_data, AUTOMATIC),
    ] {
        port_write(port, value);
    }
    write(!CASCADE);
}

/// Lets exactly the lines in `lines` through.
pub(crate) fn allow(lines: u16) {
    write(!(lines | CASCADE));
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
