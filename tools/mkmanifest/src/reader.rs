//! Reads TOML tables field by field, so that every error knows its line and field.
//!
//! A [`Table`] gives each entry away once; what is left at [`Table::finish`] is
//! a field that this format does not have.

use std::num::NonZeroU16;
use std::path::Path;

use toml::de::{DeTable, DeValue};

use crate::error::{Fault, ManifestError};
use crate::location::{At, Lines, Location};

/// A refusal and its place; the caller adds the file.
pub(crate) struct Refused {
    pub(crate) at: Location,
    pub(crate) fault: Box<Fault>,
}

impl Refused {
    pub(crate) fn new(at: Location, fault: Fault) -> Self {
        let fault = Box::new(fault);
        Self { at, fault }
    }

    pub(crate) fn of(self, file: &Path) -> ManifestError {
        ManifestError {
            file: file.to_owned(),
            at: Some(self.at),
            fault: self.fault,
        }
    }
}

/// One table of a manifest, its entries not yet read.
pub(crate) struct Table<'a> {
    at: Location,
    entries: Vec<(String, Value<'a>)>,
}

#[derive(Clone)]
pub(crate) struct Value<'a> {
    lines: &'a Lines,
    at: Location,
    value: &'a DeValue<'a>,
}

impl<'a> Table<'a> {
    /// The root table of a parsed file.
    pub(crate) fn root(lines: &'a Lines, table: &'a DeTable<'a>) -> Self {
        let at = Location {
            line: 1,
            field: String::new(),
        };
        Self::new(lines, at, table)
    }

    fn new(lines: &'a Lines, at: Location, table: &'a DeTable<'a>) -> Self {
        let mut spanned: Vec<_> = table.iter().collect();
        spanned.sort_by_key(|(key, _)| key.span().start);
        let entries = spanned
            .into_iter()
            .map(|(key, value)| {
                let name = key.get_ref().to_string();
                let location = Location {
                    line: lines.line_of(key.span().start),
                    field: join(&at.field, &name),
                };
                let value = Value {
                    lines,
                    at: location,
                    value: value.get_ref(),
                };
                (name, value)
            })
            .collect();
        Self { at, entries }
    }

    /// Takes a field out, if it is there.
    pub(crate) fn take(&mut self, name: &str) -> Option<Value<'a>> {
        let index = self.entries.iter().position(|(key, _)| key == name)?;
        Some(self.entries.remove(index).1)
    }

    /// Takes a field out that must be there.
    pub(crate) fn require(&mut self, name: &'static str) -> Result<Value<'a>, Refused> {
        self.take(name).ok_or_else(|| {
            let at = Location {
                line: self.at.line,
                field: join(&self.at.field, name),
            };
            Refused::new(at, Fault::MissingField)
        })
    }

    /// Every entry in the order of the file.
    pub(crate) fn into_entries(self) -> Vec<(String, Value<'a>)> {
        self.entries
    }

    /// Refuses what was not taken; `known` is what this table may hold.
    pub(crate) fn finish(self, known: &'static str) -> Result<(), Refused> {
        match self.entries.into_iter().next() {
            None => Ok(()),
            Some((_, value)) => Err(value.refuse(Fault::UnknownField { known })),
        }
    }
}

impl<'a> Value<'a> {
    pub(crate) fn at(&self) -> &Location {
        &self.at
    }

    pub(crate) fn refuse(&self, fault: Fault) -> Refused {
        Refused::new(self.at.clone(), fault)
    }

    fn wrong_type(&self, expected: &'static str) -> Refused {
        let found = self.value.type_str();
        self.refuse(Fault::WrongType { expected, found })
    }

    pub(crate) fn string(&self) -> Result<At<String>, Refused> {
        let text = self.as_str().ok_or_else(|| self.wrong_type("text"))?;
        Ok(self.with(text.to_owned()))
    }

    pub(crate) fn as_str(&self) -> Option<&'a str> {
        self.value.as_str()
    }

    /// A whole number, not negative.
    pub(crate) fn number(&self) -> Result<At<u64>, Refused> {
        self.number_in("0 to 18446744073709551615")
    }

    /// A whole number; `range` is what a number beyond 64 bits, or a negative one, is told.
    fn number_in(&self, range: &'static str) -> Result<At<u64>, Refused> {
        let integer = self
            .value
            .as_integer()
            .ok_or_else(|| self.wrong_type("a whole number"))?;
        u64::from_str_radix(integer.as_str(), integer.radix())
            .map(|number| self.with(number))
            .map_err(|_| self.refuse(Fault::NumberOutOfRange { range }))
    }

    pub(crate) fn port(&self) -> Result<At<NonZeroU16>, Refused> {
        const RANGE: &str = "1 to 65535";
        let number = self.number_in(RANGE)?;
        u16::try_from(number.value)
            .ok()
            .and_then(NonZeroU16::new)
            .map(|port| self.with(port))
            .ok_or_else(|| self.refuse(Fault::NumberOutOfRange { range: RANGE }))
    }

    pub(crate) fn table(&self) -> Result<Table<'a>, Refused> {
        let table = self
            .value
            .as_table()
            .ok_or_else(|| self.wrong_type("a table"))?;
        Ok(Table::new(self.lines, self.at.clone(), table))
    }

    /// A list, each element named by its index.
    pub(crate) fn list(&self) -> Result<Vec<Value<'a>>, Refused> {
        let array = self
            .value
            .as_array()
            .ok_or_else(|| self.wrong_type("a list"))?;
        Ok(array
            .iter()
            .enumerate()
            .map(|(index, element)| Value {
                lines: self.lines,
                at: Location {
                    line: self.lines.line_of(element.span().start),
                    field: format!("{}[{index}]", self.at.field),
                },
                value: element.get_ref(),
            })
            .collect())
    }

    pub(crate) fn with<T>(&self, value: T) -> At<T> {
        At {
            value,
            at: self.at.clone(),
        }
    }
}

fn join(path: &str, name: &str) -> String {
    if path.is_empty() {
        name.to_owned()
    } else {
        format!("{path}.{name}")
    }
}
