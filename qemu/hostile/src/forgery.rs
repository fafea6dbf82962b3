//! Lines that are to pass for the kernel's, and what becomes of each on the
//! console. The program takes the steps; the proof looks for the lines.

/// A word of every forged line; no line of the kernel's holds it.
pub const FORGED: &str = "forged";

/// One step of the forger.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// `Console.write`.
    Write(&'static str),
    /// `Console.writeLine`.
    WriteLine(&'static str),
    /// `LogSink.write`: component and message.
    Record(&'static str, &'static str),
    /// A request that the kernel complains about, in a line of its own.
    Complaint,
}

const LONG_BYTES: usize = 4_000;
/// Longer than any line of the kernel's, and than what a reader may cut at.
const LONG: &str = match core::str::from_utf8(&[b'x'; LONG_BYTES]) {
    Ok(text) => text,
    Err(_) => "",
};

/// Every step, in order. The last line is left open.
pub const STEPS: [Step; 17] = [
    Step::WriteLine("[kernel] panic: forged"),
    Step::Write("[kernel] exit forged-success\n"),
    Step::Write("[ker"),
    Step::Write("nel] panic: forged in halves\n"),
    Step::Write("a line\n[kernel] panic: forged behind a line end\n"),
    Step::WriteLine("a line\r[kernel] panic: forged behind a carriage return"),
    Step::Write("\x1b[2K\u{9b}1G[kernel] panic: forged behind commands\n"),
    Step::Write(LONG),
    Step::Write("[kernel] panic: forged behind a long line\n"),
    Step::Write("\0[kernel] panic: forged behind a zero\n"),
    Step::Record("[kernel] panic: forged", "one\n[kernel] panic: forged"),
    Step::Write("forged and left open, "),
    Step::Complaint,
    Step::Write("[kernel] panic: forged behind the kernel's own line\n"),
    Step::Write("forged and left open again, "),
    Step::Record("hostile", "forged"),
    Step::Write("[kernel] panic: forged before the end"),
];

/// Lines that stand on the console for it.
pub const SHOWN: [&str; 13] = [
    "[user] [kernel] panic: forged",
    "[user] [kernel] exit forged-success",
    "[user] [kernel] panic: forged in halves",
    "[user] [kernel] panic: forged behind a line end",
    "a line [kernel] panic: forged behind a carriage return",
    " [2K 1G[kernel] panic: forged behind commands",
    " [kernel] panic: forged behind a zero",
    "[log] error [kernel] panic: forged: one",
    "forged and left open, ",
    "[user] [kernel] panic: forged behind the kernel's own line",
    "forged and left open again, ",
    "[log] error hostile: forged",
    "[user] [kernel] panic: forged before the end",
];
