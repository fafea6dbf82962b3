//! The client's own reading of an HTTP answer: status, length, end.
//!
//! Deliberately independent of the service's code. It reads what arrives, in
//! whatever pieces, and never holds more than a head and the first bytes of a
//! body.

use alloc::vec::Vec;

/// Most bytes of a head.
const HEAD_BYTES_MAX: usize = 8_192;
/// Bytes of a body that are kept.
pub const KEPT_BYTES: usize = 1_024;

/// Whether the request's method lets an answer have a body.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Expect {
    /// As its head says.
    Body,
    /// None: the request was a HEAD.
    HeadOnly,
}

/// What is wrong with an answer.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Malformed {
    /// The head does not end.
    HeadTooLong,
    /// The status line is not one.
    StatusLine,
    /// A length is not a number, or given twice.
    ContentLength,
}

/// One whole answer.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Answer {
    /// Status code.
    pub status: u16,
    /// Bytes of its body.
    pub body_bytes: u64,
    /// The first of them.
    pub body: Vec<u8>,
    /// Whether the server closes after it.
    pub close: bool,
    /// `Retry-After`, in seconds.
    pub retry_after: Option<u32>,
}

/// What feeding some bytes led to.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Step {
    /// More bytes are needed.
    More,
    /// An answer is complete.
    Whole(Answer),
}

#[derive(Clone, Debug)]
enum State {
    Head,
    Body { left: u64 },
    UntilClose,
}

/// Reads one answer after the other from a connection.
#[derive(Clone, Debug)]
pub struct AnswerReader {
    state: State,
    head: Vec<u8>,
    answer: Answer,
}

impl Default for AnswerReader {
    fn default() -> Self {
        Self::new()
    }
}

impl AnswerReader {
    /// Waits for a head.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            state: State::Head,
            head: Vec::new(),
            answer: Answer {
                status: 0,
                body_bytes: 0,
                body: Vec::new(),
                close: false,
                retry_after: None,
            },
        }
    }

    /// Whether no byte of an answer has arrived since the last.
    #[must_use]
    pub fn is_between_answers(&self) -> bool {
        matches!(self.state, State::Head) && self.head.is_empty()
    }

    /// Takes bytes from the front of `input`, at most to the end of an answer.
    ///
    /// # Errors
    /// [`Malformed`] as soon as the head cannot be one.
    pub fn read(&mut self, input: &mut &[u8], expect: Expect) -> Result<Step, Malformed> {
        while let Some((first, rest)) = input.split_first() {
            match self.state {
                State::Head => {
                    *input = rest;
                    self.head.push(*first);
                    if self.head.ends_with(b"\r\n\r\n") {
                        self.start_body(expect)?;
                        if matches!(self.state, State::Body { left: 0 }) {
                            return Ok(self.finish());
                        }
                    } else if self.head.len() >= HEAD_BYTES_MAX {
                        return Err(Malformed::HeadTooLong);
                    }
                }
                State::Body { left } => {
                    let room = usize::try_from(left).unwrap_or(usize::MAX);
                    let (body, rest) = input.split_at(input.len().min(room));
                    *input = rest;
                    self.keep(body);
                    let left = left.saturating_sub(body.len() as u64);
                    self.state = State::Body { left };
                    if left == 0 {
                        return Ok(self.finish());
                    }
                }
                State::UntilClose => {
                    let body = core::mem::take(input);
                    self.keep(body);
                }
            }
        }
        Ok(Step::More)
    }

    /// The server has closed: the answer, if that is how this one ends.
    pub fn closed(&mut self) -> Option<Answer> {
        match self.state {
            State::UntilClose => match self.finish() {
                Step::Whole(answer) => Some(answer),
                Step::More => None,
            },
            State::Head | State::Body { .. } => None,
        }
    }

    fn keep(&mut self, body: &[u8]) {
        self.answer.body_bytes = self.answer.body_bytes.saturating_add(body.len() as u64);
        let room = KEPT_BYTES.saturating_sub(self.answer.body.len());
        let kept = body.get(..body.len().min(room)).unwrap_or(&[]);
        self.answer.body.extend_from_slice(kept);
    }

    fn finish(&mut self) -> Step {
        self.state = State::Head;
        self.head.clear();
        Step::Whole(core::mem::take(&mut self.answer))
    }

    fn start_body(&mut self, expect: Expect) -> Result<(), Malformed> {
        let head = core::str::from_utf8(&self.head).map_err(|_| Malformed::StatusLine)?;
        let mut lines = head.split("\r\n");
        let status_line = lines.next().ok_or(Malformed::StatusLine)?;
        let status = status_line
            .strip_prefix("HTTP/1.1 ")
            .or_else(|| status_line.strip_prefix("HTTP/1.0 "))
            .and_then(|rest| rest.get(..3))
            .and_then(|digits| digits.parse::<u16>().ok())
            .filter(|status| (100..600).contains(status))
            .ok_or(Malformed::StatusLine)?;
        let mut length = None;
        let mut close = status_line.starts_with("HTTP/1.0");
        let mut retry_after = None;
        for (name, value) in lines.filter_map(|line| line.split_once(':')) {
            let value = value.trim();
            if name.eq_ignore_ascii_case("content-length") {
                let value = value.parse::<u64>().map_err(|_| Malformed::ContentLength)?;
                if length.replace(value).is_some() {
                    return Err(Malformed::ContentLength);
                }
            } else if name.eq_ignore_ascii_case("connection") {
                close |= value.eq_ignore_ascii_case("close");
            } else if name.eq_ignore_ascii_case("retry-after") {
                retry_after = value.parse().ok();
            }
        }
        let interim = (100..200).contains(&status);
        if interim {
            // 100 Continue: the answer itself is still to come.
            self.head.clear();
            return Ok(());
        }
        let bodyless = expect == Expect::HeadOnly || matches!(status, 204 | 304);
        self.state = match (bodyless, length) {
            (true, _) => State::Body { left: 0 },
            (false, Some(left)) => State::Body { left },
            (false, None) => State::UntilClose,
        };
        self.answer.status = status;
        self.answer.close = close || (!bodyless && length.is_none());
        self.answer.retry_after = retry_after;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OK: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";

    fn whole(step: Result<Step, Malformed>) -> Answer {
        match step {
            Ok(Step::Whole(answer)) => answer,
            other => panic!("not whole: {other:?}"),
        }
    }

    #[test]
    fn an_answer_is_read_in_any_pieces() {
        for cut in 0..OK.len() {
            let mut reader = AnswerReader::new();
            let (mut first, mut second) = OK.split_at(cut);
            assert_eq!(reader.read(&mut first, Expect::Body), Ok(Step::More));
            let answer = whole(reader.read(&mut second, Expect::Body));
            assert_eq!((answer.status, answer.body_bytes), (200, 5));
            assert_eq!(answer.body, b"hello");
            assert!(reader.is_between_answers());
        }
    }

    #[test]
    fn pipelined_answers_are_told_apart() {
        let both = [
            OK,
            b"HTTP/1.1 429 X\r\nRetry-After: 3\r\nConnection: close\r\nContent-Length: 0\r\n\r\n",
        ]
        .concat();
        let mut input = both.as_slice();
        let mut reader = AnswerReader::new();
        assert_eq!(whole(reader.read(&mut input, Expect::Body)).status, 200);
        let second = whole(reader.read(&mut input, Expect::Body));
        assert_eq!(
            (second.status, second.close, second.retry_after),
            (429, true, Some(3))
        );
        assert!(input.is_empty());
    }

    #[test]
    fn a_head_answer_has_no_body() {
        let mut input: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n";
        let answer = whole(AnswerReader::new().read(&mut input, Expect::HeadOnly));
        assert_eq!(answer.body_bytes, 0);
    }

    #[test]
    fn an_interim_answer_is_passed_over() {
        let bytes = [b"HTTP/1.1 100 Continue\r\n\r\n", OK].concat();
        let mut input = bytes.as_slice();
        assert_eq!(
            whole(AnswerReader::new().read(&mut input, Expect::Body)).status,
            200
        );
    }

    #[test]
    fn a_body_without_length_ends_with_the_connection() {
        let mut input: &[u8] = b"HTTP/1.0 200 OK\r\n\r\nabc";
        let mut reader = AnswerReader::new();
        assert_eq!(reader.read(&mut input, Expect::Body), Ok(Step::More));
        let answer = reader.closed().expect("ends here");
        assert_eq!(answer.body, b"abc");
        assert!(answer.close);
    }

    #[test]
    fn a_close_in_the_middle_is_no_answer() {
        let mut reader = AnswerReader::new();
        let mut input = &OK[..OK.len() - 1];
        assert_eq!(reader.read(&mut input, Expect::Body), Ok(Step::More));
        assert_eq!(reader.closed(), None);
    }

    #[test]
    fn what_is_no_answer_is_refused() {
        for (bytes, error) in [
            (&b"HTTP/2 200\r\n\r\n"[..], Malformed::StatusLine),
            (b"HTTP/1.1 abc\r\n\r\n", Malformed::StatusLine),
            (
                b"HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n",
                Malformed::ContentLength,
            ),
            (
                b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\n",
                Malformed::ContentLength,
            ),
        ] {
            let mut input = bytes;
            assert_eq!(
                AnswerReader::new().read(&mut input, Expect::Body),
                Err(error)
            );
        }
        let long = [b'x'; HEAD_BYTES_MAX];
        let mut input = long.as_slice();
        assert_eq!(
            AnswerReader::new().read(&mut input, Expect::Body),
            Err(Malformed::HeadTooLong)
        );
    }
}
