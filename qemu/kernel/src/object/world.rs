//! What objects act upon, and who calls them.

use alloc::string::String;
use alloc::vec::Vec;

use capos_config::LogLevel;
use ingress_schema::listen::ListenBinding;

use super::reader::Terminal;
use crate::call::reply::Raised;
use crate::call::scratch::Params;
use crate::call::ticket::{Call, ProcessIndex, Ticket};
use crate::platform::Platform;
use crate::process::state::Process;
use crate::request::Message;
use crate::sockets::network::Network;
use crate::user_space::UserSpace;

/// What the boot package says about the system itself.
#[derive(Clone, Debug)]
pub struct SystemFacts {
    /// Message of the day.
    pub motd: String,
    /// Host name.
    pub hostname: String,
    /// Least level that the log takes.
    pub log_level: LogLevel,
}

/// Everything that objects are, but processes.
pub struct World<P: Platform> {
    /// The machine.
    pub platform: P,
    /// The network and what waits for it.
    pub network: Network<P::Stack>,
    /// The terminal and who reads it.
    pub terminal: Terminal,
    /// One authority for each distinct binding.
    pub authorities: Vec<ListenBinding>,
    /// What the boot package says.
    pub facts: SystemFacts,
}

impl<P: Platform> World<P> {
    /// Gives network and terminal their turn.
    pub fn poll(&mut self) {
        self.network.poll(|| self.platform.now());
        self.terminal.poll(&mut self.platform);
    }

    /// Forgets what process `index`, which has ended, waited for and listened on.
    /// Its connections go a part in each turn (`Network::forget_some`).
    pub fn forget(&mut self, index: ProcessIndex) {
        self.terminal.forget(index);
        self.network.forget_listeners(index);
    }
}

/// Who calls, and where what it brought is read.
pub struct Caller<'k, S> {
    /// The process.
    pub process: &'k mut Process<S>,
    /// Memory for parameters.
    pub params: &'k mut Params,
}

impl<S: UserSpace> Caller<'_, S> {
    /// Runs `body` on the parameters of `call`; see [`Params::with`].
    ///
    /// # Errors
    /// When they are not the method's.
    pub fn with<M, R>(
        &mut self,
        call: &Call<M>,
        body: impl FnOnce(&Message<'_>) -> capnp::Result<R>,
    ) -> Result<R, Raised> {
        self.params.with(&self.process.space, call, body)
    }
}

/// Checks that a new capability can be given and told of, before anything is
/// taken for it.
///
/// # Errors
/// When the table is full, or the result buffer too small for a message of
/// `message_bytes` and the capability.
pub fn check_room<S>(
    process: &Process<S>,
    ticket: &Ticket,
    message_bytes: u32,
) -> Result<(), Raised> {
    if !process.caps.has_room() {
        return Err(Raised::overloaded("the capability table is full"));
    }
    if !ticket.fits_with_cap(message_bytes) {
        return Err(Raised::invalid(
            "the result buffer is too small for a capability",
        ));
    }
    Ok(())
}
