//! Rows of records.

use super::columns::from_row;
use crate::clock::Timestamp;
use crate::entity::Actor;
use crate::id::TransactionId;
use crate::storage::port::{Error, RecordOrigin};

#[derive(Debug)]
pub(in crate::storage) struct ProducerData {
    pub(in crate::storage) c: i64,
    pub(in crate::storage) tenant: String,
    pub(in crate::storage) ns: String,
    pub(in crate::storage) name: String,
    pub(in crate::storage) n: i64,
    pub(in crate::storage) body: String,
}

from_row! { ProducerData { c, tenant, ns, name, n, body } }

#[derive(Debug)]
pub(in crate::storage) struct HeadData {
    pub(in crate::storage) name: String,
    pub(in crate::storage) bytes: i64,
    pub(in crate::storage) origin: OriginData,
}

from_row! { HeadData { name, bytes, ..origin } }

#[derive(Debug)]
pub(in crate::storage) struct OriginData {
    pub(in crate::storage) seq: i64,
    pub(in crate::storage) id: uuid::Uuid,
    pub(in crate::storage) at: i64,
    pub(in crate::storage) kind: String,
    pub(in crate::storage) author: String,
}

from_row! { OriginData { seq, id, at, kind, author } }

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
