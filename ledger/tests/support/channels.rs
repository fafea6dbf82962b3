//! Channels of several connections, one policy between them, beside a plain model.

use std::collections::BTreeMap;
use std::sync::Arc;

use ingress_ledger::{
    Access, ChannelError, ChannelId, ChannelManager, ChannelOperations, Channels, CloseError,
    Identity, OperationContext, PerIdentityChannelPolicy,
};

const IDENTITIES: u64 = 12;
const TABLE: usize = 8;
const BOUND: usize = 6;
const CAP: u32 = 9;
/// The relay's identity, which has a cap of its own.
const RELAY: u64 = 3;
const RELAY_CAP: u32 = 14;

type Policy = PerIdentityChannelPolicy<TABLE>;
type Operations = ChannelOperations<BOUND, Arc<Policy>>;

#[derive(Clone, Copy, Debug, PartialEq)]
enum State {
    Open,
    Draining,
}

/// The model: what each connection holds, by id.
#[derive(Default)]
struct Model {
    connections: Vec<BTreeMap<u32, (u64, State)>>,
}

impl Model {
    fn counts(&self) -> BTreeMap<u64, u32> {
        let mut counts = BTreeMap::new();
        for (identity, _) in self.connections.iter().flat_map(|held| held.values()) {
            *counts.entry(*identity).or_insert(0) += 1;
        }
        counts
    }

    fn may_open(&self, connection: usize, identity: u64) -> bool {
        let counts = self.counts();
        let open = counts.get(&identity).copied().unwrap_or(0);
        // The relay's line is always in the table.
        let lines = counts.keys().filter(|identity| **identity != RELAY).count() + 1;
        let has_line = open > 0 || identity == RELAY || lines < TABLE;
        let cap = if identity == RELAY { RELAY_CAP } else { CAP };
        self.connections[connection].len() < BOUND && open < cap && has_line
    }

    fn close(&mut self, connection: usize, id: u32, identity: u64) -> Result<(), CloseError> {
        match self.connections[connection].get_mut(&id) {
            None => Err(CloseError::UnknownChannel),
            Some((opener, _)) if *opener != identity => Err(CloseError::NotTheOpener),
            Some((_, State::Draining)) => Err(CloseError::AlreadyClosing),
            Some((_, state)) => {
                *state = State::Draining;
                Ok(())
            }
        }
    }

    fn drained(&mut self, connection: usize, id: u32) -> Result<(), CloseError> {
        match self.connections[connection].get(&id) {
            None => return Err(CloseError::UnknownChannel),
            Some((_, State::Open)) => return Err(CloseError::NotClosing),
            Some((_, State::Draining)) => {}
        }
        self.connections[connection].remove(&id);
        Ok(())
    }
}

/// Does what the words say, on both; checks every count after each.
pub fn run(words: &[u32]) {
    let policy = Arc::new(with_default_cap());
    let mut model = Model::default();
    let mut real: Vec<Operations> = Vec::new();
    for _ in 0..5 {
        model.connections.push(BTreeMap::new());
        real.push(new_connection(&policy));
    }
    for word in words {
        let connection = (word >> 4) as usize % real.len();
        let identity = u64::from(word >> 8) % IDENTITIES;
        let id = (word >> 16) % (BOUND as u32 + 1);
        // Whom the caller says it acts for changes nothing.
        let other = u64::from(word >> 20) % IDENTITIES;
        let (caller, other) = (
            Identity::from_number(identity),
            Identity::from_number(other),
        );
        let context = if word >> 31 == 0 {
            OperationContext::direct(&caller)
        } else {
            OperationContext::relayed(&caller, &other)
        };
        match word % 16 {
            0..=6 => {
                let may = model.may_open(connection, identity);
                let opened = real[connection].open(&context, Access::Granted);
                assert_eq!(opened.is_ok(), may);
                match opened {
                    Ok(id) => {
                        let id = id.to_wire();
                        let held = &mut model.connections[connection];
                        assert_eq!(held.insert(id, (identity, State::Open)), None, "id in use");
                    }
                    Err(error) => assert_eq!(error, ChannelError::TooManyChannels),
                }
            }
            7 => {
                let denied = real[connection].open(&context, Access::Denied);
                assert_eq!(denied, Err(ChannelError::AccessDenied));
            }
            8..=10 => {
                let expected = model.close(connection, id, identity);
                assert_eq!(
                    real[connection].close(&context, ChannelId::from_wire(id)),
                    expected
                );
            }
            11..=14 => {
                let expected = model.drained(connection, id);
                assert_eq!(real[connection].drained(ChannelId::from_wire(id)), expected);
            }
            _ => {
                // The connection ends, with all its channels, and another begins.
                model.connections[connection].clear();
                real[connection] = new_connection(&policy);
            }
        }
        check(&policy, &model, &real);
    }
    drop(real);
    assert_eq!(policy.evidence().opened, policy.evidence().closed);
    assert_eq!(policy.identities(), 1, "the relay's line stays");
}

fn new_connection(policy: &Arc<Policy>) -> Operations {
    let manager = ChannelManager::new(Channels::new(BOUND as u32));
    ChannelOperations::with_policy(manager, Arc::clone(policy))
}

/// The default cap is too high to be met here.
fn with_default_cap() -> Policy {
    let policy = Policy::new(Channels::new(CAP));
    policy
        .with_caps(&[(Identity::from_number(RELAY), Channels::new(RELAY_CAP))])
        .expect("room for one")
}

fn check(policy: &Policy, model: &Model, real: &[Operations]) {
    let counts = model.counts();
    for identity in 0..IDENTITIES {
        let open = counts.get(&identity).copied().unwrap_or(0);
        assert_eq!(policy.open(&Identity::from_number(identity)).count(), open);
    }
    for (operations, held) in real.iter().zip(&model.connections) {
        assert_eq!(operations.manager().held().count() as usize, held.len());
        for id in 0..BOUND as u32 {
            let state = held.get(&id).map(|(_, state)| *state);
            let id = ChannelId::from_wire(id);
            assert_eq!(operations.manager().is_held(id), state.is_some());
            assert_eq!(operations.manager().is_open(id), state == Some(State::Open));
        }
    }
    let evidence = policy.evidence();
    assert_eq!(
        evidence.opened - evidence.closed,
        counts.values().map(|n| u64::from(*n)).sum::<u64>()
    );
    assert_eq!(evidence.faults, 0);
}
