//! Clock arithmetic: the counter's rate, nanoseconds from counts, and the
//! date that a real-time clock chip tells.

/// Counts of the reference timer that a measurement lasts at least: 10 ms.
pub const MEASURE_COUNTS: u64 = 11_932;

/// Why the counter's rate cannot be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CalibrationError {
    /// The reference timer does not count.
    ReferenceStands,
    /// The counter does not count, or implausibly slowly or fast.
    CounterImplausible,
}

impl CalibrationError {
    /// One sentence for the console.
    #[must_use]
    pub const fn explain(self) -> &'static str {
        match self {
            Self::ReferenceStands => "clock: the interval timer does not count",
            Self::CounterImplausible => "clock: the time stamp counter has no plausible rate",
        }
    }
}

/// Conversion of counter readings to nanoseconds since `start`.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    start: u64,
    /// Nanoseconds a count, times 2³².
    scale: u64,
}

const NANOSECONDS: u128 = 1_000_000_000;

impl Clock {
    /// A clock that starts at reading `start`, from a measurement: `counts` of
    /// the counter passed while a reference of `hertz` counted `reference`.
    ///
    /// # Errors
    /// When the figures allow no rate between 1 MHz and 100 GHz.
    pub fn calibrate(
        start: u64,
        counts: u64,
        reference: u64,
        hertz: u64,
    ) -> Result<Self, CalibrationError> {
        let nanoseconds = u128::from(reference)
            .checked_mul(NANOSECONDS)
            .and_then(|product| product.checked_div(u128::from(hertz)))
            .filter(|&nanoseconds| nanoseconds > 0)
            .ok_or(CalibrationError::ReferenceStands)?;
        let scale = (nanoseconds << 32)
            .checked_div(u128::from(counts))
            .ok_or(CalibrationError::CounterImplausible)?;
        // 1 MHz is 1,000 ns a count, 100 GHz is 0.01.
        if !((1 << 32) / 100..=1_000 << 32).contains(&scale) {
            return Err(CalibrationError::CounterImplausible);
        }
        let scale = u64::try_from(scale).map_err(|_| CalibrationError::CounterImplausible)?;
        Ok(Self { start, scale })
    }

    /// Nanoseconds from the start to reading `reading`.
    #[must_use]
    pub fn nanoseconds(&self, reading: u64) -> u64 {
        let counts = u128::from(reading.saturating_sub(self.start));
        let scaled = counts.saturating_mul(u128::from(self.scale)) >> 32;
        u64::try_from(scaled).unwrap_or(u64::MAX)
    }
}

/// A date and time as the chip gives it, already in plain numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChipTime {
    /// Full year.
    pub year: u16,
    /// 1 to 12.
    pub month: u8,
    /// 1 to 31.
    pub day: u8,
    /// 0 to 23.
    pub hour: u8,
    /// 0 to 59.
    pub minute: u8,
    /// 0 to 59.
    pub second: u8,
}

impl ChipTime {
    /// Reads the chip's registers (second, minute, hour, day, month, year,
    /// century) under its mode register; `None` if they make no date.
    #[must_use]
    pub fn decode(registers: [u8; 7], mode: u8) -> Option<Self> {
        let binary = mode & 4 != 0;
        let number = |register: u8| {
            if binary {
                Some(register)
            } else {
                let (tens, ones) = (register >> 4, register & 15);
                (tens < 10 && ones < 10).then(|| tens.saturating_mul(10).saturating_add(ones))
            }
        };
        let [second, minute, hour, day, month, year, century] = registers;
        let century = number(century).filter(|century| (19..=99).contains(century));
        let afternoon = mode & 2 == 0 && hour & 0x80 != 0;
        let mut hour = number(hour & 0x7f)?;
        if mode & 2 == 0 {
            hour = hour
                .checked_rem(12)?
                .saturating_add(if afternoon { 12 } else { 0 });
        }
        let time = Self {
            year: u16::from(century.unwrap_or(20))
                .saturating_mul(100)
                .saturating_add(u16::from(number(year)?)),
            month: number(month)?,
            day: number(day)?,
            hour,
            minute: number(minute)?,
            second: number(second)?,
        };
        let plausible = (1..=12).contains(&time.month)
            && (1..=31).contains(&time.day)
            && time.hour < 24
            && time.minute < 60
            && time.second < 60;
        plausible.then_some(time)
    }

    /// Seconds since 1970, UTC.
    #[must_use]
    pub fn unix_seconds(&self) -> i64 {
        // Years counted from March, so that the leap day is the last of one.
        let month = i64::from(self.month);
        let year = i64::from(self.year).saturating_sub(i64::from(month <= 2));
        let from_march = month.saturating_add(9).checked_rem(12).unwrap_or(0);
        let day_of_year = from_march
            .saturating_mul(153)
            .saturating_add(2)
            .saturating_div(5)
            .saturating_add(i64::from(self.day))
            .saturating_sub(1);
        let days = year
            .saturating_mul(365)
            .saturating_add(year.saturating_div(4))
            .saturating_sub(year.saturating_div(100))
            .saturating_add(year.saturating_div(400))
            .saturating_add(day_of_year)
            .saturating_sub(719_468);
        days.saturating_mul(86_400)
            .saturating_add(i64::from(self.hour).saturating_mul(3_600))
            .saturating_add(i64::from(self.minute).saturating_mul(60))
            .saturating_add(i64::from(self.second))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn converts_at_any_plausible_rate() {
        for hertz in [10_000_000_u64, 1_000_000_000, 3_456_789_012] {
            let clock = Clock::calibrate(500, hertz / 100, 11_932, 1_193_182).unwrap();
            let second = clock.nanoseconds(500 + hertz);
            assert!(
                second.abs_diff(1_000_000_000) < 100_000,
                "{hertz}: {second}"
            );
            assert_eq!(clock.nanoseconds(0), 0);
        }
    }

    #[test]
    fn never_goes_back_and_never_overflows() {
        let clock = Clock::calibrate(0, 24_000_000, 11_932, 1_193_182).unwrap();
        let century = 2_400_000_000_u64 * 86_400 * 36_525;
        let readings = [0, 1, 1 << 32, century, u64::MAX];
        let times = readings.map(|reading| clock.nanoseconds(reading));
        assert!(times.is_sorted());
        assert!(times[3].abs_diff(86_400 * 36_525 * 1_000_000_000) < times[3] / 1_000);
    }

    #[test]
    fn refuses_clocks_that_stand() {
        assert_eq!(
            Clock::calibrate(0, 1_000, 0, 1_193_182).unwrap_err(),
            CalibrationError::ReferenceStands
        );
        for counts in [0, 3, u64::MAX] {
            assert_eq!(
                Clock::calibrate(0, counts, 11_932, 1_193_182).unwrap_err(),
                CalibrationError::CounterImplausible
            );
        }
    }

    fn at(year: u16, month: u8, day: u8, hour: u8, minute: u8, second: u8) -> i64 {
        ChipTime {
            year,
            month,
            day,
            hour,
            minute,
            second,
        }
        .unix_seconds()
    }

    #[test]
    fn knows_the_calendar() {
        assert_eq!(at(1970, 1, 1, 0, 0, 0), 0);
        assert_eq!(at(2000, 2, 29, 12, 0, 0), 951_825_600);
        assert_eq!(at(2000, 3, 1, 0, 0, 0), 951_868_800);
        assert_eq!(at(2026, 11, 30, 1, 56, 7), 1_796_003_767);
        assert_eq!(at(2100, 3, 1, 0, 0, 0), 4_107_542_400);
    }

    #[test]
    fn decodes_both_codings_and_both_hour_systems() {
        let expected = ChipTime {
            year: 2026,
            month: 11,
            day: 30,
            hour: 13,
            minute: 45,
            second: 59,
        };
        let coded = [0x59, 0x45, 0x13, 0x30, 0x11, 0x26, 0x20];
        assert_eq!(ChipTime::decode(coded, 2), Some(expected));
        let binary = [59, 45, 13, 30, 11, 26, 20];
        assert_eq!(ChipTime::decode(binary, 6), Some(expected));
        let twelve_hours = [0x59, 0x45, 0x81, 0x30, 0x11, 0x26, 0x20];
        assert_eq!(ChipTime::decode(twelve_hours, 0), Some(expected));
    }

    #[test]
    fn refuses_what_is_no_date() {
        assert_eq!(ChipTime::decode([0xff; 7], 2), None);
        assert_eq!(ChipTime::decode([0; 7], 6), None);
        assert_eq!(ChipTime::decode([0, 0, 0, 1, 0x1a, 0, 0], 2), None);
    }
}
