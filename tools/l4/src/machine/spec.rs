//! What a machine is made of, and the emulator's command line for it.

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::accel::Accel;
use crate::machine::console::Line;

/// Where a host port comes from.
#[derive(Clone, Copy, Debug)]
pub(crate) enum HostPort {
    /// Any free one, chosen at each boot.
    Ephemeral,
    /// This one, or the boot fails.
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
    /// The same, on a hub with a UDP socket through which frames are injected.
    UserWithInjector(HostPort, FrameInjector),
    /// The same, at the far end of a wire that the harness carries.
    UserThroughRelay(HostPort, RelayPorts),
    /// A TAP device that exists already; the host reaches the guest's own address.
    Tap(&'static str),
    /// The same, on a hub with a UDP socket through which frames are injected.
    TapWithInjector(&'static str, FrameInjector),
}

/// One NIC: PCI order is the order in the list, numbered from 1.
#[derive(Clone, Debug)]
pub(crate) struct Nic {
    /// What stands behind it.
    pub(crate) backend: Backend,
    /// The guest's port that is forwarded.
    pub(crate) guest_port: u16,
}

/// What a machine has less of than it should.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Less {
    /// It has all.
    Nothing,
    /// So much memory, in MiB.
    Memory(u32),
    /// A processor without this feature.
    Processor(&'static str),
}

/// Who hears a Ctrl-C on the terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Interrupts {
    /// The emulator too, and it ends.
    Shared,
    /// The harness alone, so that it can end the machine in order.
    HarnessAlone,
}

/// A machine to boot.
#[derive(Clone, Debug)]
pub(crate) struct MachineSpec {
    /// The emulator's program.
    pub(crate) emulator: OsString,
    /// How it executes guest code.
    pub(crate) accel: Accel,
    /// The harness kernel.
    pub(crate) kernel: PathBuf,
    /// The boot package.
    pub(crate) package: PathBuf,
    /// Guest RAM.
    pub(crate) memory_mib: u32,
    /// What is taken away from it.
    pub(crate) less: Less,
    /// NICs in PCI order.
    pub(crate) nics: Vec<Nic>,
    /// Where the console is logged.
    pub(crate) serial_log: PathBuf,
    /// The machine is ended when it outlives this.
    pub(crate) time_limit: Duration,
    /// Who hears a Ctrl-C.
    pub(crate) interrupts: Interrupts,
    /// Called for each console line as it comes.
    pub(crate) echo: Option<fn(&Line)>,
}

impl MachineSpec {
    /// The emulator's arguments, with the host ports chosen (one per NIC, in order) and the
    /// socket of the second serial port.
    pub(crate) fn arguments(&self, host: &[SocketAddr], control: &Path) -> Vec<OsString> {
        let mut args: Vec<OsString> = Vec::new();
        let mut push = |words: &[&str]| args.extend(words.iter().map(OsString::from));
        let (memory_mib, without) = match self.less {
            Less::Nothing => (self.memory_mib, String::new()),
            Less::Memory(mib) => (mib, String::new()),
            Less::Processor(feature) => (self.memory_mib, format!(",-{feature}")),
        };
        push(&["-machine", "pc", "-accel", self.accel.name(), "-cpu"]);
        let processor = format!("{}{without}", self.accel.cpu());
        push(&[&processor, "-m", &format!("{memory_mib}M")]);
        push(&["-nodefaults", "-no-user-config", "-display", "none"]);
        push(&["-no-reboot", "-chardev", "stdio,id=com1,signal=off"]);
        push(&["-serial", "chardev:com1", "-chardev"]);
        push(&[&format!("socket,id=com2,path={}", control.display())]);
        push(&["-serial", "chardev:com2"]);
        push(&["-device", "isa-debug-exit,iobase=0xf4,iosize=4"]);
        for (index, (nic, address)) in self.nics.iter().zip(host).enumerate() {
            for argument in nic.arguments(index + 1, *address) {
                push(&[&argument]);
            }
        }
        args.push("-kernel".into());
        args.push(self.kernel.clone().into());
        args.push("-initrd".into());
        args.push(self.package.clone().into());
        args
    }
}

impl Nic {
    fn arguments(&self, number: usize, host: SocketAddr) -> Vec<String> {
        let network = number + 1;
        let user = |id: &str| {
            format!(
                "user,id={id},net=10.0.{network}.0/24,restrict=on,ipv6=off,hostfwd=tcp:{host}-10.0.{network}.15:{}",
                self.guest_port
            )
        };
        let udp = |id: &str, from_guest: u16, to_guest: u16| {
            format!("socket,id={id},udp=127.0.0.1:{from_guest},localaddr=127.0.0.1:{to_guest}")
        };
        let tap =
            |id: &str, name: &str| format!("tap,id={id},ifname={name},script=no,downscript=no");
        let on_hub = |id: &str, peer: &str| format!("hubport,id={id},hubid={number},netdev={peer}");
        let (own, user_id, udp_id) = (
            format!("n{number}"),
            format!("u{number}"),
            format!("s{number}"),
        );
        let mut networks = match &self.backend {
            Backend::User(_) => vec![user(&own)],
            Backend::UserWithInjector(_, ports) => vec![
                user(&user_id),
                udp(&udp_id, ports.from_guest, ports.to_guest),
                on_hub(&format!("hu{number}"), &user_id),
                on_hub(&format!("hs{number}"), &udp_id),
                format!("hubport,id={own},hubid={number}"),
            ],
            Backend::UserThroughRelay(_, ports) => vec![
                user(&user_id),
                udp(&udp_id, ports.net_peer, ports.net),
                on_hub(&format!("hu{number}"), &user_id),
                on_hub(&format!("hs{number}"), &udp_id),
                udp(&own, ports.nic_peer, ports.nic),
            ],
            Backend::Tap(name) => vec![tap(&own, name)],
            Backend::TapWithInjector(name, ports) => vec![
                tap(&user_id, name),
                udp(&udp_id, ports.from_guest, ports.to_guest),
                on_hub(&format!("hu{number}"), &user_id),
                on_hub(&format!("hs{number}"), &udp_id),
                format!("hubport,id={own},hubid={number}"),
            ],
        };
        let mut args = Vec::new();
        for network in networks.drain(..) {
            args.extend(["-netdev".to_owned(), network]);
        }
        args.push("-device".into());
        args.push(format!(
            "virtio-net-pci,netdev=n{number},mac=52:54:00:00:00:{number:02x},romfile="
        ));
        args
    }
}
