//! Sorting what does not fit in memory.

use futures_util::{StreamExt as _, TryStreamExt as _, stream::BoxStream};
use sqlx::{ConnectOptions as _, Connection as _, Executor as _};
use sqlx_sqlite::{SqliteConnectOptions, SqliteConnection, SqliteJournalMode, SqliteSynchronous};

use super::statement;
use crate::entity::Position;
use crate::storage::port::Error;

const CREATE: &str = include_str!("sql/sorter/create.sql");
const POSITIONS: &str = include_str!("sql/sorter/positions.sql");

/// How many pairs one statement adds.
const AT_ONCE: usize = 256;

/// How many bytes of keys wait to be added.
const WAITING_BYTES: usize = 1 << 20;

/// How much memory is used to sort, in KiB.
const CACHE_KIB: i64 = 4_096;

/// Sorts positions by keys, however many: in a database of its own without a name, which is gone
/// when the sorter is. `SQLite` sorts a part in memory at a time and merges the parts from files.
#[derive(Debug)]
pub(in crate::storage) struct Sorter {
    connection: SqliteConnection,
    waiting: Vec<(Vec<u8>, Position)>,
    bytes: usize,
}

impl Sorter {
    pub(in crate::storage) async fn open() -> Result<Self, Error> {
        let mut connection = SqliteConnectOptions::new()
            // A temporary file, where `SQLite` makes its temporary files.
            .filename("")
            .journal_mode(SqliteJournalMode::Off)
            .synchronous(SqliteSynchronous::Off)
            .pragma("cache_size", (-CACHE_KIB).to_string())
            .disable_statement_logging()
            .connect()
            .await?;
        connection.execute(CREATE).await?;
        Ok(Self {
            connection,
            waiting: Vec::new(),
            bytes: 0,
        })
    }

    /// Adds a position. Of equal keys the order is any.
    pub(in crate::storage) async fn add(
        &mut self,
        key: Vec<u8>,
        position: Position,
    ) -> Result<(), Error> {
        self.bytes += key.len();
        self.waiting.push((key, position));
        if self.waiting.len() == AT_ONCE || self.bytes > WAITING_BYTES {
            self.flush().await?;
        }
        Ok(())
    }

    async fn flush(&mut self) -> Result<(), Error> {
        let pairs = std::mem::take(&mut self.waiting);
        self.bytes = 0;
        if pairs.is_empty() {
            return Ok(());
        }
        let mut query = statement::add_sorted(pairs);
        query.build().execute(&mut self.connection).await?;
        Ok(())
    }

    /// The positions in the order of their keys.
    pub(in crate::storage) async fn sorted(
        &mut self,
    ) -> Result<BoxStream<'_, Result<Position, Error>>, Error> {
        self.flush().await?;
        let sorted = sqlx::query_scalar(POSITIONS);
        let sorted = sorted.fetch(&mut self.connection);
        Ok(sorted.map_ok(Position).map_err(Error::from).boxed())
    }

    /// Lets go of everything.
    pub(in crate::storage) async fn close(self) -> Result<(), Error> {
        Ok(self.connection.close().await?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn more_than_a_part_is_sorted_by_all_of_its_bytes() {
        let mut sorter = Sorter::open().await.expect("opens");
        let count = 10_000_i64;
        for n in 0..count {
            // Multiplied by what has no common divisor with the count, each comes once.
            let value = n * 7_919 % count;
            let key = [&value.to_be_bytes()[..], &[0, 0xff]].concat();
            sorter.add(key, Position(value)).await.expect("adds");
        }
        let positions: Vec<_> = sorter
            .sorted()
            .await
            .expect("sorts")
            .try_collect()
            .await
            .expect("reads");
        assert!(positions.into_iter().eq((0..count).map(Position)));
        sorter.close().await.expect("closes");
    }
}
