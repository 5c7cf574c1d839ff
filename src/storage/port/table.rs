//! Tables as they are copied from one database to another.

/// A table that both databases have.
#[derive(Debug, Clone, Copy)]
pub(in crate::storage) struct Table {
    pub(in crate::storage) name: &'static str,
    /// How many of the columns are its key; those are the first ones.
    pub(in crate::storage) key: usize,
    pub(in crate::storage) columns: &'static [(&'static str, Kind)],
}

impl Table {
    /// The columns of its key.
    pub(in crate::storage) fn key(&self) -> &'static [(&'static str, Kind)] {
        self.columns.get(..self.key).unwrap_or(self.columns)
    }

    /// The key of a row.
    pub(in crate::storage) fn key_of<'a>(&self, row: &'a [Value]) -> &'a [Value] {
        row.get(..self.key).unwrap_or(row)
    }
}

/// What a column holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::storage) enum Kind {
    Integer,
    /// An integer of 32 bits, where databases make a difference.
    Small,
    /// True or false; an integer that is 1 or 0 where there are no truth values.
    Flag,
    Text,
    Bytes,
    /// Sixteen bytes.
    Uuid,
}

/// What a row has in a column: the same in both databases.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::storage) enum Value {
    Null,
    Integer(i64),
    Text(String),
    Bytes(Vec<u8>),
}

/// A row, in the order of the columns.
pub(in crate::storage) type Row = Vec<Value>;

/// How far a copy has got. It is stored with the rows, so that a copy that was interrupted is
/// resumed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::storage) struct CopyMark {
    /// What is copied: which commit is the newest.
    pub(in crate::storage) source: String,
    /// The table.
    pub(in crate::storage) part: String,
    /// The key of the last row of it that was written, in hexadecimal; empty before the first.
    pub(in crate::storage) place: String,
    /// How many rows of all tables have been written.
    pub(in crate::storage) written: i64,
}
