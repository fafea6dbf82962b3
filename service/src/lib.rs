//! The web UI of a capOS system, behind protected ingress lanes.
//!
//! This library is the whole service but for its sockets: bytes and instants go in, [`Action`]s come
//! out. It has no I/O, no clock and no allocation, so that the same code runs in the guest, under host
//! tests and under a fuzzer. Start reading at `flow`: the path of a connection from accept to release
//! stands there, top to bottom.
//!
//! | room | is |
//! |---|---|
//! | [`server`] | the boundary: inputs, outputs, windows |
//! | `flow` | accept → lane → permit → parse → route → respond → release |
//! | [`connection`] | one record a connection, its memory, its time, its giving way |
//! | [`request`] | from bytes to a route |
//! | [`answer`] | from a route, or a reason against it, to bytes |
//! | [`handlers`] | what the routes answer with |
//! | [`http`] | heads, bodies, statuses, responses |
//! | [`boot`] | what is decided before the first accept: grants, distinct listeners, policy |
//! | [`report`] | every counter, once, and what shows them |
//! | [`wire`] | fixed message layouts and tags of the capability ring |
#![cfg_attr(not(test), no_std)]
#![forbid(unsafe_code)]

pub mod action;
pub mod answer;
pub mod boot;
pub mod connection;
mod flow;
pub mod handlers;
pub mod http;
pub mod ids;
mod release;
pub mod report;
pub mod request;
pub mod server;
mod state;
pub mod wire;

pub use action::Action;
pub use boot::{distinct, grants, policy};
pub use connection::buffers::{self, Buffers};
pub use ids::{ConnId, JobId};
pub use report::evidence;
pub use server::{Config, Now, Server, State};
pub use wire::tag;
