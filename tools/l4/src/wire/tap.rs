//! TAP devices for the two NICs, in the network namespace that the harness was started in.
//! The namespace has no name and vanishes with its last process, and the devices with it; so
//! several harnesses never meet, and none leaves anything behind whatever ends it.

use std::time::Duration;

use crate::failure::Failure;
use crate::machine::nic;
use crate::tool;

/// The devices, in the NICs' order.
pub(crate) const DEVICES: [&str; 2] = ["l4public", "l4provider"];

/// How long one command of the set-up may take on a busy host.
const SET_UP_WITHIN: Duration = Duration::from_secs(60);

/// What the host's own TCP may use as a port: a client that closes first holds one for a
/// minute, and floods make tens of thousands of connections in less.
const PORTS: (&str, &str) = ("/proc/sys/net/ipv4/ip_local_port_range", "1024 65000");

/// The devices. Dropping them removes them, and whatever rules hang on them.
pub(crate) struct Devices(());

impl Devices {
    /// Makes the devices with the gateways' addresses, and neighbours that need no ARP.
    pub(crate) fn make() -> Result<Self, Failure> {
        command("ip", "link set lo up")?;
        let (file, range) = PORTS;
        std::fs::write(file, range).map_err(|error| Failure::host(file, error))?;
        let devices = Self(());
        for (number, device) in (1_u8..).zip(DEVICES) {
            let (guest, gateway) = (nic::guest_ip(number), nic::gateway_ip(number));
            command("ip", &format!("tuntap add dev {device} mode tap"))?;
            command("ip", &format!("addr add {gateway}/24 dev {device}"))?;
            command("ip", &format!("link set {device} up"))?;
            let mac = format!("52:54:00:00:00:{number:02x}");
            command(
                "ip",
                &format!("neigh replace {guest} lladdr {mac} dev {device} nud permanent"),
            )?;
        }
        Ok(devices)
    }
}

impl Drop for Devices {
    fn drop(&mut self) {
        for device in DEVICES {
            drop(command("ip", &format!("link del {device}")));
        }
    }
}

/// Drops so many of a hundred packets each way on the public device, until this is dropped.
pub(crate) struct Loss(());

impl Loss {
    /// From now on.
    pub(crate) fn of(percent: usize) -> Result<Self, Failure> {
        let [public, _] = DEVICES;
        let chain = |name: &str, hook: &str| {
            format!(
                "chain {name} {{ type filter hook {hook} device {public} priority 0; \
                 numgen random mod 100 < {percent} drop; }}"
            )
        };
        let (from, to) = (chain("from_guest", "ingress"), chain("to_guest", "egress"));
        command("nft", &format!("table netdev l4 {{ {from}; {to}; }}"))?;
        Ok(Self(()))
    }
}

impl Drop for Loss {
    fn drop(&mut self) {
        drop(command("nft", "delete table netdev l4"));
    }
}

/// One command; `nft` takes its words as one text.
fn command(program: &str, line: &str) -> Result<(), Failure> {
    let arguments: Vec<&str> = line.split(' ').collect();
    let finished = tool::run(program, &arguments, SET_UP_WITHIN)?;
    if finished.code == Some(0) {
        return Ok(());
    }
    let cause = format!("{line}: {}", finished.stderr.trim());
    Err(tool::failed(program, cause))
}
