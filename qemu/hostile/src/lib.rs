//! The deeds of the hostile program, by the names that select them.
//!
//! A manifest gives the program one inert endpoint under such a name. The
//! program does it; what the kernel is to print, how the process is to end, and
//! what it is granted and booted beside, stands with it, so that program, manifest
//! and proof cannot drift apart.
#![cfg_attr(not(test), no_std)]
#![forbid(unsafe_code)]

pub mod forgery;

/// How the process that does a deed is to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The kernel ends it; its line contains this.
    Faulted(&'static str),
    /// It ends itself with this code, having found everything as it should be.
    Exited(i64),
    /// It is still at it when the witness is done.
    Endless,
}

/// One deed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deed {
    /// Name of the endpoint that asks for it.
    pub name: &'static str,
    /// How the process ends.
    pub end: End,
    /// What it is granted besides a console and a timer, by CapSet names.
    pub grants: &'static [&'static str],
    /// More that the kernel prints on the way, if anything.
    pub complaint: Option<&'static str>,
    /// Lines that stand on the console besides, word for word.
    pub shown: &'static [&'static str],
}

/// One boot of the proof: some deeds, a process each, beside a witness that must live.
#[derive(Clone, Copy, Debug)]
pub struct Boot {
    /// Its name in proofs and logs.
    pub name: &'static str,
    /// The deeds, which do not stand in each other's way, or are to.
    pub deeds: &'static [Deed],
}

const fn ends(name: &'static str, end: End) -> Deed {
    Deed {
        name,
        end,
        grants: &[],
        complaint: None,
        shown: &[],
    }
}

const fn faults(name: &'static str, line: &'static str) -> Deed {
    ends(name, End::Faulted(line))
}

const fn finds(name: &'static str) -> Deed {
    ends(name, End::Exited(0))
}

const fn goes_on(name: &'static str) -> Deed {
    ends(name, End::Endless)
}

impl Deed {
    const fn granted(mut self, grants: &'static [&'static str]) -> Self {
        self.grants = grants;
        self
    }

    const fn complained_of(mut self, complaint: &'static str) -> Self {
        self.complaint = Some(complaint);
        self
    }

    /// Name of the process that does it.
    #[must_use]
    pub fn process(&self) -> &'static str {
        self.name.strip_prefix(PREFIX).unwrap_or(self.name)
    }
}

/// How the names of all deeds begin.
const PREFIX: &str = "do_";

/// Name of the endpoint that makes a process the witness: it sleeps, says that
/// it lives, and exits with code 0 once it reads [`END`].
pub const WITNESS: &str = "do_witness";

/// The line on the terminal that ends the witness, and so the system.
pub const END: &str = "end";

/// Every boot with its deeds. Nothing else says which deeds there are: a proof makes its
/// manifests of this.
pub const BOOTS: [Boot; 11] = [
    Boot {
        name: "hostile-memory",
        deeds: &[
            faults("do_read_null", "page fault"),
            faults("do_read_kernel", "page fault"),
            faults("do_write_code", "page fault"),
            faults("do_write_capset", "page fault"),
            faults("do_fill_memory", "out of memory"),
        ],
    },
    Boot {
        name: "hostile-execution",
        deeds: &[
            faults("do_execute_data", "page fault"),
            faults("do_execute_stack", "page fault"),
            faults("do_exhaust_stack", "(stack exhausted)"),
            faults("do_undefined", "invalid opcode"),
        ],
    },
    Boot {
        name: "hostile-instructions",
        deeds: &[
            faults("do_divide", "divide error"),
            faults("do_privileged", "general protection fault"),
            faults("do_port", "general protection fault"),
            faults("do_breakpoint", "general protection fault"),
        ],
    },
    Boot {
        name: "hostile-queues",
        deeds: &[
            faults(
                "do_corrupt_completions",
                "completion queue indices are corrupt",
            ),
            finds("do_corrupt_submissions").complained_of("submission queue indices are corrupt"),
            finds("do_bad_requests").complained_of("further complaints are not printed"),
            finds("do_unknown_calls"),
            finds("do_fill_completions"),
            goes_on("do_wait_for_nothing").complained_of("waits for ever: for 1 completions"),
        ],
    },
    Boot {
        name: "hostile-floods",
        deeds: &[
            finds("do_flood_console"),
            finds("do_many_sleeps"),
            finds("do_odd_flags"),
            faults("do_single_step", "debug exception"),
        ],
    },
    Boot {
        name: "hostile-network",
        deeds: &[
            faults("do_leave_connections", "page fault").granted(&["network", "listen"]),
            // Finds the port free afterwards.
            finds("do_take_over").granted(&["network", "listen"]),
        ],
    },
    Boot {
        name: "hostile-objects",
        deeds: &[finds("do_use_objects").granted(&["wall_clock", "entropy", "system_info", "log"])],
    },
    Boot {
        name: "hostile-lines",
        deeds: &[Deed {
            shown: &forgery::SHOWN,
            ..finds("do_forge_lines")
                .granted(&["log"])
                .complained_of("bad request: opcode=200")
        }],
    },
    Boot {
        name: "hostile-calls",
        deeds: &[finds("do_random_calls").granted(&[
            "wall_clock",
            "entropy",
            "system_info",
            "log",
            "network",
            "listen",
        ])],
    },
    Boot {
        name: "hostile-entries",
        deeds: &[
            finds("do_share_entries"),
            finds("do_hoard_answers").granted(&["listen"]),
            goes_on("do_ask_much"),
            goes_on("do_hoard_connections").granted(&["network"]),
        ],
    },
    Boot {
        name: "hostile-spin",
        deeds: &[
            goes_on("do_spin"),
            // Its registers must survive the other.
            finds("do_keep_registers"),
        ],
    },
];

/// Every deed.
pub fn deeds() -> impl Iterator<Item = &'static Deed> {
    BOOTS.iter().flat_map(|boot| boot.deeds)
}

/// The deed that `name` asks for.
#[must_use]
pub fn deed(name: &[u8]) -> Option<&'static Deed> {
    deeds().find(|deed| deed.name.as_bytes() == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_distinct_and_fit_a_capset() {
        for (index, deed) in deeds().enumerate() {
            assert!(deed.name.len() <= capos_config::capset::CAPSET_NAME_MAX);
            assert!(deed.name.starts_with(PREFIX));
            assert!(deeds().skip(index + 1).all(|other| other.name != deed.name));
        }
        assert_eq!(deed(WITNESS.as_bytes()), None);
    }

    #[test]
    fn every_forged_line_says_so() {
        assert!(
            forgery::SHOWN
                .iter()
                .all(|line| line.contains(forgery::FORGED))
        );
    }
}
