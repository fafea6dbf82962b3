//! What capabilities refer to. Each file here is one interface; this one tells
//! them apart.

pub(crate) mod console;
pub(crate) mod discriminator;
pub(crate) mod entropy;
pub(crate) mod listen;
pub(crate) mod log;
pub(crate) mod network_manager;
pub(crate) mod params;
pub(crate) mod socket;
pub(crate) mod system_info;
pub(crate) mod terminal;
pub(crate) mod timer;
pub(crate) mod wall_clock;

use capos_config::{
    CONSOLE_INTERFACE_ID, ENDPOINT_INTERFACE_ID, ENTROPY_SOURCE_INTERFACE_ID,
    LOG_SINK_INTERFACE_ID, NETWORK_MANAGER_INTERFACE_ID, SYSTEM_INFO_INTERFACE_ID,
    TCP_LISTEN_AUTHORITY_INTERFACE_ID, TCP_LISTENER_INTERFACE_ID, TCP_SOCKET_INTERFACE_ID,
    TERMINAL_SESSION_INTERFACE_ID, TIMER_INTERFACE_ID, WALL_CLOCK_INTERFACE_ID,
};
use harness_kernel::user_range::UserRange;
use harness_net::{ListenerId, SocketId};
use ingress_schema::CAP_DISCRIMINATOR_INTERFACE_ID;

use crate::kernel::Kernel;
use crate::process::ProcessIndex;
use crate::syscall::complete::{Raised, Reply, Ticket, complete};

/// An object, by kind and by which one of its kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Object {
    Console,
    Terminal,
    Timer,
    WallClock,
    Entropy,
    /// By its place among the authorities.
    ListenAuthority(u16),
    Listener(ListenerId),
    Socket(SocketId),
    NetworkManager,
    /// By the order of the grants.
    Endpoint(u16),
    SystemInfo,
    LogSink,
    Discriminator,
}

impl Object {
    /// The interface that a capability to the object has.
    pub(crate) const fn interface(self) -> u64 {
        match self {
            Self::Console => CONSOLE_INTERFACE_ID,
            Self::Terminal => TERMINAL_SESSION_INTERFACE_ID,
            Self::Timer => TIMER_INTERFACE_ID,
            Self::WallClock => WALL_CLOCK_INTERFACE_ID,
            Self::Entropy => ENTROPY_SOURCE_INTERFACE_ID,
            Self::ListenAuthority(_) => TCP_LISTEN_AUTHORITY_INTERFACE_ID,
            Self::Listener(_) => TCP_LISTENER_INTERFACE_ID,
            Self::Socket(_) => TCP_SOCKET_INTERFACE_ID,
            Self::NetworkManager => NETWORK_MANAGER_INTERFACE_ID,
            Self::Endpoint(_) => ENDPOINT_INTERFACE_ID,
            Self::SystemInfo => SYSTEM_INFO_INTERFACE_ID,
            Self::LogSink => LOG_SINK_INTERFACE_ID,
            Self::Discriminator => CAP_DISCRIMINATOR_INTERFACE_ID,
        }
    }

    /// A number that no other live object has; never zero.
    pub(crate) fn identity(self) -> u64 {
        let (kind, which) = match self {
            Self::Console => (1, 0),
            Self::Terminal => (2, 0),
            Self::Timer => (3, 0),
            Self::WallClock => (4, 0),
            Self::Entropy => (5, 0),
            Self::ListenAuthority(which) => (6, usize::from(which)),
            Self::Listener(id) => (7, id.index()),
            Self::Socket(id) => (8, id.index()),
            Self::NetworkManager => (9, 0),
            Self::Endpoint(which) => (10, usize::from(which)),
            Self::SystemInfo => (11, 0),
            Self::LogSink => (12, 0),
            Self::Discriminator => (13, 0),
        };
        (kind << 32) | which as u64
    }
}

/// A call whose buffers are checked.
#[derive(Clone, Copy)]
pub(crate) struct Call {
    /// Who asked, and where the answer goes.
    pub(crate) ticket: Ticket,
    /// Which method.
    pub(crate) method: u16,
    /// The parameters, if there are any.
    pub(crate) params: Option<UserRange>,
}

/// Calls a method: it is completed now, or pending with the object.
pub(crate) fn call(kernel: &mut Kernel, index: ProcessIndex, object: Object, call: Call) {
    match object {
        Object::Console => console::call(kernel, index, call),
        Object::Terminal => terminal::call(kernel, index, call),
        Object::Timer => timer::call(kernel, index, call),
        Object::WallClock => wall_clock::call(kernel, index, call),
        Object::Entropy => entropy::call(kernel, index, call),
        Object::ListenAuthority(which) => listen::call_authority(kernel, index, which, call),
        Object::Listener(id) => listen::call_listener(kernel, index, id, call),
        Object::Socket(id) => socket::call(kernel, index, id, call),
        Object::NetworkManager => network_manager::call(kernel, index, call),
        Object::Endpoint(_) => {
            answer(
                kernel,
                index,
                call.ticket,
                Reply::Raised(Raised::unimplemented()),
            );
        }
        Object::SystemInfo => system_info::call(kernel, index, call),
        Object::LogSink => log::call(kernel, index, call),
        Object::Discriminator => discriminator::call(kernel, index, call),
    }
}

/// Completes a call of process `index`.
pub(crate) fn answer(kernel: &mut Kernel, index: ProcessIndex, ticket: Ticket, reply: Reply<'_>) {
    if let Some(process) = kernel.process_mut(index) {
        complete(process, ticket, reply);
    }
}

/// Builds a message of at most 512 bytes for [`answer`].
pub(crate) struct SmallMessage {
    bytes: [u8; 512],
    length: usize,
}

impl SmallMessage {
    /// As `harness_kernel::message::encode`; what is too large is empty, and
    /// completes as a result without content.
    pub(crate) fn new(words: &[u64], blobs: &[harness_kernel::message::Blob<'_>]) -> Self {
        let mut bytes = [0; 512];
        let length = harness_kernel::message::encode(&mut bytes, words, blobs).unwrap_or(0);
        Self { bytes, length }
    }

    /// The message.
    pub(crate) fn bytes(&self) -> &[u8] {
        self.bytes.get(..self.length).unwrap_or(&[])
    }
}
