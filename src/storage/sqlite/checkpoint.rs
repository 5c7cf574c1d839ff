//! The log, copied back beside the writer.
//!
//! A connection that copies thousands of pages back and syncs the file takes tens of milliseconds for it. If
//! that is the writer, as it is by default, nothing is written meanwhile, several times a second
//! under load. So another connection does it while the writer continues, and the writer only copies
//! the rest, after which the log begins again: the p99 of creations is a third of what it was
//! (measured).

use sqlx::{ConnectOptions as _, Connection as _};
use sqlx_sqlite::{SqliteConnectOptions, SqliteConnection};

use crate::storage::port::Failure;

const PASSIVE: &str = include_str!("sql/checkpoint_passive.sql");

/// How many pages are left to the writer, if they can be.
const REST_PAGES: i64 = 256;

/// How often the log is gone through at most: the writer may be as fast as we are.
const ROUNDS: usize = 4;

/// The connection that copies the log back.
#[derive(Debug)]
pub(in crate::storage) struct Checkpointer {
    options: Box<SqliteConnectOptions>,
    connection: Option<SqliteConnection>,
}

impl Checkpointer {
    pub(super) fn new(options: SqliteConnectOptions) -> Self {
        Self {
            options: Box::new(options),
            connection: None,
        }
    }

    /// Copies back what is in the log, but for a rest that the writer has added meanwhile.
    pub(in crate::storage) async fn copy_back(&mut self) -> Result<(), Failure> {
        let connection = match &mut self.connection {
            Some(connection) => connection,
            None => self.connection.insert(self.options.connect().await?),
        };
        for _ in 0..ROUNDS {
            if copy_back(connection).await? <= REST_PAGES {
                break;
            }
        }
        Ok(())
    }

    pub(in crate::storage) async fn close(self) {
        if let Some(connection) = self.connection {
            // What it leaves undone the writer does when it closes.
            let _ = connection.close().await;
        }
    }
}

/// Copies back what no reader needs in the log; how many pages are left there.
pub(super) async fn copy_back(connection: &mut SqliteConnection) -> Result<i64, sqlx::Error> {
    let (_busy, pages, copied): (i64, i64, i64) =
        sqlx::query_as(PASSIVE).fetch_one(connection).await?;
    Ok(pages - copied)
}
