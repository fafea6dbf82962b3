//! The table of targets; one file each.

use crate::Target;

// Drivers and models that the crates' own tests use, too.
#[path = "../../../../ledger/tests/support/mod.rs"]
mod ledger;
#[path = "../../../../qemu/net/tests/fuzz/mod.rs"]
mod net;
#[path = "../../../../service/tests/support/mod.rs"]
mod service;
mod words;

/// Declares the targets once: file, name and longest input.
macro_rules! targets {
    ($($name:ident $input_bytes_max:literal;)*) => {
        $(mod $name;)*

        /// Every target there is.
        pub const TARGETS: &[Target] = &[$(Target {
            name: stringify!($name),
            input_bytes_max: $input_bytes_max,
            run: $name::run,
        }),*];
    };
}

targets! {
    bodies 4_096;
    channels 1_024;
    connections 2_048;
    cookies 64;
    frames 4_096;
    heads 12_288;
    manifests 4_096;
    markers 1_024;
    operations 2_048;
    packages 12_288;
    parameters 512;
    programs 4_096;
    request_targets 8_192;
    submissions 256;
}
