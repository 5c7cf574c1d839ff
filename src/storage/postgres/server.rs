//! The servers of a URL: which of them takes writes, and whether it can be used.

use std::{str::FromStr as _, time::Duration};

use futures_util::{StreamExt as _, stream::FuturesUnordered};
use sqlx::{ConnectOptions as _, Connection as _, Executor as _};
use sqlx_postgres::{PgConnectOptions, PgConnection};
use tokio::time::{sleep, timeout};

use super::{STATEMENTS_KEPT, failure::Trouble};
use crate::storage::port::Durability;

const SERVER: &str = include_str!("sql/server.sql");
const SESSION: &str = include_str!("sql/session.sql");
const SESSION_DURABLE: &str = include_str!("sql/session_durable.sql");
const SESSION_RELAXED: &str = include_str!("sql/session_relaxed.sql");

/// The oldest version that is supported, as the server numbers it.
const OLDEST: i64 = 140_000;

/// How long a server may take to answer, or to say that it cannot be used.
const PATIENCE: Duration = Duration::from_millis(1_500);

/// How much later each server is asked than the one before it in the URL.
const STAGGER: Duration = Duration::from_millis(150);

/// How each of the servers of a URL is reached.
#[derive(Debug, Clone)]
pub(super) struct Servers(Vec<PgConnectOptions>);

impl Servers {
    /// Reads a URL; several hosts are separated by commas, as libpq spells them.
    pub(super) fn parse(url: &str) -> Result<Self, Trouble> {
        let schemes = ["postgres://", "postgresql://"];
        if !schemes.iter().any(|scheme| url.starts_with(scheme)) {
            return Err(Trouble::Url("it must begin with postgres://".to_owned()));
        }
        let (head, tail, hosts) = hosts(url);
        let options = hosts.split(',').map(|host| {
            let options = PgConnectOptions::from_str(&format!("{head}{host}{tail}"))
                .map_err(|error| Trouble::Url(error.to_string()))?;
            Ok(options
                .application_name("interlock")
                // PgBouncer refuses it at the start of a session; it is set by the first statement.
                .extra_float_digits(None)
                .statement_cache_capacity(STATEMENTS_KEPT)
                .disable_statement_logging())
        });
        options.collect::<Result<_, _>>().map(Self)
    }

    /// The first server that can be used and takes writes, with a connection to it. One that does
    /// not answer keeps nobody from the next.
    pub(super) async fn connect(&self) -> Result<(PgConnectOptions, PgConnection), Trouble> {
        let mut asked: FuturesUnordered<_> = (0..).zip(&self.0).map(ask).collect();
        let mut troubles = Vec::new();
        while let Some((place, outcome)) = asked.next().await {
            match outcome {
                Ok(connection) => return Ok((self.0[place].clone(), connection)),
                Err(trouble) => troubles.push((place, trouble)),
            }
        }
        // The last one is the most likely to say what is wrong.
        let last = troubles.into_iter().max_by_key(|(place, _)| *place);
        let none = || Trouble::Url("it names no host".to_owned());
        Err(last.map_or_else(none, |(_, trouble)| trouble))
    }
}

/// Asks a server, after those before it.
async fn ask(
    (place, options): (usize, &PgConnectOptions),
) -> (usize, Result<PgConnection, Trouble>) {
    let before = u32::try_from(place).unwrap_or(u32::MAX);
    sleep(STAGGER.saturating_mul(before)).await;
    let checked = timeout(PATIENCE, check(options)).await;
    let late = || Err(Trouble::Absent(format!("no answer within {PATIENCE:?}")));
    (place, checked.unwrap_or_else(|_| late()))
}

/// What is before the hosts of a URL, what is after them, and the hosts.
fn hosts(url: &str) -> (&str, &str, &str) {
    let from = url.find("://").map_or(0, |at| at + 3);
    let until = url[from..]
        .find(['/', '?'])
        .map_or(url.len(), |at| from + at);
    let from = url[from..until].rfind('@').map_or(from, |at| from + at + 1);
    (&url[..from], &url[until..], &url[from..until])
}

async fn check(options: &PgConnectOptions) -> Result<PgConnection, Trouble> {
    let mut connection = options.connect().await?;
    let (version, name, is_read_only, encoding): (i64, String, bool, String) =
        sqlx::query_as(SERVER).fetch_one(&mut connection).await?;
    let trouble = if version < OLDEST {
        Some(Trouble::TooOld(name))
    } else if is_read_only {
        Some(Trouble::ReadOnly)
    } else if encoding != "UTF8" {
        Some(Trouble::Encoding(encoding))
    } else {
        None
    };
    match trouble {
        None => Ok(connection),
        Some(trouble) => {
            let _ = connection.close().await;
            Err(trouble)
        }
    }
}

/// Sets a connection up.
pub(super) async fn prepare(
    connection: &mut PgConnection,
    durability: Durability,
) -> Result<(), sqlx::Error> {
    connection.execute(SESSION).await?;
    let durable = match durability {
        Durability::Full => SESSION_DURABLE,
        Durability::Relaxed => SESSION_RELAXED,
    };
    connection.execute(durable).await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_may_name_several_hosts() {
        for (url, count) in [
            ("postgres://u:p@one:5432,two:5433/db?sslmode=disable", 2),
            ("postgres://u:p%40@one/db", 1),
            ("postgresql://one,two,three", 3),
        ] {
            let servers = Servers::parse(url).expect(url);
            assert_eq!(servers.0.len(), count, "{url}");
        }
        for url in ["", "one", "mysql://u:p@one/db"] {
            assert!(Servers::parse(url).is_err(), "{url}");
        }
        let servers = Servers::parse("postgres://u@one:5432,two:5433/db").expect("a URL");
        let places: Vec<_> = servers
            .0
            .iter()
            .map(|one| (one.get_host(), one.get_port()))
            .collect();
        assert_eq!(places, [("one", 5432), ("two", 5433)]);
    }
}
