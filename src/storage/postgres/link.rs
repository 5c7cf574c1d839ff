//! Links of the chain of commits that are written within a transaction.

use sqlx_postgres::PgConnection;

use crate::storage::port::CommitRow;

const LINK_PUT: &str = include_str!("sql/link_put.sql");

/// Writes a commit that follows another, which has to be the newest one; false if it is not. It may
/// change what batches are validated by.
pub(super) async fn put(
    connection: &mut PgConnection,
    follows: i64,
    commit: &CommitRow,
    news: Option<String>,
    revises: bool,
) -> Result<bool, sqlx::Error> {
    let put = sqlx::query(LINK_PUT)
        .bind(follows)
        .bind(commit.seq)
        .bind(commit.id)
        .bind(commit.tenant)
        .bind(commit.at)
        .bind(commit.author)
        .bind(commit.executor)
        .bind(news)
        .bind(i64::from(revises));
    Ok(put.execute(connection).await?.rows_affected() > 0)
}
