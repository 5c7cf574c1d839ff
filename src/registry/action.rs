//! Actions: registered names of work that steps of runs ask for.

use std::{sync::Arc, time::Duration};

use base64::{Engine as _, prelude::BASE64_STANDARD};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::{Error, Registry};
use crate::id::Tenant;
use crate::storage::{Record, RecordKey, RecordKind, UnitOfWork};

/// A registered action.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Action {
    pub name: Arc<str>,
    /// How often it was registered.
    pub version: u64,
    pub dispatch: ActionDispatch,
    /// What a member must have to be sent its tasks.
    pub tags: Vec<Box<str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<Arc<str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<Arc<str>>,
    /// The `parameters` of a call of a processor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<Arc<str>>,
    pub timeout_ms: u64,
    /// How many deliveries may follow the first.
    pub max_retries: u32,
    pub retry_delay_ms: u64,
    /// How long a task waits for a taker; none: as the settings say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait_ms: Option<u64>,
    /// None: as the settings say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_input_bytes: Option<u64>,
    pub max_output_bytes: u64,
    pub enabled: bool,
    /// None of one that members or workers do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wasm: Option<WasmAction>,
}

/// Who is sent the tasks of an action, and in which form.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ActionDispatch {
    /// A member that announced the name, or a pull worker.
    Task,
    /// Any member with the tags, as a call of a processor.
    Processor,
}

/// What an action in WebAssembly runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WasmAction {
    /// The name of the record with the code.
    pub module: Arc<str>,
    pub entrypoint: Arc<str>,
    pub memory_limit_bytes: u64,
}

impl ActionDispatch {
    /// The form of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::Task, Self::Processor]
            .into_iter()
            .find(|dispatch| dispatch.as_str() == name)
    }

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Task => "task",
            Self::Processor => "processor",
        }
    }
}

impl Action {
    /// What members do for the items of managers that name a workflow: nobody registers it.
    pub fn of_item(workflow: &str) -> Self {
        Self {
            name: workflow.into(),
            version: 1,
            dispatch: ActionDispatch::Task,
            tags: vec![format!("workflow:{workflow}").into()],
            owner: None,
            description: None,
            context: None,
            timeout_ms: 600_000,
            max_retries: 3,
            retry_delay_ms: 1_000,
            wait_ms: None,
            max_input_bytes: None,
            max_output_bytes: 1 << 20,
            enabled: true,
            wasm: None,
        }
    }

    /// How long one delivery may take.
    pub const fn timeout(&self) -> Duration {
        Duration::from_millis(self.timeout_ms)
    }

    /// The pause before the second delivery.
    pub const fn retry_delay(&self) -> Duration {
        Duration::from_millis(self.retry_delay_ms)
    }

    /// How long a task waits for a taker; none: as the settings say.
    pub fn wait(&self) -> Option<Duration> {
        self.wait_ms.map(Duration::from_millis)
    }

    fn read(record: &Record) -> Result<Self, Error> {
        serde_json::from_str(&record.body).map_err(|_| Error::Unreadable {
            what: "action",
            name: Arc::clone(&record.key.name),
        })
    }

    fn write(&self) -> Arc<str> {
        serde_json::to_string(self).unwrap_or_default().into()
    }

    /// The action of that name, as a unit sees it.
    pub async fn stored(
        unit: &mut UnitOfWork,
        namespace: &str,
        name: &str,
    ) -> Result<Option<Self>, Error> {
        let record = unit.read_record(&key(namespace, name)).await?;
        record.map(|record| Self::read(&record)).transpose()
    }

    /// Registers it, or replaces what there is of its name: its version is set here. Whether the
    /// name is new.
    pub async fn register(
        &mut self,
        unit: &mut UnitOfWork,
        namespace: &str,
    ) -> Result<bool, Error> {
        let key = key(namespace, &self.name);
        let before = unit.read_record(&key).await?;
        self.version = match &before {
            Some(before) => Self::read(before)?.version + 1,
            None => 1,
        };
        unit.put_record(key, self.write())?;
        let deleted = deleted_key(namespace, &self.name);
        if before.is_none() && unit.read_record(&deleted).await?.is_some() {
            unit.drop_record(deleted)?;
        }
        Ok(before.is_none())
    }

    /// Enables or disables one. Open tasks continue.
    pub async fn set_enabled(
        unit: &mut UnitOfWork,
        namespace: &str,
        name: &str,
        enabled: bool,
    ) -> Result<(), Error> {
        let key = key(namespace, name);
        let record = unit.read_record(&key).await?;
        let record = record.ok_or_else(|| not_found(namespace, name))?;
        let mut action = Self::read(&record)?;
        if action.enabled != enabled {
            action.enabled = enabled;
            unit.put_record(key, action.write())?;
        }
        Ok(())
    }

    /// Deletes one. Open tasks continue, also after a restart: what they need is kept.
    pub async fn delete(unit: &mut UnitOfWork, namespace: &str, name: &str) -> Result<(), Error> {
        let key = key(namespace, name);
        let record = unit.read_record(&key).await?;
        let record = record.ok_or_else(|| not_found(namespace, name))?;
        // This process does those in WebAssembly itself, so that they have no open tasks.
        if Self::read(&record)?.wasm.is_none() {
            unit.put_record(deleted_key(namespace, name), Arc::clone(&record.body))?;
        }
        Ok(unit.drop_record(key)?)
    }
}

/// Stores the code of actions in WebAssembly and returns the name of its record, which is made of
/// the code.
pub async fn put_module(
    unit: &mut UnitOfWork,
    namespace: &str,
    code: &[u8],
) -> Result<Arc<str>, Error> {
    let name: Arc<str> = hex::encode(Sha256::digest(code)).into();
    let key = module_key(namespace, &name);
    if unit.read_record(&key).await?.is_none() {
        unit.put_record(key, BASE64_STANDARD.encode(code).into())?;
    }
    Ok(name)
}

impl Registry {
    /// The code of an action in WebAssembly, by the name of its record.
    pub async fn module(
        &self,
        tenant: &Tenant,
        namespace: &str,
        name: &str,
    ) -> Result<Vec<u8>, Error> {
        let key = module_key(namespace, name);
        let record = self.0.storage.record(tenant, &key).await?;
        let code = record.map(|record| BASE64_STANDARD.decode(&*record.body));
        code.and_then(Result::ok).ok_or_else(|| Error::Unreadable {
            what: "module",
            name: name.into(),
        })
    }

    /// The action of that name, whether it is enabled or not.
    pub async fn action(
        &self,
        tenant: &Tenant,
        namespace: &str,
        name: &str,
    ) -> Result<Option<Action>, Error> {
        let key = key(namespace, name);
        let record = self.0.storage.record(tenant, &key).await?;
        record.map(|record| Action::read(&record)).transpose()
    }

    /// The action of that name; it is a failure if there is none.
    pub async fn action_named(
        &self,
        tenant: &Tenant,
        namespace: &str,
        name: &str,
    ) -> Result<Action, Error> {
        let found = self.action(tenant, namespace, name).await?;
        found.ok_or_else(|| not_found(namespace, name))
    }

    /// The action of that name as it was when it was deleted, for tasks that are open.
    pub async fn deleted_action(
        &self,
        tenant: &Tenant,
        namespace: &str,
        name: &str,
    ) -> Result<Option<Action>, Error> {
        let key = deleted_key(namespace, name);
        let record = self.0.storage.record(tenant, &key).await?;
        record.map(|record| Action::read(&record)).transpose()
    }

    /// The actions of a namespace, by name: those after one, `limit` at most.
    pub async fn actions(
        &self,
        tenant: &Tenant,
        namespace: &str,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<Action>, Error> {
        let storage = &self.0.storage;
        let found = storage.records(tenant, RecordKind::Action, namespace, after, limit);
        let found = found.await?;
        found.iter().map(|record| Action::read(record)).collect()
    }
}

fn module_key(namespace: &str, name: &str) -> RecordKey {
    RecordKey::new(RecordKind::Module, namespace, name)
}

fn key(namespace: &str, name: &str) -> RecordKey {
    RecordKey::new(RecordKind::Action, namespace, name)
}

fn deleted_key(namespace: &str, name: &str) -> RecordKey {
    RecordKey::new(RecordKind::DeletedAction, namespace, name)
}

fn not_found(namespace: &str, name: &str) -> Error {
    Error::ActionNotFound {
        namespace: namespace.into(),
        name: name.into(),
    }
}
