//! Memory that the driver and a card share, as `virtio-drivers` asks for it. It keeps
//! account of what the card has been lent: the same bytes twice, or bytes given back that
//! were not lent, fail the test, and so does a card of these tests that touches others.

use std::alloc::{Layout, alloc_zeroed};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ops::Range;
use std::ptr::NonNull;
use virtio_drivers::{BufferDirection, Hal, PAGE_SIZE, PhysAddr};

/// The memory of this thread's machine.
pub(crate) struct Ram;

#[derive(Default)]
struct Contents {
    /// Pages that were given out: first byte, and how many bytes. None comes back.
    pages: BTreeMap<u64, u64>,
    /// What the card has: first byte, how many bytes, which way.
    lent: BTreeMap<u64, (u64, BufferDirection)>,
    /// Registers that were mapped.
    mapped: Vec<Range<u64>>,
    /// Allocations that are left, if there is an end.
    left: Option<usize>,
}

thread_local! {
    static CONTENTS: RefCell<Contents> = RefCell::default();
}

fn with<R>(act: impl FnOnce(&mut Contents) -> R) -> R {
    CONTENTS.with(|contents| act(&mut contents.borrow_mut()))
}

/// The entry of `map` that holds all of these bytes.
fn holds<V>(map: &BTreeMap<u64, V>, bytes: impl Fn(&V) -> u64, asked: &Range<u64>) -> bool {
    let entry = map.range(..=asked.start).next_back();
    entry.is_some_and(|(start, value)| asked.end <= start + bytes(value))
}

fn range(start: u64, bytes: usize) -> Range<u64> {
    start..start + bytes as u64
}

impl Ram {
    /// Memory anew, for so many allocations if there is an end.
    pub(crate) fn renew(left: Option<usize>) {
        with(|contents| {
            *contents = Contents {
                left,
                ..Contents::default()
            }
        });
    }

    /// Whether a card has any of these bytes.
    pub(crate) fn is_lent(address: u64, count: usize) -> bool {
        let asked = range(address, count);
        with(|contents| contents.overlaps(&asked))
    }

    /// The registers that were mapped, in their order.
    pub(crate) fn mapped() -> Vec<Range<u64>> {
        with(|contents| contents.mapped.clone())
    }

    /// As a card writes a buffer that it was lent for it.
    pub(crate) fn write(address: u64, bytes: &[u8]) {
        let asked = range(address, bytes.len());
        with(|contents| contents.check_lent(&asked, BufferDirection::DeviceToDriver));
        Self::copy_in(address, bytes);
    }

    /// As a card reads a buffer that it was lent for it.
    pub(crate) fn read(address: u64, count: usize) -> Vec<u8> {
        let asked = range(address, count);
        with(|contents| contents.check_lent(&asked, BufferDirection::DriverToDevice));
        Self::copy_out(address, count)
    }

    /// As a card writes a queue.
    pub(crate) fn write_queue(address: u64, bytes: &[u8]) {
        let asked = range(address, bytes.len());
        with(|contents| assert!(holds(&contents.pages, |&bytes| bytes, &asked)));
        Self::copy_in(address, bytes);
    }

    /// As a card reads a queue.
    pub(crate) fn read_queue<const COUNT: usize>(address: u64) -> [u8; COUNT] {
        let asked = range(address, COUNT);
        with(|contents| assert!(holds(&contents.pages, |&bytes| bytes, &asked)));
        Self::copy_out(address, COUNT).try_into().unwrap()
    }

    fn copy_in(address: u64, bytes: &[u8]) {
        let to = std::ptr::with_exposed_provenance_mut::<u8>(address as usize);
        // SAFETY: the callers have seen that these bytes are of a page, which none gives
        // back, and that no reference is to them while a card has them.
        unsafe { to.copy_from(bytes.as_ptr(), bytes.len()) };
    }

    fn copy_out(address: u64, count: usize) -> Vec<u8> {
        let from = std::ptr::with_exposed_provenance::<u8>(address as usize);
        let mut bytes = vec![0; count];
        // SAFETY: as above.
        unsafe { from.copy_to(bytes.as_mut_ptr(), count) };
        bytes
    }

    fn pages(pages: usize) -> NonNull<u8> {
        let layout = Layout::from_size_align(pages * PAGE_SIZE, PAGE_SIZE).unwrap();
        // SAFETY: nobody asks for no page at all.
        NonNull::new(unsafe { alloc_zeroed(layout) }).unwrap()
    }
}

impl Contents {
    fn overlaps(&self, asked: &Range<u64>) -> bool {
        let before = self.lent.range(..asked.end).next_back();
        before.is_some_and(|(start, (bytes, _))| start + bytes > asked.start)
    }

    fn check_lent(&self, asked: &Range<u64>, direction: BufferDirection) {
        assert!(
            holds(&self.lent, |lent| lent.0, asked),
            "touches what it has not"
        );
        let (_, (_, lent)) = self.lent.range(..=asked.start).next_back().unwrap();
        assert_eq!(*lent, direction);
    }
}

// SAFETY: pages are whole, zeroed, aligned and nobody else's; none is given back.
unsafe impl Hal for Ram {
    fn dma_alloc(pages: usize, _: BufferDirection) -> (PhysAddr, NonNull<u8>) {
        let is_there = with(|contents| match &mut contents.left {
            Some(0) => false,
            Some(left) => {
                *left -= 1;
                true
            }
            None => true,
        });
        if !is_there {
            return (0, NonNull::dangling());
        }
        let start = Self::pages(pages);
        let address = start.as_ptr().expose_provenance() as u64;
        with(|contents| contents.pages.insert(address, (pages * PAGE_SIZE) as u64));
        (address, start)
    }

    unsafe fn dma_dealloc(_: PhysAddr, _: NonNull<u8>, _: usize) -> i32 {
        0
    }

    unsafe fn mmio_phys_to_virt(physical: PhysAddr, bytes: usize) -> NonNull<u8> {
        with(|contents| contents.mapped.push(range(physical, bytes)));
        Self::pages(bytes.div_ceil(PAGE_SIZE).max(1))
    }

    unsafe fn share(buffer: NonNull<[u8]>, direction: BufferDirection) -> PhysAddr {
        let address = buffer.as_ptr().expose_provenance() as u64;
        let asked = range(address, buffer.len());
        with(|contents| {
            assert!(holds(&contents.pages, |&bytes| bytes, &asked));
            assert!(!contents.overlaps(&asked), "lent twice");
            let lent = (buffer.len() as u64, direction);
            contents.lent.insert(address, lent);
        });
        address
    }

    unsafe fn unshare(address: PhysAddr, buffer: NonNull<[u8]>, direction: BufferDirection) {
        assert_eq!(address, buffer.as_ptr().addr() as u64);
        let lent = with(|contents| contents.lent.remove(&address));
        assert_eq!(lent, Some((buffer.len() as u64, direction)));
    }
}
