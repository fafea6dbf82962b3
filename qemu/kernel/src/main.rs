//! The harness kernel: the published capOS ABI, as far as the ingress service,
//! its in-guest clients and the runtime's own smoke program need it. See
//! `README.md` for the map of the folders.
#![no_std]
#![no_main]

extern crate alloc;

use freestanding as _;

mod boot;
mod cell;
mod cpu;
mod device;
mod kernel;
mod memory;
mod network;
mod object;
mod panic;
mod process;
mod syscall;
mod time;
mod trap;
mod virtio;
