//! The deeds of the hostile program, by the names that select them.
//!
//! A manifest gives the program one inert endpoint under such a name. The
//! program does it; what the kernel is to print, and how the process is to end,
//! stands beside it, so that program and proof cannot drift apart.
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
    /// More that the kernel prints on the way, if anything.
    pub complaint: Option<&'static str>,
    /// Lines that stand on the console besides, word for word.
    pub shown: &'static [&'static str],
}

const fn faults(name: &'static str, line: &'static str) -> Deed {
    Deed {
        name,
        end: End::Faulted(line),
        complaint: None,
        shown: &[],
    }
}

const fn finds(name: &'static str) -> Deed {
    Deed {
        name,
        end: End::Exited(0),
        complaint: None,
        shown: &[],
    }
}

const fn goes_on(name: &'static str) -> Deed {
    Deed {
        name,
        end: End::Endless,
        complaint: None,
        shown: &[],
    }
}

/// Name of the endpoint that makes a process the witness: it sleeps, says that
/// it lives, and exits with code 0 once it reads [`END`].
pub const WITNESS: &str = "do_witness";

/// The line on the terminal that ends the witness, and so the system.
pub const END: &str = "end";

/// Every deed.
pub const DEEDS: [Deed; 34] = [
    faults("do_read_null", "page fault"),
    faults("do_read_kernel", "page fault"),
    faults("do_write_code", "page fault"),
    faults("do_write_capset", "page fault"),
    faults("do_execute_data", "page fault"),
    faults("do_execute_stack", "page fault"),
    faults("do_exhaust_stack", "(stack exhausted)"),
    faults("do_fill_memory", "out of memory"),
    faults("do_divide", "divide error"),
    faults("do_privileged", "general protection fault"),
    faults("do_port", "general protection fault"),
    faults("do_undefined", "invalid opcode"),
    faults("do_breakpoint", "general protection fault"),
    faults("do_single_step", "debug exception"),
    faults(
        "do_corrupt_completions",
        "completion queue indices are corrupt",
    ),
    Deed {
        name: "do_corrupt_submissions",
        end: End::Exited(0),
        complaint: Some("submission queue indices are corrupt"),
        shown: &[],
    },
    Deed {
        name: "do_bad_requests",
        end: End::Exited(0),
        complaint: Some("further complaints are not printed"),
        shown: &[],
    },
    finds("do_unknown_calls"),
    finds("do_odd_flags"),
    finds("do_keep_registers"),
    finds("do_flood_console"),
    finds("do_many_sleeps"),
    finds("do_fill_completions"),
    finds("do_use_objects"),
    finds("do_random_calls"),
    faults("do_leave_connections", "page fault"),
    finds("do_take_over"),
    Deed {
        name: "do_forge_lines",
        end: End::Exited(0),
        complaint: Some("bad request: opcode=200"),
        shown: &forgery::SHOWN,
    },
    Deed {
        name: "do_wait_for_nothing",
        end: End::Endless,
        complaint: Some("waits for ever: for 1 completions"),
        shown: &[],
    },
    finds("do_share_entries"),
    finds("do_hoard_answers"),
    goes_on("do_ask_much"),
    goes_on("do_hoard_connections"),
    goes_on("do_spin"),
];

/// The deed that `name` asks for.
#[must_use]
pub fn deed(name: &[u8]) -> Option<&'static Deed> {
    DEEDS.iter().find(|deed| deed.name.as_bytes() == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_distinct_and_fit_a_capset() {
        for (index, deed) in DEEDS.iter().enumerate() {
            assert!(deed.name.len() <= capos_config::capset::CAPSET_NAME_MAX);
            assert!(
                DEEDS
                    .iter()
                    .skip(index + 1)
                    .all(|other| other.name != deed.name)
            );
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
