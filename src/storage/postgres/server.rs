//! The servers of a URL: which of them takes writes, and whether it can be used.

use std::{str::FromStr as _, time::Duration};

use futures_util::{StreamExt as _, future::try_join_all, stream::FuturesUnordered};
use sqlx::{ConnectOptions as _, Connection as _, Executor as _, Row as _};
use sqlx_postgres::{PgConnectOptions, PgConnection};
use tokio::time::{Instant, timeout, timeout_at};

use super::{
    STATEMENTS_KEPT, Since,
    failure::Trouble,
    timeline::{Timeline, Timelines},
};
use crate::id::TransactionId;
use crate::storage::port::Durability;

const SERVER: &str = include_str!("sql/server.sql");
const SESSION: &str = include_str!("sql/session.sql");
const SESSION_DURABLE: &str = include_str!("sql/session_durable.sql");
const SESSION_MARK: &str = include_str!("sql/session_mark.sql");
const SESSION_MARKED: &str = include_str!("sql/session_marked.sql");
const SESSION_RELAXED: &str = include_str!("sql/session_relaxed.sql");

/// The oldest version that is supported, as the server numbers it.
const OLDEST: i64 = 140_000;

/// How long a server may take to answer, or to say that it cannot be used.
const PATIENCE: Duration = Duration::from_millis(1_500);

/// How long the other servers may take to answer once there is one that can be used.
const OTHERS: Duration = Duration::from_millis(150);

/// The servers of a URL, and what this process knows of them.
#[derive(Debug, Clone)]
pub(super) struct Servers {
    /// How each is reached.
    all: Vec<PgConnectOptions>,
    timelines: Timelines,
    since: Since,
}

/// A server that can be used, with a connection to it.
pub(super) struct Reached {
    pub(super) options: PgConnectOptions,
    pub(super) connection: PgConnection,
    pub(super) timeline: Option<Timeline>,
}

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
        Ok(Self {
            all: options.collect::<Result<_, Trouble>>()?,
            timelines: Timelines::default(),
            since: Since::now(),
        })
    }

    /// From when on connections of a pool may be used.
    pub(super) fn since(&self) -> Since {
        self.since.clone()
    }

    /// The first server that can be used, takes writes, and is no old primary. All are asked at once,
    /// so one that does not answer delays the others little.
    pub(super) async fn connect(&self) -> Result<Reached, Trouble> {
        let asked = (0..).zip(&self.all);
        let asked = asked.map(async |(place, options)| (place, self.ask(options).await));
        let mut asked: FuturesUnordered<_> = asked.collect();
        let (mut usable, mut troubles) = (Vec::new(), Vec::new());
        // Until one can be used, each has its own time.
        let mut until = Instant::now() + PATIENCE + OTHERS;
        while let Ok(Some((place, outcome))) = timeout_at(until, asked.next()).await {
            match outcome {
                Ok(reached) => {
                    until = until.min(Instant::now() + self.patience_with_others(&reached));
                    usable.push((place, reached));
                }
                Err(trouble) => troubles.push((place, trouble)),
            }
        }
        usable.sort_by_key(|(place, _): &(usize, Reached)| *place);
        for timeline in usable.iter().filter_map(|(_, reached)| reached.timeline) {
            if self.timelines.note(timeline) {
                self.since.renew();
            }
        }
        let mut first = None;
        for (place, reached) in usable {
            match self.timelines.allow(&reached.options, reached.timeline) {
                Ok(()) => first = first.or(Some(reached)),
                Err(trouble) => troubles.push((place, trouble)),
            }
        }
        // The last one is the most likely to say what is wrong.
        let last = troubles.into_iter().max_by_key(|(place, _)| *place);
        let none = || Trouble::Url("it names no host".to_owned());
        first.ok_or_else(|| last.map_or_else(none, |(_, trouble)| trouble))
    }

    /// The same, if that server gives so many connections at once, each to a session of its own.
    pub(super) async fn connect_among(&self, count: u32) -> Result<Reached, Trouble> {
        let mut reached = self.connect().await?;
        let checked = timeout(super::PATIENCE, check_sessions(&mut reached, count)).await;
        let late = |_| {
            let text = format!("it does not give {count} at once in {:?}", super::PATIENCE);
            Err(Trouble::Crowded(text))
        };
        checked.unwrap_or_else(late)?;
        Ok(reached)
    }

    /// How long to wait for others that may have taken over from a server. Where nothing is known of
    /// them yet, as at the start, each gets the time to answer.
    fn patience_with_others(&self, reached: &Reached) -> Duration {
        let is_known = |timeline| self.timelines.knows_system_of(timeline);
        if reached.timeline.is_none_or(is_known) {
            OTHERS
        } else {
            PATIENCE
        }
    }

    async fn ask(&self, options: &PgConnectOptions) -> Result<Reached, Trouble> {
        let asked = timeout(PATIENCE, async {
            let mut connection = check(options).await?;
            Ok::<_, Trouble>(Reached {
                options: options.clone(),
                timeline: self.timeline(&mut connection).await?,
                connection,
            })
        });
        let late = |_| Err(Trouble::Absent(format!("no answer within {PATIENCE:?}")));
        asked.await.unwrap_or_else(late)
    }

    /// The timeline of a server, where it matters.
    async fn timeline(
        &self,
        connection: &mut PgConnection,
    ) -> Result<Option<Timeline>, sqlx::Error> {
        if self.all.len() < 2 {
            return Ok(None);
        }
        Timeline::of(connection).await
    }

    /// Refuses a connection that a pool has made to an old primary.
    pub(super) async fn check_again(
        &self,
        connection: &mut PgConnection,
    ) -> Result<(), sqlx::Error> {
        let timeline = self.timeline(connection).await?;
        if self.has_newer(timeline) {
            return Err(sqlx::Error::Configuration(Box::new(Trouble::OldPrimary)));
        }
        Ok(())
    }

    /// Whether another server has taken over from the one that a connection leads to.
    pub(super) fn has_newer(&self, timeline: Option<Timeline>) -> bool {
        self.timelines.has_newer(timeline)
    }

    /// Returns once that is so.
    pub(super) async fn newer(&self, timeline: Option<Timeline>) {
        self.timelines.newer(timeline).await;
    }
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

/// Opens more connections, and refuses a pooler that passes them on between transactions: what a
/// session has set, prepared or locked is then another one's, or lost. Each has a transaction until
/// the last one is there, so that no two can have the same connection in turn.
async fn check_sessions(reached: &mut Reached, count: u32) -> Result<(), Trouble> {
    let mark = TransactionId::fresh().uuid().to_string();
    let first = &mut reached.connection;
    let marking = sqlx::query(SESSION_MARK).bind(&mark);
    marking.execute(&mut *first).await?;
    let opening = (1..count).map(|_| open(reached.options.clone()));
    let mut others = try_join_all(opening).await?;
    let mut held = Vec::with_capacity(others.len());
    for other in &mut others {
        let mut transaction = other.begin().await?;
        if marked(&mut transaction).await? == mark {
            return Err(Trouble::Pooled);
        }
        held.push(transaction);
    }
    if marked(first).await? != mark {
        return Err(Trouble::Pooled);
    }
    drop(held);
    for other in others {
        let _ = other.close().await;
    }
    Ok(())
}

async fn open(options: PgConnectOptions) -> Result<PgConnection, sqlx::Error> {
    options.connect().await
}

/// What a session is marked by; empty if it is not. It prepares no statement, which could be there
/// already behind a pooler.
async fn marked(connection: &mut PgConnection) -> Result<String, sqlx::Error> {
    connection.fetch_one(SESSION_MARKED).await?.try_get(0)
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
            assert_eq!(servers.all.len(), count, "{url}");
        }
        for url in ["", "one", "mysql://u:p@one/db"] {
            assert!(Servers::parse(url).is_err(), "{url}");
        }
        let servers = Servers::parse("postgres://u@one:5432,two:5433/db").expect("a URL");
        let places: Vec<_> = servers
            .all
            .iter()
            .map(|one| (one.get_host(), one.get_port()))
            .collect();
        assert_eq!(places, [("one", 5432), ("two", 5433)]);
    }
}
