//! Tasks: when they are due, and what they are.

use std::time::Duration;

use super::{Postgres, node::micros};
use crate::clock::Timestamp;
use crate::storage::{
    port::{EntityRow, Error, NodeRow, Task, TaskKey, TaskLine, TaskPage},
    rows::TaskData,
};

const TASK_AHEAD: &str = include_str!("sql/task_ahead.sql");
const TASK_CLAIM: &str = include_str!("sql/task_claim.sql");
const TASK_AFTER: &str = include_str!("sql/task_after.sql");
const TASK_AT: &str = include_str!("sql/task_at.sql");
const TASK_GET: &str = include_str!("sql/task_get.sql");
const TASK_LINES: &str = include_str!("sql/task_lines.sql");
const TASK_NEWEST: &str = include_str!("sql/task_newest.sql");
const TASK_OF_ENTITY: &str = include_str!("sql/task_of_entity.sql");

impl Postgres {
    pub(in crate::storage) async fn newest_task(&self) -> Result<i64, Error> {
        Ok(sqlx::query_scalar(TASK_NEWEST)
            .fetch_one(&self.reads)
            .await?)
    }

    /// The tenants that have tasks.
    pub(in crate::storage) async fn task_lines(&self) -> Result<Vec<TaskLine>, Error> {
        let lines: Vec<i64> = sqlx::query_scalar(TASK_LINES)
            .fetch_all(&self.reads)
            .await?;
        Ok(lines.into_iter().map(TaskLine).collect())
    }

    /// When tasks are due, and their keys: in this order, those after that place.
    pub(in crate::storage) async fn tasks_due(
        &self,
        page: TaskPage,
    ) -> Result<Vec<(i64, i64)>, Error> {
        let TaskPage {
            line,
            after: (due, key),
            began_with,
            limit,
        } = page;
        let count = |limit: usize| i64::try_from(limit).unwrap_or(i64::MAX);
        let mut tasks: Vec<(i64, i64)> = sqlx::query_as(TASK_AT)
            .bind(line.0)
            .bind(due)
            .bind(key)
            .bind(began_with)
            .bind(count(limit))
            .fetch_all(&self.reads)
            .await?;
        if tasks.len() < limit {
            let more: Vec<(i64, i64)> = sqlx::query_as(TASK_AFTER)
                .bind(line.0)
                .bind(due)
                .bind(began_with)
                .bind(count(limit - tasks.len()))
                .fetch_all(&self.reads)
                .await?;
            tasks.extend(more);
        }
        Ok(tasks)
    }

    /// Takes tasks for a node; those that it got. A node is live if its last beat is so recent.
    pub(in crate::storage) async fn claim_tasks(
        &self,
        own: NodeRow,
        keys: &[TaskKey],
        kept: &[TaskKey],
        age: Duration,
    ) -> Result<Vec<TaskKey>, Error> {
        let numbers = |keys: &[TaskKey]| keys.iter().map(|key| key.0).collect::<Vec<_>>();
        let claimed: Vec<i64> = sqlx::query_scalar(TASK_CLAIM)
            .bind(own.0)
            .bind(numbers(keys))
            .bind(numbers(kept))
            .bind(micros(age))
            .fetch_all(&self.reads)
            .await?;
        Ok(claimed.into_iter().map(TaskKey).collect())
    }

    /// The tasks that are due up to an instant and that neither this node has nor another whose last
    /// beat is so recent.
    pub(in crate::storage) async fn tasks_ahead(
        &self,
        own: NodeRow,
        until: Timestamp,
        limit: i64,
        age: Duration,
    ) -> Result<Vec<(TaskLine, i64, i64)>, Error> {
        let ahead: Vec<(i64, i64, i64)> = sqlx::query_as(TASK_AHEAD)
            .bind(until.micros())
            .bind(own.0)
            .bind(limit)
            .bind(micros(age))
            .fetch_all(&self.reads)
            .await?;
        let ahead = ahead.into_iter();
        Ok(ahead.map(|(t, due, k)| (TaskLine(t), due, k)).collect())
    }

    /// The tasks of those keys that are still there, and all others of the same entities.
    pub(in crate::storage) async fn tasks(&self, keys: &[TaskKey]) -> Result<Vec<Task>, Error> {
        let rows: Vec<TaskData> = sqlx::query_as(TASK_GET)
            .bind(keys.iter().map(|key| key.0).collect::<Vec<_>>())
            .fetch_all(&self.reads)
            .await?;
        rows.into_iter().map(Task::try_from).collect()
    }

    pub(in crate::storage) async fn tasks_of(&self, entity: EntityRow) -> Result<Vec<Task>, Error> {
        let rows: Vec<TaskData> = sqlx::query_as(TASK_OF_ENTITY)
            .bind(entity.0)
            .fetch_all(&self.reads)
            .await?;
        rows.into_iter().map(Task::try_from).collect()
    }
}
