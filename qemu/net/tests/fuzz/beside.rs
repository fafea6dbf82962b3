//! What goes on beside the hostile peers: processes with their sockets, and a
//! bystander on another card who has to be answered whatever they do.

use super::card::{ACTIVE, ACTIVE_PORT, LISTEN_PORT, PASSIVE_PORT};
use super::segment::{ACK, PSH, SYN, Segment, byte_at};
use super::{Bytes, Fuzz, OWN_APART, PEER, PEER_APART, SOCKETS};
use harness_net::{Accept, ClientId, Event, ListenerId, Recv, Sent, SocketId, TransportId};
use std::net::{Ipv4Addr, SocketAddrV4};

/// A socket that a process holds.
pub(crate) struct Held {
    pub(crate) socket: SocketId,
    pub(crate) stream: Stream,
}

/// What its stream must be.
pub(crate) enum Stream {
    /// A hostile peer's: each byte follows from its number.
    Numbered { next: Option<u8> },
    /// Another process's.
    Any,
}

/// A well-behaved peer's connection on another transport.
pub(crate) struct Bystander {
    socket: SocketId,
    /// Its next number, and the next that it expects.
    next: u32,
    theirs: u32,
}

impl Fuzz {
    pub(crate) fn process(&mut self, kind: u8, bytes: &mut Bytes<'_>) {
        match kind {
            222..226 => {
                let listener = bytes.pick(&self.listeners);
                self.accept(listener);
            }
            226..228 => self.connect(bytes),
            228..236 => {
                let text = [7; 3_000];
                let len = usize::from(bytes.byte()) * 11;
                self.with_held(bytes, |fuzz, at| {
                    let sent = fuzz.stack.send(fuzz.held[at].socket, &text[..len]);
                    assert!(len == 0 || sent != Sent::Bytes(0));
                });
            }
            236..246 => {
                let len = usize::from(bytes.byte()) * 9;
                self.with_held(bytes, |fuzz, at| fuzz.receive(at, len));
            }
            246..249 => self.with_held(bytes, |fuzz, at| fuzz.stack.close(fuzz.held[at].socket)),
            249..251 => self.with_held(bytes, |fuzz, at| {
                let held = fuzz.held.swap_remove(at);
                fuzz.stack.abort(held.socket);
            }),
            251..254 => self.with_held(bytes, |fuzz, at| {
                let held = fuzz.held.swap_remove(at);
                fuzz.stack.release(held.socket);
            }),
            _ => {
                while let Some(event) = self.stack.next_event() {
                    if matches!(event, Event::Connected(_)) {
                        self.tally.connected += 1;
                    }
                }
            }
        }
    }

    pub(crate) fn accept(&mut self, listener: ListenerId) {
        if let Accept::Connection(accepted) = self.stack.accept(listener) {
            self.tally.accepted += 1;
            let stream = match accepted.transport {
                TransportId::LOOPBACK => Stream::Any,
                _ => Stream::Numbered { next: None },
            };
            self.held.push(Held {
                socket: accepted.socket,
                stream,
            });
        }
    }

    fn connect(&mut self, bytes: &mut Bytes<'_>) {
        let which = bytes.byte();
        let (address, port, stream) = match u16::from(which % 4) {
            0 => (Ipv4Addr::LOCALHOST, LISTEN_PORT, Stream::Any),
            n => {
                let port = ACTIVE_PORT + n % ACTIVE as u16;
                (PEER, port, Stream::Numbered { next: None })
            }
        };
        if self.held.len() < usize::from(SOCKETS)
            && let Ok(socket) = self
                .stack
                .connect(ClientId(0), SocketAddrV4::new(address, port))
        {
            self.held.push(Held { socket, stream });
        }
    }

    fn with_held(&mut self, bytes: &mut Bytes<'_>, act: impl FnOnce(&mut Self, usize)) {
        let choice = usize::from(bytes.byte());
        if let Some(at) = choice.checked_rem(self.held.len()) {
            act(self, at);
        }
    }

    fn receive(&mut self, at: usize, len: usize) {
        let mut buffer = [0; 2_300];
        let held = &mut self.held[at];
        let count = match self.stack.recv(held.socket, &mut buffer[..len]) {
            Recv::Bytes(count) => count,
            Recv::PeerClosed => {
                self.tally.ended += 1;
                return;
            }
            Recv::Reset => {
                self.tally.reset += 1;
                return;
            }
            Recv::WouldBlock | Recv::Stale => return,
        };
        let Stream::Numbered { next } = &mut held.stream else {
            return;
        };
        self.tally.heard += count as u64;
        for &byte in &buffer[..count] {
            let expected = next.unwrap_or(byte);
            assert_eq!(byte, expected, "a stream lost or gained a byte");
            *next = Some(byte.wrapping_add(1));
        }
    }

    pub(crate) fn open_bystander(&mut self, listener: ListenerId) {
        let isn = 77;
        self.bystander_sends(SYN, isn, 0, 0);
        let answer = self.bystander_hears();
        self.bystander_sends(ACK, isn + 1, answer, 0);
        let Accept::Connection(accepted) = self.stack.accept(listener) else {
            panic!("the bystander is not let in");
        };
        self.bystander = Some(Bystander {
            socket: accepted.socket,
            next: isn + 1,
            theirs: answer,
        });
    }

    fn bystander_sends(&mut self, flags: u8, sequence: u32, acknowledges: u32, text: usize) {
        let segment = Segment {
            from: (PEER_APART, PASSIVE_PORT),
            to: (OWN_APART, LISTEN_PORT),
            flags,
            sequence,
            acknowledges,
            window: 8_192,
            urgent: 0,
            options: ([0; 40], 0),
            text,
        };
        let card = self.stack.device_mut(self.apart).unwrap();
        card.put(|frame| segment.write(frame));
        self.tally.frames += 1;
        self.poll();
    }

    /// The number after all that it was sent.
    fn bystander_hears(&mut self) -> u32 {
        self.stack.device_mut(self.apart).unwrap().flows[0].sent
    }

    pub(crate) fn bystander_is_answered(&mut self) {
        let Bystander {
            socket,
            next,
            theirs,
        } = self.bystander.take().unwrap();
        self.bystander_sends(PSH | ACK, next, theirs, 4);
        let mut buffer = [0; 8];
        let heard = self.stack.recv(socket, &mut buffer);
        assert_eq!(heard, Recv::Bytes(4), "the bystander is heard");
        assert_eq!(buffer[0], byte_at(next));
        assert_eq!(self.stack.send(socket, b"yes"), Sent::Bytes(3));
        self.poll();
        assert_eq!(
            self.bystander_hears(),
            theirs.wrapping_add(3),
            "the bystander is answered"
        );
        let (next, theirs) = (next.wrapping_add(4), theirs.wrapping_add(3));
        self.bystander_sends(ACK, next, theirs, 0);
        self.bystander = Some(Bystander {
            socket,
            next,
            theirs,
        });
    }
}
