//! Handshakes without state: an acknowledgement makes a connection if, and only if, it is that of
//! an answer given to the same peer lately.

use harness_net::{
    Accept, Binding, Instant, ListenOptions, ListenerId, NetConfig, NetStack, NicConfig, PollBudget,
    TransportId,
};

use super::net::card::{Card, LISTEN_PORT, PASSIVE_PORT};
use super::net::segment::{ACK, SYN, Segment};
use super::net::{OWN, PEER};

/// Nanoseconds of a period, as a power of two; an answer holds in its own and in the next.
const PERIOD_SHIFT: u32 = 34;

/// What one input says.
struct Story {
    isn: u32,
    segment_size: u16,
    begin_ns: u64,
    later_ns: u64,
    /// How the acknowledgement differs from the one that belongs there.
    port: u16,
    sequence: u32,
    acknowledges: u32,
}

/// Numbers and times, and what is changed in the last segment.
pub(super) fn run(bytes: &[u8]) {
    let mut room = [0; 28];
    let count = bytes.len().min(room.len());
    room[..count].copy_from_slice(&bytes[..count]);
    let long = |at: usize| u32::from_le_bytes(room[at..at + 4].try_into().unwrap());
    let story = Story {
        isn: long(0),
        segment_size: long(4) as u16,
        begin_ns: u64::from(long(8)) << 8,
        later_ns: u64::from(long(12)) << 5,
        port: (long(16) % 4) as u16,
        sequence: long(20),
        acknowledges: long(24),
    };
    let is_untouched = (story.port, story.sequence, story.acknowledges) == (0, 0, 0);
    let end_ns = story.begin_ns + story.later_ns;
    let periods = (end_ns >> PERIOD_SHIFT) - (story.begin_ns >> PERIOD_SHIFT);
    let keys = [[1, 2], [3, 4]];
    if is_untouched {
        assert_eq!(is_let_in(&story, keys[0]), periods <= 1);
    } else {
        // A guess may be right, once in 2²⁹ times; the same guess under two keys is none.
        let forged = keys.iter().all(|key| is_let_in(&story, *key));
        assert!(!forged, "an acknowledgement of nothing is believed");
    }
}

fn is_let_in(story: &Story, key: [u64; 2]) -> bool {
    let config = NetConfig {
        sockets: 4,
        rx_bytes: 64,
        tx_bytes: 64,
        outgoing_reserve: 1,
        loop_frames: 2,
        ..NetConfig::new(key)
    };
    let mut stack = NetStack::new(config);
    let nic = NicConfig {
        address: OWN,
        prefix_len: 24,
        gateway: Some(PEER),
    };
    let card = stack.add_nic(nic, Card::new()).unwrap();
    let options = ListenOptions {
        backlog: 2,
        reserve: 1,
    };
    let listener = stack
        .listen(Binding::Transport(card), LISTEN_PORT, options)
        .unwrap();
    let mut options = [0; 40];
    options[..2].copy_from_slice(&[2, 4]);
    options[2..4].copy_from_slice(&story.segment_size.to_be_bytes());
    let request = Segment {
        from: (PEER, PASSIVE_PORT),
        to: (OWN, LISTEN_PORT),
        flags: SYN,
        sequence: story.isn,
        acknowledges: 0,
        window: 8_192,
        urgent: 0,
        options: (options, 4),
        text: 0,
    };
    exchange(&mut stack, card, request, story.begin_ns);
    let cookie = stack.device_mut(card).unwrap().flows[0].sequence;
    let answer = Segment {
        from: (PEER, PASSIVE_PORT ^ story.port),
        flags: ACK,
        sequence: story.isn.wrapping_add(1) ^ story.sequence,
        acknowledges: cookie.wrapping_add(1) ^ story.acknowledges,
        options: ([0; 40], 0),
        ..request
    };
    exchange(&mut stack, card, answer, story.begin_ns + story.later_ns);
    accepts(&mut stack, listener)
}

fn exchange(stack: &mut NetStack<Card>, card: TransportId, segment: Segment, now_ns: u64) {
    stack
        .device_mut(card)
        .unwrap()
        .put(|frame| segment.write(frame));
    while stack
        .poll(Instant::from_nanos(now_ns), PollBudget::TURN)
        .more_work
    {}
}

fn accepts(stack: &mut NetStack<Card>, listener: ListenerId) -> bool {
    matches!(stack.accept(listener), Accept::Connection(_))
}
