//! Who gives way to a newcomer: idlers of its own lane, oldest first; never a working connection.

#![expect(clippy::arithmetic_side_effects, reason = "a test fails loudly")]

mod support;

use ingress_ledger::Lane::{self, Anonymous, LocalHealth, ProviderHealth};
use proptest::prelude::*;
use remote_session_web_ui::ConnId;
use support::{Closed, Wire};

const GET: &str = "GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n";
/// A silent connection gives way from this age on.
const GRACE_MS: u64 = 250;

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
        (503, "lane_at_capacity")
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
    assert_eq!(wire.response(refused).status, 503, "all of them work");
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

#[test]
fn whoever_has_sent_a_byte_is_working() {
    for byte in ["G", "\r\nG", "GET /healthz HTTP/1.1\r\n"] {
        let mut wire = Wire::tight(&["ingress_public_conns=2"]);
        for _ in 0..2 {
            let conn = wire.connect(Anonymous);
            wire.send(conn, byte);
        }
        wire.pass_ms(5000);
        let refused = wire.connect(Anonymous);
        assert_eq!(wire.response(refused).status, 503, "{byte:?}");
        assert_eq!(idle_closed(&wire, Anonymous), 0);
        wire.finish();
    }
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
    assert!(wire.try_connect(ProviderHealth).is_err());
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
    assert_eq!(wire.response(refused).status, 503);
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
            assert!(wire.try_connect(Anonymous).is_ok() || wire.evidence().permits.in_use == 8);
            wire.pass_ms(1);
        };
        for round in 0..20 {
            // Newcomers are refused until one of those that are in has been silent for long enough.
            let client = (0..=GRACE_MS).find_map(|_| {
                let before = admitted(&wire);
                let newcomer = wire.try_connect(Anonymous);
                let is_in = admitted(&wire) > before;
                flood(&mut wire);
                newcomer.ok().filter(|_| is_in)
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
    Working,
    Answered(u64),
}

/// One lane's open connections, as the rule has them.
struct Model {
    open: Vec<(ConnId, Doing)>,
    limit: usize,
}

impl Model {
    /// Who gives way now: whoever has been an idler for longest.
    fn idler(&self, now_ms: u64) -> Option<ConnId> {
        let idle = |doing| match doing {
            Doing::Silent(since) => (since + GRACE_MS <= now_ms).then_some((since, 0)),
            Doing::Answered(since) => Some((since, 1)),
            Doing::Working => None,
        };
        self.open
            .iter()
            .filter_map(|(conn, doing)| Some((idle(*doing)?, *conn)))
            .min_by_key(|(age, _)| *age)
            .map(|(_, conn)| conn)
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn who_gives_way_is_who_the_rule_names(
        ops in prop::collection::vec((0u8..6, any::<prop::sample::Index>(), 1u64..120), 1..200),
    ) {
        let mut wire = Wire::tight(&["ingress_public_conns=6"]);
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
                    let leaver = if room { None } else { model.idler(wire.now_ms) };
                    let newcomer = wire.try_connect(Anonymous);
                    if let Some(leaver) = leaver {
                        prop_assert!(wire.is_closed(leaver));
                        model.open.retain(|(conn, _)| *conn != leaver);
                    }
                    if room || leaver.is_some() {
                        model.open.push((newcomer.unwrap(), Doing::Silent(wire.now_ms)));
                    } else if let Ok(refused) = newcomer {
                        prop_assert_eq!(wire.response(refused).status, 503);
                    }
                }
                3 | 4 if !model.open.is_empty() => {
                    let at = pick.index(model.open.len());
                    let (conn, doing) = &mut model.open[at];
                    if op == 3 && *doing != Doing::Working {
                        wire.send(*conn, "GET /healthz HTTP/1.1\r\n");
                        *doing = Doing::Working;
                    } else {
                        let rest = if *doing == Doing::Working { "Host: a\r\n\r\n" } else { GET };
                        prop_assert_eq!(wire.ask(*conn, rest).status, 200);
                        *doing = Doing::Answered(wire.now_ms);
                    }
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
