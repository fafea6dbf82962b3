//! Puts text together in fixed buffers; a text that does not fit is noticed, never cut silently.

use core::fmt;

/// A writer into a borrowed buffer.
#[derive(Debug)]
pub struct Text<'a> {
    buffer: &'a mut [u8],
    length: usize,
    overflowed: bool,
}

impl<'a> Text<'a> {
    /// An empty text over `buffer`.
    pub const fn new(buffer: &'a mut [u8]) -> Self {
        Self {
            buffer,
            length: 0,
            overflowed: false,
        }
    }

    /// Appends bytes; if they do not fit, none of them are, and the text stays overflowed.
    pub fn bytes(&mut self, bytes: &[u8]) -> &mut Self {
        let end = self.length.saturating_add(bytes.len());
        match self.buffer.get_mut(self.length..end) {
            Some(to) if !self.overflowed => {
                to.copy_from_slice(bytes);
                self.length = end;
            }
            _ => self.overflowed = true,
        }
        self
    }

    /// Appends a string.
    pub fn text(&mut self, text: &str) -> &mut Self {
        self.bytes(text.as_bytes())
    }

    /// Appends a number in decimal.
    pub fn number(&mut self, number: u64) -> &mut Self {
        let mut digits = [0u8; 20];
        let mut left = number;
        let mut count: usize = 0;
        for digit in digits.iter_mut().rev() {
            *digit = b'0'.saturating_add(u8::try_from(left % 10).unwrap_or(0));
            left /= 10;
            count = count.saturating_add(1);
            if left == 0 {
                break;
            }
        }
        let start = digits.len().saturating_sub(count);
        self.bytes(digits.get(start..).unwrap_or_default())
    }

    /// Bytes written so far.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.length
    }

    /// Whether nothing was written.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Bytes for which there is still room.
    #[must_use]
    pub const fn room(&self) -> usize {
        self.buffer.len().saturating_sub(self.length)
    }

    /// The length of the text, or `None` if something did not fit.
    #[must_use]
    pub const fn finish(&self) -> Option<usize> {
        if self.overflowed {
            None
        } else {
            Some(self.length)
        }
    }
}

impl fmt::Write for Text<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.text(text);
        if self.overflowed {
            Err(fmt::Error)
        } else {
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_decimal() {
        for number in [0, 7, 10, 4096, u64::MAX] {
            let mut buffer = [0; 32];
            let mut text = Text::new(&mut buffer);
            let length = text.number(number).finish().unwrap();
            assert_eq!(
                std::str::from_utf8(&buffer[..length]).unwrap(),
                number.to_string()
            );
        }
    }

    #[test]
    fn an_overflow_is_noticed_and_stays() {
        let mut buffer = [0; 4];
        let mut text = Text::new(&mut buffer);
        assert_eq!(text.text("abc").finish(), Some(3));
        assert_eq!(text.text("de").finish(), None);
        assert_eq!(text.text("f").finish(), None);
        assert_eq!(&buffer, b"abc\0");
    }
}
