//! remote-session-web-ui.
#![no_std]

pub mod wire;
