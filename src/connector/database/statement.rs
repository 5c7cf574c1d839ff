//! Statements: texts of names and placeholders, and the values that are bound to them.

use std::fmt::Write as _;

use super::value::Value;

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
    pub(super) kind: Kind,
    /// Whether its text is an author's.
    pub(super) is_foreign: bool,
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
        self.pieces.push(Piece::Value(self.values.len()));
        self.values.push(value);
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
        self
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
    let shown: String = name.chars().take(NAME_BYTES_MAX).collect();
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
