//! A bad wire: every frame between the user network and a NIC passes through here, and some
//! are lost, doubled, held back or let overtake others.

use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use crate::failure::Failure;
use crate::machine::spec::RelayPorts;
use crate::random::Random;

/// How bad the wire is, in percent of frames.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Badness {
    /// Frames that vanish.
    pub(crate) lost: usize,
    /// Frames that come twice.
    pub(crate) doubled: usize,
    /// Frames that the next one overtakes.
    pub(crate) overtaken: usize,
}

/// What the wire did.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    passed: AtomicU64,
    lost: AtomicU64,
    doubled: AtomicU64,
    overtaken: AtomicU64,
}

/// A relay at work in two threads. It ends when it is dropped.
pub(crate) struct Relay {
    stop: Arc<AtomicBool>,
    counts: Arc<Counts>,
}

impl Relay {
    /// Opens the wire and tells QEMU's four ports.
    pub(crate) fn open(badness: Badness, seed: u64) -> Result<(Self, RelayPorts), Failure> {
        let failed = |error| Failure::host("opening the relay", error);
        let bind = || UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).map_err(failed);
        let port = |socket: &UdpSocket| socket.local_addr().map_err(failed);
        let (nic_side, net_side) = (bind()?, bind()?);
        let (nic, net) = (port(&bind()?)?, port(&bind()?)?);
        let ports = RelayPorts {
            nic: nic.port(),
            nic_peer: port(&nic_side)?.port(),
            net: net.port(),
            net_peer: port(&net_side)?.port(),
        };
        let relay = Self {
            stop: Arc::new(AtomicBool::new(false)),
            counts: Arc::default(),
        };
        let clone = |socket: &UdpSocket| socket.try_clone().map_err(failed);
        let (nic_out, net_out) = (clone(&nic_side)?, clone(&net_side)?);
        relay.carry(nic_side, net_out, net, badness, Random::new(seed))?;
        relay.carry(net_side, nic_out, nic, badness, Random::new(seed ^ 0xffff))?;
        Ok((relay, ports))
    }

    fn carry(
        &self,
        from: UdpSocket,
        out: UdpSocket,
        to: SocketAddr,
        badness: Badness,
        mut random: Random,
    ) -> Result<(), Failure> {
        from.set_read_timeout(Some(Duration::from_millis(2)))
            .map_err(|error| Failure::host("opening the relay", error))?;
        let (stop, counts) = (Arc::clone(&self.stop), Arc::clone(&self.counts));
        std::thread::spawn(move || {
            let mut frame = [0; 2048];
            let mut held: Option<Vec<u8>> = None;
            while !stop.load(Ordering::Acquire) {
                let Ok(count) = from.recv(&mut frame) else {
                    // Nothing overtakes a held frame on a quiet wire.
                    release(&mut held, &out, to);
                    continue;
                };
                let bytes = frame.get(..count).unwrap_or_default();
                let draw = random.below(100);
                if draw < badness.lost {
                    counts.lost.fetch_add(1, Ordering::Relaxed);
                    continue;
                }
                counts.passed.fetch_add(1, Ordering::Relaxed);
                if draw < badness.lost + badness.overtaken && held.is_none() {
                    counts.overtaken.fetch_add(1, Ordering::Relaxed);
                    held = Some(bytes.to_vec());
                    continue;
                }
                drop(out.send_to(bytes, to));
                if random.below(100) < badness.doubled {
                    counts.doubled.fetch_add(1, Ordering::Relaxed);
                    drop(out.send_to(bytes, to));
                }
                release(&mut held, &out, to);
            }
        });
        Ok(())
    }

    /// Frames passed, lost, doubled, overtaken.
    pub(crate) fn counts(&self) -> [u64; 4] {
        let counts = &self.counts;
        [
            &counts.passed,
            &counts.lost,
            &counts.doubled,
            &counts.overtaken,
        ]
        .map(|count| count.load(Ordering::Relaxed))
    }
}

fn release(held: &mut Option<Vec<u8>>, out: &UdpSocket, to: SocketAddr) {
    if let Some(frame) = held.take() {
        drop(out.send_to(&frame, to));
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bad_wire_loses_and_doubles_and_a_good_one_does_neither() {
        for (badness, good) in [
            (Badness::default(), true),
            (
                Badness {
                    lost: 20,
                    doubled: 20,
                    overtaken: 20,
                },
                false,
            ),
        ] {
            let (relay, ports) = Relay::open(badness, 3).unwrap();
            let nic = UdpSocket::bind((Ipv4Addr::LOCALHOST, ports.nic)).unwrap();
            let net = UdpSocket::bind((Ipv4Addr::LOCALHOST, ports.net)).unwrap();
            net.set_read_timeout(Some(Duration::from_millis(200)))
                .unwrap();
            let mut came = Vec::new();
            for number in 0..100_u8 {
                nic.send_to(&[number; 60], (Ipv4Addr::LOCALHOST, ports.nic_peer))
                    .unwrap();
                std::thread::sleep(Duration::from_micros(200));
            }
            let mut frame = [0; 64];
            while let Ok(60) = net.recv(&mut frame) {
                came.push(frame[0]);
            }
            let [passed, lost, doubled, _] = relay.counts();
            assert_eq!(passed + lost, 100);
            assert_eq!(came.len() as u64, passed + doubled);
            assert_eq!(came.is_sorted() && came.len() == 100, good);
        }
    }
}
