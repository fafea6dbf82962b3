//! Jobs on their way: whose method each is, the memory lent for it, and what came of it (INV-JOBS).
//!
//! Each job has a place of its own, whose memory is the kernel's from the start of its call to its
//! completion, whatever becomes of the request. The kernel knows no way of taking a call back, so a
//! job that is given up is waited for like any other.

use ingress_ledger::Instant;
use remote_session_web_ui::JobId;
use remote_session_web_ui::grants::CapId;
use remote_session_web_ui::request::job::{Job, Outcome};
use remote_session_web_ui::request::jobs::JOBS;
use remote_session_web_ui::server::WallClock;
use remote_session_web_ui::tag::Tag;
use remote_session_web_ui::wire::{self, WallTime};

use super::outcome;
use super::ring::{Call, Completion, Memory};

/// `WallClock.wallTime`.
pub(super) const WALL_TIME: u16 = 0;

/// Room for the result of a job, or an exception with a short message.
const RESULT_BYTES: usize = 64;

/// The memory of one job's call.
#[repr(C, align(8))]
struct JobCall {
    result: [u8; RESULT_BYTES],
    /// What the memory is lent for.
    lent: Option<(JobId, Job)>,
}

/// The calls of all jobs.
pub(super) struct Jobs {
    wall_clock: Option<CapId>,
    calls: [JobCall; JOBS],
}

impl Jobs {
    /// None on its way.
    pub(super) const fn new() -> Self {
        Self {
            wall_clock: None,
            calls: [const {
                JobCall {
                    result: [0; RESULT_BYTES],
                    lent: None,
                }
            }; JOBS],
        }
    }

    /// Takes the capabilities that jobs are done with.
    pub(super) const fn open(&mut self, wall_clock: Option<CapId>) {
        self.wall_clock = wall_clock;
    }

    /// The call of a job; `None` if its memory is lent already, or nobody is there to do it.
    pub(super) fn start(&mut self, id: JobId, job: Job) -> Option<Call> {
        let call = self.calls.get_mut(usize::from(id.place()))?;
        if call.lent.is_some() {
            return None;
        }
        let (cap, method) = match job {
            Job::ReadWallClock => (self.wall_clock?, WALL_TIME),
        };
        call.lent = Some((id, job));
        Some(Call {
            cap,
            method,
            params: Memory::read(&wire::NO_PARAMS),
            result: Memory::write(&mut call.result),
            tag: Tag::Job(id),
        })
    }

    /// Takes the memory of a completed call back; `None` if none was lent for that job.
    pub(super) fn ended(&mut self, id: JobId, completion: Completion) -> Option<Outcome> {
        let call = self.calls.get_mut(usize::from(id.place()))?;
        let (_, job) = call.lent.take_if(|(lent, _)| *lent == id)?;
        let result = outcome::result(completion, &call.result);
        Some(match job {
            Job::ReadWallClock => result
                .ok()
                .and_then(|message| wire::wall_time(message).ok())
                .map_or(Outcome::Failed, |time| Outcome::WallClock(reading(time))),
        })
    }
}

/// A reading of the wall clock, in the server's terms.
pub(super) const fn reading(time: WallTime) -> WallClock {
    WallClock {
        unix_seconds: time.unix_seconds,
        at: Instant::from_nanos(time.monotonic_ns),
    }
}
