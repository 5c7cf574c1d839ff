//! Bundles whose variables cannot be decrypted, because the key was lost or is another one.

use std::collections::BTreeSet;

use tracing::warn;

use super::stored::{StoredBundle, StoredConnectors, connectors_key, read};
use crate::id::Tenant;
use crate::registry::{Error, Registry};
use crate::storage::{Record, RecordKind};

/// How many bundles are read at a time.
const PAGE: usize = 16;

impl Registry {
    /// Logs which bundles have variables that cannot be decrypted.
    pub async fn report_locked_bundles(&self) {
        let mut locked = BTreeSet::new();
        let mut reason = None;
        if let Err(error) = self.find_locked(&mut locked, &mut reason).await {
            warn!(%error, "the variables of bundles could not be checked");
        }
        if let Some(reason) = reason {
            let bundles = locked.into_iter().collect::<Vec<_>>().join(", ");
            warn!(
                bundles, %reason,
                "the variables of bundles cannot be decrypted, and sagas that use them do not continue; correct that, or apply the bundles again"
            );
        }
    }

    async fn find_locked(
        &self,
        locked: &mut BTreeSet<String>,
        reason: &mut Option<Error>,
    ) -> Result<(), Error> {
        let storage = &self.0.storage;
        for (tenant, namespace) in storage.namespaces(RecordKind::Bundle, "").await? {
            let mut after = None;
            loop {
                let name = after.as_deref();
                let page = storage.records(&tenant, RecordKind::Bundle, &namespace, name, PAGE);
                let page = page.await?;
                for record in &page {
                    match self.check_variables(&tenant, record).await {
                        Ok(()) => {}
                        Err(Error::Storage(error)) => return Err(error.into()),
                        Err(error) => {
                            locked.insert(record.key.name.to_string());
                            reason.get_or_insert(error);
                        }
                    }
                }
                let Some(last) = page.last() else {
                    break;
                };
                after = Some(last.key.name.to_string());
            }
        }
        Ok(())
    }

    /// Decrypts one variable of a bundle: all of them have one key.
    async fn check_variables(&self, tenant: &Tenant, bundle: &Record) -> Result<(), Error> {
        let namespace = &*bundle.key.namespace;
        let stored: StoredBundle = read("bundle", bundle)?;
        let key = connectors_key(namespace, &stored.digest);
        let Some(record) = self.0.storage.record(tenant, &key).await? else {
            return Ok(());
        };
        let stored: StoredConnectors = read("connectors", &record)?;
        match stored.variables.keys().next() {
            Some(variable) => self.open(tenant, namespace, &stored, variable).map(drop),
            None => Ok(()),
        }
    }
}
