//! The lanes' listeners and the accepts that are on their way.
//!
//! Each lane has its own accepts, submitted before any other call of a turn, so
//! that no lane's accept waits behind another lane's work.

use capos_config::TCP_LISTENER_INTERFACE_ID;
use ingress_ledger::{LANES, Lane, PerLane};
use remote_session_web_ui::grants::CapId;
use remote_session_web_ui::tag::Tag;
use remote_session_web_ui::wire;

use super::ring::{Call, Memory};

/// Interface of what `listen` transfers.
pub(super) const INTERFACE: u64 = TCP_LISTENER_INTERFACE_ID;
/// `TcpListener.accept`.
const ACCEPT: u16 = 0;
/// Accepts on their way for one lane.
const DEPTH: usize = 2;
/// Room for an accept's result with its transfer record, or an exception.
const RESULT_BYTES: usize = 256;
const PLACES: usize = LANES * DEPTH;

/// One accept, on its way or not.
#[repr(C, align(8))]
struct Accept {
    result: [u8; RESULT_BYTES],
    on_its_way: bool,
}

/// All listeners.
pub(super) struct Listeners {
    caps: PerLane<Option<CapId>>,
    accepts: [Accept; PLACES],
}

impl Listeners {
    /// No lane listens.
    pub(super) const fn new() -> Self {
        Self {
            caps: PerLane::all(None),
            accepts: [const {
                Accept {
                    result: [0; RESULT_BYTES],
                    on_its_way: false,
                }
            }; PLACES],
        }
    }

    /// Takes a lane's listener.
    pub(super) fn open(&mut self, lane: Lane, listener: CapId) {
        self.caps[lane] = Some(listener);
    }

    /// The lane that the accept at `place` belongs to.
    pub(super) fn lane_at(place: u16) -> Option<Lane> {
        let lane = usize::from(place).checked_div(DEPTH)?;
        Lane::ALL.into_iter().nth(lane)
    }

    /// The next accept to start: one that is not on its way, of a lane that
    /// listens and that `starts` it. Marks it as on its way.
    pub(super) fn next_call(&mut self, mut starts: impl FnMut(Lane) -> bool) -> Option<Call> {
        for (place, accept) in (0_u16..).zip(self.accepts.iter_mut()) {
            if accept.on_its_way {
                continue;
            }
            let Some(lane) = Self::lane_at(place) else {
                continue;
            };
            let Some(cap) = self.caps[lane].filter(|_| starts(lane)) else {
                continue;
            };
            accept.on_its_way = true;
            return Some(Call {
                cap,
                method: ACCEPT,
                params: Memory::read(&wire::NO_PARAMS),
                result: Memory::write(&mut accept.result),
                tag: Tag::Accept(place),
            });
        }
        None
    }

    /// Takes the result of a completed accept; `None` if none was on its way.
    pub(super) fn take_result(&mut self, place: u16) -> Option<&[u8]> {
        let accept = self.accepts.get_mut(usize::from(place))?;
        core::mem::replace(&mut accept.on_its_way, false).then_some(&accept.result)
    }
}
