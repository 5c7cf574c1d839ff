//! What is stored of a bundle.

use std::{collections::BTreeMap, sync::Arc};

use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::value::RawValue;

use super::BundleFile;
use crate::registry::{Error, KeptFinding};
use crate::storage::{Record, RecordKey, RecordKind};

/// The namespace and name of the record with all routes of a tenant.
const ROUTES: &str = "routes";

/// What a bundle declares, by name.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Summary {
    pub sagas: Vec<String>,
    pub machines: Vec<String>,
    /// Such as `POST /orders/:id`.
    pub routes: Vec<String>,
    pub connectors: Vec<String>,
}

impl Summary {
    /// What this one declares and the other does not.
    pub(super) fn without(&self, other: &Self) -> Self {
        let missing = |names: &[String], others: &[String]| {
            let missing = names.iter().filter(|name| !others.contains(name));
            missing.cloned().collect()
        };
        Self {
            sagas: missing(&self.sagas, &other.sagas),
            machines: missing(&self.machines, &other.machines),
            routes: missing(&self.routes, &other.routes),
            connectors: missing(&self.connectors, &other.connectors),
        }
    }
}

/// A bundle.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct StoredBundle {
    pub(super) version: u64,
    /// Names its connectors.
    pub(super) digest: Arc<str>,
    /// The form of its programs.
    pub(super) form: u32,
    /// Whether it is the operator's.
    pub(super) is_operators: bool,
    pub(super) files: Vec<BundleFile>,
    #[serde(flatten)]
    pub(super) summary: Summary,
    pub(super) findings: Vec<KeptFinding>,
    /// Microseconds.
    pub(super) applied: i64,
}

/// The connectors of a bundle.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct StoredConnectors {
    /// The name of the bundle.
    pub(super) bundle: String,
    pub(super) version: u64,
    pub(super) is_operators: bool,
    /// The configuration of each by its name, in which `{"$env":"X"}` is a variable.
    pub(super) connectors: BTreeMap<String, Box<RawValue>>,
    /// Sealed.
    pub(super) variables: BTreeMap<String, String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) mirror: Option<StoredMirror>,
}

/// A table that shows the runs of sagas to others.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(in crate::registry) struct StoredMirror {
    pub(super) connector: String,
    pub(super) table: String,
    pub(super) creates: bool,
}

pub(super) fn bundle_key(namespace: &str, name: &str) -> RecordKey {
    RecordKey::new(RecordKind::Bundle, namespace, name)
}

pub(super) fn connectors_key(namespace: &str, digest: &str) -> RecordKey {
    RecordKey::new(RecordKind::Connectors, namespace, digest)
}

pub(super) fn machine_key(namespace: &str, name: &str) -> RecordKey {
    RecordKey::new(RecordKind::Machine, namespace, name)
}

/// One record for all namespaces: a request on a route names none.
pub(super) fn routes_key() -> RecordKey {
    RecordKey::new(RecordKind::Routes, ROUTES, ROUTES)
}

/// The name under which the value of a variable is sealed, so that no other can stand for it.
pub(super) fn sealed_as(tenant: &str, namespace: &str, bundle: &str, variable: &str) -> String {
    serde_json::json!(["variable", tenant, namespace, bundle, variable]).to_string()
}

pub(super) fn read<T: DeserializeOwned>(what: &'static str, record: &Record) -> Result<T, Error> {
    serde_json::from_str(&record.body).map_err(|_| Error::Unreadable {
        what,
        name: Arc::clone(&record.key.name),
    })
}

pub(super) fn write<T: Serialize>(value: &T) -> Arc<str> {
    serde_json::to_string(value).unwrap_or_default().into()
}
