//! The hostile program: looks up in its CapSet what it is to do, and does it.
#![no_std]
#![no_main]

use freestanding as _;

mod bad;
mod entries;
mod faults;
mod forge;
mod network;
mod objects;
mod random;
mod registers;
mod requests;
mod reserve;
mod witness;

use capos_rt::{ConsoleClient, Runtime};

/// Exit code of a program that was asked for nothing it knows.
const NOTHING_TO_DO: i64 = 90;
/// Exit code of a program that did something that should have ended it.
const SURVIVED: i64 = 91;

fn hostile_main(mut runtime: Runtime) -> i64 {
    let capset = runtime.capset();
    let wanted = capset.iter().find_map(|entry| {
        let name = entry.name_bytes();
        if name == hostile::WITNESS.as_bytes() {
            Some(hostile::WITNESS)
        } else {
            hostile::deed(name).map(|deed| deed.name)
        }
    });
    let Some(name) = wanted else {
        return NOTHING_TO_DO;
    };
    say(&mut runtime, name);
    match name {
        hostile::WITNESS => return witness::watch(&mut runtime),
        "do_read_null" => faults::read(0),
        "do_read_kernel" => faults::read(0xffff_ffff_8010_0000),
        "do_write_code" => faults::write_code(),
        "do_write_capset" => faults::write(capos_config::capset::CAPSET_VADDR),
        "do_execute_data" => faults::execute_data(),
        "do_execute_stack" => faults::execute_stack(),
        "do_exhaust_stack" => faults::exhaust_stack(),
        "do_fill_memory" => reserve::touch_all(),
        "do_divide" => faults::divide(),
        "do_privileged" => faults::privileged(),
        "do_port" => faults::port(),
        "do_undefined" => faults::undefined(),
        "do_breakpoint" => faults::breakpoint(),
        "do_single_step" => faults::single_step(),
        "do_spin" => faults::spin(),
        "do_corrupt_completions" => requests::corrupt_completions(&mut runtime),
        "do_corrupt_submissions" => return requests::corrupt_submissions(&mut runtime),
        "do_bad_requests" => return requests::bad_requests(&mut runtime),
        "do_unknown_calls" => return requests::unknown_calls(),
        "do_flood_console" => return requests::flood_console(&mut runtime),
        "do_many_sleeps" => return requests::many_sleeps(&mut runtime),
        "do_leave_connections" => return network::leave_connections(&mut runtime),
        "do_take_over" => return network::take_over(&mut runtime),
        "do_fill_completions" => return requests::fill_completions(),
        "do_forge_lines" => return forge::forge_lines(&mut runtime),
        "do_random_calls" => return random::random_calls(&mut runtime),
        "do_use_objects" => return objects::use_objects(&mut runtime),
        "do_wait_for_nothing" => requests::wait_for_nothing(),
        "do_ask_much" => return entries::ask_much(&mut runtime),
        "do_share_entries" => return entries::share_entries(&mut runtime),
        "do_hoard_answers" => return entries::hoard_answers(&mut runtime),
        "do_hoard_connections" => return entries::hoard_connections(&mut runtime),
        "do_odd_flags" => return registers::odd_flags(),
        "do_keep_registers" => return registers::keep_registers(),
        _ => {}
    }
    SURVIVED
}

/// Prints a line, if there is a console.
fn say(runtime: &mut Runtime, text: &str) {
    let console = runtime.capset().get_client::<ConsoleClient>(b"console");
    if let (Ok(mut console), Ok(mut ring)) = (console, runtime.ring_client()) {
        // A line that is lost shows in the proof.
        drop(console.write_line_wait(&mut ring, text, u64::MAX));
    }
}

capos_rt::entry_point!(hostile_main);
