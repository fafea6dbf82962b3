//! Parameters of calls: what every method reads in a message that a process wrote lies in it.

use harness_kernel::request;

use super::words::aligned;

/// The bytes are the message.
pub(super) fn run(bytes: &[u8]) {
    aligned(bytes, |bytes| {
        let Ok(message) = request::message(bytes) else {
            return;
        };
        let range = bytes.as_ptr_range();
        let lies_inside = |part: &[u8]| {
            let part = part.as_ptr_range();
            assert!(part.is_empty() || (range.start <= part.start && part.end <= range.end));
        };
        for read in [
            request::console_data,
            request::console_line,
            request::terminal_data,
            request::terminal_line,
            request::send_data,
        ] {
            if let Ok(part) = read(&message) {
                lies_inside(part);
            }
        }
        if let Ok(record) = request::log_record(&message) {
            lies_inside(record.component);
            lies_inside(record.text);
        }
        if let Ok(line) = request::line_wanted(&message) {
            lies_inside(line.prompt);
        }
        if let Ok((address, _)) = request::peer(&message) {
            lies_inside(address);
        }
        let numbers = (
            request::sleep_nanoseconds(&message),
            request::random_bytes(&message),
            request::receive_max(&message),
            request::identified(&message),
            request::compared(&message),
        );
        drop(numbers);
    });
}
