//! Operator policy: markers in, a validated profile and phase deadlines out.
//!
//! A marker is the name of an inert grant, `ingress_<scope>_<field>=<decimal>`, of at most
//! [`MARKER_NAME_MAX`] bytes. `marker` reads one name; `set` collects them and refuses what does not
//! fit together; `resolve` lays them over the defaults, cuts the result to the structural maxima and
//! validates it; `readback` prints what came out.
//!
//! | scope | is about |
//! |---|---|
//! | `total` | all lanes together |
//! | `public` | [`Lane::Anonymous`](ingress_ledger::Lane::Anonymous), granted as `ui_listener` |
//! | `local` | [`Lane::LocalHealth`](ingress_ledger::Lane::LocalHealth), granted as `ui_local_listener` |
//! | `provider` | [`Lane::ProviderHealth`](ingress_ledger::Lane::ProviderHealth), granted as `ui_provider_health_listener` |
//!
//! | field | scopes | meaning |
//! |---|---|---|
//! | `slots` | all | requests served at once |
//! | `reserve` | local, provider | slots that only this lane can hold |
//! | `queue` | lanes | admitted requests that may wait for a slot |
//! | `conns` | all | connections at once |
//! | `conn_reserve` | local, provider | connections that only this lane can hold |
//! | `refusals` | lanes | refused connections that may be answered at once |
//! | `per_conn` | lanes | requests outstanding on one connection |
//! | `bytes` | total | bytes held by outstanding requests |
//! | `rate`, `burst` | lanes | requests a second in the long run, and at once |
//! | `accept_rate`, `accept_burst` | lanes | connections a second in the long run, and at once |
//! | `deadline_ms` or `deadline_s` | lanes | longest time from admission to the end of a request |
//! | `head_ms`, `body_ms`, `write_ms`, `idle_ms` | lanes | longest time to receive a head, to receive a body, to send an answer, and between requests |
//! | `refusal_ms` | total | longest time to answer a refused connection |
//! | `drain_ms` | total | how long a drained service still takes public connections |
//!
//! `ingress_local_rate=exempt` frees the local lane of its rates; only on a loopback listener.

mod defaults;
mod marker;
mod readback;
mod resolve;
mod set;

pub(crate) use defaults::{DEFAULT_LIMITS, TICKETS};
pub use defaults::{DRAIN_MAX, STRUCTURAL_CONNECTIONS, STRUCTURAL_SLOTS, structural_maxima};
pub use marker::{
    Field, MARKER_NAME_MAX, MARKER_PREFIX, Marker, MarkerFault, MarkerName, Scope, Value,
};
pub use resolve::{Policy, PolicyError, resolve};
pub use set::{MarkerError, MarkerSet};
