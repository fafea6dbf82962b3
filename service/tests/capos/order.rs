//! Whose work comes first, and what is left for the others (INV-ORDER).

use crate::kernel::{Kernel, MARKER};
use crate::scenarios::{
    GET_HEALTH, GET_STATUS, LOCAL, PROVIDER, PUBLIC, drain, ends_well, three_lanes,
};

/// Connections that flood, fewer than any lane's slots, and requests that each sends at once.
const FLOODING: usize = 8;
const REQUESTS: usize = 100;
/// Entries into the flood at which something else happens.
const AMID: u32 = 60;
/// Public sends that may come between a probe's arrival and its answer: those of the entry that
/// brings it.
const OVERTAKEN_MAX: usize = 8;

fn flood(kernel: &mut Kernel, port: u16, request: &[u8]) {
    for _ in 0..FLOODING {
        kernel.request(port, &request.repeat(REQUESTS));
    }
}

/// Ends every connection from the client's side, then the service.
fn end(mut kernel: Kernel) -> Kernel {
    kernel.then(|kernel| {
        for connection in &mut kernel.connections {
            connection.client_closed = true;
        }
    });
    drain(&mut kernel);
    ends_well(kernel)
}

pub(crate) fn a_provider_probe_overtakes_a_public_flood() {
    overtakes(PROVIDER, GET_HEALTH);
}

pub(crate) fn a_local_probe_overtakes_a_public_flood() {
    overtakes(LOCAL, GET_STATUS);
}

fn overtakes(port: u16, request: &'static [u8]) {
    let mut kernel = three_lanes();
    kernel.then(move |kernel| {
        flood(kernel, PUBLIC, GET_HEALTH);
        kernel.on_entry(AMID, move |kernel| {
            kernel.sends.clear();
            kernel.request(port, request);
        });
    });
    kernel.then(|kernel| {
        let answered = kernel.sends.iter().position(|&id| id == FLOODING);
        let before = answered.expect("the probe is answered");
        assert!(before <= OVERTAKEN_MAX, "{before} public answers first");
        assert!(kernel.sends.len() > 10 * OVERTAKEN_MAX, "the flood was on");
    });
    end(kernel);
}

/// An exempt local lane has no rate that bounds it: the order itself leaves a floor.
pub(crate) fn a_protected_flood_leaves_the_public_lane_its_entries() {
    let mut kernel = three_lanes();
    kernel.grant("ingress_local_rate=exempt", MARKER);
    kernel.then(|kernel| {
        flood(kernel, LOCAL, GET_STATUS);
        kernel.on_entry(AMID, |kernel| {
            kernel.sends.clear();
            kernel.request(PUBLIC, GET_HEALTH);
        });
    });
    kernel.then(|kernel| {
        let answered = kernel.sends.iter().position(|&id| id == FLOODING);
        let before = answered.expect("the public request is answered");
        let after = kernel.sends.len() - before;
        assert!(
            after > 100,
            "{before} before, {after} after: the flood was over"
        );
    });
    end(kernel);
}
