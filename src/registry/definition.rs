//! Reading definitions and their programs.

use std::sync::Arc;

use serde_json::value::RawValue;

use super::{
    DefinitionKind, Error, Idempotency, KeptFinding, Registry,
    head::{Head, VersionHead, document_key, head_key, program_key},
    new::{StoredDocument, read_program},
};
use crate::clock::Timestamp;
use crate::entity::Position;
use crate::id::Tenant;
use crate::program::Program;
use crate::storage::{Record, RecordKey, RecordKind, UnitOfWork};

/// How many bytes of stored text the parsed heads and programs in memory stand for, each.
const BYTES_MAX: u64 = 32 << 20;

/// How many of each are expected.
const ENTRIES: usize = 4_096;

/// What an entry takes beside its text, roughly.
const ENTRY_BYTES: u64 = 500;

/// What was parsed of a record, as one commit left it.
#[derive(Debug, Clone)]
pub(super) struct Parsed<T> {
    position: Position,
    bytes: usize,
    value: Arc<T>,
}

/// How much text was parsed.
#[derive(Debug, Clone)]
pub(super) struct Bytes;

impl<T> quick_cache::Weighter<(Tenant, RecordKey), Parsed<T>> for Bytes {
    fn weight(&self, _: &(Tenant, RecordKey), parsed: &Parsed<T>) -> u64 {
        parsed.bytes as u64 + ENTRY_BYTES
    }
}

type Cache<T> = quick_cache::sync::Cache<(Tenant, RecordKey), Parsed<T>, Bytes>;
pub(super) type Heads = Cache<Head>;
pub(super) type Programs = Cache<Program>;

pub(super) fn heads() -> Heads {
    Heads::with_weighter(ENTRIES, BYTES_MAX, Bytes)
}

pub(super) fn programs() -> Programs {
    Programs::with_weighter(ENTRIES, BYTES_MAX, Bytes)
}

/// One version of a definition, as a run that starts now would follow it.
#[derive(Debug, Clone)]
pub struct Definition {
    pub namespace: Arc<str>,
    pub name: Arc<str>,
    pub version: Arc<str>,
    /// Names the program: a run keeps it for [`Registry::program`].
    pub digest: Arc<str>,
    pub kind: DefinitionKind,
    pub idempotency: Idempotency,
    pub program: Arc<Program>,
    /// Whether the whole name is disabled.
    pub name_disabled: bool,
    /// Whether this version is.
    pub version_disabled: bool,
}

impl Definition {
    pub const fn is_disabled(&self) -> bool {
        self.name_disabled || self.version_disabled
    }

    /// Fails if nothing may start by it.
    pub fn check_enabled(&self) -> Result<(), Error> {
        let name = || Arc::clone(&self.name);
        if self.name_disabled {
            return Err(Error::Disabled { name: name() });
        }
        if self.version_disabled {
            return Err(Error::VersionDisabled {
                name: name(),
                version: Arc::clone(&self.version),
            });
        }
        Ok(())
    }
}

/// A name, as lists show it.
#[derive(Debug, Clone)]
pub struct Listed {
    pub name: Arc<str>,
    pub kind: DefinitionKind,
    /// The bundle that declares a saga.
    pub bundle: Option<Arc<str>>,
    /// The latest version, or the one that was asked for.
    pub version: Arc<str>,
    /// In the order in which they were created.
    pub versions: Vec<Arc<str>>,
    /// Whether the name is enabled; single versions may be disabled all the same.
    pub enabled: bool,
    pub description: Arc<str>,
    /// When the version was created.
    pub created: Timestamp,
}

/// A version with its document.
#[derive(Debug)]
pub struct Described {
    pub listed: Listed,
    pub digest: Arc<str>,
    /// JSON as it was sent: a text or an object.
    pub document: Box<RawValue>,
    pub disabled_versions: Vec<Arc<str>>,
    pub findings: Vec<KeptFinding>,
    pub plans: Vec<String>,
}

impl Listed {
    fn of(name: Arc<str>, head: &Head, version: &VersionHead) -> Self {
        let versions = head.versions.iter();
        Self {
            name,
            kind: head.kind,
            bundle: head.bundle.clone(),
            version: Arc::clone(&version.version),
            versions: versions.map(|one| Arc::clone(&one.version)).collect(),
            enabled: !head.disabled,
            description: Arc::clone(&head.description),
            created: version.created(),
        }
    }
}

impl Registry {
    /// A version of a definition, or its latest. Whether it may be started is in its fields.
    pub async fn definition(
        &self,
        tenant: &Tenant,
        namespace: &str,
        name: &str,
        version: Option<&str>,
    ) -> Result<Arc<Definition>, Error> {
        let key = head_key(namespace, name);
        let record = self.0.storage.record(tenant, &key).await?;
        self.version_of(tenant, namespace, name, version, record)
            .await
    }

    /// The definition of that name and version as a unit of work sees it: the commit fails if the
    /// name is changed, disabled or deleted meanwhile.
    pub async fn definition_in(
        &self,
        unit: &mut UnitOfWork,
        namespace: &str,
        name: &str,
        version: Option<&str>,
    ) -> Result<Arc<Definition>, Error> {
        let record = unit.read_record(&head_key(namespace, name)).await?;
        let tenant = unit.tenant().clone();
        self.version_of(&tenant, namespace, name, version, record)
            .await
    }

    async fn version_of(
        &self,
        tenant: &Tenant,
        namespace: &str,
        name: &str,
        version: Option<&str>,
        record: Option<Arc<Record>>,
    ) -> Result<Arc<Definition>, Error> {
        let record = record.ok_or_else(|| not_found(namespace, name))?;
        let head = self.head(tenant, &record)?;
        let found = found(&record.key.name, &head, version)?;
        Ok(Arc::new(Definition {
            namespace: Arc::clone(&record.key.namespace),
            name: Arc::clone(&record.key.name),
            version: Arc::clone(&found.version),
            digest: Arc::clone(&found.digest),
            kind: head.kind,
            idempotency: found.idempotency,
            program: self.program(tenant, namespace, &found.digest).await?,
            name_disabled: head.disabled,
            version_disabled: found.disabled,
        }))
    }

    /// A compiled program by its digest. It is there as long as a run may follow it.
    pub async fn program(
        &self,
        tenant: &Tenant,
        namespace: &str,
        digest: &str,
    ) -> Result<Arc<Program>, Error> {
        let key = program_key(namespace, digest);
        let name = (tenant.clone(), key.clone());
        // What a digest names never changes.
        if let Some(known) = self.0.programs.get(&name) {
            return Ok(known.value);
        }
        let record = self.0.storage.record(tenant, &key).await?;
        let record = record.ok_or_else(|| Error::Unreadable {
            what: "program",
            name: digest.into(),
        })?;
        let program = Arc::new(read_program(digest, &record.body)?);
        self.0.programs.insert(
            name,
            Parsed {
                position: record.position,
                bytes: record.body.len(),
                value: Arc::clone(&program),
            },
        );
        Ok(program)
    }

    /// The definitions of a namespace, by name: those after one, `limit` at most, and whether there
    /// may be more.
    pub async fn definitions(
        &self,
        tenant: &Tenant,
        namespace: &str,
        kind: Option<DefinitionKind>,
        after: Option<&str>,
        limit: usize,
    ) -> Result<(Vec<Listed>, bool), Error> {
        let mut listed = Vec::new();
        let mut after = after.map(Arc::<str>::from);
        loop {
            let storage = &self.0.storage;
            // One more than is asked for shows whether there are more.
            let page = storage.records(
                tenant,
                RecordKind::Definition,
                namespace,
                after.as_deref(),
                limit + 1,
            );
            let page = page.await?;
            let is_last = page.len() <= limit;
            for record in page {
                let head = self.head(tenant, &record)?;
                after = Some(Arc::clone(&record.key.name));
                if kind.is_some_and(|kind| kind != head.kind) {
                    continue;
                }
                if listed.len() == limit {
                    return Ok((listed, true));
                }
                let latest = found(&record.key.name, &head, None)?;
                listed.push(Listed::of(Arc::clone(&record.key.name), &head, latest));
            }
            if is_last {
                return Ok((listed, false));
            }
        }
    }

    /// A version with its document, or the latest.
    pub async fn described(
        &self,
        tenant: &Tenant,
        namespace: &str,
        name: &str,
        version: Option<&str>,
    ) -> Result<Described, Error> {
        let storage = &self.0.storage;
        let record = storage.record(tenant, &head_key(namespace, name)).await?;
        let record = record.ok_or_else(|| not_found(namespace, name))?;
        let head = self.head(tenant, &record)?;
        let found = found(&record.key.name, &head, version)?;
        let key = document_key(namespace, name, &found.version);
        let stored = storage.record(tenant, &key).await?;
        // It may have been deleted since the head was read.
        let stored = stored.ok_or_else(|| not_found(namespace, name))?;
        let stored = StoredDocument::read(&key, &stored.body)?;
        Ok(Described {
            listed: Listed {
                description: stored.description.into(),
                ..Listed::of(Arc::clone(&record.key.name), &head, found)
            },
            digest: Arc::clone(&found.digest),
            document: stored.document,
            disabled_versions: head.disabled_versions(),
            findings: stored.findings,
            plans: stored.plans,
        })
    }

    /// What a record says of a name.
    fn head(&self, tenant: &Tenant, record: &Record) -> Result<Arc<Head>, Error> {
        if !record.is_committed() {
            return Head::read(record).map(Arc::new);
        }
        let name = (tenant.clone(), record.key.clone());
        if let Some(known) = self.0.heads.get(&name)
            && known.position == record.position
        {
            return Ok(known.value);
        }
        let head = Arc::new(Head::read(record)?);
        let parsed = Parsed {
            position: record.position,
            bytes: record.body.len(),
            value: Arc::clone(&head),
        };
        self.0.heads.insert(name, parsed);
        Ok(head)
    }
}

pub(super) fn not_found(namespace: &str, name: &str) -> Error {
    Error::DefinitionNotFound {
        namespace: namespace.into(),
        name: name.into(),
    }
}

pub(super) fn found<'a>(
    name: &Arc<str>,
    head: &'a Head,
    version: Option<&str>,
) -> Result<&'a VersionHead, Error> {
    head.version(version).ok_or_else(|| Error::VersionNotFound {
        name: Arc::clone(name),
        version: version.unwrap_or_default().into(),
    })
}
