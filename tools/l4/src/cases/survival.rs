//! Case `survival`: noise on every open port, a storm of reset connections, half-open ones
//! left behind and frames that no honest peer sends end nothing; every lane serves on.

use std::net::Ipv4Addr;
use std::time::{Duration, Instant};

use crate::cases::{Case, Control, Need, Suite};
use crate::failure::Failure;
use crate::frames::{self, Flags, Injector, Segment, garbage};
use crate::http;
use crate::lane::Lane;
use crate::load::storm;
use crate::machine::nic::Between;
use crate::random::Random;
use crate::session::{Sabotage, Session};
use crate::trial::Trial;
use crate::wire::Wires;

pub(crate) const CASE: Case = Case {
    name: "survival",
    title: "noise, 10,000 resets, 1,000 half-open connections and garbage frames end nothing",
    suite: Suite::Matrix,
    need: Need::Nothing,
    wires: Wires::TapElseUser,
    run,
    controls: &[Control {
        name: "no-provider",
        breaks: "the provider lane is missing, as if it had not survived",
        sabotage: Sabotage::Manifest {
            of: "three-lanes",
            instead: "no-provider",
        },
        must_fail: "provider_health still serves",
    }],
};

const NOISES: usize = 120;
const RESETS: usize = 10_000;
/// How long the storm may take: a busy host may be slow at it.
const STORM_TIME_MAX: Duration = Duration::from_secs(600);
const HALF_OPEN: u16 = 1_000;
const FRAMES: usize = 20_000;
const SEED: u64 = 0x5eed_0001;

fn run(session: &mut Session<'_>) -> Result<(), Failure> {
    let (injector, ports) = Injector::open()?;
    let mut nics = session.nics();
    if let Some(public) = nics.first_mut() {
        public.between = Between::Injector(ports);
    }
    let mut trial = session.boot_on("three-lanes", nics)?.at_most();
    let mut random = Random::new(SEED);
    trial
        .session
        .figure("seed of the noise", format_args!("{SEED:#x}"));

    alive(&mut trial, "before anything")?;
    noise(&mut trial, &mut random)?;
    alive(&mut trial, "after noise on every port")?;
    resets(&mut trial)?;
    alive(&mut trial, "after the reset storm")?;
    half_open(trial.session, &injector, &mut random);
    alive(&mut trial, "with half-open connections left behind")?;
    frames(trial.session, &injector, &mut random);
    alive(&mut trial, "after garbage frames")?;
    let evidence = trial.settle()?;
    for lane in Lane::ALL {
        session.check_equal(
            format!("{}: no permit is left out", lane.key()),
            evidence.lane("conns_released", lane)?,
            evidence.lane("conns_admitted", lane)?,
        );
    }
    Ok(())
}

/// Every lane answers 200.
fn alive(trial: &mut Trial<'_, '_>, when: &str) -> Result<(), Failure> {
    for lane in [Lane::Anonymous, Lane::ProviderHealth] {
        let begun = Instant::now();
        let address = trial.guest.reach(lane)?;
        let tally = trial.clients.lane(lane);
        // The storm's last connections may still hold permits, or the backlog: a client may
        // have to ask again.
        let answer = http::ask_until(tally, address, &get(), |status| status == 200);
        trial.session.check(
            format!("{} still serves {when}", lane.key()),
            answer.as_ref().is_ok_and(|one| one.status == 200),
            format_args!(
                "{} after {:.2} s",
                http::told(&answer),
                begun.elapsed().as_secs_f64()
            ),
        );
    }
    let reply = trial.ask(Lane::LocalHealth, "get local /api/status")?;
    trial.session.check(
        format!("local_health still serves {when}"),
        reply.count("status_200") == 1,
        &reply.line,
    );
    Ok(())
}

fn get() -> Vec<u8> {
    http::once("GET", "/healthz")
}

fn noise(trial: &mut Trial<'_, '_>, random: &mut Random) -> Result<(), Failure> {
    trial.session.step("noise on every open port");
    for address in [trial.guest.public()?, trial.guest.provider()?] {
        trial.session.check_equal(
            format!("connections with noise to {address}"),
            storm::noise(address, NOISES, random),
            NOISES,
        );
    }
    for _ in 0..8 {
        let length = 1 + random.below(200);
        let bytes: String = random
            .bytes(length)
            .iter()
            .map(|byte| format!("%{byte:02x}"))
            .collect();
        // Noise has no end, so the service's deadline ends it, or this client does.
        let command = format!("raw local {bytes} timeout=1s");
        trial.guest.tell(&command)?;
    }
    Ok(())
}

fn resets(trial: &mut Trial<'_, '_>) -> Result<(), Failure> {
    trial
        .session
        .step(format!("{RESETS} connections made and reset"));
    let begun = Instant::now();
    let made = storm::resets(trial.guest.public()?, RESETS, STORM_TIME_MAX);
    let took = begun.elapsed().as_secs_f64();
    trial.session.figure(
        "reset storm",
        format_args!("{made} connections in {took:.1} s"),
    );
    trial
        .session
        .check_equal("connections made and reset", made, RESETS);
    Ok(())
}

fn half_open(session: &mut Session<'_>, injector: &Injector, random: &mut Random) {
    session.step(format!("{HALF_OPEN} half-open connections left behind"));
    let mut sent = 0_u16;
    for number in 0..HALF_OPEN {
        let host = u8::try_from(64 + number % 128).unwrap_or(64);
        let segment = Segment {
            macs: (frames::PEER_MAC, frames::guest_mac(1)),
            from: (Ipv4Addr::new(10, 0, 2, host), 20_000 + number),
            to: (Ipv4Addr::new(10, 0, 2, 15), Lane::Anonymous.port()),
            sequence: u32::try_from(random.next() >> 32).unwrap_or_default(),
            acknowledgement: 0,
            flags: Flags::SYN,
            payload: Vec::new(),
            ..Segment::default()
        };
        sent += u16::from(injector.send(&segment.frame()));
        if number % 16 == 0 {
            std::thread::sleep(Duration::from_millis(2));
        }
    }
    session.check_equal("the half-open connections were sent", sent, HALF_OPEN);
}

fn frames(session: &mut Session<'_>, injector: &Injector, random: &mut Random) {
    session.step(format!("{FRAMES} garbage frames"));
    let mut sent = 0;
    for number in 0..FRAMES {
        let ip = Ipv4Addr::new(10, 0, 2, 15);
        let frame = garbage::frame(random, frames::guest_mac(1), ip, Lane::Anonymous.port());
        sent += usize::from(injector.send(&frame));
        if number % 32 == 0 {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
    session.check_equal("the garbage frames were sent", sent, FRAMES);
}
