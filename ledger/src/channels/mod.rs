//! Channels: how many channels one identity may have open (keeps C1: an identity's channels
//! are counted over all its connections, on all threads; C2: a channel is counted from before its allocation
//! until after its drain, once).
//!
//! ```text
//!   open:   access control -> policy.check_open -> allocate id, or policy.on_close
//!   close:  stop -> drain -> policy.on_close -> the id may be reused
//! ```
//! The bound of a connection protects memory; the cap of an identity protects the service,
//! since a peer may have any number of connections. Both answer with the same error.
//!
//! The identity is the direct caller's. Whom it forwards for is metadata, and metadata is
//! never asked: a relay is counted as itself, and its cap is set to what it relays.

mod error;
mod identity;
mod lock;
mod manager;
mod operations;
mod policy;
mod table;

pub use error::{ChannelError, CloseError, PolicyError};
pub use identity::Identity;
pub use manager::{ChannelId, ChannelManager, Channels};
pub use operations::{Access, ChannelOperations, OperationContext};
pub use policy::{
    CHANNELS_PER_CONNECTION, CHANNELS_PER_IDENTITY, ChannelLifecyclePolicy, NoCap,
    PerIdentityChannelPolicy, PolicyEvidence,
};
