//! Structs from rows, by the names of their columns.
//!
//! A derive macro would do the same, but it comes with the driver, which would then be compiled a
//! second time, for the compiler (`contributing.md`, "The first build").

/// Reads a struct from rows of one database: `from_row_of! { PgRow, Name { column, column } }`. What
/// follows two dots is a struct that is read from the same row; what follows `maybe` has its default
/// if the statement has no such column.
macro_rules! from_row_of {
    ($row:ty, $name:ident { $($column:ident),+ $(, ..$part:ident)? $(; maybe $maybe:ident)? $(,)? }) => {
        impl ::sqlx::FromRow<'_, $row> for $name {
            fn from_row(row: &$row) -> Result<Self, ::sqlx::Error> {
                use ::sqlx::Row as _;
                Ok(Self {
                    $($part: ::sqlx::FromRow::from_row(row)?,)?
                    $($column: row.try_get(stringify!($column).trim_start_matches("r#"))?,)+
                    $($maybe: $crate::storage::rows::columns::or_default(
                        row.try_get(stringify!($maybe)),
                    )?,)?
                })
            }
        }
    };
}

/// The same of the rows of each database.
macro_rules! from_row {
    ($name:ident { $($columns:tt)+ }) => {
        $crate::storage::rows::columns::from_row_of!(
            ::sqlx_postgres::PgRow,
            $name { $($columns)+ }
        );
        $crate::storage::rows::columns::from_row_of!(
            ::sqlx_sqlite::SqliteRow,
            $name { $($columns)+ }
        );
    };
}

pub(super) use from_row;
pub(in crate::storage) use from_row_of;

/// What a column holds; the default if the statement has no such column.
pub(in crate::storage) fn or_default<T: Default>(
    read: Result<T, sqlx::Error>,
) -> Result<T, sqlx::Error> {
    match read {
        Err(sqlx::Error::ColumnNotFound(_)) => Ok(T::default()),
        read => read,
    }
}
