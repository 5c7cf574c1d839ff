//! Rows of records.

use sqlx::FromRow;

use crate::clock::Timestamp;
use crate::entity::Actor;
use crate::id::TransactionId;
use crate::storage::port::{Error, RecordOrigin};

#[derive(Debug, FromRow)]
pub(in crate::storage) struct ProducerData {
    pub(in crate::storage) c: i64,
    pub(in crate::storage) tenant: String,
    pub(in crate::storage) ns: String,
    pub(in crate::storage) name: String,
    pub(in crate::storage) n: i64,
    pub(in crate::storage) body: String,
}

#[derive(Debug, FromRow)]
pub(in crate::storage) struct HeadData {
    pub(in crate::storage) name: String,
    pub(in crate::storage) bytes: i64,
    #[sqlx(flatten)]
    pub(in crate::storage) origin: OriginData,
}

#[derive(Debug, FromRow)]
pub(in crate::storage) struct OriginData {
    pub(in crate::storage) seq: i64,
    pub(in crate::storage) id: uuid::Uuid,
    pub(in crate::storage) at: i64,
    pub(in crate::storage) kind: String,
    pub(in crate::storage) author: String,
}

impl OriginData {
    pub(in crate::storage) fn origin(self) -> Result<RecordOrigin, Error> {
        let kind = self.kind.parse().map_err(|_| Error::Inconsistent {
            table: "actor",
            column: "kind",
            row: self.seq,
        })?;
        Ok(RecordOrigin {
            transaction: TransactionId::from_uuid(self.id),
            at: Timestamp::from_micros(self.at),
            author: Actor {
                kind,
                name: self.author.into(),
            },
        })
    }
}
