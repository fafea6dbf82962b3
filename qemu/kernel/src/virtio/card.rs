//! A virtio network card as the TCP stack wants it.
//!
//! A received frame is parsed where the card wrote it; a sent one is written where
//! the card reads it. The driver copies nothing.
//!
//! Invariants: VIRTIO-TRUST.

use crate::virtio::direction::Direction;
use crate::virtio::error::CardError;
use crate::virtio::faults::{CardFault, CardFaults};
use crate::virtio::queue::{BUFFER_BYTES, Buffer, Interrupts, Queue};
use crate::virtio::registers::Registers;
use alloc::boxed::Box;
use alloc::vec::Vec;
use harness_net::{FRAME_BYTES_MAX, FrameDevice};
use virtio_drivers::Hal;
use virtio_drivers::transport::Transport;

/// Frames that may arrive between two polls. The card's own limit is 256.
pub const RECEIVE_BUFFERS: usize = 256;

/// Frames that may be on their way out.
pub const TRANSMIT_BUFFERS: usize = 128;

/// Bytes of the header before each frame (virtio 1.2, 5.1.6).
const HEADER_BYTES: usize = 12;

const _: () = assert!(HEADER_BYTES + FRAME_BYTES_MAX <= BUFFER_BYTES);

/// Feature: the card has a hardware address.
const FEATURE_MAC: u64 = 1 << 5;

/// Feature: the card follows virtio 1.0 or later.
const FEATURE_VERSION_1: u64 = 1 << 32;

/// A frame where the card wrote it.
pub struct ReceivedFrame {
    buffer: Buffer,
    end: usize,
}

impl AsRef<[u8]> for ReceivedFrame {
    fn as_ref(&self) -> &[u8] {
        self.buffer
            .bytes()
            .get(HEADER_BYTES..self.end)
            .unwrap_or(&[])
    }
}

/// Told at once of a card that is given up: its interrupt line, and why.
pub type Tell = fn(u8, CardFault);

/// A running card.
pub struct NetworkCard<T, H: Hal> {
    registers: Registers<T>,
    mac: [u8; 6],
    line: u8,
    receive: Box<Queue<H, RECEIVE_BUFFERS>>,
    transmit: Box<Queue<H, TRANSMIT_BUFFERS>>,
    /// Transmit buffers that the card does not have; their headers are zero.
    spare: Vec<Buffer>,
    /// Takes a frame for which there is no room.
    discard: Buffer,
    /// Whether the receive queue interrupts now.
    armed: Interrupts,
    health: Health,
    faults: CardFaults,
    tell: Tell,
}

/// Whether a card keeps to its side of the queues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Health {
    /// It does.
    Sound,
    /// It did not, and was reset: nothing arrives, and what is sent is lost.
    Failed,
}

/// Whether frames wait to be received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrivals {
    /// Frames are there: poll instead of waiting.
    Waiting,
    /// None; the next one interrupts.
    None,
}

impl<T: Transport, H: Hal> NetworkCard<T, H> {
    /// Sets a card up that raises this interrupt line; it receives from here on, and
    /// interrupts when armed.
    ///
    /// # Errors
    /// The card cannot be used: it is reset, and what it was lent is lost.
    pub fn start(transport: T, line: u8, tell: Tell) -> Result<Self, CardError> {
        let mut registers = Registers::reset(transport)?;
        match Parts::set_up(&mut registers) {
            Ok(parts) => Ok(Self {
                registers,
                mac: parts.mac,
                line,
                receive: parts.receive,
                transmit: parts.transmit,
                spare: parts.spare,
                discard: parts.discard,
                armed: Interrupts::Off,
                health: Health::Sound,
                faults: CardFaults::default(),
                tell,
            }),
            Err(error) => {
                registers.give_up();
                Err(error)
            }
        }
    }

    /// The interrupt controller's line that it raises.
    pub const fn line(&self) -> u8 {
        self.line
    }

    /// What it did that it must not.
    pub const fn faults(&self) -> CardFaults {
        self.faults
    }

    /// Asks for an interrupt at the next frame, before a halt; polling for frames
    /// ends it. Frames that came before the question was asked are reported here.
    #[must_use]
    pub fn arm(&mut self) -> Arrivals {
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
    pub fn acknowledge(&mut self) {
        self.registers.acknowledge_interrupt();
    }

    fn disarm(&mut self) {
        self.receive.want_interrupts(Interrupts::Off);
        self.armed = Interrupts::Off;
    }

    fn reclaim(&mut self) {
        while self.health == Health::Sound {
            match self.transmit.take() {
                Ok(Some(returned)) => self.spare.push(returned.buffer),
                Ok(None) => return,
                Err(fault) => self.fail(fault),
            }
        }
    }

    /// Gives the card up: after its reset it reads and writes no memory, so what
    /// it was lent is lost and nothing else.
    #[cold]
    fn fail(&mut self, fault: CardFault) {
        self.registers.give_up();
        self.health = Health::Failed;
        self.faults.count(fault);
        (self.tell)(self.line, fault);
    }

    /// Where a frame ends in its buffer. A length that cannot be makes an empty frame,
    /// which the stack counts with the malformed: the card may still be of use.
    fn end_of(&mut self, written: u32) -> usize {
        let written = usize::try_from(written).unwrap_or(usize::MAX);
        let fault = match written {
            0..HEADER_BYTES => CardFault::Short,
            HEADER_BYTES..=BUFFER_BYTES => return written,
            _ => CardFault::Long,
        };
        self.faults.count(fault);
        HEADER_BYTES
    }
}

/// What a card is made of, while it is made.
struct Parts<H: Hal> {
    mac: [u8; 6],
    receive: Box<Queue<H, RECEIVE_BUFFERS>>,
    transmit: Box<Queue<H, TRANSMIT_BUFFERS>>,
    spare: Vec<Buffer>,
    discard: Buffer,
}

impl<H: Hal> Parts<H> {
    fn set_up<T: Transport>(registers: &mut Registers<T>) -> Result<Self, CardError> {
        registers.negotiate(FEATURE_MAC | FEATURE_VERSION_1)?;
        let mac = registers.hardware_address()?;
        let mut receive = Box::new(registers.queue(Direction::Receive)?);
        let mut transmit = Box::new(registers.queue(Direction::Transmit)?);
        receive.want_interrupts(Interrupts::Off);
        transmit.want_interrupts(Interrupts::Off);
        for buffer in Buffer::take::<H>(RECEIVE_BUFFERS)? {
            let given = receive.give(buffer, BUFFER_BYTES);
            given.map_err(|_| CardError::Memory)?;
        }
        let spare = Buffer::take::<H>(TRANSMIT_BUFFERS)?;
        let discard = Buffer::take::<H>(1)?.pop().ok_or(CardError::Memory)?;
        registers.start();
        if receive.must_notify() {
            registers.notify(Direction::Receive);
        }
        Ok(Self {
            mac,
            receive,
            transmit,
            spare,
            discard,
        })
    }
}

impl<T: Transport, H: Hal> FrameDevice for NetworkCard<T, H> {
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
            Ok(None) => None,
            Ok(Some(returned)) => Some(ReceivedFrame {
                end: self.end_of(returned.written),
                buffer: returned.buffer,
            }),
            Err(fault) => {
                self.fail(fault);
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
            self.fail(CardFault::Full(Direction::Receive));
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
            // The queue has a descriptor for every transmit buffer there is.
            self.spare.push(buffer);
            self.fail(CardFault::Full(Direction::Transmit));
        }
        result
    }

    fn flush(&mut self) {
        if self.health == Health::Failed {
            return;
        }
        if self.transmit.must_notify() {
            self.registers.notify(Direction::Transmit);
        }
        if self.receive.must_notify() {
            self.registers.notify(Direction::Receive);
        }
    }
}
