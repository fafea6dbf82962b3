//! The monotonic clock and the date.

use harness_kernel::clock::{CalibrationError, ChipTime, Clock, MEASURE_COUNTS};
use harness_kernel::platform::Moment;

use crate::cell::KernelCell;
use crate::cpu::{port_read, port_write, time_stamp};
use crate::device::pit::{self, Reading};

static CLOCK: KernelCell<Option<Clock>> = KernelCell::new(None);
static DATE: KernelCell<Date> = KernelCell::new(Date {
    unix_seconds: None,
    read_at: 0,
});

/// The date as the chip told it at boot.
#[derive(Clone, Copy)]
struct Date {
    unix_seconds: Option<i64>,
    read_at: u64,
}

/// A measurement under way: the boot goes on while the reference counts.
#[must_use]
pub(crate) struct Measurement(Reading);

/// Starts to measure the counter's rate.
pub(crate) fn start_measurement() -> Measurement {
    pit::start_measure();
    Measurement(pit::read())
}

/// Ends the measurement once it is long enough, and starts the clock at its
/// beginning.
pub(crate) fn finish_measurement(measurement: Measurement) -> Result<(), CalibrationError> {
    let Measurement(start) = measurement;
    // The reference comes round after 54 ms; a boot that took longer than 50
    // measures anew. A reference that stands is given up after a while.
    let mut from = start;
    let mut failure = CalibrationError::ReferenceStands;
    for _ in 0..REFERENCE_POLLS {
        let to = pit::read();
        let reference = u64::from(from.count.wrapping_sub(to.count));
        let counts = to.stamp.saturating_sub(from.stamp);
        if reference < MEASURE_COUNTS {
            continue;
        }
        // Had the reference come round, for instance because the machine was
        // stopped meanwhile, the rate would seem far too high: a short
        // measurement must agree, or all is measured anew.
        let clock = match Clock::calibrate(start.stamp, counts, reference, pit::HERTZ) {
            Ok(clock) if confirmed(&clock) => clock,
            disagreed => {
                failure = disagreed.err().unwrap_or(failure);
                pit::start_measure();
                from = pit::read();
                continue;
            }
        };
        CLOCK.with(|slot| *slot = Some(clock));
        return Ok(());
    }
    Err(failure)
}

const REFERENCE_POLLS: u32 = 50_000;
/// Counts of the confirmation: 1 ms.
const CONFIRM_COUNTS: u64 = 1_193;

/// Whether a fresh short measurement agrees with `clock` within an eighth.
fn confirmed(clock: &Clock) -> bool {
    let from = pit::read();
    for _ in 0..REFERENCE_POLLS {
        let to = pit::read();
        let reference = u64::from(from.count.wrapping_sub(to.count));
        if reference >= CONFIRM_COUNTS {
            let told = clock
                .nanoseconds(to.stamp)
                .saturating_sub(clock.nanoseconds(from.stamp));
            let truth = reference.saturating_mul(1_000_000_000) / pit::HERTZ;
            return told.abs_diff(truth) < truth / 8;
        }
    }
    false
}

/// Nanoseconds since the clock started; zero before.
pub(crate) fn now() -> u64 {
    let reading = time_stamp();
    CLOCK.with(|clock| clock.as_ref().map_or(0, |clock| clock.nanoseconds(reading)))
}

/// Asks the real-time clock chip for the date. Without one there is no date.
pub(crate) fn read_date() {
    let mut last = None;
    for _ in 0..DATE_READINGS {
        if chip_register(0x0a) & 0x80 != 0 {
            continue;
        }
        let registers = [0, 2, 4, 7, 8, 9, 0x32].map(chip_register);
        // Two equal readings in a row: none was taken during an update.
        if last == Some(registers) {
            let seconds =
                ChipTime::decode(registers, chip_register(0x0b)).map(|t| t.unix_seconds());
            let read_at = now();
            DATE.with(|date| {
                *date = Date {
                    unix_seconds: seconds,
                    read_at,
                }
            });
            return;
        }
        last = Some(registers);
    }
}

/// The chip's date and time as they stand, whatever they mean.
pub(crate) fn date_registers() -> [u8; 8] {
    [0, 2, 4, 7, 8, 9, 0x32, 0x0a].map(chip_register)
}

const DATE_READINGS: u32 = 1_000;

fn chip_register(register: u8) -> u8 {
    port_write(0x70, register);
    port_read(0x71)
}

/// The date now, if the chip told one at boot.
pub(crate) fn date() -> Option<Moment> {
    let monotonic = now();
    let date = DATE.with(|date| *date);
    let since = monotonic.saturating_sub(date.read_at);
    let seconds = i64::try_from(since / 1_000_000_000).unwrap_or(i64::MAX);
    Some(Moment {
        unix_seconds: date.unix_seconds?.saturating_add(seconds),
        nanoseconds: u32::try_from(since % 1_000_000_000).unwrap_or(0),
        monotonic,
    })
}
