//! Deliberate defects, each behind a feature of its own: what the proofs' negative controls must catch.

#[cfg(feature = "broken-lane-from-header")]
pub(crate) fn take_lane_from_header(record: &mut crate::connection::record::Record, head: &[u8]) {
    use ingress_ledger::{ConnectionUse, Lane};

    let claim = b"X-Ingress-Lane: provider_health\r\n";
    if head.windows(claim.len()).any(|window| window == claim) {
        record.usage = ConnectionUse::new(Lane::ProviderHealth, record.usage.owner());
    }
}

#[cfg(feature = "broken-leak-on-cancel")]
pub(crate) fn forget_if_cancelled(
    reservation: ingress_ledger::IngressReservation<'static>,
    ended: crate::release::Ended,
) -> Option<ingress_ledger::IngressReservation<'static>> {
    (ended == crate::release::Ended::Served).then_some(reservation)
}
