//! Channels: the policy is called at exactly the points that matter, and both bounds answer
//! alike.

#![allow(
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation,
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a test fails by panicking"
)]

use std::sync::{Arc, Mutex};

use ingress_ledger::{
    Access, CHANNELS_PER_CONNECTION, CHANNELS_PER_IDENTITY, ChannelError, ChannelId,
    ChannelLifecyclePolicy, ChannelManager, ChannelOperations, Channels, CloseError, Identity,
    NoCap, OperationContext, PerIdentityChannelPolicy, PolicyError, Status,
};

type Policy = PerIdentityChannelPolicy<4>;

const ANN_ID: Identity = named("ann");
const ANN: OperationContext<'_> = OperationContext::direct(&ANN_ID);
const BOB_ID: Identity = named("bob");
const BOB: OperationContext<'_> = OperationContext::direct(&BOB_ID);
const RELAY_ID: Identity = named("relay");

/// The identity of a short name.
const fn named(name: &str) -> Identity {
    let mut number = 0;
    let mut at = 0;
    while at < name.len() {
        number = number << 8 | name.as_bytes()[at] as u64;
        at += 1;
    }
    Identity::from_number(number)
}

/// Notes each call, and passes it on.
#[derive(Default)]
struct Spy {
    calls: Mutex<Vec<(&'static str, Identity)>>,
    deny: bool,
}

impl ChannelLifecyclePolicy for Spy {
    fn check_open(&self, identity: &Identity) -> Result<(), ChannelError> {
        self.calls.lock().unwrap().push(("check_open", *identity));
        if self.deny {
            Err(ChannelError::TooManyChannels)
        } else {
            Ok(())
        }
    }

    fn on_close(&self, identity: &Identity) {
        self.calls.lock().unwrap().push(("on_close", *identity));
    }
}

impl Spy {
    fn take(&self) -> Vec<(&'static str, Identity)> {
        std::mem::take(&mut self.calls.lock().unwrap())
    }
}

fn operations<P: ChannelLifecyclePolicy>(policy: P, bound: u32) -> ChannelOperations<8, P> {
    ChannelOperations::with_policy(ChannelManager::new(Channels::new(bound)), policy)
}

#[test]
fn policy_is_asked_after_access_control_and_told_after_the_drain() {
    let spy = Arc::new(Spy::default());
    let mut channels = operations(Arc::clone(&spy), 8);
    assert_eq!(
        channels.open(&ANN, Access::Denied),
        Err(ChannelError::AccessDenied)
    );
    assert_eq!(spy.take(), [], "not asked where access is denied");
    let channel = channels.open(&ANN, Access::Granted).unwrap();
    assert_eq!(spy.take(), [("check_open", ANN_ID)]);
    channels.close(&ANN, channel).unwrap();
    assert_eq!(spy.take(), [], "still draining");
    assert!(channels.manager().is_held(channel) && !channels.manager().is_open(channel));
    channels.drained(channel).unwrap();
    assert_eq!(spy.take(), [("on_close", ANN_ID)]);
    assert!(!channels.manager().is_held(channel));
}

#[test]
fn denial_by_the_policy_allocates_nothing() {
    let spy = Arc::new(Spy {
        deny: true,
        ..Spy::default()
    });
    let mut channels = operations(Arc::clone(&spy), 8);
    assert_eq!(
        channels.open(&ANN, Access::Granted),
        Err(ChannelError::TooManyChannels)
    );
    assert_eq!(channels.manager().held(), Channels::new(0));
    assert_eq!(spy.take(), [("check_open", ANN_ID)]);
    drop(channels);
    assert_eq!(spy.take(), [], "nothing to give back");
}

#[test]
fn both_caps_answer_with_one_error() {
    let policy = Arc::new(Policy::new(Channels::new(1)));
    let mut channels = operations(Arc::clone(&policy), 8);
    channels.open(&ANN, Access::Granted).unwrap();
    let identity = channels.open(&ANN, Access::Granted).unwrap_err();
    let mut narrow = operations(NoCap, 1);
    narrow.open(&ANN, Access::Granted).unwrap();
    let connection = narrow.open(&ANN, Access::Granted).unwrap_err();
    assert_eq!(identity, connection);
    assert_eq!(identity.code(), "channel:too_many_channels");
    assert_eq!(identity.status(), Status::TOO_MANY_REQUESTS);
}

#[test]
fn allocation_that_fails_after_the_policy_agreed_gives_the_count_back() {
    let spy = Arc::new(Spy::default());
    let mut channels = operations(Arc::clone(&spy), 1);
    channels.open(&ANN, Access::Granted).unwrap();
    spy.take();
    assert_eq!(
        channels.open(&ANN, Access::Granted),
        Err(ChannelError::TooManyChannels)
    );
    assert_eq!(spy.take(), [("check_open", ANN_ID), ("on_close", ANN_ID)]);
    let policy = Arc::new(Policy::new(Channels::new(9)));
    let mut channels = operations(Arc::clone(&policy), 1);
    channels.open(&ANN, Access::Granted).unwrap();
    for caller in [&ANN, &BOB] {
        channels.open(caller, Access::Granted).unwrap_err();
    }
    assert_eq!(policy.open(&ANN_ID), Channels::new(1));
    assert_eq!(policy.identities(), 1, "no line is left of the other");
}

#[test]
fn cap_is_shared_by_all_connections_of_an_identity() {
    let policy = Arc::new(Policy::new(Channels::new(3)));
    let mut first = operations(Arc::clone(&policy), 8);
    let mut second = operations(Arc::clone(&policy), 8);
    first.open(&ANN, Access::Granted).unwrap();
    second.open(&ANN, Access::Granted).unwrap();
    first.open(&ANN, Access::Granted).unwrap();
    assert_eq!(
        second.open(&ANN, Access::Granted),
        Err(ChannelError::TooManyChannels)
    );
    second.open(&BOB, Access::Granted).unwrap();
    assert_eq!(policy.open(&ANN_ID), Channels::new(3));
    assert_eq!(policy.evidence().denied_at_cap, 1);
    // A connection that ends gives everything back.
    drop(first);
    assert_eq!(policy.open(&ANN_ID), Channels::new(1));
    second.open(&ANN, Access::Granted).unwrap();
}

#[test]
fn manager_inside_a_channel_counts_against_the_same_identity() {
    let policy = Arc::new(Policy::new(Channels::new(2)));
    let mut outer = operations(Arc::clone(&policy), 8);
    outer.open(&ANN, Access::Granted).unwrap();
    let mut inner = operations(Arc::clone(&policy), 8);
    inner.open(&ANN, Access::Granted).unwrap();
    assert_eq!(
        inner.open(&ANN, Access::Granted),
        Err(ChannelError::TooManyChannels)
    );
    assert_eq!(
        outer.open(&ANN, Access::Granted),
        Err(ChannelError::TooManyChannels)
    );
}

#[test]
fn forwarded_metadata_is_never_consulted() {
    let spy = Arc::new(Spy::default());
    let mut channels = operations(Arc::clone(&spy), 8);
    let relayed = OperationContext::relayed(&RELAY_ID, &ANN_ID);
    assert_eq!(relayed.forwarded_for(), Some(&ANN_ID));
    let channel = channels.open(&relayed, Access::Granted).unwrap();
    assert_eq!(channels.close(&ANN, channel), Err(CloseError::NotTheOpener));
    channels
        .close(&OperationContext::direct(&RELAY_ID), channel)
        .unwrap();
    channels.drained(channel).unwrap();
    assert_eq!(
        spy.take(),
        [("check_open", RELAY_ID), ("on_close", RELAY_ID)]
    );
}

#[test]
fn relay_has_a_cap_of_its_own() {
    let policy = Arc::new(
        Policy::new(Channels::new(1))
            .with_caps(&[(RELAY_ID, Channels::new(3))])
            .unwrap(),
    );
    let mut channels = operations(Arc::clone(&policy), 8);
    let relay = OperationContext::direct(&RELAY_ID);
    for _ in 0..3 {
        channels.open(&relay, Access::Granted).unwrap();
    }
    assert_eq!(
        channels.open(&relay, Access::Granted),
        Err(ChannelError::TooManyChannels)
    );
    channels.open(&ANN, Access::Granted).unwrap();
    assert_eq!(
        channels.open(&ANN, Access::Granted),
        Err(ChannelError::TooManyChannels)
    );
}

#[test]
fn default_caps_are_256() {
    assert_eq!(CHANNELS_PER_IDENTITY, Channels::new(256));
    assert_eq!(CHANNELS_PER_CONNECTION, Channels::new(256));
    let policy =
        PerIdentityChannelPolicy::<2>::with_per_identity_caps(&[(RELAY_ID, Channels::new(300))])
            .unwrap();
    let opened = (0..1_000)
        .take_while(|_| policy.check_open(&ANN_ID).is_ok())
        .count();
    assert_eq!(opened, 256);
    let opened = (0..1_000)
        .take_while(|_| policy.check_open(&RELAY_ID).is_ok())
        .count();
    assert_eq!(opened, 300);
    assert_eq!(policy.evidence().high_water, 300);
    let mut manager = ChannelManager::<1_000>::default();
    assert_eq!(
        (0..1_000).take_while(|_| manager.open().is_ok()).count(),
        256
    );
}

#[test]
fn cap_of_zero_admits_nothing() {
    let policy = Policy::new(Channels::new(0));
    assert_eq!(
        policy.check_open(&ANN_ID),
        Err(ChannelError::TooManyChannels)
    );
    assert_eq!(policy.identities(), 0, "and takes no line");
}

#[test]
fn full_identity_table_refuses_newcomers_and_forgets_nobody() {
    let policy = Policy::new(Channels::new(2));
    for identity in ["a", "b", "c", "d"].map(named) {
        policy.check_open(&identity).unwrap();
    }
    assert_eq!(
        policy.check_open(&named("e")),
        Err(ChannelError::TooManyChannels)
    );
    assert_eq!(policy.evidence().denied_table_full, 1);
    policy.check_open(&named("a")).unwrap();
    for identity in ["a", "b", "c", "d"].map(named) {
        assert!(policy.open(&identity).count() > 0);
    }
    policy.on_close(&named("b"));
    policy.check_open(&named("e")).unwrap();
    assert_eq!(policy.open(&named("b")), Channels::new(0));
}

#[test]
fn caps_may_follow_the_first_channels_which_stay_counted() {
    let policy = Policy::new(Channels::new(1));
    policy.check_open(&ANN_ID).unwrap();
    let policy = policy.with_caps(&[(ANN_ID, Channels::new(2))]).unwrap();
    assert_eq!(policy.open(&ANN_ID), Channels::new(1));
    policy.check_open(&ANN_ID).unwrap();
    policy.check_open(&ANN_ID).unwrap_err();
    policy.on_close(&ANN_ID);
    policy.on_close(&ANN_ID);
    assert_eq!(policy.evidence().faults, 0);
    let twice = policy.with_caps(&[(ANN_ID, Channels::new(3))]);
    assert_eq!(twice.unwrap_err(), PolicyError::DuplicateIdentity);
}

#[test]
fn policy_is_shared_by_count_by_reference_and_behind_a_pointer() {
    static POLICY: Policy = Policy::new(Channels::new(2));
    let mut first = operations(&POLICY, 8);
    let mut second = operations(Arc::new(&POLICY), 8);
    let any: Arc<dyn ChannelLifecyclePolicy> = Arc::new(&POLICY);
    let mut third = operations(any, 8);
    first.open(&ANN, Access::Granted).unwrap();
    second.open(&ANN, Access::Granted).unwrap();
    third.open(&ANN, Access::Granted).unwrap_err();
    drop((first, second, third));
    assert_eq!(POLICY.identities(), 0);
}

#[test]
fn operations_without_a_policy_have_256_an_identity() {
    let manager = ChannelManager::<600>::new(Channels::new(600));
    let mut channels = ChannelOperations::new(manager);
    let mut opened = |caller| {
        (0..600)
            .take_while(|_| channels.open(caller, Access::Granted).is_ok())
            .count()
    };
    assert_eq!((opened(&ANN), opened(&BOB)), (256, 256));
    let evidence = channels.policy().evidence();
    assert_eq!(evidence.denied_at_cap, 2);
    // And a manager that was told nothing has 256, of as many identities as that.
    let manager: ChannelManager = ChannelManager::default();
    let mut channels = ChannelOperations::new(manager);
    for number in 0..256 {
        let identity = Identity::from_number(number);
        let caller = OperationContext::direct(&identity);
        channels.open(&caller, Access::Granted).unwrap();
    }
    channels.open(&ANN, Access::Granted).unwrap_err();
    assert_eq!(channels.policy().identities(), 256);
}

#[test]
fn identities_of_numbers_words_and_bytes_are_told_apart() {
    let number = Identity::from_number(0x0807_0605_0403_0201);
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&[1, 2, 3, 4, 5, 6, 7, 8]);
    assert_eq!(Identity::from_bytes(bytes), number);
    let policy = PerIdentityChannelPolicy::<300>::new(Channels::new(1));
    for bit in 0..256 {
        let mut words = [0; 8];
        words[bit / 32] = 1 << (bit % 32);
        policy.check_open(&Identity::from_words(words)).unwrap();
        policy.check_open(&Identity::from_words(words)).unwrap_err();
    }
    assert_eq!(policy.identities(), 256);
}

#[test]
fn places_for_nobody_refuse_everybody() {
    let nobody = PerIdentityChannelPolicy::<0>::default();
    let full = nobody.check_open(&ANN_ID).unwrap_err();
    assert_eq!(full, ChannelError::TooManyChannels);
    assert_eq!(nobody.evidence().denied_table_full, 1);
    assert_eq!(nobody.identities(), 0);
    let named = nobody.with_caps(&[(ANN_ID, Channels::new(1))]);
    assert_eq!(named.unwrap_err(), PolicyError::TableTooSmall);
    let nothing = ChannelManager::<0>::default();
    assert_eq!(nothing.held(), Channels::new(0));
    let mut channels = ChannelOperations::<0, _>::with_policy(nothing, NoCap);
    let full = channels.open(&ANN, Access::Granted).unwrap_err();
    assert_eq!(full, ChannelError::TooManyChannels);
    let none = ChannelId::from_wire(0);
    assert_eq!(channels.close(&ANN, none), Err(CloseError::UnknownChannel));
    assert_eq!(channels.drained(none), Err(CloseError::UnknownChannel));
}

#[test]
fn caps_that_do_not_fit_the_table_are_refused() {
    let one = Channels::new(1);
    let twice = Policy::with_per_identity_caps(&[(named("a"), one), (named("a"), one)]);
    assert_eq!(twice.unwrap_err(), PolicyError::DuplicateIdentity);
    let five = Policy::with_per_identity_caps(&[
        (named("a"), one),
        (named("b"), one),
        (named("c"), one),
        (named("d"), one),
        (named("e"), one),
    ]);
    assert_eq!(five.unwrap_err(), PolicyError::TableTooSmall);
}

#[test]
fn no_cap_still_has_the_bound_of_the_connection() {
    let mut channels = operations(NoCap, 99);
    let opened = (0..99)
        .take_while(|_| channels.open(&ANN, Access::Granted).is_ok())
        .count();
    assert_eq!(
        opened, 8,
        "what the manager was built for, whatever the bound says"
    );
}

#[test]
fn id_is_reused_after_its_drain_and_as_late_as_possible() {
    let mut manager = ChannelManager::<3>::new(Channels::new(3));
    let ids: Vec<_> = (0..3).map(|_| manager.open().unwrap().to_wire()).collect();
    assert_eq!(ids, [0, 1, 2]);
    assert_eq!(manager.open(), Err(ChannelError::TooManyChannels));
    for id in [1, 0] {
        manager.close(ChannelId::from_wire(id)).unwrap();
        assert_eq!(
            manager.open(),
            Err(ChannelError::TooManyChannels),
            "draining counts"
        );
    }
    manager.drained(ChannelId::from_wire(1)).unwrap();
    manager.drained(ChannelId::from_wire(0)).unwrap();
    assert_eq!(manager.held(), Channels::new(1));
    assert_eq!(manager.open().unwrap().to_wire(), 1, "freed longest ago");
    assert_eq!(manager.open().unwrap().to_wire(), 0);
}

#[test]
fn each_misuse_of_an_id_has_its_own_error() {
    let mut channels = operations(NoCap, 8);
    let channel = channels.open(&ANN, Access::Granted).unwrap();
    let unknown = ChannelId::from_wire(5);
    let absurd = ChannelId::from_wire(u32::MAX);
    for id in [unknown, absurd] {
        assert_eq!(channels.close(&ANN, id), Err(CloseError::UnknownChannel));
        assert_eq!(channels.drained(id), Err(CloseError::UnknownChannel));
    }
    assert_eq!(channels.drained(channel), Err(CloseError::NotClosing));
    assert_eq!(channels.close(&BOB, channel), Err(CloseError::NotTheOpener));
    channels.close(&ANN, channel).unwrap();
    assert_eq!(
        channels.close(&ANN, channel),
        Err(CloseError::AlreadyClosing)
    );
    channels.drained(channel).unwrap();
    assert_eq!(
        channels.close(&ANN, channel),
        Err(CloseError::UnknownChannel)
    );
    let all = [
        CloseError::UnknownChannel,
        CloseError::NotTheOpener,
        CloseError::AlreadyClosing,
        CloseError::NotClosing,
    ];
    let codes: std::collections::BTreeSet<_> = all.iter().map(CloseError::code).collect();
    assert_eq!(codes.len(), all.len());
    assert!(all.iter().all(|error| error.explain().len() > 20));
}
