//! Actions in WebAssembly, which are done within the advance of their run (`orchestration.md`
//! 1.15).

use std::{sync::Arc, time::Duration};

use base64::{Engine as _, prelude::BASE64_STANDARD};
use futures_util::{FutureExt as _, future::BoxFuture};
use tracing::warn;

use super::advance::Advancing;
use crate::dialect::Findings;
use crate::error::{Code, Failure};
use crate::id::{RunId, Tenant};
use crate::program::Answer;
use crate::registry;
use crate::runtime::{Initiator, Runtime};
use crate::storage::{RecordKey, RecordKind};
use crate::wasm::{Action, Call, Module, Unavailable, Variables, Wasm};

/// How many bytes of code are kept as they are stored.
const CODE_BYTES_MAX: u64 = 32 << 20;

/// How many modules are expected.
const MODULES: usize = 256;

/// What an entry takes beside its code, roughly.
const ENTRY_BYTES: u64 = 200;

/// How often it is looked whether the run of a module was cancelled.
const LOOKED_AFTER: Duration = Duration::from_secs(1);

/// What runs modules.
#[derive(Debug)]
pub(in crate::runtime) struct Modules {
    wasm: Wasm,
    /// By the names of their records, which are made of the code.
    code: quick_cache::sync::Cache<Arc<str>, Module, Bytes>,
}

#[derive(Debug, Clone)]
struct Bytes;

impl quick_cache::Weighter<Arc<str>, Module> for Bytes {
    fn weight(&self, _: &Arc<str>, module: &Module) -> u64 {
        module.bytes().len() as u64 + ENTRY_BYTES
    }
}

impl Modules {
    pub(in crate::runtime) fn new(wasm: Wasm) -> Self {
        Self {
            wasm,
            code: quick_cache::sync::Cache::with_weighter(MODULES, CODE_BYTES_MAX, Bytes),
        }
    }
}

impl Runtime {
    /// Everything that is wrong with a module.
    pub async fn check_module(
        &self,
        tenant: &Tenant,
        code: &[u8],
        entrypoint: &str,
        memory_bytes_max: u64,
    ) -> Findings {
        let action = Action {
            name: "".into(),
            module: Module::new(code),
            entrypoint: entrypoint.into(),
            memory_bytes_max,
            output_bytes_max: 0,
            timeout: Duration::ZERO,
        };
        self.0.modules.wasm.check(tenant, &action).await
    }

    /// Does an action within the unit of its run.
    pub(super) async fn call_here(
        &self,
        advancing: &Advancing<'_>,
        action: &str,
        input: Arc<str>,
    ) -> Result<Answer, Failure> {
        let tenant = &advancing.by.tenant;
        let namespace = &advancing.name.namespace;
        let Some(action) = self.0.registry.action(tenant, namespace, action).await? else {
            return Ok(Answer::Lost {
                code: "ACTION_NOT_FOUND".into(),
                message: format!("the action \"{action}\" is not registered").into(),
            });
        };
        let task = advancing.run.to_string().into();
        let call = Box::pin(self.wasm_call(tenant, namespace, &action, input, task));
        tokio::select! {
            answer = call => answer,
            () = self.until_ended(tenant, advancing.run) => {
                let message = "the run has ended, so its module was stopped";
                Err(Failure::new(Code::Conflict, message))
            }
        }
    }

    /// Waits until a run is stored as ended, at whichever node it was cancelled.
    async fn until_ended(&self, tenant: &Tenant, run: RunId) {
        loop {
            tokio::time::sleep(LOOKED_AFTER).await;
            // A storage that cannot be read now is asked again.
            if self.storage().refresh().await.is_ok()
                && let Ok(Some(run)) = self.storage().run(tenant, run).await
                && run.ended.is_some()
            {
                return;
            }
        }
    }

    /// Calls the module of an action and returns how its task ended. It fails if the module cannot
    /// be read, or the service stops.
    pub async fn wasm_call(
        &self,
        tenant: &Tenant,
        namespace: &Arc<str>,
        action: &registry::Action,
        input: Arc<str>,
        task: Arc<str>,
    ) -> Result<Answer, Failure> {
        let Some(wasm) = &action.wasm else {
            let message = format!("the action \"{}\" has no module", action.name);
            return Err(Failure::new(Code::ServerError, message));
        };
        let call = Call {
            tenant: tenant.clone(),
            action: Arc::new(Action {
                name: Arc::clone(&action.name),
                module: self.module(tenant, namespace, &wasm.module).await?,
                entrypoint: Arc::clone(&wasm.entrypoint),
                memory_bytes_max: wasm.memory_limit_bytes,
                output_bytes_max: usize::try_from(action.max_output_bytes).unwrap_or(usize::MAX),
                timeout: action.timeout(),
            }),
            task,
            input,
            variables: Arc::new(Stored {
                runtime: self.clone(),
                tenant: tenant.clone(),
                namespace: Arc::clone(namespace),
            }),
        };
        let answer = self.0.modules.wasm.call(call).await;
        answer.ok_or_else(|| Failure::new(Code::Cancelled, "the service stops"))
    }

    async fn module(
        &self,
        tenant: &Tenant,
        namespace: &str,
        name: &Arc<str>,
    ) -> Result<Module, registry::Error> {
        if let Some(known) = self.0.modules.code.get(name) {
            return Ok(known);
        }
        let code = self.0.registry.module(tenant, namespace, name).await?;
        let module = Module::new(code);
        self.0.modules.code.insert(Arc::clone(name), module.clone());
        Ok(module)
    }
}

/// Variables as records of a namespace.
struct Stored {
    runtime: Runtime,
    tenant: Tenant,
    namespace: Arc<str>,
}

impl Stored {
    fn key(&self, name: &str) -> RecordKey {
        RecordKey::new(RecordKind::Variable, Arc::clone(&self.namespace), name)
    }

    async fn read(&self, name: &str) -> Result<Option<Vec<u8>>, Failure> {
        let storage = self.runtime.storage();
        let record = storage.record(&self.tenant, &self.key(name)).await?;
        Ok(record.and_then(|record| BASE64_STANDARD.decode(&*record.body).ok()))
    }

    /// Writes a value, or removes the variable.
    async fn write(&self, name: &str, value: Option<Vec<u8>>) -> Result<(), Failure> {
        let by = Initiator::system(&self.tenant);
        let mut session = self.runtime.session_for(&by, by.attribution());
        let (unit, key) = (session.unit()?, self.key(name));
        if value.is_some() && !self.runtime.may_store_more(&self.tenant) {
            let message = "the tenant has reached its limit of stored bytes";
            return Err(Failure::new(Code::TenantLimitExceeded, message));
        }
        match value {
            Some(value) => unit.put_record(key, BASE64_STANDARD.encode(value).into())?,
            None => unit.drop_record(key)?,
        }
        session.finish(&by.cancel).await
    }

    fn unavailable(name: &str, failure: &Failure) -> Unavailable {
        warn!(failure = %failure.in_full(), variable = name, "a variable of a module is not available");
        Unavailable
    }
}

impl Variables for Stored {
    fn get<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Option<Vec<u8>>, Unavailable>> {
        async move {
            let read = self.read(name).await;
            read.map_err(|failure| Self::unavailable(name, &failure))
        }
        .boxed()
    }

    fn set<'a>(&'a self, name: &'a str, value: Vec<u8>) -> BoxFuture<'a, Result<(), Unavailable>> {
        async move {
            let written = self.write(name, Some(value)).await;
            written.map_err(|failure| Self::unavailable(name, &failure))
        }
        .boxed()
    }

    fn delete<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<bool, Unavailable>> {
        async move {
            let deleted = async {
                let is_there = self.read(name).await?.is_some();
                if is_there {
                    self.write(name, None).await?;
                }
                Ok::<_, Failure>(is_there)
            };
            let deleted = deleted.await;
            deleted.map_err(|failure| Self::unavailable(name, &failure))
        }
        .boxed()
    }
}
