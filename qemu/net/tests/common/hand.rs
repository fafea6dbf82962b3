//! A connection whose peer is the test itself, frame by frame.
#![allow(dead_code, reason = "each test binary uses its own part")]

use super::frames::{Raw, Seen, frame, parse};
use super::{PEER_ADDRESS, World, config};
use harness_net::{ListenerId, Recv, Sent, SocketId};
use smoltcp::wire::{IpAddress, Ipv4Packet, TcpControl, TcpPacket};

pub(crate) const OWN: u16 = 7_000;

/// A connection that the test itself is the peer of.
pub(crate) struct Hand {
    pub(crate) world: World,
    pub(crate) listener: ListenerId,
    pub(crate) socket: SocketId,
    /// Our next sequence number, and the next that we expect.
    pub(crate) next: u32,
    pub(crate) theirs: u32,
}

impl Hand {
    pub(crate) fn shake(isn: u32) -> Self {
        let mut world = World::new(config());
        let listener = world.listen(8080);
        let open = segment(TcpControl::Syn, isn, None, b"");
        let answer = send(&mut world, open).pop().expect("an answer");
        assert!(answer.syn && answer.ack);
        let (next, theirs) = (isn.wrapping_add(1), answer.sequence.wrapping_add(1));
        send(
            &mut world,
            segment(TcpControl::None, next, Some(theirs), b""),
        );
        let socket = world.accept(listener).expect("accepted").socket;
        Self {
            world,
            listener,
            socket,
            next,
            theirs,
        }
    }

    pub(crate) fn data(&self, payload: &[u8]) -> Vec<u8> {
        segment(TcpControl::Psh, self.next, Some(self.theirs), payload)
    }

    pub(crate) fn send(&mut self, frame: Vec<u8>) -> Vec<Seen> {
        send(&mut self.world, frame)
    }

    /// The connection carries a message each way.
    pub(crate) fn goes_on(&mut self) {
        self.says(b"ping");
        self.wait(1);
        assert_eq!(self.world.stack.send(self.socket, b"pong"), Sent::Bytes(4));
        let answers = self.wait(150);
        let sent: Vec<u8> = answers.into_iter().flat_map(|seen| seen.payload).collect();
        assert_eq!(sent, b"pong");
        self.theirs = self.theirs.wrapping_add(4);
        let heard = segment(TcpControl::None, self.next, Some(self.theirs), b"");
        self.send(heard);
    }

    pub(crate) fn says(&mut self, text: &[u8]) {
        self.send(self.data(text));
        self.next = self.next.wrapping_add(text.len() as u32);
        assert_eq!(self.hears(), text);
    }

    pub(crate) fn hears(&mut self) -> Vec<u8> {
        let mut buffer = [0; 2_048];
        match self.world.stack.recv(self.socket, &mut buffer) {
            Recv::Bytes(count) => buffer[..count].to_vec(),
            Recv::WouldBlock => Vec::new(),
            other => panic!("{other:?}"),
        }
    }

    /// What the stack sends within so many milliseconds.
    pub(crate) fn wait(&mut self, millis: u64) -> Vec<Seen> {
        watch(&self.world);
        for _ in 0..millis {
            self.world.millis += 1;
            self.world.poll_stack();
        }
        seen(&self.world)
    }
}

pub(crate) fn segment(
    control: TcpControl,
    sequence: u32,
    acknowledges: Option<u32>,
    data: &[u8],
) -> Vec<u8> {
    frame(Raw {
        from: (PEER_ADDRESS, OWN),
        to_port: 8080,
        control,
        sequence,
        acknowledges,
        payload: data,
    })
}

pub(crate) fn watch(world: &World) {
    let mut wire = world.wire.borrow_mut();
    wire.seen = Some(Vec::new());
    wire.card_room = 4_096;
}

/// What the stack has sent since [`watch`].
pub(crate) fn watched(world: &World) -> Vec<Vec<u8>> {
    let mut wire = world.wire.borrow_mut();
    wire.to_peer.clear();
    wire.seen.take().unwrap()
}

pub(crate) fn seen(world: &World) -> Vec<Seen> {
    watched(world)
        .iter()
        .filter_map(|sent| parse(sent))
        .collect()
}

pub(crate) fn deliver(world: &mut World, frame: Vec<u8>) {
    watch(world);
    world.wire.borrow_mut().to_stack.push_back(frame);
    world.poll_stack();
}

/// What the stack answers at once.
pub(crate) fn send(world: &mut World, frame: Vec<u8>) -> Vec<Seen> {
    deliver(world, frame);
    seen(world)
}

/// `frame` with its TCP header changed, and its checksum right again.
pub(crate) fn tcp(mut frame: Vec<u8>, change: impl FnOnce(&mut TcpPacket<&mut [u8]>)) -> Vec<u8> {
    let mut ip = Ipv4Packet::new_unchecked(&mut frame[14..]);
    let (from, to) = (ip.src_addr(), ip.dst_addr());
    let mut packet = TcpPacket::new_unchecked(ip.payload_mut());
    change(&mut packet);
    packet.fill_checksum(&IpAddress::Ipv4(from), &IpAddress::Ipv4(to));
    frame
}
