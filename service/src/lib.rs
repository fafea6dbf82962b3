//! remote-session-web-ui.
