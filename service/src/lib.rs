//! The web UI of a capOS system, behind protected ingress lanes.
//!
//! This library is the whole service but for its sockets: bytes and instants go in, [`Action`]s come
//! out. It has no I/O, no clock and no allocation, so that the same code runs in the guest, under host
//! tests and under a fuzzer. Start reading at `flow`: the path of a connection from accept to release
//! stands there, top to bottom.
//!
//! | module | is |
//! |---|---|
//! | [`server`] | the boundary: inputs, outputs, windows |
//! | `flow` | accept → lane → permit → parse → route → respond → release |
//! | [`http`] | heads, bodies, statuses, responses |
//! | [`route`] | the one table of routes, and what each lane may ask for |
//! | [`policy`] | operator policy: markers in, validated profile out |
//! | [`evidence`] | every counter, and the line that shows them |
//! | [`distinct`], [`grants`] | the boot-time checks of the granted capabilities |
//! | [`wire`], [`tag`] | fixed message layouts of the capability ring |
#![cfg_attr(not(test), no_std)]
#![forbid(unsafe_code)]

pub mod action;
mod answers;
mod api;
pub mod assets;
#[cfg(any(feature = "broken-lane-from-header", feature = "broken-leak-on-cancel"))]
mod broken;
pub mod buffers;
mod chain;
mod deadlines;
pub mod distinct;
mod drain;
pub mod evidence;
mod flow;
mod give_way;
pub mod grants;
pub mod http;
pub mod ids;
mod input;
mod linger;
mod output;
mod parse;
pub mod policy;
mod record;
mod record_format;
mod release;
mod reply;
mod respond;
pub mod route;
pub mod server;
mod state;
mod steps;
mod table;
pub mod tag;
mod timeouts;
pub mod wire;

pub use action::Action;
pub use buffers::Buffers;
pub use ids::ConnId;
pub use server::{Config, Now, Server, State};
