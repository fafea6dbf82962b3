//! A response head, read strictly: what a lax reader would forgive is a defect here.

use std::fmt;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Response {
    pub(crate) status: u16,
    /// Header names in lower case, with their values, in order.
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Malformed(pub(crate) String);

impl fmt::Display for Malformed {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "malformed response: {}", self.0)
    }
}

/// How the body of a response is delimited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Framing {
    /// This many bytes.
    Length(usize),
    /// Until the connection is closed.
    UntilClose,
}

impl Response {
    /// The first header of that name (lower case).
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(key, _)| key == name);
        found.map(|(_, value)| value.as_str())
    }

    /// The body as text, with what is not UTF-8 replaced.
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    pub(crate) fn json(&self) -> Option<serde_json::Value> {
        serde_json::from_slice(&self.body).ok()
    }

    /// Whether the server says that it closes the connection.
    pub(crate) fn closes(&self) -> bool {
        self.header("connection")
            .is_some_and(|value| value.eq_ignore_ascii_case("close"))
    }

    /// Reads a complete head (with its empty line) of a response to a request that was, or
    /// was not, `HEAD`.
    pub(crate) fn parse_head(head: &[u8], to_head: bool) -> Result<(Self, Framing), Malformed> {
        let bad = |what: &str| Malformed(what.to_owned());
        let text = std::str::from_utf8(head).map_err(|_| bad("head is not UTF-8"))?;
        let mut lines = text.split("\r\n");
        let status_line = lines.next().unwrap_or_default();
        let status = status_line
            .strip_prefix("HTTP/1.1 ")
            .or_else(|| status_line.strip_prefix("HTTP/1.0 "))
            .and_then(|rest| rest.get(..3))
            .and_then(|code| code.parse().ok())
            .ok_or_else(|| Malformed(format!("status line `{status_line}`")))?;
        let mut headers = Vec::new();
        for line in lines.take_while(|line| !line.is_empty()) {
            let (name, value) = line
                .split_once(':')
                .ok_or_else(|| Malformed(format!("header line `{line}`")))?;
            if name.is_empty() || name.contains([' ', '\t', '\r', '\n']) {
                return Err(Malformed(format!("header name `{name}`")));
            }
            headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
        }
        let response = Self {
            status,
            headers,
            body: Vec::new(),
        };
        let framing = response.framing(to_head)?;
        Ok((response, framing))
    }

    fn framing(&self, to_head: bool) -> Result<Framing, Malformed> {
        let bodiless = to_head || matches!(self.status, 100..=199 | 204 | 304);
        if self.header("transfer-encoding").is_some() {
            return Err(Malformed("a transfer coding that was not asked for".into()));
        }
        let mut lengths = self
            .headers
            .iter()
            .filter(|(key, _)| key == "content-length");
        let length = match (lengths.next(), lengths.next()) {
            (_, Some(_)) => return Err(Malformed("two Content-Length headers".into())),
            (Some((_, value)), None) => Some(
                value
                    .parse()
                    .map_err(|_| Malformed(format!("Content-Length `{value}`")))?,
            ),
            (None, None) => None,
        };
        Ok(match (bodiless, length) {
            (true, _) => Framing::Length(0),
            (false, Some(length)) => Framing::Length(length),
            (false, None) => Framing::UntilClose,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_is_read_with_its_framing() {
        let head = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nX-Y:  z \r\n\r\n";
        let (response, framing) = Response::parse_head(head, false).unwrap();
        assert_eq!((response.status, framing), (200, Framing::Length(5)));
        assert_eq!(response.header("x-y"), Some("z"));
        let (_, framing) = Response::parse_head(head, true).unwrap();
        assert_eq!(framing, Framing::Length(0));
    }

    #[test]
    fn what_a_lax_reader_would_forgive_is_malformed() {
        for head in [
            &b"HTTP/2 200 OK\r\n\r\n"[..],
            b"HTTP/1.1 2x0 OK\r\n\r\n",
            b"HTTP/1.1 200 OK\r\nno colon\r\n\r\n",
            b"HTTP/1.1 200 OK\r\nspace : x\r\n\r\n",
            b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
            b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
        ] {
            assert!(Response::parse_head(head, false).is_err());
        }
    }
}
