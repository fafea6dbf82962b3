//! What the routes answer with.

pub(crate) mod api;
pub mod assets;
