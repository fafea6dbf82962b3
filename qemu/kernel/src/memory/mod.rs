//! Physical frames, page tables, the kernel heap, and access to user memory.

pub(crate) mod address_space;
pub(crate) mod evidence;
pub(crate) mod frames;
pub(crate) mod heap;
pub(crate) mod kernel_map;
pub(crate) mod layout;
pub(crate) mod page_table;
pub(crate) mod region;
pub(crate) mod ring_page;
pub(crate) mod user;
