//! Small named documents.
#![cfg(test)]

use std::{collections::BTreeSet, sync::Arc};

use super::State;
use crate::clock::Timestamp;
use crate::entity::{Position, Sequence};
use crate::id::{Tenant, TransactionId};
use crate::storage::port::{
    Batch, Record, RecordGone, RecordHead, RecordHeadPage, RecordKey, RecordKind, RecordOrigin,
    RecordPage, RecordPut, RecordRow, StoredProducer, TenantRow,
};

fn record(row: &RecordPut) -> Record {
    let mut kinds = RecordKind::ALL.into_iter();
    let kind = kinds.find(|kind| kind.code() == row.key.kind);
    Record {
        key: RecordKey::new(
            kind.expect("a kind"),
            Arc::clone(&row.key.ns),
            Arc::clone(&row.key.name),
        ),
        position: Position(row.n),
        body: Arc::clone(&row.body),
    }
}

fn name(tenant: TenantRow, key: &RecordKey) -> RecordGone {
    RecordGone {
        t: tenant.0,
        kind: key.kind.code(),
        ns: Arc::clone(&key.namespace),
        name: Arc::clone(&key.name),
    }
}

impl State {
    pub(in crate::storage) fn record(&self, tenant: TenantRow, key: &RecordKey) -> Option<Record> {
        let stored = self.records.get(&name(tenant, key));
        stored.map(|(_, row)| record(row))
    }

    pub(in crate::storage) fn records(&self, page: RecordPage<'_>) -> Vec<Record> {
        let wanted = |row: &&RecordPut| {
            (row.key.t, row.key.kind, &*row.key.ns)
                == (page.tenant.0, page.kind.code(), page.namespace)
                && page.after.is_none_or(|after| &*row.key.name > after)
        };
        let rows = self.records.values().map(|(_, row)| row);
        let limit = usize::try_from(page.limit).expect("a number of rows");
        rows.filter(wanted).take(limit).map(record).collect()
    }

    pub(in crate::storage) fn record_heads(&self, page: RecordHeadPage<'_>) -> Vec<RecordHead> {
        let RecordHeadPage { of, prefix } = page;
        let all = RecordPage {
            limit: i64::MAX,
            ..of
        };
        let found = self.records(all).into_iter();
        let found = found.filter(|record| record.key.name.starts_with(prefix));
        let head = |record: Record| RecordHead {
            bytes: record.body.len() as u64,
            origin: self
                .record_origin(Sequence(record.position.0))
                .expect("a commit"),
            name: record.key.name,
        };
        let limit = usize::try_from(of.limit).expect("a number of rows");
        found.take(limit).map(head).collect()
    }

    pub(in crate::storage) fn record_namespaces(
        &self,
        kind: RecordKind,
        prefix: &str,
    ) -> Vec<(Tenant, Arc<str>)> {
        let mut found: Vec<_> = self
            .all(kind)
            .into_iter()
            .filter(|(_, record)| record.key.name.starts_with(prefix))
            .map(|(tenant, record)| (tenant, record.key.namespace))
            .collect();
        found.dedup();
        found
    }

    pub(in crate::storage) fn record_origin(&self, at: Sequence) -> Option<RecordOrigin> {
        let commit = self.commits.get(&at.0)?;
        let author = usize::try_from(commit.author - 1).expect("a row");
        Some(RecordOrigin {
            transaction: TransactionId::from_uuid(commit.id),
            at: Timestamp::from_micros(commit.at),
            author: self.actors[author].1.clone(),
        })
    }

    pub(in crate::storage) fn record_positions(
        &self,
        names: &[(TenantRow, RecordKey)],
    ) -> Vec<(usize, Position)> {
        let position = |(place, (tenant, key)): (usize, &(TenantRow, RecordKey))| {
            let (_, row) = self.records.get(&name(*tenant, key))?;
            Some((place, Position(row.n)))
        };
        names.iter().enumerate().filter_map(position).collect()
    }

    pub(in crate::storage) fn producers(
        &self,
        after: RecordRow,
        limit: i64,
    ) -> Vec<StoredProducer> {
        let kind = RecordKind::Producer.code();
        let rows = self.records.values();
        let mut rows: Vec<_> = rows
            .filter(|(c, row)| row.key.kind == kind && *c > after.0)
            .collect();
        rows.sort_unstable_by_key(|(c, _)| *c);
        rows.truncate(usize::try_from(limit).expect("a number of rows"));
        let producer = |(c, row): &(i64, RecordPut)| StoredProducer {
            row: RecordRow(*c),
            tenant: self.tenants[usize::try_from(row.key.t - 1).expect("a row")].clone(),
            record: Arc::new(record(row)),
        };
        rows.into_iter().map(producer).collect()
    }

    pub(in crate::storage) fn troubles(&self) -> Vec<(Tenant, Record)> {
        self.all(RecordKind::Trouble)
    }

    pub(in crate::storage) fn leases(&self) -> Vec<(Tenant, Record)> {
        self.all(RecordKind::Lease)
    }

    pub(in crate::storage) fn mirrors(&self) -> Vec<(Tenant, Arc<str>)> {
        let all = self.all(RecordKind::Mirror).into_iter();
        let names = all.map(|(tenant, record)| (tenant, record.key.namespace));
        names.collect::<BTreeSet<_>>().into_iter().collect()
    }

    fn all(&self, kind: RecordKind) -> Vec<(Tenant, Record)> {
        let rows = self.records.values();
        let rows = rows.filter(|(_, row)| row.key.kind == kind.code());
        let of_kind = |(_, row): &(i64, RecordPut)| {
            let tenant = usize::try_from(row.key.t - 1).expect("a row");
            (self.tenants[tenant].clone(), record(row))
        };
        rows.map(of_kind).collect()
    }

    pub(super) fn write_records(&mut self, batch: &Batch) {
        for put in &batch.records {
            let newest = self.records.values().map(|(c, _)| *c).max().unwrap_or(0);
            let stored = self
                .records
                .entry(put.key.clone())
                .or_insert_with(|| (newest + 1, put.clone()));
            stored.1 = put.clone();
        }
        for gone in &batch.records_gone {
            self.records.remove(gone);
        }
    }
}
