//! Whose line the console is in the middle of, and what a process's bytes become
//! before they join it.
//!
//! Invariants: KERNEL-LINE (a line that begins with `[kernel]` is the kernel's,
//! and a line of the kernel's begins at its own first column).
//!
//! ```text
//! process 1: "half a li"      half a li
//! kernel:    a line           [kernel] a line
//! process 1: "ne\n[kernel]x"  ne
//!                             [user] [kernel]x
//! ```
//! A piece either joins whole or is dropped whole, and only what joined counts
//! for the next: what stands here is what stands on the console.

use crate::line_buffer::{LineBuffer, Piece, Pushed};

/// How every line of the kernel's own begins.
pub const KERNEL_WORD: &[u8] = b"[kernel]";
/// Stands before a process's line that begins so, or may yet come to.
pub const USER_MARK: &[u8] = b"[user] ";
const NEWLINE: &[u8] = b"\n";
/// Stands for each control character of a process's.
const BLANK: u8 = b' ';

/// A process, as far as the console tells them apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Speaker(pub usize);

/// What follows a process's text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// Nothing: more of the line may come.
    Open,
    /// The end of the line.
    Line,
}

/// The state of the console's last line.
#[derive(Debug, Default)]
pub struct LineGuard {
    /// Who left the last line without an end, if anybody did.
    open: Option<Speaker>,
}

impl LineGuard {
    /// A console on which nothing stands yet.
    #[must_use]
    pub const fn new() -> Self {
        Self { open: None }
    }

    /// Whether what comes next is a line's first byte.
    #[must_use]
    pub const fn is_at_line_start(&self) -> bool {
        self.open.is_none()
    }

    /// Queues one whole line of the kernel's making, without its end, on a line
    /// of its own; leaves `reserve` bytes to others. `parts` hold no line end.
    pub fn line(&mut self, buffer: &mut LineBuffer, parts: &[&[u8]], reserve: usize) {
        let end = (!self.is_at_line_start()).then_some(NEWLINE);
        let whole = end.into_iter().chain(parts.iter().copied());
        if buffer.push_leaving(whole.chain([NEWLINE]), reserve) == Pushed::Whole {
            self.open = None;
        }
    }

    /// Queues a process's text as one piece; leaves `reserve` bytes to others.
    /// What finds no room is dropped before its bytes are looked at.
    pub fn text(
        &mut self,
        buffer: &mut LineBuffer,
        speaker: Speaker,
        (text, ending): (&[u8], Ending),
        reserve: usize,
    ) {
        let leaves = match (ending, text) {
            (Ending::Line, _) | (Ending::Open, [.., b'\n']) => None,
            (Ending::Open, []) => return,
            (Ending::Open, _) => Some(speaker),
        };
        let mut piece = buffer.piece(reserve);
        if piece.has_room(text.len()) {
            let mut place = Place::Inside;
            match self.open {
                None => place = Place::LineStart,
                Some(other) if other == speaker => {}
                Some(_) => {
                    piece.put(NEWLINE);
                    place = Place::LineStart;
                }
            }
            clean(text, place, &mut piece);
            if ending == Ending::Line {
                piece.put(NEWLINE);
            }
        }
        if piece.end() == Pushed::Whole {
            self.open = leaves;
        }
    }
}

/// Where the next byte of a process's text would stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// At the first column.
    LineStart,
    /// Further on in a line.
    Inside,
}

/// Writes a process's text as it goes on the console, each byte looked at once:
/// what a call costs is bounded by the room that there is.
fn clean(text: &[u8], mut place: Place, piece: &mut Piece<'_>) {
    let mut rest = text;
    while let Some((&byte, after)) = rest.split_first() {
        if place == Place::LineStart && may_become_the_kernels(rest) {
            piece.put(USER_MARK);
        }
        place = if byte == b'\n' {
            Place::LineStart
        } else {
            Place::Inside
        };
        let width = control_width(byte, after);
        piece.put_byte(if width == 0 || byte == b'\n' {
            byte
        } else {
            BLANK
        });
        rest = if width == 2 {
            after.get(1..).unwrap_or(&[])
        } else {
            after
        };
    }
}

/// Bytes of the control character that `byte` begins, before `after`; 0 if it
/// begins none. The line end is one, the tab is not. A lead byte at the end that
/// could begin one counts, since the rest of it may come later.
const fn control_width(byte: u8, after: &[u8]) -> usize {
    match (byte, after) {
        (b'\t', _) => 0,
        // U+0080 to U+009F: among them one that begins a terminal's commands.
        (0xc2, [0x80..=0x9f, ..]) => 2,
        (0xc2, []) => 1,
        _ => byte.is_ascii_control() as usize,
    }
}

/// The bytes before the first control character or line end.
#[must_use]
pub fn until_control(bytes: &[u8]) -> &[u8] {
    let mut rest = bytes;
    while let Some((&byte, after)) = rest.split_first() {
        if control_width(byte, after) > 0 {
            break;
        }
        rest = after;
    }
    bytes
        .get(..bytes.len().saturating_sub(rest.len()))
        .unwrap_or(bytes)
}

/// Whether a line that begins with `text`, and may go on, could begin with the
/// kernel's word.
fn may_become_the_kernels(text: &[u8]) -> bool {
    text.iter().zip(KERNEL_WORD).all(|(a, b)| a == b)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: Speaker = Speaker(1);
    const TWO: Speaker = Speaker(2);
    const PANIC: &[u8] = b"[kernel] panic: forged";

    struct Console {
        guard: LineGuard,
        buffer: LineBuffer,
    }

    impl Console {
        fn of(bytes: usize) -> Self {
            Self {
                guard: LineGuard::new(),
                buffer: LineBuffer::new(bytes),
            }
        }

        fn write(&mut self, speaker: Speaker, text: &[u8]) {
            let open = (text, Ending::Open);
            self.guard.text(&mut self.buffer, speaker, open, 0);
        }

        fn write_line(&mut self, speaker: Speaker, text: &[u8]) {
            let line = (text, Ending::Line);
            self.guard.text(&mut self.buffer, speaker, line, 0);
        }

        fn kernel(&mut self, text: &[u8]) {
            self.guard
                .line(&mut self.buffer, &[KERNEL_WORD, b" ", text], 0);
        }

        fn shown(&mut self) -> String {
            let mut all = Vec::new();
            while !self.buffer.is_empty() {
                let front = self.buffer.front().to_vec();
                self.buffer.consume(front.len());
                all.extend(front);
            }
            String::from_utf8(all).unwrap()
        }
    }

    fn shown(steps: impl FnOnce(&mut Console)) -> String {
        let mut console = Console::of(4096);
        steps(&mut console);
        console.shown()
    }

    #[test]
    fn honest_lines_pass_unchanged() {
        let text = "[web-ui] ready\tlanes=3\n\n[kernelx\n ä – [kernel] x\n".as_bytes();
        assert_eq!(shown(|c| c.write(ONE, text)).as_bytes(), text);
        assert_eq!(shown(|c| c.write_line(ONE, b"")), "\n");
        assert_eq!(shown(|c| c.write(ONE, b"")), "");
    }

    #[test]
    fn a_line_like_the_kernels_is_marked() {
        let marked = "[user] [kernel] panic: forged\n";
        assert_eq!(shown(|c| c.write_line(ONE, PANIC)), marked);
        for before in ["x\n", "\n", "\n\n", "x\n\ny\n"] {
            let text = [before.as_bytes(), PANIC, b"\n"].concat();
            assert_eq!(shown(|c| c.write(ONE, &text)), format!("{before}{marked}"));
        }
    }

    #[test]
    fn a_line_like_the_kernels_is_marked_however_it_is_cut() {
        let text = [PANIC, b"\n", PANIC, b"\n"].concat();
        for first in 0..text.len() {
            for second in first..text.len() {
                let all = shown(|c| {
                    c.write(ONE, &text[..first]);
                    c.write(ONE, &text[first..second]);
                    c.write(ONE, &text[second..]);
                });
                assert_eq!(
                    all,
                    "[user] [kernel] panic: forged\n[user] [kernel] panic: forged\n"
                );
            }
        }
    }

    #[test]
    fn a_line_of_the_kernels_begins_at_the_first_column() {
        let all = shown(|c| {
            c.write(ONE, b"half a li");
            c.kernel(b"exit success");
            c.write(ONE, b"ne\n");
            c.kernel(b"two");
        });
        assert_eq!(all, "half a li\n[kernel] exit success\nne\n[kernel] two\n");
    }

    #[test]
    fn what_follows_an_interruption_is_a_new_line() {
        let all = shown(|c| {
            c.write(ONE, b"x");
            c.kernel(b"a");
            c.write(ONE, PANIC);
            c.write_line(TWO, PANIC);
            c.write(TWO, b"y ");
            c.write(ONE, PANIC);
        });
        assert_eq!(
            all,
            "x\n[kernel] a\n[user] [kernel] panic: forged\n[user] [kernel] panic: forged\n\
             y \n[user] [kernel] panic: forged"
        );
    }

    #[test]
    fn a_line_holds_the_words_of_one_process() {
        let all = shown(|c| {
            c.write(ONE, b"one");
            c.write(TWO, b"");
            c.write(ONE, b" more");
            c.write_line(TWO, b"");
            c.write_line(TWO, b"two");
        });
        assert_eq!(all, "one more\n\ntwo\n");
    }

    #[test]
    fn no_control_character_moves_the_cursor() {
        let text = b"x\r[kernel] exit\x1b[1G\x08\x7f\x00\xc2\x9b1G y\n";
        let all = shown(|c| c.write(ONE, text));
        assert_eq!(all, "x [kernel] exit [1G    1G y\n");
        // Nor one that comes in two writes, and no other letter is harmed.
        let halves = shown(|c| {
            c.write(ONE, b"a\xc2");
            c.write(ONE, "\t§\n".as_bytes());
        });
        assert_eq!(halves, "a \t§\n");
        assert_eq!(until_control(b"one\rtwo"), b"one");
        assert_eq!(until_control(b"one\ttwo"), b"one\ttwo");
    }

    #[test]
    fn what_was_dropped_does_not_count() {
        let mut console = Console::of(24);
        console.write(ONE, b"[web-ui] 0123456789\n");
        console.write(ONE, b"never shown");
        console.write(ONE, b"[k");
        assert_eq!(console.shown(), "[web-ui] 0123456789\n");
        assert_eq!(console.buffer.dropped(), 2);
        console.write(ONE, b"open");
        console.write(ONE, b" a line that is too long\n");
        console.kernel(b"x");
        assert_eq!(console.shown(), "open\n[kernel] x\n");
    }

    #[test]
    fn no_line_of_random_writers_passes_for_the_kernels() {
        const WORDS: [&[u8]; 9] = [
            b"[kernel]",
            b"[kernel] ",
            b"[ker",
            b"nel] exit",
            b"\n",
            b"\r",
            b"[",
            b"x",
            b"",
        ];
        let mut seed = 7_u64;
        let mut random = |below: u64| {
            seed = seed
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            usize::try_from((seed >> 33) % below).unwrap()
        };
        for _ in 0..2_000 {
            let mut console = Console::of(256);
            let mut printed = 0;
            for _ in 0..12 {
                let dropped = console.buffer.dropped();
                let text = [WORDS[random(9)], WORDS[random(9)]].concat();
                match random(4) {
                    0 => console.write_line(Speaker(random(2)), &text),
                    1 => {
                        console.kernel(b"!");
                        printed += usize::from(console.buffer.dropped() == dropped);
                    }
                    _ => console.write(Speaker(random(2)), &text),
                }
            }
            let all = console.shown();
            let like_the_kernels = all.lines().filter(|line| line.starts_with("[kernel]"));
            let own = all.lines().filter(|line| *line == "[kernel] !");
            assert_eq!(like_the_kernels.count(), printed, "{all:?}");
            assert_eq!(own.count(), printed, "{all:?}");
        }
    }
}
