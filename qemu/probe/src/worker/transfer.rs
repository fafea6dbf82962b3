//! A send and a receive in flight beside each other, each at the load's pace.

use ingress_probe::command::After;
use ingress_probe::tally::Loss;

use super::{Series, State, Worker};
use crate::network::{Ending, Network};

/// Bytes of one send or receive where the load sets no pace.
const PIECE_BYTES: u32 = 4_096;

impl Worker {
    /// Sends and receives as far as it goes without waiting; whether anything happened.
    pub(super) fn exchange(&mut self, series: &mut Series<'_>, network: &mut Network<'_>) -> bool {
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
}
