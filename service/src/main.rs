//! The capOS process; everything in it is the library's or `capos`'s.
#![no_std]
#![no_main]

use freestanding as _;

mod capos;

capos_rt::entry_point!(capos::start);
