//! Hostile segments near the edges of windows, for a few seconds; the example of the
//! same name goes on for as long as one likes.
#![allow(
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation,
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a test may panic, and that is how it fails"
)]

mod fuzz;

use fuzz::Tally;
use fuzz::random::run_seed;

#[test]
fn hostile_segments_hurt_nobody() {
    let mut tally = Tally::default();
    for seed in 0..40 {
        tally += run_seed(seed);
    }
    let Tally {
        accepted,
        connected,
        heard,
        ended,
        reset,
        challenges,
        ..
    } = tally;
    assert!(tally.frames > 100_000, "{tally:?}");
    let reached = [accepted, connected, heard, ended, reset, challenges];
    assert!(reached.iter().all(|count| *count > 100), "{tally:?}");
}
