//! A process's address space: an owned tree of tables over the shared kernel
//! half, with the page of its queues. Dropping it frees every user page.
//!
//! Data that is all zeros gets its frames when it is first touched, by the
//! process or by the kernel on its behalf, so that what a program reserves and
//! never uses takes no memory. Frames for the zeros of a [`Claim::Kept`] space
//! are set aside when it is made, so that no other process can take them.

use alloc::vec::Vec;
use core::cell::Cell;
use core::ops::Range;

use capos_config::ring::RING_VADDR;

use super::frames::{self, Frame, OutOfFrames};
use super::kernel_map;
use super::layout::{LARGE_PAGE_BYTES, PAGE_BYTES};
use super::page_table::{Access, Entry, Table, free_one_table, free_user_tables, map, small_pages};
use super::ring_page::RingPage;
use crate::cpu;

/// What a space's pages of zeros can count on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Claim {
    /// Frames of their own. They are never given back: the machine ends with
    /// the process that has this claim.
    Kept,
    /// Whatever frames are left when they are touched.
    Shared,
}

/// Address spaces are told apart by their root.
pub(crate) struct AddressSpace {
    root: Table,
    claim: Claim,
    /// Addresses of pages that are zeros until written; whole pages.
    zeros: Vec<Range<u64>>,
    /// At [`RING_VADDR`], and there as long as the space is.
    ring: RingPage,
    /// Tables of small pages that were found lately, each with its region, by the region's low
    /// bits. A call's buffers are looked up two dozen times a request, and tables stay where they
    /// are until the space is taken apart.
    walked: [Cell<Option<(Region, Table)>>; WALKED],
}

/// What one table of small pages maps.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Region(u64);

/// Places for tables that were found: a program's data and bss lie in so many regions.
const WALKED: usize = 8;

/// What a touch of an address came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Touch {
    /// There is a page now.
    Mapped,
    /// The address is none of those that get a page.
    Foreign,
    /// There is no frame for it.
    OutOfFrames,
}

impl AddressSpace {
    /// A space with nothing in its user half but the page of the queues.
    pub(crate) fn new(claim: Claim) -> Result<Self, OutOfFrames> {
        let root = Table::create()?;
        kernel_map::share_with(root);
        let frame = Frame::zeroed()?;
        let space = Self {
            root,
            claim,
            zeros: Vec::new(),
            ring: RingPage::of(&frame),
            walked: [const { Cell::new(None) }; WALKED],
        };
        space.map_frame(RING_VADDR, frame, Access::UserWrite)?;
        Ok(space)
    }

    /// The page of the queues.
    pub(crate) const fn ring(&self) -> &RingPage {
        &self.ring
    }

    /// Makes the space the current one, until another is or it is dropped.
    pub(crate) fn activate(&self) {
        // SAFETY: every space shares the kernel half, and one that is current is
        // left before its tables are freed.
        unsafe { cpu::load_tables(self.root.address()) };
    }

    /// Maps `frame`, which the space now owns, at user page `page`. A page
    /// that was mapped there before is freed.
    ///
    /// # Panics
    /// If it is the page of the queues, which no program's layout reaches.
    pub(crate) fn map(
        &mut self,
        page: u64,
        frame: Frame,
        access: Access,
    ) -> Result<(), OutOfFrames> {
        assert!(page != RING_VADDR, "the queues' page is not mapped anew");
        if let Some(old) = self.lookup(page) {
            Frame::reclaim(old.address()).free();
        }
        self.map_frame(page, frame, access)
    }

    /// Lets the whole pages in `pages` be zeros, writable, on demand.
    pub(crate) fn reserve_zeros(&mut self, pages: Range<u64>) -> Result<(), OutOfFrames> {
        if self.claim == Claim::Kept {
            let bytes = pages.end.saturating_sub(pages.start);
            frames::keep(bytes / PAGE_BYTES)?;
            // Their tables too are there from the start.
            let mut at = pages.start;
            while at < pages.end {
                map(self.root, at, 1, Access::UserWrite, Entry::none())?;
                at = (at / LARGE_PAGE_BYTES)
                    .saturating_add(1)
                    .saturating_mul(LARGE_PAGE_BYTES);
            }
        }
        self.zeros.push(pages);
        Ok(())
    }

    /// Gives `address` its page of zeros, if it is to have one.
    pub(crate) fn touch(&self, address: u64) -> Touch {
        if !self.zeros.iter().any(|range| range.contains(&address)) {
            return Touch::Foreign;
        }
        if self.lookup(address).is_some() {
            return Touch::Mapped;
        }
        let page = address & !(PAGE_BYTES - 1);
        let frame = match self.claim {
            Claim::Kept => Frame::kept(),
            Claim::Shared => Frame::zeroed(),
        };
        let mapped = frame.and_then(|frame| self.map_frame(page, frame, Access::UserWrite));
        mapped.map_or(Touch::OutOfFrames, |()| Touch::Mapped)
    }

    /// The entry that maps `address`, if the user half has one or is to.
    pub(crate) fn entry(&self, address: u64) -> Option<Entry> {
        let entry = self.lookup(address).or_else(|| {
            (self.touch(address) == Touch::Mapped)
                .then(|| self.lookup(address))
                .flatten()
        });
        entry.filter(|entry| entry.user_may_read())
    }

    fn lookup(&self, address: u64) -> Option<Entry> {
        let region = Region(address / LARGE_PAGE_BYTES);
        let place = usize::try_from(region.0).unwrap_or(0) % WALKED;
        let walked = self.walked.get(place)?;
        let table = match walked.get() {
            Some((known, table)) if known == region => table,
            _ => {
                let table = small_pages(self.root, address)?;
                walked.set(Some((region, table)));
                table
            }
        };
        table.page_of(address)
    }

    /// Frees a bounded part of the pages of a process that has ended; false once
    /// there is little left. Nothing reads the space any more.
    pub(crate) fn free_some(&mut self) -> bool {
        self.leave();
        for walked in &self.walked {
            walked.set(None);
        }
        free_one_table(self.root, 4)
    }

    /// Makes another space the current one, if this is it.
    fn leave(&self) {
        if cpu::current_tables() == self.root.address() {
            kernel_map::activate();
        }
    }

    fn map_frame(&self, page: u64, frame: Frame, access: Access) -> Result<(), OutOfFrames> {
        let physical = frame.into_address();
        map(self.root, page, 1, access, Entry::page(physical, access))
            .inspect_err(|_| Frame::reclaim(physical).free())
    }
}

impl Drop for AddressSpace {
    fn drop(&mut self) {
        self.leave();
        free_user_tables(self.root, 4);
    }
}
