//! The part of the harness kernel that needs no hardware: what it decides, as
//! opposed to what it does to the machine. Everything here runs hosted under
//! its own tests; the binary of this package is the kernel around it.
//!
//! Unsafe code is in one file, `virtio/queue.rs`, which lends memory to cards.
#![cfg_attr(not(test), no_std)]
#![deny(unsafe_code)]

extern crate alloc;

pub mod boot_error;
pub mod boot_package;
pub mod call;
pub mod cap_table;
pub mod capset_page;
pub mod clock;
pub mod entry_budget;
pub mod line_buffer;
pub mod line_guard;
pub mod object;
pub mod package_budget;
pub mod platform;
pub mod process;
pub mod program;
pub mod ready;
pub mod request;
pub mod rests;
pub mod secret;
pub mod shares;
pub mod sockets;
pub mod syscall;
pub mod user_range;
pub mod user_space;
pub mod virtio;

/// Messages as results carry them. Parameters come from outside, in any layout that the format
/// allows: [`request`] reads those with the library, under the bounds of `capos_config`.
pub use ingress_schema::flat as message;
