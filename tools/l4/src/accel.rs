//! Which accelerator QEMU gets. KVM only where the processor has the real thing and a
//! trial boot works: an openable `/dev/kvm` alone proves nothing. `L4_ACCEL` forces one.

use std::path::Path;

/// How QEMU executes guest code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Accel {
    /// QEMU's own translator.
    Tcg,
    /// The processor's virtualization.
    Kvm,
}

/// What the host says before any trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wish {
    /// The environment names it, and no trial is made.
    Forced(Accel),
    /// KVM, if a trial boot works.
    TryKvm,
    /// The processor has no virtualization, or the device is missing.
    Tcg,
}

impl Accel {
    /// QEMU's name for it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Tcg => "tcg",
            Self::Kvm => "kvm",
        }
    }

    pub(crate) fn cpu(self) -> &'static str {
        match self {
            Self::Tcg => "max",
            Self::Kvm => "host",
        }
    }
}

/// Reads the wish from the environment and the host.
pub(crate) fn wish() -> Result<Wish, String> {
    let forced = std::env::var("L4_ACCEL").ok();
    let processors = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    decide(
        forced.as_deref(),
        &processors,
        Path::new("/dev/kvm").exists(),
    )
}

fn decide(forced: Option<&str>, processors: &str, device: bool) -> Result<Wish, String> {
    match forced {
        Some("tcg") => return Ok(Wish::Forced(Accel::Tcg)),
        Some("kvm") => return Ok(Wish::Forced(Accel::Kvm)),
        Some("") | None => {}
        Some(other) => return Err(format!("L4_ACCEL is `{other}`; it may be `tcg` or `kvm`")),
    }
    let virtualizes = processors
        .lines()
        .filter(|line| line.starts_with("flags"))
        .any(|line| {
            line.split_whitespace()
                .any(|flag| flag == "vmx" || flag == "svm")
        });
    Ok(if virtualizes && device {
        Wish::TryKvm
    } else {
        Wish::Tcg
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kvm_needs_the_flag_and_the_device() {
        let real = "flags\t\t: fpu vmx sse2\n";
        let paravirtual = "flags\t\t: fpu sse2\n";
        assert_eq!(decide(None, real, true), Ok(Wish::TryKvm));
        assert_eq!(decide(None, real, false), Ok(Wish::Tcg));
        assert_eq!(decide(None, paravirtual, true), Ok(Wish::Tcg));
    }

    #[test]
    fn the_environment_decides_alone_and_nonsense_is_refused() {
        let forced = |word| decide(Some(word), "", false);
        assert_eq!(forced("kvm"), Ok(Wish::Forced(Accel::Kvm)));
        assert_eq!(forced("tcg"), Ok(Wish::Forced(Accel::Tcg)));
        assert!(forced("xen").is_err());
    }
}
