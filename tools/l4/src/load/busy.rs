//! Other work on the host's processors: a thread each that does nothing but want one.

use std::num::NonZero;

use crate::load::background::Background;

/// Work that goes on until it is dropped.
pub(crate) struct Busy {
    _threads: Vec<Background<()>>,
}

impl Busy {
    pub(crate) fn start() -> Self {
        let processors = std::thread::available_parallelism().map_or(1, NonZero::get);
        let spin = |stop: &crate::load::background::Stop| {
            while !stop.is_told() {
                std::hint::spin_loop();
            }
        };
        Self {
            _threads: (0..processors).map(|_| Background::start(spin)).collect(),
        }
    }
}
