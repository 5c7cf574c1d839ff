//! Deletes an action. Open tasks continue.

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

pub(in crate::operation) struct DeleteAction {
    namespace: Arc<str>,
    name: String,
}

impl Operation for DeleteAction {
    type Payload = actions::Get;
    type Answer = actions::Deleted;

    const REQUEST: EventType = EventType::ActionDeleteRequest;
    const RESPONSE: EventType = EventType::ActionDeleteResponse;
    const FAMILY: Family = Family::Model;
    const ACCESS: Access = Access::Write;
    const NEEDS: Permission = Permission::RoleForSome(ROLE_ADMIN);
    const STORES: bool = false;

    fn parse(payload: &str) -> Result<Self, Failure> {
        let request: actions::Get = payload::decode(payload)?;
        Ok(Self {
            namespace: paging::namespace(request.namespace)?,
            name: request.name,
        })
    }

    async fn run(self, cx: Context) -> Result<Output<Self::Answer>, Failure> {
        cx.refuse_token()?;
        let Self { namespace, name } = &self;
        in_turn(&cx, (namespace, name.as_str()), || async {
            let mut session = cx.session().await?;
            check_may_change(&cx, &mut session, namespace, name).await?;
            Action::delete(session.unit()?, namespace, name).await?;
            let deleted = actions::Deleted { name: name.clone() };
            cx.finish(session, deleted, Vec::new()).await
        })
        .await
    }
}
