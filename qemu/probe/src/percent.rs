//! Percent encoding, so that any bytes fit into one line of key=value words.

use alloc::string::String;
use alloc::vec::Vec;

/// Decodes `%41`; `None` if a `%` is not followed by two hex digits.
#[must_use]
pub fn decode(text: &str) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        if byte == b'%' {
            let high = hex_value(bytes.next()?)?;
            let low = hex_value(bytes.next()?)?;
            out.push((high << 4) | low);
        } else {
            out.push(byte);
        }
    }
    Some(out)
}

/// Encodes everything but visible ASCII, and of that `%` and `"`.
#[must_use]
pub fn encode(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len());
    for byte in bytes {
        if byte.is_ascii_graphic() && !matches!(byte, b'%' | b'"') {
            out.push(char::from(*byte));
        } else {
            out.push('%');
            for nibble in [byte >> 4, byte & 15] {
                out.push(char::from_digit(u32::from(nibble), 16).unwrap_or('0'));
            }
        }
    }
    out
}

fn hex_value(digit: u8) -> Option<u8> {
    char::from(digit)
        .to_digit(16)
        .and_then(|value| u8::try_from(value).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_comes_back() {
        let all: Vec<u8> = (0..=255).collect();
        let encoded = encode(&all);
        assert!(encoded.bytes().all(|byte| byte.is_ascii_graphic()));
        assert_eq!(decode(&encoded), Some(all));
    }

    #[test]
    fn a_broken_escape_is_refused() {
        for text in ["%", "%4", "%zz", "a%+1"] {
            assert_eq!(decode(text), None, "{text}");
        }
    }
}
