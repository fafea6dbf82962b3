//! One line in, one command out. The grammar stands in `README.md`.

use alloc::string::String;
use alloc::vec::Vec;

use crate::command::{
    After, CONNS_MAX, Command, HELD_MAX, Hold, Line, Load, PIPELINE_MAX, Pace, Reopen, Reuse, Watch,
};
use crate::percent;
use crate::request::Request;
use crate::target::Target;

/// Why a line is no command.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum CommandError {
    /// No word.
    Empty,
    /// The first word is no command.
    UnknownWord,
    /// A target, path or code is missing.
    MissingWord,
    /// The target is neither a lane nor an address.
    Target,
    /// An option is not known, or has no value.
    Option,
    /// An option's value is not readable.
    Value,
    /// A number is beyond what the probe can do.
    OutOfRange,
}

impl CommandError {
    /// One word for the result line.
    #[must_use]
    pub const fn explain(self) -> &'static str {
        match self {
            Self::Empty => "empty",
            Self::UnknownWord => "unknown-command",
            Self::MissingWord => "missing-word",
            Self::Target => "bad-target",
            Self::Option => "unknown-option",
            Self::Value => "bad-value",
            Self::OutOfRange => "out-of-range",
        }
    }
}

const SECOND_NS: u64 = 1_000_000_000;

/// Reads one line.
///
/// # Errors
/// The first thing that is wrong with it.
pub fn parse(line: &str) -> Result<Line, CommandError> {
    let mut words = line.split_ascii_whitespace();
    let word = words.next().ok_or(CommandError::Empty)?;
    let mut id = None;
    let command = match word {
        "exit" => {
            let code = words.next().ok_or(CommandError::MissingWord)?;
            let code = code.parse().map_err(|_| CommandError::Value)?;
            only_id(words, &mut id)?;
            Command::Exit(code)
        }
        "drop" => {
            only_id(words, &mut id)?;
            Command::Drop
        }
        "hold" => hold(words, &mut id)?,
        "raw" | "flood" | "watch" | "slow" | "slowread" | "abort" => load(word, words, &mut id)?,
        method if method.bytes().all(|byte| byte.is_ascii_lowercase()) && is_method(method) => {
            load(word, words, &mut id)?
        }
        _ => return Err(CommandError::UnknownWord),
    };
    Ok(Line {
        id,
        word: word.into(),
        command,
    })
}

fn is_method(word: &str) -> bool {
    matches!(
        word,
        "get" | "head" | "post" | "put" | "delete" | "options" | "patch" | "trace" | "connect"
    )
}

fn only_id<'a>(
    words: impl Iterator<Item = &'a str>,
    id: &mut Option<u64>,
) -> Result<(), CommandError> {
    for word in words {
        match word.split_once('=') {
            Some(("id", value)) => *id = Some(number(value)?),
            _ => return Err(CommandError::Option),
        }
    }
    Ok(())
}

fn target<'a>(words: &mut impl Iterator<Item = &'a str>) -> Result<Target, CommandError> {
    let word = words.next().ok_or(CommandError::MissingWord)?;
    Target::parse(word).ok_or(CommandError::Target)
}

fn hold<'a>(
    mut words: impl Iterator<Item = &'a str>,
    id: &mut Option<u64>,
) -> Result<Command, CommandError> {
    let mut hold = Hold {
        target: target(&mut words)?,
        count: 1,
        first: Vec::new(),
        for_ns: None,
    };
    for word in words {
        let (key, value) = word.split_once('=').ok_or(CommandError::Option)?;
        match key {
            "id" => *id = Some(number(value)?),
            "count" => hold.count = bounded(value, HELD_MAX)?,
            "send" => hold.first = percent::decode(value).ok_or(CommandError::Value)?,
            "for" => hold.for_ns = Some(duration_ns(value)?),
            _ => return Err(CommandError::Option),
        }
    }
    Ok(Command::Hold(hold))
}

fn load<'a>(
    word: &str,
    mut words: impl Iterator<Item = &'a str>,
    id: &mut Option<u64>,
) -> Result<Command, CommandError> {
    let target = target(&mut words)?;
    let subject = words.next().ok_or(CommandError::MissingWord)?;
    let mut load = preset(word, target);
    let mut parts = Parts::new(word, subject)?;
    for word in words {
        let (key, value) = word.split_once('=').ok_or(CommandError::Option)?;
        if key == "id" {
            *id = Some(number(value)?);
        } else if !parts.option(key, value)? {
            option(&mut load, key, value)?;
        }
    }
    load.request = parts.build(target, load.reuse);
    if let Some(watch) = parts.watch {
        load.watch = Some(Watch {
            target: watch.0,
            request: Request::get(&watch.1, watch.0, Reuse::Fresh),
            every_ns: parts.watch_every_ns,
        });
    }
    if load.count.is_none() && load.for_ns.is_none() {
        load.count = Some(1);
    }
    Ok(Command::Load(load))
}

/// What each command word stands for before its options.
fn preset(word: &str, target: Target) -> Load {
    let one = Load {
        target,
        request: Request::default(),
        count: None,
        for_ns: None,
        conns: 1,
        pipeline: 1,
        reuse: Reuse::Fresh,
        after: After::Read,
        reopen: Reopen::Yes,
        every_ns: 0,
        timeout_ns: 10 * SECOND_NS,
        send: Pace::FULL,
        receive: Pace::FULL,
        watch: None,
    };
    match word {
        "flood" => Load {
            reuse: Reuse::KeepAlive,
            ..one
        },
        "watch" => Load {
            every_ns: SECOND_NS / 50,
            timeout_ns: 2 * SECOND_NS,
            ..one
        },
        "slow" => Load {
            timeout_ns: 120 * SECOND_NS,
            send: Pace {
                bytes: Some(1),
                pause_ns: SECOND_NS / 2,
            },
            ..one
        },
        "slowread" => Load {
            timeout_ns: 120 * SECOND_NS,
            receive: Pace {
                bytes: Some(16),
                pause_ns: SECOND_NS / 2,
            },
            ..one
        },
        "abort" => Load {
            after: After::Abort,
            ..one
        },
        _ => one,
    }
}

fn option(load: &mut Load, key: &str, value: &str) -> Result<(), CommandError> {
    match key {
        "count" => load.count = Some(number(value)?),
        "for" => load.for_ns = Some(duration_ns(value)?),
        "conns" => load.conns = bounded(value, CONNS_MAX)?,
        "pipeline" => load.pipeline = bounded(value, PIPELINE_MAX)?,
        "keepalive" => {
            load.reuse = if switch(value)? {
                Reuse::KeepAlive
            } else {
                Reuse::Fresh
            };
        }
        "reopen" => {
            load.reopen = if switch(value)? {
                Reopen::Yes
            } else {
                Reopen::No
            };
        }
        "abort" => {
            load.after = if switch(value)? {
                After::Abort
            } else {
                After::Read
            };
        }
        "every" => load.every_ns = duration_ns(value)?,
        "timeout" => load.timeout_ns = duration_ns(value)?,
        "chunk" => load.send.bytes = Some(bounded(value, 4_096)?),
        "pause" => load.send.pause_ns = duration_ns(value)?,
        "recv" => load.receive.bytes = Some(bounded(value, 4_096)?),
        "recv_pause" => load.receive.pause_ns = duration_ns(value)?,
        _ => return Err(CommandError::Option),
    }
    Ok(())
}

/// What the request's bytes are made of.
struct Parts {
    method: String,
    subject: Vec<u8>,
    is_raw: bool,
    headers: Vec<u8>,
    body: Option<Vec<u8>>,
    watch: Option<(Target, String)>,
    watch_every_ns: u64,
}

impl Parts {
    fn new(word: &str, subject: &str) -> Result<Self, CommandError> {
        let method = if is_method(word) { word } else { "get" };
        Ok(Self {
            method: method.to_ascii_uppercase(),
            subject: if word == "raw" {
                percent::decode(subject).ok_or(CommandError::Value)?
            } else {
                subject.as_bytes().to_vec()
            },
            is_raw: word == "raw",
            headers: Vec::new(),
            body: None,
            watch: None,
            watch_every_ns: SECOND_NS / 50,
        })
    }

    /// Takes an option that is about the request; whether it was one.
    fn option(&mut self, key: &str, value: &str) -> Result<bool, CommandError> {
        match key {
            "method" => self.method = value.to_ascii_uppercase(),
            "header" => {
                let line = percent::decode(value).ok_or(CommandError::Value)?;
                self.headers.extend_from_slice(&line);
                self.headers.extend_from_slice(b"\r\n");
            }
            "body" => self.body = Some(percent::decode(value).ok_or(CommandError::Value)?),
            "watch" => {
                let (target, path) = value.split_once('/').ok_or(CommandError::Value)?;
                let target = Target::parse(target).ok_or(CommandError::Target)?;
                let mut whole = String::from("/");
                whole.push_str(path);
                self.watch = Some((target, whole));
            }
            "watch_every" => self.watch_every_ns = duration_ns(value)?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn build(&self, target: Target, reuse: Reuse) -> Request {
        if self.is_raw {
            return Request::raw(self.subject.clone());
        }
        Request::build(
            &self.method,
            &self.subject,
            target,
            reuse,
            &self.headers,
            self.body.as_deref(),
        )
    }
}

fn number(text: &str) -> Result<u64, CommandError> {
    text.parse().map_err(|_| CommandError::Value)
}

fn bounded(text: &str, most: u32) -> Result<u32, CommandError> {
    let value: u32 = text.parse().map_err(|_| CommandError::Value)?;
    if (1..=most).contains(&value) {
        Ok(value)
    } else {
        Err(CommandError::OutOfRange)
    }
}

fn switch(text: &str) -> Result<bool, CommandError> {
    match text {
        "on" => Ok(true),
        "off" => Ok(false),
        _ => Err(CommandError::Value),
    }
}

/// A whole number with its unit: `20ms`, `5s`, `100us`, `7ns`.
fn duration_ns(text: &str) -> Result<u64, CommandError> {
    let digits = text.trim_end_matches(|letter: char| letter.is_ascii_lowercase());
    let unit_ns = match text.get(digits.len()..) {
        Some("ns") => 1,
        Some("us") => 1_000,
        Some("ms") => 1_000_000,
        Some("s") => SECOND_NS,
        _ => return Err(CommandError::Value),
    };
    number(digits)?
        .checked_mul(unit_ns)
        .ok_or(CommandError::OutOfRange)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load_of(line: &str) -> Load {
        match parse(line).expect("is a command").command {
            Command::Load(load) => load,
            other => panic!("no load: {other:?}"),
        }
    }

    #[test]
    fn one_request_is_the_default() {
        let line = parse("get local /api/status id=7").expect("is a command");
        assert_eq!((line.id, line.word.as_str()), (Some(7), "get"));
        let load = load_of("get local /api/status");
        assert_eq!(load.target, Target::LOCAL);
        assert_eq!((load.count, load.conns), (Some(1), 1));
        assert!(
            load.request
                .bytes
                .starts_with(b"GET /api/status HTTP/1.1\r\n")
        );
    }

    #[test]
    fn a_flood_takes_its_numbers() {
        let load = load_of(
            "flood public /healthz count=500 conns=64 pipeline=4 watch=provider/healthz watch_every=5ms",
        );
        assert_eq!((load.count, load.conns, load.pipeline), (Some(500), 64, 4));
        assert_eq!(load.reuse, Reuse::KeepAlive);
        let watch = load.watch.expect("watches");
        assert_eq!(watch.target, Target::PROVIDER);
        assert_eq!(watch.every_ns, 5_000_000);
    }

    #[test]
    fn a_watch_without_count_ends_by_time() {
        let load = load_of("watch provider /healthz every=20ms for=5s");
        assert_eq!((load.count, load.for_ns), (None, Some(5_000_000_000)));
        assert_eq!(load.every_ns, 20_000_000);
    }

    #[test]
    fn raw_bytes_are_sent_as_they_are() {
        let load = load_of("raw local GET%20/%20HTTP/1.1%0d%0a%0d%0a timeout=1s");
        assert_eq!(load.request.bytes, b"GET / HTTP/1.1\r\n\r\n");
    }

    #[test]
    fn headers_and_bodies_are_decoded() {
        let load = load_of("post local /drain header=X-A:%20b body=%7b%7d");
        let text = String::from_utf8(load.request.bytes).expect("is text");
        assert!(text.starts_with("POST /drain HTTP/1.1\r\n"));
        assert!(text.contains("\r\nX-A: b\r\n"));
        assert!(text.contains("\r\nContent-Length: 2\r\n"));
        assert!(text.ends_with("\r\n\r\n{}"));
    }

    #[test]
    fn connections_are_held() {
        let line = parse("hold provider count=300 send=GET%20/ for=2s").expect("is a command");
        assert_eq!(
            line.command,
            Command::Hold(Hold {
                target: Target::PROVIDER,
                count: 300,
                first: b"GET /".to_vec(),
                for_ns: Some(2_000_000_000),
            })
        );
        assert_eq!(parse("drop").expect("is a command").command, Command::Drop);
    }

    #[test]
    fn exit_takes_its_code() {
        assert_eq!(
            parse("exit 3").expect("is a command").command,
            Command::Exit(3)
        );
        assert_eq!(parse("exit"), Err(CommandError::MissingWord));
        assert_eq!(parse("exit x"), Err(CommandError::Value));
    }

    #[test]
    fn what_is_no_command_is_refused() {
        for (line, error) in [
            ("", CommandError::Empty),
            ("fly local /", CommandError::UnknownWord),
            ("get", CommandError::MissingWord),
            ("get local", CommandError::MissingWord),
            ("get nowhere /", CommandError::Target),
            ("get local / fast", CommandError::Option),
            ("get local / speed=1", CommandError::Option),
            ("get local / conns=0", CommandError::OutOfRange),
            ("get local / conns=129", CommandError::OutOfRange),
            ("get local / for=5", CommandError::Value),
            ("get local / for=99999999999999999999s", CommandError::Value),
            ("raw local %zz", CommandError::Value),
            ("hold local count=1101", CommandError::OutOfRange),
            ("drop local", CommandError::Option),
        ] {
            assert_eq!(parse(line), Err(error), "{line:?}");
        }
    }
}
