//! Who answers, one file each. A route names its handler; nothing else does.
//!
//! A handler is a function of what was asked. It puts its answer into the reply, wants a job done
//! first and is entered again with the outcome, or lets the connection go on in another protocol. It
//! changes nothing: what is to change it says in the reply. No handler is entered before its request
//! was admitted and has a slot.

pub mod assets;
pub mod drain;
pub mod evidence;
pub mod file;
pub mod health;
pub mod ingress;
mod json;
pub mod options;
pub mod readiness;
pub mod status;

use crate::answer::reply::Reply;
use crate::connection::session::Protocol;
use crate::request::asked::Request;
use crate::request::job::Job;

/// Who answers a request.
pub type Handler = fn(&Request<'_>, &mut Reply<'_>) -> Verdict;

/// What a handler makes of a request.
#[derive(Debug, Clone, Copy)]
pub enum Verdict {
    /// The reply says all.
    Done,
    /// A job must be done first; what the reply says already is forgotten.
    Later(Job),
    /// The connection goes on in another protocol, once the client was told so.
    Upgrade(&'static Protocol),
}
