//! Every figure that the service tells, once. A new one is a row here, and a line where it is
//! counted.
//!
//! | told as | by | from a row's |
//! |---|---|---|
//! | the evidence line | `line` | place in the table, `line`, `read` |
//! | `GET /api/ingress` | its handler | place in the table, `json`, `read` |
//! | the record, `GET /api/evidence` | `record` | `field`, `read` |
//! | the record's schema, the operators' guide | `tools/treecheck` | all of it |
//! | what the harness reads | `key` | `line` |
//!
//! Schema and guide are files, so a command writes their parts, and the schema's golden bytes:
//! `make generated`. A test fails while it is due.
//!
//! A field's number and name are for ever; a new one takes the number after the greatest. The
//! ledger's own counters stand in the ledger, which knows nothing of this table.

use super::about::About;
use super::about::Unit::{
    Accepts, Bytes, Connections, Faults, Milliseconds, Nanoseconds, Refusals, Requests, Responses,
    Slots,
};
use super::draft::Draft;
use super::evidence::{Evidence, rate_word};
use super::row::{LaneRead, Row, ServiceRead};
use crate::http::status::StatusCounters;

/// Takes the lanes' rows: `count` is a counter of the service's own, and gets its place in
/// [`ServiceCounters`]; `read` says where the figure stands.
macro_rules! lane_rows {
    ($($(count $own:ident)? $(read $name:ident as $read:expr)? => $row:expr;)*) => {
        /// What the service itself counts on one lane, beside the ledger and the permits.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[expect(missing_docs, reason = "what a counter means is in its row")]
        pub struct ServiceCounters {
            /// Responses begun, by status.
            pub responses: StatusCounters,
            /// Refused connections whose answer was not taken.
            pub refusals_unsent: u64,
            $($(pub $own: u64,)?)*
        }

        impl ServiceCounters {
            /// All zero.
            pub const ZERO: Self = Self {
                responses: StatusCounters::new(),
                refusals_unsent: 0,
                $($($own: 0,)?)*
            };
        }

        /// The figures of a lane.
        pub const LANE: &[Row<LaneRead>] = &[$(
            $row
                $(.row(stringify!($own), LaneRead::Number(|lane| lane.service.$own)))?
                $(.row(stringify!($name), $read))?
        ),*];

        /// What they are about, one by one.
        pub const LANE_ABOUT: &[About] = &[
            $($row$(.about(stringify!($own)))?$(.about(stringify!($name)))?),*
        ];
    };
}

/// Takes the whole service's rows, as [`lane_rows`].
macro_rules! service_rows {
    ($(read $name:ident as $read:expr => $row:expr;)*) => {
        /// The figures of all lanes together.
        pub const SERVICE: &[Row<ServiceRead>] = &[$($row.row(stringify!($name), $read)),*];

        /// What they are about, one by one.
        pub const SERVICE_ABOUT: &[About] = &[$($row.about(stringify!($name))),*];
    };
}

lane_rows! {
    read admitted as LaneRead::Number(|lane| lane.requests.counters.admitted)
        => Draft::counter(Requests, "requests admitted, to a slot or to the queue")
            .line().on_every_lane().json().field(3);
    read completed as LaneRead::Number(|lane| lane.requests.counters.completed)
        => Draft::counter(Requests, "of these, fully served")
            .line().json().field(4);
    read cancelled as LaneRead::Number(|lane| lane.requests.counters.cancelled)
        => Draft::counter(Requests, "of these, ended otherwise: time-out, close, reset")
            .line().json().field(5)
            .look("high: clients give up; see `timed_out_`");
    read expired as LaneRead::Number(|lane| lane.requests.counters.expired)
        => Draft::counter(Requests, "of the cancelled, those whose deadline passed in the queue")
            .line().field(6)
            .look("not 0: the slots are too few for the load; raise `slots`, or shorten `queue` \
                   so that callers learn it sooner");
    read route_denied as LaneRead::Number(|lane| lane.requests.counters.route_denied)
        => Draft::counter(Requests, "requests for a path or method that is not the lane's")
            .line().json().field(16)
            .look("on a protected lane: someone tries it out, or a probe has the wrong path");
    read denials as LaneRead::Number(|lane| lane.requests.counters.denials)
        => Draft::counter(Requests, "answers without an admission, which the lane's rate paid for")
            .line().field(43);
    read denials_unpaid as LaneRead::Number(|lane| lane.requests.counters.denials_unpaid)
        => Draft::counter(Requests, "such answers past the lane's rate; each ended its connection")
            .line().field(44)
            .look("on a protected lane: someone floods it with what is denied");
    read serving as LaneRead::Number(|lane| lane.requests.serving)
        => Draft::gauge(Requests, "requests admitted and not ended, with a slot")
            .json().field(7);
    read waiting as LaneRead::Number(|lane| lane.requests.waiting)
        => Draft::gauge(Requests, "requests admitted and not ended, without a slot")
            .json().field(8);
    read slot_reserve as LaneRead::Number(|lane| lane.requests.slot_reserve)
        => Draft::gauge(Slots, "slots that only this lane can hold")
            .json().field(17);
    read slot_limit as LaneRead::Number(|lane| lane.requests.slot_limit)
        => Draft::gauge(Slots, "slots that the lane can reach")
            .json().field(18);
    read slots_high_water as LaneRead::Number(|lane| lane.requests.counters.slots_high_water)
        => Draft::gauge(Slots, "most slots held at once")
            .line_as("high_water").json_as("high_water").field(19)
            .look("at the lane's `slots`: it has been full");
    read waiting_high_water as LaneRead::Number(|lane| lane.requests.counters.waiting_high_water)
        => Draft::gauge(Requests, "most requests waiting at once")
            .line().field(20)
            .look("at the lane's `queue`: requests were refused for want of a place");
    read bytes as LaneRead::Number(|lane| lane.requests.bytes)
        => Draft::gauge(Bytes, "bytes held by requests")
            .field(21);
    read conns_in_use as LaneRead::Number(|lane| lane.conns.in_use)
        => Draft::gauge(Connections, "connections that hold a permit")
            .json_as("conns").field(30);
    read conns_reserve as LaneRead::Number(|lane| lane.conns.reserve)
        => Draft::gauge(Connections, "connections that only this lane can hold")
            .field(31);
    read conns_limit as LaneRead::Number(|lane| lane.conns.limit)
        => Draft::gauge(Connections, "connections that the lane can reach")
            .json_as("conn_limit").field(32);
    read conns_admitted as LaneRead::Number(|lane| lane.conns.counters.admitted)
        => Draft::counter(Connections, "connections that got a permit")
            .line().on_every_lane().json().field(22);
    read conns_released as LaneRead::Number(|lane| lane.conns.counters.released)
        => Draft::counter(Connections, "permits given back")
            .line().field(23);
    read conns_refused as LaneRead::Number(|lane| lane.conns.counters.refused)
        => Draft::counter(Connections, "connections refused a permit")
            .line().json().field(24)
            .look("see the table of connections below");
    read conns_refused_clock_lost as LaneRead::Number(|lane| lane.conns.counters.refused_clock_lost)
        => Draft::counter(Connections, "of these, refused for want of a clock")
            .field(25);
    read conns_refused_rate_limited as LaneRead::Number(|lane| lane.conns.counters.refused_rate_limited)
        => Draft::counter(Connections, "of these, refused because they came too fast")
            .field(26);
    read conns_refused_lane_full as LaneRead::Number(|lane| lane.conns.counters.refused_lane_full)
        => Draft::counter(Connections, "of these, refused because the lane held all that it may have")
            .field(27);
    read conns_refused_total_full as LaneRead::Number(|lane| lane.conns.counters.refused_total_full)
        => Draft::counter(Connections, "of these, refused because all lanes held every shared one")
            .field(28);
    count conns_turned_away
        => Draft::counter(Connections, "connections closed without being asked, while draining")
            .line().field(29)
            .look("not draining: report it");
    read conns_high_water as LaneRead::Number(|lane| lane.conns.counters.high_water)
        => Draft::gauge(Connections, "most permits held at once")
            .line().field(33)
            .look("at the lane's `conns`: it has been full");
    read refusals_admitted as LaneRead::Number(|lane| lane.conns.counters.refusals_admitted)
        => Draft::counter(Refusals, "of the refused, those that were to be told so")
            .field(34);
    read refusals_unanswered as LaneRead::Number(|lane| lane.refusals_unanswered())
        => Draft::counter(Refusals, "of the refused, those closed without an answer, past the \
                                   ceiling or because it was not taken")
            .line().field(35)
            .look("not 0, unless `refusals` is: clients reset before they were told");
    read refusals_in_use as LaneRead::Number(|lane| lane.conns.refusals_in_use)
        => Draft::gauge(Refusals, "refused connections being answered")
            .field(36);
    count idle_closed
        => Draft::counter(Connections, "connections without a request closed to let newcomers in, or \
                                      by a drain: they wait for their next one, never sent a byte, \
                                      or linger after a last answer")
            .line().field(37)
            .look("high with few callers: lower `idle_ms`; high with few requests: someone opens \
                   connections and says nothing");
    count gave_way
        => Draft::counter(Connections, "connections in a head, a body or an answer ended to let \
                                      newcomers or waiting requests in")
            .line().field(42)
            .look("not 0: the lane was full, and slow clients paid for it; if they were honest, \
                   raise `conns`");
    count timed_out
        => Draft::counter(Connections, "connections or requests ended by a phase deadline, or by the \
                                      end of a drain's patience")
            .line().field(38)
            .look("high: slow clients, or an attack by slowness");
    read accepts_failed as LaneRead::Number(|lane| {
            lane.service.accepts_spun.saturating_add(lane.service.accepts_consumed)
        })
        => Draft::counter(Accepts, "accepts that failed")
            .line()
            .look("not 0: the kernel ran out of something; its own lines say what");
    count accepts_spun
        => Draft::counter(Accepts, "accepts that failed and would have failed again at once")
            .field(39);
    count accepts_consumed
        => Draft::counter(Accepts, "accepts that failed and lost their connection")
            .field(40);
    read overload as LaneRead::Overload(|lane, kind| lane.requests.counters.overloads[kind])
        => Draft::counter(Requests, "requests refused, by kind; nothing was charged")
            .line().in_fields((9, 16))
            .look("see the next table");
    read status as LaneRead::Status(|lane, status| lane.service.responses.of(status))
        => Draft::counter(Responses, "responses begun with that status; those never sent are left out")
            .line();
    read rate as LaneRead::Word(|lane| rate_word(lane.requests.rate))
        => Draft::word("`budget`, `exempt` or `unmetered`")
            .line()
            .look("`exempt` is for a loopback lane alone");
}

service_rows! {
    read uptime_ns as ServiceRead::Number(|all| all.uptime.as_nanos())
        => Draft::gauge(Nanoseconds, "since the start")
            .field(0);
    read responses as ServiceRead::Class(Evidence::responses_of_class)
        => Draft::counter(Responses, "responses begun, by class, all lanes")
            .line();
    read outstanding as ServiceRead::Number(|all| all.ledger.outstanding())
        => Draft::gauge(Requests, "requests admitted and not ended")
            .line().field(5);
    read release_balanced as ServiceRead::Word(|all| if all.release_balanced() { "true" } else { "false" })
        => Draft::word("whether every admission was ended once")
            .line()
            .look("`false`: report it");
    read leaked as ServiceRead::Number(|all| all.ledger.leaked)
        => Draft::counter(Faults, "tokens dropped unreleased")
            .line().field(7)
            .look("not 0: report it");
    read faults as ServiceRead::Number(|all| all.faults)
        => Draft::counter(Faults, "accounts that do not add up")
            .line().field(8)
            .look("not 0: report it");
    read clock_steps_back as ServiceRead::Number(|all| all.ledger.clock_steps_back)
        => Draft::counter(Faults, "times the clock stepped back and was taken to stand still")
            .field(9);
    read general_used as ServiceRead::Number(|all| all.ledger.general_used)
        => Draft::gauge(Slots, "slots of the general pool held")
            .field(10);
    read general_pool as ServiceRead::Number(|all| all.ledger.general_pool)
        => Draft::gauge(Slots, "slots of the general pool")
            .field(11);
    read slots_high_water as ServiceRead::Number(|all| all.ledger.slots_high_water)
        => Draft::gauge(Slots, "most slots held at once, all lanes together")
            .line().field(12)
            .look("at the total: the machine is the bound");
    read conns_in_use as ServiceRead::Number(|all| all.permits.in_use)
        => Draft::gauge(Connections, "connections that hold a permit, all lanes together")
            .field(13);
    read conns_limit as ServiceRead::Number(|all| all.permits.limit)
        => Draft::gauge(Connections, "connections in all")
            .field(14);
    read conns_high_water as ServiceRead::Number(|all| all.permits.high_water)
        => Draft::gauge(Connections, "most permits held at once, all lanes together")
            .line().field(15)
            .look("at the total: the machine is the bound");
    read bytes_high_water as ServiceRead::Number(|all| all.ledger.bytes_high_water)
        => Draft::gauge(Bytes, "most bytes held by requests at once")
            .line().field(17)
            .look("near `total_bytes`: raise it, if memory allows");
    read bytes_in_flight as ServiceRead::Number(|all| all.ledger.bytes_in_flight)
        => Draft::gauge(Bytes, "bytes held by requests")
            .line().field(16);
    read memory_bytes as ServiceRead::Number(|all| all.memory.count())
        => Draft::gauge(Bytes, "accounts, and every connection record and slot that was ever used; \
                              0 from a service that does not tell")
            .line().field(18)
            .look("growing while `conns_high_water` does not: report it");
    read uptime_ms as ServiceRead::Number(|all| all.uptime.as_millis())
        => Draft::gauge(Milliseconds, "since the start")
            .line();
    read state as ServiceRead::Word(|all| all.state.word())
        => Draft::word("`serving` or `draining`")
            .line();
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers of the fields that rows take, `others` being what the schema has beside them.
    fn numbers<R>(rows: &[Row<R>], others: &[u16]) -> Vec<u16> {
        let mut numbers: Vec<u16> = rows.iter().flat_map(Row::fields).collect();
        numbers.extend(others);
        numbers.sort_unstable();
        numbers
    }

    #[test]
    fn the_records_numbers_leave_no_gap_and_stand_once() {
        let lane = numbers(LANE, &[0, 1, 2, 41]);
        let expected = (0..).take(lane.len());
        assert!(lane.iter().copied().eq(expected), "{lane:?}");
        let service = numbers(SERVICE, &[1, 2, 3, 4, 6]);
        let expected = (0..).take(service.len());
        assert!(service.iter().copied().eq(expected), "{service:?}");
    }

    fn assert_once(keys: impl IntoIterator<Item = &'static str>) {
        let mut keys: Vec<&str> = keys.into_iter().collect();
        keys.sort_unstable();
        assert!(keys.windows(2).all(|pair| pair[0] != pair[1]), "{keys:?}");
    }

    #[test]
    fn names_and_keys_stand_once() {
        assert_once(LANE_ABOUT.iter().map(|about| about.name));
        assert_once(LANE.iter().filter_map(|row| row.line));
        assert_once(LANE.iter().filter_map(|row| row.json));
        assert_once(SERVICE_ABOUT.iter().map(|about| about.name));
        assert_once(SERVICE.iter().filter_map(|row| row.line));
    }
}
