//! What the service's grants mean to it: the names that it knows, and the objects that they must be.
//!
//! The service refuses the same at boot (`service/src/boot/grants.rs`), but for a listener under a name
//! that it does not know, which it leaves alone. Here that is a slip of the pen that would take a
//! lane away without a word, and so is refused.

use capos_config::KernelCapSource;
use remote_session_web_ui::grants::{Interface, Role};

use crate::error::Fault;
use crate::lanes::WEB_UI;
use crate::model::Manifest;
use crate::reader::Refused;

/// Names that the service cannot do without.
const REQUIRED: [&str; 2] = ["console", "timer"];

/// Checks the grants of the service; a manifest that boots another program has none.
pub(crate) fn check(manifest: &Manifest) -> Result<(), Refused> {
    if manifest.init.binary.value != WEB_UI {
        return Ok(());
    }
    for grant in &manifest.init.grants {
        let refuse = |fault| Err(Refused::new(grant.at.clone(), fault));
        let found = grant.source();
        match Role::of(grant.name.as_bytes()).map(Role::interface) {
            None if found == KernelCapSource::TcpListenAuthority => {
                return Err(Refused::new(grant.at.clone(), Fault::NoSuchLane));
            }
            Some(interface) => match source_of(interface) {
                Some(expected) if expected != found => {
                    let (found, expected) = (found.to_string(), expected.to_string());
                    return refuse(Fault::WrongSource { found, expected });
                }
                _ => {}
            },
            None => {}
        }
    }
    for name in REQUIRED {
        if manifest.init.grants.iter().all(|grant| grant.name != name) {
            let at = manifest.init.binary.at.clone();
            return Err(Refused::new(at, Fault::MissingGrant { name }));
        }
    }
    Ok(())
}

/// The source that a grant of this interface has; none for what no manifest grants.
const fn source_of(interface: Interface) -> Option<KernelCapSource> {
    Some(match interface {
        Interface::Console => KernelCapSource::Console,
        Interface::Timer => KernelCapSource::Timer,
        Interface::WallClock => KernelCapSource::WallClock,
        Interface::EntropySource => KernelCapSource::EntropySource,
        Interface::TcpListenAuthority => KernelCapSource::TcpListenAuthority,
        Interface::CapDiscriminator | Interface::Endpoint => return None,
    })
}
