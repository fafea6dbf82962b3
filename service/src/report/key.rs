//! The evidence line's keys, read back: for whoever reads what [`super::line`] wrote.

use ingress_ledger::Lane;

use super::row::{LaneRead, Row, ServiceRead};
use super::table::{LANE, SERVICE};

/// What a key names.
#[derive(Debug, Clone, Copy)]
pub enum Key<'k> {
    /// A lane's figure, with the kind of overload or the status if it has one.
    Lane {
        /// Its row.
        row: &'static Row<LaneRead>,
        /// The lane.
        lane: Lane,
        /// The kind of overload or the status; empty for a figure without.
        label: &'k str,
    },
    /// A figure of the whole service.
    Service {
        /// Its row.
        row: &'static Row<ServiceRead>,
        /// The class of statuses; empty for a figure without.
        label: &'k str,
    },
}

impl<'k> Key<'k> {
    /// Reads a key as it stands on the line; `None` if the table has no such row.
    #[must_use]
    pub fn read(key: &'k str) -> Option<Self> {
        let service = SERVICE.iter().find_map(|row| {
            let labelled = matches!(row.read, ServiceRead::Class(_));
            let label = label(key, row.line?, labelled)?;
            Some(Self::Service { row, label })
        });
        service.or_else(|| {
            Lane::ALL
                .into_iter()
                .find_map(|lane| Self::of_lane(key, lane))
        })
    }

    fn of_lane(key: &'k str, lane: Lane) -> Option<Self> {
        let key = key.strip_suffix(lane.name())?.strip_suffix('_')?;
        LANE.iter().find_map(|row| {
            let labelled = matches!(row.read, LaneRead::Overload(_) | LaneRead::Status(_));
            let label = label(key, row.line?, labelled)?;
            Some(Self::Lane { row, lane, label })
        })
    }
}

fn label<'k>(key: &'k str, row: &str, labelled: bool) -> Option<&'k str> {
    let rest = key.strip_prefix(row)?;
    if labelled {
        rest.strip_prefix('_')
    } else {
        rest.is_empty().then_some(rest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_name_their_row_lane_and_label() {
        for (key, name, lane, label) in [
            ("admitted_anonymous", "admitted", Lane::Anonymous, ""),
            (
                "high_water_local_health",
                "high_water",
                Lane::LocalHealth,
                "",
            ),
            (
                "overload_clock_lost_local_health",
                "overload",
                Lane::LocalHealth,
                "clock_lost",
            ),
            (
                "status_200_provider_health",
                "status",
                Lane::ProviderHealth,
                "200",
            ),
        ] {
            let Some(Key::Lane {
                row,
                lane: found,
                label: labelled,
            }) = Key::read(key)
            else {
                panic!("{key}");
            };
            assert_eq!((row.line, found, labelled), (Some(name), lane, label));
        }
        for (key, name, label) in [
            ("responses_2xx", "responses", "2xx"),
            ("slots_high_water", "slots_high_water", ""),
            ("state", "state", ""),
        ] {
            let Some(Key::Service {
                row,
                label: labelled,
            }) = Key::read(key)
            else {
                panic!("{key}");
            };
            assert_eq!((row.line, labelled), (Some(name), label));
        }
    }

    #[test]
    fn what_the_line_does_not_have_is_no_key() {
        for key in [
            "",
            "admitted",
            "admitted_",
            "admitted_x",
            "_anonymous",
            "status_anonymous",
            "serving_anonymous",
            "state_anonymous",
            "uptime_ns",
        ] {
            assert!(Key::read(key).is_none(), "{key}");
        }
    }
}
