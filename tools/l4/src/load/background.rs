//! Work in a thread of its own until it is told to stop. Whatever way its owner ends, it
//! ends too: a load that went on would fall on the next machine that gets the same port.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

#[derive(Clone, Default)]
pub(crate) struct Stop(Arc<AtomicBool>);

impl Stop {
    pub(crate) fn is_told(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}

pub(crate) struct Background<T> {
    stop: Stop,
    thread: Option<JoinHandle<T>>,
}

impl<T: Default + Send + 'static> Background<T> {
    /// Starts `work`, which looks at [`Stop`] often.
    pub(crate) fn start(work: impl FnOnce(&Stop) -> T + Send + 'static) -> Self {
        let stop = Stop::default();
        let told = stop.clone();
        Self {
            stop,
            thread: Some(std::thread::spawn(move || work(&told))),
        }
    }

    pub(crate) fn finish(mut self) -> T {
        self.end().unwrap_or_default()
    }
}

impl<T> Background<T> {
    fn end(&mut self) -> Option<T> {
        self.stop.0.store(true, Ordering::Release);
        self.thread.take()?.join().ok()
    }
}

impl<T> Drop for Background<T> {
    fn drop(&mut self) {
        drop(self.end());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_ends_with_its_owner_finished_or_dropped() {
        let count = |stop: &Stop| {
            let mut turns = 0_u64;
            while !stop.is_told() {
                turns += 1;
                std::thread::yield_now();
            }
            turns.max(1)
        };
        assert!(Background::start(count).finish() > 0);
        let (ended, end) = std::sync::mpsc::channel();
        drop(Background::start(move |stop| {
            assert!(ended.send(count(stop)).is_ok());
        }));
        assert!(end.try_recv().is_ok());
    }
}
