//! From a route, or a reason against it, to the bytes that go.

pub(crate) mod answers;
pub(crate) mod reply;
pub(crate) mod respond;
