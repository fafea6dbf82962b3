//! The NICs of a machine: what stands behind each, and the emulator's arguments for it.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use crate::lane::Lane;

#[derive(Clone, Copy, Debug)]
pub(crate) enum HostPort {
    /// Any free one, chosen at each boot.
    Ephemeral,
    /// This one, which the caller has reserved, or the boot fails.
    Fixed(u16),
}

/// A pair of UDP ports on the host's loopback over which raw Ethernet frames reach a NIC.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FrameInjector {
    /// QEMU receives frames here.
    pub(crate) to_guest: u16,
    /// QEMU sends the guest's frames here.
    pub(crate) from_guest: u16,
}

/// The four UDP ports on the host's loopback of a wire that the harness carries.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RelayPorts {
    /// QEMU's port on the NIC's side, and the relay's.
    pub(crate) nic: u16,
    /// See `nic`.
    pub(crate) nic_peer: u16,
    /// QEMU's port on the network's side, and the relay's.
    pub(crate) net: u16,
    /// See `net`.
    pub(crate) net_peer: u16,
}

/// What stands behind one NIC of the guest. User networks are always restricted to their
/// forwarded port: whatever a guest or an injected frame is addressed to, QEMU opens no
/// connection for it.
#[derive(Clone, Debug)]
pub(crate) enum Backend {
    /// QEMU's user network with one forwarded port; needs no privileges.
    User(HostPort),
    /// A TAP device that exists already; the host reaches the guest's own address.
    Tap(&'static str),
    /// The harness itself, which writes and reads every frame through a Unix stream socket of
    /// this path. A stream that is not read fills up, and then the NIC sends nothing more.
    Frames(PathBuf),
}

/// What the harness puts between a NIC and what stands behind it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Between {
    /// Nothing.
    Nothing,
    /// A hub with a UDP socket through which frames are injected.
    Injector(FrameInjector),
    /// A wire that the harness carries.
    Relay(RelayPorts),
}

/// What QEMU does with every frame of a NIC.
#[derive(Clone, Debug)]
pub(crate) enum Filter {
    /// Writes it into a file, in the format of `pcap`.
    Dump(PathBuf),
    /// Holds it back until the end of the interval in which it came.
    Hold(Duration),
}

/// One NIC: PCI order is the order in the list, numbered from 1.
#[derive(Clone, Debug)]
pub(crate) struct Nic {
    pub(crate) backend: Backend,
    pub(crate) between: Between,
    /// What is done with its frames.
    pub(crate) filters: Vec<Filter>,
    /// The guest's port that is forwarded.
    pub(crate) guest_port: u16,
}

/// The address of the guest behind NIC `number`.
pub(crate) fn guest_ip(number: u8) -> Ipv4Addr {
    Ipv4Addr::new(10, 0, number.saturating_add(1), 15)
}

pub(crate) fn gateway_ip(number: u8) -> Ipv4Addr {
    Ipv4Addr::new(10, 0, number.saturating_add(1), 2)
}

impl Nic {
    /// The NIC of a lane, with nothing between it and what stands behind it.
    pub(crate) fn of(lane: Lane, backend: Backend) -> Self {
        Self {
            backend,
            between: Between::Nothing,
            filters: Vec::new(),
            guest_port: lane.port(),
        }
    }

    /// The emulator's arguments for the NIC of that number.
    pub(super) fn arguments(&self, number: usize, host: Option<SocketAddr>) -> Vec<String> {
        let own = format!("n{number}");
        let behind = format!("b{number}");
        let side = format!("s{number}");
        let hub = |port: &str, id: &str| format!("hubport,id={port},hubid={number},netdev={id}");
        let networks = match self.between {
            Between::Nothing => vec![self.network(&own, number, host)],
            Between::Injector(ports) => vec![
                self.network(&behind, number, host),
                udp(&side, ports.from_guest, ports.to_guest),
                hub(&format!("hb{number}"), &behind),
                hub(&format!("hs{number}"), &side),
                format!("hubport,id={own},hubid={number}"),
            ],
            Between::Relay(ports) => vec![
                self.network(&behind, number, host),
                udp(&side, ports.net_peer, ports.net),
                hub(&format!("hb{number}"), &behind),
                hub(&format!("hs{number}"), &side),
                udp(&own, ports.nic_peer, ports.nic),
            ],
        };
        let mut args = Vec::new();
        for network in networks {
            args.extend(["-netdev".to_owned(), network]);
        }
        for (index, filter) in self.filters.iter().enumerate() {
            let id = format!("f{number}-{index},netdev={own}");
            args.extend(["-object".to_owned(), filter.argument(&id)]);
        }
        // Without its option ROM, with which the BIOS would look for a boot server first.
        args.push("-device".into());
        args.push(format!(
            "virtio-net-pci,netdev={own},mac=52:54:00:00:00:{number:02x},romfile="
        ));
        args
    }

    /// What stands behind it, under that name.
    fn network(&self, id: &str, number: usize, host: Option<SocketAddr>) -> String {
        let network = number + 1;
        match &self.backend {
            Backend::User(_) => {
                let forward = host.map_or_else(String::new, |host| {
                    format!(",hostfwd=tcp:{host}-10.0.{network}.15:{}", self.guest_port)
                });
                format!("user,id={id},net=10.0.{network}.0/24,restrict=on,ipv6=off{forward}")
            }
            // Without the header that QEMU would put before each frame, a capture is of frames.
            Backend::Tap(name) => {
                format!("tap,id={id},ifname={name},script=no,downscript=no,vnet_hdr=off")
            }
            Backend::Frames(path) => format!(
                "stream,id={id},server=off,addr.type=unix,addr.path={}",
                path.display()
            ),
        }
    }
}

fn udp(id: &str, from_guest: u16, to_guest: u16) -> String {
    format!("socket,id={id},udp=127.0.0.1:{from_guest},localaddr=127.0.0.1:{to_guest}")
}

impl Filter {
    fn argument(&self, id: &str) -> String {
        match self {
            Self::Dump(file) => format!("filter-dump,id={id},file={}", file.display()),
            Self::Hold(interval) => {
                format!("filter-buffer,id={id},interval={}", interval.as_micros())
            }
        }
    }
}
