//! A connection that is in the middle of a request at all times: it keeps its permit for as
//! long as the service lets a head take, which is less where its lane is full.

use std::net::SocketAddr;

use crate::http::response::Response;
use crate::http::wire::{Ending, Wire};

/// What ends a head.
const END: &[u8] = b"\r\n";

/// A connection whose next request lacks only the end of its head.
pub(crate) struct Pinned {
    wire: Wire,
    head: Vec<u8>,
}

impl Pinned {
    /// Connects and sends the head of a `GET` of `target`, but for its end.
    pub(crate) fn open(address: SocketAddr, target: &str) -> Result<Self, Ending> {
        let mut wire = Wire::connect(address)?;
        let head = format!("GET {target} HTTP/1.1\r\nHost: capos.test\r\n").into_bytes();
        wire.send(&head)?;
        Ok(Self { wire, head })
    }

    /// Ends the request and begins the next with the same bytes; tells the answer.
    pub(crate) fn ask(&mut self) -> Result<Response, Ending> {
        self.wire.send(&[END, &self.head].concat())?;
        self.wire.response(&self.head)
    }

    /// Ends the last request; tells the answer.
    pub(crate) fn finish(mut self) -> Result<Response, Ending> {
        self.wire.send(END)?;
        self.wire.response(&self.head)
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn the_next_head_is_begun_with_the_end_of_the_last() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let head = b"GET /x HTTP/1.1\r\nHost: capos.test\r\n";
        let server = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut first = vec![0; head.len()];
            stream.read_exact(&mut first).unwrap();
            let mut second = vec![0; head.len() + 2];
            stream.read_exact(&mut second).unwrap();
            let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
            stream.write_all(answer).unwrap();
            let mut end = [0; 2];
            stream.read_exact(&mut end).unwrap();
            stream.write_all(answer).unwrap();
            (first, second, end)
        });
        let mut pinned = Pinned::open(address, "/x").unwrap();
        assert_eq!(pinned.ask().unwrap().status, 200);
        assert_eq!(pinned.finish().unwrap().status, 200);
        let (first, second, end) = server.join().unwrap();
        assert_eq!(first, head);
        assert_eq!(second, [b"\r\n", &head[..]].concat());
        assert_eq!(&end, b"\r\n");
    }
}
