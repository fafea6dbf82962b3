#![no_std]
#![no_main]
//! x
use freestanding as _;
fn start(_r: capos_rt::Runtime) -> i64 {
    0
}
capos_rt::entry_point!(start);
