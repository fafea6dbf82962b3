//! One QEMU machine: started, read, awaited and ended. Dropping it ends QEMU, so no case
//! can leave one behind (invariant H4).

mod accept_queue;
pub(crate) mod console;
mod flows;
pub(crate) mod nic;
pub(crate) mod ports;
pub(crate) mod registry;
pub(crate) mod share;
pub(crate) mod spec;

use std::fs::File;
use std::io::Read;
use std::net::SocketAddr;
use std::os::unix::net::{UnixListener, UnixStream};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::child;
use crate::exit_code::MachineExit;
use crate::failure::Failure;
use crate::machine::console::{Console, Line, NoLine};
use crate::machine::ports::Reserved;
use crate::machine::spec::{Interrupts, MachineSpec};

/// How long QEMU may take to start, to speak or to be gone. Generous: shared machines stall.
const SOON: Duration = Duration::from_secs(60);

pub(crate) struct Machine {
    child: Arc<Mutex<Child>>,
    overdue: Arc<AtomicBool>,
    time_limit: Duration,
    /// Dropped with the machine, which ends the watchdog.
    _watched: Option<Sender<()>>,
    stderr: Option<ChildStderr>,
    console: Console,
    control: Option<UnixStream>,
    host: Vec<Option<SocketAddr>>,
    _reserved: Vec<Reserved>,
    /// Whether the forwarded ports have room for clients that come together.
    deepened: bool,
    folder: PathBuf,
    ended: Option<MachineExit>,
}

impl Machine {
    /// Starts the machine and connects its two serial ports.
    pub(crate) fn boot(spec: &MachineSpec) -> Result<Self, Failure> {
        let folder = control_folder()?;
        let socket = folder.join("com2");
        let listener = UnixListener::bind(&socket)
            .map_err(|error| Failure::host("making the control socket", error))?;
        let log = File::create(&spec.serial_log)
            .map_err(|error| Failure::host(spec.serial_log.display().to_string(), error))?;
        let (host, reserved) = ports::choose(&spec.nics)?;
        let started = Instant::now();
        let missing = |error: std::io::Error| Failure::EmulatorMissing {
            program: spec.emulator.to_string_lossy().into_owned(),
            cause: error.to_string(),
        };
        let mut command = child::leashed(&spec.emulator).map_err(missing)?;
        if spec.interrupts == Interrupts::HarnessAlone {
            command.process_group(0);
        }
        let mut child = command
            .args(spec.arguments(&host, &socket))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(missing)?;
        registry::note(&child);
        let Some(stdout) = child.stdout.take() else {
            return Err(Failure::host("reading the console", "no pipe"));
        };
        let console = Console::read(stdout, started, log, spec.echo);
        let stderr = child.stderr.take();
        let mut machine = Self {
            _watched: None,
            child: Arc::new(Mutex::new(child)),
            overdue: Arc::new(AtomicBool::new(false)),
            time_limit: spec.time_limit,
            stderr,
            console,
            control: None,
            host,
            _reserved: reserved,
            deepened: false,
            folder,
            ended: None,
        };
        machine.connect_control(&listener)?;
        machine.past_networks()?;
        machine.watch();
        Ok(machine)
    }

    /// Takes QEMU's connection for the second serial port, which it makes before the guest
    /// runs; learns instead that QEMU refused its command line.
    fn connect_control(&mut self, listener: &UnixListener) -> Result<(), Failure> {
        let failed = |error| Failure::host("waiting for the emulator", error);
        listener.set_nonblocking(true).map_err(failed)?;
        let deadline = Instant::now() + SOON;
        loop {
            match listener.accept() {
                Ok((stream, _)) => {
                    stream.set_nonblocking(false).map_err(failed)?;
                    self.control = Some(stream);
                    return Ok(());
                }
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
                Err(error) => return Err(failed(error)),
            }
            if let Some(status) = self.poll_exit()? {
                return Err(self.refused(status));
            }
            if Instant::now() > deadline {
                return Err(Failure::host(
                    "waiting for the emulator",
                    "it did not open its serial port",
                ));
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// Ends the machine when it outlives its limit, whatever the case is waiting for.
    fn watch(&mut self) {
        let (alive, watched) = channel();
        let (child, overdue) = (Arc::clone(&self.child), Arc::clone(&self.overdue));
        let limit = self.time_limit;
        std::thread::spawn(move || {
            if watched.recv_timeout(limit) == Err(RecvTimeoutError::Timeout) {
                overdue.store(true, Ordering::Release);
                drop(lock(&child).kill());
            }
        });
        self._watched = Some(alive);
    }

    /// QEMU sets its networks up after its serial ports, and may still refuse; the guest's
    /// first word says that it has not.
    fn past_networks(&mut self) -> Result<(), Failure> {
        let limit = SOON.min(self.time_limit);
        if self.console.wait(0, limit, |_| true) == Err(NoLine::Closed) {
            let exit = self.wait_exit(SOON)?;
            if matches!(exit, MachineExit::Emulator(_)) {
                return Err(self.refused(exit));
            }
        }
        Ok(())
    }

    fn refused(&mut self, status: MachineExit) -> Failure {
        let stderr = self.stderr();
        if stderr.contains("Could not set up host forwarding rule") {
            return Failure::PortTaken { cause: stderr };
        }
        Failure::EmulatorRefused { status, stderr }
    }

    fn stderr(&mut self) -> String {
        let mut text = String::new();
        if let Some(mut stderr) = self.stderr.take() {
            drop(stderr.read_to_string(&mut text));
        }
        text.trim().to_owned()
    }

    fn poll_exit(&mut self) -> Result<Option<MachineExit>, Failure> {
        if self.ended.is_none() {
            let mut child = lock(&self.child);
            let status = child
                .try_wait()
                .map_err(|error| Failure::host("waiting for the emulator", error))?;
            if status.is_some() {
                registry::forget(&child);
            }
            self.ended = status.map(MachineExit::from_status);
        }
        Ok(self.ended)
    }

    pub(crate) fn console(&self) -> &Console {
        &self.console
    }

    /// The control connection, once.
    pub(crate) fn take_control(&mut self) -> Option<UnixStream> {
        self.control.take()
    }

    /// Watches what the emulator gets of the host's processors.
    pub(crate) fn watch_share(&self) -> share::Watch {
        share::Watch::start(lock(&self.child).id())
    }

    /// The host address that reaches NIC `number` (from 1), if any does.
    pub(crate) fn host_address(&self, number: usize) -> Option<SocketAddr> {
        *self.host.get(number.checked_sub(1)?)?
    }

    /// Waits until the host has no connection to the machine any more, and so nothing that
    /// could still reach it; whether that came to be in time.
    pub(crate) fn await_no_flow(&self, timeout: Duration) -> bool {
        let deadline = Instant::now() + timeout;
        let is_free = |address: &SocketAddr| flows::count(*address).is_ok_and(|count| count == 0);
        while !self.host.iter().flatten().all(is_free) {
            if Instant::now() > deadline {
                return false;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        true
    }

    /// Waits for a console line at or after `from`; `awaited` names it in a failure.
    pub(crate) fn await_line(
        &mut self,
        from: usize,
        awaited: &str,
        timeout: Duration,
        wanted: impl FnMut(&str) -> bool,
    ) -> Result<(usize, Line), Failure> {
        let ended = match self.console.wait(from, timeout, wanted) {
            Ok(found) => {
                // The guest has spoken, so QEMU has opened its ports.
                if !self.deepened {
                    accept_queue::deepen(lock(&self.child).id());
                    self.deepened = true;
                }
                return Ok(found);
            }
            Err(ended) => ended,
        };
        Err(match ended {
            NoLine::Panicked(line) => Failure::Panic {
                line,
                awaited: awaited.to_owned(),
            },
            NoLine::TimedOut => Failure::Hang {
                awaited: awaited.to_owned(),
                waited: timeout,
                last: self.console.tail(),
            },
            NoLine::Closed => {
                let exit = self.wait_exit(SOON)?;
                self.past_limit(awaited)?;
                Failure::EndedEarly {
                    awaited: awaited.to_owned(),
                    exit,
                    last: self.console.tail(),
                }
            }
        })
    }

    /// Fails as a hang if the watchdog ended the machine.
    fn past_limit(&self, awaited: &str) -> Result<(), Failure> {
        if !self.overdue.load(Ordering::Acquire) {
            return Ok(());
        }
        Err(Failure::Hang {
            awaited: format!("{awaited} before the machine's time limit"),
            waited: self.time_limit,
            last: self.console.tail(),
        })
    }

    /// Waits until QEMU has ended, in whatever way, and its console is read to the end.
    pub(crate) fn wait_exit(&mut self, timeout: Duration) -> Result<MachineExit, Failure> {
        let deadline = Instant::now() + timeout;
        loop {
            if let Some(exit) = self.poll_exit()? {
                self.console.wait_closed(SOON);
                return Ok(exit);
            }
            if Instant::now() > deadline {
                return Err(Failure::NoExit {
                    waited: timeout,
                    last: self.console.tail(),
                });
            }
            // The console closes when QEMU ends, so this wakes at once.
            self.console.wait_closed(Duration::from_millis(20));
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// Waits until QEMU has ended in exactly the expected way.
    pub(crate) fn await_exit(
        &mut self,
        expected: MachineExit,
        timeout: Duration,
    ) -> Result<(), Failure> {
        let got = self.wait_exit(timeout)?;
        if got == expected {
            return Ok(());
        }
        self.past_limit("an orderly end")?;
        if got == MachineExit::Panic {
            let panic = |line: &Line| line.text.starts_with("[kernel] panic");
            if let Some(line) = self.console.lines().into_iter().find(panic) {
                return Err(Failure::Panic {
                    line: line.text,
                    awaited: expected.to_string(),
                });
            }
        }
        Err(Failure::WrongExit {
            expected,
            got,
            last: self.console.tail(),
        })
    }

    pub(crate) fn kill(&mut self) {
        if self.ended.is_none() {
            let mut child = lock(&self.child);
            drop(child.kill());
            registry::forget(&child);
            self.ended = child.wait().ok().map(MachineExit::from_status);
        }
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        self.kill();
        drop(std::fs::remove_dir_all(&self.folder));
    }
}

fn lock(child: &Mutex<Child>) -> MutexGuard<'_, Child> {
    child.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A fresh folder with a short path: a Unix socket's path holds 107 bytes.
fn control_folder() -> Result<PathBuf, Failure> {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let name = format!("l4-{}-{number}", std::process::id());
    let folder = Path::new("/tmp").join(name);
    std::fs::create_dir_all(&folder)
        .map_err(|error| Failure::host(folder.display().to_string(), error))?;
    Ok(folder)
}

#[cfg(test)]
mod tests;
