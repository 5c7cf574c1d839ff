//! Rows as a database gives them, and what they mean: what the SQL databases share.

mod columns;
pub(in crate::storage) mod copying;
pub(in crate::storage) mod definitions;
mod failure;
mod identity;
mod job;
mod migrations;
mod names;
mod record;
mod run;
mod topic;

use std::sync::Arc;

use uuid::Uuid;

use columns::from_row;

use crate::clock::Timestamp;
use crate::engine::Record;
use crate::entity::{Actor, Change, ChangeKind, Image, Json, Path, Position};
use crate::id::{EntityId, ModelKey, RunId, TransactionId};

use crate::storage::port::{
    EntityRow, Error, Index, IndexRow, IndexState, Message, ModelRow, OfModel, Recorded, Subject,
    Task, TaskKey, TaskKind, TaskLine, TenantRow, Use, Version,
};

pub(in crate::storage) use columns::{from_row_of, or_default};
pub use failure::DRIVER;
pub(in crate::storage) use failure::{is_damage, is_foreign};
pub(in crate::storage) use identity::IdentityData;
pub(in crate::storage) use job::{JobData, PlanData};
pub(in crate::storage) use migrations::migrator;
pub(in crate::storage) use names::Names;
pub(in crate::storage) use record::{HeadData, OriginData, ProducerData};
pub(in crate::storage) use run::{RunData, RunEventData};
pub(in crate::storage) use topic::TopicEventData;

/// How many bytes of documents a part of a list holds; one document more may go beyond.
pub(in crate::storage) const PART_BYTES: usize = 2 << 20;

/// The same, as statements take it.
pub(in crate::storage) const PART_BYTES_BOUND: i64 = 2 << 20;

/// How large a document may be that is looked up with others, in bytes.
pub(in crate::storage) const LOOKED_UP_BYTES: i64 = 64 << 10;

/// A version, joined with its entity, commit and model.
#[derive(Debug)]
pub(in crate::storage) struct VersionRow {
    e: i64,
    n: i64,
    live: bool,
    state: String,
    transition: Option<String>,
    data: Option<String>,
    id: Uuid,
    created: i64,
    workflow: Option<String>,
    tx: Uuid,
    at: i64,
    name: String,
    version: i32,
}

from_row! {
    VersionRow {
        e, n, live, state, transition, data, id, created, workflow, tx, at, name,
        version
    }
}

/// A version, and when the next one took its place.
#[derive(Debug)]
pub(in crate::storage) struct DatedRow {
    pub(in crate::storage) version: VersionRow,
    pub(in crate::storage) until: Option<i64>,
}

from_row! { DatedRow { until, ..version } }

impl VersionRow {
    /// Whether the document was read with it.
    pub(in crate::storage) const fn has_document(&self) -> bool {
        self.data.is_some()
    }

    /// The version, which was asked for as one of this tenant.
    pub(in crate::storage) fn version(self, tenant: TenantRow) -> Version {
        let row = self;
        Version {
            row: EntityRow(row.e),
            tenant,
            position: Position(row.n),
            live: row.live,
            image: Image {
                id: EntityId::from_uuid(row.id),
                model: ModelKey::new(&row.name, row.version),
                state: row.state.into(),
                // A deletion has no document.
                document: Json::trusted(row.data.unwrap_or_else(|| "null".to_owned())),
                created: Timestamp::from_micros(row.created),
                updated: Timestamp::from_micros(row.at),
                transaction: TransactionId::from_uuid(row.tx),
                transition: row.transition.map(Into::into),
                workflow: row.workflow.map(Into::into),
            },
        }
    }
}

/// A message.
#[derive(Debug)]
pub(in crate::storage) struct MessageData {
    header: String,
    metadata: String,
    content: String,
}

from_row! { MessageData { header, metadata, content } }

impl From<MessageData> for Message {
    fn from(row: MessageData) -> Self {
        Self {
            header: Json::trusted(row.header),
            metadata: Json::trusted(row.metadata),
            content: Json::trusted(row.content),
        }
    }
}

pub(in crate::storage) fn kind_of(code: i64, n: i64) -> Result<ChangeKind, Error> {
    decode_kind(code).ok_or(Error::Inconsistent {
        table: "version",
        column: "kind",
        row: n,
    })
}

/// Something recorded of an entity.
#[derive(Debug)]
pub(in crate::storage) struct TrailRow {
    n: i64,
    kind: Option<i64>,
    record: Option<String>,
    at: i64,
    tx: Uuid,
    entry: Option<Uuid>,
    author_kind: String,
    author_name: String,
    executor_kind: Option<String>,
    executor_name: Option<String>,
}

from_row! {
    TrailRow {
        n, kind, record, at, tx, entry, author_kind, author_name, executor_kind,
        executor_name
    }
}

impl TryFrom<TrailRow> for Recorded {
    type Error = Error;

    fn try_from(row: TrailRow) -> Result<Self, Error> {
        let inconsistent = |column| Error::Inconsistent {
            table: "version",
            column,
            row: row.n,
        };
        let record = match &row.record {
            Some(text) => Record::decode(text).map_err(|_| inconsistent("record"))?,
            None => Record::default(),
        };
        let change = match row.kind {
            None => None,
            Some(kind) => Some(Change::try_from(ChangeRow {
                n: row.n,
                kind,
                at: row.at,
                tx: row.tx,
                author_kind: row.author_kind,
                author_name: row.author_name,
                executor_kind: row.executor_kind,
                executor_name: row.executor_name,
            })?),
        };
        Ok(Self {
            position: Position(row.n),
            at: Timestamp::from_micros(row.at),
            transaction: TransactionId::from_uuid(row.tx),
            entry: TransactionId::from_uuid(row.entry.unwrap_or(row.tx)),
            change,
            record,
        })
    }
}

/// An index of a model by a path.
#[derive(Debug)]
pub(in crate::storage) struct IndexData {
    p: i64,
    m: i64,
    path: String,
    state: i64,
    filled_to: Option<Uuid>,
    declared: bool,
    used: Option<i64>,
    tenant: String,
    name: String,
    version: i32,
}

from_row! { IndexData { p, m, path, state, filled_to, declared, used, tenant, name, version } }

impl TryFrom<IndexData> for Index {
    type Error = Error;

    fn try_from(row: IndexData) -> Result<Self, Error> {
        let inconsistent = |column| Error::Inconsistent {
            table: "search_path",
            column,
            row: row.p,
        };
        Ok(Self {
            row: IndexRow(row.p),
            model: ModelRow(row.m),
            path: Path::parse(&row.path).map_err(|_| inconsistent("path"))?,
            state: IndexState::from_code(row.state).ok_or_else(|| inconsistent("state"))?,
            declared: row.declared,
            use_of: Use::new(row.used),
            of: Arc::new(OfModel {
                tenant: row.tenant.as_str().into(),
                model: ModelKey::new(&row.name, row.version),
            }),
            filled_to: row.filled_to.map(EntityId::from_uuid),
        })
    }
}

/// A task, with the names of what it belongs to.
#[derive(Debug)]
pub(in crate::storage) struct TaskData {
    k: i64,
    t: i64,
    tenant: String,
    id: Option<Uuid>,
    r: Option<i64>,
    kind: i64,
    name: String,
    due: i64,
    body: String,
}

from_row! { TaskData { k, t, tenant, id, r, kind, name, due, body } }

impl TryFrom<TaskData> for Task {
    type Error = Error;

    fn try_from(row: TaskData) -> Result<Self, Error> {
        let kind = TaskKind::ALL
            .into_iter()
            .find(|kind| kind.code() == row.kind)
            .ok_or(Error::Inconsistent {
                table: "task",
                column: "kind",
                row: row.k,
            })?;
        let subject = match (row.id, row.r) {
            (Some(id), _) => Subject::Entity(EntityId::from_uuid(id)),
            (None, Some(r)) => Subject::Run(RunId::new(r)),
            (None, None) => {
                return Err(Error::Inconsistent {
                    table: "task",
                    column: "r",
                    row: row.k,
                });
            }
        };
        Ok(Self {
            key: TaskKey(row.k),
            line: TaskLine(row.t),
            tenant: row.tenant.into(),
            subject,
            kind,
            name: row.name.into(),
            due: Timestamp::from_micros(row.due),
            body: row.body.into(),
        })
    }
}

/// An entity on a scan, and its version if it was there.
#[derive(Debug)]
pub(in crate::storage) struct ScanRow {
    pub(in crate::storage) id: Uuid,
    n: Option<i64>,
    e: i64,
    live: Option<bool>,
    state: Option<String>,
    transition: Option<String>,
    data: Option<String>,
    created: i64,
    workflow: Option<String>,
    tx: Option<Uuid>,
    at: Option<i64>,
    name: String,
    version: i32,
}

from_row! {
    ScanRow {
        id, n, e, live, state, transition, data, created, workflow, tx, at, name,
        version
    }
}

impl ScanRow {
    /// The version, if the entity existed then.
    pub(in crate::storage) fn version(self, tenant: TenantRow) -> Option<Version> {
        let row = VersionRow {
            e: self.e,
            n: self.n?,
            live: self.live.filter(|live| *live)?,
            state: self.state?,
            transition: self.transition,
            data: self.data,
            id: self.id,
            created: self.created,
            workflow: self.workflow,
            tx: self.tx?,
            at: self.at?,
            name: self.name,
            version: self.version,
        };
        Some(row.version(tenant))
    }
}

/// A row of an entity's history.
#[derive(Debug)]
pub(in crate::storage) struct ChangeRow {
    n: i64,
    kind: i64,
    at: i64,
    tx: Uuid,
    author_kind: String,
    author_name: String,
    executor_kind: Option<String>,
    executor_name: Option<String>,
}

from_row! { ChangeRow { n, kind, at, tx, author_kind, author_name, executor_kind, executor_name } }

impl TryFrom<ChangeRow> for Change {
    type Error = Error;

    fn try_from(row: ChangeRow) -> Result<Self, Error> {
        let inconsistent = |table, column| Error::Inconsistent {
            table,
            column,
            row: row.n,
        };
        let actor = |kind: &str, name: String| {
            let kind = kind.parse().map_err(|_| inconsistent("actor", "kind"))?;
            Ok::<_, Error>(Actor {
                kind,
                name: name.into(),
            })
        };
        Ok(Self {
            position: Position(row.n),
            kind: decode_kind(row.kind).ok_or_else(|| inconsistent("version", "kind"))?,
            at: Timestamp::from_micros(row.at),
            transaction: TransactionId::from_uuid(row.tx),
            author: actor(&row.author_kind, row.author_name)?,
            executor: match (row.executor_kind, row.executor_name) {
                (Some(kind), Some(name)) => Some(actor(&kind, name)?),
                _ => None,
            },
        })
    }
}

pub(in crate::storage) const fn encode_kind(kind: ChangeKind) -> i64 {
    match kind {
        ChangeKind::Create => 0,
        ChangeKind::Update => 1,
        ChangeKind::Delete => 2,
    }
}

const fn decode_kind(kind: i64) -> Option<ChangeKind> {
    match kind {
        0 => Some(ChangeKind::Create),
        1 => Some(ChangeKind::Update),
        2 => Some(ChangeKind::Delete),
        _ => None,
    }
}
