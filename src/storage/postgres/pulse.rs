//! Learning what other processes commit, and having them learn what this one does.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
    time::Duration,
};

use sqlx::Executor as _;
use sqlx_postgres::{PgConnection, PgListener, PgPool, PgPoolOptions, PgRow};
use tokio::time::{sleep, timeout};
use tracing::warn;
use uuid::Uuid;

use super::{
    Postgres, Since,
    failure::{Trouble, without_answer},
    news::{News, RecordName},
    server::{self, Reached, Servers},
    silence::Silence,
    timeline::Timeline,
    writer,
};
use crate::clock::Timestamp;
use crate::entity::{Position, Sequence};
use crate::id::{EntityId, RunId, Tenant, TransactionId};
use crate::storage::port::{
    Cause, Durability, Failure, Newest, NodeRow, Pulse, Record, RecordKey, RecordKind, RunMoved,
    TenantRow, TopicKey,
};
use crate::storage::rows::from_row_of;

const COMMIT_LAST: &str = include_str!("sql/commit_last.sql");
const NEWEST: &str = include_str!("sql/pulse_newest.sql");
const NOTIFY: &str = include_str!("sql/notify.sql");
const RECORD_GET: &str = include_str!("sql/record_get.sql");
const TENANT_NAMES: &str = include_str!("sql/tenant_names.sql");
const PULSE: &str = include_str!("sql/pulse.sql");
const SESSION_PULSE: &str = include_str!("sql/session_pulse.sql");

/// What processes notify each other by.
const CHANNEL: &str = "interlock";

/// How many entities or advances of runs are named; if there are more, none is.
const MOVED_MAX: u16 = 4_096;

/// How many of them are asked for: one more, to find out whether there are more.
const LISTED_MAX: i64 = MOVED_MAX as i64 + 1;

/// How many positions are read at once: what they hold is in memory together, and is read in time.
const POSITIONS_MAX: i64 = 50_000;

/// How many tenants are known by their rows.
const TENANTS_MAX: usize = 100_000;

/// How long the server may take to answer.
const PATIENCE: Duration = Duration::from_secs(2);

/// How long it takes until the server is asked again to notify this process.
const PAUSE: Duration = Duration::from_millis(500);

/// The connection that asks for the newest commit. It is opened when it is first needed, and again
/// after a failure.
#[derive(Debug)]
pub(in crate::storage) struct Pulser {
    servers: Servers,
    durability: Durability,
    connection: Option<PgConnection>,
    /// The timeline of its server.
    timeline: Option<Timeline>,
    /// The connections that read, which follow this one to another server.
    reads: PgPool,
    since: Since,
    silence: Silence,
    /// Whether it was connected before.
    was_connected: bool,
    /// Which process this is.
    name: String,
    /// Tenants by their rows.
    tenants: HashMap<i64, Tenant>,
    /// When the server was started that the newest commit was written on.
    server: Option<i64>,
    /// Whether the last pulse brought news. If so, the next one asks for everything at once, else for
    /// the newest commit first.
    expects_news: bool,
}

/// The newest commit alone.
#[derive(Debug)]
struct NewestRow {
    seq: i64,
    at: i64,
    rev: i64,
    server: Option<i64>,
    now: i64,
}

from_row_of! { PgRow, NewestRow { seq, at, rev, server, now } }

/// What a pulse answers.
#[derive(Debug)]
struct PulseRow {
    seq: i64,
    at: i64,
    rev: i64,
    server: Option<i64>,
    last: i64,
    now: i64,
    /// When the commit was made that is known, as far as there is one at its sequence.
    known_at: Option<i64>,
    moved: Vec<Uuid>,
    runs: Vec<String>,
    advances: i64,
    news: Vec<String>,
    news_of: Vec<i64>,
}

from_row_of! { PgRow, PulseRow { seq, at, rev, server, last, now, known_at, moved, runs, advances, news, news_of } }

impl NewestRow {
    fn newest(&self) -> Newest {
        Newest {
            sequence: Sequence(self.seq),
            at: Timestamp::from_micros(self.at),
            revision: self.rev,
        }
    }
}

/// A record that there may be.
type NamedRecord = (Tenant, RecordKey, Option<Record>);

/// A run: itself, the row of its tenant, what it waits for, and whether it has ended.
type RunText = (i64, i64, Option<String>, bool, Option<i64>);

/// Waits for the notifications of other processes.
#[derive(Debug)]
pub(in crate::storage) struct Listener {
    servers: Servers,
    connection: Option<PgListener>,
    /// The timeline of its server.
    timeline: Option<Timeline>,
    /// What this process notifies others by.
    own: String,
}

impl Postgres {
    /// What asks for the newest commit, and what waits for the notifications of other processes.
    pub(in crate::storage) fn pulser(&self) -> (Pulser, Listener) {
        let name = TransactionId::fresh().uuid().to_string();
        let pulser = Pulser {
            servers: self.servers.clone(),
            durability: self.durability,
            connection: None,
            timeline: None,
            reads: self.reads.clone(),
            since: self.since.clone(),
            silence: self.silence.clone(),
            was_connected: false,
            name: name.clone(),
            tenants: HashMap::new(),
            server: None,
            expects_news: false,
        };
        let listener = Listener {
            servers: self.servers.clone(),
            connection: None,
            timeline: None,
            own: name,
        };
        (pulser, listener)
    }
}

impl Pulser {
    /// The newest commit, and what has changed since a known one. If `await_own` returns true for the
    /// newest commit, the caches have it already, and nothing else is asked for. If the known one is
    /// not there, the newest one is still later.
    pub(in crate::storage) async fn pulse(
        &mut self,
        known: Newest,
        await_own: impl AsyncFnOnce(Sequence) -> bool,
    ) -> Result<Pulse, Failure> {
        if self.servers.has_newer(self.timeline) {
            self.connection = None;
        }
        let pulse = timeout(PATIENCE, self.ask(known, await_own)).await;
        let pulse = pulse.unwrap_or_else(|_| Err(late()));
        match &pulse {
            Ok(_) => self.silence.answered(),
            Err(_) => self.silence.failed(),
        }
        pulse.map_err(|failure| self.failed(failure))
    }

    async fn ask(
        &mut self,
        known: Newest,
        await_own: impl AsyncFnOnce(Sequence) -> bool,
    ) -> Result<Pulse, Failure> {
        let since = known.sequence;
        if !self.expects_news {
            let row: NewestRow = sqlx::query_as(NEWEST)
                .fetch_one(self.connection().await?)
                .await?;
            let newest = row.newest();
            let is_known = newest.sequence == since && newest.at == known.at;
            let is_same = self.server == row.server;
            if is_same && (is_known || newest.sequence > since && await_own(newest.sequence).await)
            {
                let now = Timestamp::from_micros(row.now);
                return Ok(Pulse::without_news(newest, now));
            }
        }
        let pulse = self.ask_all(known).await?;
        self.expects_news = pulse.newest.sequence > since;
        Ok(pulse)
    }

    async fn all_since(&mut self, since: Sequence) -> Result<PulseRow, Failure> {
        let asked = sqlx::query_as(PULSE)
            .bind(since.0)
            .bind(LISTED_MAX)
            .bind(POSITIONS_MAX);
        Ok(asked.fetch_one(self.connection().await?).await?)
    }

    async fn ask_all(&mut self, known: Newest) -> Result<Pulse, Failure> {
        let mut row = self.all_since(known.sequence).await?;
        let lost = self.lost(&row, known).await?;
        if lost.is_some() {
            self.tenants.clear();
            if row.last <= known.sequence.0 {
                // What is taken over has to be later than what is known, and no position that is
                // known is to be used again.
                let connection = self.connection().await?;
                writer::append_empty_link(connection, known.sequence).await?;
                row = self.all_since(known.sequence).await?;
            }
        }
        let mut news = News::default();
        let mut stored = Vec::new();
        for (text, seq) in row.news.iter().zip(row.news_of) {
            let said = News::read(text).map_err(unreadable)?;
            stored.extend(said.bytes.iter().map(|(t, bytes)| (seq, *t, *bytes)));
            news.add(said);
        }
        let mut runs: Vec<RunText> = Vec::with_capacity(row.runs.len());
        for text in &row.runs {
            runs.push(serde_json::from_str(text).map_err(unreadable)?);
        }
        let of_records = news.records.iter().map(|name| name.0);
        let of_topics = news.topics.iter().map(|name| name.0);
        let tenants = of_records
            .chain(of_topics)
            .chain(runs.iter().map(|run| run.1))
            .chain(stored.iter().map(|stored| stored.1));
        self.know_tenants(tenants.collect()).await?;
        let (records, troubles) = self.records(&news).await?;
        let topics = news.topics.into_iter().filter_map(|(t, namespace, name)| {
            let tenant = self.tenants.get(&t)?.clone();
            Some((tenant, TopicKey::new(namespace, name)))
        });
        let published = news.types.into_iter().filter_map(|(t, namespace, kind)| {
            let tenant = self.tenants.get(&t)?.clone();
            Some((tenant, namespace, kind))
        });
        let runs = runs
            .into_iter()
            .filter_map(|(run, t, awaits, ended, owner)| {
                Some(RunMoved {
                    run: RunId::new(run),
                    tenant: self.tenants.get(&t)?.clone(),
                    row: TenantRow(t),
                    awaits: awaits
                        .and_then(|id| Uuid::parse_str(&id).ok())
                        .map(EntityId::from_uuid),
                    ended,
                    owner: owner.map(NodeRow),
                })
            });
        let stored = stored.into_iter().filter_map(|(seq, t, bytes)| {
            let tenant = self.tenants.get(&t)?.clone();
            Some((Sequence(seq), tenant, bytes))
        });
        let moved = row.moved.into_iter().map(EntityId::from_uuid);
        let moved: Vec<_> = moved.collect();
        self.server = row.server;
        Ok(Pulse {
            newest: Newest {
                sequence: Sequence(row.seq),
                at: Timestamp::from_micros(row.at),
                revision: row.rev,
            },
            moved: (moved.len() <= usize::from(MOVED_MAX)).then_some(moved),
            runs: (row.advances < LISTED_MAX).then(|| runs.collect()),
            records,
            troubles,
            topics: topics.collect(),
            published: published.collect(),
            stored: stored.collect(),
            identities: news.identities,
            now: Timestamp::from_micros(row.now),
            lost,
            has_more: row.last > row.seq,
        })
    }

    /// Up to where commits are there before the one that this process knows, if that is not there: no
    /// two were made at the same time.
    async fn lost(&mut self, row: &PulseRow, known: Newest) -> Result<Option<Sequence>, Failure> {
        if row.known_at == Some(known.at.micros()) {
            return Ok(None);
        }
        let last = sqlx::query_scalar(COMMIT_LAST).bind(known.sequence.0);
        let last: Option<i64> = last.fetch_one(self.connection().await?).await?;
        Ok(Some(Sequence(last.unwrap_or(0))))
    }

    /// The records that were changed, each once, and those of them that say which work failed.
    async fn records(
        &mut self,
        news: &News,
    ) -> Result<(Vec<(Tenant, RecordKey)>, Vec<NamedRecord>), Failure> {
        let (mut records, mut troubles) = (Vec::new(), Vec::new());
        let names: HashSet<&RecordName> = news.records.iter().collect();
        for (t, code, namespace, name) in names {
            let (Some(tenant), Some(kind)) = (self.tenants.get(t), RecordKind::of_code(*code))
            else {
                continue;
            };
            let key = RecordKey::new(kind, Arc::clone(namespace), Arc::clone(name));
            let tenant = tenant.clone();
            if kind == RecordKind::Trouble {
                let record = self.record(*t, &key).await?;
                troubles.push((tenant.clone(), key.clone(), record));
            }
            records.push((tenant, key));
        }
        Ok((records, troubles))
    }

    async fn record(&mut self, tenant: i64, key: &RecordKey) -> Result<Option<Record>, Failure> {
        let row: Option<(i64, String)> = sqlx::query_as(RECORD_GET)
            .bind(tenant)
            .bind(key.kind.code())
            .bind(&*key.namespace)
            .bind(&*key.name)
            .fetch_optional(self.connection().await?)
            .await?;
        Ok(row.map(|(n, body)| Record {
            key: key.clone(),
            position: Position(n),
            body: body.into(),
        }))
    }

    /// Reads the names of the tenants of those rows, as far as they are not known.
    async fn know_tenants(&mut self, mut rows: HashSet<i64>) -> Result<(), Failure> {
        // Before the rows are compared with those that are known: this pulse needs all of them.
        if self.tenants.len() > TENANTS_MAX {
            self.tenants.clear();
        }
        rows.retain(|row| !self.tenants.contains_key(row));
        if rows.is_empty() {
            return Ok(());
        }
        let asked: Vec<i64> = rows.iter().copied().collect();
        let named = sqlx::query_as(TENANT_NAMES).bind(asked);
        let named: Vec<(i64, String)> = named.fetch_all(self.connection().await?).await?;
        for (row, name) in named {
            rows.remove(&row);
            self.tenants.insert(row, name.as_str().into());
        }
        if !rows.is_empty() {
            warn!(
                ?rows,
                "changes of tenants that are not stored are ignored; report this as a fault"
            );
        }
        Ok(())
    }

    /// Has other processes look at what this one has committed.
    pub(in crate::storage) async fn notify(&mut self) -> Result<(), Failure> {
        let name = self.name.clone();
        let notified = async {
            let notify = sqlx::query(NOTIFY).bind(name);
            notify.execute(self.connection().await?).await?;
            Ok(())
        };
        let notified = timeout(PATIENCE, notified).await;
        let notified = notified.unwrap_or_else(|_| Err(late()));
        notified.map_err(|failure| self.failed(failure))
    }

    /// What it was asked may still be on its way, so the connection is not used again.
    fn failed(&mut self, failure: Failure) -> Failure {
        self.connection = None;
        without_answer(failure)
    }

    async fn connection(&mut self) -> Result<&mut PgConnection, Failure> {
        if self.connection.is_none() {
            let connected = self.servers.connect().await;
            let Reached {
                options,
                mut connection,
                timeline,
            } = connected.map_err(away)?;
            server::prepare(&mut connection, self.durability).await?;
            if self.was_connected {
                // It may be another server. What is seen there is there to stay.
                writer::append_empty_link(&mut connection, Sequence(0)).await?;
                self.since.renew();
            }
            self.reads.set_connect_options(options);
            connection.execute(SESSION_PULSE).await?;
            self.was_connected = true;
            self.timeline = timeline;
            self.connection = Some(connection);
        }
        let none = || Failure::new(Cause::Away, "there is no connection that asks");
        self.connection.as_mut().ok_or_else(none)
    }
}

impl Listener {
    /// Returns once another process may have committed something.
    pub(in crate::storage) async fn notified(&mut self) {
        loop {
            if self.connection.is_none() {
                match self.listen().await {
                    // What was committed before was not notified here.
                    Ok(()) => return,
                    Err(_) => sleep(PAUSE).await,
                }
                continue;
            }
            let Some(listener) = &mut self.connection else {
                continue;
            };
            let received = tokio::select! {
                received = listener.try_recv() => received,
                () = self.servers.newer(self.timeline) => Ok(None),
            };
            match received {
                Ok(Some(notification)) if notification.payload() == self.own => {}
                Ok(Some(_)) => return,
                Ok(None) | Err(_) => self.connection = None,
            }
        }
    }

    async fn listen(&mut self) -> Result<(), sqlx::Error> {
        let connected = self.servers.connect().await;
        let Reached {
            options, timeline, ..
        } = connected.map_err(|trouble| sqlx::Error::Configuration(Box::new(trouble)))?;
        let one: PgPool = PgPoolOptions::new()
            .max_connections(1)
            .acquire_timeout(PATIENCE)
            .idle_timeout(None)
            .max_lifetime(None)
            .connect_lazy_with(options);
        let mut listener = PgListener::connect_with(&one).await?;
        listener.eager_reconnect(false);
        listener.listen(CHANNEL).await?;
        self.timeline = timeline;
        self.connection = Some(listener);
        Ok(())
    }
}

fn away(trouble: Trouble) -> Failure {
    Failure::new(Cause::Away, trouble)
}

fn unreadable(error: serde_json::Error) -> Failure {
    Failure::new(Cause::Other, error)
}

fn late() -> Failure {
    Failure::new(Cause::Away, "the server did not answer in time")
}
