//! Reading: every function is one trip, or one per part of a definition.

use std::{fmt::Write as _, sync::Arc};

use serde::{Deserialize, Serialize};
use sqlx_sqlite::SqlitePool;

use super::{
    Newest, Sqlite,
    packed::{Names, Packed},
    rows::{ChangeRow, FeedHead, MessageData, ModelRowData, TaskData, TrailRow, VersionRow},
};
use crate::clock::Timestamp;
use crate::entity::{Change, Changed, Position, Sequence};
use crate::id::{EdgeMessageId, EntityId, ModelKey, StateName, Tenant, TransactionId};
use crate::model::{KeyValue, Model, Schema};
use crate::storage::{
    Definitions, EntityRow, Error, Listed, Message, ModelRow, Recorded, Task, TaskKey, TaskLine,
    TaskPage, TenantRow, Version,
    claims::Claim,
    feed::Range,
    outcome::{Print, Remembered, Stored},
};
use crate::workflow::{Entry, Workflow, WorkflowSet};

const COMMIT_AT: &str = include_str!("sql/commit_at.sql");
const COMMIT_NEWEST: &str = include_str!("sql/commit_newest.sql");
const DEFINITION_BODIES: &str = include_str!("sql/definition_bodies.sql");
const DEFINITION_BY_HASH: &str = include_str!("sql/definition_by_hash.sql");
const ENTITY_COUNT: &str = include_str!("sql/entity_count.sql");
const ENTITY_COUNTS_BY_STATE: &str = include_str!("sql/entity_counts_by_state.sql");
const ENTITY_EXISTS: &str = include_str!("sql/entity_exists.sql");
const ENTITY_NEWEST: &str = include_str!("sql/entity_newest.sql");
const ENTITY_POSITIONS: &str = include_str!("sql/entity_positions.sql");
const FEED: &str = include_str!("sql/feed.sql");
const HISTORY: &str = include_str!("sql/history.sql");
const MESSAGE_GET: &str = include_str!("sql/message_get.sql");
const MODEL_DELTAS: &str = include_str!("sql/model_deltas.sql");
const MODEL_GET: &str = include_str!("sql/model_get.sql");
const MODEL_LIST: &str = include_str!("sql/model_list.sql");
const MODEL_ROW: &str = include_str!("sql/model_row.sql");
const OUTCOME_GET: &str = include_str!("sql/outcome_get.sql");
const OUTCOME_NEXT_EXPIRY: &str = include_str!("sql/outcome_next_expiry.sql");
const OUTCOME_PRINTS: &str = include_str!("sql/outcome_prints.sql");
const TASK_AFTER: &str = include_str!("sql/task_after.sql");
const TASK_AT: &str = include_str!("sql/task_at.sql");
const TASK_GET: &str = include_str!("sql/task_get.sql");
const TASK_LINES: &str = include_str!("sql/task_lines.sql");
const TASK_NEWEST: &str = include_str!("sql/task_newest.sql");
const TASK_OF_ENTITY: &str = include_str!("sql/task_of_entity.sql");
const TENANT_GET: &str = include_str!("sql/tenant_get.sql");
const TRAIL: &str = include_str!("sql/trail.sql");
const UNIQUE_KEY_HOLDERS: &str = include_str!("sql/unique_key_holders.sql");
const USAGE: &str = include_str!("sql/usage.sql");
const USAGE_MESSAGES: &str = include_str!("sql/usage_messages.sql");
const VERSION_AS_OF: &str = include_str!("sql/version_as_of.sql");
const VERSION_BY_TRANSACTION: &str = include_str!("sql/version_by_transaction.sql");
const VERSION_CURRENT: &str = include_str!("sql/version_current.sql");
const VERSION_NEWEST: &str = include_str!("sql/version_newest.sql");
const WORKFLOW_SET_GET: &str = include_str!("sql/workflow_set_get.sql");

/// How many entities are asked for in one trip: there may be a million.
const ASKED_AT_ONCE: usize = 4_096;

/// An element of `workflow_set.list`.
#[derive(Serialize, Deserialize)]
pub(super) struct ListedWorkflow(pub(super) i64, pub(super) bool);

impl Sqlite {
    pub(super) async fn newest(&self) -> Result<Newest, Error> {
        let newest: Option<(i64, i64)> = sqlx::query_as(COMMIT_NEWEST)
            .fetch_optional(&self.reads)
            .await?;
        let (sequence, at) = newest.unwrap_or((0, 0));
        let version: Option<i64> = sqlx::query_scalar(VERSION_NEWEST)
            .fetch_one(&self.reads)
            .await?;
        // Every version is below the sequence of its commit.
        if version.is_some_and(|version| version >= sequence) {
            return Err(Error::Inconsistent {
                table: "version",
                column: "n",
                row: version.unwrap_or_default(),
            });
        }
        Ok(Newest {
            sequence: Sequence(sequence),
            at: Timestamp::from_micros(at),
        })
    }

    pub(in crate::storage) async fn newest_entity(&self) -> Result<EntityRow, Error> {
        Ok(EntityRow(
            sqlx::query_scalar(ENTITY_NEWEST)
                .fetch_one(&self.reads)
                .await?,
        ))
    }

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

    /// The tasks of those keys that are still there, and all others of the same entities.
    pub(in crate::storage) async fn tasks(&self, keys: &[TaskKey]) -> Result<Vec<Task>, Error> {
        let rows: Vec<TaskData> = sqlx::query_as(TASK_GET)
            .bind(json_list(keys.iter().map(|key| key.0)))
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

    pub(in crate::storage) async fn sequence_at(
        &self,
        until: Timestamp,
    ) -> Result<Sequence, Error> {
        let sequence: Option<i64> = sqlx::query_scalar(COMMIT_AT)
            .bind(until.micros())
            .fetch_optional(&self.reads)
            .await?;
        Ok(Sequence(sequence.unwrap_or(0)))
    }

    pub(in crate::storage) async fn tenant(
        &self,
        tenant: &Tenant,
    ) -> Result<Option<TenantRow>, Error> {
        let row: Option<i64> = sqlx::query_scalar(TENANT_GET)
            .bind(tenant.as_str())
            .fetch_optional(&self.reads)
            .await?;
        Ok(row.map(TenantRow))
    }

    /// How many bytes tenants have in what is after a position and up to another.
    pub(in crate::storage) async fn usage(
        &self,
        from: i64,
        to: i64,
    ) -> Result<Vec<(Tenant, i64)>, Error> {
        let rows: Vec<(String, i64)> = sqlx::query_as(USAGE)
            .bind(from)
            .bind(to)
            .fetch_all(&self.reads)
            .await?;
        Ok(by_tenant(rows))
    }

    pub(in crate::storage) async fn usage_of_messages(
        &self,
        until: Sequence,
    ) -> Result<Vec<(Tenant, i64)>, Error> {
        let rows: Vec<(String, i64)> = sqlx::query_as(USAGE_MESSAGES)
            .bind(until.0)
            .fetch_all(&self.reads)
            .await?;
        Ok(by_tenant(rows))
    }

    pub(in crate::storage) async fn message(
        &self,
        tenant: TenantRow,
        id: EdgeMessageId,
    ) -> Result<Option<Message>, Error> {
        let row: Option<MessageData> = sqlx::query_as(MESSAGE_GET)
            .bind(id.uuid())
            .bind(tenant.0)
            .fetch_optional(&self.reads)
            .await?;
        Ok(row.map(Message::from))
    }

    pub(in crate::storage) async fn current(
        &self,
        tenant: TenantRow,
        id: EntityId,
    ) -> Result<Option<Version>, Error> {
        let row: Option<VersionRow> = sqlx::query_as(VERSION_CURRENT)
            .bind(id.uuid())
            .bind(tenant.0)
            .fetch_optional(&self.reads)
            .await?;
        Ok(row.map(|row| row.version(tenant)))
    }

    pub(in crate::storage) async fn as_of(
        &self,
        tenant: TenantRow,
        id: EntityId,
        at: Sequence,
    ) -> Result<Option<Version>, Error> {
        let row: Option<VersionRow> = sqlx::query_as(VERSION_AS_OF)
            .bind(id.uuid())
            .bind(tenant.0)
            .bind(at.0)
            .fetch_optional(&self.reads)
            .await?;
        Ok(row.map(|row| row.version(tenant)))
    }

    pub(in crate::storage) async fn by_transaction(
        &self,
        tenant: TenantRow,
        id: EntityId,
        transaction: TransactionId,
        at: Sequence,
    ) -> Result<Option<Version>, Error> {
        let row: Option<VersionRow> = sqlx::query_as(VERSION_BY_TRANSACTION)
            .bind(id.uuid())
            .bind(tenant.0)
            .bind(transaction.uuid())
            .bind(at.0)
            .fetch_optional(&self.reads)
            .await?;
        Ok(row.map(|row| row.version(tenant)))
    }

    /// The current position and row of each of these entities that there is.
    pub(in crate::storage) async fn positions(
        &self,
        ids: &[EntityId],
    ) -> Result<Vec<(EntityId, Position)>, Error> {
        let mut found = Vec::with_capacity(ids.len());
        for part in ids.chunks(ASKED_AT_ONCE) {
            let part = part.iter();
            let list = json_list(part.map(|id| format!("\"{}\"", id.uuid().simple())));
            let rows: Vec<(uuid::Uuid, i64)> = sqlx::query_as(ENTITY_POSITIONS)
                .bind(list)
                .fetch_all(&self.reads)
                .await?;
            found.extend(
                rows.into_iter()
                    .map(|(id, n)| (EntityId::from_uuid(id), Position(n))),
            );
        }
        Ok(found)
    }

    /// The outcomes that are stored for a key, unless they are past their time.
    pub(in crate::storage) async fn outcomes(
        &self,
        tenant: TenantRow,
        key: &str,
        now: Timestamp,
    ) -> Result<Vec<Remembered>, Error> {
        let rows: Vec<(u32, Vec<u8>, String)> = sqlx::query_as(OUTCOME_GET)
            .bind(tenant.0)
            .bind(key)
            .bind(now.micros())
            .fetch_all(&self.reads)
            .await?;
        rows.into_iter()
            .map(|(part, hash, answer)| {
                Ok(Remembered {
                    part,
                    print: print(hash, tenant)?,
                    answer: answer.into(),
                })
            })
            .collect()
    }

    /// What is stored for keys, without the answers.
    pub(in crate::storage) async fn prints(
        &self,
        names: &[(TenantRow, Arc<str>)],
        now: Timestamp,
    ) -> Result<Vec<Stored>, Error> {
        let list: Vec<(i64, &str)> = names
            .iter()
            .map(|(tenant, key)| (tenant.0, &**key))
            .collect();
        let rows: Vec<(i64, String, u32, Vec<u8>)> = sqlx::query_as(OUTCOME_PRINTS)
            .bind(serde_json::to_string(&list).unwrap_or_default())
            .bind(now.micros())
            .fetch_all(&self.reads)
            .await?;
        rows.into_iter()
            .map(|(tenant, key, part, hash)| {
                let tenant = TenantRow(tenant);
                Ok(Stored {
                    tenant,
                    key,
                    part,
                    print: print(hash, tenant)?,
                })
            })
            .collect()
    }

    /// When the first outcome is past its time, in microseconds; none if none is stored.
    pub(in crate::storage) async fn next_expiry(&self) -> Result<Option<i64>, Error> {
        Ok(sqlx::query_scalar(OUTCOME_NEXT_EXPIRY)
            .fetch_one(&self.reads)
            .await?)
    }

    /// The claims that are held, and by whom.
    pub(in crate::storage) async fn holders(
        &self,
        claims: &[Claim],
    ) -> Result<Vec<(Claim, EntityId)>, Error> {
        let list = json_list(claims.iter().map(|Claim { model, value }| {
            let hex = hex::encode(&value.bytes);
            format!("[{},{},\"{hex}\"]", model.0, value.key)
        }));
        let rows: Vec<(i64, u16, Vec<u8>, uuid::Uuid)> = sqlx::query_as(UNIQUE_KEY_HOLDERS)
            .bind(list)
            .fetch_all(&self.reads)
            .await?;
        let held = |(m, key, bytes, id): (i64, u16, Vec<u8>, uuid::Uuid)| {
            let value = KeyValue {
                key,
                bytes: bytes.into(),
            };
            let model = ModelRow(m);
            (Claim { model, value }, EntityId::from_uuid(id))
        };
        Ok(rows.into_iter().map(held).collect())
    }

    pub(in crate::storage) async fn has_entities(&self, model: ModelRow) -> Result<bool, Error> {
        Ok(sqlx::query_scalar(ENTITY_EXISTS)
            .bind(model.0)
            .fetch_one(&self.reads)
            .await?)
    }

    pub(in crate::storage) async fn count(&self, model: ModelRow) -> Result<i64, Error> {
        Ok(sqlx::query_scalar(ENTITY_COUNT)
            .bind(model.0)
            .fetch_one(&self.reads)
            .await?)
    }

    pub(in crate::storage) async fn counts_by_state(
        &self,
        model: ModelRow,
    ) -> Result<Vec<(StateName, i64)>, Error> {
        let rows: Vec<(String, i64)> = sqlx::query_as(ENTITY_COUNTS_BY_STATE)
            .bind(model.0)
            .fetch_all(&self.reads)
            .await?;
        Ok(rows
            .into_iter()
            .map(|(state, count)| (state.into(), count))
            .collect())
    }

    pub(in crate::storage) async fn history(
        &self,
        tenant: TenantRow,
        id: EntityId,
        at: Sequence,
        limit: i64,
    ) -> Result<Vec<Change>, Error> {
        let rows: Vec<ChangeRow> = sqlx::query_as(HISTORY)
            .bind(id.uuid())
            .bind(tenant.0)
            .bind(at.0)
            .bind(limit)
            .fetch_all(&self.reads)
            .await?;
        rows.into_iter().map(TryInto::try_into).collect()
    }

    /// The row of a model, also of one that was deleted.
    pub(in crate::storage) async fn model_row(
        &self,
        tenant: TenantRow,
        model: &ModelKey,
    ) -> Result<Option<ModelRow>, Error> {
        let row: Option<i64> = sqlx::query_scalar(MODEL_ROW)
            .bind(tenant.0)
            .bind(&*model.name)
            .bind(model.version)
            .fetch_optional(&self.reads)
            .await?;
        Ok(row.map(ModelRow))
    }

    /// A page of the feed, and how far it goes.
    pub(in crate::storage) async fn changes(
        &self,
        range: &Range,
    ) -> Result<(Vec<Changed>, Position), Error> {
        let states = range.states.as_ref().map(|states| {
            let names: Vec<_> = states.iter().map(StateName::as_str).collect();
            serde_json::Value::from(names).to_string()
        });
        let packed: Packed = sqlx::query_as(FEED)
            .bind(range.after.0)
            .bind(range.until.0)
            .bind(range.tenant.0)
            .bind(range.model.map(|model| model.0))
            .bind(&states)
            .bind(range.documents)
            .bind(i64::try_from(range.limit).unwrap_or(i64::MAX))
            .bind(i64::try_from(range.bytes).unwrap_or(i64::MAX))
            .fetch_one(&self.reads)
            .await?;
        let mut names = Names::default();
        let mut changes = packed
            .rows()?
            .map(|(head, document): (FeedHead<'_>, _)| head.change(document, &mut names))
            .collect::<Result<Vec<_>, _>>()?;
        changes.sort_unstable_by_key(|change| change.position);
        // With fewer than there may be, these were all, unless bytes were counted too.
        let reached = match changes.last() {
            Some(last) if range.documents || changes.len() == range.limit => last.position,
            Some(_) | None => range.until,
        };
        Ok((changes, reached))
    }

    /// The workflow that has that hash, in hexadecimal.
    pub(in crate::storage) async fn workflow(&self, hash: &str) -> Result<Option<Workflow>, Error> {
        let body: Option<String> = sqlx::query_scalar(DEFINITION_BY_HASH)
            .bind(hash)
            .fetch_optional(&self.reads)
            .await?;
        Ok(body.and_then(|body| Workflow::load(&body).ok()))
    }

    /// What is recorded of an entity up to a position, newest first.
    pub(in crate::storage) async fn trail(
        &self,
        tenant: TenantRow,
        id: EntityId,
        until: Position,
        limit: i64,
    ) -> Result<Vec<Recorded>, Error> {
        let rows: Vec<TrailRow> = sqlx::query_as(TRAIL)
            .bind(id.uuid())
            .bind(tenant.0)
            .bind(until.0)
            .bind(limit)
            .fetch_all(&self.reads)
            .await?;
        rows.into_iter().map(TryInto::try_into).collect()
    }

    pub(in crate::storage) async fn models(&self, tenant: TenantRow) -> Result<Vec<Listed>, Error> {
        let rows: Vec<ModelRowData> = sqlx::query_as(MODEL_LIST)
            .bind(tenant.0)
            .fetch_all(&self.reads)
            .await?;
        rows.into_iter()
            .map(|row| {
                Ok(Listed {
                    row: ModelRow(row.m),
                    key: row.key(),
                    lock: row.lock()?,
                    updated: row.updated(),
                })
            })
            .collect()
    }

    pub(in crate::storage) async fn definitions(
        &self,
        tenant: TenantRow,
        model: &ModelKey,
    ) -> Result<Option<Definitions>, Error> {
        let row: Option<ModelRowData> = sqlx::query_as(MODEL_GET)
            .bind(tenant.0)
            .bind(&*model.name)
            .bind(model.version)
            .fetch_optional(&self.reads)
            .await?;
        let Some(row) = row else { return Ok(None) };
        let (workflow_revision, workflows) = workflows(&self.reads, row.m).await?;
        let (schema, deltas) = schema(&self.reads, row.m).await?;
        Ok(Some(Definitions {
            tenant,
            row: ModelRow(row.m),
            revision: row.rev,
            deltas,
            workflow_revision,
            model: Model {
                key: row.key(),
                lock: row.lock()?,
                change_level: row.change_level()?,
                schema: Arc::new(schema),
                updated: row.updated(),
                unique_keys: row.unique_keys()?,
            },
            workflows,
        }))
    }
}

fn print(hash: Vec<u8>, tenant: TenantRow) -> Result<Print, Error> {
    hash.try_into().map_err(|_| Error::Inconsistent {
        table: "idempotency",
        column: "hash",
        row: tenant.0,
    })
}

/// The schema of a model, and how many deltas it is stored as.
async fn schema(reads: &SqlitePool, model: i64) -> Result<(Schema, usize), Error> {
    let deltas: Vec<String> = sqlx::query_scalar(MODEL_DELTAS)
        .bind(model)
        .fetch_all(reads)
        .await?;
    let inconsistent = |_| Error::Inconsistent {
        table: "model_delta",
        column: "delta",
        row: model,
    };
    let schema = deltas.iter().try_fold(Schema::default(), |schema, delta| {
        Ok::<_, Error>(schema.merge(Schema::decode(delta).map_err(inconsistent)?))
    })?;
    Ok((schema, deltas.len()))
}

async fn workflows(reads: &SqlitePool, model: i64) -> Result<(i64, WorkflowSet), Error> {
    let newest: Option<(i64, String)> = sqlx::query_as(WORKFLOW_SET_GET)
        .bind(model)
        .fetch_optional(reads)
        .await?;
    let Some((revision, list)) = newest else {
        return Ok((0, WorkflowSet::default()));
    };
    let listed: Vec<ListedWorkflow> =
        serde_json::from_str(&list).map_err(|_| Error::Inconsistent {
            table: "workflow_set",
            column: "list",
            row: model,
        })?;
    let keys = json_list(listed.iter().map(|ListedWorkflow(key, _)| key));
    let bodies: Vec<(i64, String)> = sqlx::query_as(DEFINITION_BODIES)
        .bind(keys)
        .fetch_all(reads)
        .await?;
    let entries = listed.into_iter().map(|ListedWorkflow(key, active)| {
        let body = bodies.iter().find(|(d, _)| *d == key);
        let workflow =
            body.and_then(|(_, body)| Workflow::load(body).ok())
                .ok_or(Error::Inconsistent {
                    table: "definition",
                    column: "body",
                    row: key,
                })?;
        Ok(Entry {
            workflow: Arc::new(workflow),
            active,
        })
    });
    Ok((
        revision,
        WorkflowSet {
            entries: entries.collect::<Result<_, Error>>()?,
        },
    ))
}

/// A JSON list for `json_each`, which takes numbers and names, never documents.
pub(super) fn json_list<T: std::fmt::Display>(items: impl Iterator<Item = T>) -> String {
    let mut list = String::from("[");
    for item in items {
        if list.len() > 1 {
            list.push(',');
        }
        let _ = write!(list, "{item}");
    }
    list + "]"
}

fn by_tenant(rows: Vec<(String, i64)>) -> Vec<(Tenant, i64)> {
    let tenant = |(name, bytes): (String, i64)| (name.as_str().into(), bytes);
    rows.into_iter().map(tenant).collect()
}
