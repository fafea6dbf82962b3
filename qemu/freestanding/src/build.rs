//! Link arguments for build scripts of freestanding binaries.
extern crate std;

use std::{env, path::Path, println};

/// Arguments that make a static, unhosted ELF whose layout a script decides.
pub const LINK_ARGUMENTS: [&str; 7] = [
    "-nostartfiles",
    "-nostdlib",
    "-static",
    "-no-pie",
    "-Wl,--build-id=none",
    "-Wl,-z,max-page-size=4096",
    "-Wl,--gc-sections",
];

/// Link script of user programs: image at the published user base, one segment
/// for each of code, constants and data, all below the published limit.
pub const USER_SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/user.ld");

/// Emits the arguments for every binary of the package under build, with
/// `script` as its layout.
pub fn link_binaries_with(script: &Path) {
    for argument in LINK_ARGUMENTS {
        println!("cargo:rustc-link-arg-bins={argument}");
    }
    println!("cargo:rustc-link-arg-bins=-T{}", script.display());
    println!("cargo:rerun-if-changed={}", script.display());
    println!("cargo:rerun-if-changed=build.rs");
}

/// Emits the arguments of a user program (see [`USER_SCRIPT`]).
///
/// A package whose binary is guest-only behind a cargo feature passes that
/// feature's name; without the feature nothing is emitted, so that hosted
/// targets of the same package still link.
pub fn link_user_program(only_with_feature: Option<&str>) {
    if let Some(feature) = only_with_feature {
        let variable: std::string::String = feature
            .chars()
            .map(|letter| {
                if letter == '-' {
                    '_'
                } else {
                    letter.to_ascii_uppercase()
                }
            })
            .collect();
        if env::var_os(std::format!("CARGO_FEATURE_{variable}")).is_none() {
            println!("cargo:rerun-if-changed=build.rs");
            return;
        }
    }
    link_binaries_with(Path::new(USER_SCRIPT));
}
