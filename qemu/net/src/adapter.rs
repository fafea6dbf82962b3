//! smoltcp devices that move one frame at a time: the stack decides which frame
//! meets which socket, so smoltcp never sees a queue.

use crate::config::FRAME_BYTES_MAX;
use crate::device::FrameDevice;
use crate::link::{Link, Outcome};
use crate::wrote::Wrote;
use smoltcp::phy::{ChecksumCapabilities, Device, DeviceCapabilities, Medium, RxToken, TxToken};
use smoltcp::time::Instant;
use smoltcp::wire::IpAddress;

/// Memory for replies that find no room, so that receiving never stalls on it.
pub(crate) type Scratch = [u8; FRAME_BYTES_MAX];

/// Frames sent and unsent while an adapter was in use.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Traffic {
    pub(crate) sent: u64,
    pub(crate) unsent: u64,
    /// The last segment that smoltcp wrote, sent or not: it takes each for sent.
    pub(crate) wrote: Option<Wrote>,
}

/// At most one frame in, any number out to the link.
pub(crate) struct OneFrame<'a, D: FrameDevice> {
    pub(crate) frame: Option<&'a [u8]>,
    pub(crate) link: &'a mut Link<D>,
    pub(crate) scratch: &'a mut Scratch,
    pub(crate) traffic: Traffic,
}

/// The frame being received.
pub(crate) struct FrameIn<'a>(&'a [u8]);

impl RxToken for FrameIn<'_> {
    fn consume<R, F: FnOnce(&[u8]) -> R>(self, f: F) -> R {
        f(self.0)
    }
}

/// Room for one frame to be sent.
pub(crate) struct FrameOut<'a, D: FrameDevice> {
    link: &'a mut Link<D>,
    scratch: &'a mut Scratch,
    traffic: &'a mut Traffic,
}

impl<D: FrameDevice> TxToken for FrameOut<'_, D> {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, len: usize, f: F) -> R {
        let medium = self.link.medium();
        let wrote = &mut self.traffic.wrote;
        let fill = |frame: &mut [u8]| {
            let result = f(frame);
            *wrote = Wrote::read(medium, frame).or(*wrote);
            result
        };
        let (result, outcome) = self.link.transmit(len, self.scratch, fill);
        let counter = match outcome {
            Outcome::Queued => &mut self.traffic.sent,
            Outcome::NoRoom => &mut self.traffic.unsent,
        };
        *counter = counter.saturating_add(1);
        result
    }
}

impl<D: FrameDevice> Device for OneFrame<'_, D> {
    type RxToken<'a>
        = FrameIn<'a>
    where
        Self: 'a;
    type TxToken<'a>
        = FrameOut<'a, D>
    where
        Self: 'a;

    fn receive(&mut self, _: Instant) -> Option<(Self::RxToken<'_>, Self::TxToken<'_>)> {
        let frame = self.frame.take()?;
        Some((
            FrameIn(frame),
            FrameOut {
                link: self.link,
                scratch: self.scratch,
                traffic: &mut self.traffic,
            },
        ))
    }

    fn transmit(&mut self, _: Instant) -> Option<Self::TxToken<'_>> {
        self.link.can_transmit().then_some(FrameOut {
            link: self.link,
            scratch: self.scratch,
            traffic: &mut self.traffic,
        })
    }

    fn capabilities(&self) -> DeviceCapabilities {
        self.link.capabilities()
    }
}

/// Replays a connection request to a socket and catches the answer instead of
/// sending it.
pub(crate) struct Replay<'a> {
    pub(crate) request: Option<&'a [u8]>,
    pub(crate) answer: Option<Wrote>,
}

/// Reads the answer that is not sent.
pub(crate) struct Catch<'a>(&'a mut Option<Wrote>);

impl TxToken for Catch<'_> {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, len: usize, f: F) -> R {
        let mut packet = [0; 128];
        let (head, _) = packet.split_at_mut(len.min(128));
        let result = f(head);
        *self.0 = Wrote::read(Medium::Ip, head);
        result
    }
}

impl Device for Replay<'_> {
    type RxToken<'a>
        = FrameIn<'a>
    where
        Self: 'a;
    type TxToken<'a>
        = Catch<'a>
    where
        Self: 'a;

    fn receive(&mut self, _: Instant) -> Option<(Self::RxToken<'_>, Self::TxToken<'_>)> {
        let request = self.request.take()?;
        Some((FrameIn(request), Catch(&mut self.answer)))
    }

    fn transmit(&mut self, _: Instant) -> Option<Self::TxToken<'_>> {
        Some(Catch(&mut self.answer))
    }

    fn capabilities(&self) -> DeviceCapabilities {
        let mut capabilities = DeviceCapabilities::default();
        capabilities.medium = Medium::Ip;
        capabilities.max_transmission_unit = 1_500;
        capabilities.checksum = ChecksumCapabilities::ignored();
        capabilities
    }
}

/// smoltcp's general address type for one of IPv4.
pub(crate) fn wire(address: core::net::Ipv4Addr) -> IpAddress {
    IpAddress::Ipv4(address)
}
