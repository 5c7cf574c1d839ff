//! Rows of runs and of their histories.

use uuid::Uuid;

use super::columns::from_row;
use crate::clock::Timestamp;
use crate::entity::Position;
use crate::id::{EntityId, RunId};
use crate::storage::port::{Error, NodeRow, RunEvents, RunName, StoredRun, TenantRow};

#[derive(Debug)]
pub(in crate::storage) struct RunData {
    r: i64,
    n: i64,
    status: i64,
    out: bool,
    /// A database that is not shared has no such column.
    owner: Option<i64>,
    timer: bool,
    up: Option<i64>,
    e: Option<Uuid>,
    awaits: Option<Uuid>,
    created: i64,
    ended: Option<i64>,
    state: String,
    ns: String,
    name: String,
}

from_row! { RunData {
    r, n, status, out, timer, up, e, awaits, created, ended, state, ns, name; maybe owner
} }

impl RunData {
    pub(in crate::storage) fn stored(self, tenant: TenantRow) -> Result<StoredRun, Error> {
        Ok(StoredRun {
            id: RunId::new(self.r),
            tenant,
            name: RunName {
                namespace: self.ns.into(),
                name: self.name.into(),
            },
            position: Position(self.n),
            status: u8::try_from(self.status).map_err(|_| Error::Inconsistent {
                table: "run",
                column: "status",
                row: self.r,
            })?,
            is_out: self.out,
            owner: self.owner.map(NodeRow),
            has_timer: self.timer,
            parent: self.up.map(RunId::new),
            entity: self.e.map(EntityId::from_uuid),
            awaits: self.awaits.map(EntityId::from_uuid),
            created: Timestamp::from_micros(self.created),
            ended: self.ended.map(Timestamp::from_micros),
            state: self.state.into(),
        })
    }
}

#[derive(Debug)]
pub(in crate::storage) struct RunEventData {
    n: i64,
    r: i64,
    last: i64,
    record: String,
}

from_row! { RunEventData { n, r, last, record } }

impl From<RunEventData> for RunEvents {
    fn from(row: RunEventData) -> Self {
        Self {
            run: RunId::new(row.r),
            position: Position(row.n),
            last: u64::try_from(row.last).unwrap_or(0),
            record: row.record.into(),
        }
    }
}
