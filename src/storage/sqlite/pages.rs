//! Looks for damaged pages, table by table, for a limited time.

use std::time::{Duration, Instant};

use sqlx::{ConnectOptions as _, Connection as _};
use sqlx_sqlite::{SqliteConnectOptions, SqliteConnection};
use tracing::{error, info};

use crate::storage::rows::is_damage;

const TABLES: &str = include_str!("sql/page_check_tables.sql");
const CHECK: &str = include_str!("sql/page_check.sql");
const DAMAGED: &str = include_str!("sql/page_damaged.sql");

/// After how many instructions of `SQLite` the time is looked at: about a millisecond.
const INSTRUCTIONS: i32 = 10_000;

/// What a check says of a table that has nothing wrong.
const FINE: &str = "ok";

/// What a check has found.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// Tables that were looked through, and how many there are.
    looked_through: usize,
    tables: usize,
    /// The table, and what is wrong with it: it names the page.
    damage: Vec<(String, String)>,
}

impl Found {
    pub(super) fn is_damaged(&self) -> bool {
        !self.damage.is_empty()
    }

    /// Says it in the log.
    pub(super) fn report(&self) {
        for (table, problem) in &self.damage {
            error!(
                table,
                problem,
                "a page of the database is damaged; stop the service, restore a backup, and start it again"
            );
        }
        if self.looked_through < self.tables {
            info!(
                tables = self.tables,
                looked_through = self.looked_through,
                "the check of the database took as long as it may, so the rest was not looked at; \
                 INTERLOCK_START_CHECK_TIME limits it"
            );
        }
    }
}

/// Looks through the trees of all tables and their indexes.
pub(super) async fn look(
    options: &SqliteConnectOptions,
    within: Duration,
) -> Result<Found, sqlx::Error> {
    let until = Instant::now() + within;
    let mut connection = options.clone().read_only(true).connect().await?;
    connection
        .lock_handle()
        .await?
        .set_progress_handler(INSTRUCTIONS, move || Instant::now() < until);
    let found = look_through(&mut connection, until).await;
    let _ = connection.close().await;
    found
}

async fn look_through(
    connection: &mut SqliteConnection,
    until: Instant,
) -> Result<Found, sqlx::Error> {
    let tables: Vec<String> = sqlx::query_scalar(TABLES)
        .fetch_all(&mut *connection)
        .await?;
    let mut found = Found {
        tables: tables.len(),
        ..Found::default()
    };
    for table in tables {
        let checked: Result<Vec<String>, _> = sqlx::query_scalar(CHECK)
            .bind(&table)
            .fetch_all(&mut *connection)
            .await;
        match checked {
            Ok(problems) => {
                let problems = problems.into_iter().filter(|problem| problem != FINE);
                let problems = problems.map(|problem| (table.clone(), problem));
                found.damage.extend(problems);
            }
            Err(error) if is_damage(&error) => {
                let pages = damaged_pages(connection, &table).await;
                if pages.is_empty() {
                    found.damage.push((table, error.to_string()));
                } else {
                    found.damage.push((table, pages.join(", ")));
                }
            }
            Err(_) if Instant::now() >= until => break,
            Err(error) => return Err(error),
        }
        found.looked_through += 1;
    }
    Ok(found)
}

/// The check ends at a page that it can make nothing of, without a word of which one that is.
async fn damaged_pages(connection: &mut SqliteConnection, table: &str) -> Vec<String> {
    let pages = sqlx::query_scalar(DAMAGED).bind(table);
    pages.fetch_all(connection).await.unwrap_or_default()
}
