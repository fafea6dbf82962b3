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

/// What stands behind one NIC of the guest.
#[derive(Clone, Debug)]
pub(crate) enum Backend {
    /// QEMU's user network with one forwarded port; needs no privileges.
    User(HostPort),
    /// The same, on a hub with a UDP socket through which frames are injected.
    UserWithInjector(HostPort, FrameInjector),
    /// A TAP device that exists already.
    Tap(String),
}

/// One NIC: PCI order is the order in the list, numbered from 1.
#[derive(Clone, Debug)]
pub(crate) struct Nic {
    /// What stands behind it.
    pub(crate) backend: Backend,
    /// The guest's port that is forwarded.
    pub(crate) guest_port: u16,
    /// Whether the guest may open connections through it.
    pub(crate) outgoing: Outgoing,
}

/// Whether the guest may reach out through a NIC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outgoing {
    /// Through the user network.
    Allowed,
    /// Only forwarded ports work (`restrict=on`).
    Forbidden,
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
    /// NICs in PCI order.
    pub(crate) nics: Vec<Nic>,
    /// Where the console is logged.
    pub(crate) serial_log: PathBuf,
    /// The machine is ended when it outlives this.
    pub(crate) time_limit: Duration,
    /// Called for each console line as it comes.
    pub(crate) echo: Option<fn(&Line)>,
}

impl MachineSpec {
    /// The emulator's arguments, with the host ports chosen (one per NIC, in order) and the
    /// socket of the second serial port.
    pub(crate) fn arguments(&self, host: &[SocketAddr], control: &Path) -> Vec<OsString> {
        let mut args: Vec<OsString> = Vec::new();
        let mut push = |words: &[&str]| args.extend(words.iter().map(OsString::from));
        push(&["-machine", "pc", "-accel", self.accel.name(), "-cpu"]);
        push(&[self.accel.cpu(), "-m", &format!("{}M", self.memory_mib)]);
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
        let restrict = match self.outgoing {
            Outgoing::Allowed => "",
            Outgoing::Forbidden => ",restrict=on",
        };
        let network = number + 1;
        let user = |id: &str| {
            format!(
                "user,id={id},net=10.0.{network}.0/24{restrict},hostfwd=tcp:{host}-10.0.{network}.15:{}",
                self.guest_port
            )
        };
        let mut args = match &self.backend {
            Backend::User(_) => vec!["-netdev".into(), user(&format!("n{number}"))],
            Backend::UserWithInjector(_, ports) => vec![
                "-netdev".into(),
                user(&format!("u{number}")),
                "-netdev".into(),
                format!(
                    "socket,id=s{number},udp=127.0.0.1:{},localaddr=127.0.0.1:{}",
                    ports.from_guest, ports.to_guest
                ),
                "-netdev".into(),
                format!("hubport,id=hu{number},hubid={number},netdev=u{number}"),
                "-netdev".into(),
                format!("hubport,id=hs{number},hubid={number},netdev=s{number}"),
                "-netdev".into(),
                format!("hubport,id=n{number},hubid={number}"),
            ],
            Backend::Tap(name) => vec![
                "-netdev".into(),
                format!("tap,id=n{number},ifname={name},script=no,downscript=no"),
            ],
        };
        args.push("-device".into());
        args.push(format!(
            "virtio-net-pci,netdev=n{number},mac=52:54:00:00:00:{number:02x},romfile="
        ));
        args
    }
}
