//! What the tools print. `println!` panics when its reader has gone or its disk is full; a tool
//! goes on, since losing a log must cost neither a verdict nor a guest its drain.
//!
//! A closed pipe ends the printing and is no failure: whoever closed it has read enough. Any other
//! error is told once, by [`finish`], as a failure of the tool.

use std::fmt;
use std::io::{self, ErrorKind, Write};
use std::process::ExitCode;
use std::sync::{Mutex, PoisonError};

/// Why standard output takes nothing any more.
static LOST: Mutex<Option<io::Error>> = Mutex::new(None);

/// Prints a line to standard output: see [`print()`].
#[macro_export]
macro_rules! say {
    ($($words:tt)*) => { $crate::print(format_args!("{}\n", format_args!($($words)*))) };
}

/// Prints a line to standard error, or loses it: there is nowhere to tell of that.
#[macro_export]
macro_rules! complain {
    ($($words:tt)*) => { $crate::print_error(format_args!($($words)*)) };
}

/// Prints to standard output, unless an earlier print has failed.
pub fn print(words: fmt::Arguments<'_>) {
    print_bytes_with(|out| out.write_fmt(words));
}

/// Prints bytes as they are to standard output, unless an earlier print has failed.
pub fn print_bytes(bytes: &[u8]) {
    print_bytes_with(|out| out.write_all(bytes));
}

/// Prints a line to standard error; one that cannot be printed is lost.
pub fn print_error(words: fmt::Arguments<'_>) {
    drop(writeln!(io::stderr(), "{words}"));
}

/// Flushes standard output; the tool's exit code, given what it would be if all was printed.
#[must_use]
pub fn finish(code: ExitCode) -> ExitCode {
    print_bytes_with(|out| out.flush());
    match &*LOST.lock().unwrap_or_else(PoisonError::into_inner) {
        Some(error) if error.kind() != ErrorKind::BrokenPipe => {
            print_error(format_args!("standard output: {error}"));
            ExitCode::FAILURE
        }
        _ => code,
    }
}

/// Prints help or version, which were asked for, or what is wrong with a command line; the tool's
/// exit code.
#[must_use]
pub fn refused(refusal: &clap::Error) -> ExitCode {
    if refusal.use_stderr() {
        print_error(format_args!("{}", refusal.render()));
        return ExitCode::from(2);
    }
    print(format_args!("{}", refusal.render()));
    finish(ExitCode::SUCCESS)
}

fn print_bytes_with(write: impl FnOnce(&mut io::StdoutLock<'static>) -> io::Result<()>) {
    let mut lost = LOST.lock().unwrap_or_else(PoisonError::into_inner);
    if lost.is_none() {
        *lost = write(&mut io::stdout().lock()).err();
    }
}
