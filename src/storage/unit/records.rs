//! Records: small named documents that are not entities, such as definitions and actions.
//!
//! They are written by the same commits as everything else. Only the newest version of one is
//! stored, so that a unit reads what is committed at the moment, whatever its snapshot; if that has
//! moved when the unit commits, it gets a conflict.

use std::{collections::HashSet, sync::Arc};

use super::UnitOfWork;
use crate::entity::{Position, Sequence};
use crate::id::Tenant;
use crate::storage::{
    Error, Storage,
    draft::{RecordChange, Seen},
    port::{
        Record, RecordHead, RecordHeadPage, RecordKey, RecordKind, RecordOrigin, RecordPage,
        RecordRow, StoredProducer, UNCOMMITTED,
    },
};

/// What a record takes beside its body, roughly.
const RECORD_BYTES: usize = 200;

impl Storage {
    /// The record of that name, as it is now.
    pub async fn record(
        &self,
        tenant: &Tenant,
        key: &RecordKey,
    ) -> Result<Option<Arc<Record>>, Error> {
        let cache = &self.0.records;
        if let Some(known) = cache.get(tenant, key) {
            return Ok(Some(known));
        }
        let Some(row) = self.tenant_row(tenant).await? else {
            return Ok(None);
        };
        let since = cache.generation(tenant, key);
        let found = self.0.database.record(row, key).await?;
        let found = self.once_durable(found).await?.map(Arc::new);
        if let Some(found) = &found
            && found.position.0 <= self.latest().0
        {
            cache.fill(tenant, found, since);
        }
        Ok(found)
    }

    /// The records of a kind in a namespace, by name: those after one, `limit` at most.
    pub async fn records(
        &self,
        tenant: &Tenant,
        kind: RecordKind,
        namespace: &str,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<Arc<Record>>, Error> {
        let Some(tenant) = self.tenant_row(tenant).await? else {
            return Ok(Vec::new());
        };
        let page = RecordPage {
            tenant,
            kind,
            namespace,
            after,
            limit: i64::try_from(limit).unwrap_or(i64::MAX),
        };
        let found = self.0.database.records(page).await?;
        let found = self.once_durable(found).await?;
        Ok(found.into_iter().map(Arc::new).collect())
    }

    /// Records of a kind in a namespace whose names begin with `prefix`, without their bodies.
    pub async fn record_heads(
        &self,
        tenant: &Tenant,
        kind: RecordKind,
        namespace: &str,
        (prefix, after): (&str, Option<&str>),
        limit: usize,
    ) -> Result<Vec<RecordHead>, Error> {
        let Some(tenant) = self.tenant_row(tenant).await? else {
            return Ok(Vec::new());
        };
        let of = RecordPage {
            tenant,
            kind,
            namespace,
            after,
            limit: i64::try_from(limit).unwrap_or(i64::MAX),
        };
        let page = RecordHeadPage { of, prefix };
        let found = self.0.database.record_heads(page).await?;
        self.once_durable(found).await
    }

    /// The commit that wrote a record; none if it is not committed.
    pub async fn record_origin(&self, record: &Record) -> Result<Option<RecordOrigin>, Error> {
        if !record.is_committed() {
            return Ok(None);
        }
        let at = Sequence(record.position.0);
        self.0.database.record_origin(at).await
    }

    /// The namespaces of all tenants that have records of a kind whose names begin so.
    pub async fn namespaces(
        &self,
        kind: RecordKind,
        prefix: &str,
    ) -> Result<Vec<(Tenant, Arc<str>)>, Error> {
        let found = self.0.database.record_namespaces(kind, prefix).await?;
        self.once_durable(found).await
    }

    /// Has the namespaces noted from now on in which files are committed whose names begin so.
    pub fn watch_files(&self, prefix: &'static str) {
        self.0.records.watch_files(prefix);
    }

    /// The namespaces in which that happened since this was asked last.
    pub fn changed_files(&self) -> HashSet<(Tenant, Arc<str>)> {
        self.0.records.take_changed_files()
    }

    /// Returns once there may be such.
    pub async fn files_changed(&self) {
        self.0.records.files_changed().await;
    }

    /// What starts runs by itself, of all tenants: those after a place, `limit` at most.
    pub async fn producers(
        &self,
        after: RecordRow,
        limit: usize,
    ) -> Result<Vec<StoredProducer>, Error> {
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let found = self.0.database.producers(after, limit).await?;
        self.once_durable(found).await
    }

    /// The producers that were committed since this was asked last, and the tenants that they
    /// belong to.
    pub fn changed_producers(&self) -> HashSet<(Tenant, RecordKey)> {
        self.0.records.take_changed()
    }

    /// Returns once there may be such.
    pub async fn producers_changed(&self) {
        self.0.records.changed().await;
    }
}

impl UnitOfWork {
    /// The record of that name as this unit sees it, and remembers to have seen it: the commit
    /// fails if it has moved.
    pub async fn read_record(&mut self, key: &RecordKey) -> Result<Option<Arc<Record>>, Error> {
        let own = self.records.changes.iter().rev();
        if let Some(own) = own.into_iter().find(|own| own.key == *key) {
            return Ok(own.body.as_ref().map(|body| {
                Arc::new(Record {
                    key: key.clone(),
                    position: UNCOMMITTED,
                    body: Arc::clone(body),
                })
            }));
        }
        let found = self.storage.record(&self.tenant, key).await?;
        let position = found.as_ref().map(|record| record.position);
        if !self.records.reads.contains_key(key) {
            self.grow(RECORD_BYTES)?;
            let seen = Seen {
                position,
                bytes: found.as_ref().map_or(0, |record| record.body.len()),
            };
            self.records.reads.insert(key.clone(), seen);
        }
        Ok(found)
    }

    /// Makes a record, or replaces what there is of that name: what the unit has read of it, or
    /// whatever is there if it has read nothing.
    pub fn put_record(&mut self, key: RecordKey, body: Arc<str>) -> Result<(), Error> {
        self.grow(body.len() + RECORD_BYTES)?;
        self.change_record(key, Some(body));
        Ok(())
    }

    /// Deletes a record, if there is one of that name.
    pub fn drop_record(&mut self, key: RecordKey) -> Result<(), Error> {
        self.grow(RECORD_BYTES)?;
        self.change_record(key, None);
        Ok(())
    }

    fn change_record(&mut self, key: RecordKey, body: Option<Arc<str>>) {
        let before = self.own_record_bytes(&key);
        let after = body.as_ref().map_or(0, |body| body.len());
        let bytes = |bytes: usize| i64::try_from(bytes).unwrap_or(i64::MAX);
        self.records.changes.push(RecordChange {
            key,
            body,
            growth: bytes(after) - bytes(before),
        });
    }

    /// How large a record is before the next change, as far as the unit knows.
    fn own_record_bytes(&self, key: &RecordKey) -> usize {
        let mut own = self.records.changes.iter().rev();
        match own.find(|own| own.key == *key) {
            Some(own) => own.body.as_ref().map_or(0, |body| body.len()),
            None => self.records.reads.get(key).map_or(0, |seen| seen.bytes),
        }
    }
}

impl Record {
    /// Whether this is committed, not only in the unit that was asked.
    pub const fn is_committed(&self) -> bool {
        let Position(position) = self.position;
        position != UNCOMMITTED.0
    }
}
