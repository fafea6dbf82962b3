//! The evidence as one capnp message, `Evidence` of the schema, written word by word.
//!
//! A `capnp` message builder allocates; this layout is fixed but for the lists of statuses, so that
//! it is written front to back into a fixed buffer. `tests/evidence_record.rs` reads it with the
//! schema's own bindings, every row of the table by its name.
//!
//! ```text
//! segment table │ root pointer │ Evidence │ 3 × LaneEvidence │ 3 × list of statuses
//! ```

use ingress_ledger::{Lane, OverloadKind, PerLane, RatePolicy};
use ingress_schema::flat::pointer::{self, Shape};

use super::evidence::{Evidence, ServingState};
use super::row::{LaneFigures, LaneRead, Row, ServiceRead};
use super::table::{LANE, SERVICE};
use crate::http::status::{Status, StatusCounters};
use crate::http::write::Text;

const LANES: usize = Lane::ALL.len();
/// `Evidence` of the schema: its lanes are its pointers.
const ROOT: Shape = Shape {
    data: root_word(last_field(SERVICE)).saturating_add(1),
    pointers: 3,
};
/// `LaneEvidence`: its list of statuses is its pointer.
const LANE_SHAPE: Shape = Shape {
    data: lane_word(last_field(LANE)).saturating_add(1),
    pointers: 1,
};
const _: () = assert!(ROOT.pointers as usize == LANES);
/// The root's pointer, the root, its lanes.
const FIXED_WORDS: usize = 1 + ROOT.words() + LANES * LANE_SHAPE.words();
/// `StatusCount`.
const STATUS: Shape = Shape {
    data: 2,
    pointers: 0,
};

/// The data word of a field of `Evidence`. Word 1 holds `state` and `releaseBalanced`, fields 1
/// and 6; fields 2 to 4 are the lanes.
const fn root_word(field: u16) -> u16 {
    match field {
        0 => 0,
        1..=6 => 2,
        _ => field.saturating_sub(4),
    }
}

/// The data word of a field of `LaneEvidence`. Word 0 holds fields 0 to 2, and field 41 is the
/// list.
const fn lane_word(field: u16) -> u16 {
    if field < 41 {
        field.saturating_sub(2)
    } else {
        field.saturating_sub(3)
    }
}

const fn last_field<R>(mut rows: &[Row<R>]) -> u16 {
    let mut last = 0;
    while let [row, others @ ..] = rows {
        let end = row.fields().end;
        if end > last {
            last = end;
        }
        rows = others;
    }
    last.saturating_sub(1)
}

/// Writes the message.
pub(crate) fn write(evidence: &Evidence, body: &mut Text<'_>) {
    let statuses = PerLane::from_fn(|lane| sent(&evidence.service[lane].responses).count());
    let list_words = |lane: Lane| STATUS.words().saturating_mul(statuses[lane]);
    let lists = Lane::ALL.into_iter().fold(0_usize, |sum, lane| {
        sum.saturating_add(list_words(lane)).saturating_add(1)
    });
    word(
        body,
        pointer::segment_table(FIXED_WORDS.saturating_add(lists)),
    );
    word(body, pointer::structure(0, ROOT));
    write_root(evidence, body);
    for place in 0..LANES {
        // The pointers that are still to come, then the lanes that come first.
        let before = LANE_SHAPE.words().saturating_mul(place);
        let offset = pointers_left(place).saturating_add(before);
        word(body, pointer::structure(offset, LANE_SHAPE));
    }
    let mut before = 0_usize;
    for (place, lane) in Lane::ALL.into_iter().enumerate() {
        write_lane(evidence, lane, body);
        // The lanes that are still to come, then the lists that come first.
        let lanes_left = pointers_left(place).saturating_mul(LANE_SHAPE.words());
        let words = u32::try_from(list_words(lane)).unwrap_or(0);
        word(
            body,
            pointer::structures(lanes_left.saturating_add(before), words),
        );
        before = before.saturating_add(list_words(lane)).saturating_add(1);
    }
    for lane in Lane::ALL {
        word(body, pointer::structure(statuses[lane], STATUS));
        for (status, count) in sent(&evidence.service[lane].responses) {
            word(body, status.code().into());
            word(body, count);
        }
    }
}

const fn pointers_left(place: usize) -> usize {
    LANES.saturating_sub(place).saturating_sub(1)
}

fn sent(responses: &StatusCounters) -> impl Iterator<Item = (Status, u64)> {
    Status::ALL
        .into_iter()
        .map(|status| (status, responses.of(status)))
        .filter(|(_, count)| *count > 0)
}

fn write_root(evidence: &Evidence, body: &mut Text<'_>) {
    let state: u64 = match evidence.state {
        ServingState::Serving => 1,
        ServingState::Draining => 2,
    };
    let mut words = [0; ROOT.data as usize];
    put(
        &mut words,
        1,
        state | u64::from(evidence.release_balanced()) << 16,
    );
    for row in SERVICE {
        if let (Some(field), ServiceRead::Number(read)) = (row.fields().next(), row.read) {
            put(&mut words, root_word(field), read(evidence));
        }
    }
    words.into_iter().for_each(|value| word(body, value));
}

fn write_lane(evidence: &Evidence, lane: Lane, body: &mut Text<'_>) {
    let figures = LaneFigures::of(evidence, lane);
    let place: u64 = match lane {
        Lane::Anonymous => 0,
        Lane::LocalHealth => 1,
        Lane::ProviderHealth => 2,
    };
    let rate: u64 = match figures.requests.rate {
        RatePolicy::Budget(_) => 1,
        RatePolicy::LoopbackExempt => 2,
        RatePolicy::Unmetered => 3,
    };
    let mut words = [0; LANE_SHAPE.data as usize];
    put(
        &mut words,
        0,
        place | u64::from(evidence.enabled[lane]) << 16 | rate << 32,
    );
    for row in LANE {
        for (field, kind) in row.fields().zip(OverloadKind::ALL) {
            let value = match row.read {
                LaneRead::Number(read) => read(&figures),
                LaneRead::Overload(read) => read(&figures, kind),
                LaneRead::Status(_) | LaneRead::Word(_) => continue,
            };
            put(&mut words, lane_word(field), value);
        }
    }
    words.into_iter().for_each(|value| word(body, value));
}

fn put(words: &mut [u64], place: u16, value: u64) {
    if let Some(word) = words.get_mut(usize::from(place)) {
        *word = value;
    }
}

fn word(body: &mut Text<'_>, value: u64) {
    body.bytes(&value.to_le_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::about::FieldName;
    use crate::report::table::{LANE_ABOUT, SERVICE_ABOUT};
    use capnp::introspect::{Introspect, TypeVariant};
    use capnp::schema::{Field, StructSchema};
    use capnp::schema_capnp::{field, node};
    use ingress_schema::evidence_capnp;

    fn schema<T: Introspect>() -> StructSchema {
        match T::introspect().which() {
            TypeVariant::Struct(schema) => schema.into(),
            _ => panic!("no struct"),
        }
    }

    fn shape(schema: StructSchema) -> Shape {
        match schema.get_proto().which() {
            Ok(node::Struct(words)) => Shape {
                data: words.get_data_word_count(),
                pointers: words.get_pointer_count(),
            },
            _ => panic!("no struct"),
        }
    }

    /// A field's number, and the word that it stands in.
    fn place(field: Field) -> (u16, u32) {
        let proto = field.get_proto();
        match (proto.get_ordinal().which(), proto.which()) {
            (Ok(field::ordinal::Explicit(number)), Ok(field::Slot(slot))) => {
                (number, slot.get_offset())
            }
            _ => panic!("neither union nor group is expected"),
        }
    }

    fn assert_place(schema: StructSchema, name: &str, (number, word): (u16, u16)) {
        let field = schema
            .find_field_by_name(&FieldName(name).to_string())
            .unwrap()
            .unwrap_or_else(|| panic!("the schema has no `{name}`"));
        assert_eq!(place(field), (number, word.into()), "{name}");
    }

    #[test]
    fn every_row_stands_where_the_schema_has_it() {
        let root = schema::<evidence_capnp::evidence::Owned>();
        assert_eq!(shape(root), ROOT);
        for (row, about) in SERVICE.iter().zip(SERVICE_ABOUT) {
            for field in row.fields() {
                assert_place(root, about.name, (field, root_word(field)));
            }
        }
        let lane = schema::<evidence_capnp::lane_evidence::Owned>();
        assert_eq!(shape(lane), LANE_SHAPE);
        for (row, about) in LANE.iter().zip(LANE_ABOUT) {
            for (field, kind) in row.fields().zip(OverloadKind::ALL) {
                let name = match row.read {
                    LaneRead::Overload(_) => kind.code(),
                    _ => about.name,
                };
                assert_place(lane, name, (field, lane_word(field)));
            }
        }
        assert_eq!(
            shape(schema::<evidence_capnp::status_count::Owned>()),
            STATUS
        );
    }
}
