//! Links the capOS binary as a static image at the published user base.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=src/capos/image.ld");
    if std::env::var_os("CARGO_FEATURE_CAPOS").is_none() {
        return;
    }
    let Some(root) = std::env::var_os("CARGO_MANIFEST_DIR") else {
        panic!("cargo did not set CARGO_MANIFEST_DIR");
    };
    let root = std::path::PathBuf::from(root);
    for argument in [
        "-nostartfiles",
        "-nostdlib",
        "-static",
        "-no-pie",
        "-Wl,--build-id=none",
        "-Wl,-z,max-page-size=4096",
        "-Wl,--gc-sections",
    ] {
        println!("cargo:rustc-link-arg-bins={argument}");
    }
    println!(
        "cargo:rustc-link-arg-bins=-T{}",
        root.join("src/capos/image.ld").display()
    );
}
