//! Whole connections: clients of every lane that send, stall, shut down and reset, in pieces of
//! every size, while time passes. The books balance at the end, and no fault was counted.

use ingress_ledger::Lane;
use remote_session_web_ui::request::route::ROUTES;
use remote_session_web_ui::{Buffers, ConnId, State};

use super::service::{ALL_LANES, Grain, TIGHT, Wire};

/// Each command is one byte and what belongs to it.
pub(super) fn run(bytes: &[u8]) {
    let (mut state, mut buffers) = (Box::new(State::new()), Box::new(Buffers::new()));
    let names = [TIGHT, &["ingress_public_head_ms=900"]].concat();
    let memory = (&mut *state, &mut *buffers);
    let mut wire = Wire::on(memory, ALL_LANES, &names, ROUTES);
    let mut rest = bytes;
    while let Some(command) = take(&mut rest, 1).first() {
        obey(&mut wire, *command, &mut rest);
    }
    let evidence = wire.finish();
    assert_eq!(evidence.faults, 0, "{evidence}");
}

fn take<'a>(rest: &mut &'a [u8], count: usize) -> &'a [u8] {
    let (taken, left) = rest.split_at(rest.len().min(count));
    *rest = left;
    taken
}

fn obey(wire: &mut Wire<'_>, command: u8, rest: &mut &[u8]) {
    let is_open = |conn: &ConnId| !wire.is_closed(*conn);
    let open: Vec<ConnId> = wire.peers.keys().copied().filter(is_open).collect();
    let high = usize::from(command >> 4);
    let pick = open.get(high % open.len().max(1)).copied();
    match (command & 15, pick) {
        (lane @ 0..=2, _) => drop(wire.try_connect(Lane::ALL[usize::from(lane)])),
        (3, _) => {
            if let &[receive, send] = take(rest, 2) {
                wire.grain = Grain {
                    receive: grain(receive),
                    send: grain(send),
                    is_read: send % 2 == 0,
                };
                wire.run();
            }
        }
        (4, _) => wire.pass_ms(high as u64 * high as u64 * 16),
        (5, Some(conn)) => wire.shut_down(conn),
        (6, Some(conn)) => wire.reset(conn),
        (7, Some(conn)) => {
            // As much as the next two bytes say: bodies, pipelined requests.
            if let &[low, high] = take(rest, 2) {
                let count = usize::from(u16::from_le_bytes([low, high]));
                wire.send(conn, take(rest, count));
            }
        }
        (size, Some(conn)) => wire.send(conn, take(rest, usize::from(size) * 8)),
        (_, None) => {}
    }
}

fn grain(byte: u8) -> usize {
    if byte > 200 {
        usize::MAX
    } else {
        usize::from(byte) + 1
    }
}
