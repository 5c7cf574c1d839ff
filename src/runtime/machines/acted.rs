//! What actions have done outside of transactions: a commit that is repeated does not do it again.

use std::{collections::HashMap, sync::Arc};

use parking_lot::Mutex;

use crate::dispatch::TransitionContext;
use crate::id::{DispatchKey, EntityId};

/// The results of actions, by their keys.
#[derive(Debug, Default)]
pub(in crate::runtime) struct Acted(Mutex<HashMap<String, Arc<str>>>);

impl Acted {
    /// The result of an action that was done.
    pub(super) fn result(&self, key: &str) -> Option<Arc<str>> {
        self.0.lock().get(key).cloned()
    }

    /// Keeps the result of an action that was done outside of the transaction.
    pub(super) fn keep(&self, key: String, result: Arc<str>) {
        self.0.lock().insert(key, result);
    }
}

/// What the actions of a session are done for: an event, or an execution of a step.
#[derive(Debug, Clone)]
pub(in crate::runtime) struct Acting {
    /// The same in all tries.
    pub(in crate::runtime) key: Arc<str>,
    /// What earlier tries have done.
    pub(in crate::runtime) acted: Arc<Acted>,
}

/// The idempotency key of an event.
pub(super) fn key_of_event() -> String {
    format!("event:{}", DispatchKey::fresh())
}

impl Acting {
    /// For an event of its own.
    pub(super) fn for_event() -> Self {
        Self {
            key: key_of_event().into(),
            acted: Arc::default(),
        }
    }

    /// The idempotency key of an action. Actions may move entities whose transitions have actions
    /// of their own; and an entity may be in another state in the next try.
    pub(super) fn key_of(&self, entity: EntityId, context: &TransitionContext) -> String {
        let (transition, from) = (context.transition.as_str(), context.from.as_str());
        format!("{}:{entity}:{transition}:{from}", self.key)
    }
}
