//! A virtio network card as the TCP stack wants it.
//!
//! A received frame is parsed where the device wrote it; a sent one is written
//! where the device reads it. The driver copies nothing.

use super::memory::{BUFFER_BYTES, Buffer};
use super::pci::Found;
use super::queue::{Direction, Interrupts, Queue};
use crate::device::console::print_line;
use crate::memory::frames::OutOfFrames;
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::fmt;
use harness_net::{FRAME_BYTES_MAX, FrameDevice};
use virtio_drivers::transport::pci::{PciTransport, VirtioPciError};
use virtio_drivers::transport::{DeviceStatus, Transport};

/// Frames that may arrive between two polls. The device's own limit is 256.
const RECEIVE_BUFFERS: usize = 256;

/// Frames that may be on their way out.
const TRANSMIT_BUFFERS: usize = 128;

/// Bytes of the header before each frame (virtio 1.2, 5.1.6).
const HEADER_BYTES: usize = 12;

const _: () = assert!(HEADER_BYTES + FRAME_BYTES_MAX <= BUFFER_BYTES);

/// Feature: the device has a hardware address.
const FEATURE_MAC: u64 = 1 << 5;

/// Feature: the device follows virtio 1.0 or later.
const FEATURE_VERSION_1: u64 = 1 << 32;

/// Why a card cannot be used.
#[derive(Debug)]
pub(crate) enum CardError {
    /// Its PCI side is not as virtio requires.
    Pci(VirtioPciError),
    /// A queue cannot be set up, or its configuration cannot be read.
    Device(virtio_drivers::Error),
    /// It lacks a feature: a hardware address, or virtio 1.0.
    Features,
    /// It did not agree to the chosen features.
    Refused,
    /// There is no memory for its buffers.
    Memory,
}

impl CardError {
    /// One sentence for the console.
    const fn explain(&self) -> &'static str {
        match self {
            Self::Pci(_) => "network card: its PCI registers are not as virtio requires",
            Self::Device(_) => "network card: a queue or its configuration cannot be used",
            Self::Features => {
                "network card: it has no hardware address or is older than virtio 1.0"
            }
            Self::Refused => "network card: it refused the features that it had offered",
            Self::Memory => "network card: no memory for its buffers",
        }
    }
}

impl fmt::Display for CardError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.explain())?;
        match self {
            Self::Pci(error) => write!(f, ": {error}"),
            Self::Device(error) => write!(f, ": {error}"),
            Self::Features | Self::Refused | Self::Memory => Ok(()),
        }
    }
}

impl From<OutOfFrames> for CardError {
    fn from(_: OutOfFrames) -> Self {
        Self::Memory
    }
}

/// A frame where the device wrote it.
pub(crate) struct ReceivedFrame {
    buffer: Buffer,
    end: usize,
}

impl AsRef<[u8]> for ReceivedFrame {
    fn as_ref(&self) -> &[u8] {
        // A device that claims less than a header has sent an empty frame.
        self.buffer
            .bytes()
            .get(HEADER_BYTES..self.end)
            .unwrap_or(&[])
    }
}

/// A running card.
pub(crate) struct NetworkCard {
    transport: PciTransport,
    mac: [u8; 6],
    line: u8,
    receive: Box<Queue<RECEIVE_BUFFERS>>,
    transmit: Box<Queue<TRANSMIT_BUFFERS>>,
    /// Transmit buffers that the device does not have; their headers are zero.
    spare: Vec<Buffer>,
    /// Takes a frame for which there is no room.
    discard: Buffer,
    /// Whether the receive queue interrupts now.
    armed: Interrupts,
    health: Health,
}

/// Whether a card keeps to its side of the queues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Health {
    /// It does.
    Sound,
    /// It did not, and was reset: nothing arrives, and what is sent is lost.
    Failed,
}

impl NetworkCard {
    /// Sets a card up; it receives from here on, and interrupts when armed.
    pub(crate) fn start(found: Found) -> Result<Self, CardError> {
        let line = found.line();
        let mut transport = found.transport().map_err(CardError::Pci)?;
        negotiate(&mut transport)?;
        let mac = transport
            .read_consistent(|| transport.read_config_space::<[u8; 6]>(0))
            .map_err(CardError::Device)?;
        let receive = Queue::new(&mut transport, Direction::Receive).map_err(CardError::Device)?;
        let transmit =
            Queue::new(&mut transport, Direction::Transmit).map_err(CardError::Device)?;
        let mut receive = Box::new(receive);
        let mut transmit = Box::new(transmit);
        receive.want_interrupts(Interrupts::Off);
        transmit.want_interrupts(Interrupts::Off);
        for buffer in Buffer::take(RECEIVE_BUFFERS)? {
            receive
                .give(buffer, BUFFER_BYTES)
                .map_err(|_| CardError::Memory)?;
        }
        let spare = Buffer::take(TRANSMIT_BUFFERS)?;
        let discard = Buffer::take(1)?.pop().ok_or(CardError::Memory)?;
        transport.finish_init();
        receive.notify(&mut transport);
        Ok(Self {
            transport,
            mac,
            line,
            receive,
            transmit,
            spare,
            discard,
            armed: Interrupts::Off,
            health: Health::Sound,
        })
    }

    /// The interrupt controller's line that it raises.
    pub(crate) fn line(&self) -> u8 {
        self.line
    }

    /// Asks for an interrupt at the next frame, before a halt; polling for frames
    /// ends it. Frames that came before the question was asked are reported here.
    #[must_use]
    pub(crate) fn arm(&mut self) -> Arrivals {
        if self.health == Health::Failed {
            return Arrivals::None;
        }
        self.receive.want_interrupts(Interrupts::On);
        self.armed = Interrupts::On;
        if self.receive.has_returns() {
            self.disarm();
            Arrivals::Waiting
        } else {
            Arrivals::None
        }
    }

    /// Lowers the interrupt line, after it interrupted. Reading the register
    /// leaves the guest, so it is done for no other reason.
    pub(crate) fn acknowledge(&mut self) {
        let _reason = self.transport.ack_interrupt();
    }

    fn disarm(&mut self) {
        self.receive.want_interrupts(Interrupts::Off);
        self.armed = Interrupts::Off;
    }

    fn reclaim(&mut self) {
        while self.health == Health::Sound {
            match self.transmit.take() {
                Ok(Some((buffer, _))) => self.spare.push(buffer),
                Ok(None) => return,
                Err(broken) => self.fail(broken.explain()),
            }
        }
    }

    /// Gives the card up: after its reset it reads and writes no memory, so what
    /// it was lent is lost and nothing else.
    fn fail(&mut self, why: &str) {
        self.transport.set_status(DeviceStatus::empty());
        self.health = Health::Failed;
        print_line!("network card line={} failed: {why}", self.line);
    }
}

/// Whether frames wait to be received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Arrivals {
    /// Frames are there: poll instead of waiting.
    Waiting,
    /// None; the next one interrupts.
    None,
}

fn negotiate(transport: &mut PciTransport) -> Result<(), CardError> {
    let known = DeviceStatus::ACKNOWLEDGE | DeviceStatus::DRIVER;
    transport.set_status(DeviceStatus::empty());
    transport.set_status(known);
    let wanted = FEATURE_MAC | FEATURE_VERSION_1;
    if transport.read_device_features() & wanted != wanted {
        return Err(CardError::Features);
    }
    transport.write_driver_features(wanted);
    transport.set_status(known | DeviceStatus::FEATURES_OK);
    if transport.get_status().contains(DeviceStatus::FEATURES_OK) {
        Ok(())
    } else {
        Err(CardError::Refused)
    }
}

impl FrameDevice for NetworkCard {
    type Frame = ReceivedFrame;

    fn mac(&self) -> [u8; 6] {
        self.mac
    }

    fn receive(&mut self) -> Option<ReceivedFrame> {
        if self.armed == Interrupts::On {
            self.disarm();
        }
        if self.health == Health::Failed {
            return None;
        }
        match self.receive.take() {
            Ok(taken) => taken.map(|(buffer, end)| ReceivedFrame { buffer, end }),
            Err(broken) => {
                self.fail(broken.explain());
                None
            }
        }
    }

    fn recycle(&mut self, frame: ReceivedFrame) {
        if self.health == Health::Failed {
            return;
        }
        // The queue has a descriptor for every receive buffer there is.
        if self.receive.give(frame.buffer, BUFFER_BYTES).is_err() {
            self.fail("its receive queue has no room for a buffer of its own");
        }
    }

    fn can_transmit(&mut self) -> bool {
        if self.spare.is_empty() {
            self.reclaim();
        }
        // A failed card takes everything, like a wire that ends nowhere.
        self.health == Health::Failed || !self.spare.is_empty()
    }

    fn transmit<R>(&mut self, len: usize, fill: impl FnOnce(&mut [u8]) -> R) -> R {
        let len = len.min(FRAME_BYTES_MAX);
        let end = HEADER_BYTES.wrapping_add(len);
        let sound = self.health == Health::Sound;
        let Some(mut buffer) = self.spare.pop_if(|_| sound) else {
            let (_, body) = self.discard.bytes_mut().split_at_mut(HEADER_BYTES);
            let (frame, _) = body.split_at_mut(len);
            return fill(frame);
        };
        let (_, body) = buffer.bytes_mut().split_at_mut(HEADER_BYTES);
        let (frame, _) = body.split_at_mut(len);
        let result = fill(frame);
        if let Err(buffer) = self.transmit.give(buffer, end) {
            // The device has every descriptor; the frame is lost like on a wire.
            self.spare.push(buffer);
        }
        result
    }

    fn flush(&mut self) {
        if self.health == Health::Failed {
            return;
        }
        self.transmit.notify(&mut self.transport);
        self.receive.notify(&mut self.transport);
    }
}
