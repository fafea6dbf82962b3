//! The segments of a NIC, as the emulator saw and wrote them down, each with its time.

use std::path::Path;
use std::time::Duration;

use crate::failure::Failure;
use crate::frames::Segment;

/// What a file of `pcap` begins with here: the host's own order of bytes, microseconds.
const MAGIC: [u8; 4] = 0xa1b2_c3d4_u32.to_ne_bytes();
/// The length of the file's head, and of each frame's.
const FILE_HEAD_BYTES: usize = 24;
const FRAME_HEAD_BYTES: usize = 16;

/// One segment and when it passed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Captured {
    /// By the emulator's clock.
    pub(crate) at: Duration,
    pub(crate) segment: Segment,
}

/// Every TCP segment of a file, in the order in which it passed.
pub(crate) fn read(file: &Path) -> Result<Vec<Captured>, Failure> {
    let failed = |cause: String| Failure::host(file.display().to_string(), cause);
    let bytes = std::fs::read(file).map_err(|error| failed(error.to_string()))?;
    parse(&bytes).ok_or_else(|| failed("it is no capture".into()))
}

fn parse(bytes: &[u8]) -> Option<Vec<Captured>> {
    let (head, mut rest) = bytes.split_at_checked(FILE_HEAD_BYTES)?;
    if !head.starts_with(&MAGIC) {
        return None;
    }
    let mut captured = Vec::new();
    while let Some((head, after)) = rest.split_at_checked(FRAME_HEAD_BYTES) {
        let word = |at: usize| Some(u32::from_ne_bytes(head.get(at..at + 4)?.try_into().ok()?));
        let (frame, after) = after.split_at_checked(usize::try_from(word(8)?).ok()?)?;
        let at = Duration::from_secs(word(0)?.into()) + Duration::from_micros(word(4)?.into());
        captured.extend(Segment::parse(frame).map(|segment| Captured { at, segment }));
        rest = after;
    }
    Some(captured)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_are_read_with_their_times_and_other_frames_are_passed_over() {
        let segment = Segment {
            payload: b"data".to_vec(),
            ..Segment::default()
        };
        let mut file = MAGIC.to_vec();
        file.resize(FILE_HEAD_BYTES, 0);
        for (micros, frame) in [(7_u32, vec![0; 60]), (9, segment.frame())] {
            let length = u32::try_from(frame.len()).unwrap();
            for word in [3, micros, length, length] {
                file.extend(word.to_ne_bytes());
            }
            file.extend(frame);
        }
        let at = Duration::from_secs(3) + Duration::from_micros(9);
        assert_eq!(parse(&file), Some(vec![Captured { at, segment }]));
        assert_eq!(parse(&file[..30]), Some(Vec::new()));
        assert_eq!(parse(b"no capture at all, and far too short"), None);
    }
}
