//! Submissions: the published wire rules, the ranges that they name, and the capability table.

use std::collections::BTreeMap;

use capos_config::capset::CAPSET_VADDR;
use capos_config::ring::{CapSqe, sqe_wire_validation_error};
use harness_kernel::cap_table::{CapId, CapTable};
use harness_kernel::user_range::{USER_END, UserRange, page_pieces};

const PAGE_BYTES: u64 = 4096;

/// Submissions of 32 bytes each; the first byte also inserts a capability or removes one.
pub(super) fn run(bytes: &[u8]) {
    let mut table = CapTable::new();
    let mut model = BTreeMap::new();
    for (serial, words) in bytes.chunks_exact(32).enumerate() {
        let submission = submission(words);
        if sqe_wire_validation_error(&submission).is_ok() {
            for (start, length) in [
                (submission.addr, submission.len),
                (submission.result_addr, submission.result_len),
            ] {
                check_range(start, length);
            }
        }
        let wire = submission.cap_id;
        let id = CapId::from_wire(wire);
        assert_eq!(table.find(id).ok(), model.get(&wire).copied());
        match words[0] >> 6 {
            0 | 1 => {
                if let Ok(id) = table.insert(serial) {
                    let earlier = model.insert(id.wire(), serial);
                    assert_eq!(earlier, None, "an id was given twice");
                }
            }
            2 => assert_eq!(table.remove(id).ok(), model.remove(&wire)),
            _ => {
                let held = model.keys().next().copied();
                let found = held.map(|wire| table.remove(CapId::from_wire(wire)).ok());
                assert_eq!(found, held.map(|wire| model.remove(&wire)));
            }
        }
        assert_eq!(table.objects().count(), model.len());
    }
}

fn submission(words: &[u8]) -> CapSqe {
    let word = |at: usize| u64::from_le_bytes(words[at..at + 8].try_into().unwrap());
    let half = |at: usize| u32::from_le_bytes(words[at..at + 4].try_into().unwrap());
    // Near the end of the user part, or anywhere.
    let near = |address: u64| match address >> 62 {
        0 => CAPSET_VADDR.wrapping_add(address & 0x1fff),
        _ => address,
    };
    CapSqe {
        opcode: words[0] & 0x3f,
        flags: words[1] & 3,
        method_id: u16::from(words[2]),
        cap_id: half(4),
        user_data: 0,
        addr: near(word(8)),
        len: half(16),
        result_len: half(20),
        result_addr: near(word(24)),
        pipeline_dep: u64::from(words[1] >> 7),
        pipeline_field: u16::from(words[1] >> 6 & 1),
        xfer_cap_count: u16::from(words[3]),
        call_id: u32::from(words[1] >> 5 & 1),
        session_disclosure: u64::from(words[1] >> 4 & 1),
    }
}

/// Its pieces are the range, page by page.
fn check_range(start: u64, length: u32) {
    let end = start.checked_add(length.into());
    let is_sound = length > 0 && end.is_some_and(|end| end <= USER_END);
    let range = UserRange::new(start, length);
    assert_eq!(range.is_ok(), is_sound);
    // A page at a time would take a million steps for the longest.
    let Some(range) = range.ok().filter(|range| range.length() < 1 << 20) else {
        return;
    };
    let mut at = start;
    for piece in page_pieces(range) {
        assert_eq!(piece.address, at);
        assert!(piece.length > 0);
        at += piece.length as u64;
        assert!(piece.address / PAGE_BYTES == (at - 1) / PAGE_BYTES);
    }
    assert_eq!(Some(at), end);
}
