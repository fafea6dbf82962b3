//! Sends hostile segments to stacks until so many frames were sent:
//! `cargo run --profile fuzz -p harness-net --example fuzz_segments -- --frames 1000000 --seed 1`.
//! A panic names the seed that leads to it. `tests/fuzz/mod.rs` is the driver.
#![allow(
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation,
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a fuzzer may panic, and that is how it reports"
)]

#[path = "../tests/fuzz/mod.rs"]
mod fuzz;

use std::time::Instant;

/// The number after `--name`.
fn argument(name: &str, default: u64) -> u64 {
    let mut arguments = std::env::args();
    arguments
        .find(|argument| argument == name)
        .and_then(|_| arguments.next())
        .map_or(default, |value| value.parse().expect("a number"))
}

/// Names the seed if its run panics.
struct Seed(u64);

impl Drop for Seed {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("seed {} panics", self.0);
        }
    }
}

fn main() {
    let wanted = argument("--frames", 10_000_000);
    let first = argument("--seed", 0);
    let start = Instant::now();
    let (mut tally, mut seed) = (fuzz::Tally::default(), first);
    while tally.frames < wanted {
        let named = Seed(seed);
        tally += fuzz::random::run_seed(seed);
        drop(named);
        seed += 1;
    }
    let seconds = start.elapsed().as_secs_f64();
    println!(
        "seeds {first} to {}, {seconds:.1} s, {:.0} frames/s: {tally:?}",
        seed - 1,
        tally.frames as f64 / seconds
    );
}
