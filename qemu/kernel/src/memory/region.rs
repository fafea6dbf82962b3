//! Ranges of physical memory.

/// A range of physical addresses.
#[derive(Clone, Copy)]
pub(crate) struct Region {
    /// First address.
    pub(crate) start: u64,
    /// Bytes.
    pub(crate) length: u64,
}

impl Region {
    /// First address after the region; saturates at the top.
    pub(crate) const fn end(&self) -> u64 {
        self.start.saturating_add(self.length)
    }
}

/// Regions in a list of fixed size.
pub(crate) struct RegionList {
    regions: [Region; Self::MAX],
    count: usize,
}

impl RegionList {
    /// Room in the list; further regions are ignored.
    const MAX: usize = 16;

    /// An empty list.
    pub(crate) const fn new() -> Self {
        Self {
            regions: [Region {
                start: 0,
                length: 0,
            }; Self::MAX],
            count: 0,
        }
    }

    /// Adds a region while there is room.
    pub(crate) fn push(&mut self, region: Region) {
        if let Some(slot) = self.regions.get_mut(self.count) {
            *slot = region;
            self.count = self.count.saturating_add(1);
        }
    }

    /// The regions in the order of their addition.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Region> {
        self.regions.iter().take(self.count)
    }
}
