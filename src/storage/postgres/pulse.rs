//! Learning what other processes commit, and having them learn what this one does.

use std::time::Duration;

use sqlx::Executor as _;
use sqlx_postgres::{PgConnection, PgListener, PgPool, PgPoolOptions};
use tokio::time::{sleep, timeout};
use uuid::Uuid;

use super::{
    Postgres,
    failure::{Trouble, without_answer},
    server::{self, Servers},
    writer,
};
use crate::clock::Timestamp;
use crate::entity::Sequence;
use crate::id::EntityId;
use crate::storage::port::{Cause, Durability, Failure, Newest, Pulse};

const NOTIFY: &str = include_str!("sql/notify.sql");
const PULSE: &str = include_str!("sql/pulse.sql");
const SESSION_PULSE: &str = include_str!("sql/session_pulse.sql");

/// What processes notify each other by.
const CHANNEL: &str = "interlock";

/// How many entities are named that have moved; if there are more, none is.
const MOVED_MAX: usize = 4_096;

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
    /// Whether it was connected before.
    was_connected: bool,
    /// Which process this is.
    name: String,
}

/// Waits for the notifications of other processes.
#[derive(Debug)]
pub(in crate::storage) struct Listener {
    servers: Servers,
    listener: Option<PgListener>,
    /// What this process notifies others by.
    own: String,
}

impl Postgres {
    /// What asks for the newest commit, and what waits for the notifications of other processes.
    pub(in crate::storage) fn pulser(&self) -> (Pulser, Listener) {
        let name = Uuid::new_v4().to_string();
        let pulser = Pulser {
            servers: self.servers.clone(),
            durability: self.durability,
            connection: None,
            was_connected: false,
            name: name.clone(),
        };
        let listener = Listener {
            servers: self.servers.clone(),
            listener: None,
            own: name,
        };
        (pulser, listener)
    }
}

impl Pulser {
    /// The newest commit, and what has changed since the one of a sequence.
    pub(in crate::storage) async fn pulse(&mut self, since: Sequence) -> Result<Pulse, Failure> {
        let asked = async {
            let limit = i64::try_from(MOVED_MAX + 1).unwrap_or(i64::MAX);
            let pulse = sqlx::query_as(PULSE).bind(since.0).bind(limit);
            Ok(pulse.fetch_one(self.connection().await?).await?)
        };
        let asked = timeout(PATIENCE, asked).await;
        let asked: Result<(i64, i64, i64, Vec<Uuid>), Failure> =
            asked.unwrap_or_else(|_| Err(late()));
        let (sequence, at, revision, moved) = asked.map_err(|failure| self.failed(failure))?;
        let is_all = moved.len() <= MOVED_MAX;
        Ok(Pulse {
            newest: Newest {
                sequence: Sequence(sequence),
                at: Timestamp::from_micros(at),
                revision,
            },
            moved: is_all.then(|| moved.into_iter().map(EntityId::from_uuid).collect()),
        })
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
            let (_, mut connection) = connected.map_err(away)?;
            server::prepare(&mut connection, self.durability).await?;
            if self.was_connected {
                // It may be another server. What is seen there is there to stay.
                writer::append_empty_link(&mut connection).await?;
            }
            connection.execute(SESSION_PULSE).await?;
            self.was_connected = true;
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
            if self.listener.is_none() {
                match self.listen().await {
                    // What was committed before was not notified here.
                    Ok(()) => return,
                    Err(_) => sleep(PAUSE).await,
                }
                continue;
            }
            let Some(listener) = &mut self.listener else {
                continue;
            };
            match listener.try_recv().await {
                Ok(Some(notification)) if notification.payload() == self.own => {}
                Ok(Some(_)) => return,
                Ok(None) | Err(_) => self.listener = None,
            }
        }
    }

    async fn listen(&mut self) -> Result<(), sqlx::Error> {
        let connected = self.servers.connect().await;
        let (options, connection) =
            connected.map_err(|trouble| sqlx::Error::Configuration(Box::new(trouble)))?;
        drop(connection);
        let one: PgPool = PgPoolOptions::new()
            .max_connections(1)
            .acquire_timeout(PATIENCE)
            .idle_timeout(None)
            .max_lifetime(None)
            .connect_lazy_with(options);
        let mut listener = PgListener::connect_with(&one).await?;
        listener.eager_reconnect(false);
        listener.listen(CHANNEL).await?;
        self.listener = Some(listener);
        Ok(())
    }
}

fn away(trouble: Trouble) -> Failure {
    Failure::new(Cause::Away, trouble)
}

fn late() -> Failure {
    Failure::new(Cause::Away, "the server did not answer in time")
}
