//! The machine's first serial port: every line with its time, kept in memory, written to
//! the serial log as it comes, and awaited by what it says (invariant H1: readiness is a
//! line, never a sleep).

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

#[derive(Clone, Debug)]
pub(crate) struct Line {
    /// Time since the emulator was started.
    pub(crate) at: Duration,
    /// The text, without its line end, control characters escaped.
    pub(crate) text: String,
}

/// Why a wait ended without its line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum NoLine {
    /// The time ran out.
    TimedOut,
    /// The console was closed: the machine is gone.
    Closed,
    /// The kernel panicked with this line.
    Panicked(String),
}

#[derive(Default)]
struct State {
    lines: Vec<Line>,
    closed: bool,
}

/// A console that is being read by its own thread. Clones read the same lines.
#[derive(Clone)]
pub(crate) struct Console {
    shared: Arc<(Mutex<State>, Condvar)>,
}

/// Makes control characters visible, so that a guest cannot move the terminal's cursor.
fn printable(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let trimmed = text.trim_end_matches(['\r', '\n']);
    let mut out = String::with_capacity(trimmed.len());
    for character in trimmed.chars() {
        if character.is_control() && character != '\t' {
            out.extend(character.escape_default());
        } else {
            out.push(character);
        }
    }
    out
}

impl Console {
    /// Reads `source` to its end in a thread of its own. Each line goes to `log`, with its
    /// time, and to `echo` if there is one.
    pub(crate) fn read(
        source: impl Read + Send + 'static,
        started: Instant,
        mut log: File,
        echo: Option<fn(&Line)>,
    ) -> Self {
        let console = Self {
            shared: Arc::default(),
        };
        let writer = console.clone();
        std::thread::spawn(move || {
            let mut reader = BufReader::new(source);
            let mut raw = Vec::new();
            while let Ok(1..) = reader.read_until(b'\n', &mut raw) {
                let line = Line {
                    at: started.elapsed(),
                    text: printable(&raw),
                };
                raw.clear();
                // A full disk must not stop the console from being read: the guest would
                // block on its serial port, and a case would fail for the wrong reason.
                drop(writeln!(
                    log,
                    "{:10.4} {}",
                    line.at.as_secs_f64(),
                    line.text
                ));
                if let Some(echo) = echo {
                    echo(&line);
                }
                writer.state().lines.push(line);
                writer.shared.1.notify_all();
            }
            writer.state().closed = true;
            writer.shared.1.notify_all();
        });
        console
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.shared.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The number of lines so far: a place to start a later wait from.
    pub(crate) fn mark(&self) -> usize {
        self.state().lines.len()
    }

    /// Waits until a line at or after `from` satisfies `wanted`; tells it and its index.
    pub(crate) fn wait(
        &self,
        from: usize,
        timeout: Duration,
        mut wanted: impl FnMut(&str) -> bool,
    ) -> Result<(usize, Line), NoLine> {
        let deadline = Instant::now() + timeout;
        let mut next = from;
        let mut state = self.state();
        loop {
            while let Some(line) = state.lines.get(next) {
                if wanted(&line.text) {
                    return Ok((next, line.clone()));
                }
                if line.text.starts_with("[kernel] panic") {
                    return Err(NoLine::Panicked(line.text.clone()));
                }
                next += 1;
            }
            if state.closed {
                return Err(NoLine::Closed);
            }
            let Some(left) = deadline.checked_duration_since(Instant::now()) else {
                return Err(NoLine::TimedOut);
            };
            (state, _) = self
                .shared
                .1
                .wait_timeout(state, left)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Waits until the console is closed, that is until the machine is gone.
    pub(crate) fn wait_closed(&self, timeout: Duration) -> bool {
        self.wait(usize::MAX, timeout, |_| false) == Err(NoLine::Closed)
    }

    /// A copy of every line so far.
    pub(crate) fn lines(&self) -> Vec<Line> {
        self.state().lines.clone()
    }

    /// The last lines, for a message.
    pub(crate) fn tail(&self) -> Vec<String> {
        let state = self.state();
        let skip = state.lines.len().saturating_sub(8);
        state
            .lines
            .iter()
            .skip(skip)
            .map(|line| line.text.clone())
            .collect()
    }
}

impl PartialEq for Line {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn console(text: &'static str) -> Console {
        let log = File::create("/dev/null").unwrap();
        Console::read(text.as_bytes(), Instant::now(), log, None)
    }

    #[test]
    fn a_line_is_found_and_a_closed_console_is_told_apart() {
        let console = console("one\ntwo\r\nthree");
        let second = Duration::from_secs(60);
        assert_eq!(console.wait(0, second, |line| line == "two").unwrap().0, 1);
        assert_eq!(
            console.wait(2, second, |line| line == "two"),
            Err(NoLine::Closed)
        );
        assert_eq!(console.tail(), ["one", "two", "three"]);
    }

    #[test]
    fn a_panic_ends_a_wait_at_once() {
        let console = console("[kernel] panic: out of frames\n");
        let waited = console.wait(0, Duration::from_secs(60), |line| line == "ready");
        assert!(matches!(waited, Err(NoLine::Panicked(_))));
    }

    #[test]
    fn control_characters_are_made_visible() {
        assert_eq!(printable(b"\x1b[2Jx\r\n"), "\\u{1b}[2Jx");
    }
}
