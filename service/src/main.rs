//! The capOS process: `accept → lane → permit → parse → route → respond → release`.
#![no_std]
#![no_main]

fn start(_runtime: capos_rt::Runtime) -> i64 {
    0
}

capos_rt::entry_point!(start);
