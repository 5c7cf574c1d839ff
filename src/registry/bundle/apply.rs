//! Applying and deleting bundles, each in the unit of work of a request.

use std::{collections::BTreeMap, sync::Arc};

use serde_json::value::{RawValue, to_raw_value};
use sha2::{Digest as _, Sha256};

use super::{
    Machine, NewBundle, Routes, Summary, convert,
    stored::{
        StoredBundle, StoredConnectors, StoredMirror, bundle_key, connectors_key, machine_key,
        read, routes_key, sealed_as, write,
    },
};
use crate::clock::Timestamp;
use crate::connector::Trust;
use crate::dialect::{
    Findings,
    flo::MANAGER,
    saga::{Connector, Saga},
};
use crate::program::FORM;
use crate::registry::{
    Change, DefinitionKind, Error, Idempotency, KeptFinding, Registry,
    head::{Head, VersionHead, document_key, head_key, program_key},
    new::StoredDocument,
};
use crate::storage::UnitOfWork;

/// What became of a bundle.
#[derive(Debug)]
pub enum Applied {
    Done {
        version: u64,
        change: Change,
        /// What it declared before and no longer declares.
        removed: Summary,
    },
    /// Names or routes belong to others.
    Refused(Findings),
}

/// The bundle that is there and the one that takes its place.
struct Applying<'a> {
    registry: &'a Registry,
    unit: &'a mut UnitOfWork,
    namespace: &'a str,
    new: &'a NewBundle,
    now: Timestamp,
    before: Option<StoredBundle>,
    routes: Routes,
}

impl Registry {
    /// Replaces a bundle as a whole. What it no longer declares takes no more starts; runs that are
    /// live keep what they started with.
    pub async fn apply(
        &self,
        unit: &mut UnitOfWork,
        namespace: &str,
        new: &NewBundle,
        now: Timestamp,
    ) -> Result<Applied, Error> {
        let before = unit.read_record(&bundle_key(namespace, &new.name)).await?;
        let before = before.map(|record| read("bundle", &record)).transpose()?;
        let routes = unit.read_record(&routes_key()).await?;
        let routes = routes.map(|record| read("routes", &record)).transpose()?;
        let mut applying = Applying {
            registry: self,
            unit,
            namespace,
            new,
            now,
            before,
            routes: routes.unwrap_or_default(),
        };
        let taken = applying.taken().await?;
        if taken.has_errors() {
            return Ok(Applied::Refused(taken));
        }
        if let Some(version) = applying.unchanged().await? {
            return Ok(Applied::Done {
                version,
                change: Change::Unchanged,
                removed: Summary::default(),
            });
        }
        let (change, removed) = match &applying.before {
            Some(before) => (Change::Replaced, before.summary.without(&new.summary())),
            None => (Change::Created, Summary::default()),
        };
        let version = applying.write().await?;
        Ok(Applied::Done {
            version,
            change,
            removed,
        })
    }
}

impl Applying<'_> {
    /// What belongs to step workflows and other bundles.
    async fn taken(&mut self) -> Result<Findings, Error> {
        let mut found = Findings::default();
        let (new, bundle) = (self.new, self.new.bundle());
        for saga in &bundle.sagas {
            let location = bundle.location(saga.place);
            let head = self.head(&saga.name).await?;
            let owner = head.map(|head| (head.kind, head.bundle));
            let owner = match owner {
                _ if saga.name == MANAGER => "the service itself".to_owned(),
                Some((DefinitionKind::Flo, _)) => "a step workflow".to_owned(),
                Some((DefinitionKind::Saga, Some(owner))) if owner != new.name => {
                    format!("the bundle {owner}")
                }
                Some((DefinitionKind::Saga, _)) | None => continue,
            };
            let message = format!(
                "the name {} belongs to {owner}; choose another name",
                saga.name
            );
            found.error("S104", &location, message);
        }
        for machine in &bundle.machines {
            let key = machine_key(self.namespace, &machine.name);
            let Some(record) = self.unit.read_record(&key).await? else {
                continue;
            };
            let known: Machine = read("machine", &record)?;
            if known.bundle != new.name {
                let message = format!(
                    "the state machine {} belongs to the bundle {}; choose another name",
                    machine.name, known.bundle
                );
                found.error("S104", &bundle.location(machine.place), message);
            }
        }
        for (_, route) in bundle.routes() {
            let (method, path) = (&*route.method, &*route.path);
            let other = self.routes.taken(self.namespace, &new.name, method, path);
            if let Some(other) = other {
                let message = format!(
                    "the route {method} {path} is taken by {} {} of the bundle {} in the namespace \
                     {}; choose another path",
                    other.method, other.path, other.bundle, other.namespace
                );
                found.error("S203", &bundle.location(route.place), message);
            }
        }
        Ok(found)
    }

    async fn head(&mut self, name: &str) -> Result<Option<Head>, Error> {
        let record = self
            .unit
            .read_record(&head_key(self.namespace, name))
            .await?;
        record.map(|record| Head::read(&record)).transpose()
    }

    /// The version, if the bundle is the one that is there.
    async fn unchanged(&mut self) -> Result<Option<u64>, Error> {
        let Some(before) = &self.before else {
            return Ok(None);
        };
        let is_operators = self.new.trust == Trust::Operator;
        let is_same = before.form == FORM
            && before.is_operators == is_operators
            && before.files == self.new.files;
        if !is_same {
            return Ok(None);
        }
        let key = connectors_key(self.namespace, &before.digest);
        let Some(record) = self.unit.read_record(&key).await? else {
            return Ok(None);
        };
        let stored: StoredConnectors = read("connectors", &record)?;
        let used = self.used_variables();
        let tenant = self.unit.tenant().clone();
        let has_same_values = stored.variables.len() == used.len()
            && used.iter().all(|(name, value)| {
                let kept = self.registry.open(&tenant, self.namespace, &stored, name);
                kept.is_ok_and(|kept| kept == *value)
            });
        Ok(has_same_values.then_some(before.version))
    }

    /// The variables that connectors name, with their values.
    fn used_variables(&self) -> BTreeMap<String, String> {
        let connectors = self.new.bundle().connectors.iter();
        let names = connectors.flat_map(|connector| &connector.variables);
        let used = names.filter_map(|name| {
            let value = self.new.variables.get(name)?;
            Some((name.clone(), value.to_owned()))
        });
        used.collect()
    }

    /// Writes all records of the bundle; returns its version.
    async fn write(&mut self) -> Result<u64, Error> {
        let version = self.before.as_ref().map_or(0, |before| before.version) + 1;
        let summary = self.new.summary();
        let connectors = write(&self.connectors(version)?);
        let digest: Arc<str> = hex::encode(Sha256::digest(connectors.as_bytes())).into();
        let key = connectors_key(self.namespace, &digest);
        self.unit.put_record(key, connectors)?;
        let new = self.new;
        for saga in &new.bundle().sagas {
            self.write_saga(saga, version, &digest).await?;
        }
        for machine in &new.bundle().machines {
            let stored = Machine::of(machine, &new.bundle().flows, &new.name, &digest);
            let key = machine_key(self.namespace, &machine.name);
            self.unit.read_record(&key).await?;
            self.unit.put_record(key, write(&stored))?;
        }
        let before = self.before.as_ref().map(|before| before.summary.clone());
        if let Some(before) = before {
            remove(self.unit, self.namespace, &before, Some(&summary)).await?;
        }
        let routes = self.routes.clone();
        self.routes
            .replace(self.namespace, &new.name, Some(new.bundle()));
        if self.routes != routes {
            self.unit.put_record(routes_key(), write(&self.routes))?;
        }
        let stored = StoredBundle {
            version,
            digest,
            form: FORM,
            is_operators: new.trust == Trust::Operator,
            files: new.files.clone(),
            summary,
            findings: new.findings.listed().iter().map(Into::into).collect(),
            applied: self.now.micros(),
        };
        let key = bundle_key(self.namespace, &new.name);
        self.unit.put_record(key, write(&stored))?;
        Ok(version)
    }

    fn connectors(&self, version: u64) -> Result<StoredConnectors, Error> {
        let new = self.new;
        let tenant = self.unit.tenant().as_str().to_owned();
        let mut variables = BTreeMap::new();
        for (name, value) in self.used_variables() {
            let sealed_as = sealed_as(&tenant, self.namespace, &new.name, &name);
            let seal = self.registry.0.sealing.to_seal()?;
            let sealed = seal.close(&sealed_as, value.as_bytes());
            variables.insert(name, sealed.map_err(|_| Error::NotSealed)?);
        }
        let configs = new.bundle().connectors.iter().map(|connector| {
            let config = config(connector, new);
            Ok((connector.name.clone(), config?))
        });
        let mirror = new.bundle().service.mirror.as_ref();
        Ok(StoredConnectors {
            bundle: new.name.to_string(),
            version,
            is_operators: new.trust == Trust::Operator,
            connectors: configs.collect::<Result<_, Error>>()?,
            variables,
            mirror: mirror.map(|mirror| StoredMirror {
                connector: mirror.connector.clone(),
                table: mirror.table.clone(),
                creates: mirror.creates,
            }),
        })
    }

    async fn write_saga(&mut self, saga: &Saga, version: u64, digest: &str) -> Result<(), Error> {
        let new = self.new;
        let unreadable = || Error::Unreadable {
            what: "saga",
            name: (*saga.name).into(),
        };
        let program = convert::program(saga, version, digest);
        let program = serde_json::to_string(&program).map_err(|_| unreadable())?;
        let program_digest: Arc<str> = hex::encode(Sha256::digest(program.as_bytes())).into();
        let key = program_key(self.namespace, &program_digest);
        self.unit.put_record(key, program.into())?;
        let bundle = new.bundle();
        let location = bundle.location(saga.place);
        let file = location.rsplit_once(':').map_or("", |(file, _)| file);
        let findings = new.findings.listed().iter().filter(|finding| {
            let place = finding.location.as_deref().unwrap_or_default();
            let line = place
                .strip_prefix(file)
                .and_then(|line| line.strip_prefix(':'));
            line.and_then(|line| line.parse().ok())
                .is_some_and(|line: usize| saga.lines().contains(&line))
        });
        let stored = StoredDocument {
            document: to_raw_value(&saga.text).map_err(|_| unreadable())?,
            description: String::new(),
            plans: Vec::new(),
            findings: findings.map(KeptFinding::from).collect(),
        };
        let text: Arc<str> = version.to_string().into();
        let head = self.head(&saga.name).await?;
        for old in head.iter().flat_map(|head| &head.versions) {
            let key = document_key(self.namespace, &saga.name, &old.version);
            self.unit.drop_record(key)?;
        }
        let key = document_key(self.namespace, &saga.name, &text);
        self.unit.put_record(key, write(&stored))?;
        let head = Head {
            kind: DefinitionKind::Saga,
            bundle: Some(Arc::clone(&new.name)),
            disabled: head.is_some_and(|head| head.disabled),
            description: "".into(),
            versions: vec![VersionHead {
                version: text,
                digest: program_digest,
                idempotency: Idempotency::Optional,
                created: self.now.micros(),
                disabled: false,
            }],
        };
        let key = head_key(self.namespace, &saga.name);
        self.unit.put_record(key, head.write())?;
        Ok(())
    }
}

fn config(connector: &Connector, new: &NewBundle) -> Result<Box<RawValue>, Error> {
    let config = new.config(connector).and_then(RawValue::from_string);
    config.map_err(|_| Error::Unreadable {
        what: "connector",
        name: (*connector.name).into(),
    })
}

/// Removes what a bundle had declared, but what it still declares.
async fn remove(
    unit: &mut UnitOfWork,
    namespace: &str,
    before: &Summary,
    still: Option<&Summary>,
) -> Result<(), Error> {
    for name in &before.sagas {
        if still.is_some_and(|still| still.sagas.contains(name)) {
            continue;
        }
        let key = head_key(namespace, name);
        if let Some(record) = unit.read_record(&key).await? {
            for version in &Head::read(&record)?.versions {
                unit.drop_record(document_key(namespace, name, &version.version))?;
            }
            unit.drop_record(key)?;
        }
    }
    for name in &before.machines {
        if !still.is_some_and(|still| still.machines.contains(name)) {
            unit.drop_record(machine_key(namespace, name))?;
        }
    }
    Ok(())
}

/// Deletes a bundle. Programs and connectors stay, because runs that are live follow them.
pub async fn delete(unit: &mut UnitOfWork, namespace: &str, name: &str) -> Result<(), Error> {
    let key = bundle_key(namespace, name);
    let record = unit.read_record(&key).await?;
    let record = record.ok_or_else(|| Error::BundleNotFound {
        namespace: namespace.into(),
        name: name.into(),
    })?;
    let stored: StoredBundle = read("bundle", &record)?;
    remove(unit, namespace, &stored.summary, None).await?;
    if let Some(record) = unit.read_record(&routes_key()).await? {
        let mut routes: Routes = read("routes", &record)?;
        let before = routes.clone();
        routes.replace(namespace, name, None);
        if routes != before {
            unit.put_record(routes_key(), write(&routes))?;
        }
    }
    unit.drop_record(key)?;
    Ok(())
}
