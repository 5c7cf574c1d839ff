//! Records: small named documents.

use std::sync::Arc;

use super::Sqlite;
use crate::entity::{Position, Sequence};
use crate::id::Tenant;
use crate::storage::{
    port::{
        Error, Record, RecordHead, RecordHeadPage, RecordKey, RecordKind, RecordOrigin, RecordPage,
        RecordRow, StoredProducer, TenantRow,
    },
    rows::{HeadData, OriginData, ProducerData},
};

const RECORD_GET: &str = include_str!("sql/record_get.sql");
const RECORD_HEADS: &str = include_str!("sql/record_heads.sql");
const RECORD_LEASES: &str = include_str!("sql/record_leases.sql");
const RECORD_LIST: &str = include_str!("sql/record_list.sql");
const RECORD_MIRRORS: &str = include_str!("sql/record_mirrors.sql");
const RECORD_NAMESPACES: &str = include_str!("sql/record_namespaces.sql");
const RECORD_ORIGIN: &str = include_str!("sql/record_origin.sql");
const RECORD_POSITIONS: &str = include_str!("sql/record_positions.sql");
const RECORD_PRODUCERS: &str = include_str!("sql/record_producers.sql");

const RECORD_TROUBLES: &str = include_str!("sql/record_troubles.sql");

impl Sqlite {
    pub(in crate::storage) async fn record(
        &self,
        tenant: TenantRow,
        key: &RecordKey,
    ) -> Result<Option<Record>, Error> {
        let row: Option<(i64, String)> = sqlx::query_as(RECORD_GET)
            .bind(tenant.0)
            .bind(key.kind.code())
            .bind(&*key.namespace)
            .bind(&*key.name)
            .fetch_optional(&self.reads)
            .await?;
        Ok(row.map(|(n, body)| Record {
            key: key.clone(),
            position: Position(n),
            body: body.into(),
        }))
    }

    /// Records of a kind in a namespace, by name.
    pub(in crate::storage) async fn records(
        &self,
        page: RecordPage<'_>,
    ) -> Result<Vec<Record>, Error> {
        let rows: Vec<(String, i64, String)> = sqlx::query_as(RECORD_LIST)
            .bind(page.tenant.0)
            .bind(page.kind.code())
            .bind(page.namespace)
            .bind(page.after)
            .bind(page.limit)
            .fetch_all(&self.reads)
            .await?;
        let namespace: Arc<str> = page.namespace.into();
        let record = |(name, n, body): (String, i64, String)| Record {
            key: RecordKey::new(page.kind, Arc::clone(&namespace), name),
            position: Position(n),
            body: body.into(),
        };
        Ok(rows.into_iter().map(record).collect())
    }

    /// Records of a kind in a namespace whose names begin alike, without their bodies.
    pub(in crate::storage) async fn record_heads(
        &self,
        page: RecordHeadPage<'_>,
    ) -> Result<Vec<RecordHead>, Error> {
        let RecordHeadPage { of, prefix } = page;
        let rows: Vec<HeadData> = sqlx::query_as(RECORD_HEADS)
            .bind(of.tenant.0)
            .bind(of.kind.code())
            .bind(of.namespace)
            .bind(of.after)
            .bind(prefix)
            .bind(format!("{prefix}{}", char::MAX))
            .bind(of.limit)
            .fetch_all(&self.reads)
            .await?;
        let head = |row: HeadData| {
            Ok(RecordHead {
                name: row.name.into(),
                bytes: row.bytes.cast_unsigned(),
                origin: row.origin.origin()?,
            })
        };
        rows.into_iter().map(head).collect()
    }

    /// The namespaces of all tenants that have records of a kind whose names begin so.
    pub(in crate::storage) async fn record_namespaces(
        &self,
        kind: RecordKind,
        prefix: &str,
    ) -> Result<Vec<(Tenant, Arc<str>)>, Error> {
        let rows: Vec<(String, String)> = sqlx::query_as(RECORD_NAMESPACES)
            .bind(kind.code())
            .bind(prefix)
            .bind(format!("{prefix}{}", char::MAX))
            .fetch_all(&self.reads)
            .await?;
        let namespace = |(tenant, ns): (String, String)| (Tenant::from(tenant), Arc::from(ns));
        Ok(rows.into_iter().map(namespace).collect())
    }

    /// The commit of a sequence.
    pub(in crate::storage) async fn record_origin(
        &self,
        at: Sequence,
    ) -> Result<Option<RecordOrigin>, Error> {
        let row: Option<OriginData> = sqlx::query_as(RECORD_ORIGIN)
            .bind(at.0)
            .fetch_optional(&self.reads)
            .await?;
        row.map(OriginData::origin).transpose()
    }

    /// Which commit wrote each of these records last; none of those that are not there.
    pub(in crate::storage) async fn record_positions(
        &self,
        names: &[(TenantRow, RecordKey)],
    ) -> Result<Vec<(usize, Position)>, Error> {
        let list: Vec<(i64, i64, &str, &str)> = names
            .iter()
            .map(|(tenant, key)| (tenant.0, key.kind.code(), &*key.namespace, &*key.name))
            .collect();
        let rows: Vec<(i64, i64)> = sqlx::query_as(RECORD_POSITIONS)
            .bind(serde_json::to_string(&list).unwrap_or_default())
            .fetch_all(&self.reads)
            .await?;
        let found = rows
            .into_iter()
            .map(|(place, n)| (usize::try_from(place).unwrap_or(usize::MAX), Position(n)));
        Ok(found.collect())
    }

    /// What is known of work that failed, of all tenants.
    pub(in crate::storage) async fn troubles(&self) -> Result<Vec<(Tenant, Record)>, Error> {
        self.all(RECORD_TROUBLES, RecordKind::Trouble).await
    }

    /// The leases of tasks, of all tenants.
    pub(in crate::storage) async fn leases(&self) -> Result<Vec<(Tenant, Record)>, Error> {
        self.all(RECORD_LEASES, RecordKind::Lease).await
    }

    /// The tables outside that are behind, of all tenants.
    pub(in crate::storage) async fn mirrors(&self) -> Result<Vec<(Tenant, Arc<str>)>, Error> {
        let rows: Vec<(String, String)> = sqlx::query_as(RECORD_MIRRORS)
            .fetch_all(&self.reads)
            .await?;
        let rows = rows.into_iter();
        Ok(rows
            .map(|(tenant, ns)| (tenant.into(), ns.into()))
            .collect())
    }

    /// All records of a kind, by a statement that reads those.
    async fn all(
        &self,
        text: &'static str,
        kind: RecordKind,
    ) -> Result<Vec<(Tenant, Record)>, Error> {
        let rows: Vec<(String, String, String, i64, String)> =
            sqlx::query_as(text).fetch_all(&self.reads).await?;
        let row = |(tenant, ns, name, n, body): (String, String, String, i64, String)| {
            let record = Record {
                key: RecordKey::new(kind, ns, name),
                position: Position(n),
                body: body.into(),
            };
            (Tenant::from(tenant), record)
        };
        Ok(rows.into_iter().map(row).collect())
    }

    /// What starts runs by itself, of all tenants.
    pub(in crate::storage) async fn producers(
        &self,
        after: RecordRow,
        limit: i64,
    ) -> Result<Vec<StoredProducer>, Error> {
        let rows: Vec<ProducerData> = sqlx::query_as(RECORD_PRODUCERS)
            .bind(after.0)
            .bind(limit)
            .fetch_all(&self.reads)
            .await?;
        let producer = |row: ProducerData| StoredProducer {
            row: RecordRow(row.c),
            tenant: row.tenant.into(),
            record: Arc::new(Record {
                key: RecordKey::new(RecordKind::Producer, row.ns, row.name),
                position: Position(row.n),
                body: row.body.into(),
            }),
        };
        Ok(rows.into_iter().map(producer).collect())
    }
}
