//! Every kind of object, one row each.
//!
//! | column | |
//! |---|---|
//! | kind | how [`Object`] names it, with what tells several of one kind apart |
//! | `from` | the manifest's source that grants it; none if only calls make it |
//! | `is` | the interface that a capability to it has |
//! | `in` | the file in `object/` that has its `Method` and its `call` |
//!
//! The table stands in the lowest layer, since processes hold objects by name; it
//! is a macro, since what the last column leads to is known to a higher one alone
//! (`object/dispatch.rs`).

use capos_config::{
    CONSOLE_INTERFACE_ID, ENDPOINT_INTERFACE_ID, ENTROPY_SOURCE_INTERFACE_ID, KernelCapSource,
    LOG_SINK_INTERFACE_ID, NETWORK_MANAGER_INTERFACE_ID, SYSTEM_INFO_INTERFACE_ID,
    TCP_LISTEN_AUTHORITY_INTERFACE_ID, TCP_LISTENER_INTERFACE_ID, TCP_SOCKET_INTERFACE_ID,
    TERMINAL_SESSION_INTERFACE_ID, TIMER_INTERFACE_ID, WALL_CLOCK_INTERFACE_ID,
};
use harness_net::{ListenerId, SocketId};
use ingress_schema::CAP_DISCRIMINATOR_INTERFACE_ID;

/// Hands the table to the macro `$consumer`.
macro_rules! kinds {
    ($consumer:ident) => {
        $consumer! {
            Console, from Console, is CONSOLE_INTERFACE_ID, in console;
            Terminal, from TerminalSession, is TERMINAL_SESSION_INTERFACE_ID, in terminal;
            Timer, from Timer, is TIMER_INTERFACE_ID, in timer;
            WallClock, from WallClock, is WALL_CLOCK_INTERFACE_ID, in wall_clock;
            Entropy, from EntropySource, is ENTROPY_SOURCE_INTERFACE_ID, in entropy;
            ListenAuthority(which: u16), from TcpListenAuthority, is TCP_LISTEN_AUTHORITY_INTERFACE_ID, in listen_authority;
            Listener(id: ListenerId), is TCP_LISTENER_INTERFACE_ID, in listener;
            Socket(id: SocketId), is TCP_SOCKET_INTERFACE_ID, in socket;
            NetworkManager, from NetworkManager, is NETWORK_MANAGER_INTERFACE_ID, in network_manager;
            Endpoint(which: u16), from Endpoint, is ENDPOINT_INTERFACE_ID, in endpoint;
            SystemInfo, from SystemInfo, is SYSTEM_INFO_INTERFACE_ID, in system_info;
            LogSink, from LogSink, is LOG_SINK_INTERFACE_ID, in log;
            Discriminator, is CAP_DISCRIMINATOR_INTERFACE_ID, in discriminator;
        }
    };
}
pub(crate) use kinds;

/// The one object of a kind that has no more.
macro_rules! the_only {
    ($kind:ident) => {
        Some(Object::$kind)
    };
    ($kind:ident, $which:ident) => {
        None
    };
}

macro_rules! name_kinds {
    ($($kind:ident $(($which:ident: $id:ty))?, $(from $source:ident,)? is $interface:ident, in $file:ident;)*) => {
        /// A kind of object.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[expect(missing_docs, reason = "the table tells of each")]
        pub enum Kind {
            $($kind),*
        }

        impl Kind {
            /// The interface that a capability to such an object has.
            #[must_use]
            pub const fn interface(self) -> u64 {
                match self {
                    $(Self::$kind => $interface),*
                }
            }

            /// The kind that a manifest's source grants, if this kernel has it.
            #[must_use]
            pub fn granted_by(source: KernelCapSource) -> Option<Self> {
                $($(if source == KernelCapSource::$source {
                    return Some(Self::$kind);
                })?)*
                None
            }

            /// The one object of a kind of which there is only one.
            #[must_use]
            pub const fn the_only(self) -> Option<Object> {
                match self {
                    $(Self::$kind => the_only!($kind $(, $which)?)),*
                }
            }
        }

        /// An object, by kind and by which one of its kind.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[expect(missing_docs, reason = "the table tells of each")]
        pub enum Object {
            $($kind $(($id))?),*
        }

        impl Object {
            /// Its kind.
            #[must_use]
            pub const fn kind(self) -> Kind {
                match self {
                    $(Self::$kind { .. } => Kind::$kind),*
                }
            }

            /// Which one of its kind.
            fn which(self) -> usize {
                match self {
                    $(Self::$kind $(($which))? => 0 $(+ $which.place())?),*
                }
            }
        }
    };
}
kinds!(name_kinds);

impl Object {
    /// The interface that a capability to the object has.
    #[must_use]
    pub const fn interface(self) -> u64 {
        self.kind().interface()
    }

    /// A number that no other live object has; never zero.
    #[must_use]
    pub fn identity(self) -> u64 {
        let kind = (self.kind() as u64).saturating_add(1);
        kind << 32 | self.which() as u64
    }
}

/// What tells objects of one kind apart, as a number.
trait Place {
    fn place(self) -> usize;
}

impl Place for u16 {
    fn place(self) -> usize {
        usize::from(self)
    }
}

impl Place for ListenerId {
    fn place(self) -> usize {
        self.index()
    }
}

impl Place for SocketId {
    fn place(self) -> usize {
        self.index()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_grant_what_their_interface_says() {
        macro_rules! check {
            ($($kind:ident $(($which:ident: $id:ty))?, $(from $source:ident,)? is $interface:ident, in $file:ident;)*) => {
                $($(
                    let source = KernelCapSource::$source;
                    assert_eq!(Kind::granted_by(source), Some(Kind::$kind));
                    assert_eq!(source.default_interface_id(), Kind::$kind.interface());
                )?)*
            };
        }
        kinds!(check);
    }

    #[test]
    fn identities_differ_and_are_not_zero() {
        let all = [
            Object::Console,
            Object::Discriminator,
            Object::ListenAuthority(0),
            Object::ListenAuthority(1),
            Object::Endpoint(0),
            Object::Endpoint(1),
        ]
        .map(Object::identity);
        assert!(!all.contains(&0));
        let distinct: std::collections::BTreeSet<u64> = all.into_iter().collect();
        assert_eq!(distinct.len(), all.len());
    }
}
