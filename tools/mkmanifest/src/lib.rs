//! Compiles boot manifests from TOML and checks their lane rules.
//!
//! ```text
//! three-lanes.toml --parse--> model --capset, lanes--> tree --package--> X.bin
//!                                                       |
//!                                                       +---export----> JSON (CUE)
//! ```
//!
//! One tree is both packed and exported, and the published validators of
//! `capos-config` see it before either. Every refusal names the file, the line,
//! the field and what to do; two grants that collide are both named.
//!
//! The format is described in `docs/manifests.md`.

#![forbid(unsafe_code)]

mod binaries;
mod capset;
mod error;
mod export;
mod files;
mod image;
mod lanes;
mod location;
mod model;
mod output;
mod package;
mod parse;
mod policy;
mod reader;
mod roles;
mod show;
mod tree;

pub use binaries::{Binaries, Images};
pub use error::{Fault, GrantPair, ManifestError};
pub use export::export;
pub use files::{MANIFEST_BYTES_MAX, PROGRAM_BYTES_MAX, read_program, replace};
pub use image::loaded_bytes;
pub use location::{At, Location};
pub use model::{Grant, GrantKind, Manifest, Marker, Process, Service, System};
pub use output::{finish, print, print_bytes, print_error, refused};
pub use package::{IMAGE_BYTES_MAX, LaneRules, Options, build, check, check_manifest, inputs};
pub use parse::{parse, read};
pub use policy::{clamps, policy};
pub use show::show;
