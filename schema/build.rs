//! Compiles the schema with the `capnp` compiler; generated code is not kept.

use std::path::Path;
use std::process::{Command, Stdio};

const SCHEMAS: [&str; 2] = ["discriminator.capnp", "evidence.capnp"];

/// Where the bindings of the only interface begin.
const INTERFACE_MODULE: &str = "pub mod cap_discriminator {\n    #![allow(unused_variables)]\n";

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-env-changed=PATH");
    for schema in SCHEMAS {
        println!("cargo:rerun-if-changed={schema}");
    }
    if let Err(reason) = compile() {
        eprintln!("ingress-schema: {reason}");
        std::process::exit(1);
    }
}

fn compile() -> Result<(), String> {
    let version = Command::new("capnp")
        .arg("--version")
        .stdout(Stdio::null())
        .status();
    match version {
        Ok(status) if status.success() => {}
        Ok(status) => return Err(format!("`capnp --version` failed: {status}")),
        Err(error) => {
            return Err(format!(
                "the Cap'n Proto compiler `capnp` cannot be run ({error}); \
                 install it with `apt-get install capnproto`, or run `make setup`"
            ));
        }
    }
    let mut command = capnpc::CompilerCommand::new();
    command.default_parent_module(vec!["generated".into()]);
    for schema in SCHEMAS {
        command.file(Path::new(schema));
    }
    command
        .run()
        .map_err(|error| format!("the schema does not compile: {error}"))?;
    import_alloc("discriminator_capnp.rs", INTERFACE_MODULE)
}

/// Gives a generated interface module what `std`'s prelude would have given it:
/// `capnpc` names `Box` and `to_string` bare there, and the crate is `no_std`.
fn import_alloc(file: &str, module: &str) -> Result<(), String> {
    let out = std::env::var_os("OUT_DIR").ok_or("OUT_DIR is not set")?;
    let path = Path::new(&out).join(file);
    let code = std::fs::read_to_string(&path).map_err(|error| format!("{file}: {error}"))?;
    if code.matches(module).count() != 1 {
        return Err(format!(
            "{file}: capnpc no longer writes {module:?} exactly once"
        ));
    }
    let imports = format!("{module}    use alloc::{{boxed::Box, string::ToString}};\n");
    std::fs::write(&path, code.replacen(module, &imports, 1))
        .map_err(|error| format!("{file}: {error}"))
}
