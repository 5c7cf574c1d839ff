//! Enables or disables an action. Open tasks continue.

use std::sync::Arc;

use super::check_may_change;
use crate::auth::{Permission, ROLE_ADMIN};
use crate::error::Failure;
use crate::event::{
    EventType,
    payload::{self, actions},
};
use crate::operation::{Access, Context, Family, Operation, Output, paging, turn::in_turn};
use crate::registry::Action;

pub(in crate::operation) struct SetActionEnabled {
    namespace: Arc<str>,
    name: String,
    enabled: bool,
}

impl Operation for SetActionEnabled {
    type Payload = actions::SetEnabled;
    type Answer = actions::Enabled;

    const REQUEST: EventType = EventType::ActionSetEnabledRequest;
    const RESPONSE: EventType = EventType::ActionSetEnabledResponse;
    const FAMILY: Family = Family::Model;
    const ACCESS: Access = Access::Write;
    const NEEDS: Permission = Permission::RoleForSome(ROLE_ADMIN);
    const STORES: bool = false;

    fn parse(payload: &str) -> Result<Self, Failure> {
        let request: actions::SetEnabled = payload::decode(payload)?;
        Ok(Self {
            namespace: paging::namespace(request.namespace)?,
            name: request.name,
            enabled: request.enabled,
        })
    }

    async fn run(self, cx: Context) -> Result<Output<Self::Answer>, Failure> {
        cx.refuse_token()?;
        let Self {
            namespace,
            name,
            enabled,
        } = &self;
        in_turn(&cx, (namespace, name.as_str()), || async {
            let mut session = cx.session().await?;
            check_may_change(&cx, &mut session, namespace, name).await?;
            Action::set_enabled(session.unit()?, namespace, name, *enabled).await?;
            let set = actions::Enabled {
                name: name.clone(),
                enabled: *enabled,
            };
            cx.finish(session, set, Vec::new()).await
        })
        .await
    }
}
