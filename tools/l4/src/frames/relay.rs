//! A bad wire: every frame between the user network and a NIC passes through here, and some
//! are lost, doubled, held back or let overtake others.

use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::failure::Failure;
use crate::load::background::Background;
use crate::machine::nic::RelayPorts;
use crate::machine::ports::Reserved;
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

#[derive(Debug, Default)]
pub(crate) struct Counts {
    passed: AtomicU64,
    lost: AtomicU64,
    doubled: AtomicU64,
    overtaken: AtomicU64,
}

/// A relay at work in two threads. It ends when it is dropped.
pub(crate) struct Relay {
    counts: Arc<Counts>,
    _ways: [Background<()>; 2],
    _reserved: [Reserved; 2],
}

impl Relay {
    /// Opens the wire and tells the four ports, QEMU's two of which are kept for it.
    pub(crate) fn open(badness: Badness, seed: u64) -> Result<(Self, RelayPorts), Failure> {
        let failed = |error| Failure::host("opening the relay", error);
        let bind = || {
            let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).map_err(failed)?;
            socket
                .set_read_timeout(Some(Duration::from_millis(2)))
                .map_err(failed)?;
            Ok(socket)
        };
        let port = |socket: &UdpSocket| Ok(socket.local_addr().map_err(failed)?.port());
        let clone = |socket: &UdpSocket| socket.try_clone().map_err(failed);
        let (nic_side, net_side) = (bind()?, bind()?);
        let reserved = [Reserved::udp()?, Reserved::udp()?];
        let [nic, net] = [reserved[0].address(), reserved[1].address()];
        let ports = RelayPorts {
            nic: nic.port(),
            nic_peer: port(&nic_side)?,
            net: net.port(),
            net_peer: port(&net_side)?,
        };
        let counts = Arc::<Counts>::default();
        let inward = Way {
            out: clone(&net_side)?,
            from: clone(&nic_side)?,
            to: net,
            counts: Arc::clone(&counts),
        };
        let outward = Way {
            out: nic_side,
            from: net_side,
            to: nic,
            counts: Arc::clone(&counts),
        };
        let relay = Self {
            counts,
            _ways: [
                inward.carry(badness, Random::new(seed)),
                outward.carry(badness, Random::new(seed ^ 0xffff)),
            ],
            _reserved: reserved,
        };
        Ok((relay, ports))
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

/// One of the wire's two ways.
struct Way {
    from: UdpSocket,
    out: UdpSocket,
    to: SocketAddr,
    counts: Arc<Counts>,
}

impl Way {
    fn carry(self, badness: Badness, mut random: Random) -> Background<()> {
        let Self {
            from,
            out,
            to,
            counts,
        } = self;
        Background::start(move |stop| {
            let mut frame = [0; 2048];
            let mut held: Option<Vec<u8>> = None;
            while !stop.is_told() {
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
        })
    }
}

fn release(held: &mut Option<Vec<u8>>, out: &UdpSocket, to: SocketAddr) {
    if let Some(frame) = held.take() {
        drop(out.send_to(&frame, to));
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use socket2::{Domain, Socket, Type};

    use super::*;

    /// Binds as QEMU does.
    fn bind(port: u16) -> UdpSocket {
        let socket = Socket::new(Domain::IPV4, Type::DGRAM, None).unwrap();
        socket.set_reuse_address(true).unwrap();
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        socket.bind(&address.into()).unwrap();
        socket.into()
    }

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
            let (nic, net) = (bind(ports.nic), bind(ports.net));
            net.set_read_timeout(Some(Duration::from_millis(200)))
                .unwrap();
            let mut came = Vec::new();
            for number in 0..100_u8 {
                nic.send_to(&[number; 60], (Ipv4Addr::LOCALHOST, ports.nic_peer))
                    .unwrap();
                std::thread::sleep(Duration::from_micros(200));
            }
            let mut frame = [0; 64];
            let limit = Instant::now() + Duration::from_secs(60);
            loop {
                if let Ok(60) = net.recv(&mut frame) {
                    came.push(frame[0]);
                    continue;
                }
                let [passed, lost, doubled, _] = relay.counts();
                if (passed + lost, came.len() as u64) == (100, passed + doubled) {
                    break;
                }
                assert!(Instant::now() < limit, "{} came", came.len());
            }
            assert_eq!(came.is_sorted() && came.len() == 100, good);
        }
    }
}
