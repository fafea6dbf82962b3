//! The service's evidence line and the kernel's listener lines, parsed. Keys are kept as
//! they are printed, and mean what the service's own table says; a key that is asked for and
//! absent is a failure, never a zero.

use std::collections::BTreeMap;

use remote_session_web_ui::report::key::Key;
use remote_session_web_ui::report::line::LINE_PREFIX;
use remote_session_web_ui::report::row::{LaneRead, Shows};
use serde::{Deserialize, Serialize};

use crate::failure::Failure;
use crate::lane::Lane;

/// Splits `key=value` words; words without `=` are left out.
pub(crate) fn fields(text: &str) -> BTreeMap<String, String> {
    text.split_whitespace()
        .filter_map(|word| word.split_once('='))
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
        .collect()
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Evidence {
    values: BTreeMap<String, String>,
}

impl Evidence {
    /// Reads a console line; `None` if it is not an evidence line.
    pub(crate) fn parse(line: &str) -> Option<Self> {
        let values = fields(line.strip_prefix(LINE_PREFIX)?);
        Some(Self { values })
    }

    pub(crate) fn text(&self, key: &str) -> Result<&str, Failure> {
        let value = self.values.get(key);
        value.map(String::as_str).ok_or_else(|| {
            let known = match Key::read(key) {
                Some(_) => "",
                None => ", which has no such key",
            };
            Failure::MissingLine {
                what: format!("`{key}=` on the evidence line{known}"),
                last: Vec::new(),
            }
        })
    }

    pub(crate) fn count(&self, key: &str) -> Result<u64, Failure> {
        let text = self.text(key)?;
        text.parse().map_err(|_| Failure::MissingLine {
            what: format!("a number for `{key}=` (it is `{text}`)"),
            last: Vec::new(),
        })
    }

    /// A lane's counter, as `<counter>_<lane>`.
    pub(crate) fn lane(&self, counter: &str, lane: Lane) -> Result<u64, Failure> {
        self.count(&format!("{counter}_{}", lane.key()))
    }

    /// Whether a lane has every permit back, or never had any.
    pub(crate) fn all_released(&self, lane: Lane) -> bool {
        let admitted = self.lane("conns_admitted", lane);
        let released = self.lane("conns_released", lane);
        !self.enabled(lane) || admitted.is_ok_and(|count| released.is_ok_and(|back| back == count))
    }

    /// Whether a lane has a listener: the line of one without shows almost nothing.
    pub(crate) fn enabled(&self, lane: Lane) -> bool {
        self.of_lane(lane)
            .any(|(key, _)| matches!(key, Key::Lane { row, .. } if row.shows == Shows::Served))
    }

    /// A lane's responses by exact status.
    pub(crate) fn statuses(&self, lane: Lane) -> BTreeMap<u16, u64> {
        let status = |(key, value): (Key<'_>, &str)| match key {
            Key::Lane { row, label, .. } if matches!(row.read, LaneRead::Status(_)) => {
                Some((label.parse().ok()?, value.parse().ok()?))
            }
            _ => None,
        };
        self.of_lane(lane).filter_map(status).collect()
    }

    fn of_lane(&self, lane: Lane) -> impl Iterator<Item = (Key<'_>, &str)> {
        self.values.iter().filter_map(move |(key, value)| {
            let key = Key::read(key)?;
            let is_its = matches!(key, Key::Lane { lane: of, .. } if of.name() == lane.key());
            is_its.then_some((key, value.as_str()))
        })
    }

    pub(crate) fn values(&self) -> &BTreeMap<String, String> {
        &self.values
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ListenerCount {
    /// `loopback`, `nic1`, ...
    pub(crate) transport: String,
    /// The guest's port.
    pub(crate) port: u16,
    /// Connections handed to the service.
    pub(crate) accepted: u64,
    /// Connections that the backlog had no room for.
    pub(crate) backlog_refused: u64,
}

impl ListenerCount {
    /// Reads `[kernel] listener ...`; `None` for any other line.
    pub(crate) fn parse(line: &str) -> Option<Self> {
        let values = fields(line.strip_prefix("[kernel] listener ")?);
        let number = |key: &str| values.get(key)?.parse::<u64>().ok();
        Some(Self {
            transport: values.get("transport")?.clone(),
            port: u16::try_from(number("port")?).ok()?,
            accepted: number("accepted")?,
            backlog_refused: number("backlog_refused")?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_evidence_line_is_read_by_key_and_lane() {
        let line = "[web-ui] evidence admitted_anonymous=3 status_200_anonymous=2 \
                    status_429_anonymous=1 status_200_local_health=9 release_balanced=true";
        let evidence = Evidence::parse(line).unwrap();
        assert_eq!(evidence.lane("admitted", Lane::Anonymous).unwrap(), 3);
        assert_eq!(evidence.text("release_balanced").unwrap(), "true");
        let statuses = evidence.statuses(Lane::Anonymous);
        assert_eq!(statuses, BTreeMap::from([(200, 2), (429, 1)]));
    }

    #[test]
    fn permits_are_back_where_both_counts_say_so_or_there_is_no_lane() {
        for (line, back) in [
            ("conns_admitted_anonymous=3", true),
            ("rate_anonymous=unmetered", false),
            (
                "rate_anonymous=unmetered conns_admitted_anonymous=3 conns_released_anonymous=2",
                false,
            ),
            (
                "rate_anonymous=unmetered conns_admitted_anonymous=3 conns_released_anonymous=3",
                true,
            ),
        ] {
            let evidence = Evidence::parse(&format!("[web-ui] evidence {line}")).unwrap();
            assert_eq!(evidence.all_released(Lane::Anonymous), back, "{line}");
        }
    }

    #[test]
    fn an_absent_key_is_a_failure_and_not_zero() {
        let evidence = Evidence::parse("[web-ui] evidence a=1").unwrap();
        assert_eq!(evidence.count("b").unwrap_err().kind(), "missing-line");
    }

    #[test]
    fn a_listener_line_is_read_whole_or_not_at_all() {
        let line = "[kernel] listener transport=nic1 port=8080 accepted=7 backlog_refused=0";
        let count = ListenerCount::parse(line).unwrap();
        assert_eq!((count.port, count.accepted), (8080, 7));
        assert_eq!(
            ListenerCount::parse("[kernel] listener transport=nic1"),
            None
        );
    }
}
