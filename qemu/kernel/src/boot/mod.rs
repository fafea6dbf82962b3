//! From the firmware's jump to the first process: machine entry, start info,
//! memory, devices, boot package, launch.

pub(crate) mod launch;
pub(crate) mod load;
pub(crate) mod start_info;

use alloc::string::ToString;
use alloc::vec::Vec;

use harness_kernel::boot_package::{self, BootPlan};
use harness_kernel::call::scratch::Scratch;
use harness_kernel::call::ticket::ProcessIndex;
use harness_kernel::object::reader::Terminal;
use harness_kernel::object::world::{SystemFacts, World};
use harness_kernel::secret::Secret;
use harness_kernel::shares::Shares;
use harness_net::{AddError, FrameDevice, NetConfig, NetStack};

use crate::cell::KernelCell;
use crate::cpu;
use crate::device::console::{self, print_line};
use crate::device::exit::{Ending, leave};
use crate::device::{pic, pit};
use crate::kernel::hardware::Hardware;
use crate::kernel::state::Kernel;
use crate::memory::evidence::MemoryEvidence;
use crate::memory::layout::{self, PAGE_BYTES};
use crate::memory::region::Region;
use crate::memory::{frames, heap, kernel_map};
use crate::network::card::{self, Card, Network};
use crate::time;
use crate::trap::descriptors;
use launch::Minted;

core::arch::global_asm!(include_str!("entry.s"));

/// The kernel heap. The network's buffers are most of it: 1,216 connections of
/// 6 KiB each; what else is allocated is bounded and small.
const HEAP_BYTES: usize = 10 * 1024 * 1024 + 512 * 1024;

static SCRATCH: KernelCell<Scratch> = KernelCell::new(Scratch::new());

/// From the machine entry: `start_info` is a physical address.
#[unsafe(no_mangle)]
extern "C" fn kernel_main(start_info: u64) -> ! {
    console::prepare();
    descriptors::load();
    let measurement = time::start_measurement();
    let info = match start_info::read(start_info) {
        Ok(info) => info,
        Err(error) => refuse(format_args!("{}", error.explain())),
    };
    let image = layout::image();
    let kernel = Region {
        start: image.code.wrapping_sub(layout::KERNEL_BASE),
        length: image.end.wrapping_sub(image.code),
    };
    frames::start(&info.usable, &[kernel, info.package]);
    if start_memory(&info).is_err() {
        refuse(format_args!("the machine has too little memory"));
    }
    console::start();
    pic::start();
    let package = match package_bytes(&info) {
        Some(package) => package,
        None => refuse(format_args!("boot package lies outside usable memory")),
    };
    let plan = match boot_package::read(package) {
        Ok(plan) => plan,
        Err(error) => refuse(format_args!("{error}")),
    };
    let cards = card::start_cards();
    let secret = secret(&cards);
    let origin = secret.origin();
    let config = NetConfig::new(secret.finish());
    let sockets = config.sockets;
    let mut network = Network::new(NetStack::new(config), sockets);
    card::add_cards(&mut network, cards);
    if let Err(error) = add_clients(&mut network, &plan) {
        refuse(format_args!("outgoing connections: {}", error.explain()));
    }
    let mut minted = Minted::new(network.stack.transport_count());
    let tasks = match launch::launch(&plan, &mut minted) {
        Ok(tasks) => tasks,
        Err(error) => refuse(format_args!("{error}")),
    };
    if let Err(error) = time::finish_measurement(measurement) {
        refuse(format_args!("{}", error.explain()));
    }
    time::read_date();
    print_line!("started ns={} entropy={}", time::now(), origin.name());
    crate::kernel::entry::start(Kernel {
        remains: Vec::with_capacity(tasks.len()),
        tasks,
        running: None,
        running_since: 0,
        shares: shares(&plan),
        tick_at: 0,
        output_at: 0,
        interruptions: 0,
        memory: MemoryEvidence::default(),
        world: World {
            platform: Hardware::start(),
            network,
            terminal: Terminal::new(),
            authorities: minted.authorities,
            facts: SystemFacts {
                motd: plan.motd.to_string(),
                hostname: plan.hostname.to_string(),
                log_level: plan.log_level,
            },
        },
        scratch: SCRATCH.leak(),
        decisive: ProcessIndex(plan.decisive),
    })
}

/// The shares of the processor, those that may listen before all others.
fn shares(plan: &BootPlan<'_>) -> Shares {
    let mut shares = Shares::new();
    for (place, process) in plan.processes.iter().enumerate() {
        if process.may_listen() {
            shares.set_serving(place);
        }
    }
    shares
}

/// Sets the outgoing connections of each process aside that may make any.
fn add_clients(network: &mut Network, plan: &BootPlan<'_>) -> Result<(), AddError> {
    plan.processes
        .iter()
        .enumerate()
        .filter(|(_, process)| process.may_connect())
        .try_for_each(|(place, _)| network.stack.add_client(ProcessIndex(place).client()))
}

fn start_memory(info: &start_info::StartInfo) -> Result<(), frames::OutOfFrames> {
    let end = info
        .usable
        .iter()
        .chain([&info.package])
        .map(Region::end)
        .max()
        .unwrap_or(0)
        .min(layout::MAPPED_LIMIT)
        .next_multiple_of(PAGE_BYTES);
    cpu::harden();
    kernel_map::build(end)?;
    heap::start(HEAP_BYTES)
}

/// The boot package, through the map of all memory.
fn package_bytes(info: &start_info::StartInfo) -> Option<&'static [u8]> {
    if info.package.end() > layout::MAPPED_LIMIT || info.package.length == 0 {
        return None;
    }
    let length = usize::try_from(info.package.length).ok()?;
    let start = layout::physical_pointer(info.package.start);
    // SAFETY: the region is mapped, was taken out of the frame pool, and is
    // never written again.
    Some(unsafe { core::slice::from_raw_parts(start, length) })
}

/// Readings of both clocks that go into the secret.
const JITTER_READINGS: u32 = 64;

/// What a peer cannot guess: the processor's random numbers where it has them,
/// the date, the cards' addresses, and the time that readings of one clock take
/// on the other. Their lowest bits depend on whatever else the machine does.
fn secret(cards: &[Card]) -> Secret {
    let random = cpu::random_word().zip(cpu::random_word());
    let mut secret = Secret::new(random.map(|(first, second)| [first, second]));
    secret.add(u64::from_le_bytes(time::date_registers()));
    for card in cards {
        let [a, b, c, d, e, f] = card.mac();
        secret.add(u64::from_le_bytes([a, b, c, d, e, f, 0, 0]));
    }
    for _ in 0..JITTER_READINGS {
        let reading = pit::read_once();
        secret.add(reading.stamp);
        secret.add(u64::from(reading.count));
    }
    secret
}

/// Ends a machine whose boot cannot go on.
fn refuse(reason: core::fmt::Arguments<'_>) -> ! {
    print_line!("boot refused: {reason}");
    print_line!("exit {}", Ending::BootRefused.name());
    console::drain();
    leave(Ending::BootRefused)
}
