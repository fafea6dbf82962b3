//! The deed of forging the kernel's lines.

use capos_rt::{ConsoleClient, LogSeverity, LogSinkClient, Runtime};
use hostile::forgery::{STEPS, Step};

use crate::requests;

const FOR_EVER: u64 = u64::MAX;
const NO_GRANT: i64 = 2;

/// Takes every step; the exit code tells the first that was refused.
pub(crate) fn forge_lines(runtime: &mut Runtime) -> i64 {
    for (number, step) in (10_i64..).zip(STEPS) {
        let done = match step {
            Step::Complaint => Some(requests::complain(runtime)),
            said => say(runtime, said),
        };
        match done {
            Some(true) => {}
            Some(false) => return number,
            None => return NO_GRANT,
        }
    }
    0
}

/// Whether the step was taken; nothing where a grant is missing.
fn say(runtime: &mut Runtime, step: Step) -> Option<bool> {
    let capset = runtime.capset();
    let mut console = capset.get_client::<ConsoleClient>(b"console").ok()?;
    let mut log = capset.get_client::<LogSinkClient>(b"log").ok()?;
    let mut ring = runtime.ring_client().ok()?;
    Some(match step {
        Step::Write(text) => console
            .write_wait(&mut ring, text.as_bytes(), FOR_EVER)
            .is_ok(),
        Step::WriteLine(text) => console.write_line_wait(&mut ring, text, FOR_EVER).is_ok(),
        Step::Record(component, message) => {
            let severity = LogSeverity::Error;
            log.write_wait(&mut ring, severity, component, 1, message, FOR_EVER) == Ok(true)
        }
        Step::Complaint => false,
    })
}
