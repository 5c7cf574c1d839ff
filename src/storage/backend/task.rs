//! Which process does a task or runs a search, where several use one database.

use std::time::Duration;

use super::{Backend, Error, Kind};
use crate::clock::Timestamp;
use crate::storage::{
    port::{JobRow, NodeRow, TaskKey, TaskLine, TenantRow},
    postgres,
};

impl Backend {
    /// Takes tasks for this process; those that it got. `kept` are those that it has already. A process
    /// is live if its last beat is so recent.
    pub(in crate::storage) async fn claim_tasks(
        &self,
        own: NodeRow,
        keys: &[TaskKey],
        kept: &[TaskKey],
        age: Duration,
    ) -> Result<Vec<TaskKey>, Error> {
        let Kind::Postgres(database) = &self.kind else {
            return Ok(keys.to_vec());
        };
        let claimed = database.claim_tasks(own, keys, kept, age).await;
        Ok(claimed.map_err(postgres::understood)?)
    }

    /// The tasks that are due up to an instant and that neither this process has nor another whose last
    /// beat is so recent: whose, when and which.
    pub(in crate::storage) async fn tasks_ahead(
        &self,
        own: NodeRow,
        until: Timestamp,
        limit: i64,
        age: Duration,
    ) -> Result<Vec<(TaskLine, i64, i64)>, Error> {
        let Kind::Postgres(database) = &self.kind else {
            return Ok(Vec::new());
        };
        let ahead = database.tasks_ahead(own, until, limit, age).await;
        Ok(ahead.map_err(postgres::understood)?)
    }

    /// Takes searches that are to be run for this process; none where it is the only one.
    pub(in crate::storage) async fn claim_jobs(
        &self,
        own: NodeRow,
        limit: i64,
        age: Duration,
    ) -> Result<Vec<(JobRow, TenantRow)>, Error> {
        let Kind::Postgres(database) = &self.kind else {
            return Ok(Vec::new());
        };
        let claimed = database.claim_jobs(own, limit, age).await;
        Ok(claimed.map_err(postgres::understood)?)
    }

    /// Whether this process has a search.
    pub(in crate::storage) async fn has_job(
        &self,
        own: NodeRow,
        job: JobRow,
    ) -> Result<bool, Error> {
        let Kind::Postgres(database) = &self.kind else {
            return Ok(true);
        };
        let has = database.has_job(own, job).await;
        Ok(has.map_err(postgres::understood)?)
    }
}
