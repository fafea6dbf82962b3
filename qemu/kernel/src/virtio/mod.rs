//! Network cards: virtio 1.2 over PCI, found on bus 0 in the order of their slots, with
//! the queues and transports of `virtio-drivers`.
//!
//! ```text
//!  pci.rs        which functions are network cards, and whether their registers can be
//!  registers.rs  what is asked of a card while it is set up; no wait without an end
//!  queue.rs      one queue whose buffers change hands by move: all that is unsafe here
//!  card.rs       the card as the TCP stack wants it: frames lent, written in place
//!  direction.rs  received or sent
//!  error.rs      why a card cannot be set up
//!  faults.rs     what a running card did that it must not, by name
//! ```
//!
//! Nothing here believes a card. What it says is compared with what this side knows by
//! itself, before `virtio-drivers` acts on it (docs/decisions/0031). The kernel adds the
//! memory, the map of registers and two ports.

pub mod card;
pub mod direction;
pub mod error;
pub mod faults;
pub mod pci;
#[expect(
    unsafe_code,
    reason = "buffers that a card may touch while it has them"
)]
mod queue;
mod registers;
