//! A connection's output: at most one answer, sent from one area, refilled from read-only data.

use crate::connection::buffers::{PREFIX, SendWindow, WORD};

/// What is left to send.
#[derive(Debug)]
pub(crate) struct Output {
    /// The bytes in the area, counted from its start; `begin` is on a word boundary.
    begin: usize,
    end: usize,
    /// What follows them.
    rest: &'static [u8],
}

/// What one finished send leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sent {
    /// More of the part that is in the area.
    Partly,
    /// The part as a whole; the next is in the area.
    Part,
    /// Nothing at all.
    Wholly,
}

impl Output {
    /// Nothing to send.
    pub(crate) const fn new() -> Self {
        Self {
            begin: 0,
            end: 0,
            rest: &[],
        }
    }

    /// Whether nothing is left to send.
    pub(crate) const fn is_empty(&self) -> bool {
        self.begin >= self.end && self.rest.is_empty()
    }

    /// Starts an answer: `bytes` in the area behind its prefix, then `rest`.
    pub(crate) const fn start(bytes: usize, rest: &'static [u8]) -> Self {
        Self {
            begin: PREFIX,
            end: PREFIX.saturating_add(bytes),
            rest,
        }
    }

    /// The message of the next send.
    pub(crate) fn window<'a>(&self, area: &'a mut [u8]) -> Option<SendWindow<'a>> {
        let payload = self
            .end
            .checked_sub(self.begin)
            .filter(|payload| *payload > 0)?;
        let start = self.begin.checked_sub(PREFIX)?;
        let padded = self.begin.checked_add(payload.next_multiple_of(WORD))?;
        area.get_mut(self.end..padded)?.fill(0);
        let message = area.get_mut(start..padded)?;
        Some(SendWindow { message, payload })
    }

    /// Takes the first `bytes` as sent; what is left is put on a word boundary, or the next part of
    /// the rest is fetched.
    pub(crate) fn sent(&mut self, area: &mut [u8], bytes: usize) -> Sent {
        let from = self.begin.saturating_add(bytes).min(self.end);
        if from < self.end && self.end <= area.len() {
            let to = from & !(WORD - 1);
            area.copy_within(from..self.end, to);
            self.end = to.saturating_add(self.end.saturating_sub(from));
            self.begin = to;
            return Sent::Partly;
        }
        let room = area.len().saturating_sub(PREFIX).saturating_sub(WORD);
        let (next, rest) = self
            .rest
            .split_at_checked(self.rest.len().min(room))
            .unwrap_or_default();
        if let Some(to) = area.get_mut(PREFIX..PREFIX.saturating_add(next.len())) {
            to.copy_from_slice(next);
        }
        self.begin = PREFIX;
        self.end = PREFIX.saturating_add(next.len());
        self.rest = rest;
        if next.is_empty() {
            Sent::Wholly
        } else {
            Sent::Part
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::connection::buffers::Area;

    #[test]
    fn an_answer_arrives_whole_however_little_each_send_takes() {
        static REST: [u8; 1000] = *include_bytes!("output.rs").first_chunk().unwrap();
        for step in [1, 3, 7, 8, 9, 64, 1000] {
            let mut area = Area([0u8; PREFIX + 64 + WORD]);
            area.0[PREFIX..PREFIX + 30].copy_from_slice(b"thirty bytes of head go first.");
            let mut output = Output::start(30, &REST);
            let mut wire = Vec::new();
            while let Some(window) = output.window(&mut area.0) {
                assert_eq!(window.message.as_ptr() as usize % WORD, 0);
                assert_eq!(window.message.len() % WORD, 0);
                assert!(
                    window.message[PREFIX + window.payload..]
                        .iter()
                        .all(|pad| *pad == 0)
                );
                window.message[..PREFIX].fill(0xaa);
                let taken = step.min(window.payload);
                wire.extend_from_slice(&window.message[PREFIX..PREFIX + taken]);
                let sent = output.sent(&mut area.0, taken);
                assert_eq!(sent == Sent::Wholly, output.is_empty());
            }
            assert_eq!(&wire[..30], b"thirty bytes of head go first.");
            assert!(wire[30..] == REST, "{step}");
        }
    }
}
