//! The network cards' bus, memory and registers: what their driver, in the library,
//! asks of the machine.

use crate::device::console::print_line;
use harness_kernel::virtio::card::NetworkCard;
use harness_kernel::virtio::error::CardError;
use harness_kernel::virtio::faults::CardFault;
use harness_kernel::virtio::pci;
use memory::{KernelMemory, PLACES};
use ports::Ports;
use virtio_drivers::transport::pci::PciTransport;

mod memory;
mod ports;

/// The card that the stack is built over.
pub(crate) type Card = NetworkCard<PciTransport, KernelMemory>;

/// The network cards on bus 0, in the order of their slots, each set up when it is asked
/// for.
pub(crate) fn network_cards() -> impl Iterator<Item = Result<Card, CardError>> {
    pci::network_cards(Ports).map(|found| {
        let line = found.line();
        let transport = found.open::<KernelMemory>(&PLACES)?;
        NetworkCard::start(transport, line, tell)
    })
}

fn tell(line: u8, fault: CardFault) {
    print_line!("network card line={line} failed: {}", fault.explain());
}
