//! Links the guest program; the hosted targets link as usual.
fn main() {
    freestanding::build::link_user_program(Some("guest"));
}
