//! Case `tap`: the packet floods again, on TAP devices in a network namespace of the
//! harness's own, where the host's real TCP is the client; then with 5 % of packets lost.

use std::time::Duration;

use mkmanifest::LaneRules;

use crate::cases::{Case, Control, Need, Suite, packet_floods};
use crate::failure::Failure;
use crate::frames::Injector;
use crate::frames::attack::Sources;
use crate::load::lossy::Reading;
use crate::machine::spec::{Backend, Nic};
use crate::session::{ClientCounts, Counting, Sabotage, Session};
use crate::tool;

pub(crate) const CASE: Case = Case {
    name: "tap",
    title: "packet floods and 5 % loss on TAP devices, with the host's own TCP as client",
    suite: Suite::Attack,
    need: Need::Root(&["ip", "nft", "unshare"]),
    run,
    controls: &[Control {
        name: "no-provider",
        breaks: "the provider lane is missing, as if the floods had starved it",
        sabotage: Sabotage::Manifest {
            of: "three-lanes",
            instead: "no-provider",
        },
        must_fail: "every provider probe is answered 200",
    }],
};

const READING: Reading = Reading {
    clients: 8,
    rounds: 50,
    pages: &["/app.js"],
};
const DEVICES: [&str; 2] = ["l4public", "l4provider"];

fn run(session: &mut Session<'_>) -> Result<(), Failure> {
    session.step("make the TAP devices");
    make_devices()?;
    let (injector, ports) = Injector::open()?;
    let [public, provider] = DEVICES;
    let backends = [
        Backend::TapWithInjector(public, ports),
        Backend::Tap(provider),
    ];
    floods_and_loss(session, &injector, nics(&backends))
}

fn nics(backends: &[Backend]) -> Vec<Nic> {
    let mut nics = Session::usual_nics();
    for (nic, backend) in nics.iter_mut().zip(backends) {
        nic.backend = backend.clone();
    }
    nics
}

fn floods_and_loss(
    session: &mut Session<'_>,
    injector: &Injector,
    nics: Vec<Nic>,
) -> Result<(), Failure> {
    packet_floods::floods(session, injector, nics, Sources::Many)?;
    session.step("5 % of packets lost in each direction");
    lose()?;
    let [public, provider] = DEVICES.map(Backend::Tap);
    let mut guest = session.launch(
        "three-lanes",
        LaneRules::Checked,
        self::nics(&[public, provider]),
    )?;
    guest.await_ready()?;
    let mut clients = ClientCounts {
        counting: Counting::AtMost,
        ..ClientCounts::default()
    };
    READING.judge(session, &guest, &mut clients, "a wire that loses 5 %")?;
    session.settle(guest, &clients).map(drop)
}

/// One command of the namespace's set-up.
fn command(program: &str, line: &str) -> Result<(), Failure> {
    let arguments: Vec<&str> = line.split(' ').collect();
    let finished = tool::run(program, &arguments, Duration::from_secs(10))?;
    if finished.code == Some(0) {
        return Ok(());
    }
    let cause = format!("{line}: {}", finished.stderr.trim());
    Err(tool::failed(program, cause))
}

/// Two devices with the gateways' addresses, and neighbours that need no ARP.
fn make_devices() -> Result<(), Failure> {
    command("ip", "link set lo up")?;
    for (number, device) in (1..).zip(DEVICES) {
        let network = number + 1;
        command("ip", &format!("tuntap add dev {device} mode tap"))?;
        command("ip", &format!("addr add 10.0.{network}.2/24 dev {device}"))?;
        command("ip", &format!("link set {device} up"))?;
        let mac = format!("52:54:00:00:00:{number:02x}");
        command(
            "ip",
            &format!("neigh replace 10.0.{network}.15 lladdr {mac} dev {device} nud permanent"),
        )?;
    }
    Ok(())
}

/// Drops one packet in twenty, each way, on the public device.
fn lose() -> Result<(), Failure> {
    let [public, _] = DEVICES;
    let rules = format!(
        "table netdev l4 {{\n\
         chain from_guest {{ type filter hook ingress device {public} priority 0; \
         numgen random mod 100 < 5 drop; }}\n\
         chain to_guest {{ type filter hook egress device {public} priority 0; \
         numgen random mod 100 < 5 drop; }}\n}}\n"
    );
    let file = std::env::temp_dir().join(format!("l4-loss-{}.nft", std::process::id()));
    std::fs::write(&file, rules).map_err(|error| Failure::host("writing nft rules", error))?;
    let done = command("nft", &format!("-f {}", file.display()));
    drop(std::fs::remove_file(&file));
    done
}
