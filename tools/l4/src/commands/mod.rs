//! The subcommands, one file each.

mod case_on_wire;
pub(crate) mod list;
mod namespace;
pub(crate) mod prove;
pub(crate) mod run;

use std::fs::{File, TryLockError};
use std::path::Path;
use std::time::Duration;

use mkmanifest::LaneRules;

use crate::accel::{self, Accel, Wish};
use crate::artefacts::Artefacts;
use crate::failure::Failure;
use crate::machine::Machine;
use crate::machine::spec::{Interrupts, Less, MachineSpec};
use crate::package;
use crate::session::Session;

/// Makes a folder and keeps other runs out of it for as long as the value lives. `elsewhere`
/// says how another folder is chosen.
fn lock(folder: &Path, elsewhere: &str) -> Result<File, Failure> {
    std::fs::create_dir_all(folder)
        .map_err(|error| Failure::host(folder.display().to_string(), error))?;
    let path = folder.join(".lock");
    let failed = |cause: String| Failure::host(path.display().to_string(), cause);
    let lock = File::create(&path).map_err(|error| failed(error.to_string()))?;
    match lock.try_lock() {
        Ok(()) => Ok(lock),
        Err(TryLockError::WouldBlock) => Err(failed(format!(
            "another run writes here; {elsewhere} takes another folder"
        ))),
        Err(TryLockError::Error(error)) => Err(failed(error.to_string())),
    }
}

/// Settles on an accelerator; KVM only after a trial boot.
fn settle_accel(artefacts: &Artefacts, folder: &Path) -> Result<Accel, Failure> {
    let wish = accel::wish().map_err(|cause| Failure::host("choosing an accelerator", cause))?;
    match wish {
        Wish::Forced(accel) => Ok(accel),
        Wish::Tcg => Ok(Accel::Tcg),
        Wish::TryKvm if trial_boot(artefacts, folder).is_ok() => Ok(Accel::Kvm),
        Wish::TryKvm => Ok(Accel::Tcg),
    }
}

/// Boots under KVM and waits a short time for the kernel's first line.
fn trial_boot(artefacts: &Artefacts, folder: &Path) -> Result<(), Failure> {
    let out = folder.join("trial.package");
    let manifest = artefacts.manifests.join("three-lanes.toml");
    package::compile(artefacts, &manifest, LaneRules::Checked, &out)?;
    let spec = MachineSpec {
        emulator: artefacts.qemu.clone(),
        accel: Accel::Kvm,
        kernel: artefacts.kernel.clone(),
        package: out,
        memory_mib: artefacts.memory,
        less: Less::Nothing,
        nics: Session::user_nics(),
        serial_log: folder.join("trial.serial.log"),
        time_limit: Duration::from_secs(10),
        interrupts: Interrupts::Shared,
        echo: None,
    };
    let mut machine = Machine::boot(&spec)?;
    machine
        .await_line(
            0,
            "the kernel's first line",
            Duration::from_secs(3),
            |line| line.starts_with("[kernel] "),
        )
        .map(drop)
}
