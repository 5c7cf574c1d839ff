//! The connectors of bundles, with the values of their variables in memory only.

use std::{cell::RefCell, sync::Arc};

use serde_json::Value;

use super::stored::{StoredConnectors, StoredMirror, connectors_key, read, sealed_as};
use crate::connector::{Config, Connector, Secret, Trust};
use crate::id::Tenant;
use crate::registry::{Error, Registry};

/// How many connectors are kept as they were read.
const KEPT: usize = 1_024;

/// The only member of an object that stands for a variable.
const ENV: &str = "$env";

/// Tenant, namespace, digest of the bundle, name.
type Key = (Tenant, Arc<str>, Arc<str>, Arc<str>);

/// Connectors as they were read. What a digest names never changes.
pub(in crate::registry) type Connectors = quick_cache::sync::Cache<Key, Arc<Connector>>;

/// Tenant, namespace, digest of the bundle.
type MirrorKey = (Tenant, Arc<str>, Arc<str>);

/// The tables of bundles as they were read, or that they have none.
pub(in crate::registry) type Mirrors =
    quick_cache::sync::Cache<MirrorKey, Option<Arc<StoredMirror>>>;

/// A table that shows the runs of sagas to others.
#[derive(Debug, Clone)]
pub struct Mirror {
    pub connector: Arc<Connector>,
    pub table: String,
    /// Whether the table is made if it is not there.
    pub creates: bool,
}

pub(in crate::registry) fn known() -> Connectors {
    Connectors::new(KEPT)
}

pub(in crate::registry) fn known_mirrors() -> Mirrors {
    Mirrors::new(KEPT)
}

impl Registry {
    /// A connector of the bundle with that digest. One that it does not declare is a member's;
    /// there is none if nothing is known of the bundle.
    pub async fn connector(
        &self,
        tenant: &Tenant,
        namespace: &str,
        digest: &str,
        name: &str,
    ) -> Result<Option<Arc<Connector>>, Error> {
        let key: Key = (tenant.clone(), namespace.into(), digest.into(), name.into());
        if let Some(known) = self.0.connectors.get(&key) {
            return Ok(Some(known));
        }
        let record_key = connectors_key(namespace, digest);
        let Some(record) = self.0.storage.record(tenant, &record_key).await? else {
            return Ok(None);
        };
        let stored: StoredConnectors = read("connectors", &record)?;
        let connector = Arc::new(self.opened(tenant, namespace, digest, name, &stored)?);
        self.0.connectors.insert(key, Arc::clone(&connector));
        Ok(Some(connector))
    }

    /// Whether the runs of a bundle are shown to others by a table.
    pub async fn has_mirror(
        &self,
        tenant: &Tenant,
        namespace: &str,
        digest: &str,
    ) -> Result<bool, Error> {
        let mirror = self.stored_mirror(tenant, namespace, digest).await?;
        Ok(mirror.is_some())
    }

    /// The table that shows the runs of a bundle to others, if it has one.
    pub async fn mirror(
        &self,
        tenant: &Tenant,
        namespace: &str,
        digest: &str,
    ) -> Result<Option<Mirror>, Error> {
        let Some(mirror) = self.stored_mirror(tenant, namespace, digest).await? else {
            return Ok(None);
        };
        let connector = self.connector(tenant, namespace, digest, &mirror.connector);
        Ok(connector.await?.map(|connector| Mirror {
            connector,
            table: mirror.table.clone(),
            creates: mirror.creates,
        }))
    }

    async fn stored_mirror(
        &self,
        tenant: &Tenant,
        namespace: &str,
        digest: &str,
    ) -> Result<Option<Arc<StoredMirror>>, Error> {
        let key: MirrorKey = (tenant.clone(), namespace.into(), digest.into());
        if let Some(known) = self.0.mirrors.get(&key) {
            return Ok(known);
        }
        let record_key = connectors_key(namespace, digest);
        let Some(record) = self.0.storage.record(tenant, &record_key).await? else {
            return Ok(None);
        };
        let stored: StoredConnectors = read("connectors", &record)?;
        let is_declared = |mirror: &StoredMirror| stored.connectors.contains_key(&mirror.connector);
        let mirror = stored.mirror.clone().filter(is_declared).map(Arc::new);
        self.0.mirrors.insert(key, mirror.clone());
        Ok(mirror)
    }

    fn opened(
        &self,
        tenant: &Tenant,
        namespace: &str,
        digest: &str,
        name: &str,
        stored: &StoredConnectors,
    ) -> Result<Connector, Error> {
        let unreadable = || Error::Unreadable {
            what: "connector",
            name: name.into(),
        };
        let mut values = Vec::new();
        let config = match stored.connectors.get(name) {
            None => Config::Member,
            Some(config) => {
                let mut config: Value =
                    serde_json::from_str(config.get()).map_err(|_| unreadable())?;
                let used = RefCell::new(&mut values);
                let open = |variable: &str| {
                    let value = self.open(tenant, namespace, stored, variable)?;
                    used.borrow_mut().push(Secret::from(&*value));
                    Ok(value)
                };
                with_values(&mut config, &open)?;
                // Its error could quote a value.
                serde_json::from_value(config).map_err(|_| unreadable())?
            }
        };
        Ok(Connector {
            name: name.into(),
            key: format!("{namespace}/{digest}/{name}").into(),
            config,
            values,
            trust: if stored.is_operators {
                Trust::Operator
            } else {
                Trust::Uploaded
            },
        })
    }

    pub(super) fn open(
        &self,
        tenant: &Tenant,
        namespace: &str,
        stored: &StoredConnectors,
        variable: &str,
    ) -> Result<String, Error> {
        let failed = || Error::Unreadable {
            what: "variable",
            name: variable.into(),
        };
        let sealed = stored.variables.get(variable).ok_or_else(failed)?;
        let name = sealed_as(tenant.as_str(), namespace, &stored.bundle, variable);
        let value = self.0.sealing.to_open()?.open(&name, sealed);
        let value = value.ok_or_else(|| Error::OtherKey {
            name: variable.into(),
        })?;
        String::from_utf8(value).map_err(|_| failed())
    }
}

/// Puts values where variables stand.
pub(super) fn with_values(
    config: &mut Value,
    value_of: &dyn Fn(&str) -> Result<String, Error>,
) -> Result<(), Error> {
    match config {
        Value::Object(members) => {
            if let (1, Some(Value::String(name))) = (members.len(), members.get(ENV)) {
                *config = Value::String(value_of(name)?);
                return Ok(());
            }
            for member in members.values_mut() {
                with_values(member, value_of)?;
            }
        }
        Value::Array(items) => {
            for item in items {
                with_values(item, value_of)?;
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
    Ok(())
}
