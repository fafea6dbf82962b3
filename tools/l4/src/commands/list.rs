//! `l4 list`: the cases and their negative controls.

use std::process::ExitCode;

use mkmanifest::say;

use crate::cases::{self, Need, Suite};
use crate::wire::Wires;

pub(crate) fn execute() -> ExitCode {
    for case in cases::ALL {
        let suite = match case.suite {
            Suite::Matrix => "matrix",
            Suite::Attack => "attack",
            Suite::OnDemand => "by name",
        };
        let wires = match case.wires {
            Wires::All(wires) => wires.iter().map(|wire| wire.name()).collect(),
            Wires::TapElseUser => vec!["tap, else user"],
        };
        say!(
            "{:<22} {suite:<7} {:<14} {}",
            case.name,
            wires.join(", "),
            case.title
        );
        match case.need {
            Need::Nothing => {}
            Need::Programs(programs) => say!("{:30} needs {}", "", programs.join(", ")),
        }
        for control in case.controls {
            say!("{:30} control {}: {}", "", control.name, control.breaks);
        }
    }
    ExitCode::SUCCESS
}
