//! What follows from the service's table of figures: the guide's list of the evidence line's
//! keys, and the fields of the record's schema.

use std::fmt::Write;

use ingress_ledger::OverloadKind;
use remote_session_web_ui::report::about::{About, FieldName, Kind, Unit};
use remote_session_web_ui::report::row::{LaneRead, ServiceRead};
use remote_session_web_ui::report::table::{LANE, LANE_ABOUT, SERVICE, SERVICE_ABOUT};

/// Longest line of the schema's comments.
const COMMENT_MAX: usize = 76;

/// The keys of the evidence line, in its order.
pub(crate) fn evidence_keys() -> String {
    let mut table = String::from("| key | is | counts | look at it when |\n|---|---|---|---|\n");
    for (row, about) in LANE.iter().zip(LANE_ABOUT) {
        let label = match row.read {
            LaneRead::Overload(_) => "_<kind>",
            LaneRead::Status(_) => "_<code>",
            LaneRead::Number(_) | LaneRead::Word(_) => "",
        };
        write_key(&mut table, (row.line, &format!("{label}_<lane>")), about);
    }
    for (row, about) in SERVICE.iter().zip(SERVICE_ABOUT) {
        let label = match row.read {
            ServiceRead::Class(_) => "_<class>xx",
            ServiceRead::Number(_) | ServiceRead::Word(_) => "",
        };
        write_key(&mut table, (row.line, label), about);
    }
    table
}

fn write_key(table: &mut String, (key, ending): (Option<&str>, &str), about: &About) {
    if let Some(key) = key {
        let (what, meaning) = (kind(about), about.meaning);
        let look = match about.look {
            "" => String::new(),
            look => format!("{look} "),
        };
        writeln!(table, "| `{key}{ending}` | {what} | {meaning} | {look}|").unwrap();
    }
}

/// A counter of requests is called so; the unit of a word is none.
fn kind(about: &About) -> String {
    match about.unit {
        Unit::None => about.kind.word().into(),
        unit => format!("{}, {}", about.kind.word(), unit.word()),
    }
}

/// The numbers of `LaneEvidence`.
pub(crate) fn lane_fields() -> String {
    let mut fields = Vec::new();
    for (row, about) in LANE.iter().zip(LANE_ABOUT) {
        let names: Vec<&str> = match row.read {
            LaneRead::Overload(_) => OverloadKind::ALL.map(OverloadKind::code).into(),
            _ => vec![about.name],
        };
        fields.extend(
            row.fields()
                .zip(names)
                .map(|(number, name)| (number, name, comment(about))),
        );
    }
    schema_text(fields)
}

/// The numbers of `Evidence`.
pub(crate) fn service_fields() -> String {
    let rows = SERVICE.iter().zip(SERVICE_ABOUT);
    let fields = rows.flat_map(|(row, about)| {
        row.fields()
            .map(|number| (number, about.name, comment(about)))
    });
    schema_text(fields.collect())
}

/// A sentence. What is no counter says so: the schema says what a number is by itself.
fn comment(about: &About) -> String {
    let (first, rest) = about.meaning.split_at(1);
    let what = match about.kind {
        Kind::Counter => String::new(),
        _ => format!(" ({})", kind(about)),
    };
    format!("{}{rest}{what}.", first.to_uppercase())
}

/// Fields in the order of their numbers; what is said of several in a row is said behind the last.
fn schema_text(mut fields: Vec<(u16, &str, String)>) -> String {
    fields.sort();
    let mut text = String::new();
    let mut fields = fields.iter().peekable();
    while let Some((number, name, comment)) = fields.next() {
        writeln!(text, "    {} @{number} :UInt64;", FieldName(name)).unwrap();
        let said_later = fields.peek().is_some_and(|(.., next)| next == comment);
        if !said_later {
            write_comment(&mut text, comment);
        }
    }
    text
}

fn write_comment(text: &mut String, comment: &str) {
    let mut line = String::from("    #");
    for word in comment.split(' ') {
        let longer = format!("{line} {word}");
        if longer.len() > COMMENT_MAX {
            writeln!(text, "{line}").unwrap();
            line = format!("    # {word}");
        } else {
            line = longer;
        }
    }
    writeln!(text, "{line}").unwrap();
}
