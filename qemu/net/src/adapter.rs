//! smoltcp devices that move one frame at a time: the stack decides which frame
//! meets which socket, so smoltcp never sees a queue.

use crate::config::FRAME_BYTES_MAX;
use crate::device::FrameDevice;
use crate::link::{Link, Outcome};
use crate::segment::{ETHERNET_BYTES, Segment};
use crate::transport::Port;
use smoltcp::iface::SocketSet;
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
    /// The last segment that smoltcp wrote, which it takes for sent, and what became
    /// of it.
    pub(crate) wrote: Option<(Segment, Outcome)>,
}

impl Traffic {
    fn count(&mut self, outcome: Outcome, wrote: Option<Segment>) {
        if let Some(segment) = wrote {
            self.wrote = Some((segment, outcome));
        }
        let counter = match outcome {
            Outcome::Queued => &mut self.sent,
            Outcome::NoRoom => &mut self.unsent,
        };
        *counter = counter.saturating_add(1);
    }

    /// Counts what another one has seen, too.
    pub(crate) fn add(&mut self, other: Self) {
        self.sent = self.sent.saturating_add(other.sent);
        self.unsent = self.unsent.saturating_add(other.unsent);
    }

    /// The segment that was sent, if one was.
    pub(crate) fn segment(&self) -> Option<&Segment> {
        match &self.wrote {
            Some((segment, Outcome::Queued)) => Some(segment),
            _ => None,
        }
    }
}

/// What an interface writes.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Framing {
    /// What its link carries.
    Whole,
    /// Packets, for it knows no neighbours: this goes before each, or nothing inside
    /// of a loop.
    Packets(Option<[u8; ETHERNET_BYTES]>),
}

impl Framing {
    fn header(&self) -> &[u8] {
        match self {
            Self::Packets(Some(header)) => header,
            Self::Packets(None) | Self::Whole => &[],
        }
    }
}

/// At most one frame in, any number out to the link.
pub(crate) struct OneFrame<'a, D: FrameDevice> {
    pub(crate) frame: Option<&'a [u8]>,
    pub(crate) framing: Framing,
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
    framing: Framing,
    link: &'a mut Link<D>,
    scratch: &'a mut Scratch,
    traffic: &'a mut Traffic,
}

impl<D: FrameDevice> TxToken for FrameOut<'_, D> {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, len: usize, f: F) -> R {
        let medium = match self.framing {
            Framing::Whole => self.link.medium(),
            Framing::Packets(_) => Medium::Ip,
        };
        let header = self.framing.header();
        let fill = |frame: &mut [u8]| {
            let (head, written) = frame.split_at_mut(header.len().min(frame.len()));
            for (to, from) in head.iter_mut().zip(header) {
                *to = *from;
            }
            (f(written), Segment::written(medium, written))
        };
        let len = len.saturating_add(header.len());
        let ((result, wrote), outcome) = self.link.transmit(len, self.scratch, fill);
        self.traffic.count(outcome, wrote);
        result
    }
}

impl<'a, D: FrameDevice> OneFrame<'a, D> {
    /// Nothing in.
    pub(crate) fn out(link: &'a mut Link<D>, framing: Framing, scratch: &'a mut Scratch) -> Self {
        Self {
            frame: None,
            framing,
            link,
            scratch,
            traffic: Traffic::default(),
        }
    }

    fn room(&mut self) -> FrameOut<'_, D> {
        FrameOut {
            framing: self.framing,
            link: self.link,
            scratch: self.scratch,
            traffic: &mut self.traffic,
        }
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
        Some((FrameIn(frame), self.room()))
    }

    fn transmit(&mut self, _: Instant) -> Option<Self::TxToken<'_>> {
        if self.link.can_transmit() {
            Some(self.room())
        } else {
            None
        }
    }

    fn capabilities(&self) -> DeviceCapabilities {
        let mut capabilities = self.link.capabilities();
        if let Framing::Packets(_) = self.framing {
            capabilities.max_transmission_unit = capabilities.ip_mtu();
            capabilities.medium = Medium::Ip;
        }
        capabilities
    }
}

impl<D: FrameDevice> Port<D> {
    /// Gives a frame to smoltcp, with the one socket that it may be for.
    pub(crate) fn take_in(
        &mut self,
        now: Instant,
        frame: &[u8],
        scratch: &mut Scratch,
        set: &mut SocketSet<'static>,
    ) -> Traffic {
        let mut device = OneFrame {
            frame: Some(frame),
            ..OneFrame::out(&mut self.link, Framing::Whole, scratch)
        };
        self.interface.poll_ingress_single(now, &mut device, set);
        device.traffic
    }

    /// Has smoltcp send what is next of one socket.
    pub(crate) fn let_out(
        &mut self,
        now: Instant,
        scratch: &mut Scratch,
        set: &mut SocketSet<'static>,
    ) -> Traffic {
        let mut device = OneFrame::out(&mut self.link, Framing::Whole, scratch);
        self.interface.poll_egress(now, &mut device, set);
        device.traffic
    }
}

/// Replays a connection request to a socket and catches the answer instead of
/// sending it.
pub(crate) struct Replay<'a> {
    pub(crate) request: Option<&'a [u8]>,
    pub(crate) answer: Option<Segment>,
}

/// Reads the answer that is not sent.
pub(crate) struct Catch<'a>(&'a mut Option<Segment>);

impl TxToken for Catch<'_> {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, len: usize, f: F) -> R {
        let mut packet = [0; 128];
        let (head, _) = packet.split_at_mut(len.min(128));
        let result = f(head);
        *self.0 = Segment::written(Medium::Ip, head);
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
