//! Frames of hostile peers near the edges of windows, beside processes and a bystander.

use super::net::{Bytes, Fuzz};

/// The bytes are decisions, taken in order.
pub(super) fn run(bytes: &[u8]) {
    let mut bytes = Bytes(bytes);
    Fuzz::new(&mut bytes).run(bytes);
}
