//! From the firmware's jump to the first process: machine entry, start info,
//! boot package, launch.

pub(crate) mod start_info;

core::arch::global_asm!(include_str!("entry.s"));
