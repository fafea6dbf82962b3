//! A card: what it answers, and what it does with its queues. It does what it is told,
//! lies included.

use crate::ram::Ram;
use harness_kernel::virtio::card::NetworkCard;
use harness_kernel::virtio::direction::Direction;
use harness_kernel::virtio::error::CardError;
use harness_kernel::virtio::faults::CardFault;
use std::cell::RefCell;
use std::rc::Rc;
use virtio_drivers::transport::{DeviceStatus, DeviceType, InterruptStatus, Transport};
use virtio_drivers::{Error, PhysAddr};
use zerocopy::{FromBytes, Immutable, IntoBytes};

pub(crate) const MAC: [u8; 6] = [2, 0, 0, 0, 0, 7];
pub(crate) const LINE: u8 = 11;

/// How a card behaves while it is set up.
#[derive(Clone, Copy)]
pub(crate) struct Manners {
    pub(crate) features: u64,
    pub(crate) resets: bool,
    pub(crate) agrees: bool,
    pub(crate) queue_size: u32,
    pub(crate) queues_in_use: bool,
    pub(crate) stands_still: bool,
    pub(crate) configuration_bytes: usize,
}

pub(crate) const HONEST: Manners = Manners {
    features: 1 << 5 | 1 << 32,
    resets: true,
    agrees: true,
    queue_size: 256,
    queues_in_use: false,
    stands_still: true,
    configuration_bytes: 20,
};

/// A queue as the card was told of it.
#[derive(Clone, Copy, Default)]
struct QueueState {
    size: u16,
    descriptors: u64,
    available: u64,
    used: u64,
    /// How many buffers the card has looked at.
    seen: u16,
}

impl QueueState {
    fn place(self, index: u16) -> u64 {
        u64::from(index % self.size)
    }
}

/// The card's state.
pub(crate) struct Device {
    manners: Manners,
    pub(crate) status: DeviceStatus,
    pub(crate) accepted: u64,
    generation: u32,
    queues: [QueueState; 2],
    /// The number of each notification.
    pub(crate) notified: Vec<u16>,
    pub(crate) acknowledged: u32,
}

/// A handle to it; clones are the same card.
#[derive(Clone)]
pub(crate) struct Card(pub(crate) Rc<RefCell<Device>>);

pub(crate) type Driver = NetworkCard<Registers, Ram>;

thread_local! {
    static TOLD: RefCell<Vec<(u8, CardFault)>> = const { RefCell::new(Vec::new()) };
}

/// What was told of cards that were given up, since this was asked last.
pub(crate) fn told() -> Vec<(u8, CardFault)> {
    TOLD.with(RefCell::take)
}

/// One descriptor, as it lies in memory (2.7.5).
struct Descriptor {
    address: u64,
    length: u32,
    flags: u16,
}

impl Card {
    pub(crate) fn new(manners: Manners) -> Self {
        Self(Rc::new(RefCell::new(Device {
            manners,
            status: DeviceStatus::all(),
            accepted: 0,
            generation: 0,
            queues: [QueueState::default(); 2],
            notified: Vec::new(),
            acknowledged: 0,
        })))
    }

    /// Has the driver set it up.
    pub(crate) fn start(&self) -> Result<Driver, CardError> {
        told();
        let tell = |line, fault| TOLD.with(|told| told.borrow_mut().push((line, fault)));
        NetworkCard::start(Registers(self.clone()), LINE, tell)
    }

    fn queue(&self, direction: Direction) -> QueueState {
        self.0.borrow().queues[usize::from(direction.number())]
    }

    /// The next buffer that the driver has given, in the order in which it did.
    pub(crate) fn next_given(&self, direction: Direction) -> Option<u16> {
        let queue = self.queue(direction);
        let index = u16::from_le_bytes(Ram::read_queue(queue.available + 2));
        if index == queue.seen {
            return None;
        }
        let at = queue.available + 4 + 2 * queue.place(queue.seen);
        let number = usize::from(direction.number());
        self.0.borrow_mut().queues[number].seen = queue.seen.wrapping_add(1);
        Some(u16::from_le_bytes(Ram::read_queue(at)))
    }

    /// Says that a buffer is done with, whatever is true.
    pub(crate) fn put(&self, direction: Direction, id: u32, length: u32) {
        let queue = self.queue(direction);
        let index = u16::from_le_bytes(Ram::read_queue(queue.used + 2));
        let at = queue.used + 4 + 8 * queue.place(index);
        Ram::write_queue(at, &id.to_le_bytes());
        Ram::write_queue(at + 4, &length.to_le_bytes());
        self.jump(direction, 1);
    }

    /// Moves the count of what it has returned, whatever is true.
    pub(crate) fn jump(&self, direction: Direction, by: u16) {
        let at = self.queue(direction).used + 2;
        let index = u16::from_le_bytes(Ram::read_queue(at));
        Ram::write_queue(at, &index.wrapping_add(by).to_le_bytes());
    }

    /// Receives a frame into a buffer that it was given; false without one.
    pub(crate) fn receive(&self, frame: &[u8]) -> bool {
        let Some(id) = self.next_given(Direction::Receive) else {
            return false;
        };
        // A card that lied of this buffer before may not have it any more.
        if self.has(id) {
            self.fill(id, frame);
        }
        let length = u32::try_from(frame.len() + 12).unwrap();
        self.put(Direction::Receive, u32::from(id), length);
        true
    }

    fn has(&self, id: u16) -> bool {
        let descriptor = self.descriptor(Direction::Receive, id);
        Ram::is_lent(descriptor.address, 2_048)
    }

    /// Writes a frame behind its header.
    pub(crate) fn fill(&self, id: u16, frame: &[u8]) {
        let descriptor = self.descriptor(Direction::Receive, id);
        assert_eq!(descriptor.flags, 2, "not the card's to write");
        assert_eq!(descriptor.length, 2_048);
        Ram::write(descriptor.address, &[&[0; 12], frame].concat());
    }

    /// The frame behind the header of a buffer that it is to send.
    pub(crate) fn frame_of(&self, id: u16) -> Vec<u8> {
        let descriptor = self.descriptor(Direction::Transmit, id);
        assert_eq!(descriptor.flags, 0);
        let length = usize::try_from(descriptor.length).unwrap();
        let bytes = Ram::read(descriptor.address, length);
        assert_eq!(bytes[..12], [0; 12], "a header that means nothing");
        bytes[12..].to_vec()
    }

    fn descriptor(&self, direction: Direction, id: u16) -> Descriptor {
        let at = self.queue(direction).descriptors + 16 * u64::from(id);
        Descriptor {
            address: u64::from_le_bytes(Ram::read_queue(at)),
            length: u32::from_le_bytes(Ram::read_queue(at + 8)),
            flags: u16::from_le_bytes(Ram::read_queue(at + 12)),
        }
    }
}

impl Device {
    /// The sizes of the queues that it was told of.
    pub(crate) fn queue_sizes(&self) -> [u16; 2] {
        self.queues.map(|queue| queue.size)
    }
}

/// What the driver sees of it.
pub(crate) struct Registers(Card);

impl Drop for Registers {
    fn drop(&mut self) {
        panic!("the transport over PCI would wait here for a card");
    }
}

impl Transport for Registers {
    fn device_type(&self) -> DeviceType {
        DeviceType::Network
    }

    fn read_device_features(&mut self) -> u64 {
        self.0.0.borrow().manners.features
    }

    fn write_driver_features(&mut self, driver_features: u64) {
        self.0.0.borrow_mut().accepted = driver_features;
    }

    fn max_queue_size(&mut self, _: u16) -> u32 {
        self.0.0.borrow().manners.queue_size
    }

    fn notify(&mut self, queue: u16) {
        self.0.0.borrow_mut().notified.push(queue);
    }

    fn get_status(&self) -> DeviceStatus {
        self.0.0.borrow().status
    }

    fn set_status(&mut self, status: DeviceStatus) {
        let mut device = self.0.0.borrow_mut();
        let manners = device.manners;
        if status.is_empty() && !manners.resets {
            return;
        }
        device.status = status;
        if !manners.agrees {
            device.status.remove(DeviceStatus::FEATURES_OK);
        }
    }

    fn set_guest_page_size(&mut self, _: u32) {
        panic!("of the legacy interface");
    }

    fn requires_legacy_layout(&self) -> bool {
        false
    }

    fn queue_set(
        &mut self,
        queue: u16,
        size: u32,
        descriptors: PhysAddr,
        driver_area: PhysAddr,
        device_area: PhysAddr,
    ) {
        self.0.0.borrow_mut().queues[usize::from(queue)] = QueueState {
            size: size.try_into().unwrap(),
            descriptors,
            available: driver_area,
            used: device_area,
            seen: 0,
        };
    }

    fn queue_unset(&mut self, _: u16) {
        panic!("no queue is ever given up");
    }

    fn queue_used(&mut self, _: u16) -> bool {
        self.0.0.borrow().manners.queues_in_use
    }

    fn ack_interrupt(&mut self) -> InterruptStatus {
        self.0.0.borrow_mut().acknowledged += 1;
        InterruptStatus::QUEUE_INTERRUPT
    }

    fn read_config_generation(&self) -> u32 {
        let mut device = self.0.0.borrow_mut();
        device.generation += u32::from(!device.manners.stands_still);
        device.generation
    }

    fn read_config_space<T: FromBytes + IntoBytes>(&self, offset: usize) -> Result<T, Error> {
        let bytes = match self.0.0.borrow().manners.configuration_bytes {
            0 => return Err(Error::ConfigSpaceMissing),
            bytes => bytes,
        };
        if offset + size_of::<T>() > bytes {
            return Err(Error::ConfigSpaceTooSmall);
        }
        Ok(T::read_from_bytes(&MAC[offset..offset + size_of::<T>()]).unwrap())
    }

    fn write_config_space<T: IntoBytes + Immutable>(
        &mut self,
        _: usize,
        _: T,
    ) -> Result<(), Error> {
        panic!("no driver writes there");
    }
}
