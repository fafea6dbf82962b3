//! What the network has seen, for the console at the end.

use harness_net::{Binding, TransportId};

use super::card::{Network, print_faults};
use crate::device::console::print_line;

/// Prints a line for every listener that there was, and one for each transport
/// and the pool.
pub(crate) fn print_reports(network: &Network) {
    for report in network.stack.listener_reports() {
        let counters = report.counters;
        let rest = format_args!(
            "port={} accepted={} backlog_refused={} pool_refused={} established={} reset_before_accept={} waiting={}",
            report.port,
            counters.accepted,
            counters.backlog_refused,
            counters.pool_refused,
            counters.established,
            counters.reset_before_accept,
            report.waiting
        );
        match report.binding {
            Binding::Transport(transport) => {
                print_line!("listener transport={transport} {rest}");
            }
            Binding::Wildcard => print_line!("listener transport=wildcard {rest}"),
        }
    }
    let transports = u8::try_from(network.stack.transport_count()).unwrap_or(u8::MAX);
    for transport in (0..transports).map(TransportId) {
        if let Some(card) = network.stack.device(transport) {
            print_faults(card);
        }
        if let Some(seen) = network.stack.transport_counters(transport) {
            print_line!(
                "transport {transport} received={} sent={} unsent={} malformed={} strays={} unacceptable={} challenges={} challenges_suppressed={} budget_exhausted={}",
                seen.frames_received,
                seen.frames_sent,
                seen.frames_unsent,
                seen.malformed,
                seen.strays,
                seen.unacceptable,
                seen.challenges_sent,
                seen.challenges_suppressed,
                seen.budget_exhausted
            );
        }
    }
    let pool = network.stack.pool_counters();
    print_line!(
        "sockets in_use={} high_water={} time_wait={} orphans={} faults={}",
        pool.in_use,
        pool.high_water,
        pool.time_wait,
        pool.orphans,
        pool.faults
    );
}
