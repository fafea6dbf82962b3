//! Links the probe as a static user program.

fn main() {
    freestanding::build::link_user_program(None);
}
