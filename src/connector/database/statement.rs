//! Statements: texts of names and placeholders, and the values that are bound to them.

use std::{borrow::Cow, fmt::Write as _};

use super::value::Value;
use crate::text;

/// The language of a database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Dialect {
    Sqlite,
    Postgres,
    Mysql,
}

/// What a statement returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Rows that were asked for.
    Rows,
    /// The rows it has written, of which the first matters.
    Written,
    /// Nothing.
    Plain,
}

/// The longest name of a table or column.
const NAME_BYTES_MAX: usize = 63;

impl Dialect {
    /// A name in quotes. Those of `SQLite` are not the standard ones: in them, an unknown column
    /// would be a text.
    fn quote(self, name: &str) -> String {
        match self {
            Self::Sqlite | Self::Mysql => format!("`{name}`"),
            Self::Postgres => format!("\"{name}\""),
        }
    }

    pub(super) const fn can_return(self) -> bool {
        matches!(self, Self::Sqlite | Self::Postgres)
    }
}

/// A statement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Statement {
    dialect: Dialect,
    pieces: Vec<Piece>,
    pub(super) values: Vec<Value>,
    /// What each value is for.
    uses: Vec<Use>,
    /// The table that the columns belong to.
    table: Option<Box<str>>,
    pub(super) kind: Kind,
    /// Whether its text is an author's.
    pub(super) is_foreign: bool,
}

/// What a value is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Use {
    /// It is compared with a column.
    Compared(Box<str>),
    /// It is written to a column.
    Stored(Box<str>),
    Other,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Piece {
    Text(String),
    /// A placeholder of one of the values.
    Value(usize),
}

impl Statement {
    pub(super) const fn new(dialect: Dialect) -> Self {
        Self {
            dialect,
            pieces: Vec::new(),
            values: Vec::new(),
            uses: Vec::new(),
            table: None,
            kind: Kind::Plain,
            is_foreign: false,
        }
    }

    pub(super) const fn dialect(&self) -> Dialect {
        self.dialect
    }

    /// Appends text of ours.
    pub(super) fn sql(&mut self, text: &str) -> &mut Self {
        if let Some(Piece::Text(last)) = self.pieces.last_mut() {
            last.push_str(text);
        } else {
            self.pieces.push(Piece::Text(text.to_owned()));
        }
        self
    }

    /// Appends the name of a column.
    pub(super) fn column(&mut self, name: &str) -> Result<&mut Self, String> {
        checked(name)?;
        let quoted = self.dialect.quote(name);
        Ok(self.sql(&quoted))
    }

    /// Appends the name of a table, with that of its schema if it has one.
    pub(super) fn table(&mut self, name: &str) -> Result<&mut Self, String> {
        self.table = Some(name.into());
        let (schema, table) = name
            .split_once('.')
            .map_or((None, name), |(schema, table)| (Some(schema), table));
        if let Some(schema) = schema {
            self.column(schema)?.sql(".");
        }
        self.column(table)
    }

    /// Appends a placeholder, and binds a value to it.
    pub(super) fn value(&mut self, value: Value) -> &mut Self {
        self.value_for(Use::Other, value)
    }

    /// Appends a placeholder, and binds a value to it that is compared with a column.
    pub(super) fn compared(&mut self, column: &str, value: Value) -> &mut Self {
        self.value_for(Use::Compared(column.into()), value)
    }

    /// Appends a placeholder, and binds a value to it that is written to a column.
    pub(super) fn stored(&mut self, column: &str, value: Value) -> &mut Self {
        self.value_for(Use::Stored(column.into()), value)
    }

    fn value_for(&mut self, what: Use, value: Value) -> &mut Self {
        self.pieces.push(Piece::Value(self.values.len()));
        self.values.push(value);
        self.uses.push(what);
        self
    }

    /// Appends a placeholder of a value that is bound already.
    pub(super) fn value_again(&mut self, place: usize) -> &mut Self {
        self.pieces.push(Piece::Value(place));
        self
    }

    /// Appends another statement with its values.
    pub(super) fn append(&mut self, other: &Self) -> &mut Self {
        let first = self.values.len();
        for piece in &other.pieces {
            match piece {
                Piece::Text(text) => {
                    self.sql(text);
                }
                Piece::Value(place) => self.pieces.push(Piece::Value(first + place)),
            }
        }
        self.values.extend(other.values.iter().cloned());
        self.uses.extend(other.uses.iter().cloned());
        self
    }

    /// The table whose columns values are for; none if there are no such values.
    pub(super) fn table_of_values(&self) -> Option<&str> {
        let has_columns = self.uses.iter().any(|what| *what != Use::Other);
        self.table.as_deref().filter(|_| has_columns)
    }

    /// The digits of numbers to store that a binary fraction may not keep, with their columns.
    pub(super) fn inexact(&self) -> impl Iterator<Item = (&str, Cow<'_, str>)> {
        let values = self.uses.iter().zip(&self.values);
        values.filter_map(|(what, value)| match what {
            Use::Stored(column) => Some((&**column, value.inexact()?)),
            Use::Compared(_) | Use::Other => None,
        })
    }

    /// Replaces each value, with what it is for.
    pub(super) fn map_values(&mut self, map: impl Fn(&Use, &Value) -> Option<Value>) {
        for (value, what) in self.values.iter_mut().zip(&self.uses) {
            if let Some(other) = map(what, value) {
                *value = other;
            }
        }
    }

    /// The text, with placeholders as written by `placeholder`.
    pub(super) fn text_with(
        &self,
        mut placeholder: impl FnMut(&mut String, usize, &Value),
    ) -> String {
        let mut whole = String::new();
        for piece in &self.pieces {
            match piece {
                Piece::Text(text) => whole.push_str(text),
                Piece::Value(place) => placeholder(&mut whole, *place, &self.values[*place]),
            }
        }
        whole
    }

    /// The text with numbered placeholders.
    pub(super) fn text(&self) -> String {
        let sign = match self.dialect {
            Dialect::Sqlite | Dialect::Mysql => '?',
            Dialect::Postgres => '$',
        };
        self.text_with(|text, place, _| {
            let _ = write!(text, "{sign}{}", place + 1);
        })
    }
}

/// Checks a name. It is quoted besides; a name with other characters is a mistake.
fn checked(name: &str) -> Result<(), String> {
    let is_name = |at: usize, next: char| match next {
        '_' => true,
        '$' => at > 0,
        next => next.is_alphabetic() || (at > 0 && next.is_numeric()),
    };
    let is_valid = !name.is_empty()
        && name.len() <= NAME_BYTES_MAX
        && name.char_indices().all(|(at, next)| is_name(at, next));
    if is_valid {
        return Ok(());
    }
    let shown = text::start(name, NAME_BYTES_MAX);
    Err(format!(
        "`{shown}` is not a valid name of a table or column: letters, digits and _, at most {NAME_BYTES_MAX} bytes"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_checked_and_values_are_placeholders() {
        let mut statement = Statement::new(Dialect::Sqlite);
        statement.sql("SELECT * FROM ");
        statement.table("main.orders").expect("a table");
        statement.sql(" WHERE ");
        statement.column("größe_2").expect("a column");
        statement.sql(" = ").value(Value::Text("'; --".into()));
        assert_eq!(
            statement.text(),
            "SELECT * FROM `main`.`orders` WHERE `größe_2` = ?1"
        );
        for name in [
            "", "a b", "a`b", "a\"b", "a;b", "a.b", "1a", "a'", "a\0", "a-b", "a--",
        ] {
            assert!(statement.column(name).is_err(), "{name}");
        }
        assert!(statement.column(&"a".repeat(64)).is_err());
    }
}
