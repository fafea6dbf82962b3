//! The bytes of a request, made once for a whole command.

use alloc::format;
use alloc::vec::Vec;

use crate::answer::Expect;
use crate::command::Reuse;
use crate::target::Target;

/// A request ready to be sent, any number of times.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Request {
    /// What goes out.
    pub bytes: Vec<u8>,
    /// What its answer may have.
    pub expect: Expect,
}

impl Default for Request {
    fn default() -> Self {
        Self::raw(Vec::new())
    }
}

impl Request {
    /// Any bytes, taken for a request whose answer has a body.
    #[must_use]
    pub fn raw(bytes: Vec<u8>) -> Self {
        let expect = if bytes.starts_with(b"HEAD ") {
            Expect::HeadOnly
        } else {
            Expect::Body
        };
        Self { bytes, expect }
    }

    /// A GET without more than it needs.
    #[must_use]
    pub fn get(path: &str, target: Target, reuse: Reuse) -> Self {
        Self::build("GET", path.as_bytes(), target, reuse, &[], None)
    }

    /// A request in its usual form; `headers` are whole lines.
    #[must_use]
    pub fn build(
        method: &str,
        path: &[u8],
        target: Target,
        reuse: Reuse,
        headers: &[u8],
        body: Option<&[u8]>,
    ) -> Self {
        let [a, b, c, d] = target.address;
        let mut bytes = Vec::with_capacity(256);
        bytes.extend_from_slice(method.as_bytes());
        bytes.push(b' ');
        bytes.extend_from_slice(path);
        let host = format!(" HTTP/1.1\r\nHost: {a}.{b}.{c}.{d}:{}\r\n", target.port);
        bytes.extend_from_slice(host.as_bytes());
        if reuse == Reuse::Fresh {
            bytes.extend_from_slice(b"Connection: close\r\n");
        }
        bytes.extend_from_slice(headers);
        if let Some(body) = body {
            let length = format!("Content-Length: {}\r\n", body.len());
            bytes.extend_from_slice(length.as_bytes());
        }
        bytes.extend_from_slice(b"\r\n");
        bytes.extend_from_slice(body.unwrap_or(&[]));
        Self::raw(bytes)
    }

    /// So many of them behind each other.
    #[must_use]
    pub fn repeated(&self, times: u32) -> Vec<u8> {
        let mut all = Vec::new();
        for _ in 0..times {
            all.extend_from_slice(&self.bytes);
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fresh_connection_says_that_it_closes() {
        let text = |reuse| Request::get("/healthz", Target::PROVIDER, reuse).bytes;
        assert_eq!(
            text(Reuse::Fresh),
            b"GET /healthz HTTP/1.1\r\nHost: 10.0.3.15:8081\r\nConnection: close\r\n\r\n"
        );
        assert_eq!(
            text(Reuse::KeepAlive),
            b"GET /healthz HTTP/1.1\r\nHost: 10.0.3.15:8081\r\n\r\n"
        );
    }

    #[test]
    fn a_head_request_expects_no_body() {
        let request = Request::build("HEAD", b"/", Target::LOCAL, Reuse::Fresh, &[], None);
        assert_eq!(request.expect, Expect::HeadOnly);
    }

    #[test]
    fn repeated_requests_stand_behind_each_other() {
        let one = Request::raw(b"ab".to_vec());
        assert_eq!(one.repeated(3), b"ababab");
    }
}
