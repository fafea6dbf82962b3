//! harness-net.
