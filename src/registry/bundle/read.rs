//! Reading bundles.

use std::sync::Arc;

use super::{
    BundleFile, Summary,
    stored::{StoredBundle, bundle_key, read},
};
use crate::clock::Timestamp;
use crate::id::Tenant;
use crate::registry::{Error, KeptFinding, Registry};
use crate::storage::{Record, RecordKind};

/// A bundle as it is stored.
#[derive(Debug)]
pub struct BundleView {
    pub name: Arc<str>,
    pub version: u64,
    pub digest: Arc<str>,
    pub summary: Summary,
    /// The warnings.
    pub findings: Vec<KeptFinding>,
    pub files: Vec<BundleFile>,
    pub applied: Timestamp,
}

impl BundleView {
    fn of(record: &Record) -> Result<Self, Error> {
        let stored: StoredBundle = read("bundle", record)?;
        Ok(Self {
            name: Arc::clone(&record.key.name),
            version: stored.version,
            digest: stored.digest,
            summary: stored.summary,
            findings: stored.findings,
            files: stored.files,
            applied: Timestamp::from_micros(stored.applied),
        })
    }
}

impl Registry {
    pub async fn bundle(
        &self,
        tenant: &Tenant,
        namespace: &str,
        name: &str,
    ) -> Result<BundleView, Error> {
        let key = bundle_key(namespace, name);
        let record = self.0.storage.record(tenant, &key).await?;
        let record = record.ok_or_else(|| Error::BundleNotFound {
            namespace: namespace.into(),
            name: name.into(),
        })?;
        BundleView::of(&record)
    }

    /// The bundles of a namespace, by name: those after one, `limit` at most, and whether there are
    /// more.
    pub async fn bundles(
        &self,
        tenant: &Tenant,
        namespace: &str,
        after: Option<&str>,
        limit: usize,
    ) -> Result<(Vec<BundleView>, bool), Error> {
        let storage = &self.0.storage;
        let page = storage.records(tenant, RecordKind::Bundle, namespace, after, limit + 1);
        let page = page.await?;
        let bundles = page.iter().take(limit).map(|record| BundleView::of(record));
        Ok((bundles.collect::<Result<_, _>>()?, page.len() > limit))
    }
}
