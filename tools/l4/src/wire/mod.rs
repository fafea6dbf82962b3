//! What a case's traffic goes over, as a property of its run: QEMU's user network, TAP
//! devices with the host's own TCP at the other end, or the harness itself, frame by frame.

pub(crate) mod tap;

use serde::{Deserialize, Serialize};

use crate::child;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Wire {
    /// QEMU's user network: needs nothing, and acknowledges at once whatever the guest sends.
    User,
    /// TAP devices in a network namespace of the harness's own.
    Tap,
    /// The harness writes and reads the public NIC's frames; the others are as with `User`.
    Frames,
}

impl Wire {
    /// Its name, in reports and files.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Tap => "tap",
            Self::Frames => "frames",
        }
    }

    /// What the host lacks for it.
    pub(crate) fn unmet(self) -> Option<String> {
        if self != Self::Tap {
            return None;
        }
        if !is_root() {
            return Some("TAP needs root, for a network namespace of its own".into());
        }
        let missing = ["ip", "unshare"]
            .iter()
            .find(|program| child::find(program).is_none());
        missing.map(|program| format!("TAP needs {program}; `make setup` installs it"))
    }
}

fn is_root() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let user = status.lines().find_map(|line| line.strip_prefix("Uid:"));
    user.and_then(|ids| ids.split_whitespace().nth(1)) == Some("0")
}

/// The wires that a case runs over, one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wires {
    /// Each of these.
    All(&'static [Wire]),
    /// TAP; where the host lacks something for it the user network, and TAP is skipped by name.
    TapElseUser,
}

/// Nothing in the case depends on the wire.
pub(crate) const ANY: Wires = Wires::All(&[Wire::User]);

impl Wires {
    /// The wires that this host has.
    pub(crate) fn here(self) -> Vec<Wire> {
        match self {
            Self::All(wires) => wires.to_vec(),
            Self::TapElseUser if Wire::Tap.unmet().is_some() => vec![Wire::User, Wire::Tap],
            Self::TapElseUser => vec![Wire::Tap],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_host_lacks_for_tap_is_named_and_the_user_network_takes_its_place() {
        let here = Wires::TapElseUser.here();
        match Wire::Tap.unmet() {
            None => assert_eq!(here, [Wire::Tap]),
            Some(why) => {
                assert!(why.starts_with("TAP needs "), "{why}");
                assert_eq!(here, [Wire::User, Wire::Tap]);
            }
        }
        assert_eq!(Wire::User.unmet(), None);
        assert_eq!(Wire::Frames.unmet(), None);
    }
}
