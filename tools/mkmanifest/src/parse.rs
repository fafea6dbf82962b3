//! Reads a manifest's TOML into the model; unknown fields and words are refused here.

use std::collections::HashSet;
use std::path::Path;

use capos_config::manifest::FromCueValue;
use capos_config::{CueValue, KernelCapSource, LogLevel};
use ingress_schema::listen::Transport;
use toml::de::DeTable;

use crate::error::{Fault, ManifestError};
use crate::files::{MANIFEST_BYTES_MAX, read_bounded};
use crate::location::{At, Lines, Location};
use crate::model::{Grant, GrantKind, Manifest, Marker, Process, Service, System};
use crate::reader::{Refused, Table, Value};

/// Reads one manifest file.
///
/// # Errors
/// The file cannot be read, has more than [`MANIFEST_BYTES_MAX`] bytes, is not TOML, or has a field, type or word that the
/// format does not know.
pub fn read(file: &Path) -> Result<Manifest, ManifestError> {
    let bytes = read_bounded(file, MANIFEST_BYTES_MAX)
        .map_err(|fault| ManifestError::whole(file, fault))?;
    let text = String::from_utf8(bytes).map_err(|_| {
        let fault = Fault::Syntax {
            message: "it is not text in UTF-8".into(),
        };
        ManifestError::whole(file, fault)
    })?;
    parse(file, &text)
}

/// Reads one manifest from memory; `file` is its name in errors.
///
/// # Errors
/// As [`read`], less those of the file system.
pub fn parse(file: &Path, text: &str) -> Result<Manifest, ManifestError> {
    let lines = Lines::of(text);
    let root = DeTable::parse(text).map_err(|error| ManifestError {
        file: file.to_owned(),
        at: error.span().map(|span| Location {
            line: lines.line_of(span.start),
            field: String::new(),
        }),
        fault: Box::new(Fault::Syntax {
            message: error.message().to_owned(),
        }),
    })?;
    manifest(file, Table::root(&lines, root.get_ref())).map_err(|refused| refused.of(file))
}

fn manifest(file: &Path, mut root: Table<'_>) -> Result<Manifest, Refused> {
    let system = match root.take("system") {
        Some(table) => system(table.table()?)?,
        None => System::default(),
    };
    let mut init_table = root.require("init")?.table()?;
    let binary = name(&init_table.require("binary")?)?;
    let grants = grants(init_table.take("caps"))?;
    let markers = policy(init_table.take("policy"))?;
    init_table.finish("binary, caps, policy")?;
    let services = match root.take("service") {
        Some(list) => list.list()?.iter().map(service).collect::<Result<_, _>>()?,
        None => Vec::new(),
    };
    root.finish("system, init, service")?;
    Ok(Manifest {
        file: file.to_owned(),
        system,
        init: Process { binary, grants },
        markers,
        services,
    })
}

impl Default for System {
    fn default() -> Self {
        Self {
            hostname: String::new(),
            motd: String::new(),
            log_level: LogLevel::Info,
            exit_when_service_exits: None,
            admin_transports: Vec::new(),
        }
    }
}

fn system(mut table: Table<'_>) -> Result<System, Refused> {
    let mut system = System::default();
    if let Some(value) = table.take("hostname") {
        system.hostname = value.string()?.value;
    }
    if let Some(value) = table.take("motd") {
        system.motd = value.string()?.value;
    }
    if let Some(value) = table.take("log_level") {
        system.log_level = log_level(&value)?;
    }
    if let Some(value) = table.take("exit_when_service_exits") {
        system.exit_when_service_exits = Some(value.string()?);
    }
    if let Some(value) = table.take("admin_transports") {
        system.admin_transports = admin_transports(&value)?;
    }
    table.finish("hostname, motd, log_level, exit_when_service_exits, admin_transports")?;
    Ok(system)
}

fn admin_transports(value: &Value<'_>) -> Result<Vec<Transport>, Refused> {
    let mut seen = HashSet::new();
    let mut transports = Vec::new();
    for element in value.list()? {
        let transport = transport(&element)?.value;
        if !seen.insert(transport) {
            let word = transport.to_string();
            return Err(element.refuse(Fault::Repeated { word }));
        }
        transports.push(transport);
    }
    Ok(transports)
}

fn log_level(value: &Value<'_>) -> Result<LogLevel, Refused> {
    let word = value.string()?.value;
    LogLevel::from_cue_value(&CueValue::text(word.as_str())).map_err(|_| {
        value.refuse(Fault::UnknownWord {
            found: word,
            expected: "debug, info, warn, error".into(),
        })
    })
}

fn service(value: &Value<'_>) -> Result<Service, Refused> {
    let mut table = value.table()?;
    let service = name(&table.require("name")?)?;
    let binary = name(&table.require("binary")?)?;
    let grants = grants(table.take("caps"))?;
    table.finish("name, binary, caps")?;
    Ok(Service {
        name: service,
        process: Process { binary, grants },
    })
}

/// A name of a process or a binary: it stands in the kernel's own lines.
fn name(value: &Value<'_>) -> Result<At<String>, Refused> {
    let name = value.string()?;
    if name.value.is_empty() || !name.value.bytes().all(|byte| byte.is_ascii_graphic()) {
        let name = name.value;
        return Err(value.refuse(Fault::NameNotPrintable { name }));
    }
    if name.value.contains('/') || matches!(name.value.as_str(), "." | "..") {
        let name = name.value;
        return Err(value.refuse(Fault::NameIsPath { name }));
    }
    Ok(name)
}

fn grants(caps: Option<Value<'_>>) -> Result<Vec<Grant>, Refused> {
    let Some(caps) = caps else {
        return Ok(Vec::new());
    };
    caps.table()?
        .into_entries()
        .into_iter()
        .map(|(name, value)| grant(name, &value))
        .collect()
}

/// `name = "source"`, or `name = { source = "...", ... }`.
fn grant(name: String, value: &Value<'_>) -> Result<Grant, Refused> {
    let at = value.at().clone();
    if value.as_str().is_some() {
        let source = source(value)?;
        if source == KernelCapSource::TcpListenAuthority {
            // A bare authority would listen anywhere; its binding must be said.
            let field = format!("{}.transport", at.field);
            return Err(Refused::new(Location { field, ..at }, Fault::MissingField));
        }
        let kind = GrantKind::Object(source);
        return Ok(Grant { name, at, kind });
    }
    let mut table = value.table()?;
    let source = source(&table.require("source")?)?;
    let kind = if source == KernelCapSource::TcpListenAuthority {
        let transport = transport(&table.require("transport")?)?;
        let port = table.require("port")?.port()?;
        table.finish("source, transport, port")?;
        GrantKind::Listen { transport, port }
    } else {
        for binding in ["transport", "port"] {
            if let Some(field) = table.take(binding) {
                let source = source.to_string();
                return Err(field.refuse(Fault::BindingOnOtherSource { source }));
            }
        }
        table.finish("source")?;
        GrantKind::Object(source)
    };
    Ok(Grant { name, at, kind })
}

fn source(value: &Value<'_>) -> Result<KernelCapSource, Refused> {
    let word = value.string()?.value;
    KernelCapSource::from_cue_value(&CueValue::text(word.as_str())).map_err(|_| {
        value.refuse(Fault::UnknownWord {
            found: word,
            expected: "the published kernel capability sources, as `console`, `timer`, \
                       `tcp_listen_authority`, `network_manager`"
                .into(),
        })
    })
}

fn transport(value: &Value<'_>) -> Result<At<Transport>, Refused> {
    let word = value.string()?.value;
    word.parse()
        .map(|transport| value.with(transport))
        .map_err(|_| {
            value.refuse(Fault::UnknownWord {
                found: word,
                expected: "loopback, nic1, nic2, ... in PCI order".into(),
            })
        })
}

/// `[init.policy.<lane>]` with `field = number` or `field = "word"`.
///
/// Which lanes, fields and words there are is the service's own knowledge; its
/// marker grammar judges the names that are made here.
fn policy(value: Option<Value<'_>>) -> Result<Vec<Marker>, Refused> {
    let mut markers = Vec::new();
    let Some(value) = value else {
        return Ok(markers);
    };
    for (lane, fields) in value.table()?.into_entries() {
        for (field, value) in fields.table()?.into_entries() {
            let said = match value.as_str() {
                Some(word) => word.to_owned(),
                None => value.number()?.value.to_string(),
            };
            markers.push(Marker {
                name: format!("ingress_{lane}_{field}={said}"),
                at: value.at().clone(),
            });
        }
    }
    Ok(markers)
}
