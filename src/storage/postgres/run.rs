//! Runs, their keys and their histories.

use std::time::Duration;

use uuid::Uuid;

use super::{Postgres, node::micros, text::text};
use crate::clock::Timestamp;
use crate::entity::Position;
use crate::id::{EntityId, RunId, Tenant};
use crate::storage::{
    port::{
        Error, NodeRow, OldRun, OldRunsWanted, RunEvents, RunKey, RunsWanted, StoredRun, TenantRow,
    },
    rows::{RunData, RunEventData},
};

const RUN_AWAITING: &str = include_str!("sql/run_awaiting.sql");
const RUN_DRIVEN: &str = include_str!("sql/run_driven.sql");
const RUN_EVENT_AFTER: &str = include_str!("sql/run_event_after.sql");
const RUN_EVENT_OF: &str = include_str!("sql/run_event_of.sql");
const RUN_GET: &str = include_str!("sql/run_get.sql");
const RUN_KEY_GET: &str = include_str!("sql/run_key_get.sql");
const RUN_LIVE: &str = include_str!("sql/run_live.sql");
const RUN_LIST: &str = include_str!("sql/run_list.sql");
const RUN_LIST_BELOW: &str = include_str!("sql/run_list_below.sql");
const RUN_LIST_FOR: &str = include_str!("sql/run_list_for.sql");
const RUN_LIST_OF: &str = include_str!("sql/run_list_of.sql");
const RUN_NEWEST: &str = include_str!("sql/run_newest.sql");
const RUN_OLD: &str = include_str!("sql/run_old.sql");
const RUN_OLD_EVENTS: &str = include_str!("sql/run_old_events.sql");
const RUN_ORPHANED: &str = include_str!("sql/run_orphaned.sql");
const RUN_POSITIONS: &str = include_str!("sql/run_positions.sql");

/// Runs, as an array.
pub(super) fn numbers(runs: &[RunId]) -> Vec<i64> {
    runs.iter().map(|run| run.number()).collect()
}

fn named(rows: Vec<(String, i64)>) -> Vec<(Tenant, RunId)> {
    let rows = rows.into_iter();
    rows.map(|(tenant, r)| (tenant.into(), RunId::new(r)))
        .collect()
}

impl Postgres {
    pub(in crate::storage) async fn newest_run(&self) -> Result<RunId, Error> {
        let newest = sqlx::query_scalar(RUN_NEWEST)
            .fetch_one(&self.reads)
            .await?;
        Ok(RunId::new(newest))
    }

    pub(in crate::storage) async fn run(
        &self,
        tenant: TenantRow,
        id: RunId,
    ) -> Result<Option<StoredRun>, Error> {
        let row: Option<RunData> = sqlx::query_as(RUN_GET)
            .bind(id.number())
            .bind(tenant.0)
            .fetch_optional(&self.reads)
            .await?;
        row.map(|row| row.stored(tenant)).transpose()
    }

    pub(in crate::storage) async fn run_positions(
        &self,
        runs: &[RunId],
    ) -> Result<Vec<(RunId, Position)>, Error> {
        let list = numbers(runs);
        let rows: Vec<(i64, i64)> = sqlx::query_as(RUN_POSITIONS)
            .bind(list)
            .fetch_all(&self.reads)
            .await?;
        let rows = rows.into_iter();
        Ok(rows.map(|(r, n)| (RunId::new(r), Position(n))).collect())
    }

    /// The keys that runs have, and which.
    pub(in crate::storage) async fn run_keys(
        &self,
        tenant: TenantRow,
        keys: &[RunKey],
    ) -> Result<Vec<(RunKey, RunId)>, Error> {
        let mut found = Vec::new();
        for key in keys {
            let run: Option<i64> = sqlx::query_scalar(RUN_KEY_GET)
                .bind(tenant.0)
                .bind(key.kind.code())
                .bind(text(&key.scope))
                .bind(text(&key.key))
                .fetch_optional(&self.reads)
                .await?;
            found.extend(run.map(|run| (key.clone(), RunId::new(run))));
        }
        Ok(found)
    }

    pub(in crate::storage) async fn runs(
        &self,
        tenant: TenantRow,
        wanted: &RunsWanted,
        limit: i64,
    ) -> Result<Vec<StoredRun>, Error> {
        let statement = match wanted {
            RunsWanted {
                parent: Some(_), ..
            } => RUN_LIST_BELOW,
            RunsWanted {
                entity: Some(_), ..
            } => RUN_LIST_FOR,
            RunsWanted { name: Some(_), .. } => RUN_LIST_OF,
            RunsWanted { .. } => RUN_LIST,
        };
        let before = wanted.before.map_or(i64::MAX, RunId::number);
        let query = sqlx::query_as(statement)
            .bind(tenant.0)
            .bind(before)
            .bind(limit);
        let query = match wanted {
            RunsWanted {
                parent: Some(parent),
                ..
            } => query.bind(parent.number()),
            RunsWanted {
                entity: Some(entity),
                ..
            } => query.bind(entity.uuid()),
            RunsWanted {
                name: Some(name), ..
            } => query
                .bind(text(&name.namespace).into_owned())
                .bind(text(&name.name).into_owned()),
            RunsWanted { .. } => query,
        };
        let rows: Vec<RunData> = query.fetch_all(&self.reads).await?;
        rows.into_iter().map(|row| row.stored(tenant)).collect()
    }

    /// The next runs of which work is out and that no node drives whose last beat is so recent, and
    /// which node did.
    pub(in crate::storage) async fn orphaned_runs(
        &self,
        after: RunId,
        limit: i64,
        age: Duration,
    ) -> Result<Vec<(Tenant, RunId, Option<NodeRow>)>, Error> {
        let rows: Vec<(String, i64, Option<i64>)> = sqlx::query_as(RUN_ORPHANED)
            .bind(after.number())
            .bind(limit)
            .bind(micros(age))
            .fetch_all(&self.reads)
            .await?;
        let rows = rows.into_iter();
        Ok(rows
            .map(|(tenant, r, i)| (tenant.into(), RunId::new(r), i.map(NodeRow)))
            .collect())
    }

    /// The next runs of which work is out and that a node drives.
    pub(in crate::storage) async fn driven_runs(
        &self,
        own: NodeRow,
        after: RunId,
        limit: i64,
    ) -> Result<Vec<(Tenant, RunId)>, Error> {
        let rows: Vec<(String, i64)> = sqlx::query_as(RUN_DRIVEN)
            .bind(after.number())
            .bind(limit)
            .bind(own.0)
            .fetch_all(&self.reads)
            .await?;
        Ok(named(rows))
    }

    pub(in crate::storage) async fn live_runs(&self) -> Result<Vec<(Tenant, u8, u64)>, Error> {
        let rows: Vec<(String, i64, i64)> = sqlx::query_as(RUN_LIVE).fetch_all(&self.reads).await?;
        let row = |(tenant, status, count): (String, i64, i64)| {
            let status = u8::try_from(status).unwrap_or(u8::MAX);
            let count = u64::try_from(count).unwrap_or(0);
            (Tenant::from(tenant), status, count)
        };
        Ok(rows.into_iter().map(row).collect())
    }

    pub(in crate::storage) async fn runs_old(
        &self,
        wanted: OldRunsWanted,
        limit: i64,
    ) -> Result<Vec<OldRun>, Error> {
        let rows: Vec<(String, i64, i64, i64)> = sqlx::query_as(RUN_OLD)
            .bind(wanted.since.micros())
            .bind(wanted.before.micros())
            .bind(wanted.needed_before.micros())
            .bind(limit)
            .fetch_all(&self.reads)
            .await?;
        let old = |(tenant, r, ended, bytes): (String, i64, i64, i64)| OldRun {
            tenant: tenant.into(),
            run: RunId::new(r),
            ended: Timestamp::from_micros(ended),
            bytes,
        };
        Ok(rows.into_iter().map(old).collect())
    }

    pub(in crate::storage) async fn old_run_events(
        &self,
        runs: &[RunId],
        limit: i64,
    ) -> Result<Vec<(Position, RunId, i64)>, Error> {
        let rows: Vec<(i64, i64, i64)> = sqlx::query_as(RUN_OLD_EVENTS)
            .bind(numbers(runs))
            .bind(limit)
            .fetch_all(&self.reads)
            .await?;
        let event = |(n, r, bytes)| (Position(n), RunId::new(r), bytes);
        Ok(rows.into_iter().map(event).collect())
    }

    pub(in crate::storage) async fn runs_that_await(
        &self,
    ) -> Result<Vec<(EntityId, TenantRow, Tenant, RunId)>, Error> {
        let rows: Vec<(Uuid, i64, String, i64)> =
            sqlx::query_as(RUN_AWAITING).fetch_all(&self.reads).await?;
        let row = |(entity, t, tenant, r): (Uuid, i64, String, i64)| {
            let tenant = Tenant::from(tenant);
            (
                EntityId::from_uuid(entity),
                TenantRow(t),
                tenant,
                RunId::new(r),
            )
        };
        Ok(rows.into_iter().map(row).collect())
    }

    pub(in crate::storage) async fn run_events(
        &self,
        run: RunId,
        after: i64,
        limit: i64,
    ) -> Result<Vec<RunEvents>, Error> {
        let rows: Vec<RunEventData> = sqlx::query_as(RUN_EVENT_OF)
            .bind(run.number())
            .bind(after)
            .bind(limit)
            .fetch_all(&self.reads)
            .await?;
        Ok(rows.into_iter().map(RunEvents::from).collect())
    }

    pub(in crate::storage) async fn run_events_after(
        &self,
        tenant: TenantRow,
        after: Position,
        until: Position,
        limit: i64,
    ) -> Result<Vec<RunEvents>, Error> {
        let rows: Vec<RunEventData> = sqlx::query_as(RUN_EVENT_AFTER)
            .bind(after.0)
            .bind(until.0)
            .bind(tenant.0)
            .bind(limit)
            .fetch_all(&self.reads)
            .await?;
        Ok(rows.into_iter().map(RunEvents::from).collect())
    }
}
