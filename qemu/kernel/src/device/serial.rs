//! A 16550 serial port, polled.

use crate::cpu::{port_read, port_write};

/// Bytes that an empty port takes at once.
pub(crate) const FIFO_BYTES: usize = 16;
/// Polls of a busy port before bytes are sent all the same.
const READY_POLLS: u32 = 1_000_000;
const DATA_READY: u8 = 1;
const TRANSMIT_EMPTY: u8 = 1 << 5;

/// One port, by its first register.
#[derive(Clone, Copy)]
pub(crate) struct Serial {
    base: u16,
}

/// Whether the port interrupts when bytes arrive.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReceiveInterrupt {
    /// It does.
    On,
    /// It does not.
    Off,
}

impl Serial {
    /// First port: the console.
    pub(crate) const COM1: Self = Self { base: 0x3f8 };
    /// Second port: the terminal.
    pub(crate) const COM2: Self = Self { base: 0x2f8 };

    /// Sets 115,200 baud, eight bits, FIFO on.
    pub(crate) fn start(self, receive: ReceiveInterrupt) {
        for (register, value) in [
            (1, 0x00),
            (3, 0x80),
            (0, 0x01),
            (1, 0x00),
            (3, 0x03),
            (2, 0x07),
            (4, 0x0b),
            (1, u8::from(receive == ReceiveInterrupt::On)),
        ] {
            port_write(self.register(register), value);
        }
    }

    /// Whether the port has sent everything, and takes [`FIFO_BYTES`] more.
    pub(crate) fn is_ready(self) -> bool {
        port_read(self.register(5)) & TRANSMIT_EMPTY != 0
    }

    /// Sends a byte for which there is room.
    pub(crate) fn send(self, byte: u8) {
        port_write(self.base, byte);
    }

    /// Sends all of `bytes` now, waiting for the port within a bound.
    pub(crate) fn send_now(self, bytes: &[u8]) {
        for chunk in bytes.chunks(FIFO_BYTES) {
            for _ in 0..READY_POLLS {
                if self.is_ready() {
                    break;
                }
            }
            chunk.iter().for_each(|&byte| self.send(byte));
        }
    }

    /// A received byte, if there is one.
    pub(crate) fn receive(self) -> Option<u8> {
        (port_read(self.register(5)) & DATA_READY != 0).then(|| port_read(self.base))
    }

    const fn register(self, index: u16) -> u16 {
        self.base.wrapping_add(index)
    }
}
