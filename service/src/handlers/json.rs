//! What the machine-readable bodies have in common.
//!
//! Every string in them is one of the program's own words, so that none needs escaping.

use crate::http::write::Text;
use crate::report::evidence::Evidence;

/// Their media type.
pub(crate) const JSON: &str = "application/json";

/// Opens an object with who speaks, and how long it has been up.
pub(crate) fn head(evidence: &Evidence, body: &mut Text<'_>) {
    body.text("{\"service\":\"remote-session-web-ui\",\"version\":\"")
        .text(env!("CARGO_PKG_VERSION"));
    body.text("\",\"state\":\"").text(evidence.state.word());
    body.text("\",\"uptime_ms\":")
        .number(evidence.uptime.as_millis());
}
