//! The harness's own HTTP client. It sends exactly the bytes that it is given, hostile ones
//! too, and tells apart every way in which an exchange can end.

pub(crate) mod pinned;
pub(crate) mod response;
pub(crate) mod tally;
pub(crate) mod wire;

pub(crate) use pinned::Pinned;
pub(crate) use response::Response;
pub(crate) use tally::Tally;
pub(crate) use wire::{Ending, Wire};

use std::net::SocketAddr;
use std::time::{Duration, Instant};

/// What an exchange came to.
pub(crate) type Answer = Result<Response, Ending>;

/// How long a client waits for anything before it gives up. QEMU's user network sends what
/// was lost again after 6, 18 and 42 s, and a busy host adds to it: a verdict that hung on
/// less would be one on them. What is promised in less is judged by the guest's own clock.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// How long a client that was refused waits before it asks anew.
const ANEW: Duration = Duration::from_millis(5);

/// A well-formed request with the usual headers, for `target` over a connection that is
/// closed afterwards.
pub(crate) fn once(method: &str, target: &str) -> Vec<u8> {
    request(method, target, &["Connection: close"])
}

/// A well-formed request over a connection that stays.
pub(crate) fn keep(method: &str, target: &str) -> Vec<u8> {
    request(method, target, &[])
}

/// A request with these further header lines.
pub(crate) fn request(method: &str, target: &str, headers: &[&str]) -> Vec<u8> {
    let mut text = format!("{method} {target} HTTP/1.1\r\nHost: capos.test\r\n");
    for header in headers {
        text.push_str(header);
        text.push_str("\r\n");
    }
    text.push_str("\r\n");
    text.into_bytes()
}

/// Connects, sends `bytes` and reads one response. `bytes` that start with `HEAD ` get a
/// response without a body.
pub(crate) fn exchange(address: SocketAddr, bytes: &[u8]) -> Result<Response, Ending> {
    let mut wire = Wire::connect(address)?;
    wire.send(bytes)?;
    wire.response(bytes)
}

/// The same, counted in `tally`.
pub(crate) fn counted(
    tally: &mut Tally,
    address: SocketAddr,
    bytes: &[u8],
) -> Result<Response, Ending> {
    let outcome = exchange(address, bytes);
    tally.count(&outcome);
    outcome
}

/// Asks until the status is `wanted`, or for as long as a client waits for anything; tells
/// the last answer.
pub(crate) fn ask_until(
    tally: &mut Tally,
    address: SocketAddr,
    bytes: &[u8],
    wanted: impl Fn(u16) -> bool,
) -> Result<Response, Ending> {
    let begun = Instant::now();
    loop {
        let answer = counted(tally, address, bytes);
        let came = answer.as_ref().is_ok_and(|one| wanted(one.status));
        if came || begun.elapsed() > PATIENCE {
            return answer;
        }
        std::thread::sleep(ANEW);
    }
}

/// What an exchange came to, for a message.
pub(crate) fn told(answer: &Result<Response, Ending>) -> String {
    match answer {
        Ok(response) => format!("status {}", response.status),
        Err(ending) => ending.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn it_is_asked_until_the_answer_is_the_wanted_one() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let server = std::thread::spawn(move || {
            for answer in ["", "503 Busy", "200 OK"] {
                let (mut stream, _) = listener.accept().unwrap();
                let mut head = [0; 64];
                assert!(stream.read(&mut head).unwrap() > 0);
                if !answer.is_empty() {
                    let text = format!("HTTP/1.1 {answer}\r\nContent-Length: 0\r\n\r\n");
                    stream.write_all(text.as_bytes()).unwrap();
                }
            }
        });
        let mut tally = Tally::default();
        let answer = ask_until(&mut tally, address, b"GET / HTTP/1.1\r\n\r\n", |status| {
            status == 200
        });
        assert_eq!(told(&answer), "status 200");
        assert_eq!(tally.of(503) + tally.of(200), 2);
        assert_eq!(tally.unanswered(), 1);
        server.join().unwrap();
    }
}
