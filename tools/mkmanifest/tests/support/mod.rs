//! A valid manifest to break, the shipped manifests, and a program small enough to pack.

use std::path::{Path, PathBuf};

use mkmanifest::{LaneRules, Manifest, check_manifest, parse};

/// A valid manifest of three lanes; tests replace one part of it.
pub(crate) const VALID: &str = r#"
[system]
hostname = "ingress"
log_level = "info"
exit_when_service_exits = "probe"
admin_transports = ["nic3"]

[init]
binary = "remote-session-web-ui"

[init.caps]
console = "console"
timer = "timer"
ui_listener = { source = "tcp_listen_authority", transport = "nic1", port = 8080 }
ui_provider_health_listener = { source = "tcp_listen_authority", transport = "nic2", port = 8081 }
ui_local_listener = { source = "tcp_listen_authority", transport = "loopback", port = 8082 }

[init.policy.total]
slots = 40

[init.policy.local]
reserve = 4
rate = 5
burst = 10

[[service]]
name = "probe"
binary = "ingress-probe"

[service.caps]
console = "console"
network = "network_manager"
"#;

/// [`VALID`] with one part replaced; the part must be there.
pub(crate) fn with(part: &str, replacement: &str) -> String {
    assert!(VALID.contains(part), "the valid manifest has no `{part}`");
    VALID.replacen(part, replacement, 1)
}

/// Reads and checks a manifest from memory.
pub(crate) fn check(text: &str) -> Result<Manifest, String> {
    let file = Path::new("x.toml");
    let manifest = parse(file, text).map_err(|error| error.to_string())?;
    check_manifest(&manifest, LaneRules::Checked).map_err(|error| error.to_string())?;
    Ok(manifest)
}

pub(crate) fn refusal(text: &str) -> String {
    match check(text) {
        Ok(_) => panic!("this manifest was accepted:\n{text}"),
        Err(refusal) => refusal,
    }
}

/// The refusal of a manifest says all of this.
pub(crate) fn assert_refused(text: &str, parts: &[&str]) {
    let refusal = refusal(text);
    for part in parts {
        assert!(refusal.contains(part), "no `{part}` in: {refusal}");
    }
}

/// A manifest that is shipped.
pub(crate) fn shipped(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../manifests")
        .join(name)
}

/// An ELF program of one segment, followed by bytes that nothing loads.
pub(crate) fn program(fill: u8) -> Vec<u8> {
    let mut elf = Vec::new();
    elf.extend(b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0");
    elf.extend(2u16.to_le_bytes()); // e_type: executable
    elf.extend(62u16.to_le_bytes()); // e_machine: x86-64
    elf.extend(1u32.to_le_bytes()); // e_version
    elf.extend(0x20_0000u64.to_le_bytes()); // e_entry
    elf.extend(64u64.to_le_bytes()); // e_phoff
    elf.extend(0x1100u64.to_le_bytes()); // e_shoff: in what is cut off
    elf.extend(0u32.to_le_bytes()); // e_flags
    for half in [64u16, 56, 1, 64, 3, 2] {
        elf.extend(half.to_le_bytes()); // sizes and counts of the tables
    }
    elf.extend(1u32.to_le_bytes()); // p_type: load
    elf.extend(5u32.to_le_bytes()); // p_flags: read, execute
    for word in [0x1000u64, 0x20_0000, 0x20_0000, 16, 16, 0x1000] {
        elf.extend(word.to_le_bytes()); // offset, addresses, sizes, alignment
    }
    elf.resize(0x1000, 0);
    elf.resize(0x1010, fill);
    elf.resize(0x2000, 0xee);
    elf
}

/// A directory of its own, removed when the value goes.
pub(crate) struct Directory(PathBuf);

impl Directory {
    pub(crate) fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("mkmanifest-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).expect("a temporary directory can be made");
        Self(path)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    pub(crate) fn write(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.0.join(name);
        std::fs::write(&path, bytes).expect("a temporary file can be written");
        path
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        // A directory that stays behind in the temporary folder harms no test.
        drop(std::fs::remove_dir_all(&self.0));
    }
}
