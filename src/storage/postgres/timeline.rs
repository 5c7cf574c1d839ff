//! Which of the servers of a URL has taken over from which.
//!
//! A standby that is promoted begins a timeline with a higher number. A primary on a lower one lacks
//! what was acknowledged since then, so it is not used once the higher one is known.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use sqlx_postgres::{PgConnectOptions, PgConnection};
use tokio::sync::watch;
use tracing::error;

use super::failure::Trouble;

const TIMELINE: &str = include_str!("sql/server_timeline.sql");

/// Errors of servers that do not have the functions, or do not allow them.
const UNSUPPORTED: [&str; 3] = ["0A000", "42501", "42883"];

/// A timeline that a server writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Timeline {
    /// The same for a server and its standbys. Timelines of others cannot be compared.
    system: i64,
    number: i64,
}

impl Timeline {
    /// The one of a server that takes writes; an error if it does not. None if a server that is only
    /// compatible with `PostgreSQL` does not report it.
    pub(super) async fn of(connection: &mut PgConnection) -> Result<Option<Self>, sqlx::Error> {
        let asked = sqlx::query_as(TIMELINE).fetch_one(connection).await;
        match asked {
            Ok((system, number)) => Ok(Some(Self { system, number })),
            Err(error) if is_unsupported(&error) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// Whether a server does not have a function, or does not allow it.
pub(super) fn is_unsupported(error: &sqlx::Error) -> bool {
    let code = error
        .as_database_error()
        .and_then(sqlx::error::DatabaseError::code);
    code.is_some_and(|code| UNSUPPORTED.contains(&&*code))
}

/// The timelines that this process has seen.
#[derive(Debug, Clone, Default)]
pub(super) struct Timelines(Arc<watch::Sender<Seen>>);

#[derive(Debug, Default)]
struct Seen {
    /// The highest number of each system.
    highest: HashMap<i64, i64>,
    /// Which servers were reported, with their timeline then and the highest one.
    reported: HashSet<(String, u16, Timeline, i64)>,
}

impl Seen {
    /// The highest number, if it is higher than that of a timeline.
    fn newer_than(&self, timeline: Option<Timeline>) -> Option<i64> {
        let timeline = timeline?;
        let highest = self.highest.get(&timeline.system).copied();
        highest.filter(|highest| *highest > timeline.number)
    }
}

impl Timelines {
    /// Whether any timeline of that system was seen.
    pub(super) fn knows_system_of(&self, timeline: Timeline) -> bool {
        self.0.borrow().highest.contains_key(&timeline.system)
    }

    /// Takes note of a timeline; whether servers that were used before are older now.
    pub(super) fn note(&self, timeline: Timeline) -> bool {
        let mut before = None;
        self.0.send_if_modified(|seen| {
            before = seen.highest.get(&timeline.system).copied();
            let is_higher = before.is_none_or(|before| before < timeline.number);
            if is_higher {
                seen.highest.insert(timeline.system, timeline.number);
            }
            is_higher
        });
        before.is_some_and(|before| before < timeline.number)
    }

    /// Whether another server has taken over from one on that timeline.
    pub(super) fn has_newer(&self, timeline: Option<Timeline>) -> bool {
        self.0.borrow().newer_than(timeline).is_some()
    }

    /// Returns once that is so.
    pub(super) async fn newer(&self, timeline: Option<Timeline>) {
        let mut seen = self.0.subscribe();
        // The sender is in `self`, so the wait does not fail.
        let _ = seen
            .wait_for(|seen| seen.newer_than(timeline).is_some())
            .await;
    }

    /// Refuses a server if another one has taken over from it. That is logged once, until its
    /// timeline or the highest one is another.
    pub(super) fn allow(
        &self,
        server: &PgConnectOptions,
        timeline: Option<Timeline>,
    ) -> Result<(), Trouble> {
        let (Some(own), Some(newest)) = (timeline, self.0.borrow().newer_than(timeline)) else {
            return Ok(());
        };
        let (host, port) = (server.get_host(), server.get_port());
        let report = (host.to_owned(), port, own, newest);
        if self.0.send_if_modified(|seen| seen.reported.insert(report)) {
            error!(
                host,
                port,
                timeline = own.number,
                newest,
                "this PostgreSQL server is an old primary: another one has taken over from it, so it \
                 is not used; stop it, or rewind it (pg_rewind) and start it as a standby"
            );
        }
        Err(Trouble::OldPrimary)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_old_once_a_higher_timeline_of_its_system_was_seen() {
        let on = |system, number| Timeline { system, number };
        let seen = Timelines::default();
        let server = PgConnectOptions::new_without_pgpass();
        let allows = |timeline| seen.allow(&server, timeline).is_ok();
        assert!(!seen.note(on(1, 2)), "nothing was used before");
        assert!(allows(Some(on(1, 2))));
        assert!(!allows(Some(on(1, 1))));
        assert!(allows(Some(on(2, 1))), "another system");
        assert!(allows(None), "not known");
        assert!(!seen.note(on(1, 1)));
        assert!(seen.note(on(1, 3)), "the one in use is old");
        assert!(!allows(Some(on(1, 2))));
        assert!(seen.has_newer(Some(on(1, 2))) && !seen.has_newer(Some(on(1, 3))));
    }
}
