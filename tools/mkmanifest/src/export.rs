//! Prints a manifest as JSON, which is valid CUE, so that a capOS tree can take it over.
//!
//! A listen grant's badge is written as the published schema has it, the port
//! alone; its transport stands beside it under a name that the published
//! reader does not look at.

use std::fmt::Write;

use capos_config::CueValue;
use serde_json::{Map, Value};

use crate::binaries::{Binaries, Images};
use crate::error::{Fault, ManifestError};
use crate::model::Manifest;
use crate::tree::{self, BinaryEntry, BindingForm};

/// The manifest as JSON; with `binaries`, their bytes as `hex:` text.
///
/// # Errors
/// A binary is missing or cannot be loaded.
pub fn export(manifest: &Manifest, binaries: Option<&Binaries>) -> Result<String, ManifestError> {
    let mut entries = Vec::new();
    for name in tree::binary_names(manifest) {
        let data = match binaries {
            None => None,
            Some(binaries) => {
                let bytes = binaries
                    .load(name, Images::Loadable)
                    .map_err(|refused| refused.of(&manifest.file))?;
                Some(CueValue::text(hex(&bytes)))
            }
        };
        let name = name.value.clone();
        entries.push(BinaryEntry { name, data });
    }
    let root = tree::root(manifest, entries, BindingForm::Published);
    serde_json::to_string_pretty(&json(&root))
        .map(|text| text + "\n")
        .map_err(|error| {
            ManifestError::whole(&manifest.file, Fault::from(std::io::Error::from(error)))
        })
}

fn json(value: &CueValue) -> Value {
    match value {
        CueValue::Null => Value::Null,
        CueValue::Bool(value) => Value::from(*value),
        CueValue::Int(value) => Value::from(*value),
        CueValue::UInt(value) => Value::from(*value),
        CueValue::Text(text) => Value::from(text.as_str()),
        CueValue::Bytes(bytes) => Value::from(hex(bytes)),
        CueValue::List(values) => values.iter().map(json).collect(),
        CueValue::Struct(fields) => {
            let mut map = Map::new();
            for field in fields {
                map.insert(field.name.clone(), json(&field.value));
            }
            Value::Object(map)
        }
    }
}

/// Bytes in the published text form.
fn hex(bytes: &[u8]) -> String {
    let mut text = String::from("hex:");
    for byte in bytes {
        // Writing to a String cannot fail.
        if write!(text, "{byte:02x}").is_err() {
            break;
        }
    }
    text
}
