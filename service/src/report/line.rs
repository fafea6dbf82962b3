//! The evidence line: `key=value` words, one line, in the order of the table. A lane without
//! listener shows only the rows that every lane shows, which are 0.

use core::fmt;

use ingress_ledger::{Lane, OverloadKind};

use super::evidence::Evidence;
use super::row::{LaneFigures, LaneRead, Row, ServiceRead, Shows, StatusClass};
use super::table::{LANE, SERVICE};
use crate::http::status::Status;

/// What the line starts with.
pub const LINE_PREFIX: &str = "[web-ui] evidence ";

impl fmt::Display for Evidence {
    /// The words of the line, without its prefix.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut line = Line { out, separator: "" };
        for lane in Lane::ALL {
            let figures = LaneFigures::of(self, lane);
            for row in LANE
                .iter()
                .filter(|row| self.enabled[lane] || row.shows == Shows::Every)
            {
                line.lane_row(row, &figures, lane.name())?;
            }
        }
        SERVICE
            .iter()
            .try_for_each(|row| line.service_row(row, self))
    }
}

struct Line<'o, 'f> {
    out: &'o mut fmt::Formatter<'f>,
    separator: &'static str,
}

impl Line<'_, '_> {
    fn word(&mut self, word: fmt::Arguments<'_>) -> fmt::Result {
        self.out.write_str(self.separator)?;
        self.separator = " ";
        self.out.write_fmt(word)
    }

    fn lane_row(
        &mut self,
        row: &Row<LaneRead>,
        figures: &LaneFigures<'_>,
        lane: &str,
    ) -> fmt::Result {
        let Some(key) = row.line else {
            return Ok(());
        };
        match row.read {
            LaneRead::Number(read) => self.word(format_args!("{key}_{lane}={}", read(figures))),
            LaneRead::Overload(read) => OverloadKind::ALL.into_iter().try_for_each(|kind| {
                let (code, count) = (kind.code(), read(figures, kind));
                self.word(format_args!("{key}_{code}_{lane}={count}"))
            }),
            LaneRead::Status(read) => Status::ALL
                .into_iter()
                .map(|status| (status.code(), read(figures, status)))
                .filter(|(_, count)| *count > 0)
                .try_for_each(|(code, count)| {
                    self.word(format_args!("{key}_{code}_{lane}={count}"))
                }),
            LaneRead::Word(read) => self.word(format_args!("{key}_{lane}={}", read(figures))),
        }
    }

    fn service_row(&mut self, row: &Row<ServiceRead>, evidence: &Evidence) -> fmt::Result {
        let Some(key) = row.line else {
            return Ok(());
        };
        match row.read {
            ServiceRead::Number(read) => self.word(format_args!("{key}={}", read(evidence))),
            ServiceRead::Class(read) => StatusClass::ALL.into_iter().try_for_each(|class| {
                let count = read(evidence, class);
                self.word(format_args!("{key}_{}xx={count}", class.0))
            }),
            ServiceRead::Word(read) => self.word(format_args!("{key}={}", read(evidence))),
        }
    }
}
