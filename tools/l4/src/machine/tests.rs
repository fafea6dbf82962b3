//! Each way a machine can disappoint, shown with a shell script in QEMU's place.

use std::io::Write;
use std::process::Command;

use super::*;
use crate::accel::Accel;
use crate::lane::Lane;
use crate::machine::nic::{Backend, Filter, HostPort, Nic};
use crate::machine::spec::{Interrupts, Less};

/// Writes a program by way of another process: a file that this one has open for writing, a
/// test beside this one may hand on to a child, and nobody can execute it for as long.
fn write(file: &Path, text: &str) {
    let mut shell = Command::new("sh")
        .args(["-c", "cat >\"$0\" && chmod +x \"$0\""])
        .arg(file)
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    shell
        .stdin
        .take()
        .unwrap()
        .write_all(text.as_bytes())
        .unwrap();
    assert!(shell.wait().unwrap().success());
}

/// A script that first connects the control socket, as QEMU does, then does `body`.
fn spec(name: &str, body: &str) -> MachineSpec {
    let folder = std::env::temp_dir().join(format!("l4-test-{}-{name}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let script = folder.join("emulator");
    let connect = "path=$(printf '%s\n' \"$@\" | sed -n 's/^socket,id=com2,path=//p')
\
        perl -MSocket -e 'socket(S, PF_UNIX, SOCK_STREAM, 0); \
        connect(S, sockaddr_un($ARGV[0])) or die' \"$path\"";
    write(&script, &format!("#!/bin/sh\n{connect}\n{body}\n"));
    MachineSpec {
        emulator: script.into(),
        accel: Accel::Tcg,
        kernel: "kernel".into(),
        package: "package".into(),
        memory_mib: 32,
        less: Less::Nothing,
        nics: vec![Nic::of(Lane::Anonymous, Backend::User(HostPort::Ephemeral))],
        serial_log: folder.join("serial.log"),
        time_limit: SOON,
        interrupts: Interrupts::Shared,
        echo: None,
    }
}

fn await_ready(machine: &mut Machine, timeout: Duration) -> Result<(), Failure> {
    machine
        .await_line(0, "the readiness line", timeout, |line| line == "ready")
        .map(drop)
}

#[test]
fn a_hang_names_the_awaited_line_and_the_last_ones() {
    let mut machine = Machine::boot(&spec("hang", "echo booting; exec sleep 60")).unwrap();
    let failure = await_ready(&mut machine, Duration::from_millis(300)).unwrap_err();
    let words = failure.to_string();
    assert_eq!(failure.kind(), "hang");
    assert!(words.contains("no the readiness line"), "{words}");
    assert!(words.contains("| booting"), "{words}");
}

#[test]
fn a_panic_is_quoted() {
    let script = spec("panic", "echo '[kernel] panic: no frames'; exit 39");
    let mut machine = Machine::boot(&script).unwrap();
    let failure = await_ready(&mut machine, SOON).unwrap_err();
    assert_eq!(failure.kind(), "panic");
    assert!(failure.to_string().contains("no frames"));
}

#[test]
fn a_wrong_exit_code_is_named_on_both_sides() {
    let mut machine = Machine::boot(&spec("exit", "echo ready; exit 35")).unwrap();
    await_ready(&mut machine, SOON).unwrap();
    let failure = machine.await_exit(MachineExit::Success, SOON).unwrap_err();
    let words = failure.to_string();
    assert_eq!(failure.kind(), "wrong-exit");
    assert!(words.contains("expected success"), "{words}");
    assert!(words.contains("got service failure"), "{words}");
}

#[test]
fn a_machine_that_ends_before_its_line_says_how_it_ended() {
    let mut machine = Machine::boot(&spec("early", "echo booting; exit 37")).unwrap();
    let failure = await_ready(&mut machine, SOON).unwrap_err();
    assert_eq!(failure.kind(), "ended-early");
    assert!(failure.to_string().contains("boot refused"));
}

#[test]
fn a_signal_is_no_exit_code() {
    let mut machine = Machine::boot(&spec("signal", "echo ready; kill -SEGV $$")).unwrap();
    await_ready(&mut machine, SOON).unwrap();
    let failure = machine.await_exit(MachineExit::Success, SOON).unwrap_err();
    assert!(failure.to_string().contains("signal 11"));
}

#[test]
fn a_machine_that_does_not_end_is_told_apart_and_killed_on_drop() {
    let mut machine = Machine::boot(&spec("stay", "echo ready; exec sleep 60")).unwrap();
    await_ready(&mut machine, SOON).unwrap();
    let failure = machine
        .await_exit(MachineExit::Success, Duration::from_millis(200))
        .unwrap_err();
    assert_eq!(failure.kind(), "no-exit");
    let process = PathBuf::from(format!("/proc/{}", lock(&machine.child).id()));
    assert!(process.exists());
    drop(machine);
    assert!(!process.exists());
}

#[test]
fn a_machine_that_outlives_its_limit_is_ended_and_called_a_hang() {
    let mut spec = spec("limit", "echo booting; exec sleep 60");
    spec.time_limit = Duration::from_secs(1);
    let mut machine = Machine::boot(&spec).unwrap();
    let failure = await_ready(&mut machine, SOON).unwrap_err();
    assert_eq!(failure.kind(), "hang");
    assert!(failure.to_string().contains("time limit"), "{failure}");
}

#[test]
fn a_missing_emulator_names_the_cure() {
    let mut spec = spec("missing", "");
    spec.emulator = "/nowhere/qemu-system-x86_64".into();
    let failure = Machine::boot(&spec).err().unwrap();
    assert_eq!(failure.kind(), "emulator-missing");
    assert!(failure.to_string().contains("make setup"));
}

#[test]
fn a_refused_command_line_is_quoted() {
    let mut spec = spec("refused", "");
    let script = PathBuf::from(&spec.emulator);
    write(&script, "#!/bin/sh\necho 'invalid option' >&2\nexit 1\n");
    spec.emulator = script.into();
    let failure = Machine::boot(&spec).err().unwrap();
    assert_eq!(failure.kind(), "emulator-refused");
    assert!(failure.to_string().contains("invalid option"));
}

#[test]
fn a_refusal_after_the_serial_ports_were_made_is_quoted_too() {
    let script = spec("late", "echo 'no such network' >&2; exit 1");
    let failure = Machine::boot(&script).err().unwrap();
    assert_eq!(failure.kind(), "emulator-refused");
    assert!(failure.to_string().contains("no such network"));
}

#[test]
fn a_port_that_is_taken_is_named() {
    let script = spec(
        "port",
        "echo 'Could not set up host forwarding rule x' >&2; exit 1",
    );
    let failure = Machine::boot(&script).err().unwrap();
    assert_eq!(failure.kind(), "port-taken");
    assert!(failure.to_string().contains("forwarding rule x"));
    assert!(failure.to_string().contains("--public-port"));
}

#[test]
fn the_command_line_has_one_network_a_nic() {
    let mut spec = spec("line", "");
    let mut tap = Nic::of(Lane::ProviderHealth, Backend::Tap("tap7"));
    tap.filters = vec![
        Filter::Dump("wire.pcap".into()),
        Filter::Hold(Duration::from_millis(10)),
    ];
    spec.nics.push(tap);
    let (host, _reserved) = ports::choose(&spec.nics).unwrap();
    let line: Vec<String> = spec
        .arguments(&host, Path::new("/tmp/com2"))
        .into_iter()
        .map(|argument| argument.to_string_lossy().into_owned())
        .collect();
    let joined = line.join(" ");
    assert!(
        joined.contains("user,id=n1,net=10.0.2.0/24,restrict=on,ipv6=off,hostfwd=tcp:127.0.0.1:")
    );
    assert!(joined.contains(
        "-10.0.2.15:8080 -device virtio-net-pci,netdev=n1,mac=52:54:00:00:00:01,romfile="
    ));
    assert!(joined.contains("tap,id=n2,ifname=tap7"));
    assert!(joined.contains("-object filter-dump,id=f2-0,netdev=n2,file=wire.pcap"));
    assert!(joined.contains("-object filter-buffer,id=f2-1,netdev=n2,interval=10000"));
}
