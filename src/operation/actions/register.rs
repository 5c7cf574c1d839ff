//! Registers an action, or replaces what there is of its name.

use std::sync::Arc;

use base64::{Engine as _, prelude::BASE64_STANDARD};

use super::check_may_change;
use crate::auth::{Permission, ROLE_ADMIN};
use crate::error::Failure;
use crate::event::{
    EventType,
    payload::{self, actions},
};
use crate::operation::{
    Access, Context, Family, Operation, Output,
    bounds::{maybe_within, within},
    definitions, paging,
    turn::in_turn,
};
use crate::registry::{self, Action, ActionDispatch, WasmAction};

/// The longest name, owner and tag, in bytes.
const NAME_BYTES_MAX: usize = 256;

/// The longest description and context, in bytes.
const TEXT_BYTES_MAX: usize = 64 << 10;

/// How many tags an action has at most.
const TAGS_MAX: usize = 100;

/// The longest of all times but the timeout: 30 days.
const TIME_MS_MAX: i64 = 30 * 24 * 60 * 60 * 1_000;

const TIMEOUT_MS: i64 = 30_000;
const TIMEOUT_MS_MAX: i64 = 24 * 60 * 60 * 1_000;
const RETRIES: i64 = 3;
const RETRIES_MAX: i64 = 100;
const RETRY_DELAY_MS: i64 = 1_000;
const OUTPUT_BYTES: i64 = 1 << 20;
const BYTES_MAX: i64 = 64 << 20;

/// The function of a module that is called.
const ENTRYPOINT: &str = "handle";

/// The memory of a module: 256 pages.
const MEMORY_BYTES: i64 = 16 << 20;

pub(in crate::operation) struct RegisterAction {
    namespace: Arc<str>,
    action: Action,
    module: Option<NewModule>,
}

/// The code of an action in WebAssembly.
struct NewModule {
    code: Vec<u8>,
    entrypoint: Arc<str>,
    memory_limit_bytes: u64,
}

impl Operation for RegisterAction {
    type Payload = actions::Register;
    type Answer = actions::Registered;

    const REQUEST: EventType = EventType::ActionRegisterRequest;
    const RESPONSE: EventType = EventType::ActionRegisterResponse;
    const FAMILY: Family = Family::Model;
    const ACCESS: Access = Access::Write;
    const NEEDS: Permission = Permission::RoleForSome(ROLE_ADMIN);

    fn parse(payload: &str) -> Result<Self, Failure> {
        let mut request: actions::Register = payload::decode(payload)?;
        check_type(&request)?;
        let module = request.wasm.take().map(module).transpose()?;
        Ok(Self {
            namespace: paging::namespace(request.namespace.clone())?,
            action: read(request)?,
            module,
        })
    }

    async fn run(self, cx: Context) -> Result<Output<Self::Answer>, Failure> {
        cx.refuse_token()?;
        if let Some(module) = &self.module {
            module.check(&cx).await?;
        }
        let thing = (&self.namespace, &*self.action.name);
        in_turn(&cx, thing, || self.register(&cx)).await
    }
}

impl RegisterAction {
    async fn register(&self, cx: &Context) -> Result<Output<actions::Registered>, Failure> {
        let Self {
            namespace,
            action,
            module,
        } = self;
        let mut action = action.clone();
        let mut session = cx.session().await?;
        check_may_change(cx, &mut session, namespace, &action.name).await?;
        if let Some(module) = module {
            let code = registry::put_module(session.unit()?, namespace, &module.code).await?;
            action.wasm = Some(WasmAction {
                module: code,
                entrypoint: Arc::clone(&module.entrypoint),
                memory_limit_bytes: module.memory_limit_bytes,
            });
        }
        let created = action.register(session.unit()?, namespace).await?;
        let registered = actions::Registered {
            name: action.name.to_string(),
            version: action.version,
            created,
        };
        cx.finish(session, registered, Vec::new()).await
    }
}

fn read(request: actions::Register) -> Result<Action, Failure> {
    if request.name.is_empty() {
        return Err(Failure::bad_parameter(
            "name",
            "the name is empty; give it 1 to 256 bytes",
        ));
    }
    let dispatch = match request.dispatch.as_deref() {
        None => ActionDispatch::Task,
        Some(name) => ActionDispatch::from_name(name).ok_or_else(|| {
            let message = format!("\"{name}\" is not a form of dispatch; use task or processor");
            Failure::bad_parameter("dispatch", message)
        })?,
    };
    Ok(Action {
        name: text("name", request.name, NAME_BYTES_MAX)?,
        version: 0,
        dispatch,
        tags: tags(request.tags.unwrap_or_default())?,
        owner: optional("owner", request.owner, NAME_BYTES_MAX)?,
        description: optional("description", request.description, TEXT_BYTES_MAX)?,
        context: optional("context", request.context, TEXT_BYTES_MAX)?,
        timeout_ms: within(
            "timeoutMs",
            request.timeout_ms.unwrap_or(TIMEOUT_MS),
            1..=TIMEOUT_MS_MAX,
        )?,
        max_retries: within(
            "maxRetries",
            request.max_retries.unwrap_or(RETRIES),
            0..=RETRIES_MAX,
        )?,
        retry_delay_ms: within(
            "retryDelayMs",
            request.retry_delay_ms.unwrap_or(RETRY_DELAY_MS),
            0..=TIME_MS_MAX,
        )?,
        wait_ms: maybe_within("waitMs", request.wait_ms, 0..=TIME_MS_MAX)?,
        max_input_bytes: maybe_within("maxInputBytes", request.max_input_bytes, 1..=BYTES_MAX)?,
        max_output_bytes: within(
            "maxOutputBytes",
            request.max_output_bytes.unwrap_or(OUTPUT_BYTES),
            1..=BYTES_MAX,
        )?,
        enabled: request.enabled.unwrap_or(true),
        wasm: None,
    })
}

fn check_type(request: &actions::Register) -> Result<(), Failure> {
    match (request.kind.as_deref(), &request.wasm) {
        (None | Some("user"), None) | (Some("wasm"), Some(_)) => {}
        (None | Some("user"), Some(_)) => {
            let message = "`wasm` belongs to actions of the type wasm only";
            return Err(Failure::bad_parameter("wasm", message));
        }
        (Some("wasm"), None) => {
            let message = "an action of the type wasm needs `wasm` with its `module`";
            return Err(Failure::bad_parameter("wasm", message));
        }
        (Some(other), _) => {
            let message = format!("\"{other}\" is not a type of action; use user or wasm");
            return Err(Failure::bad_parameter("type", message));
        }
    }
    Ok(())
}

fn module(given: actions::Module) -> Result<NewModule, Failure> {
    let code = BASE64_STANDARD.decode(given.module.as_bytes());
    let code = code.map_err(|_| {
        Failure::bad_parameter(
            "wasm.module",
            "the module is not valid base64; encode its bytes with padding",
        )
    })?;
    let entrypoint = given.entrypoint.unwrap_or_else(|| ENTRYPOINT.to_owned());
    Ok(NewModule {
        code,
        entrypoint: text("wasm.entrypoint", entrypoint, NAME_BYTES_MAX)?,
        memory_limit_bytes: within(
            "wasm.memoryLimitBytes",
            given.memory_limit_bytes.unwrap_or(MEMORY_BYTES),
            1..=MEMORY_BYTES,
        )?,
    })
}

impl NewModule {
    /// Only administrators register modules, and only modules that can be called.
    async fn check(&self, cx: &Context) -> Result<(), Failure> {
        Permission::Role(ROLE_ADMIN).check(cx.caller())?;
        let tenant = &cx.caller().tenant;
        let found = cx.runtime().check_module(
            tenant,
            &self.code,
            &self.entrypoint,
            self.memory_limit_bytes,
        );
        let found = found.await;
        if found.has_errors() {
            return Err(definitions::invalid("module", &found));
        }
        Ok(())
    }
}

fn text(parameter: &'static str, text: String, max: usize) -> Result<Arc<str>, Failure> {
    if text.len() > max {
        let message = format!("{parameter} has {} bytes; at most {max}", text.len());
        return Err(Failure::bad_parameter(parameter, message));
    }
    Ok(text.into())
}

fn optional(
    parameter: &'static str,
    given: Option<String>,
    max: usize,
) -> Result<Option<Arc<str>>, Failure> {
    given.map(|given| text(parameter, given, max)).transpose()
}

fn tags(given: Vec<String>) -> Result<Vec<Box<str>>, Failure> {
    if given.len() > TAGS_MAX {
        let message = format!("there are {} tags; at most {TAGS_MAX}", given.len());
        return Err(Failure::bad_parameter("tags", message));
    }
    let is_tag = |tag: &String| {
        (1..=NAME_BYTES_MAX).contains(&tag.len()) && !tag.contains([',', ';']) && tag.trim() == tag
    };
    if let Some(tag) = given.iter().find(|tag| !is_tag(tag)) {
        let message = format!(
            "\"{tag}\" is not a valid tag: use 1 to {NAME_BYTES_MAX} bytes without commas, \
             semicolons and outer spaces"
        );
        return Err(Failure::bad_parameter("tags", message));
    }
    Ok(given.into_iter().map(Into::into).collect())
}
