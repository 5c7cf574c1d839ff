//! Enables or disables a definition, or one version of it.

use std::sync::Arc;

use super::texts;
use crate::auth::{Permission, ROLE_ADMIN};
use crate::error::Failure;
use crate::event::{
    EventType,
    payload::{self, definitions},
};
use crate::operation::{Access, Context, Family, Operation, Output, paging, turn::in_turn};
use crate::registry::{self, DefinitionKind};

pub(in crate::operation) struct SetDefinitionEnabled {
    namespace: Arc<str>,
    name: String,
    version: Option<String>,
    enabled: bool,
}

impl Operation for SetDefinitionEnabled {
    type Payload = definitions::SetEnabled;
    type Answer = definitions::Enabled;

    const REQUEST: EventType = EventType::RunDefinitionSetEnabledRequest;
    const RESPONSE: EventType = EventType::RunDefinitionSetEnabledResponse;
    const FAMILY: Family = Family::Model;
    const ACCESS: Access = Access::Write;
    const NEEDS: Permission = Permission::RoleForSome(ROLE_ADMIN);
    const STORES: bool = false;

    fn parse(payload: &str) -> Result<Self, Failure> {
        let request: definitions::SetEnabled = payload::decode(payload)?;
        Ok(Self {
            namespace: paging::namespace(request.namespace)?,
            name: request.name,
            version: request.version,
            enabled: request.enabled,
        })
    }

    async fn run(self, cx: Context) -> Result<Output<Self::Answer>, Failure> {
        cx.refuse_token()?;
        let thing = (&self.namespace, self.name.as_str());
        in_turn(&cx, thing, || self.set(&cx)).await
    }
}

impl SetDefinitionEnabled {
    async fn set(&self, cx: &Context) -> Result<Output<definitions::Enabled>, Failure> {
        let mut session = cx.session().await?;
        let version = self.version.as_deref();
        let set = registry::set_enabled(
            session.unit()?,
            &self.namespace,
            &self.name,
            version,
            self.enabled,
            cx.storage().now(),
        );
        let set = set.await?;
        // What a bundle declares is an administrator's.
        if set.kind == DefinitionKind::Saga {
            Permission::Role(ROLE_ADMIN).check(cx.caller())?;
        }
        let enabled = definitions::Enabled {
            name: set.name.to_string(),
            enabled: set.enabled,
            disabled_versions: texts(&set.disabled_versions),
        };
        cx.finish(session, enabled, Vec::new()).await
    }
}
