//! A virtqueue of single buffers. A buffer given to it belongs to the device
//! until it is taken back, so nobody here can touch it meanwhile.

use super::memory::{Buffer, KernelMemory};
use core::sync::atomic::{Ordering, fence};
use virtio_drivers::queue::VirtQueue;
use virtio_drivers::transport::Transport;
use virtio_drivers::transport::pci::PciTransport;

/// Which way the bytes go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    /// The device writes buffers.
    Receive,
    /// The device reads buffers.
    Transmit,
}

impl Direction {
    /// The queue's number on a network card.
    const fn number(self) -> u16 {
        match self {
            Self::Receive => 0,
            Self::Transmit => 1,
        }
    }
}

/// The device has returned a buffer that it was not given, in this direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Broken(Direction);

impl Broken {
    /// One sentence for the console.
    pub(crate) const fn explain(self) -> &'static str {
        match self.0 {
            Direction::Receive => "it returned a receive buffer that it was not given",
            Direction::Transmit => "it returned a transmit buffer that it was not given",
        }
    }
}

/// One direction of a card.
pub(crate) struct Queue<const SIZE: usize> {
    direction: Direction,
    ring: VirtQueue<KernelMemory, SIZE>,
    /// Buffers that the device has, by descriptor, with the length given.
    lent: [Option<(Buffer, usize)>; SIZE],
    /// Buffers were given since the device was last notified.
    news: bool,
}

impl<const SIZE: usize> Queue<SIZE> {
    /// Sets the queue up on the device.
    pub(crate) fn new(
        transport: &mut PciTransport,
        direction: Direction,
    ) -> virtio_drivers::Result<Self> {
        Ok(Self {
            direction,
            ring: VirtQueue::new(transport, direction.number(), false, false)?,
            lent: [const { None }; SIZE],
            news: false,
        })
    }

    /// Gives the first `length` bytes of a buffer to the device; the buffer comes
    /// back as the error if the queue has no room.
    pub(crate) fn give(&mut self, mut buffer: Buffer, length: usize) -> Result<(), Buffer> {
        let Some(bytes) = buffer.bytes_mut().get_mut(..length) else {
            return Err(buffer);
        };
        let added = match self.direction {
            // SAFETY: the buffer is kept in `lent` until `take` gets it back.
            Direction::Receive => unsafe { self.ring.add(&[], &mut [bytes]) },
            // SAFETY: as above.
            Direction::Transmit => unsafe { self.ring.add(&[bytes], &mut []) },
        };
        let Ok(descriptor) = added else {
            return Err(buffer);
        };
        if let Some(place) = self.lent.get_mut(usize::from(descriptor)) {
            *place = Some((buffer, length));
        }
        self.news = true;
        Ok(())
    }

    /// Takes back the next buffer that the device is done with, if there is one,
    /// and how many bytes the device says it wrote.
    ///
    /// # Errors
    /// When the device returns what it does not have. Such a device must not be
    /// used any more; what it had stays lent to it.
    pub(crate) fn take(&mut self) -> Result<Option<(Buffer, usize)>, Broken> {
        let Some(descriptor) = self.ring.peek_used() else {
            return Ok(None);
        };
        let broken = Broken(self.direction);
        let place = self.lent.get_mut(usize::from(descriptor)).ok_or(broken)?;
        let (buffer, length) = place.as_mut().ok_or(broken)?;
        let bytes = buffer.bytes_mut().get_mut(..*length).ok_or(broken)?;
        let popped = match self.direction {
            // SAFETY: these bytes were given under this descriptor.
            Direction::Receive => unsafe { self.ring.pop_used(descriptor, &[], &mut [bytes]) },
            // SAFETY: as above.
            Direction::Transmit => unsafe { self.ring.pop_used(descriptor, &[bytes], &mut []) },
        };
        // It fails if the device has changed its mind since it was asked.
        let written = popped.map_err(|_| broken)?;
        let written = usize::try_from(written).map_err(|_| broken)?;
        Ok(place.take().map(|(buffer, _)| (buffer, written)))
    }

    /// Whether the device has returned a buffer that was not taken yet.
    pub(crate) fn has_returns(&self) -> bool {
        self.ring.can_pop()
    }

    /// Asks for an interrupt when a buffer returns, or for none.
    pub(crate) fn want_interrupts(&mut self, wanted: Interrupts) {
        self.ring.set_dev_notify(wanted == Interrupts::On);
        fence(Ordering::SeqCst);
    }

    /// Notifies the device of what was given since the last time, if it wants to
    /// be told: leaving the guest costs more than everything else here.
    pub(crate) fn notify(&mut self, transport: &mut PciTransport) {
        if core::mem::take(&mut self.news) {
            // The device must see the buffers before its wish is read.
            fence(Ordering::SeqCst);
            if self.ring.should_notify() {
                transport.notify(self.direction.number());
            }
        }
    }
}

/// Whether a queue interrupts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Interrupts {
    /// When the device returns a buffer.
    On,
    /// Never; somebody polls.
    Off,
}
