//! Connections that are opened and then left alone.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use capos_rt::{CallId, TcpSocketClient};
use ingress_probe::command::Hold;

use crate::network::{Ending, Network};

/// Connections on their way at once; with a send for each that is there, they
/// fit into one turn.
const ABREAST: usize = 6;
/// Held connections looked at together when they end.
const LOOKED_AT: usize = 8;
const STEP_NS: u64 = 20_000_000;
/// How long all of them together may take to be opened.
const OPEN_NS: u64 = 60_000_000_000;

/// What is held between commands.
pub(crate) struct Held {
    sockets: Vec<TcpSocketClient>,
}

impl Held {
    /// Nothing is held.
    pub(crate) const fn new() -> Self {
        Self {
            sockets: Vec::new(),
        }
    }

    /// Opens connections and keeps them, for a time or until they are dropped.
    pub(crate) fn open(&mut self, network: &mut Network<'_>, hold: &Hold) -> Option<String> {
        let start_ns = network.read_clock()?;
        let mut ways: Vec<CallId> = Vec::new();
        let mut firsts: Vec<CallId> = Vec::new();
        let (mut begun, mut opened, mut refused) = (0_u32, 0_u32, 0_u32);
        while opened.saturating_add(refused) < hold.count {
            network.turn()?;
            if network.now_ns().saturating_sub(start_ns) > OPEN_NS {
                break;
            }
            while begun < hold.count && ways.len() < ABREAST {
                let Some(call) = network.connect(hold.target) else {
                    break;
                };
                ways.push(call);
                begun = begun.saturating_add(1);
            }
            let before = ways.len();
            ways.retain(|call| match network.connected(*call) {
                None => true,
                Some(Ok(mut socket)) => {
                    if !hold.first.is_empty()
                        && let Some(call) = network.send(&mut socket, &hold.first)
                    {
                        firsts.push(call);
                    }
                    self.sockets.push(socket);
                    opened = opened.saturating_add(1);
                    false
                }
                Some(Err(_)) => {
                    refused = refused.saturating_add(1);
                    false
                }
            });
            for call in firsts.drain(..) {
                network.discard(call);
            }
            if ways.len() == before {
                network.wait(STEP_NS)?;
            }
        }
        for call in ways {
            network.discard_connect(call);
        }
        let opened_ns = network.read_clock()?.saturating_sub(start_ns);
        let words = format!(
            "opened={opened} refused={refused} held={} elapsed_ns={opened_ns}",
            self.sockets.len()
        );
        let Some(for_ns) = hold.for_ns else {
            return Some(words);
        };
        let held_ns = network.read_clock()?;
        while network.now_ns().saturating_sub(held_ns) < for_ns {
            network.wait(STEP_NS)?;
            network.turn()?;
        }
        let ended = self.drop_all(network)?;
        Some(format!("{words} {ended}"))
    }

    /// Ends all of them; how many the server had left open, and how many not.
    pub(crate) fn drop_all(&mut self, network: &mut Network<'_>) -> Option<String> {
        let (mut open, mut closed, mut answered) = (0_u32, 0_u32, 0_u32);
        let mut sockets = core::mem::take(&mut self.sockets).into_iter();
        loop {
            network.turn()?;
            let mut looked_at: Vec<(TcpSocketClient, Option<CallId>)> = Vec::new();
            for mut socket in sockets.by_ref().take(LOOKED_AT) {
                let call = network.receive(&mut socket, 64);
                looked_at.push((socket, call));
            }
            if looked_at.is_empty() {
                break;
            }
            network.turn()?;
            for (mut socket, call) in looked_at {
                match call.map(|call| (call, network.received(&mut socket, call))) {
                    Some((_, Some(Ok(bytes)))) if !bytes.is_empty() => {
                        answered = answered.saturating_add(1);
                    }
                    Some((_, Some(_))) => closed = closed.saturating_add(1),
                    Some((call, None)) => {
                        open = open.saturating_add(1);
                        network.discard(call);
                    }
                    None => open = open.saturating_add(1),
                }
                network.retire(socket, Ending::Close);
            }
            network.settle()?;
        }
        Some(format!("open={open} answered={answered} closed={closed}"))
    }
}
