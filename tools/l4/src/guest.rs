//! A booted guest as a case uses it: its lanes' addresses, its in-guest client, its
//! evidence.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use crate::evidence::{Evidence, ListenerCount, fields};
use crate::failure::Failure;
use crate::lane::Lane;
use crate::machine::Machine;
use crate::probe::{Probe, Reply};
use crate::session::SLOW_HOST;

/// The kernel's evidence on its memory, and twice the time in which it tells what is new.
const MEMORY: &str = "[kernel] memory ";
const MEMORY_TOLD_WITHIN: Duration = Duration::from_secs(10);

/// How long a machine that has closed its port may take to be gone.
const GONE_WITHIN: Duration = Duration::from_secs(10);

/// Bytes of a frame of the guest's memory.
const FRAME_BYTES: u64 = 4096;

pub(crate) struct Guest {
    machine: Machine,
    probe: Option<Probe>,
    index: usize,
    ready: Option<f64>,
}

impl Guest {
    /// Takes a machine that was just started; `index` is its place in the record.
    pub(crate) fn new(mut machine: Machine, index: usize) -> Self {
        let probe = machine.take_control().map(Probe::new);
        Self {
            machine,
            probe,
            index,
            ready: None,
        }
    }

    /// Its place in the record.
    pub(crate) fn index(&self) -> usize {
        self.index
    }

    pub(crate) fn machine(&self) -> &Machine {
        &self.machine
    }

    pub(crate) fn machine_mut(&mut self) -> &mut Machine {
        &mut self.machine
    }

    /// QEMU's start to the readiness line.
    pub(crate) fn ready_seconds(&self) -> Option<f64> {
        self.ready
    }

    /// Waits for the service's readiness line and the in-guest client's.
    pub(crate) fn await_ready(&mut self) -> Result<(), Failure> {
        let (_, line) = self.machine.await_line(
            0,
            "readiness line `[web-ui] ready ...`",
            SLOW_HOST,
            |line| line.starts_with("[web-ui] ready"),
        )?;
        self.ready = Some(line.at.as_secs_f64());
        self.machine.await_line(
            0,
            "in-guest client's line `[probe] ready`",
            SLOW_HOST,
            |line| line.starts_with("[probe] ready"),
        )?;
        Ok(())
    }

    /// Where the host reaches a lane: nowhere the local one, which is inside the guest, and one
    /// whose wire the harness itself is.
    pub(crate) fn address(&self, lane: Lane) -> Option<SocketAddr> {
        let nic = match lane {
            Lane::Anonymous => 1,
            Lane::ProviderHealth => 2,
            Lane::LocalHealth => return None,
        };
        self.machine.host_address(nic)
    }

    pub(crate) fn public(&self) -> Result<SocketAddr, Failure> {
        self.reach(Lane::Anonymous)
    }

    pub(crate) fn provider(&self) -> Result<SocketAddr, Failure> {
        self.reach(Lane::ProviderHealth)
    }

    /// A lane's address on the host, for whoever cannot go on without.
    pub(crate) fn reach(&self, lane: Lane) -> Result<SocketAddr, Failure> {
        self.address(lane)
            .ok_or(Failure::Unreachable { lane: lane.key() })
    }

    /// A number of the policy that the service printed at boot, by the markers' own words.
    pub(crate) fn policy(&self, key: &str) -> Result<u64, Failure> {
        let lines = self.machine.console().lines();
        let policy = lines
            .iter()
            .find_map(|line| line.text.strip_prefix("[web-ui] policy "));
        let value = policy.and_then(|policy| fields(policy).get(key)?.parse().ok());
        value.ok_or_else(|| Failure::MissingLine {
            what: format!("`{key}=` on the policy line"),
            last: self.machine.console().tail(),
        })
    }

    pub(crate) fn probe(&mut self) -> Result<&mut Probe, Failure> {
        self.probe.as_mut().ok_or_else(|| Failure::Probe {
            command: "(none)".into(),
            cause: "the machine has no control port".into(),
        })
    }

    /// Has the in-guest client do something; what it saw is not counted here.
    pub(crate) fn tell(&mut self, command: &str) -> Result<Reply, Failure> {
        self.probe()?.command(command, SLOW_HOST)
    }

    /// Waits for a quiescent evidence line that satisfies `agrees`. If none comes in time,
    /// tells the last one there was, so that the caller's checks say what differs.
    pub(crate) fn quiescent(
        &mut self,
        timeout: Duration,
        mut agrees: impl FnMut(&Evidence) -> bool,
    ) -> Result<Evidence, Failure> {
        let console = self.machine.console().clone();
        let deadline = Instant::now() + timeout;
        let mut from = console
            .lines()
            .iter()
            .rposition(|line| Evidence::parse(&line.text).is_some())
            .unwrap_or_default();
        let mut last = None;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let found = self
                .machine
                .await_line(from, "quiescent evidence line", left, |line| {
                    Evidence::parse(line).is_some()
                });
            match found {
                Ok((index, line)) => {
                    from = index + 1;
                    let evidence = Evidence::parse(&line.text).unwrap_or_default();
                    if agrees(&evidence) {
                        return Ok(evidence);
                    }
                    last = Some(evidence);
                }
                Err(failure) => {
                    return match (failure, last) {
                        (Failure::Hang { .. }, Some(evidence)) => Ok(evidence),
                        (failure, _) => Err(failure),
                    };
                }
            }
        }
    }

    /// Has the service drain without a grace: it takes no further connection, ends what it
    /// has, and then itself. A local lane past its bounds is asked again.
    pub(crate) fn drain(&mut self) -> Result<(), Failure> {
        let command = "post local /drain body=grace_ms=0";
        let begun = Instant::now();
        loop {
            let reply = match self.tell(command) {
                Ok(reply) if reply.count("status_202") > 0 => return Ok(()),
                Ok(reply) => reply,
                // A service with nothing left to end takes the machine down with it before the
                // client inside has told its answer; how it ended is for the caller to judge.
                Err(_) if self.machine.wait_exit(GONE_WITHIN).is_ok() => return Ok(()),
                Err(failure) => return Err(failure),
            };
            if begun.elapsed() > SLOW_HOST {
                return Err(Failure::Probe {
                    command: command.into(),
                    cause: format!("the drain never began: {}", reply.line),
                });
            }
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    /// Waits until the kernel's last evidence on its memory is of a guest at rest: until it has
    /// looked twice, and told nothing new.
    pub(crate) fn await_memory_told(&self) {
        let console = self.machine.console();
        loop {
            let news = console.wait(console.mark(), MEMORY_TOLD_WITHIN, |line| {
                line.starts_with(MEMORY)
            });
            if news.is_err() {
                break;
            }
        }
    }

    /// What is in use of the guest's memory, in bytes, by the kernel's last evidence: frames
    /// that processes and the kernel hold, and of its heap what is taken.
    /// `None` while the kernel has told nothing: it does so every few seconds, if anything
    /// has changed.
    pub(crate) fn kernel_memory(&self) -> Option<u64> {
        let lines = self.machine.console().lines();
        let last = lines
            .iter()
            .rev()
            .find_map(|line| line.text.strip_prefix(MEMORY))?;
        let values = fields(last);
        let number = |key: &str| values.get(key)?.parse::<u64>().ok();
        let frames = number("frames_used")?.checked_mul(FRAME_BYTES)?;
        Some(frames.checked_sub(number("heap_bytes")?)? + number("heap_used")?)
    }

    /// Tells the in-guest client to exit with 0, which ends the machine.
    pub(crate) fn ask_to_end(&mut self) -> Result<(), Failure> {
        self.probe()?.say("exit 0")
    }

    /// How often the kernel's accounts of its sockets did not add up, by the line that it
    /// prints as the machine ends.
    pub(crate) fn socket_faults(&self) -> Option<u64> {
        let lines = self.machine.console().lines();
        let last = lines
            .iter()
            .rev()
            .find_map(|line| line.text.strip_prefix("[kernel] sockets "))?;
        fields(last).get("faults")?.parse().ok()
    }

    /// The kernel's counts, printed as the machine ends.
    pub(crate) fn listeners(&self) -> Vec<ListenerCount> {
        let lines = self.machine.console().lines();
        lines
            .iter()
            .filter_map(|line| ListenerCount::parse(&line.text))
            .collect()
    }
}
