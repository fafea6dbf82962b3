//! Takes a request body out of a connection's input, in place, bounded on every side (INV-FRAMING).
//!
//! Decoded bytes move to the front of the input, over what was read before them; so a body needs no
//! memory of its own, and what follows it (a pipelined request) stays where it is.

use crate::http::fault::Fault;
use crate::http::framing::BodyFraming;
use crate::http::method::is_token_byte;

/// Most bytes of chunk size lines, extensions and trailers in one body.
pub const OVERHEAD_MAX: usize = 1024;

/// What of a body comes next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Awaited {
    /// This many bytes of a `Content-Length` body are still to come.
    Counted(usize),
    /// In a chunk size, before any extension.
    Size {
        value: usize,
        digits: u8,
    },
    /// In white space after a chunk size, which only an extension may follow.
    SizeSpace {
        value: usize,
    },
    /// In a chunk extension, which is skipped: whatever it says, it ends with its line.
    Extension {
        value: usize,
    },
    /// After the CR of a size line.
    SizeEnd {
        value: usize,
    },
    /// This many bytes of a chunk are still to come.
    Data(usize),
    /// At the CR, then at the LF after a chunk.
    DataCr,
    DataLf,
    /// At the start of a trailer line, in its name, in its value, after its CR, after the CR of the
    /// last (empty) line.
    TrailerStart,
    TrailerName,
    Trailer,
    TrailerLf,
    LastLf,
    /// All of it was read.
    Done,
}

/// The decoder of one body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BodyReader {
    awaited: Awaited,
    decoded: usize,
    overhead: usize,
    limit: usize,
}

/// How far a body has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BodyProgress {
    /// More must be received; the input is used up.
    Partial,
    /// The body is the first `decoded` bytes; the next request starts behind what was read.
    Whole,
}

impl BodyReader {
    /// A reader for a body of at most `limit` bytes.
    ///
    /// Chunks may turn out to be none at all: that is how a proxy passes on a request that came to it
    /// without a length and without a body. So a limit of zero refuses the first byte, not the coding.
    ///
    /// # Errors
    /// [`Fault::BodyTooLarge`] if the head already announces more.
    pub fn new(framing: BodyFraming, limit: usize) -> Result<Self, Fault> {
        let awaited = match framing {
            BodyFraming::None => Awaited::Done,
            BodyFraming::Length(length) => match usize::try_from(length) {
                Ok(length) if length <= limit => Awaited::Counted(length),
                _ => return Err(Fault::BodyTooLarge),
            },
            BodyFraming::Chunked => Awaited::Size {
                value: 0,
                digits: 0,
            },
        };
        Ok(Self {
            awaited,
            decoded: 0,
            overhead: 0,
            limit,
        })
    }

    /// Body bytes decoded so far.
    #[must_use]
    pub const fn decoded(&self) -> usize {
        self.decoded
    }

    /// Whether all of the body was read.
    #[must_use]
    pub const fn is_done(&self) -> bool {
        matches!(self.awaited, Awaited::Done)
    }

    /// Reads from `input[*read..]`, moving decoded bytes down to `input[..decoded]`.
    ///
    /// `*read` is advanced over what was used; it never falls behind `decoded`.
    ///
    /// # Errors
    /// The [`Fault`] that ends the connection.
    pub fn advance(&mut self, input: &mut [u8], read: &mut usize) -> Result<BodyProgress, Fault> {
        loop {
            match self.awaited {
                Awaited::Done => return Ok(BodyProgress::Whole),
                Awaited::Counted(left) => {
                    let left = self.take(input, read, left);
                    self.awaited = if left == 0 {
                        Awaited::Done
                    } else {
                        Awaited::Counted(left)
                    };
                    if left > 0 {
                        return Ok(BodyProgress::Partial);
                    }
                }
                Awaited::Data(left) => {
                    let left = self.take(input, read, left);
                    self.awaited = if left == 0 {
                        Awaited::DataCr
                    } else {
                        Awaited::Data(left)
                    };
                    if left > 0 {
                        return Ok(BodyProgress::Partial);
                    }
                }
                awaited => {
                    let Some(byte) = input.get(*read).copied() else {
                        return Ok(BodyProgress::Partial);
                    };
                    *read = read.saturating_add(1);
                    self.overhead = self.overhead.saturating_add(1);
                    if self.overhead > OVERHEAD_MAX {
                        return Err(Fault::ChunkOverhead);
                    }
                    self.awaited = self.step(awaited, byte)?;
                }
            }
        }
    }

    /// Moves up to `left` body bytes to the front; returns how many are still to come.
    fn take(&mut self, input: &mut [u8], read: &mut usize, left: usize) -> usize {
        let here = input.len().saturating_sub(*read).min(left);
        let end = read.saturating_add(here);
        if end <= input.len() && self.decoded <= *read {
            input.copy_within(*read..end, self.decoded);
        }
        *read = end;
        self.decoded = self.decoded.saturating_add(here);
        left.saturating_sub(here)
    }

    /// One byte of chunk framing (RFC 9112 §7.1).
    fn step(&self, awaited: Awaited, byte: u8) -> Result<Awaited, Fault> {
        Ok(match (awaited, byte) {
            (Awaited::Size { value, digits }, digit) if digit.is_ascii_hexdigit() => {
                let digit = (digit as char).to_digit(16).unwrap_or(0) as usize;
                let value = value.saturating_mul(16).saturating_add(digit);
                if digits >= 16 {
                    return Err(Fault::ChunkInvalid);
                }
                if self.decoded.saturating_add(value) > self.limit {
                    return Err(Fault::BodyTooLarge);
                }
                Awaited::Size {
                    value,
                    digits: digits.saturating_add(1),
                }
            }
            (Awaited::Size { digits: 0, .. }, _) => return Err(Fault::ChunkInvalid),
            (Awaited::Size { value, .. } | Awaited::Extension { value }, b'\r') => {
                Awaited::SizeEnd { value }
            }
            (Awaited::Size { value, .. } | Awaited::SizeSpace { value }, b';') => {
                Awaited::Extension { value }
            }
            (Awaited::Size { value, .. } | Awaited::SizeSpace { value }, b' ' | b'\t') => {
                Awaited::SizeSpace { value }
            }
            (Awaited::Extension { value }, b'\t' | b' '..=b'~' | 0x80..) => {
                Awaited::Extension { value }
            }
            (Awaited::SizeEnd { value: 0 }, b'\n') => Awaited::TrailerStart,
            (Awaited::SizeEnd { value }, b'\n') => Awaited::Data(value),
            (Awaited::DataCr, b'\r') => Awaited::DataLf,
            (Awaited::DataLf, b'\n') => Awaited::Size {
                value: 0,
                digits: 0,
            },
            (Awaited::TrailerStart, b'\r') => Awaited::LastLf,
            (Awaited::TrailerStart | Awaited::TrailerName, name) if is_token_byte(name) => {
                Awaited::TrailerName
            }
            (Awaited::TrailerName, b':') => Awaited::Trailer,
            (Awaited::Trailer, b'\r') => Awaited::TrailerLf,
            (Awaited::Trailer, b'\t' | b' '..=b'~' | 0x80..) => Awaited::Trailer,
            (Awaited::TrailerLf, b'\n') => Awaited::TrailerStart,
            (Awaited::LastLf, b'\n') => Awaited::Done,
            _ => return Err(Fault::ChunkInvalid),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Feeds `wire` in pieces of `piece` bytes; returns body and leftover.
    fn read(
        framing: BodyFraming,
        wire: &[u8],
        piece: usize,
        limit: usize,
    ) -> Result<(Vec<u8>, Vec<u8>), Fault> {
        let mut reader = BodyReader::new(framing, limit)?;
        let mut input = Vec::new();
        let mut at = 0;
        let mut pieces = wire.chunks(piece);
        loop {
            if reader.advance(&mut input, &mut at)? == BodyProgress::Whole {
                let mut left = input.split_off(at);
                left.extend(pieces.flatten());
                input.truncate(reader.decoded());
                return Ok((input, left));
            }
            input.extend_from_slice(pieces.next().expect("the body never ended"));
        }
    }

    #[test]
    fn a_chunked_body_decodes_however_it_is_split() {
        let wire =
            b"5 \t;a\r\nhello\r\n1;ext=\"a b\"\r\n,\r\n00006\r\n world\r\n0\r\nTrailer: x\r\n\r\nGET";
        for piece in 1..wire.len() {
            let (body, left) = read(BodyFraming::Chunked, wire, piece, 100).unwrap();
            assert_eq!(
                (&body[..], &left[..]),
                (&b"hello, world"[..], &b"GET"[..]),
                "{piece}"
            );
        }
    }

    #[test]
    fn a_counted_body_leaves_what_follows() {
        for piece in 1..8 {
            let (body, left) = read(BodyFraming::Length(5), b"helloGET", piece, 5).unwrap();
            assert_eq!((&body[..], &left[..]), (&b"hello"[..], &b"GET"[..]));
        }
    }

    #[test]
    fn malformed_chunks_are_refused() {
        for wire in [
            &b"\r\n"[..],
            b";\r\n",
            b"g\r\n",
            b"-1\r\n",
            b"+1\r\n",
            b"0x1\r\n",
            b" 1\r\n",
            b"1 \r\n",
            b"1\t\r\n",
            b"1 2\r\n",
            b"1 a;b\r\n",
            b" ;a\r\n",
            b"1;a\n",
            b"1;a\rb\r\n",
            b"1;a=\"\r\"\r\n",
            b"1\n",
            b"1\r\r",
            b"1\r\nab",
            b"1\r\na\n",
            b"1\r\na\rb",
            b"0\r\n\n",
            b"0\r\n a: b",
            b"0\r\nA: b\n",
            b"0\r\nA : b\r\n\r\n",
            b"0\r\nA\r\n\r\n",
            b"0\r\n: b\r\n\r\n",
            b"1;\0",
            b"00000000000000001\r\n",
        ] {
            assert_eq!(
                read(BodyFraming::Chunked, wire, 64, 100),
                Err(Fault::ChunkInvalid),
                "{}",
                wire.escape_ascii()
            );
        }
    }

    #[test]
    fn a_body_larger_than_the_limit_is_refused_before_it_arrives() {
        assert_eq!(
            BodyReader::new(BodyFraming::Length(6), 5),
            Err(Fault::BodyTooLarge)
        );
        assert_eq!(
            BodyReader::new(BodyFraming::Length(u64::MAX), 5),
            Err(Fault::BodyTooLarge)
        );
        for first in ["1", "1\r\na\r\n", "00a\r\n", "f;x\r\n"] {
            assert_eq!(
                read(BodyFraming::Chunked, first.as_bytes(), 1, 0),
                Err(Fault::BodyTooLarge),
                "{first}"
            );
        }
        assert_eq!(
            read(BodyFraming::Chunked, b"6\r\n", 64, 5),
            Err(Fault::BodyTooLarge)
        );
        assert_eq!(
            read(BodyFraming::Chunked, b"3\r\nabc\r\n3\r\n", 64, 5),
            Err(Fault::BodyTooLarge)
        );
        assert_eq!(
            read(BodyFraming::Chunked, b"ffffffffffffffff\r\n", 64, 5),
            Err(Fault::BodyTooLarge)
        );
    }

    #[test]
    fn no_chunks_are_no_body() {
        for wire in ["0\r\n\r\nGET", "000;x\r\nA: b\r\n\r\nGET"] {
            let (body, left) = read(BodyFraming::Chunked, wire.as_bytes(), 1, 0).unwrap();
            assert_eq!((&body[..], &left[..]), (&b""[..], &b"GET"[..]), "{wire}");
        }
    }

    #[test]
    fn extensions_and_trailers_are_bounded() {
        let long = [b"1;", &[b'a'; OVERHEAD_MAX][..]].concat();
        assert_eq!(
            read(BodyFraming::Chunked, &long, 64, 100),
            Err(Fault::ChunkOverhead)
        );
        let trailers = [b"0\r\n", &b"A: b\r\n".repeat(200)[..]].concat();
        assert_eq!(
            read(BodyFraming::Chunked, &trailers, 64, 100),
            Err(Fault::ChunkOverhead)
        );
        let tiny = b"1\r\na\r\n".repeat(300);
        assert_eq!(
            read(BodyFraming::Chunked, &tiny, 64, 1000),
            Err(Fault::ChunkOverhead)
        );
    }
}
