//! `l4 run` on the command line, with a shell script in QEMU's place: who comes second changes
//! nothing of whoever came first, and the ports that are told are the ones that there are.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(dead_code, reason = "the support is mkmanifest's, for its own tests")]

#[path = "../../mkmanifest/tests/support/mod.rs"]
mod support;

use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};

use support::{Directory, program};

/// Connects the control socket, as QEMU does, says what a guest says, and stays.
const EMULATOR: &str = r#"#!/bin/sh
path=$(printf '%s\n' "$@" | sed -n 's/^socket,id=com2,path=//p')
perl -MSocket -e 'socket(S, PF_UNIX, SOCK_STREAM, 0); connect(S, sockaddr_un($ARGV[0])) or die' "$path"
echo '[web-ui] policy public_conns=1 provider_conns=1'
echo '[web-ui] ready'
echo '[probe] ready'
exec sleep 60
"#;

struct Place(Directory);

impl Place {
    fn new(name: &str) -> Self {
        let place = Directory::new(name);
        place.write("program", &program(7));
        // Written by another process: see `machine/tests.rs`.
        let emulator = place.path().join("emulator");
        let mut shell = Command::new("sh")
            .args(["-c", "cat >\"$0\" && chmod +x \"$0\""])
            .arg(&emulator)
            .stdin(Stdio::piped())
            .spawn()
            .unwrap();
        let mut input = shell.stdin.take().unwrap();
        std::io::Write::write_all(&mut input, EMULATOR.as_bytes()).unwrap();
        drop(input);
        assert!(shell.wait().unwrap().success());
        Self(place)
    }

    fn log(&self) -> PathBuf {
        self.0.path().join("out/smoke.serial.log")
    }

    fn l4(&self, ports: &[u16; 2]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_l4"));
        let program = self.0.path().join("program");
        command
            .args(["run", "smoke", "--out"])
            .arg(self.0.path().join("out"));
        for file in ["--kernel", "--service", "--probe", "--smoke"] {
            command.arg(file).arg(&program);
        }
        command
            .arg("--manifests")
            .arg(support::shipped(""))
            .arg("--qemu")
            .arg(self.0.path().join("emulator"))
            .args([format!("--public-port={}", ports[0])])
            .args([format!("--provider-port={}", ports[1])])
            .env("L4_ACCEL", "tcg")
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    fn refused(&self, ports: &[u16; 2]) -> String {
        let Output { status, stderr, .. } = self.l4(ports).output().unwrap();
        assert!(!status.success());
        String::from_utf8(stderr).unwrap()
    }
}

/// A run that is up; ended as its terminal would.
struct Up(Child, Vec<String>);

impl Up {
    fn start(mut command: Command) -> Self {
        let mut child = command.spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut told = Vec::new();
        while !told.iter().any(|line: &String| line.contains("Ctrl-C")) {
            told.push(lines.next().expect("it says what to do").unwrap());
        }
        Self(child, told)
    }

    /// The port in the line on this lane.
    fn port(&self, lane: &str) -> u16 {
        let of = |line: &&String| line.trim_start().starts_with(lane);
        let line = self.1.iter().find(of).unwrap();
        let (_, rest) = line.split_once("http://127.0.0.1:").unwrap();
        rest.split('/').next().unwrap().parse().unwrap()
    }
}

impl Drop for Up {
    fn drop(&mut self) {
        let process = self.0.id().to_string();
        let told = Command::new("kill").args(["-INT", &process]).status();
        assert!(told.is_ok_and(|status| status.success()));
        drop(self.0.wait());
    }
}

/// Ports that were free a moment ago.
fn free() -> [u16; 2] {
    [(); 2]
        .map(|()| TcpListener::bind("127.0.0.1:0").unwrap())
        .map(|listener| listener.local_addr().unwrap().port())
}

#[test]
fn a_second_run_in_one_folder_is_refused_and_leaves_the_firsts_log() {
    let place = Place::new("l4-run-twice");
    let ports = free();
    let first = Up::start(place.l4(&ports));
    let before = std::fs::read_to_string(place.log()).unwrap();
    assert!(before.contains("[web-ui] ready"), "{before}");
    for again in [ports, free()] {
        let refusal = place.refused(&again);
        assert!(refusal.contains("another run writes here"), "{refusal}");
        assert!(refusal.contains("--out"), "{refusal}");
    }
    assert_eq!(std::fs::read_to_string(place.log()).unwrap(), before);
    drop(first);
    drop(Up::start(place.l4(&ports)));
}

#[test]
fn a_port_that_is_taken_is_told_before_any_file_is_touched() {
    let place = Place::new("l4-run-taken");
    std::fs::create_dir_all(place.0.path().join("out")).unwrap();
    std::fs::write(place.log(), "kept").unwrap();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    let refusal = place.refused(&[free()[0], port]);
    assert!(refusal.contains(&port.to_string()), "{refusal}");
    assert!(refusal.contains("--provider-port 9081"), "{refusal}");
    assert_eq!(std::fs::read_to_string(place.log()).unwrap(), "kept");
    let left = std::fs::read_dir(place.0.path().join("out")).unwrap();
    assert!(left.count() <= 2, "the log and the lock alone");
}

#[test]
fn port_zero_is_any_and_the_real_one_is_told() {
    let place = Place::new("l4-run-zero");
    let up = Up::start(place.l4(&[0, 0]));
    let (public, provider) = (up.port("public"), up.port("provider"));
    assert!(
        public != 0 && provider != 0 && public != provider,
        "{:?}",
        up.1
    );
}

#[test]
fn two_equal_ports_are_refused_in_their_own_words() {
    let place = Place::new("l4-run-equal");
    let port = free()[0];
    let refusal = place.refused(&[port, port]);
    assert!(
        refusal.contains(&format!(
            "--public-port and --provider-port are both {port}"
        )),
        "{refusal}"
    );
    assert!(!place.log().exists());
}
