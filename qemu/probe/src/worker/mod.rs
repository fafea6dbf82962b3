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

mod answers;
mod series;
mod transfer;

use capos_rt::{CallId, TcpSocketClient};
use ingress_probe::answer::AnswerReader;
use ingress_probe::tally::Loss;

use crate::network::{Ending, Network};

pub(crate) use series::Series;

/// Pause after a connection was refused, so that refusals are not a flood.
const REFUSED_PAUSE_NS: u64 = 5_000_000;

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
