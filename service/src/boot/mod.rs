//! Everything that is decided before the first accept: what was granted, whether the grants are
//! distinct, and what the operator's policy makes of them.

pub mod distinct;
pub mod grants;
pub mod policy;
