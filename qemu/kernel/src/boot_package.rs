//! The boot package: one message that says which programs run with what.
//!
//! Everything is checked before anything runs; the first thing wrong refuses
//! the boot, in one sentence. The published validators see the plan with the
//! listen badges cut down to ports, which is all that they know of.

use alloc::string::{String, ToString};
use alloc::vec::Vec;

use capos_config::capos_capnp::system_manifest;
use capos_config::{
    CapSource, KernelCapSource, LogLevel, ManifestBootstrapPlan, RestartPolicy,
    default_reader_options, validate_boot_manifest_size,
};
use ingress_schema::listen::ListenBinding;

use crate::boot_error::BootError;
use crate::call::kinds::{Kind, Object};
use crate::package_budget::reader_options;

pub use ingress_schema::PROCESSES_MAX;

/// What one capability of a process is to refer to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grant {
    /// The one object of its kind.
    Object(Object),
    /// A listen authority, bound to a port of a transport.
    Listen(ListenBinding),
    /// An endpoint of its own, that does nothing.
    Endpoint,
}

/// A grant under its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedGrant {
    /// Name in the CapSet.
    pub name: String,
    /// What it is.
    pub grant: Grant,
}

/// One process to start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProcessPlan<'a> {
    /// Its name on the console.
    pub name: String,
    /// Its ELF file.
    pub file: &'a [u8],
    /// Its capabilities, in the order of the manifest.
    pub grants: Vec<NamedGrant>,
}

impl ProcessPlan<'_> {
    /// Whether it may make outgoing connections.
    #[must_use]
    pub fn may_connect(&self) -> bool {
        self.holds(|grant| grant == Grant::Object(Object::NetworkManager))
    }

    /// Whether it may listen.
    #[must_use]
    pub fn may_listen(&self) -> bool {
        self.holds(|grant| matches!(grant, Grant::Listen(_)))
    }

    fn holds(&self, wanted: impl Fn(Grant) -> bool) -> bool {
        self.grants.iter().any(|named| wanted(named.grant))
    }
}

/// The whole boot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BootPlan<'a> {
    /// The processes; the first is init.
    pub processes: Vec<ProcessPlan<'a>>,
    /// Index of the process whose end ends the system, besides init.
    pub decisive: usize,
    /// Message of the day.
    pub motd: String,
    /// Host name.
    pub hostname: String,
    /// Least level that the log takes.
    pub log_level: LogLevel,
}

/// Reads and checks the package in `bytes`, which start on a word border.
///
/// # Errors
/// As [`BootError`] tells.
pub fn read(bytes: &[u8]) -> Result<BootPlan<'_>, BootError> {
    validate_boot_manifest_size(bytes.len())?;
    if !bytes.as_ptr().addr().is_multiple_of(8) {
        return Err(BootError::Manifest("package is not aligned".into()));
    }
    let plan = ManifestBootstrapPlan::from_aligned_capnp_bytes_no_alloc_with_options(
        bytes,
        reader_options(bytes)?,
    )?;
    with_port_badges(&plan).validate_bootstrap()?;
    let count = plan.services.len().saturating_add(1);
    if count > PROCESSES_MAX {
        return Err(BootError::TooManyProcesses(count));
    }

    let mut processes = Vec::with_capacity(count);
    let name = plan.init.binary.clone();
    let mut grants = Vec::with_capacity(plan.init.caps.len());
    for cap in &plan.init.caps {
        let wanted = Wanted {
            process: &name,
            cap: &cap.name,
            kernel_source: cap.source,
            badge: cap.badge,
            disclosure_scope: cap.disclosure_scope,
            interface: cap.expected_interface_id,
        };
        grants.push(wanted.resolve()?);
    }
    processes.push(ProcessPlan {
        file: binary(bytes, &name)?,
        name,
        grants,
    });
    for service in &plan.services {
        processes.push(read_service(bytes, service)?);
    }
    let decisive = plan
        .exit_when_service_exits
        .as_ref()
        .and_then(|name| {
            plan.services
                .iter()
                .position(|service| service.name == *name)
        })
        .map_or(0, |index| index.saturating_add(1));
    let (motd, hostname, log_level) = plan.kernel_params.map_or_else(
        || (String::new(), String::new(), LogLevel::Info),
        |params| (params.motd, params.hostname, params.log_level),
    );
    Ok(BootPlan {
        processes,
        decisive,
        motd,
        hostname,
        log_level,
    })
}

fn read_service<'a>(
    bytes: &'a [u8],
    service: &capos_config::ServiceEntry,
) -> Result<ProcessPlan<'a>, BootError> {
    if service.restart != RestartPolicy::Never {
        return Err(BootError::Restart(service.name.clone()));
    }
    let mut grants = Vec::with_capacity(service.caps.len());
    for cap in &service.caps {
        let CapSource::Kernel(kernel_source) = cap.source else {
            return Err(BootError::UnsupportedSource {
                process: service.name.clone(),
                cap: cap.name.clone(),
                cap_source: cap.source.to_string(),
            });
        };
        let wanted = Wanted {
            process: &service.name,
            cap: &cap.name,
            kernel_source,
            badge: cap.badge,
            disclosure_scope: cap.disclosure_scope,
            interface: cap.expected_interface_id,
        };
        grants.push(wanted.resolve()?);
    }
    Ok(ProcessPlan {
        name: service.name.clone(),
        file: binary(bytes, &service.binary)?,
        grants,
    })
}

struct Wanted<'a> {
    process: &'a str,
    cap: &'a str,
    kernel_source: KernelCapSource,
    badge: u64,
    disclosure_scope: u64,
    interface: u64,
}

impl Wanted<'_> {
    /// What nothing here would heed: a badge tells listen authorities apart and
    /// no other objects, and nobody's identity is disclosed to anyone.
    fn unheeded(&self) -> Option<BootError> {
        let is_listen = self.kernel_source == KernelCapSource::TcpListenAuthority;
        let badge = if is_listen { 0 } else { self.badge };
        [("badge", badge), ("disclosureScope", self.disclosure_scope)]
            .into_iter()
            .find(|(_, value)| *value != 0)
            .map(|(field, value)| BootError::Unheeded {
                process: self.process.into(),
                cap: self.cap.into(),
                field,
                value,
                cap_source: self.kernel_source,
            })
    }

    /// What the source grants. A kind of which there are several says here how a
    /// manifest tells them apart.
    fn grant(&self) -> Result<Grant, BootError> {
        match Kind::granted_by(self.kernel_source) {
            Some(Kind::ListenAuthority) => ListenBinding::from_badge(self.badge)
                .map(Grant::Listen)
                .map_err(|error| BootError::ListenBadge {
                    process: self.process.into(),
                    cap: self.cap.into(),
                    reason: error.to_string(),
                }),
            Some(Kind::Endpoint) => Ok(Grant::Endpoint),
            other => other
                .and_then(Kind::the_only)
                .map(Grant::Object)
                .ok_or_else(|| BootError::UnsupportedSource {
                    process: self.process.into(),
                    cap: self.cap.into(),
                    cap_source: self.kernel_source.to_string(),
                }),
        }
    }

    fn resolve(&self) -> Result<NamedGrant, BootError> {
        let grant = self.grant()?;
        if let Some(unheeded) = self.unheeded() {
            return Err(unheeded);
        }
        if self.interface != self.kernel_source.default_interface_id() {
            return Err(BootError::InterfaceMismatch {
                process: self.process.into(),
                cap: self.cap.into(),
            });
        }
        Ok(NamedGrant {
            name: self.cap.into(),
            grant,
        })
    }
}

/// The plan as the published validators know it: a badge is a port.
fn with_port_badges(plan: &ManifestBootstrapPlan) -> ManifestBootstrapPlan {
    let mut view = plan.clone();
    for cap in &mut view.init.caps {
        if cap.source == KernelCapSource::TcpListenAuthority {
            cap.badge &= 0xffff;
        }
    }
    for cap in view
        .services
        .iter_mut()
        .flat_map(|service| &mut service.caps)
    {
        if cap.source == CapSource::Kernel(KernelCapSource::TcpListenAuthority) {
            cap.badge &= 0xffff;
        }
    }
    view
}

/// The binary `name`, where it lies in the package.
fn binary<'a>(bytes: &'a [u8], name: &str) -> Result<&'a [u8], BootError> {
    let mut rest = bytes;
    let message = capnp::serialize::read_message_from_flat_slice_no_alloc(
        &mut rest,
        default_reader_options(),
    )?;
    if !rest.is_empty() {
        return Err(BootError::Trailing(rest.len()));
    }
    let binaries = message
        .get_root::<system_manifest::Reader<'_>>()?
        .get_binaries()?;
    for blob in binaries.iter() {
        if blob.get_name()?.to_str().is_ok_and(|found| found == name) {
            let data = blob.get_data()?;
            return same_bytes(bytes, data).ok_or_else(|| BootError::NoBinary(name.into()));
        }
    }
    Err(BootError::NoBinary(name.into()))
}

/// `part`, which lies in `whole`, for as long as `whole` lives.
fn same_bytes<'a>(whole: &'a [u8], part: &[u8]) -> Option<&'a [u8]> {
    let start = part.as_ptr().addr().checked_sub(whole.as_ptr().addr())?;
    whole.get(start..start.checked_add(part.len())?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use capos_config::{CueField, CueValue, NamedBlob, SystemManifest};

    fn text(value: &str) -> CueValue {
        CueValue::Text(value.into())
    }

    fn fields(list: &[(&str, CueValue)]) -> CueValue {
        CueValue::Struct(
            list.iter()
                .map(|(name, value)| CueField {
                    name: (*name).into(),
                    value: value.clone(),
                })
                .collect(),
        )
    }

    fn cap(name: &str, kernel: &str, badge: u64) -> CueValue {
        fields(&[
            ("name", text(name)),
            ("source", fields(&[("kernel", text(kernel))])),
            ("badge", CueValue::UInt(badge)),
        ])
    }

    fn service(name: &str, caps: &[CueValue], restart: &str) -> CueValue {
        fields(&[
            ("name", text(name)),
            ("binary", text("program")),
            ("caps", CueValue::List(caps.to_vec())),
            ("restart", text(restart)),
        ])
    }

    fn package(caps: &[CueValue], services: &[CueValue], decisive: Option<&str>) -> Vec<u8> {
        let mut config = vec![
            (
                "init",
                fields(&[
                    ("binary", text("program")),
                    ("caps", CueValue::List(caps.to_vec())),
                ]),
            ),
            ("services", CueValue::List(services.to_vec())),
        ];
        if let Some(name) = decisive {
            config.push(("exitWhenServiceExits", text(name)));
        }
        SystemManifest {
            schema_version: 1,
            binaries: vec![NamedBlob {
                name: "program".into(),
                data: b"the program itself".to_vec(),
            }],
            init_config: fields(&config),
            kernel_params: None,
            extension_points: None,
        }
        .to_capnp_bytes()
        .unwrap()
    }

    fn grants(bytes: &[u8]) -> Vec<(String, Grant)> {
        let plan = read(bytes).unwrap();
        plan.processes[0]
            .grants
            .iter()
            .map(|named| (named.name.clone(), named.grant))
            .collect()
    }

    #[test]
    fn reads_grants_in_order_with_their_bindings() {
        let bytes = package(
            &[
                cap("console", "console", 0),
                cap("ui_listener", "tcp_listen_authority", 1 << 16 | 8080),
                cap("ingress_public_slots=9", "endpoint", 0),
            ],
            &[],
            None,
        );
        let binding = ListenBinding::from_badge(1 << 16 | 8080).unwrap();
        assert_eq!(
            grants(&bytes),
            [
                ("console".into(), Grant::Object(Object::Console)),
                ("ui_listener".into(), Grant::Listen(binding)),
                ("ingress_public_slots=9".into(), Grant::Endpoint),
            ]
        );
        let plan = read(&bytes).unwrap();
        assert_eq!(plan.processes[0].file, b"the program itself");
        assert_eq!((plan.decisive, plan.log_level), (0, LogLevel::Info));
    }

    #[test]
    fn reads_services_and_which_one_decides() {
        let console = [cap("console", "console", 0)];
        let services = [
            service("first", &console, "never"),
            service("second", &console, "never"),
        ];
        let bytes = package(&console, &services, Some("second"));
        let plan = read(&bytes).unwrap();
        let names: Vec<_> = plan.processes.iter().map(|p| p.name.as_str()).collect();
        assert_eq!(names, ["program", "first", "second"]);
        assert_eq!(plan.decisive, 2);
    }

    #[test]
    fn refuses_sources_that_it_does_not_have() {
        let bytes = package(&[cap("spawner", "process_spawner", 0)], &[], None);
        assert!(matches!(
            read(&bytes),
            Err(BootError::UnsupportedSource { cap, cap_source, .. })
                if cap == "spawner" && cap_source == "process_spawner"
        ));
    }

    #[test]
    fn refuses_badges_that_are_no_binding() {
        let with_badge = |badge| package(&[cap("l", "tcp_listen_authority", badge)], &[], None);
        assert!(matches!(
            read(&with_badge(1 << 32 | 1 << 16 | 8080)),
            Err(BootError::ListenBadge { .. })
        ));
        // No port at all: the published validators see that.
        assert!(matches!(
            read(&with_badge(1 << 16)),
            Err(BootError::Manifest(_))
        ));
    }

    #[test]
    fn refuses_badges_on_sources_that_take_none() {
        let badged = [cap("console", "console", 0), cap("timer", "timer", 7)];
        let plain = [cap("console", "console", 0)];
        let as_init = package(&badged, &[], None);
        let as_service = package(&plain, &[service("s", &badged, "never")], None);
        for (bytes, process) in [(as_init, "program"), (as_service, "s")] {
            assert_eq!(
                read(&bytes).unwrap_err().to_string(),
                format!("{process}: cap `timer`: badge = 7: source `timer` takes none")
            );
        }
        let marker = [cap("ingress_public_slots=9", "endpoint", 1)];
        assert!(matches!(
            read(&package(&marker, &[], None)),
            Err(BootError::Unheeded { field: "badge", .. })
        ));
    }

    #[test]
    fn refuses_disclosure_that_nobody_makes() {
        let disclosing = fields(&[
            ("name", text("console")),
            ("source", fields(&[("kernel", text("console"))])),
            (
                "disclosureScope",
                CueValue::List(vec![text("principal_kind")]),
            ),
        ]);
        assert!(matches!(
            read(&package(&[disclosing], &[], None)),
            Err(BootError::Unheeded {
                field: "disclosureScope",
                ..
            })
        ));
    }

    #[test]
    fn refuses_bytes_after_the_message() {
        let mut bytes = package(&[cap("console", "console", 0)], &[], None);
        assert!(read(&bytes).is_ok());
        bytes.extend([0; 8]);
        assert_eq!(read(&bytes), Err(BootError::Trailing(8)));
    }

    #[test]
    fn refuses_restarts_and_crowds() {
        let console = [cap("console", "console", 0)];
        let bytes = package(&console, &[service("s", &console, "always")], None);
        assert_eq!(read(&bytes), Err(BootError::Restart("s".into())));
        let names: Vec<String> = (0..PROCESSES_MAX).map(|n| format!("s{n}")).collect();
        let crowd: Vec<_> = names
            .iter()
            .map(|name| service(name, &console, "never"))
            .collect();
        let bytes = package(&console, &crowd, None);
        assert_eq!(
            read(&bytes),
            Err(BootError::TooManyProcesses(PROCESSES_MAX + 1))
        );
    }

    #[test]
    fn refuses_what_the_published_validators_refuse() {
        let twice = [cap("console", "console", 0), cap("console", "console", 0)];
        assert!(matches!(
            read(&package(&twice, &[], None)),
            Err(BootError::Manifest(_))
        ));
        let unknown = [cap("console", "no_such_source", 0)];
        assert!(matches!(
            read(&package(&unknown, &[], None)),
            Err(BootError::Manifest(_))
        ));
    }

    #[test]
    fn survives_every_cut_and_any_changed_byte() {
        let whole = package(
            &[cap("l", "tcp_listen_authority", 1 << 16 | 80)],
            &[service("s", &[cap("console", "console", 0)], "never")],
            Some("s"),
        );
        for length in (0..whole.len()).step_by(8) {
            assert!(read(&whole[..length]).is_err());
        }
        for at in 0..whole.len() {
            for value in [0, 1, 0x7f, 0xff] {
                let mut changed = whole.clone();
                changed[at] = value;
                // Either answer is right; what must not happen is a panic.
                let _answer = read(&changed);
            }
        }
    }
}
