//! Who may call: tenants, clients, keys and providers.

use sqlx_postgres::PgConnection;

use super::Postgres;
use crate::storage::{
    port::{Error, Identity, IdentityChange},
    rows::IdentityData,
};

const IDENTITY_DROP: &str = include_str!("sql/identity_drop.sql");
const IDENTITY_LIST: &str = include_str!("sql/identity_list.sql");
const IDENTITY_PUT: &str = include_str!("sql/identity_put.sql");
pub(super) const TENANT_PUT: &str = include_str!("sql/tenant_put.sql");

/// Makes changes; how many rows that took.
pub(super) async fn write(
    connection: &mut PgConnection,
    changes: &[IdentityChange],
) -> Result<u64, sqlx::Error> {
    let mut rows = 0;
    for change in changes {
        let (kind, name, tenant) = match change {
            IdentityChange::Keep(identity) => (identity.kind, &identity.name, &identity.tenant),
            IdentityChange::Forget { kind, name, tenant } => (*kind, name, tenant),
        };
        let tenant: i64 = sqlx::query_scalar(TENANT_PUT)
            .bind(tenant.as_str())
            .fetch_one(&mut *connection)
            .await?;
        let query = match change {
            IdentityChange::Keep(_) => sqlx::query(IDENTITY_PUT),
            IdentityChange::Forget { .. } => sqlx::query(IDENTITY_DROP),
        };
        let query = query.bind(kind.code()).bind(&**name).bind(tenant);
        let query = match change {
            IdentityChange::Keep(identity) => query.bind(&*identity.record),
            IdentityChange::Forget { .. } => query,
        };
        rows += query.execute(&mut *connection).await?.rows_affected();
    }
    Ok(rows)
}

impl Postgres {
    pub(in crate::storage) async fn identities(&self) -> Result<Vec<Identity>, Error> {
        let rows: Vec<IdentityData> = sqlx::query_as(IDENTITY_LIST).fetch_all(&self.reads).await?;
        rows.into_iter().map(Identity::try_from).collect()
    }
}
