//! Links the kernel by its own layout.
fn main() {
    let root = std::env::var("CARGO_MANIFEST_DIR").unwrap_or_default();
    freestanding::build::link_binaries_with(&std::path::Path::new(&root).join("kernel.ld"));
}
