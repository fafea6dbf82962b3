//! `l4 run`: boots a manifest and stays up. Ctrl-C drains the service, and the machine ends
//! in order; a second Ctrl-C ends it at once. Ports and folder are taken before any file is
//! touched (invariant H7).

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use clap::Args;
use mkmanifest::{LaneRules, complain, say};

use crate::artefacts::Artefacts;
use crate::exit_code::MachineExit;
use crate::failure::Failure;
use crate::guest::Guest;
use crate::lane::Lane;
use crate::machine::Machine;
use crate::machine::console::Line;
use crate::machine::nic::{Backend, HostPort, Nic};
use crate::machine::ports::Reserved;
use crate::machine::spec::{Interrupts, Less, MachineSpec};
use crate::package;

/// Arguments of `l4 run`.
#[derive(Args)]
pub(crate) struct Run {
    /// The manifest to boot, by name.
    #[arg(default_value = "three-lanes")]
    manifest: String,
    /// The host's port of the public lane; 0 is any that is free.
    #[arg(long, default_value_t = 8080)]
    public_port: u16,
    /// The host's port of the provider lane; 0 is any that is free.
    #[arg(long, default_value_t = 8081)]
    provider_port: u16,
    /// Where the boot package and the serial log go.
    #[arg(long, default_value = "target/run")]
    out: PathBuf,
}

impl Run {
    /// Boots, prints the addresses, and streams the console to the end.
    pub(crate) fn execute(&self, artefacts: &Artefacts) -> ExitCode {
        match self.stay_up(artefacts) {
            Ok(()) => ExitCode::SUCCESS,
            Err(failure) => {
                complain!("l4: {failure}");
                ExitCode::FAILURE
            }
        }
    }

    fn stay_up(&self, artefacts: &Artefacts) -> Result<(), Failure> {
        artefacts.check()?;
        // Before any file is touched: whoever comes second leaves the first's log as it is.
        let ports = self.ports()?;
        let _lock = super::lock(&self.out, "`make run ARGS=\"--out FOLDER\"`")?;
        let interrupts = Arc::new(AtomicU32::new(0));
        let counted = Arc::clone(&interrupts);
        ctrlc::set_handler(move || {
            counted.fetch_add(1, Ordering::AcqRel);
        })
        .map_err(|error| Failure::host("handling Ctrl-C", error))?;
        let mut guest = Guest::new(Machine::boot(&self.spec(artefacts, &ports)?)?, 0);
        guest.await_ready()?;
        // The policy line speaks of the lanes that there are, and of no others.
        let has = |lane: Lane| guest.policy(&format!("{}_conns", lane.target())).is_ok();
        let drains = has(Lane::LocalHealth);
        if has(Lane::Anonymous) {
            say!("  public    http://{}/", guest.public()?);
        }
        if has(Lane::ProviderHealth) {
            say!("  provider  http://{}/healthz", guest.provider()?);
        }
        if drains {
            say!(
                "  local     127.0.0.1:{} inside the guest alone",
                Lane::LocalHealth.port()
            );
            say!("  Ctrl-C drains the service and ends the machine.");
        } else {
            say!("  Ctrl-C ends the machine; a drain needs the local lane.");
        }
        let mut asked = false;
        loop {
            match guest.machine_mut().wait_exit(Duration::from_millis(200)) {
                Ok(MachineExit::Success) => return Ok(()),
                Ok(got) => {
                    return Err(Failure::WrongExit {
                        expected: MachineExit::Success,
                        got,
                        last: Vec::new(),
                    });
                }
                Err(Failure::NoExit { .. }) => {}
                Err(other) => return Err(other),
            }
            match interrupts.load(Ordering::Acquire) {
                0 => {}
                1 if !asked && drains => {
                    asked = true;
                    say!("\n  draining; Ctrl-C again ends the machine at once");
                    guest.probe()?.say("post local /drain")?;
                }
                1 if drains => {}
                _ => {
                    guest.machine_mut().kill();
                    return Ok(());
                }
            }
        }
    }

    /// Takes the host's ports of both lanes that it reaches, in the order of their NICs.
    fn ports(&self) -> Result<[Reserved; 2], Failure> {
        let (public, provider) = (self.public_port, self.provider_port);
        if public == provider && public != 0 {
            return Err(Failure::host(
                "taking the ports",
                format!("--public-port and --provider-port are both {public}; choose two"),
            ));
        }
        Ok([
            Reserved::this_or_any(public)?,
            Reserved::this_or_any(provider)?,
        ])
    }

    fn spec(&self, artefacts: &Artefacts, ports: &[Reserved; 2]) -> Result<MachineSpec, Failure> {
        let accel = super::settle_accel(artefacts, &self.out)?;
        let manifest = artefacts.manifests.join(format!("{}.toml", self.manifest));
        let package = self.out.join(format!("{}.package", self.manifest));
        package::compile(artefacts, &manifest, LaneRules::Checked, &package)?;
        let nic = |port: &Reserved, lane| {
            Nic::of(lane, Backend::User(HostPort::Fixed(port.address().port())))
        };
        let [public, provider] = ports;
        Ok(MachineSpec {
            emulator: artefacts.qemu.clone(),
            accel,
            kernel: artefacts.kernel.clone(),
            package,
            memory_mib: artefacts.memory,
            less: Less::Nothing,
            nics: vec![
                nic(public, Lane::Anonymous),
                nic(provider, Lane::ProviderHealth),
            ],
            serial_log: self.out.join(format!("{}.serial.log", self.manifest)),
            time_limit: Duration::from_secs(u64::from(u32::MAX)),
            interrupts: Interrupts::HarnessAlone,
            echo: Some(|line: &Line| say!("{}", line.text)),
        })
    }
}
