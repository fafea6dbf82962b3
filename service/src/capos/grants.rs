//! The CapSet page, read once into entries that the library can check.

use capos_config::capset::{CAPSET_MAX_ENTRIES, CAPSET_NAME_MAX, CapSetEntry};
use capos_config::{
    CONSOLE_INTERFACE_ID, ENDPOINT_INTERFACE_ID, ENTROPY_SOURCE_INTERFACE_ID,
    TCP_LISTEN_AUTHORITY_INTERFACE_ID, TIMER_INTERFACE_ID, WALL_CLOCK_INTERFACE_ID,
};
use capos_rt::CapSet;
use ingress_schema::CAP_DISCRIMINATOR_INTERFACE_ID;
use remote_session_web_ui::grants::{CapId, Grant, Interface};

/// A copy of the CapSet's entries; at most as many as a page holds.
pub(super) struct Entries {
    entries: [Option<CapSetEntry>; CAPSET_MAX_ENTRIES],
}

impl Entries {
    /// Copies the page.
    pub(super) fn read(capset: CapSet) -> Self {
        let mut entries = [None; CAPSET_MAX_ENTRIES];
        for (place, entry) in entries.iter_mut().zip(capset.iter()) {
            *place = Some(entry);
        }
        Self { entries }
    }

    /// The entries in the library's terms. A name longer than an entry holds
    /// becomes empty, which the library refuses.
    pub(super) fn iter(&self) -> impl Iterator<Item = Grant<'_>> + Clone {
        self.entries.iter().flatten().map(|entry| Grant {
            name: usize::try_from(entry.name_len)
                .ok()
                .filter(|bytes| *bytes <= CAPSET_NAME_MAX)
                .and_then(|bytes| entry.name.get(..bytes))
                .unwrap_or(&[]),
            cap: CapId(entry.cap_id),
            interface: interface(entry.interface_id),
        })
    }
}

fn interface(id: u64) -> Option<Interface> {
    match id {
        CONSOLE_INTERFACE_ID => Some(Interface::Console),
        TIMER_INTERFACE_ID => Some(Interface::Timer),
        WALL_CLOCK_INTERFACE_ID => Some(Interface::WallClock),
        ENTROPY_SOURCE_INTERFACE_ID => Some(Interface::EntropySource),
        TCP_LISTEN_AUTHORITY_INTERFACE_ID => Some(Interface::TcpListenAuthority),
        CAP_DISCRIMINATOR_INTERFACE_ID => Some(Interface::CapDiscriminator),
        ENDPOINT_INTERFACE_ID => Some(Interface::Endpoint),
        _ => None,
    }
}
