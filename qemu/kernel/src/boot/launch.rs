//! From the boot package to processes that are ready to run.

use alloc::boxed::Box;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use harness_kernel::boot_package::{BootPlan, Grant, ProcessPlan};
use harness_kernel::call::kinds::Object;
use harness_kernel::call::ticket::ProcessIndex;
use harness_kernel::cap_table::CapTable;
use harness_kernel::capset_page::{self, CapSetPageError, NamedCap};
use harness_kernel::process::state::Process;
use harness_kernel::program::{self, ProgramError};
use ingress_schema::CAP_DISCRIMINATOR_NAME;
use ingress_schema::listen::{ListenBinding, Transport};

use super::load;
use crate::device::console::print_line;
use crate::kernel::state::Task;

/// Why a boot is refused once the package itself is sound.
pub(crate) enum LaunchError {
    /// A program cannot be loaded.
    Program(String, ProgramError),
    /// A set of capabilities makes no page.
    CapSet(String, CapSetPageError),
    /// A listen grant names a card that the machine does not have.
    NoTransport(String, ListenBinding),
    /// The memory is too small for this program.
    OutOfFrames(String),
}

impl core::fmt::Display for LaunchError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Program(name, error) => write!(f, "{name}: {error}"),
            Self::CapSet(name, error) => write!(f, "{name}: {}", error.explain()),
            Self::NoTransport(name, binding) => {
                write!(
                    f,
                    "{name}: listen grant on {binding}, which this machine does not have"
                )
            }
            Self::OutOfFrames(name) => {
                write!(f, "{name}: the machine has too little memory for it")
            }
        }
    }
}

/// The objects that grants refer to, made as they are first named.
pub(crate) struct Minted {
    /// One authority for each distinct binding.
    pub(crate) authorities: Vec<ListenBinding>,
    endpoints: u16,
    transports: usize,
}

impl Minted {
    /// Nothing yet, on a machine with so many transports, the loopback included.
    pub(crate) const fn new(transports: usize) -> Self {
        Self {
            authorities: Vec::new(),
            endpoints: 0,
            transports,
        }
    }

    fn object(&mut self, grant: Grant) -> Result<Object, ListenBinding> {
        Ok(match grant {
            Grant::Object(object) => object,
            Grant::Endpoint => {
                self.endpoints = self.endpoints.saturating_add(1);
                Object::Endpoint(self.endpoints)
            }
            Grant::Listen(binding) => Object::ListenAuthority(self.authority(binding)?),
        })
    }

    fn authority(&mut self, binding: ListenBinding) -> Result<u16, ListenBinding> {
        let exists = match binding.transport() {
            Transport::Any | Transport::Loopback => true,
            Transport::Nic(number) => usize::from(number.value()) < self.transports,
        };
        if !exists {
            return Err(binding);
        }
        let known = self.authorities.iter().position(|other| *other == binding);
        let place = known.unwrap_or_else(|| {
            self.authorities.push(binding);
            self.authorities.len().saturating_sub(1)
        });
        u16::try_from(place).map_err(|_| binding)
    }
}

/// Makes every process of the plan.
pub(crate) fn launch(
    plan: &BootPlan<'_>,
    minted: &mut Minted,
) -> Result<Vec<Option<Task>>, LaunchError> {
    let mut tasks = Vec::with_capacity(plan.processes.len());
    for (place, process) in plan.processes.iter().enumerate() {
        let task = start_process(process, ProcessIndex(place), minted)?;
        print_line!(
            "process {} pid={} loaded bytes={} check={:016x}",
            process.name,
            task.process.pid,
            process.file.len(),
            ingress_schema::check_number(process.file)
        );
        tasks.push(Some(task));
    }
    Ok(tasks)
}

fn start_process(
    plan: &ProcessPlan<'_>,
    index: ProcessIndex,
    minted: &mut Minted,
) -> Result<Task, LaunchError> {
    let mut caps = CapTable::new();
    let mut named = Vec::with_capacity(plan.grants.len().saturating_add(1));
    let full = || LaunchError::CapSet(plan.name.clone(), CapSetPageError::TooMany);
    let mut listens = false;
    for grant in &plan.grants {
        let object = minted
            .object(grant.grant)
            .map_err(|binding| LaunchError::NoTransport(plan.name.clone(), binding))?;
        listens |= matches!(object, Object::ListenAuthority(_));
        named.push(NamedCap {
            name: &grant.name,
            id: caps.insert(object).map_err(|_| full())?,
            interface: object.interface(),
        });
    }
    if listens {
        named.push(NamedCap {
            name: CAP_DISCRIMINATOR_NAME,
            id: caps.insert(Object::Discriminator).map_err(|_| full())?,
            interface: Object::Discriminator.interface(),
        });
    }
    let page = capset_page::build(&named)
        .map_err(|error| LaunchError::CapSet(plan.name.clone(), error))?;
    let program = program::read(plan.file)
        .map_err(|error| LaunchError::Program(plan.name.to_string(), error))?;
    let loaded = load::load(&program, index, &page)
        .map_err(|_| LaunchError::OutOfFrames(plan.name.clone()))?;
    Ok(Task {
        process: Process::new(index, plan.name.clone(), loaded.space, caps),
        saved: Box::new(loaded.context),
    })
}
