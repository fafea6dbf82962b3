//! From the bytes that came to the route that they ask for.

pub(crate) mod parse;
pub mod route;
