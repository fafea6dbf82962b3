//! The cases of the proof matrix, one file each, and the registry of them.

mod abi;
mod absent_authority;
mod aliased_grants;
mod bad_wire;
mod balancer;
mod boot_refusal;
mod curl;
mod forgery;
mod hostile;
mod lane_order;
mod lane_selection;
mod loss;
mod no_wait;
mod packet_floods;
mod pools;
mod protected_abuse;
mod public_non_escalation;
mod release_balance;
mod route_scope;
mod scale;
mod slow_clients;
mod slowhttptest;
mod soak;
mod stalled_card;
mod starvation;
mod survival;
mod wire_attacks;
mod wrk;

use crate::failure::Failure;
use crate::session::{Sabotage, Session};
use crate::wire::Wires;

/// Which run a case belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Suite {
    /// The default run: what every change must pass.
    Matrix,
    /// Longer attacks, run by name or with `--suite attack`.
    Attack,
    /// Run by name alone.
    OnDemand,
}

/// What a case needs beyond QEMU and its wires.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Need {
    /// Nothing.
    Nothing,
    /// These programs on the path.
    Programs(&'static [&'static str]),
}

pub(crate) struct Case {
    /// Its name on the command line.
    pub(crate) name: &'static str,
    /// What it shows, in one line.
    pub(crate) title: &'static str,
    pub(crate) suite: Suite,
    pub(crate) need: Need,
    pub(crate) wires: Wires,
    pub(crate) run: fn(&mut Session<'_>) -> Result<(), Failure>,
    /// How its assertions are shown to be able to fail.
    pub(crate) controls: &'static [Control],
}

/// A run of a case on something deliberately broken. It succeeds when the named check
/// fails.
pub(crate) struct Control {
    pub(crate) name: &'static str,
    pub(crate) breaks: &'static str,
    pub(crate) sabotage: Sabotage,
    /// Words of a check that must then fail.
    pub(crate) must_fail: &'static str,
}

/// Every case, in the order in which they run.
pub(crate) const ALL: &[&Case] = &[
    &abi::CASE,
    &boot_refusal::CASE,
    &hostile::CASE,
    &lane_selection::CASE,
    &public_non_escalation::CASE,
    &protected_abuse::CASE,
    &route_scope::CASE,
    &absent_authority::CASE,
    &aliased_grants::CASE,
    &forgery::CASE,
    &release_balance::CASE,
    &survival::CASE,
    &scale::CASE,
    &curl::CASE,
    &wrk::CASE,
    &wire_attacks::CASE,
    &stalled_card::CASE,
    &pools::CASE,
    &no_wait::CASE,
    &balancer::CASE,
    &slow_clients::CASE,
    &slowhttptest::CASE,
    &packet_floods::CASE,
    &bad_wire::CASE,
    &starvation::CASE,
    &loss::CASE,
    &lane_order::CASE,
    &soak::CASE,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_every_case_has_a_control() {
        for (index, case) in ALL.iter().enumerate() {
            assert!(
                ALL.iter()
                    .skip(index + 1)
                    .all(|other| other.name != case.name)
            );
            assert!(!case.controls.is_empty(), "{} has no control", case.name);
        }
    }
}
