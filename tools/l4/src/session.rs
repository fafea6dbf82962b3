//! One run of one case: boots machines and keeps the record.

use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::time::Duration;

use mkmanifest::{LaneRules, say};

use crate::accel::Accel;
use crate::artefacts::Artefacts;
use crate::evidence::{Evidence, ListenerCount};
use crate::exit_code::MachineExit;
use crate::failure::Failure;
use crate::frames::Peer;
use crate::guest::Guest;
use crate::lane::Lane;
use crate::machine::Machine;
use crate::machine::console::Console;
use crate::machine::nic::{Backend, HostPort, Nic};
use crate::machine::spec::{Interrupts, Less, MachineSpec};
use crate::package;
use crate::record::{Boot, Chart, Check, Figure, ProbeRow, Record};
use crate::trial::Trial;
use crate::wire::{Wire, tap};

/// How long a machine may take for what it does by itself in a moment: shared hosts stall. It
/// is longer than the service lets any client be silent, and than QEMU's user network goes on
/// sending what was lost.
pub(crate) const SLOW_HOST: Duration = Duration::from_secs(120);

/// How long it is awaited where a check has failed already.
const FALLEN: Duration = Duration::from_secs(10);

/// What all sessions share.
pub(crate) struct Bench {
    pub(crate) artefacts: Artefacts,
    pub(crate) accel: Accel,
    /// Where a run's files go.
    pub(crate) out: PathBuf,
    /// How long a load lasts whose effect is measured.
    pub(crate) load_time: Duration,
    /// Whether this harness was started in a network namespace of its own.
    pub(crate) inside_namespace: bool,
}

/// How a negative control breaks what a case relies on.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Sabotage {
    /// Boots one of the harness's own control manifests where the case asks for `of`.
    Manifest {
        /// The manifest that the case asks for.
        of: &'static str,
        /// The one that it gets.
        instead: &'static str,
    },
    /// Boots a sound manifest where the case has made the package `of` by hand.
    Package {
        /// The package that the case makes.
        of: &'static str,
        /// The manifest that is compiled in its place.
        instead: &'static str,
    },
    /// Boots a service that was built with a deliberate defect.
    Service(&'static str),
    /// Boots a kernel that was built with a deliberate defect.
    Kernel(&'static str),
}

/// One run of one case.
pub(crate) struct Session<'bench> {
    bench: &'bench Bench,
    folder: PathBuf,
    wire: Wire,
    /// Dropped with the session, which removes them.
    _devices: Option<tap::Devices>,
    sabotage: Option<Sabotage>,
    record: Record,
    consoles: Vec<Console>,
}

impl<'bench> Session<'bench> {
    /// Opens a session whose files go to `folder` and whose traffic over `wire`.
    pub(crate) fn open(
        bench: &'bench Bench,
        folder: PathBuf,
        wire: Wire,
        sabotage: Option<Sabotage>,
    ) -> Result<Self, Failure> {
        std::fs::create_dir_all(&folder)
            .map_err(|error| Failure::host(folder.display().to_string(), error))?;
        let devices = (wire == Wire::Tap).then(tap::Devices::make).transpose()?;
        Ok(Self {
            bench,
            folder,
            wire,
            _devices: devices,
            sabotage,
            record: Record::default(),
            consoles: Vec::new(),
        })
    }

    /// Tells the person who watches what is being done.
    pub(crate) fn step(&self, what: impl AsRef<str>) {
        say!("      . {}", what.as_ref());
    }

    pub(crate) fn wire(&self) -> Wire {
        self.wire
    }

    /// How long a load lasts whose effect is measured.
    pub(crate) fn load_time(&self) -> Duration {
        self.bench.load_time
    }

    /// Where this case's files go.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    pub(crate) fn artefacts(&self) -> &'bench Artefacts {
        &self.bench.artefacts
    }

    pub(crate) fn check(&mut self, claim: impl Into<String>, held: bool, detail: impl Display) {
        self.record.checks.push(Check {
            claim: claim.into(),
            held,
            detail: detail.to_string(),
        });
    }

    /// How long something is awaited that the guest does in a moment: long, for the host may
    /// be slow. Once a check has failed the verdict has fallen, and a short time will do.
    pub(crate) fn patience(&self) -> Duration {
        if self.record.checks.iter().all(|check| check.held) {
            SLOW_HOST
        } else {
            FALLEN
        }
    }

    pub(crate) fn check_equal<T: PartialEq + Display>(
        &mut self,
        claim: impl Into<String>,
        got: T,
        expected: T,
    ) {
        let detail = format!("expected {expected}, got {got}");
        self.check(claim, got == expected, detail);
    }

    pub(crate) fn figure(&mut self, name: impl Into<String>, value: impl Display) {
        self.record.figures.push(Figure {
            name: name.into(),
            value: value.to_string(),
        });
    }

    /// Records the provider's probe under a load.
    pub(crate) fn probes(&mut self, rows: impl IntoIterator<Item = ProbeRow>) {
        self.record.probes.extend(rows);
    }

    pub(crate) fn chart(&mut self, chart: Chart) {
        self.record.charts.push(chart);
    }

    /// The two NICs that every default boot has, on the session's wire.
    pub(crate) fn nics(&self) -> Vec<Nic> {
        if self.wire == Wire::Tap {
            let lanes = [Lane::Anonymous, Lane::ProviderHealth].into_iter();
            let nic = |(lane, device)| Nic::of(lane, Backend::Tap(device));
            return lanes.zip(tap::DEVICES).map(nic).collect();
        }
        Self::user_nics()
    }

    /// The same on user networks.
    pub(crate) fn user_nics() -> Vec<Nic> {
        [Lane::Anonymous, Lane::ProviderHealth]
            .map(|lane| Nic::of(lane, Backend::User(HostPort::Ephemeral)))
            .to_vec()
    }

    /// Boots a manifest on the usual NICs and waits for the readiness line and the in-guest
    /// client.
    pub(crate) fn boot(&mut self, manifest: &str) -> Result<Trial<'_, 'bench>, Failure> {
        self.boot_on(manifest, self.nics())
    }

    /// The same on these NICs.
    pub(crate) fn boot_on(
        &mut self,
        manifest: &str,
        nics: Vec<Nic>,
    ) -> Result<Trial<'_, 'bench>, Failure> {
        let mut guest = self.launch(manifest, LaneRules::Checked, nics)?;
        guest.await_ready()?;
        self.note_ready(&guest);
        Ok(Trial::of(self, guest))
    }

    /// The same with a peer made by hand as the whole public wire. It may leave answers unread.
    pub(crate) fn boot_by_hand(
        &mut self,
        manifest: &str,
    ) -> Result<(Trial<'_, 'bench>, Peer), Failure> {
        let (peer, backend) = Peer::open()?;
        let mut nics = self.nics();
        if let Some(public) = nics.first_mut() {
            public.backend = backend;
        }
        Ok((self.boot_on(manifest, nics)?.at_most(), peer))
    }

    pub(crate) fn note_ready(&mut self, guest: &Guest) {
        if let Some(boot) = self.record.boots.get_mut(guest.index()) {
            boot.ready_seconds = guest.ready_seconds();
        }
    }

    /// Compiles a manifest and starts a machine, without waiting for anything.
    pub(crate) fn launch(
        &mut self,
        manifest: &str,
        rules: LaneRules,
        nics: Vec<Nic>,
    ) -> Result<Guest, Failure> {
        let package = self.next_package(manifest);
        self.compile(manifest, rules, &package)?;
        self.launch_package(manifest, package, nics)
    }

    /// Compiles a manifest that the case has written itself, and starts a machine on the usual
    /// NICs.
    pub(crate) fn launch_written(&mut self, name: &str, text: &str) -> Result<Guest, Failure> {
        let file = self.folder.join(format!("{name}.toml"));
        std::fs::write(&file, text)
            .map_err(|error| Failure::host(file.display().to_string(), error))?;
        let package = self.next_package(name);
        self.compile_file(name, file, LaneRules::Checked, &package)?;
        self.launch_package(name, package, self.nics())
    }

    /// Where the package of the next boot goes.
    fn next_package(&self, manifest: &str) -> PathBuf {
        let number = self.record.boots.len() + 1;
        self.folder.join(format!("{number:02}-{manifest}.package"))
    }

    /// Starts a machine on a package that is there already, good or bad.
    pub(crate) fn launch_package(
        &mut self,
        label: &str,
        package: PathBuf,
        nics: Vec<Nic>,
    ) -> Result<Guest, Failure> {
        self.launch_package_on(label, package, nics, Less::Nothing)
    }

    /// As [`Session::launch_package`], on a machine that lacks something.
    pub(crate) fn launch_package_on(
        &mut self,
        label: &str,
        package: PathBuf,
        nics: Vec<Nic>,
        less: Less,
    ) -> Result<Guest, Failure> {
        self.step(format!("boot {label}"));
        if let Some(Sabotage::Package { of, instead }) = self.sabotage
            && of == label
        {
            self.compile(instead, LaneRules::Checked, &package)?;
        }
        let index = self.record.boots.len();
        let stem = format!("{:02}-{label}", index + 1);
        let serial_log = self.folder.join(format!("{stem}.serial.log"));
        let package_bytes = std::fs::metadata(&package).map_or(0, |file| file.len());
        let spec = MachineSpec {
            emulator: self.bench.artefacts.qemu.clone(),
            accel: self.bench.accel,
            kernel: self.kernel()?,
            package,
            memory_mib: self.bench.artefacts.memory,
            less,
            nics,
            serial_log: serial_log.clone(),
            // Longer than the longest case, the soak. It is there for a harness that hangs, not
            // for a guest: whatever a case waits for has a limit of its own.
            time_limit: Duration::from_secs(900),
            interrupts: Interrupts::Shared,
            echo: None,
        };
        let machine = Machine::boot(&spec)?;
        self.consoles.push(machine.console().clone());
        self.record.boots.push(Boot {
            manifest: label.to_owned(),
            serial_log,
            package_bytes,
            ..Boot::default()
        });
        Ok(Guest::new(machine, index))
    }

    /// The kernel, or what sabotage puts in its place.
    fn kernel(&self) -> Result<PathBuf, Failure> {
        let artefacts = &self.bench.artefacts;
        let Some(Sabotage::Kernel(feature)) = self.sabotage else {
            return Ok(artefacts.kernel.clone());
        };
        let kernel = artefacts.broken_kernel(feature);
        crate::artefacts::present("the deliberately broken kernel", &kernel, "broken")?;
        Ok(kernel)
    }

    /// Compiles a manifest, or what sabotage puts in its place.
    pub(crate) fn compile(
        &self,
        manifest: &str,
        rules: LaneRules,
        out: &Path,
    ) -> Result<(), Failure> {
        let manifests = &self.bench.artefacts.manifests;
        self.compile_file(
            manifest,
            manifests.join(format!("{manifest}.toml")),
            rules,
            out,
        )
    }

    fn compile_file(
        &self,
        manifest: &str,
        mut file: PathBuf,
        mut rules: LaneRules,
        out: &Path,
    ) -> Result<(), Failure> {
        let mut artefacts = self.bench.artefacts.clone();
        match self.sabotage {
            Some(Sabotage::Manifest { of, instead }) if of == manifest => {
                let own = Path::new("tools/l4/controls").join(format!("{instead}.toml"));
                file = if own.exists() {
                    own
                } else {
                    artefacts.manifests.join(format!("{instead}.toml"))
                };
                rules = LaneRules::Unchecked;
            }
            Some(Sabotage::Service(feature)) => {
                artefacts.service = artefacts.broken_service(feature);
                crate::artefacts::present(
                    "the deliberately broken service",
                    &artefacts.service,
                    "broken",
                )?;
            }
            _ => {}
        }
        package::compile(&artefacts, &file, rules, out)
    }

    pub(crate) fn note_end(&mut self, guest: &Guest, exit: MachineExit) {
        if let Some(boot) = self.record.boots.get_mut(guest.index()) {
            boot.exit = Some(exit.to_string());
        }
    }

    /// Closes the session; whatever way it ended, each boot tells what its console says.
    pub(crate) fn into_record(mut self) -> Record {
        for (boot, console) in self.record.boots.iter_mut().zip(&self.consoles) {
            let lines = console.lines();
            let texts = || lines.iter().map(|line| line.text.as_str());
            boot.evidence = texts().rev().find_map(Evidence::parse);
            boot.listeners = texts().filter_map(ListenerCount::parse).collect();
            boot.memory = texts()
                .rev()
                .find_map(|line| line.strip_prefix("[kernel] memory "))
                .map(str::to_owned);
            boot.tail = console.tail();
        }
        self.record
    }
}
