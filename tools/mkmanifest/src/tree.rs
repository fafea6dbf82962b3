//! Turns a manifest into the one tree that packages and exports are both made of.

use capos_config::{CueField, CueValue, SYSTEM_MANIFEST_SCHEMA_VERSION};
use ingress_schema::listen::ListenBinding;

use crate::model::{Grant, GrantKind, Manifest, Process};

/// How a listen grant's binding is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BindingForm {
    /// `badge = transport << 16 | port`, as the harness kernel reads it.
    Badge,
    /// `badge = port`, which is all that the published validators allow, and
    /// the transport as a word beside it.
    Published,
}

/// A binary of the tree: its name, and its bytes or text where it has any.
pub(crate) struct BinaryEntry {
    pub(crate) name: String,
    /// Bytes, or text in the published `hex:` form.
    pub(crate) data: Option<CueValue>,
}

/// The whole manifest, as `SystemManifest::from_cue_value` takes it.
pub(crate) fn root(manifest: &Manifest, binaries: Vec<BinaryEntry>, form: BindingForm) -> CueValue {
    let binaries: Vec<CueValue> = binaries
        .into_iter()
        .map(|binary| {
            let mut fields = vec![field("name", text(&binary.name))];
            fields.extend(binary.data.map(|data| field("data", data)));
            CueValue::struct_(fields)
        })
        .collect();
    CueValue::struct_(vec![
        field(
            "schemaVersion",
            CueValue::UInt(u64::from(SYSTEM_MANIFEST_SCHEMA_VERSION)),
        ),
        field("binaries", CueValue::list(binaries)),
        field("initConfig", init_config(manifest, form)),
        field("kernelParams", kernel_params(manifest)),
    ])
}

/// Names of the binaries that some process runs, each once, in order of launch.
pub(crate) fn binary_names(manifest: &Manifest) -> Vec<&crate::At<String>> {
    let mut names: Vec<&crate::At<String>> = vec![&manifest.init.binary];
    for service in &manifest.services {
        let binary = &service.process.binary;
        if !names.iter().any(|name| name.value == binary.value) {
            names.push(binary);
        }
    }
    names
}

fn init_config(manifest: &Manifest, form: BindingForm) -> CueValue {
    let mut caps = caps(&manifest.init, form);
    caps.extend(manifest.markers.iter().map(|marker| {
        let source = CueValue::struct_(vec![field("kernel", text("endpoint"))]);
        CueValue::struct_(vec![
            field("name", text(&marker.name)),
            field("source", source),
        ])
    }));
    let init = CueValue::struct_(vec![
        field("binary", text(&manifest.init.binary.value)),
        field("caps", CueValue::list(caps)),
    ]);
    let services: Vec<CueValue> = manifest
        .services
        .iter()
        .map(|service| {
            CueValue::struct_(vec![
                field("name", text(&service.name.value)),
                field("binary", text(&service.process.binary.value)),
                field("caps", CueValue::list(self::caps(&service.process, form))),
            ])
        })
        .collect();
    let mut fields = vec![
        field("init", init),
        field("services", CueValue::list(services)),
    ];
    if let Some(name) = &manifest.system.exit_when_service_exits {
        fields.push(field("exitWhenServiceExits", text(&name.value)));
    }
    CueValue::struct_(fields)
}

fn caps(process: &Process, form: BindingForm) -> Vec<CueValue> {
    process
        .grants
        .iter()
        .map(|grant| cap(grant, form))
        .collect()
}

fn cap(grant: &Grant, form: BindingForm) -> CueValue {
    let source = CueValue::struct_(vec![field("kernel", text(&grant.source().to_string()))]);
    let mut fields = vec![field("name", text(&grant.name)), field("source", source)];
    match &grant.kind {
        GrantKind::Object(_) => {}
        GrantKind::Listen { transport, port } => {
            let binding = ListenBinding::new(transport.value, port.value);
            match form {
                BindingForm::Badge => fields.push(field("badge", CueValue::UInt(binding.badge()))),
                BindingForm::Published => {
                    fields.push(field("badge", CueValue::UInt(binding.port_badge())));
                    fields.push(field("transport", text(&transport.value.to_string())));
                }
            }
        }
    }
    CueValue::struct_(fields)
}

fn kernel_params(manifest: &Manifest) -> CueValue {
    let system = &manifest.system;
    CueValue::struct_(vec![
        field("logLevel", text(&system.log_level.to_string())),
        field("hostname", text(&system.hostname)),
        field("motd", text(&system.motd)),
    ])
}

fn field(name: &str, value: CueValue) -> CueField {
    CueField::new(name, value)
}

fn text(text: &str) -> CueValue {
    CueValue::text(text)
}
