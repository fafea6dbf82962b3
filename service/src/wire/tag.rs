//! What a completion answers: the 64 bits that travel with a call and come back.
//!
//! ```text
//!  63    56 55         32 31          16 15         0
//! +--------+-------------+--------------+------------+
//! |  kind  |      0      |  generation  |   index    |
//! +--------+-------------+--------------+------------+
//! ```
//!
//! A connection's or a job's generation travels along, so that a late completion of an
//! earlier connection in the same place is told apart. The kernel only copies
//! the word; a word that no [`Tag`] makes is refused by [`Tag::from_word`].

use crate::ids::{ConnId, JobId};

/// A call in flight.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Tag {
    /// The clock was read.
    Clock,
    /// A line went to the console.
    Console,
    /// A call of the boot sequence, made one at a time.
    Boot,
    /// A slot of the capability table was given back.
    Release,
    /// An accept, by its place among all accepts.
    Accept(u16),
    /// A receive on a connection.
    Receive(ConnId),
    /// A send on a connection.
    Send(ConnId),
    /// The close of a connection.
    Close(ConnId),
    /// A job, by its place among all jobs.
    Job(JobId),
}

const CLOCK: u64 = 1;
const CONSOLE: u64 = 2;
const BOOT: u64 = 3;
const RELEASE: u64 = 4;
const ACCEPT: u64 = 5;
const RECEIVE: u64 = 6;
const SEND: u64 = 7;
const CLOSE: u64 = 8;
const JOB: u64 = 9;

const KIND_SHIFT: u32 = 56;

const fn pack(kind: u64, generation: u16, index: u16) -> u64 {
    (kind << KIND_SHIFT) | ((generation as u64) << 16) | index as u64
}

impl Tag {
    /// The word that travels; never zero.
    #[must_use]
    pub const fn to_word(self) -> u64 {
        match self {
            Self::Clock => pack(CLOCK, 0, 0),
            Self::Console => pack(CONSOLE, 0, 0),
            Self::Boot => pack(BOOT, 0, 0),
            Self::Release => pack(RELEASE, 0, 0),
            Self::Accept(place) => pack(ACCEPT, 0, place),
            Self::Receive(conn) => pack(RECEIVE, conn.generation(), conn.index()),
            Self::Send(conn) => pack(SEND, conn.generation(), conn.index()),
            Self::Close(conn) => pack(CLOSE, conn.generation(), conn.index()),
            Self::Job(job) => pack(JOB, job.generation(), job.place()),
        }
    }

    /// Reads a word back; `None` for one that [`Tag::to_word`] never gives.
    #[must_use]
    pub const fn from_word(word: u64) -> Option<Self> {
        let [i0, i1, g0, g1, 0, 0, 0, kind] = word.to_le_bytes() else {
            return None;
        };
        let index = u16::from_le_bytes([i0, i1]);
        let generation = u16::from_le_bytes([g0, g1]);
        let conn = ConnId::from_parts(index, generation);
        match (kind as u64, generation, index) {
            (CLOCK, 0, 0) => Some(Self::Clock),
            (CONSOLE, 0, 0) => Some(Self::Console),
            (BOOT, 0, 0) => Some(Self::Boot),
            (RELEASE, 0, 0) => Some(Self::Release),
            (ACCEPT, 0, place) => Some(Self::Accept(place)),
            (RECEIVE, _, _) => Some(Self::Receive(conn)),
            (SEND, _, _) => Some(Self::Send(conn)),
            (CLOSE, _, _) => Some(Self::Close(conn)),
            (JOB, _, _) => Some(Self::Job(JobId::from_parts(index, generation))),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_tag_comes_back_as_it_went() {
        for (index, generation) in [(0, 0), (1, 0), (0, 1), (1_023, 65_535), (65_535, 7)] {
            let conn = ConnId::from_parts(index, generation);
            for tag in [
                Tag::Clock,
                Tag::Console,
                Tag::Boot,
                Tag::Release,
                Tag::Accept(index),
                Tag::Receive(conn),
                Tag::Send(conn),
                Tag::Close(conn),
                Tag::Job(JobId::from_parts(index, generation)),
            ] {
                assert_ne!(tag.to_word(), 0);
                assert_eq!(Tag::from_word(tag.to_word()), Some(tag));
            }
        }
    }

    #[test]
    fn a_word_that_no_tag_makes_is_refused() {
        for word in [
            0,
            1,
            pack(10, 0, 0),
            pack(CLOCK, 0, 1),
            pack(ACCEPT, 1, 0),
            pack(RECEIVE, 0, 0) | 1 << 32,
            u64::MAX,
        ] {
            assert_eq!(Tag::from_word(word), None, "{word:#x}");
        }
    }
}
