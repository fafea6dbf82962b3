//! HTTP/1.1 and 1.0 as far as this service speaks them, strict where framing could be doubted.
//!
//! `scan` finds the end of a head and refuses what no client sends by accident; `head` turns a whole
//! head into borrowed fields; `target` and `framing` are the two parts of it with rules of their own;
//! `condition` weighs what a request asks of the present state; `body` takes a request body apart;
//! `fault` names everything that can be wrong, with its one status; `write` puts responses together in
//! fixed buffers; `date` renders the clock.

pub mod body;
pub mod condition;
pub mod date;
pub mod fault;
pub mod framing;
pub mod head;
pub mod method;
pub mod scan;
pub mod status;
pub mod target;
pub mod write;
