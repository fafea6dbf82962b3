//! The harness kernel: the published capOS ABI, as far as the ingress service,
//! its in-guest clients and the runtime's own smoke program need it. See
//! `README.md` for the map of the folders.
//!
//! Unsafe code is in the modules that are marked so, and nowhere else: what they
//! offer the others is safe to call.
#![no_std]
#![no_main]
#![deny(unsafe_code)]

extern crate alloc;

use freestanding as _;

#[expect(unsafe_code, reason = "reads what the loader left")]
mod boot;
#[expect(unsafe_code, reason = "memory that cards write, their registers")]
mod cards;
#[expect(unsafe_code, reason = "global state")]
mod cell;
#[expect(unsafe_code, reason = "single instructions")]
mod cpu;
mod device;
mod kernel;
#[expect(unsafe_code, reason = "page tables, frames, user memory")]
mod memory;
mod network;
mod panic;
mod time;
#[expect(unsafe_code, reason = "entry code, saved state")]
mod trap;
