//! What the stack asks of a network card.

/// A card that moves Ethernet frames. Neither side waits: what cannot be done
/// now is answered so. Frames are lent, not copied: one received frame is owned
/// by the caller until it is recycled, and a sent one is written in place.
pub trait FrameDevice {
    /// A received frame.
    type Frame: AsRef<[u8]>;

    /// The card's hardware address.
    fn mac(&self) -> [u8; 6];

    /// The next received frame, if one is there.
    fn receive(&mut self) -> Option<Self::Frame>;

    /// Takes a frame back, so that its buffer can receive again.
    fn recycle(&mut self, frame: Self::Frame);

    /// Whether `transmit` has room for one more frame.
    fn can_transmit(&mut self) -> bool;

    /// Queues one frame of exactly `len` bytes (at most
    /// [`crate::FRAME_BYTES_MAX`]), written by `fill`. Called only after
    /// `can_transmit` said yes; a device that has no room all the same lets
    /// `fill` write to scratch memory and drops the frame.
    fn transmit<R>(&mut self, len: usize, fill: impl FnOnce(&mut [u8]) -> R) -> R;

    /// End of a batch: the moment to notify the device, once for all of it.
    fn flush(&mut self);
}
