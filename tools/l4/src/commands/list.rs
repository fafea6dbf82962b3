//! `l4 list`: the cases and their negative controls.

use std::process::ExitCode;

use crate::cases::{self, Need, Suite};

/// Prints them.
pub(crate) fn execute() -> ExitCode {
    for case in cases::ALL {
        let suite = match case.suite {
            Suite::Matrix => "matrix",
            Suite::Attack => "attack",
            Suite::OnDemand => "by name",
        };
        println!("{:<22} {suite:<7} {}", case.name, case.title);
        match case.need {
            Need::Nothing => {}
            Need::Programs(programs) => println!("{:30} needs {}", "", programs.join(", ")),
            Need::Root(programs) => println!("{:30} needs root, {}", "", programs.join(", ")),
        }
        for control in case.controls {
            println!("{:30} control {}: {}", "", control.name, control.breaks);
        }
    }
    ExitCode::SUCCESS
}
