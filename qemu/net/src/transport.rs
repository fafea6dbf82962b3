//! A transport and its ports: the card, and the loop inside.

use crate::answers::Answers;
use crate::bucket::Bucket;
use crate::classify::Receiver;
use crate::config::NetConfig;
use crate::counters::TransportCounters;
use crate::device::FrameDevice;
use crate::flow::PortIndex;
use crate::ids::TransportId;
use crate::link::Link;
use crate::time::Instant;
use core::net::Ipv4Addr;
use smoltcp::iface::Interface;
use smoltcp::wire::{EthernetAddress, Ipv4Cidr};

/// One smoltcp interface and what it sends to.
pub(crate) struct Port<D: FrameDevice> {
    pub(crate) transport: TransportId,
    pub(crate) receiver: Receiver,
    pub(crate) link: Link<D>,
    pub(crate) interface: Interface,
    /// The neighbour last learned from a completed handshake.
    pub(crate) learned: Option<(Ipv4Addr, EthernetAddress, Instant)>,
    /// Frames and segments lately; see `turn.rs`.
    pub(crate) work: u32,
}

/// What its ports share.
pub(crate) struct Transport {
    pub(crate) subnet: Ipv4Cidr,
    pub(crate) gateway: Option<Ipv4Addr>,
    /// The port that packets to the transport's own address use.
    pub(crate) inside: PortIndex,
    /// The card's port; loopback has none.
    pub(crate) card: Option<PortIndex>,
    pub(crate) counters: TransportCounters,
    pub(crate) answers: Answers,
    pub(crate) resets: Bucket,
    pub(crate) challenges: Bucket,
    pub(crate) echoes: Bucket,
}

impl Transport {
    pub(crate) fn new(
        config: &NetConfig,
        subnet: Ipv4Cidr,
        gateway: Option<Ipv4Addr>,
        inside: PortIndex,
        card: Option<PortIndex>,
    ) -> Self {
        Self {
            subnet,
            gateway,
            inside,
            card,
            counters: TransportCounters::default(),
            answers: Answers::new(),
            resets: Bucket::new(config.resets_per_second),
            challenges: Bucket::new(config.challenges_per_second),
            echoes: Bucket::new(config.echoes_per_second),
        }
    }

    /// Whom to hand a packet for `remote` to: itself, or the gateway.
    pub(crate) fn next_hop(&self, remote: Ipv4Addr) -> Option<Ipv4Addr> {
        if self.subnet.contains_addr(&remote) {
            Some(remote)
        } else {
            self.gateway
        }
    }
}
