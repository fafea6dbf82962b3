//! What a freestanding binary on the hosted target lacks, in one place.
//!
//! - feature `runtime`: the symbols that the precompiled `core` and `alloc`
//!   want at link time (`memcpy memmove memset memcmp bcmp`,
//!   `rust_eh_personality`, `_Unwind_Resume`). A guest binary depends on this
//!   crate with that feature and names it once: `use freestanding as _;`.
//! - feature `build`: [`build`], used by build scripts to pass link arguments.
//!
//! The two are never wanted together: build scripts are hosted and must keep
//! their C library's routines.
#![no_std]
#![cfg_attr(feature = "runtime", no_builtins)]

#[cfg(feature = "build")]
pub mod build;
pub mod memory;
#[cfg(feature = "runtime")]
mod symbols;
