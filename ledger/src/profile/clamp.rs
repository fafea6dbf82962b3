//! Clamping: the lesser of quota and structural maximum, field by field, and a record of
//! which fields of the quota were cut.

use super::limits::{LaneLimits, LanePhases, Limits, Listener, Quota};
use crate::lane::{Lane, PerLane};
use crate::rate::{RateBudget, RatePolicy};

/// A field of [`Limits`] or [`LaneLimits`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
#[expect(
    missing_docs,
    reason = "each variant is named after the field that it stands for"
)]
pub enum Field {
    Slots,
    Connections,
    BytesInFlight,
    RefusalDeadline,
    SlotReserve,
    Queue,
    ConnectionReserve,
    Refusals,
    PerConnection,
    Footprint,
    Deadline,
    Head,
    Body,
    Write,
    Idle,
    RequestRate,
    AcceptRate,
}

impl Field {
    /// Every field, in the order of declaration.
    pub const ALL: [Field; 17] = [
        Field::Slots,
        Field::Connections,
        Field::BytesInFlight,
        Field::RefusalDeadline,
        Field::SlotReserve,
        Field::Queue,
        Field::ConnectionReserve,
        Field::Refusals,
        Field::PerConnection,
        Field::Footprint,
        Field::Deadline,
        Field::Head,
        Field::Body,
        Field::Write,
        Field::Idle,
        Field::RequestRate,
        Field::AcceptRate,
    ];

    /// Stable name for readbacks.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Field::Slots => "slots",
            Field::Connections => "connections",
            Field::BytesInFlight => "bytes_in_flight",
            Field::RefusalDeadline => "refusal_deadline",
            Field::SlotReserve => "slot_reserve",
            Field::Queue => "queue",
            Field::ConnectionReserve => "connection_reserve",
            Field::Refusals => "refusals",
            Field::PerConnection => "per_connection",
            Field::Footprint => "footprint",
            Field::Deadline => "deadline",
            Field::Head => "head",
            Field::Body => "body",
            Field::Write => "write",
            Field::Idle => "idle",
            Field::RequestRate => "request_rate",
            Field::AcceptRate => "accept_rate",
        }
    }
}

/// A field of the quota that was cut to its structural maximum.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ClampedField {
    /// The lane, or `None` for a field of all lanes together.
    pub lane: Option<Lane>,
    /// The field.
    pub field: Field,
}

/// The set of fields that were cut.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Clamps {
    shared: u32,
    lanes: PerLane<u32>,
}

impl Clamps {
    /// Whether the quota was granted as asked.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Clamps::default()
    }

    /// Whether this field was cut.
    #[must_use]
    pub fn contains(&self, clamped: ClampedField) -> bool {
        let set = match clamped.lane {
            Some(lane) => self.lanes[lane],
            None => self.shared,
        };
        set & bit(clamped.field) != 0
    }

    /// The fields that were cut: those of all lanes together first, then lane by lane.
    pub fn iter(&self) -> impl Iterator<Item = ClampedField> + '_ {
        [None]
            .into_iter()
            .chain(Lane::ALL.map(Some))
            .flat_map(move |lane| {
                Field::ALL
                    .into_iter()
                    .map(move |field| ClampedField { lane, field })
                    .filter(|clamped| self.contains(*clamped))
            })
    }
}

const fn bit(field: Field) -> u32 {
    1 << field as u8
}

/// The lesser of what is asked for and the maximum, and which fields that cut. Of a lane that does
/// not exist nothing is cut: there is nobody to tell.
pub(super) fn clamp(quota: &Quota, maximum: &Limits) -> (Limits, Clamps) {
    let asked = &quota.limits;
    let mut clamps = Clamps::default();
    let mut shared = Cutter {
        cut: &mut clamps.shared,
    };
    let slots = shared.least(Field::Slots, asked.slots, maximum.slots);
    let connections = shared.least(Field::Connections, asked.connections, maximum.connections);
    let bytes_in_flight = shared.least(
        Field::BytesInFlight,
        asked.bytes_in_flight,
        maximum.bytes_in_flight,
    );
    let refusal_deadline = shared.least(
        Field::RefusalDeadline,
        asked.refusal_deadline,
        maximum.refusal_deadline,
    );
    let lanes = PerLane::from_fn(|lane| {
        if quota.listeners[lane] == Listener::Absent {
            return asked.lanes[lane];
        }
        let mut cutter = Cutter {
            cut: &mut clamps.lanes[lane],
        };
        clamp_lane(&mut cutter, &asked.lanes[lane], &maximum.lanes[lane])
    });
    (
        Limits {
            slots,
            connections,
            bytes_in_flight,
            refusal_deadline,
            lanes,
        },
        clamps,
    )
}

fn clamp_lane(cutter: &mut Cutter<'_>, asked: &LaneLimits, maximum: &LaneLimits) -> LaneLimits {
    LaneLimits {
        slots: cutter.least(Field::Slots, asked.slots, maximum.slots),
        slot_reserve: cutter.least(Field::SlotReserve, asked.slot_reserve, maximum.slot_reserve),
        queue: cutter.least(Field::Queue, asked.queue, maximum.queue),
        connections: cutter.least(Field::Connections, asked.connections, maximum.connections),
        connection_reserve: cutter.least(
            Field::ConnectionReserve,
            asked.connection_reserve,
            maximum.connection_reserve,
        ),
        refusals: cutter.least(Field::Refusals, asked.refusals, maximum.refusals),
        per_connection: cutter.least(
            Field::PerConnection,
            asked.per_connection,
            maximum.per_connection,
        ),
        footprint: cutter.least(Field::Footprint, asked.footprint, maximum.footprint),
        deadline: cutter.least(Field::Deadline, asked.deadline, maximum.deadline),
        phases: clamp_phases(cutter, &asked.phases, &maximum.phases),
        request_rate: cutter.slower(Field::RequestRate, asked.request_rate, maximum.request_rate),
        accept_rate: cutter.slower(Field::AcceptRate, asked.accept_rate, maximum.accept_rate),
    }
}

fn clamp_phases(cutter: &mut Cutter<'_>, asked: &LanePhases, maximum: &LanePhases) -> LanePhases {
    LanePhases {
        head: cutter.least(Field::Head, asked.head, maximum.head),
        body: cutter.least(Field::Body, asked.body, maximum.body),
        write: cutter.least(Field::Write, asked.write, maximum.write),
        idle: cutter.least(Field::Idle, asked.idle, maximum.idle),
    }
}

struct Cutter<'c> {
    cut: &'c mut u32,
}

impl Cutter<'_> {
    fn least<T: Ord + Copy>(&mut self, field: Field, asked: T, maximum: T) -> T {
        if asked > maximum {
            *self.cut |= bit(field);
        }
        asked.min(maximum)
    }

    /// A budget is cut to a budget, part by part, and an unmetered rate to the maximum's
    /// budget. An exemption is left to the validation, which knows the transport.
    fn slower(&mut self, field: Field, asked: RatePolicy, maximum: RatePolicy) -> RatePolicy {
        let RatePolicy::Budget(maximum) = maximum else {
            return asked;
        };
        let granted = match asked {
            RatePolicy::Budget(asked) => RateBudget {
                burst: asked.burst.min(maximum.burst),
                per_second: asked.per_second.min(maximum.per_second),
            },
            RatePolicy::Unmetered => maximum,
            RatePolicy::LoopbackExempt => return asked,
        };
        if asked != RatePolicy::Budget(granted) {
            *self.cut |= bit(field);
        }
        RatePolicy::Budget(granted)
    }
}
