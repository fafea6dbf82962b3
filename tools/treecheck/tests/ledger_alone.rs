//! The ledger is taken by others: its folder builds inside another workspace, from git, and as
//! the package that cargo makes of it, each in a folder where nothing of this tree is near.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::{Path, PathBuf};
use std::process::Command;

use treecheck::{read, root};

/// What a stranger writes: a crate that uses the ledger on a machine with nothing but a core.
const CONSUMER: &str = "//! A consumer.\n#![no_std]\n\
    pub use ingress_ledger::{ConnectionPermits, IngressLedger, PerIdentityChannelPolicy};\n";

/// A folder of its own outside of the tree, removed when the value goes.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("ledger-alone-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.0.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    /// A crate that depends on the ledger as `dependency` says, in a workspace with an edition
    /// of its own, which a ledger that inherits would take or fail to find.
    fn consumer(&self, dependency: &str) {
        self.write(
            "Cargo.toml",
            &format!(
                "[workspace]\nmembers = [\"consumer\"]\nresolver = \"2\"\n\
                 [workspace.package]\nedition = \"2018\"\n\
                 [workspace.dependencies]\ningress-ledger = {dependency}\n"
            ),
        );
        self.write(
            "consumer/Cargo.toml",
            "[package]\nname = \"consumer\"\nversion = \"0.0.0\"\nedition.workspace = true\n\
             [dependencies]\ningress-ledger.workspace = true\n",
        );
        self.write("consumer/src/lib.rs", CONSUMER);
        // Tests' dependencies of a ledger inside the workspace are resolved, too: as here, for
        // nothing is asked of a registry.
        self.write("Cargo.lock", &read("Cargo.lock"));
    }

    fn run(&self, program: &str, arguments: &[&str]) {
        let mut command = Command::new(program);
        for (name, _) in std::env::vars_os() {
            // What a build hands on to its tests is not a stranger's.
            let name_text = name.to_string_lossy();
            if name_text.starts_with("CARGO_") && name_text != "CARGO_HOME"
                || name_text.starts_with("GIT_")
            {
                command.env_remove(&name);
            }
        }
        let output = command
            .args(arguments)
            .current_dir(&self.0)
            .env("CARGO_TARGET_DIR", self.0.join("target"))
            .env("RUSTFLAGS", "-D warnings")
            .output()
            .unwrap_or_else(|error| panic!("{program}: {error}"));
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(
            output.status.success(),
            "{program} {arguments:?}:\n{stderr}"
        );
    }

    fn cargo(&self, arguments: &[&str]) {
        self.run(env!("CARGO"), arguments);
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What stays behind in the temporary folder harms no test.
        drop(std::fs::remove_dir_all(&self.0));
    }
}

/// Copies a folder, without what was built in it; a link becomes what it leads to.
fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name();
        if name == "target" {
            continue;
        }
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &to.join(name));
        } else {
            std::fs::copy(entry.path(), to.join(name)).unwrap();
        }
    }
}

#[test]
fn it_builds_by_path_inside_another_workspace() {
    let folder = Folder::new("path");
    copy(&root().join("ledger"), &folder.0.join("vendor/ledger"));
    folder.consumer("{ path = \"vendor/ledger\" }");
    folder.cargo(&["build", "--offline"]);
}

#[test]
fn it_builds_from_git() {
    let folder = Folder::new("git");
    let source = Folder::new("git-source");
    copy(&root().join("ledger"), &source.0);
    source.run("git", &["init", "--quiet"]);
    source.run("git", &["add", "--all"]);
    let identity = ["-c", "user.name=a", "-c", "user.email=a@b.example"];
    let commit = ["commit", "--quiet", "--no-gpg-sign", "--message=ledger"];
    source.run("git", &[identity.as_slice(), commit.as_slice()].concat());
    let url = format!("{{ git = \"file://{}\" }}", source.0.display());
    folder.consumer(&url);
    folder.cargo(&["build"]);
}

#[test]
fn it_builds_as_the_package_that_cargo_makes_of_it() {
    let folder = Folder::new("package");
    copy(&root().join("ledger"), &folder.0.join("ledger"));
    folder.write("ledger/Cargo.lock", &read("Cargo.lock"));
    let manifest = folder.0.join("ledger/Cargo.toml");
    let manifest = manifest.to_str().unwrap();
    folder.cargo(&[
        "package",
        "--offline",
        "--allow-dirty",
        "--manifest-path",
        manifest,
    ]);
    let made = folder.0.join("target/package/ingress-ledger-0.1.0");
    for text in ["README.md", "LICENSE-MIT", "LICENSE-APACHE"] {
        assert!(made.join(text).is_file(), "the package has no {text}");
    }
    folder.consumer("{ path = \"target/package/ingress-ledger-0.1.0\" }");
    folder.cargo(&["build", "--offline"]);
}

/// What stands in both manifests, for the ledger's own is whole, is the same in both.
#[test]
fn its_manifest_says_what_the_workspaces_does() {
    let workspace: toml::Table = read("Cargo.toml").parse().unwrap();
    let ledger: toml::Table = read("ledger/Cargo.toml").parse().unwrap();
    let workspace = &workspace["workspace"];
    assert_eq!(ledger["lints"], workspace["lints"]);
    for key in ["version", "edition", "rust-version", "license", "publish"] {
        assert_eq!(ledger["package"][key], workspace["package"][key], "{key}");
    }
    for (name, dependency) in ledger["dev-dependencies"].as_table().unwrap() {
        if let Some(theirs) = workspace["dependencies"].get(name) {
            assert_eq!(dependency, theirs, "{name}");
        }
    }
    assert!(ledger["dependencies"].as_table().unwrap().is_empty());
}
