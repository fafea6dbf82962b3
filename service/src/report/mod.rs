//! What the service says of itself: every counter, as a line and as a record.

pub mod evidence;
pub(crate) mod record_format;
