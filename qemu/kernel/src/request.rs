//! What the parameters of each method hold, out of bytes that a process chose.
//!
//! Everything is read with the library, under the bounds of `capos_config`, and
//! borrowed from the bytes; nothing is allocated. Whatever the bytes are, a
//! function here answers or errs.

use capnp::message::Reader;
use capnp::serialize::NoAllocSliceSegments;
use capos_config::capos_capnp::{
    LineEcho, LogLevel, console, entropy_source, log_sink, network_manager, tcp_socket,
    terminal_session, timer,
};
use capos_config::default_reader_options;
use ingress_schema::discriminator_capnp::cap_discriminator;

/// Parameters as a message.
pub type Message<'a> = Reader<NoAllocSliceSegments<'a>>;

/// Reads the message at the start of `bytes`, which begin at a word.
///
/// # Errors
/// When they hold none.
pub fn message(bytes: &[u8]) -> capnp::Result<Message<'_>> {
    let mut rest = bytes;
    capnp::serialize::read_message_from_flat_slice_no_alloc(&mut rest, default_reader_options())
}

/// `Console.write`: the bytes.
///
/// # Errors
/// When the message is not this method's; so all functions below.
pub fn console_data<'m>(message: &'m Message<'_>) -> capnp::Result<&'m [u8]> {
    let root: console::write_params::Reader<'_> = message.get_root()?;
    root.get_data()
}

/// `Console.writeLine`: the line, without its end.
///
/// # Errors
/// As above.
pub fn console_line<'m>(message: &'m Message<'_>) -> capnp::Result<&'m [u8]> {
    let root: console::write_line_params::Reader<'_> = message.get_root()?;
    Ok(root.get_text()?.as_bytes())
}

/// `TerminalSession.write`: the bytes.
///
/// # Errors
/// As above.
pub fn terminal_data<'m>(message: &'m Message<'_>) -> capnp::Result<&'m [u8]> {
    let root: terminal_session::write_params::Reader<'_> = message.get_root()?;
    root.get_data()
}

/// `TerminalSession.writeLine`: the line, without its end.
///
/// # Errors
/// As above.
pub fn terminal_line<'m>(message: &'m Message<'_>) -> capnp::Result<&'m [u8]> {
    let root: terminal_session::write_line_params::Reader<'_> = message.get_root()?;
    Ok(root.get_text()?.as_bytes())
}

/// `TerminalSession.readLine`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LineWanted<'m> {
    /// Whether what is typed is shown.
    pub echo: LineEcho,
    /// Whether an empty line is one.
    pub allow_empty: bool,
    /// Most bytes of it.
    pub bytes_max: usize,
    /// What to ask for it with.
    pub prompt: &'m [u8],
}

/// `TerminalSession.readLine`: what line is wanted.
///
/// # Errors
/// As above.
pub fn line_wanted<'m>(message: &'m Message<'_>) -> capnp::Result<LineWanted<'m>> {
    let root: terminal_session::read_line_params::Reader<'_> = message.get_root()?;
    let request = root.get_request()?;
    Ok(LineWanted {
        echo: request.get_echo()?,
        allow_empty: request.get_allow_empty(),
        bytes_max: usize::try_from(request.get_max_bytes()).unwrap_or(usize::MAX),
        prompt: request.get_prompt()?.as_bytes(),
    })
}

/// `LogSink.write`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record<'m> {
    /// How much it matters.
    pub level: LogLevel,
    /// Who says it.
    pub component: &'m [u8],
    /// What is said.
    pub text: &'m [u8],
}

/// `LogSink.write`: the record.
///
/// # Errors
/// As above.
pub fn log_record<'m>(message: &'m Message<'_>) -> capnp::Result<Record<'m>> {
    let root: log_sink::write_params::Reader<'_> = message.get_root()?;
    let record = root.get_record()?;
    Ok(Record {
        level: record.get_level()?,
        component: record.get_component()?.as_bytes(),
        text: record.get_message()?.as_bytes(),
    })
}

/// `Timer.sleep`: nanoseconds.
///
/// # Errors
/// As above.
pub fn sleep_nanoseconds(message: &Message<'_>) -> capnp::Result<u64> {
    let root: timer::sleep_params::Reader<'_> = message.get_root()?;
    Ok(root.get_duration_ns())
}

/// `EntropySource.fill`: how many bytes.
///
/// # Errors
/// As above.
pub fn random_bytes(message: &Message<'_>) -> capnp::Result<u32> {
    let root: entropy_source::fill_params::Reader<'_> = message.get_root()?;
    Ok(root.get_bytes())
}

/// `TcpSocket.recv`: the most bytes wanted.
///
/// # Errors
/// As above.
pub fn receive_max(message: &Message<'_>) -> capnp::Result<u32> {
    let root: tcp_socket::recv_params::Reader<'_> = message.get_root()?;
    Ok(root.get_max_len())
}

/// `TcpSocket.send`: the bytes.
///
/// # Errors
/// As above.
pub fn send_data<'m>(message: &'m Message<'_>) -> capnp::Result<&'m [u8]> {
    let root: tcp_socket::send_params::Reader<'_> = message.get_root()?;
    root.get_data()
}

/// `NetworkManager.connectTcp`: the address, of whatever length, and the port.
///
/// # Errors
/// As above.
pub fn peer<'m>(message: &'m Message<'_>) -> capnp::Result<(&'m [u8], u16)> {
    let root: network_manager::connect_tcp_params::Reader<'_> = message.get_root()?;
    Ok((root.get_addr()?, root.get_port()))
}

/// `CapDiscriminator.identify`: the slot.
///
/// # Errors
/// As above.
pub fn identified(message: &Message<'_>) -> capnp::Result<u32> {
    let root: cap_discriminator::identify_params::Reader<'_> = message.get_root()?;
    Ok(root.get_cap_id())
}

/// `CapDiscriminator.compare`: both slots.
///
/// # Errors
/// As above.
pub fn compared(message: &Message<'_>) -> capnp::Result<[u32; 2]> {
    let root: cap_discriminator::compare_params::Reader<'_> = message.get_root()?;
    Ok([root.get_left(), root.get_right()])
}

#[cfg(test)]
mod tests {
    use super::*;
    use capnp::traits::Owned;

    fn bytes<T: Owned>(fill: impl FnOnce(T::Builder<'_>)) -> Vec<u8> {
        let mut message = capnp::message::Builder::new_default();
        fill(message.init_root::<T::Builder<'_>>());
        capnp::serialize::write_message_to_words(&message)
    }

    /// Bytes at a word's border, as the kernel copies them.
    #[repr(align(8))]
    struct Copy([u8; 512]);

    /// Reads `bytes` as every method's parameters. All that is lent must lie in
    /// the bytes. How many methods could read them.
    fn read_all(bytes: &[u8]) -> usize {
        let mut copy = Copy([0; 512]);
        copy.0[..bytes.len()].copy_from_slice(bytes);
        let bytes = &copy.0[..bytes.len()];
        let Ok(message) = message(bytes) else {
            return 0;
        };
        let lies_in_bytes = |part: &[u8]| {
            let range = bytes.as_ptr_range();
            let part = part.as_ptr_range();
            assert!(part.is_empty() || range.start <= part.start && part.end <= range.end);
        };
        let lent = [
            console_data,
            console_line,
            terminal_data,
            terminal_line,
            send_data,
        ]
        .map(|read| read(&message).map(lies_in_bytes).is_ok());
        let others = [
            log_record(&message)
                .map(|record| {
                    lies_in_bytes(record.component);
                    lies_in_bytes(record.text);
                })
                .is_ok(),
            line_wanted(&message)
                .map(|line| lies_in_bytes(line.prompt))
                .is_ok(),
            peer(&message)
                .map(|(address, _)| lies_in_bytes(address))
                .is_ok(),
            sleep_nanoseconds(&message).is_ok(),
            random_bytes(&message).is_ok(),
            receive_max(&message).is_ok(),
            identified(&message).is_ok(),
            compared(&message).is_ok(),
        ];
        lent.iter().chain(&others).filter(|&&is_ok| is_ok).count()
    }

    fn samples() -> Vec<Vec<u8>> {
        vec![
            bytes::<console::write_params::Owned>(|mut root| root.set_data(b"bytes")),
            bytes::<console::write_line_params::Owned>(|mut root| root.set_text("a line")),
            bytes::<terminal_session::read_line_params::Owned>(|root| {
                let mut request = root.init_request();
                request.set_prompt("> ");
                request.set_max_bytes(80);
                request.set_echo(LineEcho::Hidden);
            }),
            bytes::<log_sink::write_params::Owned>(|root| {
                let mut record = root.init_record();
                record.set_level(LogLevel::Warn);
                record.set_component("net");
                record.set_message("late");
            }),
            bytes::<timer::sleep_params::Owned>(|mut root| root.set_duration_ns(9)),
            bytes::<network_manager::connect_tcp_params::Owned>(|mut root| {
                root.set_addr(&[127, 0, 0, 1]);
                root.set_port(8082);
            }),
            bytes::<cap_discriminator::compare_params::Owned>(|mut root| {
                root.set_left(3);
                root.set_right(4);
            }),
        ]
    }

    fn with<R>(bytes: &[u8], body: impl FnOnce(&Message<'_>) -> R) -> R {
        let mut copy = Copy([0; 512]);
        copy.0[..bytes.len()].copy_from_slice(bytes);
        body(&message(&copy.0[..bytes.len()]).unwrap())
    }

    #[test]
    fn reads_what_was_written() {
        let samples = samples();
        with(&samples[0], |m| {
            assert_eq!(console_data(m).unwrap(), b"bytes")
        });
        with(&samples[1], |m| {
            assert_eq!(console_line(m).unwrap(), b"a line")
        });
        with(&samples[2], |m| {
            let wanted = LineWanted {
                echo: LineEcho::Hidden,
                allow_empty: false,
                bytes_max: 80,
                prompt: b"> ",
            };
            assert_eq!(line_wanted(m).unwrap(), wanted);
        });
        with(&samples[3], |m| {
            let record = log_record(m).unwrap();
            assert_eq!((record.component, record.text), (&b"net"[..], &b"late"[..]));
            assert!(record.level == LogLevel::Warn);
        });
        with(&samples[4], |m| {
            assert_eq!(sleep_nanoseconds(m).unwrap(), 9)
        });
        with(&samples[5], |m| {
            assert_eq!(peer(m).unwrap(), (&[127, 0, 0, 1][..], 8082));
        });
        with(&samples[6], |m| assert_eq!(compared(m).unwrap(), [3, 4]));
    }

    #[test]
    fn no_bytes_are_too_bad() {
        let mut seed = 11_u64;
        let mut random = || {
            seed = seed
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            seed >> 16
        };
        let samples = samples();
        let mut read = 0;
        for round in 0..60_000_usize {
            let mut bytes = samples[round % samples.len()].clone();
            for _ in 0..random() % 4 {
                let place = usize::try_from(random()).unwrap() % bytes.len();
                match random() % 5 {
                    // A bit, a byte, a word, or the end is another.
                    0 => bytes[place] ^= 1 << (random() % 8),
                    1 => bytes[place] = random().to_le_bytes()[0],
                    2 => {
                        let pointers = [
                            u64::MAX,
                            0,
                            1,
                            2,
                            ((random() % 8) << 32) | (random() % 4),
                            ((random() % 4) << 48) | ((random() % 8) << 32) | (random() % 64),
                            (random() << 35) | (2 << 32) | 1,
                            random(),
                        ];
                        let word = pointers[usize::try_from(random() % 8).unwrap()];
                        let at = place / 8 * 8;
                        let end = bytes.len().min(at + 8);
                        bytes[at..end].copy_from_slice(&word.to_le_bytes()[..end - at]);
                    }
                    3 => bytes.truncate(place.max(1)),
                    _ => bytes.extend(random().to_le_bytes()),
                }
            }
            read += usize::from(read_all(&bytes) > 0);
        }
        // The rounds reach far into the messages, not only their first word.
        assert!(read > 10_000, "{read}");
        for length in 0..64 {
            for byte in [0, 1, 0x7f, 0x80, 0xff] {
                read_all(&vec![byte; length]);
            }
        }
    }
}
