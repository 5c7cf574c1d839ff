//! Changes of models, each in a transaction of its own.

use sqlx::Connection as _;
use sqlx_postgres::PgConnection;

use super::link;
use crate::model::{Lock, Schema};
use crate::storage::{
    port::{Edit, Effect, Error, ModelCommit, ModelRow},
    rows::definitions::ListedWorkflow,
};
use crate::workflow::WorkflowSet;

const DEFINITION_PUT: &str = include_str!("sql/definition_put.sql");
const MODEL_CLEAR_DELTAS: &str = include_str!("sql/model_clear_deltas.sql");
const MODEL_CLEAR_WORKFLOWS: &str = include_str!("sql/model_clear_workflows.sql");
const MODEL_DELTA_ADD: &str = include_str!("sql/model_delta_add.sql");
const MODEL_DROP_INDEXES: &str = include_str!("sql/model_drop_indexes.sql");
const MODEL_PUT: &str = include_str!("sql/model_put.sql");
const MODEL_SET_CHANGE_LEVEL: &str = include_str!("sql/model_set_change_level.sql");
const MODEL_SET_STATE: &str = include_str!("sql/model_set_state.sql");
const MODEL_SET_UNIQUE_KEYS: &str = include_str!("sql/model_set_unique_keys.sql");
const MODEL_TOUCH: &str = include_str!("sql/model_touch.sql");
const OUTCOME_PUT: &str = include_str!("sql/outcome_put.sql");
const WORKFLOW_SET_PUT: &str = include_str!("sql/workflow_set_put.sql");

/// Writes a change, its commit, and what is remembered of the request, in a transaction of its own;
/// false if it does not follow the newest commit, and then nothing is written.
pub(super) async fn write(
    connection: &mut PgConnection,
    commit: &ModelCommit<'_>,
) -> Result<bool, Error> {
    let mut transaction = connection.begin().await?;
    let is_written = write_within(&mut transaction, commit).await?;
    transaction.commit().await?;
    Ok(is_written)
}

async fn write_within(
    connection: &mut PgConnection,
    commit: &ModelCommit<'_>,
) -> Result<bool, Error> {
    if !link::put(connection, commit.follows, &commit.commit, None, true).await? {
        return Ok(false);
    }
    let seq = commit.commit.seq;
    let at = commit.commit.at;
    match &commit.effect {
        Effect::Make(schema) => {
            let row: i64 = sqlx::query_scalar(MODEL_PUT)
                .bind(commit.tenant.0)
                .bind(&*commit.key.name)
                .bind(commit.key.version)
                .bind(Lock::Unlocked.as_str())
                .bind(at)
                .bind(seq)
                .fetch_one(&mut *connection)
                .await?;
            add_delta(connection, ModelRow(row), seq, schema).await?;
        }
        Effect::Edit(row, change) => edit(connection, *row, change, at, seq).await?,
    }
    for row in &commit.outcomes {
        sqlx::query(OUTCOME_PUT)
            .bind(row.t)
            .bind(&*row.key)
            .bind(row.part)
            .bind(row.hash.as_slice())
            .bind(&*row.answer)
            .bind(row.expires)
            .execute(&mut *connection)
            .await?;
    }
    Ok(true)
}

/// Changes a model that there is.
async fn edit(
    connection: &mut PgConnection,
    row: ModelRow,
    change: &Edit<'_>,
    at: i64,
    seq: i64,
) -> Result<(), Error> {
    match change {
        Edit::Extend(schema) => {
            add_delta(connection, row, seq, schema).await?;
            touch(connection, row, at, seq).await?;
        }
        Edit::Fold(schema) => {
            sqlx::query(MODEL_CLEAR_DELTAS)
                .bind(row.0)
                .execute(&mut *connection)
                .await?;
            add_delta(connection, row, seq, schema).await?;
            touch(connection, row, at, seq).await?;
        }
        Edit::SetChangeLevel(level) => {
            sqlx::query(MODEL_SET_CHANGE_LEVEL)
                .bind(row.0)
                .bind(level.as_str())
                .execute(&mut *connection)
                .await?;
        }
        Edit::Touch => touch(connection, row, at, seq).await?,
        Edit::SetLock(lock) => {
            set_state(connection, row, lock.as_str(), seq).await?;
        }
        Edit::Delete => {
            set_state(connection, row, "absent", seq).await?;
            for sql in [
                MODEL_CLEAR_DELTAS,
                MODEL_CLEAR_WORKFLOWS,
                MODEL_DROP_INDEXES,
            ] {
                sqlx::query(sql)
                    .bind(row.0)
                    .execute(&mut *connection)
                    .await?;
            }
        }
        Edit::SetUniqueKeys(keys) => {
            sqlx::query(MODEL_SET_UNIQUE_KEYS)
                .bind(row.0)
                .bind((!keys.is_empty()).then(|| keys.encode()))
                .bind(seq)
                .execute(&mut *connection)
                .await?;
        }
        Edit::SetWorkflows(workflows) => {
            set_workflows(connection, row, seq, workflows).await?;
        }
    }
    Ok(())
}

async fn add_delta(
    connection: &mut PgConnection,
    row: ModelRow,
    seq: i64,
    schema: &Schema,
) -> Result<(), Error> {
    let delta = schema.encode().map_err(|_| Error::Inconsistent {
        table: "model_delta",
        column: "delta",
        row: row.0,
    })?;
    sqlx::query(MODEL_DELTA_ADD)
        .bind(row.0)
        .bind(seq)
        .bind(delta)
        .execute(connection)
        .await?;
    Ok(())
}

async fn touch(
    connection: &mut PgConnection,
    row: ModelRow,
    at: i64,
    seq: i64,
) -> Result<(), Error> {
    sqlx::query(MODEL_TOUCH)
        .bind(row.0)
        .bind(at)
        .bind(seq)
        .execute(connection)
        .await?;
    Ok(())
}

async fn set_state(
    connection: &mut PgConnection,
    row: ModelRow,
    state: &str,
    seq: i64,
) -> Result<(), Error> {
    sqlx::query(MODEL_SET_STATE)
        .bind(row.0)
        .bind(state)
        .bind(seq)
        .execute(connection)
        .await?;
    Ok(())
}

async fn set_workflows(
    connection: &mut PgConnection,
    row: ModelRow,
    seq: i64,
    workflows: &WorkflowSet,
) -> Result<(), Error> {
    let mut list = Vec::with_capacity(workflows.entries.len());
    for entry in &workflows.entries {
        let definition = &entry.workflow.definition;
        let key: i64 = sqlx::query_scalar(DEFINITION_PUT)
            .bind(definition.hash.0.as_slice())
            .bind(definition.body.as_str())
            .fetch_one(&mut *connection)
            .await?;
        list.push(ListedWorkflow(key, entry.active));
    }
    let list = serde_json::to_string(&list).unwrap_or_default();
    sqlx::query(WORKFLOW_SET_PUT)
        .bind(row.0)
        .bind(seq)
        .bind(list)
        .execute(connection)
        .await?;
    Ok(())
}
