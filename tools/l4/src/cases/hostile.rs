//! Case `hostile`: a guest program that faults, floods, spins and lies to the kernel ends by
//! itself; the processes beside it, and the lanes, live on.

use std::time::{Duration, Instant};

use hostile::forgery::FORGED;
use hostile::{Boot, Deed, End};

use crate::artefacts;
use crate::cases::{Case, Control, Need, Suite};
use crate::exit_code::MachineExit;
use crate::failure::Failure;
use crate::guest::Guest;
use crate::http;
use crate::lane::Lane;
use crate::load::flood::Flood;
use crate::load::watch::{Watched, watch};
use crate::session::{SLOW_HOST, Sabotage, Session};
use crate::trial::Trial;
use crate::wire;

pub(crate) const CASE: Case = Case {
    name: "hostile",
    title: "a process that faults, floods, spins or lies ends alone; all others go on",
    suite: Suite::Matrix,
    need: Need::Nothing,
    wires: wire::ANY,
    run,
    controls: &[
        Control {
            name: "no-deeds",
            breaks: "the processes that should fault do nothing of the kind",
            sabotage: Sabotage::Manifest {
                of: "hostile-memory",
                instead: "witness-alone",
            },
            must_fail: "do_read_null: the kernel ends the process",
        },
        Control {
            name: "endless-entry",
            breaks: "an entry into the kernel takes all that was submitted, whatever it costs",
            sabotage: Sabotage::Kernel("broken-endless-entry"),
            must_fail: "do_share_entries: the process finds all in order",
        },
    ],
};

/// How long the processes of a manifest may take to end, and then the machine.
const ENDED_WITHIN: Duration = Duration::from_secs(60);
/// How often the witness is told to end: another process may have read the line.
const TOLD_EVERY: Duration = Duration::from_millis(50);

/// How long the provider's probe is watched beside each process that does its worst.
const WATCHED_FOR: Duration = Duration::from_secs(3);
/// The probe beside a process that asks as much as it can of each entry into the kernel may
/// take so many times what it takes beside one that computes only. Without a bound on an entry
/// it takes 36 times as long, with one twice.
const SLOWER_MAX: u32 = 8;

fn run(session: &mut Session<'_>) -> Result<(), Failure> {
    artefacts::present(
        "the misbehaving program",
        &session.artefacts().hostile,
        "guest",
    )?;
    for boot in &hostile::BOOTS {
        deeds_of(session, boot)?;
    }
    let calm = beside_the_lanes(session)?;
    beside_greed(session, &calm)
}

/// What a grant is made of, by its CapSet name.
const GRANTS: [(&str, &str); 6] = [
    ("network", "\"network_manager\""),
    (
        "listen",
        "{ source = \"tcp_listen_authority\", transport = \"loopback\", port = 9000 }",
    ),
    ("wall_clock", "\"wall_clock\""),
    ("entropy", "\"entropy_source\""),
    ("system_info", "\"system_info\""),
    ("log", "\"log_sink\""),
];

/// The manifest of a boot: the witness is its first process, whose end is the system's.
fn manifest(boot: &Boot) -> String {
    let granted = |name| boot.deeds.iter().any(|deed| deed.grants.contains(&name));
    let all: Vec<&str> = GRANTS
        .iter()
        .map(|(name, _)| *name)
        .filter(|name| granted(*name))
        .collect();
    let witness = caps(hostile::WITNESS, &all);
    let mut text = format!(
        "[system]\nhostname = \"hostile\"\nmotd = \"be kind\"\nlog_level = \"info\"\n\
         [init]\nbinary = \"hostile\"\n\
         [init.caps]\nterminal = \"terminal_session\"\n{witness}"
    );
    for deed in boot.deeds {
        text.push_str(&format!(
            "[[service]]\nname = \"{}\"\nbinary = \"hostile\"\n[service.caps]\n{}",
            deed.process(),
            caps(deed.name, deed.grants)
        ));
    }
    text
}

fn caps(deed: &str, grants: &[&str]) -> String {
    let mut text = format!("console = \"console\"\ntimer = \"timer\"\n{deed} = \"endpoint\"\n");
    for (name, source) in GRANTS.iter().filter(|(name, _)| grants.contains(name)) {
        text.push_str(&format!("{name} = {source}\n"));
    }
    text
}

/// Boots some deeds and judges every process of them.
fn deeds_of(session: &mut Session<'_>, boot: &Boot) -> Result<(), Failure> {
    let name = boot.name;
    let mut guest = session.launch_written(name, &manifest(boot))?;
    await_ends(&guest, boot.deeds);
    let exit = end(&mut guest)?;
    session.note_end(&guest, exit);
    let lines: Vec<String> = guest
        .machine()
        .console()
        .lines()
        .into_iter()
        .map(|line| line.text)
        .collect();
    session.check_equal(
        format!("{name}: the witness lives and the machine ends with success"),
        exit.to_string(),
        MachineExit::Success.to_string(),
    );
    let forged = |line: &&String| line.starts_with("[kernel]") && line.contains(FORGED);
    session.check(
        format!("{name}: no line of a process passes for the kernel's"),
        !lines.iter().any(|line| forged(&line)),
        lines
            .iter()
            .find(forged)
            .map_or("none does", String::as_str),
    );
    for deed in boot.deeds {
        judge(session, &lines, deed);
    }
    Ok(())
}

/// Waits until every process that is to end has ended. What did not is judged afterwards.
fn await_ends(guest: &Guest, deeds: &[Deed]) {
    let deadline = Instant::now() + ENDED_WITHIN;
    for deed in deeds.iter().filter(|deed| deed.end != End::Endless) {
        let start = format!("[kernel] process {} pid=", deed.process());
        let left = deadline.saturating_duration_since(Instant::now());
        let ended = |line: &str| {
            line.starts_with(&start) && (line.contains(" exited ") || line.contains(" faulted"))
        };
        drop(guest.machine().console().wait(0, left, ended));
    }
}

/// Tells the witness to end, until the machine has ended.
fn end(guest: &mut Guest) -> Result<MachineExit, Failure> {
    let deadline = Instant::now() + ENDED_WITHIN;
    while !guest.machine().console().wait_closed(TOLD_EVERY) && Instant::now() < deadline {
        // A machine that is ending hears nothing more.
        drop(guest.probe()?.say(hostile::END));
    }
    guest.machine_mut().wait_exit(SLOW_HOST)
}

fn judge(session: &mut Session<'_>, lines: &[String], deed: &Deed) {
    let start = format!("[kernel] process {} pid=", deed.process());
    let own = || lines.iter().filter(|line| line.starts_with(&start));
    let last = own().next_back().map_or("no line of it", String::as_str);
    match deed.end {
        End::Faulted(why) => session.check(
            format!("{}: the kernel ends the process and says why", deed.name),
            own().any(|line| line.contains("faulted") && line.contains(why)),
            last,
        ),
        End::Exited(code) => session.check(
            format!("{}: the process finds all in order and exits", deed.name),
            own().any(|line| line.ends_with(&format!("exited code={code}"))),
            last,
        ),
        End::Endless => session.check(
            format!("{}: the process goes on and stops nobody else", deed.name),
            !own().any(|line| line.contains("exited") || line.contains("faulted")),
            last,
        ),
    }
    for shown in deed.shown {
        session.check(
            format!("{}: the console shows `{shown}`", deed.name),
            lines.iter().any(|line| line == shown),
            format_args!("{} lines", lines.len()),
        );
    }
    if let Some(complaint) = deed.complaint {
        session.check(
            format!("{}: the kernel complains once", deed.name),
            own().any(|line| line.contains(complaint)),
            complaint,
        );
    }
}

/// The provider's probe beside processes that do their worst.
fn watched(trial: &mut Trial<'_, '_>) -> Result<Watched, Failure> {
    let (watched, ()) = watch(trial, WATCHED_FOR, |_| {
        std::thread::sleep(WATCHED_FOR);
        Ok(())
    })?;
    Ok(watched)
}

/// The three lanes serve beside a process that never gives the processor back.
fn beside_the_lanes(session: &mut Session<'_>) -> Result<Watched, Failure> {
    let mut trial = session.boot("three-lanes-hostile")?;
    trial.session.step("serve beside a process that spins");
    let flood = Flood::of(trial.guest.public()?, http::once("GET", "/healthz"), 4, 25).run();
    trial.count(Lane::Anonymous, &flood.tally);
    trial.session.check_equal(
        "spin: every public request is served",
        flood.tally.of(200),
        100,
    );
    trial.session.figure(
        "public request beside a process that spins",
        &flood.latencies,
    );
    let provider = Flood::of(
        trial.guest.provider()?,
        http::once("GET", "/healthz"),
        1,
        10,
    )
    .run();
    trial.count(Lane::ProviderHealth, &provider.tally);
    trial.session.check_equal(
        "spin: every provider probe is served",
        provider.tally.of(200),
        10,
    );
    let watched = watched(&mut trial)?;
    watched.judge(trial.session, "spin");
    let local = trial.ask(Lane::LocalHealth, "get local /api/status")?;
    trial.session.check(
        "spin: the local lane serves",
        local.count("status_200") == 1,
        &local.line,
    );
    trial.guest.machine_mut().await_line(
        0,
        "the kernel's word on the process that spins",
        SLOW_HOST,
        |line| {
            line.starts_with("[kernel] process ") && line.contains("ticks without a system call")
        },
    )?;
    trial.settle()?;
    Ok(watched)
}

/// The three lanes serve beside one process that asks all it can of each entry into the
/// kernel, and one that holds as many outgoing connections as it may.
fn beside_greed(session: &mut Session<'_>, calm: &Watched) -> Result<(), Failure> {
    let mut trial = session.boot("three-lanes-greedy")?;
    trial
        .session
        .step("serve beside processes that ask for all there is");
    let watched = watched(&mut trial)?;
    watched.judge(trial.session, "greed");
    trial.session.probes(watched.rows("greed", calm));
    let took = |watched: &Watched| watched.outside.latencies().percent(50);
    trial.session.check(
        format!("greed: half of the probes take at most {SLOWER_MAX} times what they take beside a process that spins"),
        took(&watched) <= took(calm) * SLOWER_MAX,
        format_args!("{:?} beside {:?}", took(&watched), took(calm)),
    );
    let flood = Flood::of(trial.guest.public()?, http::once("GET", "/healthz"), 4, 25).run();
    trial.count(Lane::Anonymous, &flood.tally);
    trial.session.check_equal(
        "greed: every public request is served",
        flood.tally.of(200),
        100,
    );
    let held = 40;
    let local = trial.ask(
        Lane::LocalHealth,
        &format!("flood local /api/status count={held} conns=8 keepalive=off"),
    )?;
    trial.session.check(
        "greed: the operator in the guest connects at once, every time",
        local.count("status_200") == held,
        &local.line,
    );
    trial.settle().map(drop)
}
