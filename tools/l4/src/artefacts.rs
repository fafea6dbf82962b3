//! The files that the harness needs, built by `make` beforehand: the harness builds no
//! guest itself, so that what it proves is what was built.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::Args;

use crate::failure::Failure;

/// Where the built files are.
#[derive(Args, Clone, Debug)]
pub(crate) struct Artefacts {
    /// The harness kernel.
    #[arg(long, default_value = "target/guest/harness-kernel", global = true)]
    pub(crate) kernel: PathBuf,
    /// The service.
    #[arg(
        long,
        default_value = "target/guest/remote-session-web-ui",
        global = true
    )]
    pub(crate) service: PathBuf,
    /// The in-guest client.
    #[arg(long, default_value = "target/guest/ingress-probe", global = true)]
    pub(crate) probe: PathBuf,
    /// The runtime's own smoke program.
    #[arg(long, default_value = "target/smoke/capos-rt-smoke", global = true)]
    pub(crate) smoke: PathBuf,
    /// The misbehaving program.
    #[arg(long, default_value = "target/guest/hostile", global = true)]
    pub(crate) hostile: PathBuf,
    /// The folder of deliberately broken services and kernels, one folder each.
    #[arg(long, default_value = "target/broken", global = true)]
    pub(crate) broken: PathBuf,
    /// The folder of boot manifests.
    #[arg(long, default_value = "manifests", global = true)]
    pub(crate) manifests: PathBuf,
    /// The emulator.
    #[arg(
        long,
        env = "L4_QEMU",
        default_value = "qemu-system-x86_64",
        global = true
    )]
    pub(crate) qemu: OsString,
    /// Guest memory in MiB.
    #[arg(long, default_value_t = 32, global = true)]
    pub(crate) memory: u32,
}

impl Artefacts {
    /// Refuses to go on without the kernel, the service and the in-guest client.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        present("the harness kernel", &self.kernel, "guest")?;
        present("the service", &self.service, "guest")?;
        present("the in-guest client", &self.probe, "guest")?;
        present("the folder of boot manifests", &self.manifests, "help")
    }

    pub(crate) fn broken_service(&self, feature: &str) -> PathBuf {
        self.broken.join(feature).join("remote-session-web-ui")
    }

    pub(crate) fn broken_kernel(&self, feature: &str) -> PathBuf {
        self.broken.join(feature).join("harness-kernel")
    }
}

/// A failure that names the `make` target, unless the file is there.
pub(crate) fn present(
    what: &'static str,
    path: &Path,
    make_target: &'static str,
) -> Result<(), Failure> {
    if path.exists() {
        return Ok(());
    }
    Err(Failure::ArtefactMissing {
        what,
        path: path.to_owned(),
        make_target,
    })
}
