//! The `Date` field: seconds since 1970 as an IMF-fixdate (RFC 9110 §5.6.7).

/// A rendered date, `Sun, 06 Nov 1994 08:49:37 GMT`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HttpDate {
    second: u64,
    text: [u8; 29],
}

const WEEKDAYS: [&[u8; 3]; 7] = [b"Thu", b"Fri", b"Sat", b"Sun", b"Mon", b"Tue", b"Wed"];
const MONTHS: [&[u8; 3]; 12] = [
    b"Jan", b"Feb", b"Mar", b"Apr", b"May", b"Jun", b"Jul", b"Aug", b"Sep", b"Oct", b"Nov", b"Dec",
];
const SECONDS_PER_DAY: u64 = 86_400;
/// 9999-12-31T23:59:59Z: the last second that four digits of year can say.
const LAST_SECOND: u64 = 253_402_300_799;

impl HttpDate {
    /// The date of a Unix time in seconds; times past the year 9999 stay there.
    #[must_use]
    pub fn from_unix_seconds(second: u64) -> Self {
        let clamped = second.min(LAST_SECOND);
        let (days, of_day) = (clamped / SECONDS_PER_DAY, clamped % SECONDS_PER_DAY);
        let (year, month, day) = civil_from_days(days);
        let mut text = *b"Thu, 01 Jan 1970 00:00:00 GMT";
        let weekday = WEEKDAYS
            .get(usize::try_from(days % 7).unwrap_or(0))
            .copied()
            .unwrap_or(b"Thu");
        put(&mut text, 0, weekday);
        put_digits(&mut text, 5, 2, day);
        put(
            &mut text,
            8,
            MONTHS
                .get(usize::try_from(month).unwrap_or(0))
                .copied()
                .unwrap_or(b"Jan"),
        );
        put_digits(&mut text, 12, 4, year);
        put_digits(&mut text, 17, 2, of_day / 3600);
        put_digits(&mut text, 20, 2, of_day / 60 % 60);
        put_digits(&mut text, 23, 2, of_day % 60);
        Self { second, text }
    }

    /// The Unix time that this is the date of.
    #[must_use]
    pub const fn unix_seconds(&self) -> u64 {
        self.second
    }

    /// The 29 bytes of the field value.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 29] {
        &self.text
    }
}

fn put(text: &mut [u8; 29], at: usize, bytes: &[u8]) {
    for (to, from) in text.iter_mut().skip(at).zip(bytes) {
        *to = *from;
    }
}

fn put_digits(text: &mut [u8; 29], at: usize, width: usize, mut number: u64) {
    for to in text.iter_mut().skip(at).take(width).rev() {
        *to = b'0'.saturating_add(u8::try_from(number % 10).unwrap_or(0));
        number /= 10;
    }
}

/// Year, month (0 = January) and day of a day number counted from 1970-01-01.
fn civil_from_days(days: u64) -> (u64, u64, u64) {
    let mut left = days;
    let mut year: u64 = 1970;
    // Whole 400-year spans first, so that the loop below is short.
    year = year.saturating_add((left / 146_097).saturating_mul(400));
    left %= 146_097;
    loop {
        let length = if is_leap(year) { 366 } else { 365 };
        if left < length {
            break;
        }
        left = left.saturating_sub(length);
        year = year.saturating_add(1);
    }
    let february = if is_leap(year) { 29 } else { 28 };
    let mut month: u64 = 0;
    for length in [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] {
        if left < length {
            break;
        }
        left = left.saturating_sub(length);
        month = month.saturating_add(1);
    }
    (year, month, left.saturating_add(1))
}

const fn is_leap(year: u64) -> bool {
    year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_dates() {
        for (second, expected) in [
            (0, "Thu, 01 Jan 1970 00:00:00 GMT"),
            (784_111_777, "Sun, 06 Nov 1994 08:49:37 GMT"),
            (951_782_400, "Tue, 29 Feb 2000 00:00:00 GMT"),
            (1_709_164_800, "Thu, 29 Feb 2024 00:00:00 GMT"),
            (4_107_542_399, "Sun, 28 Feb 2100 23:59:59 GMT"),
            (4_107_542_400, "Mon, 01 Mar 2100 00:00:00 GMT"),
            (LAST_SECOND, "Fri, 31 Dec 9999 23:59:59 GMT"),
            (u64::MAX, "Fri, 31 Dec 9999 23:59:59 GMT"),
        ] {
            assert_eq!(
                core::str::from_utf8(HttpDate::from_unix_seconds(second).as_bytes()),
                Ok(expected)
            );
        }
    }
}
