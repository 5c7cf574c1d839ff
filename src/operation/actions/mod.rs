//! Actions: what steps of runs ask members and workers for (`runs.md` §5).

mod delete;
mod get;
mod list;
mod register;
mod set_enabled;

use std::sync::Arc;

use super::Context;
use crate::auth::{Permission, ROLE_ADMIN};
use crate::error::Failure;
use crate::event::payload::actions::{Item, Wasm};
use crate::registry::Action;
use crate::runtime::Session;

pub(super) use delete::DeleteAction;
pub(super) use get::GetAction;
pub(super) use list::ListActions;
pub(super) use register::RegisterAction;
pub(super) use set_enabled::SetActionEnabled;

/// Only administrators change or delete an action with a module, as only they register one.
async fn check_may_change(
    cx: &Context,
    session: &mut Session,
    namespace: &str,
    name: &str,
) -> Result<(), Failure> {
    match Action::stored(session.unit()?, namespace, name).await? {
        Some(action) if action.wasm.is_some() => Permission::Role(ROLE_ADMIN).check(cx.caller()),
        Some(_) | None => Ok(()),
    }
}

impl From<Action> for Item {
    fn from(action: Action) -> Self {
        let text = |text: Arc<str>| text.to_string();
        Self {
            name: action.name.to_string(),
            kind: if action.wasm.is_some() {
                "wasm"
            } else {
                "user"
            },
            dispatch: action.dispatch.as_str(),
            tags: action.tags.into_iter().map(Into::into).collect(),
            owner: action.owner.map(text),
            description: action.description.map(text),
            context: action.context.map(text),
            timeout_ms: action.timeout_ms,
            max_retries: action.max_retries,
            retry_delay_ms: action.retry_delay_ms,
            wait_ms: action.wait_ms,
            max_input_bytes: action.max_input_bytes,
            max_output_bytes: action.max_output_bytes,
            enabled: action.enabled,
            wasm: action.wasm.map(|wasm| Wasm {
                entrypoint: wasm.entrypoint.to_string(),
                memory_limit_bytes: wasm.memory_limit_bytes,
            }),
            version: action.version,
            pending: 0,
            running: 0,
        }
    }
}

/// The actions of a namespace, with the numbers of their open tasks.
fn counted(cx: &Context, namespace: &Arc<str>, actions: Vec<Action>) -> Vec<Item> {
    let counts = cx.channels().counts(&cx.caller().tenant);
    let items = actions.into_iter().map(|action| {
        let name = (Arc::clone(namespace), action.name.to_string().into());
        let (pending, running) = counts.get(&name).copied().unwrap_or_default();
        Item {
            pending,
            running,
            ..action.into()
        }
    });
    items.collect()
}
