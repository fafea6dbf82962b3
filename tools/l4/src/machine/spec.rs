//! What a machine is made of, and the emulator's command line for it.

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::accel::Accel;
use crate::machine::console::Line;
use crate::machine::nic::Nic;

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

#[derive(Clone, Debug)]
pub(crate) struct MachineSpec {
    pub(crate) emulator: OsString,
    pub(crate) accel: Accel,
    pub(crate) kernel: PathBuf,
    pub(crate) package: PathBuf,
    pub(crate) memory_mib: u32,
    pub(crate) less: Less,
    /// NICs in PCI order.
    pub(crate) nics: Vec<Nic>,
    /// Where the console is logged.
    pub(crate) serial_log: PathBuf,
    /// The machine is ended when it outlives this.
    pub(crate) time_limit: Duration,
    pub(crate) interrupts: Interrupts,
    /// Called for each console line as it comes.
    pub(crate) echo: Option<fn(&Line)>,
}

impl MachineSpec {
    /// The emulator's arguments, with the host's addresses (one per NIC, in order) and the
    /// socket of the second serial port.
    pub(crate) fn arguments(&self, host: &[Option<SocketAddr>], control: &Path) -> Vec<OsString> {
        let mut args: Vec<OsString> = Vec::new();
        let mut push = |words: &[&str]| args.extend(words.iter().map(OsString::from));
        let (memory_mib, without) = match self.less {
            Less::Nothing => (self.memory_mib, String::new()),
            Less::Memory(mib) => (mib, String::new()),
            Less::Processor(feature) => (self.memory_mib, format!(",-{feature}")),
        };
        // `pc`, not `microvm`: the kernel finds its cards on PCI, as in a cloud, and counts its
        // clock by a PIT, which `microvm` has only with an ACPI that hangs under TCG.
        push(&["-machine", "pc", "-accel", self.accel.name(), "-cpu"]);
        let processor = format!("{}{without}", self.accel.cpu());
        push(&[&processor, "-m", &format!("{memory_mib}M")]);
        // Nothing that the host's QEMU is set up with is part of a proof.
        push(&["-nodefaults", "-no-user-config", "-display", "none"]);
        // A triple fault ends the emulator: rebooting, it would pass for a slow boot. The
        // terminal's Ctrl-C is the harness's to handle, see [`Interrupts`].
        push(&["-no-reboot", "-chardev", "stdio,id=com1,signal=off"]);
        push(&["-serial", "chardev:com1", "-chardev"]);
        // The in-guest client is spoken to over a wire of its own: over the network it would
        // need a lane, and be part of what it measures (docs/decisions/0006).
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
