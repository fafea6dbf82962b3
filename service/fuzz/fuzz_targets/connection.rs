//! Arbitrary bytes as clients: each command is one byte and what belongs to it. The books balance
//! after every input.
//!
//! ```sh
//! cargo +nightly fuzz run connection          # or, with a stable compiler:
//! RUSTC_BOOTSTRAP=1 cargo fuzz run connection
//! ```
#![no_main]

#[path = "../../tests/support/mod.rs"]
mod support;

use std::sync::Mutex;

use ingress_ledger::Lane;
use libfuzzer_sys::fuzz_target;
use remote_session_web_ui::ConnId;
use remote_session_web_ui::report::evidence::ServingState;
use support::{Grain, Wire};

/// One server for all inputs; a new one only after an input that drained it.
static WIRE: Mutex<Option<Wire>> = Mutex::new(None);

fuzz_target!(|bytes: &[u8]| {
    let mut kept = WIRE.lock().unwrap();
    let wire = kept.get_or_insert_with(|| Wire::tight(&["ingress_public_head_ms=900"]));
    let mut rest = bytes;
    while let Some((command, tail)) = rest.split_first() {
        rest = tail;
        let mut take = |count: usize| {
            let (taken, left) = rest.split_at(rest.len().min(count));
            rest = left;
            taken
        };
        let open: Vec<ConnId> = wire
            .peers
            .keys()
            .copied()
            .filter(|conn| !wire.is_closed(*conn))
            .collect();
        let pick = open
            .get(usize::from(command >> 4) % open.len().max(1))
            .copied();
        match (command & 15, pick) {
            (0..=2, _) => drop(wire.try_connect(Lane::ALL[usize::from(command & 3)])),
            (3, _) => {
                if let &[receive, send] = take(2) {
                    let size = |byte: u8| {
                        if byte > 200 {
                            usize::MAX
                        } else {
                            usize::from(byte) + 1
                        }
                    };
                    wire.grain = Grain {
                        receive: size(receive),
                        send: size(send),
                        is_read: send % 2 == 0,
                    };
                    wire.run();
                }
            }
            (4, _) => wire.pass_ms(u64::from(*command) * 8),
            (5, Some(conn)) => wire.shut_down(conn),
            (6, Some(conn)) => wire.reset(conn),
            (_, Some(conn)) => {
                let count = usize::from(command & 15) * 16;
                let text = take(count).to_vec();
                wire.send(conn, text);
            }
            (_, None) => {}
        }
    }
    wire.settle();
    if wire.evidence().state == ServingState::Draining {
        *kept = None;
    }
});
