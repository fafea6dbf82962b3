//! How a request body is delimited, and nothing that two parsers could read differently (INV-FRAMING).
//!
//! Every disagreement between `Content-Length` and `Transfer-Encoding`, or within one of them, is how
//! a request is smuggled past a proxy; so each is refused instead of repaired (RFC 9112 §6.3, §11.2).

use crate::http::fault::Fault;
use crate::http::head::Version;

/// The delimitation of a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BodyFraming {
    /// No body.
    None,
    /// So many bytes, at least one.
    Length(u64),
    /// Chunks.
    Chunked,
}

/// The framing fields of one head, as they are met.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FramingFields {
    length: Option<u64>,
    chunked: bool,
}

impl FramingFields {
    /// Takes one `Content-Length` field.
    ///
    /// # Errors
    /// A second one, or anything but decimal digits. A number beyond 64 bits counts as the largest.
    pub fn content_length(&mut self, value: &[u8]) -> Result<(), Fault> {
        if self.length.is_some() {
            return Err(Fault::LengthRepeated);
        }
        self.length = Some(parse_decimal(value).ok_or(Fault::LengthInvalid)?);
        Ok(())
    }

    /// Takes one `Transfer-Encoding` field.
    ///
    /// A list may have empty elements (RFC 9110 §5.6.1), which nobody sends here but to find out who
    /// counts them; with one, the last coding is not `chunked`.
    ///
    /// # Errors
    /// Anything but `chunked`, exactly once.
    pub fn transfer_encoding(&mut self, value: &[u8]) -> Result<(), Fault> {
        if self.chunked {
            return Err(Fault::CodingInvalid);
        }
        if value.eq_ignore_ascii_case(b"chunked") {
            self.chunked = true;
            return Ok(());
        }
        let mut codings = value.split(|byte| *byte == b',').map(<[u8]>::trim_ascii);
        let last = codings.next_back().unwrap_or_default();
        let ends_once = last.eq_ignore_ascii_case(b"chunked")
            && codings.all(|coding| !coding.is_empty() && !coding.eq_ignore_ascii_case(b"chunked"));
        Err(if ends_once {
            Fault::CodingUnknown
        } else {
            Fault::CodingInvalid
        })
    }

    /// The body's framing.
    ///
    /// # Errors
    /// Both fields together, or chunks in HTTP/1.0.
    pub const fn resolve(self, version: Version) -> Result<BodyFraming, Fault> {
        match (self.chunked, self.length, version) {
            (true, Some(_), _) => Err(Fault::LengthAndCoding),
            (true, None, Version::Http10) => Err(Fault::CodingInOldVersion),
            (true, None, Version::Http11) => Ok(BodyFraming::Chunked),
            (false, None | Some(0), _) => Ok(BodyFraming::None),
            (false, Some(length), _) => Ok(BodyFraming::Length(length)),
        }
    }
}

/// A run of decimal digits and nothing else; saturates at the largest number.
#[must_use]
pub fn parse_decimal(text: &[u8]) -> Option<u64> {
    if text.is_empty() {
        return None;
    }
    text.iter().try_fold(0u64, |number, byte| match byte {
        b'0'..=b'9' => Some(
            number
                .saturating_mul(10)
                .saturating_add(u64::from(byte.saturating_sub(b'0'))),
        ),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lengths(values: &[&str]) -> Result<BodyFraming, Fault> {
        let mut fields = FramingFields::default();
        for value in values {
            fields.content_length(value.as_bytes())?;
        }
        fields.resolve(Version::Http11)
    }

    fn codings(values: &[&str]) -> Result<BodyFraming, Fault> {
        let mut fields = FramingFields::default();
        for value in values {
            fields.transfer_encoding(value.as_bytes())?;
        }
        fields.resolve(Version::Http11)
    }

    #[test]
    fn content_length_is_one_decimal_number() {
        assert_eq!(lengths(&["0"]), Ok(BodyFraming::None));
        assert_eq!(lengths(&["007"]), Ok(BodyFraming::Length(7)));
        assert_eq!(
            lengths(&["99999999999999999999999"]),
            Ok(BodyFraming::Length(u64::MAX))
        );
        for bad in [
            "", "+5", "-5", "5,5", "5, 5", "5 5", "0x5", "5.", "\u{665}", "5;a",
        ] {
            assert_eq!(lengths(&[bad]), Err(Fault::LengthInvalid), "{bad}");
        }
    }

    #[test]
    fn content_length_is_refused_when_repeated_even_if_equal() {
        assert_eq!(lengths(&["5", "5"]), Err(Fault::LengthRepeated));
        assert_eq!(lengths(&["5", "6"]), Err(Fault::LengthRepeated));
    }

    #[test]
    fn transfer_encoding_is_chunked_once() {
        assert_eq!(codings(&["chunked"]), Ok(BodyFraming::Chunked));
        assert_eq!(codings(&["CHUNKED"]), Ok(BodyFraming::Chunked));
        for bad in [
            "",
            "chunked, chunked",
            "chunked, identity",
            "chunked,",
            ",chunked",
            "xchunked",
            "identity",
            "chunked;q=1",
        ] {
            assert_eq!(codings(&[bad]), Err(Fault::CodingInvalid), "{bad}");
        }
        assert_eq!(codings(&["gzip, chunked"]), Err(Fault::CodingUnknown));
        assert_eq!(codings(&["gzip"]), Err(Fault::CodingInvalid));
        assert_eq!(codings(&["chunked", "chunked"]), Err(Fault::CodingInvalid));
        assert_eq!(codings(&["chunked", "identity"]), Err(Fault::CodingInvalid));
    }

    #[test]
    fn length_and_coding_together_are_refused_in_either_order() {
        let mut fields = FramingFields::default();
        fields.content_length(b"0").unwrap();
        fields.transfer_encoding(b"chunked").unwrap();
        assert_eq!(fields.resolve(Version::Http11), Err(Fault::LengthAndCoding));
        assert_eq!(fields.resolve(Version::Http10), Err(Fault::LengthAndCoding));
    }

    #[test]
    fn http_1_0_has_no_chunks() {
        let mut fields = FramingFields::default();
        fields.transfer_encoding(b"chunked").unwrap();
        assert_eq!(
            fields.resolve(Version::Http10),
            Err(Fault::CodingInOldVersion)
        );
    }
}
