//! Finds the end of a request head, byte by byte and never twice over the same byte.
//!
//! A head that drips in costs the same as one that arrives at once. What may not stand in any head
//! is refused here, as early as it is seen: bare CR, bare LF, control bytes, folded lines; and a
//! request line is judged as soon as it is whole, so that a client that speaks something else is
//! told so without waiting for an empty line that it will never send.

use crate::http::fault::Fault;
use crate::http::head::RequestLine;

/// Empty lines before a request line that are forgiven (RFC 9112 §2.2 asks for at least one).
const EMPTY_LINES_MAX: u8 = 2;

/// The state of a scan over one head; survives between receives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct HeadScan {
    /// Bytes looked at so far, counted from where the head's input starts.
    seen: usize,
    /// Where the current line begins.
    line: usize,
    /// Where the request line begins.
    begin: usize,
    empty_lines: u8,
    request_line_seen: bool,
}

/// What a scan found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scanned {
    /// The head goes on.
    Partial,
    /// The head is `begin..end` of the input, empty line included.
    Whole {
        /// Where the request line begins.
        begin: usize,
        /// One past the last byte of the head.
        end: usize,
    },
}

impl HeadScan {
    /// A scan that has seen nothing.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            seen: 0,
            line: 0,
            begin: 0,
            empty_lines: 0,
            request_line_seen: false,
        }
    }

    /// Whether a request has begun: something other than empty lines was seen.
    #[must_use]
    pub const fn has_begun(&self) -> bool {
        self.seen > self.begin
    }

    /// What is too large when a head does not fit the buffer that `input` fills: the method, the
    /// target or the fields.
    #[must_use]
    pub fn overflow(&self, input: &[u8]) -> Fault {
        if self.request_line_seen {
            Fault::HeadTooLarge
        } else if input.contains(&b' ') {
            Fault::TargetTooLong
        } else {
            Fault::MethodTooLong
        }
    }

    /// Looks at the bytes of `input` that were not seen yet. `input` always starts at the same place.
    ///
    /// # Errors
    /// The [`Fault`] that makes this head unacceptable whatever follows.
    pub fn advance(&mut self, input: &[u8]) -> Result<Scanned, Fault> {
        while let Some(&byte) = input.get(self.seen) {
            match byte {
                b'\r' => match input.get(self.seen.saturating_add(1)) {
                    None => return Ok(Scanned::Partial),
                    Some(b'\n') => {
                        if let Some(whole) = self.end_line(input)? {
                            return Ok(whole);
                        }
                        continue;
                    }
                    Some(_) => return Err(Fault::BareCarriageReturn),
                },
                b'\n' => return Err(Fault::BareLineFeed),
                b'\t' | b' ' if self.seen == self.line => {
                    return Err(if self.request_line_seen {
                        Fault::FoldedHeader
                    } else {
                        Fault::RequestLine
                    });
                }
                b'\t' => {}
                0..=0x1f | 0x7f => return Err(Fault::ControlByte),
                _ => {}
            }
            self.seen = self.seen.saturating_add(1);
        }
        Ok(Scanned::Partial)
    }

    /// Takes the CRLF at `seen`; says whether the head ends with it.
    fn end_line(&mut self, input: &[u8]) -> Result<Option<Scanned>, Fault> {
        let empty = self.seen == self.line;
        let line = input.get(self.line..self.seen).unwrap_or_default();
        self.seen = self.seen.saturating_add(2);
        self.line = self.seen;
        if empty && self.request_line_seen {
            return Ok(Some(Scanned::Whole {
                begin: self.begin,
                end: self.seen,
            }));
        }
        if empty {
            self.begin = self.seen;
            self.empty_lines = self.empty_lines.saturating_add(1);
            return if self.empty_lines > EMPTY_LINES_MAX {
                Err(Fault::EmptyLines)
            } else {
                Ok(None)
            };
        }
        if !self.request_line_seen {
            RequestLine::parse(line)?;
            self.request_line_seen = true;
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scan(input: &[u8]) -> Result<Scanned, Fault> {
        HeadScan::new().advance(input)
    }

    #[test]
    fn a_head_is_found_however_it_is_split() {
        let input = b"\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\nrest";
        let whole = Ok(Scanned::Whole { begin: 2, end: 29 });
        assert_eq!(scan(input), whole);
        let mut drip = HeadScan::new();
        for end in 0..29 {
            assert_eq!(drip.advance(&input[..end]), Ok(Scanned::Partial), "{end}");
        }
        assert_eq!(drip.advance(&input[..29]), whole);
    }

    #[test]
    fn bytes_that_no_head_may_hold_are_refused_at_once() {
        for (input, fault) in [
            (&b"GET / HTTP/1.1\nHost: a\r\n\r\n"[..], Fault::BareLineFeed),
            (b"GET / HTTP/1.1\r\nHost: a\n\n", Fault::BareLineFeed),
            (b"GET / HTTP/1.1\r\nA: b\rc\r\n", Fault::BareCarriageReturn),
            (b"GET / HTTP/1.1\r\nA: b\0", Fault::ControlByte),
            (b"GET / HTTP/1.1\r\nA: b\x7f", Fault::ControlByte),
            (b"GET / HTTP/1.1\r\nA: b\x0b", Fault::ControlByte),
            (b"GET / HTTP/1.1\r\nA: b\r\n c", Fault::FoldedHeader),
            (b"GET / HTTP/1.1\r\n\tHost: a", Fault::FoldedHeader),
            (b" GET / HTTP/1.1", Fault::RequestLine),
            (b"\r\n\r\n\r\nGET", Fault::EmptyLines),
            (b"\x16\x03\x01\x02\x00\x01", Fault::ControlByte),
            (b"GET /\r\n", Fault::RequestLine),
        ] {
            assert_eq!(scan(input), Err(fault), "{}", input.escape_ascii());
        }
    }

    #[test]
    fn a_request_has_begun_only_after_its_empty_lines() {
        let mut scan = HeadScan::new();
        scan.advance(b"\r\n").unwrap();
        assert!(!scan.has_begun());
        scan.advance(b"\r\nG").unwrap();
        assert!(scan.has_begun());
    }

    #[test]
    fn an_overflow_is_the_methods_the_targets_or_the_fields() {
        let mut scan = HeadScan::new();
        for (input, expected) in [
            (&b"GETGET"[..], Fault::MethodTooLong),
            (b"GETGET /aaaa", Fault::TargetTooLong),
            (b"GETGET /aaaa HTTP/1.1\r\nA: ", Fault::HeadTooLarge),
        ] {
            scan.advance(input).unwrap();
            assert_eq!(scan.overflow(input), expected);
        }
    }
}
