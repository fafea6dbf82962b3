//! What the process is put through.

use harness_kernel::call::kinds::Object;

use crate::kernel::{Grant, Kernel, MARKER};
use crate::network::AcceptFailure;
use crate::{order, refusals};

pub(crate) const PUBLIC: u16 = 8_080;
pub(crate) const PROVIDER: u16 = 8_081;
pub(crate) const LOCAL: u16 = 8_082;

pub(crate) const GET_HEALTH: &[u8] = b"GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n";
pub(crate) const GET_STATUS: &[u8] = b"GET /api/status HTTP/1.1\r\nHost: a\r\n\r\n";
const GET_PAGE: &[u8] = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n";
const DRAIN: &[u8] = b"POST /drain HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n";

const SECOND_NS: u64 = 1_000_000_000;
const DONE: i64 = 0;

/// Every scenario, by name.
pub(crate) const ALL: &[(&str, fn())] = &[
    (
        "three_lanes_are_served_and_drained",
        three_lanes_are_served_and_drained,
    ),
    ("one_lane_alone_is_served", one_lane_alone_is_served),
    (
        "short_sends_and_receives_make_whole_answers",
        short_sends_and_single_bytes,
    ),
    ("results_in_another_layout_are_read", another_layout),
    (
        "random_clients_in_any_order_leave_nothing_behind",
        random_clients,
    ),
    (
        "a_provider_probe_overtakes_a_public_flood",
        order::a_provider_probe_overtakes_a_public_flood,
    ),
    (
        "a_local_probe_overtakes_a_public_flood",
        order::a_local_probe_overtakes_a_public_flood,
    ),
    (
        "a_protected_flood_leaves_the_public_lane_its_entries",
        order::a_protected_flood_leaves_the_public_lane_its_entries,
    ),
    ("records_run_out_and_come_back", records_run_out),
    ("a_lost_clock_refuses_and_comes_back", a_lost_clock),
    (
        "a_spinning_accept_is_left_alone_for_a_while",
        a_spinning_accept,
    ),
    (
        "a_consumed_accept_is_tried_again_at_once",
        a_consumed_accept,
    ),
    ("a_stuck_console_stops_nothing", a_stuck_console),
    ("a_stalled_reader_is_given_up", a_stalled_reader),
    ("a_record_waits_for_what_the_kernel_owes", a_record_waits),
    (
        "one_object_under_two_names_is_refused",
        refusals::one_object,
    ),
    ("one_transport_is_refused", refusals::one_transport),
    ("one_port_is_refused", refusals::one_port),
    ("a_wildcard_is_refused", refusals::a_wildcard),
    (
        "without_a_discriminator_ports_must_differ",
        refusals::without_a_discriminator,
    ),
    (
        "without_a_discriminator_distinct_ports_serve",
        refusals::distinct_ports_serve,
    ),
    (
        "a_name_that_stands_twice_is_refused",
        refusals::a_name_twice,
    ),
    ("a_wrong_interface_is_refused", refusals::a_wrong_interface),
    (
        "a_marker_that_is_not_understood_is_refused",
        refusals::an_unknown_marker,
    ),
    ("markers_set_the_policy", refusals::markers_set_the_policy),
    ("no_listener_is_refused", refusals::no_listener),
    (
        "a_console_of_another_interface_is_refused_silently",
        refusals::a_false_console,
    ),
    (
        "a_clock_that_never_was_is_refused",
        refusals::no_clock_at_all,
    ),
    (
        "a_rejected_ring_ends_the_process",
        refusals::a_rejected_ring,
    ),
    (
        "a_forged_completion_ends_the_process",
        refusals::a_forged_completion,
    ),
];

pub(crate) const fn binding(number: u64, transport: u16, port: u16) -> Grant {
    Grant::Authority {
        number,
        transport,
        port,
    }
}

/// Everything but listeners.
pub(crate) fn bare() -> Kernel {
    let mut kernel = Kernel::new();
    kernel
        .grant("console", Object::Console)
        .grant("timer", Object::Timer)
        .grant("discrim", Object::Discriminator);
    kernel
}

pub(crate) fn three_lanes() -> Kernel {
    let mut kernel = bare();
    kernel
        .grant("ui_listener", binding(10, 1, PUBLIC))
        .grant("ui_local_listener", binding(11, 0, LOCAL))
        .grant("ui_provider_health_listener", binding(12, 2, PROVIDER))
        .grant("wall_clock", Object::WallClock)
        .grant("entropy", Object::Entropy)
        .grant("something_else", MARKER);
    kernel
}

/// Drains over the local lane, lets the grace pass, and ends.
pub(crate) fn drain(kernel: &mut Kernel) {
    kernel.after(SECOND_NS, |kernel| {
        kernel.request(LOCAL, DRAIN);
    });
}

pub(crate) fn ends_well(kernel: Kernel) -> Kernel {
    let (code, kernel) = kernel.run();
    assert_eq!(code, DONE, "{:#?}", kernel.lines());
    assert!(
        kernel.evidence().contains(" release_balanced=true "),
        "{}",
        kernel.evidence()
    );
    assert!(
        kernel.evidence().contains(" leaked=0 "),
        "{}",
        kernel.evidence()
    );
    assert_eq!(kernel.counted("outstanding"), 0);
    assert_eq!(kernel.open_sockets(), 0, "every slot is given back");
    kernel
}

fn three_lanes_are_served_and_drained() {
    let mut kernel = three_lanes();
    kernel.then(|kernel| {
        assert!(
            kernel.lines()[0].starts_with("[web-ui] policy "),
            "{:?}",
            kernel.lines()
        );
        assert_eq!(
            kernel.lines()[1],
            "[web-ui] ready lanes=anonymous,local_health,provider_health"
        );
        kernel.request(PUBLIC, &[GET_HEALTH, GET_HEALTH, GET_PAGE].concat());
        kernel.request(PROVIDER, GET_HEALTH);
        kernel.request(LOCAL, GET_STATUS);
        kernel.request(PROVIDER, b"GET /login HTTP/1.1\r\nHost: a\r\n\r\n");
    });
    kernel.then(|kernel| {
        assert_eq!(kernel.connections[0].statuses(), [200, 200, 200]);
        assert!(
            kernel.connections[0]
                .text()
                .contains("\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\n")
        );
        assert_eq!(kernel.connections[1].statuses(), [200]);
        assert_eq!(kernel.connections[2].statuses(), [200]);
        assert!((400..500).contains(&kernel.connections[3].statuses()[0]));
        for connection in &mut kernel.connections {
            connection.client_closed = true;
        }
    });
    drain(&mut kernel);
    let kernel = ends_well(kernel);
    assert_eq!(kernel.counted("admitted_anonymous"), 3);
    assert_eq!(kernel.counted("completed_provider_health"), 1);
    assert_eq!(kernel.counted("route_denied_provider_health"), 1);
    assert_eq!(kernel.counted("conns_admitted_local_health"), 2);
    assert!(
        kernel
            .connections
            .iter()
            .all(|connection| connection.service_closed)
    );
}

fn one_lane_alone_is_served() {
    let mut kernel = bare();
    kernel.grant("ui_local_listener", binding(11, 0, LOCAL));
    kernel.then(|kernel| {
        assert_eq!(kernel.lines()[1], "[web-ui] ready lanes=local_health");
        assert_eq!(kernel.listeners.len(), 1);
    });
    drain(&mut kernel);
    ends_well(kernel);
}

fn short_sends_and_single_bytes() {
    let mut kernel = three_lanes();
    kernel.piece_bytes = 7;
    kernel.then(|kernel| {
        kernel.request(PUBLIC, &[GET_PAGE, GET_HEALTH, GET_PAGE].concat());
    });
    kernel.then(|kernel| kernel.connections[0].client_closed = true);
    drain(&mut kernel);
    let kernel = ends_well(kernel);
    // Three answers stand behind each other, each as long as it says.
    let text = kernel.connections[0].text();
    let mut rest = text.as_str();
    let mut bodies = Vec::new();
    while !rest.is_empty() {
        assert!(rest.starts_with("HTTP/1.1 200 OK\r\n"), "{rest}");
        let (head, after) = rest.split_once("\r\n\r\n").unwrap();
        let length = head.split("Content-Length: ").nth(1).unwrap();
        let length: usize = length.split("\r\n").next().unwrap().parse().unwrap();
        bodies.push(&after[..length]);
        rest = &after[length..];
    }
    assert_eq!(bodies.len(), 3);
    assert_eq!(bodies[0], bodies[2], "one page, whole both times");
    assert!(bodies[0].contains("</html>"));
}

fn another_layout() {
    let mut kernel = three_lanes();
    kernel.between.odd_layout = true;
    kernel.piece_bytes = 50;
    kernel.then(|kernel| {
        kernel.request(PUBLIC, &[GET_HEALTH, GET_PAGE].concat());
    });
    kernel.then(|kernel| {
        assert_eq!(kernel.connections[0].statuses(), [200, 200]);
        kernel.connections[0].client_closed = true;
    });
    drain(&mut kernel);
    ends_well(kernel);
}

fn random_clients() {
    let mut kernel = three_lanes();
    kernel.between.scramble = Some(0x9e37_79b9_7f4a_7c15);
    kernel.piece_bytes = 300;
    let mut seed = 42_u64;
    let mut next = move |below: u64| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (seed >> 33) % below
    };
    for _ in 0..400 {
        let port = [PUBLIC, PUBLIC, PROVIDER, LOCAL][next(4) as usize];
        let requests = next(4) as usize;
        let cut = next(30) as usize;
        let (client_closed, reset, stalled) = (next(3) == 0, next(4) == 0, next(8) == 0);
        kernel.after(next(30) * 1_000_000, move |kernel| {
            let mut bytes = GET_HEALTH.repeat(requests);
            bytes.truncate(bytes.len().saturating_sub(cut));
            let id = kernel.request(port, &bytes);
            kernel.connections[id].stalled = stalled;
            kernel.connections[id].client_closed = client_closed;
            // An earlier one is reset in the middle of whatever it is at.
            if reset && id > 3 {
                kernel.connections[id - 3].reset = true;
            }
        });
    }
    kernel.after(120 * SECOND_NS, |_| {});
    drain(&mut kernel);
    let kernel = ends_well(kernel);
    let accepted: u64 = kernel
        .listeners
        .iter()
        .map(|listener| listener.accepted)
        .sum();
    assert_eq!(accepted, 401);
    for (name, port) in [
        ("anonymous", PUBLIC),
        ("provider_health", PROVIDER),
        ("local_health", LOCAL),
    ] {
        let counted: u64 = ["admitted", "refused", "turned_away"]
            .iter()
            .map(|key| kernel.counted(&format!("conns_{key}_{name}")))
            .sum();
        let listener = kernel
            .listeners
            .iter()
            .find(|listener| listener.port == port)
            .unwrap();
        assert_eq!(counted, listener.accepted, "{name}");
    }
}

fn records_run_out() {
    let mut kernel = three_lanes();
    kernel.then(|kernel| {
        for _ in 0..1_400 {
            kernel.connect(PUBLIC);
        }
    });
    kernel.then(|kernel| {
        let released = kernel.connections.iter().filter(|one| one.released).count();
        assert!(
            released > 300,
            "those past the ceiling are let go: {released}"
        );
        let told = kernel
            .connections
            .iter()
            .filter(|one| one.statuses() == [429]);
        assert_eq!(told.count(), released, "each with an answer");
        assert!(
            kernel
                .connections
                .iter()
                .all(|one| one.released == one.service_closed)
        );
        let probe = kernel.request(PROVIDER, GET_HEALTH);
        assert_eq!(probe, 1_400);
    });
    kernel.then(|kernel| {
        assert_eq!(
            kernel.connections[1_400].statuses(),
            [200],
            "the reserve is untouched"
        );
        for connection in &mut kernel.connections {
            connection.client_closed = true;
        }
    });
    kernel.then(|kernel| {
        assert_eq!(kernel.open_sockets(), 0);
        kernel.request(PUBLIC, GET_HEALTH);
    });
    kernel.then(|kernel| {
        assert_eq!(kernel.connections[1_401].statuses(), [200]);
        kernel.connections[1_401].client_closed = true;
    });
    drain(&mut kernel);
    let kernel = ends_well(kernel);
    let refused = kernel.counted("conns_refused_anonymous");
    assert_eq!(kernel.counted("status_429_anonymous"), refused);
    assert_eq!(kernel.counted("refusals_unanswered_anonymous"), 0);
    assert_eq!(
        kernel.counted("conns_high_water_anonymous") + refused,
        1_400
    );
}

fn a_lost_clock() {
    let mut kernel = three_lanes();
    kernel.then(|kernel| {
        kernel.connect(PUBLIC);
    });
    kernel.then(|kernel| kernel.between.clock_lost = true);
    kernel.after(SECOND_NS / 10, |kernel| {
        kernel.send(0, GET_HEALTH);
        kernel.connect(PUBLIC);
    });
    kernel.after(SECOND_NS / 10, |kernel| {
        assert_eq!(kernel.connections[0].statuses(), [503]);
        assert!(kernel.connections[0].text().contains("clock_lost"));
        assert!(kernel.connections[1].released, "no deadline, no connection");
        kernel.between.clock_lost = false;
    });
    kernel.after(SECOND_NS, |kernel| {
        kernel.request(PUBLIC, GET_HEALTH);
    });
    kernel.then(|kernel| {
        assert_eq!(kernel.connections[2].statuses(), [200]);
        for connection in &mut kernel.connections {
            connection.client_closed = true;
        }
    });
    drain(&mut kernel);
    let kernel = ends_well(kernel);
    assert_eq!(kernel.counted("overload_clock_lost_anonymous"), 1);
}

fn a_spinning_accept() {
    let mut kernel = three_lanes();
    kernel.then(|kernel| {
        kernel.listener(PUBLIC).failure = Some(AcceptFailure::Overloaded);
        // The accepts on their way answer now, and the failure stays.
        kernel.request(PUBLIC, GET_HEALTH);
    });
    kernel.after(10 * SECOND_NS, |kernel| {
        let failed = kernel.listener(PUBLIC).failed;
        assert!(
            (5..60).contains(&failed),
            "{failed} failures in ten seconds"
        );
        kernel.request(PROVIDER, GET_HEALTH);
    });
    kernel.then(|kernel| {
        assert_eq!(
            kernel.connections[1].statuses(),
            [200],
            "another lane is not held up"
        );
        kernel.listener(PUBLIC).failure = None;
    });
    kernel.after(3 * SECOND_NS, |kernel| {
        assert_eq!(kernel.connections[0].statuses(), [200], "the accepts go on");
        for connection in &mut kernel.connections {
            connection.client_closed = true;
        }
    });
    drain(&mut kernel);
    ends_well(kernel);
}

fn a_consumed_accept() {
    let mut kernel = three_lanes();
    for _ in 0..50 {
        kernel.then(|kernel| {
            kernel.listener(PUBLIC).failure = Some(AcceptFailure::Disconnected);
        });
    }
    kernel.then(|kernel| {
        let before_ns = kernel.now_ns();
        assert_eq!(kernel.listener(PUBLIC).failed, 50);
        kernel.request(PUBLIC, GET_HEALTH);
        kernel.then(move |kernel| {
            assert!(kernel.now_ns() - before_ns < 10_000_000, "no pause");
            assert_eq!(kernel.connections[0].statuses(), [200]);
            kernel.connections[0].client_closed = true;
        });
        drain(kernel);
    });
    let kernel = ends_well(kernel);
    assert_eq!(kernel.counted("accepts_failed_anonymous"), 50);
}

fn a_stuck_console() {
    let mut kernel = three_lanes();
    kernel.then(|kernel| kernel.between.console_stuck = true);
    for _ in 0..20 {
        // Each is followed by an evidence line that finds no way out.
        kernel.after(SECOND_NS, |kernel| {
            let id = kernel.request(PUBLIC, GET_HEALTH);
            kernel.connections[id].client_closed = true;
        });
    }
    kernel.after(SECOND_NS, |kernel| {
        assert!(kernel.connections.iter().all(|one| one.statuses() == [200]));
        kernel.between.console_stuck = false;
    });
    drain(&mut kernel);
    let kernel = ends_well(kernel);
    assert_eq!(kernel.counted("completed_anonymous"), 20);
}

fn a_stalled_reader() {
    let mut kernel = three_lanes();
    kernel.then(|kernel| {
        let id = kernel.request(PUBLIC, GET_HEALTH);
        kernel.connections[id].stalled = true;
    });
    kernel.after(60 * SECOND_NS, |kernel| {
        assert!(kernel.connections[0].released, "its deadline ends it");
        assert_eq!(kernel.open_sockets(), 0);
    });
    drain(&mut kernel);
    let kernel = ends_well(kernel);
    assert_eq!(kernel.counted("cancelled_anonymous"), 1);
}

/// A connection is given up in the middle of a send and of a receive, and others
/// come in that very moment, while the kernel still holds the memory of both.
fn a_record_waits() {
    let mut kernel = three_lanes();
    for round in 0..10 {
        kernel.then(move |kernel| {
            // One that does not read, or one that idles: a send or a receive waits.
            let id = kernel.request(PUBLIC, GET_HEALTH);
            kernel.connections[id].stalled = round % 2 == 0;
            kernel.on_release(move |kernel| {
                // One more than there are free records, round for round.
                for _ in 0..4 + round {
                    let newcomer = kernel.request(PUBLIC, &GET_PAGE.repeat(3));
                    kernel.connections[newcomer].client_closed = true;
                }
            });
        });
        kernel.after(90 * SECOND_NS, |kernel| {
            assert_eq!(kernel.open_sockets(), 0);
        });
    }
    drain(&mut kernel);
    let kernel = ends_well(kernel);
    let newcomers: usize = (0..10).map(|round| 4 + round).sum();
    assert_eq!(kernel.connections.len(), 10 + newcomers + 1);
}
