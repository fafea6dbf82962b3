//! The harness kernel: the published capOS ABI, as far as the ingress service,
//! its in-guest clients and the runtime's own smoke program need it. See
//! `README.md` for the map of the folders.
#![no_std]
#![no_main]

extern crate alloc;
use freestanding as _;

mod boot;
mod cell;
mod cpu;
mod device;
mod memory;
mod panic;
mod trap;

use device::console::print_line;

#[unsafe(no_mangle)]
extern "C" fn kernel_main(start_info: u64) -> ! {
    device::console::prepare();
    print_line!("hello start_info={start_info:#x}");
    let info = match boot::start_info::read(start_info) {
        Ok(info) => info,
        Err(e) => {
            print_line!("boot refused: {}", e.explain());
            device::exit::leave(device::exit::Ending::BootRefused)
        }
    };
    print_line!("package {:#x} {}", info.package.start, info.package.length);
    for r in info.usable.iter() {
        print_line!("usable {:#x} {:#x}", r.start, r.length);
    }
    let image = memory::layout::image();
    let kernel = memory::region::Region {
        start: image.code - memory::layout::KERNEL_BASE,
        length: image.end - image.code,
    };
    memory::frames::start(&info.usable, &[kernel, info.package]);
    device::exit::leave(device::exit::Ending::Success)
}

#[unsafe(no_mangle)]
extern "C" fn handle_syscall() {}
#[unsafe(no_mangle)]
extern "C" fn handle_trap(_vector: u64, _error: u64) {}
