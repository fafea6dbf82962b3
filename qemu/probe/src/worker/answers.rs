//! What comes back: answers, the end of the connection, and requests that are lost with it.

use ingress_probe::answer::{Answer, Step};
use ingress_probe::command::{Reopen, Reuse};
use ingress_probe::tally::Loss;

use super::{Series, State, Worker};
use crate::network::{Ending, Network};

impl Worker {
    /// Takes what was received.
    pub(super) fn read(
        &mut self,
        bytes: &[u8],
        series: &mut Series<'_>,
        network: &mut Network<'_>,
    ) {
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

    /// The server has closed its side.
    pub(super) fn closed(&mut self, series: &mut Series<'_>, network: &mut Network<'_>) {
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

    /// Every request that is still outstanding is lost, and the connection with it.
    pub(super) fn lose(&mut self, loss: Loss, series: &mut Series<'_>, network: &mut Network<'_>) {
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
}
