//! One connection's course through a load, as often as the load asks for it.
//!
//! ```text
//!  idle ──▶ connecting ──▶ exchanging ──▶ idle (again, or done)
//!             │ refused        │ answer, loss, timeout
//!             └────────────────┴──▶ counted in the tally
//! ```
//!
//! While it exchanges, a send and a receive are in flight independently, so that
//! an answer that comes before the request is whole (a refusal, a timeout) is
//! seen when it comes.

use capos_rt::{CallId, TcpSocketClient};
use ingress_probe::answer::{Answer, AnswerReader, Step};
use ingress_probe::command::{After, Load, Reopen, Reuse};
use ingress_probe::tally::{Loss, Tally};

use crate::network::{Ending, Network};

/// Pause after a connection was refused, so that refusals are not a flood.
const REFUSED_PAUSE_NS: u64 = 5_000_000;
/// Bytes of one send or receive where the load sets no pace.
const PIECE_BYTES: u32 = 4_096;

/// What all workers of a load share.
pub(crate) struct Series<'l> {
    load: &'l Load,
    bytes: alloc::vec::Vec<u8>,
    begun: u64,
    deadline_ns: Option<u64>,
    /// The counts so far.
    pub(crate) tally: Tally,
    /// The latest answer.
    pub(crate) last: Option<Answer>,
}

impl<'l> Series<'l> {
    /// A series that starts now.
    pub(crate) fn new(load: &'l Load, now_ns: u64) -> Self {
        Self {
            load,
            bytes: load.request.repeated(load.pipeline),
            begun: 0,
            deadline_ns: load.for_ns.map(|ns| now_ns.saturating_add(ns)),
            tally: Tally::started(now_ns),
            last: None,
        }
    }

    /// No request is begun any more.
    pub(crate) fn stop(&mut self, now_ns: u64) {
        self.deadline_ns = Some(now_ns);
    }

    /// How many requests may be begun together now.
    fn batch(&self, now_ns: u64) -> u32 {
        if self.deadline_ns.is_some_and(|deadline| now_ns >= deadline) {
            return 0;
        }
        let left = self
            .load
            .count
            .map_or(u64::MAX, |count| count.saturating_sub(self.begun));
        u32::try_from(left)
            .unwrap_or(u32::MAX)
            .min(self.load.pipeline)
    }
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum State {
    Idle,
    Connecting(Option<CallId>),
    Exchanging,
    Done,
}

/// One connection at a time.
pub(crate) struct Worker {
    state: State,
    socket: Option<TcpSocketClient>,
    reader: AnswerReader,
    send: Option<CallId>,
    receive: Option<CallId>,
    offset: usize,
    total: usize,
    outstanding: u32,
    answered: u32,
    used_before: bool,
    start_ns: u64,
    next_ns: u64,
    send_at_ns: u64,
    receive_at_ns: u64,
}

/// What a step came to.
pub(crate) struct Stepped {
    /// Something happened: step again before waiting.
    pub(crate) progress: bool,
    /// When to step again at the latest.
    pub(crate) wake_ns: u64,
}

impl Worker {
    /// A worker that begins at `first_ns`.
    pub(crate) const fn new(first_ns: u64) -> Self {
        Self {
            state: State::Idle,
            socket: None,
            reader: AnswerReader::new(),
            send: None,
            receive: None,
            offset: 0,
            total: 0,
            outstanding: 0,
            answered: 0,
            used_before: false,
            start_ns: 0,
            next_ns: first_ns,
            send_at_ns: 0,
            receive_at_ns: 0,
        }
    }

    /// Whether the worker has nothing left to do.
    pub(crate) fn is_done(&self) -> bool {
        self.state == State::Done
    }

    /// Goes on as far as it can without waiting.
    pub(crate) fn step(&mut self, series: &mut Series<'_>, network: &mut Network<'_>) -> Stepped {
        let now_ns = network.now_ns();
        let progress = match self.state {
            State::Idle => self.begin(series, network),
            State::Connecting(call) => self.connect(call, series, network),
            State::Exchanging => self.exchange(series, network),
            State::Done => false,
        };
        let timeout_ns = self.start_ns.saturating_add(series.load.timeout_ns);
        if matches!(self.state, State::Connecting(_) | State::Exchanging) && now_ns >= timeout_ns {
            self.lose(Loss::TimedOut, series, network);
        }
        Stepped {
            progress,
            wake_ns: self.wake_ns(timeout_ns),
        }
    }

    fn wake_ns(&self, timeout_ns: u64) -> u64 {
        match self.state {
            State::Idle => self.next_ns,
            State::Connecting(_) => timeout_ns,
            State::Exchanging => {
                let send = if self.send.is_none() && self.offset < self.total {
                    self.send_at_ns
                } else {
                    timeout_ns
                };
                let receive = self.receive.map_or(self.receive_at_ns, |_| timeout_ns);
                send.min(receive).min(timeout_ns)
            }
            State::Done => u64::MAX,
        }
    }

    fn begin(&mut self, series: &mut Series<'_>, network: &mut Network<'_>) -> bool {
        let now_ns = network.now_ns();
        let batch = series.batch(now_ns);
        if batch == 0 {
            self.end_connection(Ending::Close, network);
            self.state = State::Done;
            return true;
        }
        if now_ns < self.next_ns {
            return false;
        }
        series.begun = series.begun.saturating_add(u64::from(batch));
        self.outstanding = batch;
        self.start_ns = now_ns;
        self.next_ns = now_ns.saturating_add(series.load.every_ns);
        self.begin_batch(series, now_ns);
        self.state = if self.socket.is_some() {
            State::Exchanging
        } else {
            State::Connecting(None)
        };
        true
    }

    fn begin_batch(&mut self, series: &Series<'_>, now_ns: u64) {
        let one = series.load.request.bytes.len();
        let times = usize::try_from(self.outstanding).unwrap_or(0);
        self.total = one.saturating_mul(times);
        self.offset = 0;
        self.answered = 0;
        self.send_at_ns = now_ns;
        self.receive_at_ns = now_ns;
    }

    fn connect(
        &mut self,
        call: Option<CallId>,
        series: &mut Series<'_>,
        network: &mut Network<'_>,
    ) -> bool {
        let Some(call) = call else {
            let call = network.connect(series.load.target);
            self.state = State::Connecting(call);
            return call.is_some();
        };
        match network.connected(call) {
            None => false,
            Some(Ok(socket)) => {
                series.tally.opened = series.tally.opened.saturating_add(1);
                self.socket = Some(socket);
                self.reader = AnswerReader::new();
                self.used_before = false;
                self.state = State::Exchanging;
                true
            }
            Some(Err(_)) => {
                let pause_ns = network.now_ns().saturating_add(REFUSED_PAUSE_NS);
                self.next_ns = self.next_ns.max(pause_ns);
                self.state = State::Exchanging;
                self.lose(Loss::Refused, series, network);
                true
            }
        }
    }

    fn exchange(&mut self, series: &mut Series<'_>, network: &mut Network<'_>) -> bool {
        let sent = self.drive_send(series, network);
        let received = self.state == State::Exchanging && self.drive_receive(series, network);
        sent || received
    }

    fn drive_send(&mut self, series: &mut Series<'_>, network: &mut Network<'_>) -> bool {
        let now_ns = network.now_ns();
        let Some(socket) = &mut self.socket else {
            return false;
        };
        if let Some(call) = self.send {
            let Some(result) = network.sent(socket, call) else {
                return false;
            };
            self.send = None;
            self.send_at_ns = now_ns.saturating_add(series.load.send.pause_ns);
            match result {
                Ok(bytes) => self.offset = self.offset.saturating_add(bytes),
                // What the server had to say may have arrived all the same.
                Err(_) => self.total = self.offset,
            }
            if self.offset >= self.total {
                self.request_is_out(result.is_ok(), series, network);
            }
            return true;
        }
        if self.offset >= self.total || now_ns < self.send_at_ns {
            return false;
        }
        let most = usize::try_from(series.load.send.bytes.unwrap_or(PIECE_BYTES)).unwrap_or(1);
        let end = self.offset.saturating_add(most).min(self.total);
        let piece = series.bytes.get(self.offset..end).unwrap_or(&[]);
        self.send = network.send(socket, piece);
        self.send.is_some()
    }

    fn request_is_out(&mut self, whole: bool, series: &mut Series<'_>, network: &mut Network<'_>) {
        if whole {
            let batch = u64::from(self.outstanding.saturating_add(self.answered));
            series.tally.sent = series.tally.sent.saturating_add(batch);
        }
        if series.load.after == After::Abort {
            series.tally.aborted = series.tally.aborted.saturating_add(1);
            self.end_connection(Ending::Drop, network);
            self.state = State::Idle;
        }
    }

    fn drive_receive(&mut self, series: &mut Series<'_>, network: &mut Network<'_>) -> bool {
        let now_ns = network.now_ns();
        let Some(socket) = &mut self.socket else {
            return false;
        };
        if let Some(call) = self.receive {
            let Some(result) = network.received(socket, call) else {
                return false;
            };
            self.receive = None;
            self.receive_at_ns = now_ns.saturating_add(series.load.receive.pause_ns);
            match result {
                Ok(bytes) if bytes.is_empty() => self.closed(series, network),
                Ok(bytes) => self.read(&bytes, series, network),
                Err(_) => self.lose(Loss::Broken, series, network),
            }
            return true;
        }
        if now_ns < self.receive_at_ns {
            return false;
        }
        let most = series.load.receive.bytes.unwrap_or(PIECE_BYTES);
        self.receive = network.receive(socket, most);
        self.receive.is_some()
    }

    fn read(&mut self, bytes: &[u8], series: &mut Series<'_>, network: &mut Network<'_>) {
        let mut input = bytes;
        while !input.is_empty() && self.state == State::Exchanging {
            match self.reader.read(&mut input, series.load.request.expect) {
                Ok(Step::More) => return,
                Ok(Step::Whole(answer)) => self.take_answer(answer, series, network),
                Err(_) => self.lose(Loss::Malformed, series, network),
            }
        }
    }

    fn take_answer(&mut self, answer: Answer, series: &mut Series<'_>, network: &mut Network<'_>) {
        series
            .tally
            .answered(&answer, self.start_ns, network.now_ns());
        self.outstanding = self.outstanding.saturating_sub(1);
        self.answered = self.answered.saturating_add(1);
        let ends = answer.close || self.offset < self.total;
        series.last = Some(answer);
        if self.outstanding > 0 {
            if ends {
                self.lose(Loss::Closed, series, network);
            }
            return;
        }
        if ends || series.load.reuse == Reuse::Fresh {
            self.end_connection(Ending::Close, network);
        }
        self.used_before = true;
        self.state = State::Idle;
    }

    fn closed(&mut self, series: &mut Series<'_>, network: &mut Network<'_>) {
        if let Some(answer) = self.reader.closed() {
            return self.take_answer(answer, series, network);
        }
        let stale = self.used_before && self.answered == 0 && self.reader.is_between_answers();
        if stale {
            // A kept connection that the server had given up: as every client
            // does, the same request goes out again on a new one.
            self.end_connection(Ending::Close, network);
            self.begin_batch(series, network.now_ns());
            self.state = State::Connecting(None);
            return;
        }
        self.lose(Loss::Closed, series, network);
    }

    fn lose(&mut self, loss: Loss, series: &mut Series<'_>, network: &mut Network<'_>) {
        for _ in 0..self.outstanding {
            series.tally.lost(loss);
        }
        self.outstanding = 0;
        if let State::Connecting(Some(call)) = self.state {
            network.discard_connect(call);
        }
        self.end_connection(Ending::Drop, network);
        self.state = match series.load.reopen {
            Reopen::Yes => State::Idle,
            Reopen::No => State::Done,
        };
    }

    fn end_connection(&mut self, ending: Ending, network: &mut Network<'_>) {
        for call in [self.send.take(), self.receive.take()]
            .into_iter()
            .flatten()
        {
            network.discard(call);
        }
        if let Some(socket) = self.socket.take() {
            network.retire(socket, ending);
        }
    }
}
