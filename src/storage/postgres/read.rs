//! Reading: every function is one trip.

use std::sync::Arc;

use sqlx_postgres::PgRow;
use uuid::Uuid;

use super::{Postgres, text::text};
use crate::clock::Timestamp;
use crate::entity::{Change, Changed, Json, Position, Sequence};
use crate::id::{EdgeMessageId, EntityId, StateName, Tenant, TransactionId};
use crate::model::KeyValue;
use crate::storage::{
    port::{
        ChangeRange, Claim, EntityRow, Error, Message, ModelRow, Newest, Print, Recorded,
        Remembered, Stored, TenantRow, Version,
    },
    rows::{ChangeRow, MessageData, Names, TrailRow, VersionRow, from_row_of, kind_of},
};

const COMMIT_AT: &str = include_str!("sql/commit_at.sql");
const COMMIT_NEWEST: &str = include_str!("sql/commit_newest.sql");
const ENTITY_COUNT: &str = include_str!("sql/entity_count.sql");
const ENTITY_COUNTS_BY_STATE: &str = include_str!("sql/entity_counts_by_state.sql");
const ENTITY_EXISTS: &str = include_str!("sql/entity_exists.sql");
const ENTITY_NEWEST: &str = include_str!("sql/entity_newest.sql");
const ENTITY_POSITIONS: &str = include_str!("sql/entity_positions.sql");
const FEED: &str = include_str!("sql/feed.sql");
const HISTORY: &str = include_str!("sql/history.sql");
const MESSAGE_GET: &str = include_str!("sql/message_get.sql");
const MESSAGE_SIZES: &str = include_str!("sql/message_sizes.sql");
const OUTCOME_GET: &str = include_str!("sql/outcome_get.sql");
const OUTCOME_NEXT_EXPIRY: &str = include_str!("sql/outcome_next_expiry.sql");
const OUTCOME_PRINTS: &str = include_str!("sql/outcome_prints.sql");
const TENANT_GET: &str = include_str!("sql/tenant_get.sql");
const TRAIL: &str = include_str!("sql/trail.sql");
const UNIQUE_KEY_HOLDERS: &str = include_str!("sql/unique_key_holders.sql");
const USAGE: &str = include_str!("sql/usage.sql");
const USAGE_NEXT: &str = include_str!("sql/usage_next.sql");
const USAGE_NOW: &str = include_str!("sql/usage_now.sql");
const VERSION_AS_OF: &str = include_str!("sql/version_as_of.sql");
const VERSION_BY_TRANSACTION: &str = include_str!("sql/version_by_transaction.sql");
const VERSION_CURRENT: &str = include_str!("sql/version_current.sql");
const VERSION_NEWEST: &str = include_str!("sql/version_newest.sql");
const VERSION_NEXT: &str = include_str!("sql/version_next.sql");

/// How many entities are asked for in one trip: there may be a million.
const ASKED_AT_ONCE: usize = 4_096;

impl Postgres {
    pub(in crate::storage) async fn newest(&self) -> Result<Newest, Error> {
        // The versions first: others may commit in between.
        let version: Option<i64> = sqlx::query_scalar(VERSION_NEWEST)
            .fetch_one(&self.reads)
            .await?;
        let (sequence, at, revision): (i64, i64, i64) =
            sqlx::query_as(COMMIT_NEWEST).fetch_one(&self.reads).await?;
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
            revision,
        })
    }

    pub(in crate::storage) async fn newest_entity(&self) -> Result<EntityRow, Error> {
        Ok(EntityRow(
            sqlx::query_scalar(ENTITY_NEWEST)
                .fetch_one(&self.reads)
                .await?,
        ))
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
            .bind(text(tenant.as_str()))
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

    /// The next position after another one at which there is something that is counted so.
    pub(in crate::storage) async fn usage_next(&self, after: i64) -> Result<Option<i64>, Error> {
        let next = sqlx::query_scalar(USAGE_NEXT).bind(after);
        Ok(next.fetch_one(&self.reads).await?)
    }

    /// How many bytes tenants have in everything else, and the newest commit that is in that.
    pub(in crate::storage) async fn usage_now(&self) -> Result<(i64, Vec<(Tenant, i64)>), Error> {
        let rows: Vec<(i64, Option<String>, Option<i64>)> =
            sqlx::query_as(USAGE_NOW).fetch_all(&self.reads).await?;
        let newest = rows.first().map_or(0, |(newest, ..)| *newest);
        let rows = rows.into_iter();
        let counted = rows.filter_map(|(_, name, bytes)| name.zip(bytes));
        Ok((newest, by_tenant(counted.collect())))
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

    /// Those of these messages that there are: whose each is, and how many bytes it has.
    pub(in crate::storage) async fn message_sizes(
        &self,
        ids: &[EdgeMessageId],
    ) -> Result<Vec<(EdgeMessageId, TenantRow, i64)>, Error> {
        let mut found = Vec::new();
        for part in ids.chunks(ASKED_AT_ONCE) {
            let part: Vec<Uuid> = part.iter().map(|id| id.uuid()).collect();
            let rows: Vec<(Uuid, i64, i64)> = sqlx::query_as(MESSAGE_SIZES)
                .bind(part)
                .fetch_all(&self.reads)
                .await?;
            let rows = rows.into_iter();
            found.extend(
                rows.map(|(id, t, bytes)| (EdgeMessageId::from_uuid(id), TenantRow(t), bytes)),
            );
        }
        Ok(found)
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
            let part: Vec<Uuid> = part.iter().map(|id| id.uuid()).collect();
            let rows: Vec<(Uuid, i64)> = sqlx::query_as(ENTITY_POSITIONS)
                .bind(part)
                .fetch_all(&self.reads)
                .await?;
            let rows = rows.into_iter();
            found.extend(rows.map(|(id, n)| (EntityId::from_uuid(id), Position(n))));
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
        let rows: Vec<(i64, Vec<u8>, String)> = sqlx::query_as(OUTCOME_GET)
            .bind(tenant.0)
            .bind(text(key))
            .bind(now.micros())
            .fetch_all(&self.reads)
            .await?;
        rows.into_iter()
            .map(|(part, hash, answer)| {
                Ok(Remembered {
                    part: part_of(part, tenant)?,
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
        let tenants: Vec<i64> = names.iter().map(|(tenant, _)| tenant.0).collect();
        let keys: Vec<_> = names.iter().map(|(_, key)| text(key)).collect();
        let rows: Vec<(i64, String, i64, Vec<u8>)> = sqlx::query_as(OUTCOME_PRINTS)
            .bind(tenants)
            .bind(keys)
            .bind(now.micros())
            .fetch_all(&self.reads)
            .await?;
        rows.into_iter()
            .map(|(tenant, key, part, hash)| {
                let tenant = TenantRow(tenant);
                Ok(Stored {
                    tenant,
                    key,
                    part: part_of(part, tenant)?,
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
        let models: Vec<i64> = claims.iter().map(|claim| claim.model.0).collect();
        let keys: Vec<i64> = claims.iter().map(|claim| claim.value.key.into()).collect();
        let values: Vec<&[u8]> = claims.iter().map(|claim| &*claim.value.bytes).collect();
        let rows: Vec<(i64, i64, Vec<u8>, Uuid)> = sqlx::query_as(UNIQUE_KEY_HOLDERS)
            .bind(models)
            .bind(keys)
            .bind(values)
            .fetch_all(&self.reads)
            .await?;
        let held = |(m, key, bytes, id): (i64, i64, Vec<u8>, Uuid)| {
            let key = u16::try_from(key).map_err(|_| Error::Inconsistent {
                table: "unique_key",
                column: "u",
                row: m,
            })?;
            let value = KeyValue {
                key,
                bytes: bytes.into(),
            };
            let model = ModelRow(m);
            Ok((Claim { model, value }, EntityId::from_uuid(id)))
        };
        rows.into_iter().map(held).collect()
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

    /// The first position after another one at which there is a version.
    pub(in crate::storage) async fn next_version(
        &self,
        after: Position,
    ) -> Result<Option<Position>, Error> {
        let next: Option<i64> = sqlx::query_scalar(VERSION_NEXT)
            .bind(after.0)
            .fetch_one(&self.reads)
            .await?;
        Ok(next.map(Position))
    }

    /// A page of the feed, and how far it goes.
    pub(in crate::storage) async fn changes(
        &self,
        range: &ChangeRange,
    ) -> Result<(Vec<Changed>, Position), Error> {
        let states: Option<Vec<_>> = range
            .states
            .as_ref()
            .map(|states| states.iter().map(|state| text(state.as_str())).collect());
        let rows: Vec<FeedRow> = sqlx::query_as(FEED)
            .bind(range.after.0)
            .bind(range.until.0)
            .bind(range.tenant.0)
            .bind(range.model.map(|model| model.0))
            .bind(states)
            .bind(range.documents)
            .bind(i64::try_from(range.limit).unwrap_or(i64::MAX))
            .bind(i64::try_from(range.bytes).unwrap_or(i64::MAX))
            .fetch_all(&self.reads)
            .await?;
        let mut names = Names::default();
        let rows = rows.into_iter();
        let changes = rows
            .map(|row| row.change(&mut names))
            .collect::<Result<Vec<_>, _>>()?;
        // With fewer than there may be, these were all, unless bytes were counted too.
        let reached = match changes.last() {
            Some(last) if range.documents || changes.len() == range.limit => last.position,
            Some(_) | None => range.until,
        };
        Ok((changes, reached))
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
}

fn print(hash: Vec<u8>, tenant: TenantRow) -> Result<Print, Error> {
    hash.try_into().map_err(|_| Error::Inconsistent {
        table: "idempotency",
        column: "hash",
        row: tenant.0,
    })
}

/// The number of an outcome among those of its request.
fn part_of(part: i64, tenant: TenantRow) -> Result<u32, Error> {
    u32::try_from(part).map_err(|_| Error::Inconsistent {
        table: "idempotency",
        column: "part",
        row: tenant.0,
    })
}

/// A version, as the feed lists it.
#[derive(Debug)]
struct FeedRow {
    n: i64,
    kind: i64,
    state: String,
    id: Uuid,
    tx: Uuid,
    at: i64,
    name: String,
    version: i32,
    data: Option<String>,
}

from_row_of! { PgRow, FeedRow { n, kind, state, id, tx, at, name, version, data } }

impl FeedRow {
    fn change(self, names: &mut Names) -> Result<Changed, Error> {
        Ok(Changed {
            position: Position(self.n),
            entity: EntityId::from_uuid(self.id),
            model: names.model(&self.name, self.version),
            state: names.state(&self.state),
            kind: kind_of(self.kind, self.n)?,
            transaction: TransactionId::from_uuid(self.tx),
            at: Timestamp::from_micros(self.at),
            document: self.data.map(Json::trusted),
        })
    }
}

fn by_tenant(rows: Vec<(String, i64)>) -> Vec<(Tenant, i64)> {
    let tenant = |(name, bytes): (String, i64)| (name.as_str().into(), bytes);
    rows.into_iter().map(tenant).collect()
}
