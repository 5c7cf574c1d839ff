//! Changes of definitions, each in the unit of work of a request.

use std::sync::Arc;

use super::{
    DefinitionKind, Error, NewDefinition,
    definition::{found, not_found},
    head::{Head, VersionHead, document_key, head_key, program_key},
    new::{StoredDocument, shortened},
    producer,
};
use crate::clock::Timestamp;
use crate::storage::UnitOfWork;

/// What a creation did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    Created,
    /// The version was there with another document; runs that start from now on follow this one.
    Replaced,
    /// The version was there with the same document.
    Unchanged,
}

/// What became of a document.
#[derive(Debug)]
pub enum Created {
    Done(Change),
    /// The name belongs to a saga.
    NameTaken,
}

/// Which versions may be started.
#[derive(Debug)]
pub struct Enabled {
    pub name: Arc<str>,
    pub kind: DefinitionKind,
    /// Whether the name is enabled.
    pub enabled: bool,
    pub disabled_versions: Vec<Arc<str>>,
}

impl NewDefinition {
    /// Creates the version, or replaces its document. A version that is replaced keeps its place:
    /// the latest is the one that was created last.
    pub async fn create(
        &self,
        unit: &mut UnitOfWork,
        namespace: &str,
        now: Timestamp,
    ) -> Result<Created, Error> {
        let (name, version) = (&*self.document.name, &*self.document.version);
        let key = head_key(namespace, name);
        let mut head = match unit.read_record(&key).await? {
            Some(record) => Head::read(&record)?,
            None => Head {
                kind: DefinitionKind::Flo,
                bundle: None,
                disabled: false,
                description: "".into(),
                versions: Vec::new(),
            },
        };
        if head.kind != DefinitionKind::Flo {
            return Ok(Created::NameTaken);
        }
        let document = document_key(namespace, name, version);
        let is_latest = head
            .versions
            .last()
            .is_some_and(|it| *it.version == *version);
        let mut versions = head.versions.iter_mut();
        let change = if let Some(known) = versions.find(|one| *one.version == *version) {
            let stored = unit.read_record(&document).await?;
            let is_same = stored.is_some_and(|stored| stored.body == self.stored);
            if is_same && known.digest == self.digest {
                if is_latest {
                    producer::define(
                        unit,
                        namespace,
                        &self.document,
                        producer::Defines::Again,
                        now,
                    )
                    .await?;
                }
                return Ok(Created::Done(Change::Unchanged));
            }
            known.digest = Arc::clone(&self.digest);
            known.idempotency = self.idempotency();
            Change::Replaced
        } else {
            head.versions.push(VersionHead {
                version: version.into(),
                digest: Arc::clone(&self.digest),
                idempotency: self.idempotency(),
                created: now.micros(),
                disabled: false,
            });
            Change::Created
        };
        // What starts runs starts the latest version, with what that one says.
        if is_latest || change == Change::Created {
            head.description = self.description();
            producer::define(
                unit,
                namespace,
                &self.document,
                producer::Defines::Anew,
                now,
            )
            .await?;
        }
        unit.put_record(document, Arc::clone(&self.stored))?;
        let program = program_key(namespace, &self.digest);
        if unit.read_record(&program).await?.is_none() {
            unit.put_record(program, Arc::clone(&self.program))?;
        }
        unit.put_record(key, head.write())?;
        Ok(Created::Done(change))
    }
}

/// Enables or disables a version, or the whole name.
pub async fn set_enabled(
    unit: &mut UnitOfWork,
    namespace: &str,
    name: &str,
    version: Option<&str>,
    enabled: bool,
    now: Timestamp,
) -> Result<Enabled, Error> {
    let key = head_key(namespace, name);
    let record = unit.read_record(&key).await?;
    let record = record.ok_or_else(|| not_found(namespace, name))?;
    let mut head = Head::read(&record)?;
    found(&record.key.name, &head, version)?;
    let before = head.clone();
    match version {
        None => head.disabled = !enabled,
        Some(version) => {
            let mut versions = head.versions.iter_mut();
            if let Some(found) = versions.find(|one| *one.version == *version) {
                found.disabled = !enabled;
            }
        }
    }
    if head != before {
        unit.put_record(key, head.write())?;
    }
    if enabled {
        producer::resume(unit, namespace, name, head == before, now).await?;
    }
    Ok(Enabled {
        name: Arc::clone(&record.key.name),
        kind: head.kind,
        enabled: !head.disabled,
        disabled_versions: head.disabled_versions(),
    })
}

/// Deletes a version, or all of a name; how many versions that were. Programs stay, because runs
/// that are live follow them.
pub async fn delete(
    unit: &mut UnitOfWork,
    namespace: &str,
    name: &str,
    version: Option<&str>,
    now: Timestamp,
) -> Result<usize, Error> {
    let key = head_key(namespace, name);
    let record = unit.read_record(&key).await?;
    let record = record.ok_or_else(|| not_found(namespace, name))?;
    let mut head = Head::read(&record)?;
    if head.kind != DefinitionKind::Flo {
        return Err(Error::OfBundle { name: name.into() });
    }
    found(&record.key.name, &head, version)?;
    let latest = head
        .versions
        .last()
        .map(|latest| Arc::clone(&latest.version));
    let is_gone = |one: &VersionHead| version.is_none_or(|version| *one.version == *version);
    let (gone, left): (Vec<_>, Vec<_>) = head.versions.into_iter().partition(is_gone);
    for version in &gone {
        unit.drop_record(document_key(namespace, name, &version.version))?;
    }
    head.versions = left;
    if let Some(left) = head.versions.last() {
        let head_version = Arc::clone(&left.version);
        let document = document_key(namespace, name, &head_version);
        if let Some(stored) = unit.read_record(&document).await? {
            let stored = StoredDocument::read(&document, &stored.body)?;
            head.description = shortened(&stored.description);
            if latest.as_ref() != Some(&head_version)
                && let (Some(new), _) = NewDefinition::read(namespace, &stored.document)
            {
                producer::define(unit, namespace, &new.document, producer::Defines::Anew, now)
                    .await?;
            }
        }
        unit.put_record(key, head.write())?;
    } else {
        unit.drop_record(key)?;
        producer::remove(unit, namespace, name).await?;
    }
    Ok(gone.len())
}
