//! Policy markers: names of grants, each taken or refused; what is taken resolves or is refused.

use ingress_ledger::{Lane, Listener, PerLane};
use remote_session_web_ui::policy::{MarkerSet, resolve};

/// One byte says which lanes listen; the rest are names, a line each.
pub(super) fn run(bytes: &[u8]) {
    let Some((lanes, names)) = bytes.split_first() else {
        return;
    };
    let listeners = PerLane::from_fn(|lane| match (lanes >> (lane as u8 * 2)) & 3 {
        0 => Listener::Absent,
        1 => Listener::Loopback,
        _ => Listener::Network,
    });
    let mut markers = MarkerSet::new();
    for name in names.split(|byte| *byte == b'\n') {
        if let Err(refusal) = markers.add(name) {
            assert!(!refusal.to_string().is_empty());
        }
    }
    match resolve(&markers, listeners) {
        Ok(policy) => {
            let profile = &policy.profile;
            for lane in Lane::ALL {
                assert_eq!(profile.is_enabled(lane), listeners[lane] != Listener::Absent);
            }
        }
        Err(refusal) => assert!(!refusal.to_string().is_empty()),
    }
}
