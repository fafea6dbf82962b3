//! smoltcp devices that move one frame at a time: the stack decides which frame
//! meets which socket, so smoltcp never sees a queue.

use crate::config::FRAME_BYTES_MAX;
use crate::device::FrameDevice;
use crate::link::{Link, Outcome};
use crate::recovery::Outline;
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
    /// The last segment that was sent.
    pub(crate) segment: Option<Outline>,
}

impl Traffic {
    fn count(&mut self, outcome: Outcome, wrote: Option<Wrote>) {
        self.wrote = wrote.or(self.wrote);
        let counter = match outcome {
            Outcome::Queued => {
                self.segment = wrote.as_ref().map(Outline::from).or(self.segment);
                &mut self.sent
            }
            Outcome::NoRoom => &mut self.unsent,
        };
        *counter = counter.saturating_add(1);
    }
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
        let fill = |frame: &mut [u8]| (f(frame), Wrote::read(medium, frame));
        let ((result, wrote), outcome) = self.link.transmit(len, self.scratch, fill);
        self.traffic.count(outcome, wrote);
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

/// Sends packets of an interface that knows no neighbours to one.
pub(crate) struct Again<'a, D: FrameDevice> {
    /// What goes before each packet; nothing inside a loop.
    pub(crate) header: Option<[u8; 14]>,
    pub(crate) link: &'a mut Link<D>,
    pub(crate) scratch: &'a mut Scratch,
    pub(crate) traffic: Traffic,
}

/// Room for one packet behind its header.
pub(crate) struct PacketOut<'a, 'b, D: FrameDevice>(&'b mut Again<'a, D>);

impl<D: FrameDevice> TxToken for PacketOut<'_, '_, D> {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, len: usize, f: F) -> R {
        let again = self.0;
        let header = again.header;
        let header = header.as_ref().map_or(&[][..], |header| &header[..]);
        let fill = |frame: &mut [u8]| {
            let (head, packet) = frame.split_at_mut(header.len().min(frame.len()));
            for (to, from) in head.iter_mut().zip(header) {
                *to = *from;
            }
            (f(packet), Wrote::read(Medium::Ip, packet))
        };
        let len = len.saturating_add(header.len());
        let ((result, wrote), outcome) = again.link.transmit(len, again.scratch, fill);
        again.traffic.count(outcome, wrote);
        result
    }
}

impl<'c, D: FrameDevice> Device for Again<'c, D> {
    type RxToken<'a>
        = FrameIn<'a>
    where
        Self: 'a;
    type TxToken<'a>
        = PacketOut<'c, 'a, D>
    where
        Self: 'a;

    fn receive(&mut self, _: Instant) -> Option<(Self::RxToken<'_>, Self::TxToken<'_>)> {
        None
    }

    fn transmit(&mut self, _: Instant) -> Option<Self::TxToken<'_>> {
        self.link.can_transmit().then_some(PacketOut(self))
    }

    fn capabilities(&self) -> DeviceCapabilities {
        let mut capabilities = self.link.capabilities();
        capabilities.max_transmission_unit = capabilities.ip_mtu();
        capabilities.medium = Medium::Ip;
        capabilities
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
