//! Clients that load a lane, each bounded in count and in time.

pub(crate) mod account;
pub(crate) mod background;
pub(crate) mod beside;
pub(crate) mod busy;
pub(crate) mod flood;
pub(crate) mod going;
pub(crate) mod lossy;
pub(crate) mod prober;
pub(crate) mod quantiles;
pub(crate) mod sampler;
pub(crate) mod slow;
pub(crate) mod storm;
pub(crate) mod table;
pub(crate) mod watch;
