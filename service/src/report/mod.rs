//! What the service tells of itself: INV-EVIDENCE.
//!
//! [`evidence`] is every counter as one plain copy, [`table`] says of each what it is called and
//! means. [`mod@line`] prints the console line from it, `record` the message, [`key`] reads a line's
//! keys back.

pub mod about;
mod draft;
pub mod evidence;
pub mod key;
pub mod line;
pub(crate) mod record;
pub mod row;
pub mod table;

pub use evidence::{Evidence, ServingState};
