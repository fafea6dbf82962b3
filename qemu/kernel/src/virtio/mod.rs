//! Network cards: virtio over PCI, found on bus 0 in the order of their slots.
//!
//! ```text
//!  pci.rs     which functions are network cards, their interrupt lines
//!  memory.rs  what the device may reach: queue memory, buffers, registers
//!  queue.rs   one virtqueue whose buffers change hands by move
//!  card.rs    the card as the TCP stack wants it: frames lent, written in place
//! ```

pub(crate) mod card;
mod memory;
pub(crate) mod pci;
mod queue;
