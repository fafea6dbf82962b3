//! Links the capOS binary as a static user program; hosted targets as usual.

fn main() {
    freestanding::build::link_user_program(Some("capos"));
}
