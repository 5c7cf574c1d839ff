//! Rows of who may call.

use super::columns::from_row;
use crate::storage::port::{Error, Identity, IdentityKind};

#[derive(Debug)]
pub(in crate::storage) struct IdentityData {
    kind: i64,
    name: String,
    tenant: String,
    record: String,
}

from_row! { IdentityData { kind, name, tenant, record } }

impl TryFrom<IdentityData> for Identity {
    type Error = Error;

    fn try_from(row: IdentityData) -> Result<Self, Error> {
        let kind = IdentityKind::from_code(row.kind).ok_or(Error::Inconsistent {
            table: "identity",
            column: "kind",
            row: row.kind,
        })?;
        Ok(Self {
            kind,
            name: row.name.into(),
            tenant: row.tenant.into(),
            record: row.record.into(),
        })
    }
}
