//! The interval timer: channel 0 interrupts once per arming, channel 2 measures
//! the time stamp counter's rate.

use crate::cell::KernelCell;
use crate::cpu::{port_read, port_write, time_stamp};

/// Counts per second.
pub(crate) const HERTZ: u64 = 1_193_182;
const CHANNEL0: u16 = 0x40;
const CHANNEL2: u16 = 0x42;
const CONTROL: u16 = 0x43;
const GATE: u16 = 0x61;

/// Longest time that channel 0 counts.
const ARM_MAX_NANOSECONDS: u64 = 54_000_000;

/// When channel 0 will interrupt, if it is armed.
static DUE: KernelCell<Option<u64>> = KernelCell::new(None);

/// Notes that channel 0 has interrupted.
pub(crate) fn expired() {
    DUE.with(|due| *due = None);
}

/// Makes channel 0 interrupt by `deadline`, or as late as it can, seen from
/// `now`. One that interrupts sooner is left alone: telling the timer costs
/// more than an interrupt too many.
pub(crate) fn arm_by(deadline: u64, now: u64) {
    let deadline = deadline.min(now.saturating_add(ARM_MAX_NANOSECONDS));
    let armed = DUE.with(|due| {
        let armed = due.is_some_and(|due| due <= deadline);
        if !armed {
            *due = Some(deadline);
        }
        armed
    });
    if !armed {
        arm(deadline.saturating_sub(now));
    }
}

fn arm(nanoseconds: u64) {
    let counts = nanoseconds.saturating_mul(HERTZ).div_ceil(1_000_000_000);
    let counts = u16::try_from(counts.clamp(2, 0xffff)).unwrap_or(u16::MAX);
    let [low, high] = counts.to_le_bytes();
    port_write(CONTROL, 0x30);
    port_write(CHANNEL0, low);
    port_write(CHANNEL0, high);
}

/// A reading of both clocks at one moment.
#[derive(Clone, Copy)]
pub(crate) struct Reading {
    /// Time stamp counter.
    pub(crate) stamp: u64,
    /// Channel 2, counting down.
    pub(crate) count: u16,
}

/// Starts channel 2 from its highest count.
pub(crate) fn start_measure() {
    port_write(GATE, (port_read(GATE) & !2) | 1);
    port_write(CONTROL, 0xb0);
    port_write(CHANNEL2, 0xff);
    port_write(CHANNEL2, 0xff);
}

/// Reads both clocks once; the stamp is from before the count.
pub(crate) fn read_once() -> Reading {
    let stamp = time_stamp();
    port_write(CONTROL, 0x80);
    let count = u16::from_le_bytes([port_read(CHANNEL2), port_read(CHANNEL2)]);
    Reading { stamp, count }
}

/// Reads both clocks; of several readings the one that took least.
pub(crate) fn read() -> Reading {
    let mut best = Reading { stamp: 0, count: 0 };
    let mut least = u64::MAX;
    for _ in 0..8 {
        let before = time_stamp();
        port_write(CONTROL, 0x80);
        let after = time_stamp();
        let count = u16::from_le_bytes([port_read(CHANNEL2), port_read(CHANNEL2)]);
        let took = after.saturating_sub(before);
        if took < least {
            least = took;
            best = Reading {
                stamp: before.saturating_add(took / 2),
                count,
            };
        }
    }
    best
}
