//! Who gives way to a newcomer, and to a request without a slot: whoever of its own lane has had the
//! time of its standing, in the rule's order, the oldest first.

#![expect(clippy::arithmetic_side_effects, reason = "a test fails loudly")]

mod support;

use ingress_ledger::Lane::{self, Anonymous, LocalHealth, ProviderHealth};
use proptest::prelude::*;
use remote_session_web_ui::ConnId;
use support::{Closed, Wire};

const GET: &str = "GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n";
const HALF_HEAD: &str = "GET /healthz HTTP/1.1\r\n";
const HALF_BODY: &str = "POST /drain HTTP/1.1\r\nHost: a\r\nContent-Length: 12\r\n\r\ngrace";
/// From which age on a silent connection gives way, one in a head, in a body, with an unread answer.
const GRACE_MS: u64 = 250;
const HEAD_MS: u64 = 500;
const BODY_MS: u64 = 1000;
const ANSWER_MS: u64 = 500;

fn idle_closed(wire: &Wire, lane: Lane) -> u64 {
    wire.evidence().service[lane].idle_closed
}

#[test]
fn a_silent_connection_gives_way_on_every_lane() {
    let markers = [
        "ingress_public_conns=2",
        "ingress_local_conns=2",
        "ingress_provider_conns=2",
    ];
    for lane in Lane::ALL {
        let mut wire = Wire::tight(&markers);
        let first = wire.connect(lane);
        wire.pass_ms(10);
        let second = wire.connect(lane);
        wire.pass_ms(GRACE_MS);
        let newcomer = wire.connect(lane);
        assert_eq!(wire.peer(first).closed, Some(Closed::InOrder));
        assert!(wire.peer(first).inbound.is_empty(), "without a word");
        assert!(!wire.is_closed(second), "the younger one stays");
        assert_eq!(wire.ask(newcomer, GET).status, 200);
        assert_eq!(idle_closed(&wire, lane), 1);
        let evidence = wire.finish();
        assert_eq!(evidence.permits.lanes[lane].counters.refused, 0);
        assert_eq!(evidence.service[lane].timed_out, 0);
    }
}

#[test]
fn a_silent_connection_is_safe_while_it_is_young() {
    let mut wire = Wire::tight(&["ingress_public_conns=2"]);
    let young = [wire.connect(Anonymous), wire.connect(Anonymous)];
    wire.pass_ms(GRACE_MS - 1);
    let refused = wire.connect(Anonymous);
    let response = wire.response(refused);
    assert_eq!(
        (response.status, response.code()),
        (429, "lane_at_capacity")
    );
    assert!(response.body.contains("\"in_use\":2,\"limit\":2"));
    for conn in young {
        assert_eq!(wire.ask(conn, GET).status, 200);
    }
    assert_eq!(idle_closed(&wire, Anonymous), 0);
    wire.finish();
}

#[test]
fn the_oldest_idler_gives_way_of_either_kind() {
    let mut wire = Wire::tight(&["ingress_public_conns=3"]);
    let conns = [(); 3].map(|()| {
        wire.pass_ms(10);
        wire.connect(Anonymous)
    });
    wire.ask(conns[0], GET);
    wire.pass_ms(GRACE_MS);
    // Accepted second, third; answered last.
    for oldest in [conns[1], conns[2], conns[0]] {
        let newcomer = wire.connect(Anonymous);
        assert!(wire.is_closed(oldest));
        wire.send(newcomer, "G");
    }
    let refused = wire.connect(Anonymous);
    assert_eq!(wire.response(refused).status, 429, "all of them work");
    assert_eq!(idle_closed(&wire, Anonymous), 3);
    wire.finish();
}

#[test]
fn one_that_was_answered_gives_way_before_one_that_was_just_accepted() {
    let mut wire = Wire::tight(&["ingress_public_conns=2"]);
    let silent = wire.connect(Anonymous);
    let answered = wire.connect(Anonymous);
    wire.pass_ms(20);
    wire.ask(answered, GET);
    let newcomer = wire.connect(Anonymous);
    assert!(wire.is_closed(answered) && !wire.is_closed(silent));
    assert_eq!(wire.ask(newcomer, GET).status, 200);
    wire.finish();
}

fn gave_way(wire: &Wire, lane: Lane) -> u64 {
    wire.evidence().service[lane].gave_way
}

/// Connects a client that asks and reads nothing.
fn stall(wire: &mut Wire, lane: Lane, request: &str) -> ConnId {
    let conn = wire.connect(lane);
    wire.peer(conn).is_stalled = true;
    wire.send(conn, request);
    conn
}

/// Lets `count` bytes of an answer through to a client that reads no more.
fn drip(wire: &mut Wire, conn: ConnId, count: usize) {
    let before = wire.grain.send;
    wire.grain.send = count;
    wire.peer(conn).is_stalled = false;
    assert!(wire.complete_send(conn));
    wire.peer(conn).is_stalled = true;
    wire.grain.send = before;
    wire.run();
}

#[test]
fn whoever_is_in_a_head_has_its_time_and_then_gives_way() {
    for byte in ["G", "\r\nG", HALF_HEAD] {
        let mut wire = Wire::tight(&["ingress_public_conns=2"]);
        let first = wire.connect(Anonymous);
        wire.send(first, byte);
        wire.pass_ms(10);
        let second = wire.connect(Anonymous);
        wire.send(second, byte);
        wire.pass_ms(HEAD_MS - 11);
        let refused = wire.connect(Anonymous);
        assert_eq!(wire.response(refused).status, 429, "{byte:?}");
        wire.pass_ms(1);
        let newcomer = wire.connect(Anonymous);
        assert_eq!(wire.peer(first).closed, Some(Closed::InOrder), "{byte:?}");
        assert!(!wire.is_closed(second));
        assert_eq!(wire.ask(newcomer, GET).status, 200);
        assert_eq!(
            (gave_way(&wire, Anonymous), idle_closed(&wire, Anonymous)),
            (1, 0)
        );
        wire.finish();
    }
}

#[test]
fn dripping_a_head_wins_no_time() {
    let mut wire = Wire::tight(&["ingress_public_conns=2"]);
    let dripping = wire.connect(Anonymous);
    wire.send(dripping, "G");
    let other = wire.connect(Anonymous);
    wire.send(other, "GET /");
    for _ in 0..10 {
        wire.pass_ms(HEAD_MS / 10);
        wire.send(dripping, "E");
    }
    wire.connect(Anonymous);
    assert!(wire.is_closed(dripping) && !wire.is_closed(other));
    wire.finish();
}

#[test]
fn a_body_gives_way_after_the_heads() {
    let mut wire = Wire::tight(&["ingress_local_conns=2", "ingress_local_accept_burst=100"]);
    let body = wire.connect(LocalHealth);
    wire.send(body, HALF_BODY);
    wire.pass_ms(BODY_MS - HEAD_MS);
    let head = wire.connect(LocalHealth);
    wire.send(head, HALF_HEAD);
    wire.pass_ms(HEAD_MS);
    let third = wire.connect(LocalHealth);
    assert!(wire.is_closed(head) && !wire.is_closed(body));
    wire.send(third, HALF_HEAD);
    wire.send(body, "_");
    wire.connect(LocalHealth);
    assert!(wire.is_closed(body) && !wire.is_closed(third));
    assert_eq!(gave_way(&wire, LocalHealth), 2);
    wire.finish();
}

#[test]
fn an_answer_that_is_not_read_gives_its_connection_up() {
    // From a slot, and from the connection's own area.
    for request in [GET, "GET /nothing HTTP/1.1\r\nHost: a\r\n\r\n"] {
        let mut wire = Wire::tight(&["ingress_public_conns=2"]);
        let first = stall(&mut wire, Anonymous, request);
        wire.pass_ms(10);
        let second = stall(&mut wire, Anonymous, request);
        wire.pass_ms(ANSWER_MS - 10);
        let newcomer = wire.connect(Anonymous);
        assert_eq!(wire.peer(first).closed, Some(Closed::Aborted));
        assert!(!wire.is_closed(second));
        assert_eq!(wire.ask(newcomer, GET).status, 200);
        assert_eq!(gave_way(&wire, Anonymous), 1);
        let cancelled = wire.finish().ledger.lanes[Anonymous].counters.cancelled;
        assert_eq!(cancelled, if request == GET { 2 } else { 0 });
    }
}

#[test]
fn a_part_of_an_answer_that_is_taken_is_progress_and_a_byte_is_none() {
    let page = "GET /app.js HTTP/1.1\r\nHost: a\r\n\r\n";
    let mut wire = Wire::tight(&["ingress_public_conns=2"]);
    let drips = stall(&mut wire, Anonymous, page);
    let reads = stall(&mut wire, Anonymous, page);
    for _ in 0..5 {
        wire.pass_ms(ANSWER_MS / 5);
        drip(&mut wire, drips, 1);
        if wire.peer(reads).inbound.is_empty() {
            drip(&mut wire, reads, usize::MAX);
        }
    }
    let newcomer = wire.connect(Anonymous);
    assert!(wire.is_closed(drips) && !wire.is_closed(reads));
    wire.send(newcomer, HALF_HEAD);
    wire.pass_ms(ANSWER_MS / 5);
    wire.connect(Anonymous);
    assert!(wire.is_closed(reads), "a part has its time, and no more");
    wire.finish();
}

#[test]
fn an_answer_that_is_not_read_gives_its_slot_up_to_whoever_waits() {
    let mut wire = Wire::tight(&["ingress_public_slots=3", "ingress_public_conns=8"]);
    let stalled = [(); 3].map(|()| {
        wire.pass_ms(10);
        stall(&mut wire, Anonymous, GET)
    });
    wire.pass_ms(2 * ANSWER_MS);
    assert!(
        stalled.iter().all(|conn| !wire.is_closed(*conn)),
        "nobody waits"
    );
    let served = wire.connect(Anonymous);
    assert_eq!(wire.ask(served, GET).status, 200, "at once");
    assert_eq!(wire.peer(stalled[0]).closed, Some(Closed::Aborted));
    assert!(!wire.is_closed(stalled[1]), "no more than are waited for");
    // One that is young is waited for, and no longer than it has time.
    let young = stall(&mut wire, Anonymous, GET);
    for _ in 0..2 {
        stall(&mut wire, Anonymous, GET);
    }
    assert!(wire.is_closed(stalled[1]) && wire.is_closed(stalled[2]));
    let waiting = wire.connect(Anonymous);
    wire.send(waiting, GET);
    assert!(wire.peer(waiting).inbound.is_empty());
    let next = wire.server.next_deadline().unwrap().as_nanos() / 1_000_000;
    assert_eq!(next, wire.now_ms + ANSWER_MS, "the loop wakes up for it");
    wire.pass_ms(ANSWER_MS);
    assert_eq!(wire.response(waiting).status, 200);
    assert!(wire.is_closed(young));
    assert_eq!(gave_way(&wire, Anonymous), 4);
    wire.finish();
}

/// The lane is full of unread answers and of those that wait for their slots: a newcomer is accepted
/// when the first of these have had their time, and not refused before.
#[test]
fn newcomers_to_a_lane_that_turns_over_wait_to_be_accepted() {
    let mut wire = Wire::tight(&["ingress_public_slots=2", "ingress_public_conns=4"]);
    for _ in 0..2 {
        stall(&mut wire, Anonymous, GET);
    }
    let may_accept = |wire: &mut Wire| {
        let now = wire.now();
        wire.server.may_accept(Anonymous, now)
    };
    for _ in 0..2 {
        let waiting = wire.connect(Anonymous);
        wire.send(waiting, GET);
    }
    assert!(may_accept(&mut wire), "answers may still be taken at once");
    wire.pass_ms(ANSWER_MS / 2);
    assert!(!may_accept(&mut wire));
    wire.pass_ms(ANSWER_MS / 2);
    assert!(may_accept(&mut wire), "two have given way");
    let newcomer = wire.connect(Anonymous);
    assert_eq!(wire.ask(newcomer, GET).status, 200);
    wire.finish();
}

#[test]
fn without_a_queue_whoever_comes_next_is_served() {
    let mut wire = Wire::tight(&["ingress_public_slots=1", "ingress_public_queue=0"]);
    let stalled = stall(&mut wire, Anonymous, GET);
    wire.pass_ms(ANSWER_MS);
    let refused = wire.connect(Anonymous);
    assert_eq!(wire.ask(refused, GET).code(), "lane_pool_full");
    assert!(wire.is_closed(stalled));
    assert_eq!(wire.ask(refused, GET).status, 200);
    wire.finish();
}

#[test]
fn nobody_is_hurried_while_the_lane_has_room() {
    let mut wire = Wire::tight(&[]);
    let conns = [
        wire.connect(Anonymous),
        stall(&mut wire, Anonymous, GET),
        stall(
            &mut wire,
            Anonymous,
            "GET /app.js HTTP/1.1\r\nHost: a\r\n\r\n",
        ),
    ];
    wire.send(conns[0], HALF_HEAD);
    for _ in 0..9 {
        wire.pass_ms(1000);
        assert_eq!(wire.get(Anonymous, "/healthz").status, 200);
    }
    assert!(conns.iter().all(|conn| !wire.is_closed(*conn)));
    assert_eq!(gave_way(&wire, Anonymous), 0);
    wire.finish();
}

#[test]
fn a_connection_in_use_goes_after_those_that_hold_something_up() {
    let mut wire = Wire::tight(&["ingress_public_conns=2"]);
    let in_use = wire.connect(Anonymous);
    let stalled = stall(&mut wire, Anonymous, GET);
    wire.pass_ms(ANSWER_MS);
    wire.ask(in_use, GET);
    wire.pass_ms(GRACE_MS - 1);
    let newcomer = wire.connect(Anonymous);
    assert!(wire.is_closed(stalled) && !wire.is_closed(in_use));
    wire.send(newcomer, HALF_HEAD);
    wire.connect(Anonymous);
    assert!(wire.is_closed(in_use), "there is nobody else");
    wire.finish();
}

/// Each of them would ask again at once, for ever.
#[test]
fn on_a_lane_full_of_requests_an_answer_ends_its_connection() {
    let mut wire = Wire::tight(&["ingress_public_conns=2", "ingress_public_slots=1"]);
    let served = stall(&mut wire, Anonymous, &GET.repeat(9));
    let waiting = stall(&mut wire, Anonymous, &GET.repeat(9));
    let refused = wire.connect(Anonymous);
    assert_eq!(wire.response(refused).code(), "lane_at_capacity");
    for conn in [served, waiting] {
        wire.peer(conn).is_stalled = false;
        wire.run();
        assert_eq!(wire.response(conn).status, 200);
    }
    assert!(wire.peer(waiting).inbound.is_empty(), "no second answer");
    assert!(!wire.is_closed(served), "with that there is room");
    let newcomer = wire.connect(Anonymous);
    assert!(wire.is_closed(waiting), "it was told to close, and lingers");
    assert_eq!(wire.ask(newcomer, GET).status, 200);
    wire.finish();
}

#[test]
fn on_a_lane_full_of_idlers_an_answer_ends_nothing() {
    let mut wire = Wire::tight(&["ingress_public_conns=2"]);
    for _ in 0..2 {
        let conn = wire.connect(Anonymous);
        let answer = wire.ask(conn, GET);
        assert_eq!((answer.status, answer.field("connection")), (200, None));
    }
    wire.finish();
}

/// Twice as many unfinished heads as the lane holds, opened again at once whenever one is closed:
/// whoever gets in and ends its head within its time is served.
#[test]
fn slow_heads_displace_no_client_that_is_through_in_time() {
    let mut wire = Wire::tight(&["ingress_public_conns=8"]);
    let mut open: Vec<ConnId> = Vec::new();
    let attack = |wire: &mut Wire, open: &mut Vec<ConnId>| {
        open.retain(|conn| !wire.is_closed(*conn));
        wire.peers.retain(|_, peer| peer.closed.is_none());
        for _ in open.len()..16 {
            if let Some(conn) = wire.try_connect(Anonymous)
                && !wire.is_closed(conn)
            {
                wire.send(conn, HALF_HEAD);
                open.push(conn);
            }
        }
        for conn in open
            .iter()
            .copied()
            .filter(|conn| !wire.is_closed(*conn))
            .collect::<Vec<_>>()
        {
            wire.send(conn, "a: b\r\n");
        }
        wire.pass_ms(20);
    };
    for round in 0..10 {
        let client = (0..=HEAD_MS / 20).find_map(|_| {
            let newcomer = wire
                .try_connect(Anonymous)
                .filter(|conn| !wire.is_closed(*conn));
            if newcomer.is_none() {
                attack(&mut wire, &mut open);
            }
            newcomer
        });
        let client = client.unwrap_or_else(|| panic!("round {round}: never admitted"));
        wire.send(client, HALF_HEAD);
        for _ in 0..HEAD_MS / 20 - 2 {
            attack(&mut wire, &mut open);
        }
        assert_eq!(wire.ask(client, "Host: a\r\n\r\n").status, 200, "{round}");
    }
    wire.finish();
}

#[test]
fn empty_lines_before_a_request_win_no_place() {
    let mut wire = Wire::tight(&["ingress_public_conns=2"]);
    let first = wire.connect(Anonymous);
    wire.pass_ms(20);
    wire.connect(Anonymous);
    wire.pass_ms(GRACE_MS);
    wire.send(first, "\r\n");
    wire.connect(Anonymous);
    assert!(wire.is_closed(first), "it is still the oldest");
    wire.finish();
}

#[test]
fn nobody_gives_way_to_a_newcomer_that_is_refused_all_the_same() {
    let mut wire = Wire::tight(&[
        "ingress_provider_conns=2",
        "ingress_provider_accept_rate=1",
        "ingress_provider_accept_burst=2",
    ]);
    let idlers = [wire.connect(ProviderHealth), wire.connect(ProviderHealth)];
    wire.pass_ms(500);
    let refused = wire.connect(ProviderHealth);
    assert_eq!(wire.response(refused).code(), "accept_rate_limited");
    wire.is_clock_lost = true;
    let refused = wire.connect(ProviderHealth);
    assert_eq!(wire.response(refused).code(), "clock_lost");
    assert!(idlers.iter().all(|conn| !wire.is_closed(*conn)));
    assert_eq!(idle_closed(&wire, ProviderHealth), 0);
    wire.finish();
}

#[test]
fn idlers_of_another_lane_do_not_give_way() {
    let mut wire = Wire::tight(&["ingress_public_conns=2"]);
    let local = wire.connect(LocalHealth);
    let probe = wire.connect(ProviderHealth);
    wire.ask(probe, GET);
    wire.pass_ms(1000);
    for _ in 0..2 {
        let conn = wire.connect(Anonymous);
        wire.send(conn, "G");
    }
    let refused = wire.connect(Anonymous);
    assert_eq!(wire.response(refused).status, 429);
    assert!(!wire.is_closed(probe) && !wire.is_closed(local));
    wire.finish();
}

/// A thousand silent connections a second, on a lane of eight: whoever gets in and says something
/// within the grace is served, whenever it came.
#[test]
fn a_silent_flood_displaces_no_client_that_speaks_in_time() {
    for delay_ms in [0, 100, GRACE_MS - 1] {
        let mut wire = Wire::tight(&["ingress_public_conns=8", "ingress_public_refusals=1"]);
        let admitted = |wire: &Wire| wire.evidence().permits.lanes[Anonymous].counters.admitted;
        let flood = |wire: &mut Wire| {
            wire.peers.retain(|_, peer| peer.closed.is_none());
            assert!(wire.try_connect(Anonymous).is_some() || wire.evidence().permits.in_use == 8);
            wire.pass_ms(1);
        };
        for round in 0..20 {
            // Newcomers are refused until one of those that are in has been silent for long enough.
            let client = (0..=GRACE_MS).find_map(|_| {
                let before = admitted(&wire);
                let newcomer = wire.try_connect(Anonymous);
                let is_in = admitted(&wire) > before;
                flood(&mut wire);
                newcomer.filter(|_| is_in)
            });
            let client = client.unwrap_or_else(|| panic!("round {round}: never admitted"));
            (1..delay_ms).for_each(|_| flood(&mut wire));
            assert_eq!(wire.ask(client, GET).status, 200, "{round}, {delay_ms} ms");
        }
        wire.finish();
    }
}

#[test]
fn a_drain_closes_who_is_silent_but_not_who_just_came() {
    let mut wire = Wire::tight(&["ingress_total_drain_ms=1000"]);
    let old = wire.connect(Anonymous);
    wire.ask_once(LocalHealth, "POST /drain HTTP/1.1\r\nHost: a\r\n\r\n");
    wire.pass_ms(900);
    let young = wire.connect(Anonymous);
    let silent = wire.connect(Anonymous);
    wire.pass_ms(150);
    assert!(wire.is_closed(old) && !wire.is_closed(young) && !wire.is_closed(silent));
    assert_eq!(wire.ask(young, GET).status, 503, "the balancer is told");
    let next = wire.server.next_deadline().unwrap();
    assert!(next.as_nanos() <= 1_200_000_000, "{next:?}");
    wire.pass_ms(GRACE_MS);
    assert!(wire.is_closed(silent));
    wire.finish();
}

/// What a connection of the model is doing, and since when.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Doing {
    Silent(u64),
    Head(u64),
    Unread(u64),
    Answered(u64),
}

/// One lane's open connections, as the rule has them.
struct Model {
    open: Vec<(ConnId, Doing)>,
    limit: usize,
}

impl Model {
    /// Who gives way now, by the rule's order and then by age.
    fn next(&self, now_ms: u64) -> Option<ConnId> {
        let rank = |doing| match doing {
            Doing::Silent(since) => (since + GRACE_MS <= now_ms).then_some((0, since)),
            Doing::Head(since) => (since + HEAD_MS <= now_ms).then_some((1, since)),
            Doing::Unread(since) => (since + ANSWER_MS <= now_ms).then_some((2, since)),
            Doing::Answered(since) if since + GRACE_MS <= now_ms => Some((0, since)),
            Doing::Answered(since) => Some((3, since)),
        };
        self.open
            .iter()
            .filter_map(|(conn, doing)| Some((rank(*doing)?, *conn)))
            .min_by_key(|(rank, _)| *rank)
            .map(|(_, conn)| conn)
    }
}

/// Has a connection of the model do the next thing.
fn act(wire: &mut Wire, op: u8, conn: ConnId, doing: &mut Doing) -> Result<(), TestCaseError> {
    match (op, *doing) {
        (_, Doing::Unread(_)) => {
            wire.peer(conn).is_stalled = false;
            wire.run();
            prop_assert_eq!(wire.response(conn).status, 200);
            *doing = Doing::Answered(wire.now_ms);
        }
        // A head that has begun gets no younger.
        (3, Doing::Head(_)) => wire.send(conn, "a: b\r\n"),
        (3, _) => {
            wire.send(conn, HALF_HEAD);
            *doing = Doing::Head(wire.now_ms);
        }
        (_, before) => {
            let rest = match before {
                Doing::Head(_) => "Host: a\r\n\r\n",
                _ => GET,
            };
            wire.peer(conn).is_stalled = op == 5;
            wire.send(conn, rest);
            *doing = Doing::Unread(wire.now_ms);
            if op == 4 {
                act(wire, op, conn, doing)?;
            }
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn who_gives_way_is_who_the_rule_names(
        ops in prop::collection::vec((0u8..7, any::<prop::sample::Index>(), 1u64..120), 1..200),
    ) {
        let mut wire = Wire::tight(&["ingress_public_conns=6", "ingress_total_slots=10"]);
        let mut model = Model { open: Vec::new(), limit: 6 };
        for (op, pick, ms) in ops {
            // Each at a time of its own, so that there is always one oldest.
            wire.pass_ms(1);
            if wire.now_ms > 9_000 {
                // Deadlines are not what this is about.
                break;
            }
            match op {
                0..=2 => {
                    let room = model.open.len() < model.limit;
                    let leaver = if room { None } else { model.next(wire.now_ms) };
                    let newcomer = wire.connect(Anonymous);
                    if let Some(leaver) = leaver {
                        prop_assert!(wire.is_closed(leaver));
                        model.open.retain(|(conn, _)| *conn != leaver);
                    }
                    if room || leaver.is_some() {
                        model.open.push((newcomer, Doing::Silent(wire.now_ms)));
                    } else {
                        prop_assert_eq!(wire.response(newcomer).status, 429);
                    }
                }
                3..=5 if !model.open.is_empty() => {
                    let at = pick.index(model.open.len());
                    let (conn, doing) = &mut model.open[at];
                    act(&mut wire, op, *conn, doing)?;
                }
                _ => wire.pass_ms(ms),
            }
            for (conn, doing) in &model.open {
                prop_assert!(!wire.is_closed(*conn), "{:?}", doing);
            }
        }
        wire.finish();
    }
}
