//! What each object answers, built and read with the `capnp` crate.

use capnp::message::{Builder, HeapAllocator};
use capos_config::capos_capnp::{self as schema, ExceptionType};
use ingress_schema::discriminator_capnp;

use crate::kernel::{Kernel, Object, Pending, Reply};
use crate::network::{AcceptFailure, Binding, Listener};

impl Kernel {
    /// What a call answers now, if it does.
    pub(crate) fn reply(&mut self, pending: &Pending) -> Option<Reply> {
        let params = pending.lent.params();
        let method = pending.entry.method_id;
        match (pending.object, method) {
            (Object::Console, 1) if self.console_stuck => None,
            (Object::Console, 1) => {
                self.lines.push(text_of(params));
                Some(Reply::Void)
            }
            (Object::Timer, 0) if self.clock_lost => Some(Reply::Raised(ExceptionType::Failed)),
            (Object::Timer, 0) => Some(Reply::Message(self.time())),
            (Object::WallClock, 0) => Some(Reply::Message(self.date())),
            (Object::Entropy, 0) => Some(Reply::Message(random())),
            (Object::Discriminator, 0) => Some(self.identify(params)),
            (Object::Discriminator, 1) => Some(self.compare(params)),
            (Object::Authority(binding), 0) => Some(self.listen(binding)),
            (Object::Listener(index), 0) => self.accept(index),
            (Object::Socket(id), 0) => self.sent(id, params),
            (Object::Socket(id), 1) => self.receive(id, params),
            (Object::Socket(id), 2) => {
                self.connections[id].service_closed = true;
                Some(Reply::Void)
            }
            (object, method) => panic!("{object:?} has no method {method}"),
        }
    }

    fn time(&self) -> Vec<u8> {
        encode(|message| {
            let mut root = message.init_root::<schema::timer::now_results::Builder<'_>>();
            root.set_monotonic_ns(self.now_ns);
        })
    }

    fn date(&self) -> Vec<u8> {
        encode(|message| {
            let mut root =
                message.init_root::<schema::wall_clock::wall_time_results::Builder<'_>>();
            root.set_utc_seconds(784_111_777);
            root.set_monotonic_ns(self.now_ns);
            root.set_provenance(schema::ClockProvenance::MeasuredBootMonotonic);
        })
    }

    fn binding_of(&self, cap: u32) -> Binding {
        match self.caps.get(&cap) {
            Some(Object::Authority(binding)) => *binding,
            other => panic!("slot {cap} is {other:?}, no listen authority"),
        }
    }

    fn identify(&self, params: &[u8]) -> Reply {
        use discriminator_capnp::cap_discriminator::{identify_params, identify_results};
        let cap = read(params, |message| {
            message
                .get_root::<identify_params::Reader<'_>>()
                .unwrap()
                .get_cap_id()
        });
        let binding = self.binding_of(cap);
        Reply::Message(encode(|message| {
            let mut root = message.init_root::<identify_results::Builder<'_>>();
            root.set_object_id(binding.object);
            root.set_transport_id(binding.transport);
            root.set_port(binding.port);
            root.set_wildcard(binding.wildcard);
        }))
    }

    fn compare(&self, params: &[u8]) -> Reply {
        use discriminator_capnp::cap_discriminator::{compare_params, compare_results};
        let (left, right) = read(params, |message| {
            let root = message.get_root::<compare_params::Reader<'_>>().unwrap();
            (root.get_left(), root.get_right())
        });
        let same = self.binding_of(left).object == self.binding_of(right).object;
        Reply::Message(encode(|message| {
            message
                .init_root::<compare_results::Builder<'_>>()
                .set_same(same);
        }))
    }

    fn listen(&mut self, binding: Binding) -> Reply {
        let index = self.listeners.len();
        self.listeners.push((binding, Listener::default()));
        let message = encode(|message| {
            let mut root =
                message.init_root::<schema::tcp_listen_authority::listen_results::Builder<'_>>();
            root.set_listener_index(0);
            root.set_port(binding.port);
        });
        Reply::WithCap(message, Object::Listener(index))
    }

    fn accept(&mut self, index: usize) -> Option<Reply> {
        let listener = &mut self.listeners[index].1;
        match listener.failure {
            Some(AcceptFailure::Overloaded) => {
                listener.failed += 1;
                return Some(Reply::Raised(ExceptionType::Overloaded));
            }
            Some(AcceptFailure::Disconnected) => {
                listener.failed += 1;
                listener.failure = None;
                return Some(Reply::Raised(ExceptionType::Disconnected));
            }
            None => {}
        }
        let id = listener.backlog.pop_front()?;
        listener.accepted += 1;
        let message = encode(|message| {
            let mut root = message.init_root::<schema::tcp_listener::accept_results::Builder<'_>>();
            root.set_socket_index(0);
            root.set_peer_addr(&[10, 0, 2, 2]);
            root.set_peer_port(50_000);
        });
        Some(Reply::WithCap(message, Object::Socket(id)))
    }

    fn sent(&mut self, id: usize, params: &[u8]) -> Option<Reply> {
        let data = read(params, |message| {
            let root = message
                .get_root::<schema::tcp_socket::send_params::Reader<'_>>()
                .unwrap();
            root.get_data().unwrap().to_vec()
        });
        assert!(!data.is_empty(), "an empty send");
        let connection = &mut self.connections[id];
        if connection.reset {
            return Some(Reply::Raised(ExceptionType::Disconnected));
        }
        if connection.stalled {
            return None;
        }
        let taken = data.len().min(self.piece_bytes);
        connection.from_service.extend(&data[..taken]);
        self.sends.push(id);
        Some(Reply::Message(encode(|message| {
            let mut root = message.init_root::<schema::tcp_socket::send_results::Builder<'_>>();
            root.set_bytes_sent(taken as u32);
        })))
    }

    fn receive(&mut self, id: usize, params: &[u8]) -> Option<Reply> {
        let most = read(params, |message| {
            let root = message
                .get_root::<schema::tcp_socket::recv_params::Reader<'_>>()
                .unwrap();
            root.get_max_len() as usize
        });
        assert!(most > 0, "a receive without room");
        let connection = &mut self.connections[id];
        if connection.reset {
            return Some(Reply::Raised(ExceptionType::Disconnected));
        }
        let bytes = connection.to_service.len().min(most).min(self.piece_bytes);
        if bytes == 0 && !connection.client_closed {
            return None;
        }
        let data: Vec<u8> = connection.to_service.drain(..bytes).collect();
        if self.odd_layout {
            return Some(Reply::Message(oddly_laid_out(&data)));
        }
        Some(Reply::Message(encode(|message| {
            let mut root = message.init_root::<schema::tcp_socket::recv_results::Builder<'_>>();
            root.set_data(&data);
        })))
    }
}

/// A message of one `Data`, with an unused word between the root and its struct.
fn oddly_laid_out(data: &[u8]) -> Vec<u8> {
    let data_words = data.len().div_ceil(8);
    let table = (data_words as u64 + 3) << 32;
    let root = (1 << 48) | (1 << 2);
    let list = 1 | (2 << 32) | ((data.len() as u64) << 35);
    let mut message: Vec<u8> = [table, root, 0, list]
        .into_iter()
        .flat_map(u64::to_le_bytes)
        .collect();
    message.extend(data);
    message.resize((data_words + 4) * 8, 0);
    message
}

fn random() -> Vec<u8> {
    encode(|message| {
        let mut root = message.init_root::<schema::entropy_source::fill_results::Builder<'_>>();
        root.set_status(schema::EntropyStatus::Ok);
        root.set_data(&[1, 2, 3, 4]);
    })
}

fn text_of(params: &[u8]) -> String {
    read(params, |message| {
        let root = message
            .get_root::<schema::console::write_line_params::Reader<'_>>()
            .unwrap();
        root.get_text().unwrap().to_str().unwrap().to_owned()
    })
}

pub(crate) fn encode(build: impl FnOnce(&mut Builder<HeapAllocator>)) -> Vec<u8> {
    let mut message = Builder::new_default();
    build(&mut message);
    capnp::serialize::write_message_to_words(&message)
}

fn read<R>(
    params: &[u8],
    body: impl FnOnce(&capnp::message::Reader<capnp::serialize::NoAllocSliceSegments<'_>>) -> R,
) -> R {
    let mut rest = params;
    let message = capnp::serialize::read_message_from_flat_slice_no_alloc(
        &mut rest,
        capos_config::default_reader_options(),
    );
    let read = body(&message.unwrap());
    assert!(rest.is_empty(), "bytes behind the parameters");
    read
}
