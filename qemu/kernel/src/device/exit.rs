//! The ways a machine ends, and the device that ends it.

use crate::cpu;

const PORT: u16 = 0xf4;

/// Why the machine stops. The emulator exits with `value * 2 + 1`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// The service that decides ended with code 0.
    Success,
    /// It ended otherwise.
    ServiceFailure,
    /// The boot package was refused.
    BootRefused,
    /// The kernel itself failed.
    Panic,
}

impl Ending {
    /// As on the console.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::ServiceFailure => "service-failure",
            Self::BootRefused => "boot-refused",
            Self::Panic => "panic",
        }
    }

    const fn value(self) -> u32 {
        match self {
            Self::Success => 0x10,
            Self::ServiceFailure => 0x11,
            Self::BootRefused => 0x12,
            Self::Panic => 0x13,
        }
    }
}

/// Ends the machine; where there is no such device, halts it.
pub(crate) fn leave(ending: Ending) -> ! {
    cpu::port_write32(PORT, ending.value());
    cpu::halt_for_ever()
}
