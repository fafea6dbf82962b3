//! A load from its first connection to its result line.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use ingress_probe::command::{After, Load, Pace, Reopen, Reuse, Watch};
use ingress_probe::tally::LastAnswer;

use crate::network::Network;
use crate::worker::{Series, Worker};

/// Longest wait, so that a lost completion is noticed by its timeout.
const LONGEST_WAIT_NS: u64 = 50_000_000;
/// How long a probe beside a load may take.
const WATCH_TIMEOUT_NS: u64 = 2_000_000_000;

/// Runs the load; its result in words, or `None` if the ring failed.
pub(crate) fn run(network: &mut Network<'_>, load: &Load) -> Option<String> {
    let start_ns = network.read_clock()?;
    let beside = load.watch.as_ref().map(watch_load);
    let mut series = Series::new(load, start_ns);
    let mut workers: Vec<Worker> = (0..load.conns).map(|_| Worker::new(start_ns)).collect();
    let mut watcher = beside
        .as_ref()
        .map(|load| (Series::new(load, start_ns), Worker::new(start_ns)));
    let mut first = 0_usize;
    loop {
        network.turn()?;
        let now_ns = network.now_ns();
        let mut progress = false;
        let mut wake_ns = now_ns.saturating_add(LONGEST_WAIT_NS);
        if let Some((series, worker)) = &mut watcher {
            let stepped = worker.step(series, network);
            progress |= stepped.progress;
            wake_ns = wake_ns.min(stepped.wake_ns);
        }
        // A turn has room for a few calls only: the next begins where they ran out.
        let (head, tail) = workers.split_at_mut(first);
        let mut next = None;
        for (place, worker) in (first..).zip(tail).chain((0..).zip(head)) {
            let stepped = worker.step(&mut series, network);
            progress |= stepped.progress;
            wake_ns = wake_ns.min(stepped.wake_ns);
            if next.is_none() && !network.has_room() {
                next = Some(place);
            }
        }
        first = next.unwrap_or(first);
        if workers.iter().all(Worker::is_done) {
            match &mut watcher {
                Some((series, worker)) if !worker.is_done() => series.stop(now_ns),
                _ => break,
            }
        }
        if !progress {
            network.wait(wake_ns.saturating_sub(now_ns))?;
        }
    }
    let end_ns = network.read_clock()?;
    network.settle()?;
    series.tally.end(end_ns);
    let mut words = format!(
        "{} elapsed_ns={}",
        series.tally.words(""),
        end_ns.saturating_sub(start_ns)
    );
    if let Some((watched, _)) = &mut watcher {
        watched.tally.end(end_ns);
        words.push_str(&format!(" {}", watched.tally.words("watch_")));
    }
    if load.count == Some(1)
        && let Some(answer) = &series.last
    {
        words.push_str(&format!(" {}", LastAnswer(answer)));
    }
    Some(words)
}

fn watch_load(watch: &Watch) -> Load {
    Load {
        target: watch.target,
        request: watch.request.clone(),
        count: None,
        for_ns: Some(u64::MAX),
        conns: 1,
        pipeline: 1,
        reuse: Reuse::Fresh,
        after: After::Read,
        reopen: Reopen::Yes,
        every_ns: watch.every_ns,
        timeout_ns: WATCH_TIMEOUT_NS,
        send: Pace::FULL,
        receive: Pace::FULL,
        watch: None,
    }
}
