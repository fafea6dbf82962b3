//! A virtqueue of single buffers. A buffer given to it belongs to the card until it is
//! taken back, so nobody here can touch it meanwhile.
//!
//! Invariants: VIRTIO-BUFFER (a buffer has one owner: the driver, who may touch its
//! bytes, or a queue, on the card's behalf, when nobody here does), VIRTIO-TRUST (of
//! what a card says, only what agrees with what it was given is acted upon).

use crate::virtio::direction::Direction;
use crate::virtio::faults::CardFault;
use alloc::vec::Vec;
use core::ptr::NonNull;
use core::sync::atomic::{Ordering, fence};
use virtio_drivers::queue::VirtQueue;
use virtio_drivers::transport::Transport;
use virtio_drivers::{BufferDirection, Error, Hal, PAGE_SIZE};

/// Bytes of a buffer: a frame and its virtio header fit, two make a page.
pub(super) const BUFFER_BYTES: usize = 2_048;

const BUFFERS_PER_PAGE: usize = 2;
const _: () = assert!(BUFFER_BYTES * BUFFERS_PER_PAGE == PAGE_SIZE);

/// One owned buffer in memory that cards can reach, for as long as the machine runs.
pub(super) struct Buffer(NonNull<[u8; BUFFER_BYTES]>);

impl Buffer {
    /// Takes memory for `count` buffers, filled with zeros.
    pub(super) fn take<H: Hal>(count: usize) -> virtio_drivers::Result<Vec<Self>> {
        let mut buffers = Vec::with_capacity(count);
        while buffers.len() < count {
            let (physical, page) = H::dma_alloc(1, BufferDirection::Both);
            if physical == 0 {
                return Err(Error::DmaError);
            }
            for part in 0..BUFFERS_PER_PAGE.min(count.wrapping_sub(buffers.len())) {
                // SAFETY: both halves lie in the page just taken, which is never given back.
                let start = unsafe { page.cast().add(part) };
                buffers.push(Self(start));
            }
        }
        Ok(buffers)
    }

    /// Its bytes.
    pub(super) fn bytes(&self) -> &[u8; BUFFER_BYTES] {
        // SAFETY: the memory is mapped for ever, and whoever holds the buffer is its
        // only user (VIRTIO-BUFFER).
        unsafe { self.0.as_ref() }
    }

    /// Its bytes.
    pub(super) fn bytes_mut(&mut self) -> &mut [u8; BUFFER_BYTES] {
        // SAFETY: as above.
        unsafe { self.0.as_mut() }
    }
}

/// Whether a queue interrupts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Interrupts {
    /// When the card returns a buffer.
    On,
    /// Never; somebody polls.
    Off,
}

/// A buffer that the card is done with.
pub(super) struct Returned {
    pub(super) buffer: Buffer,
    /// How many bytes the card says it wrote, whatever that is.
    pub(super) written: u32,
}

/// One direction of a card.
pub(super) struct Queue<H: Hal, const SIZE: usize> {
    direction: Direction,
    ring: VirtQueue<H, SIZE>,
    /// Buffers that the card has, by descriptor, with the length given.
    lent: [Option<(Buffer, usize)>; SIZE],
    /// Buffers were given since the card was last notified.
    news: bool,
}

impl<H: Hal, const SIZE: usize> Queue<H, SIZE> {
    /// Sets the queue up on the card.
    pub(super) fn new<T: Transport>(
        transport: &mut T,
        direction: Direction,
    ) -> virtio_drivers::Result<Self> {
        Ok(Self {
            direction,
            ring: VirtQueue::new(transport, direction.number(), false, false)?,
            lent: [const { None }; SIZE],
            news: false,
        })
    }

    /// Gives the first `length` bytes of a buffer to the card; the buffer comes back as
    /// the error if the card has every descriptor.
    pub(super) fn give(&mut self, mut buffer: Buffer, length: usize) -> Result<(), Buffer> {
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

    /// Takes back the next buffer that the card is done with, if there is one.
    ///
    /// # Errors
    /// When the card returns what it does not have. Such a card must not be used any
    /// more; what it had stays lent to it.
    pub(super) fn take(&mut self) -> Result<Option<Returned>, CardFault> {
        let Some(descriptor) = self.ring.peek_used() else {
            return Ok(None);
        };
        let unknown = CardFault::Unknown(self.direction);
        let place = self.lent.get_mut(usize::from(descriptor)).ok_or(unknown)?;
        let (buffer, length) = place.as_mut().ok_or(unknown)?;
        let bytes = buffer.bytes_mut().get_mut(..*length).ok_or(unknown)?;
        let popped = match self.direction {
            // SAFETY: these bytes were given under this descriptor.
            Direction::Receive => unsafe { self.ring.pop_used(descriptor, &[], &mut [bytes]) },
            // SAFETY: as above.
            Direction::Transmit => unsafe { self.ring.pop_used(descriptor, &[bytes], &mut []) },
        };
        // It fails if the card has changed its mind since it was asked.
        let written = popped.map_err(|_| unknown)?;
        Ok(place.take().map(|(buffer, _)| Returned { buffer, written }))
    }

    /// Whether the card says that it has returned a buffer that was not taken yet.
    pub(super) fn has_returns(&self) -> bool {
        self.ring.can_pop()
    }

    /// Asks for an interrupt when a buffer returns, or for none.
    pub(super) fn want_interrupts(&mut self, wanted: Interrupts) {
        self.ring.set_dev_notify(wanted == Interrupts::On);
        fence(Ordering::SeqCst);
    }

    /// Whether the card is to be notified of what was given since this was asked last:
    /// leaving the guest costs more than everything else here.
    pub(super) fn must_notify(&mut self) -> bool {
        if !core::mem::take(&mut self.news) {
            return false;
        }
        // The card must see the buffers before its wish is read.
        fence(Ordering::SeqCst);
        self.ring.should_notify()
    }
}
