//! Shows a manager as it is written.

use std::sync::Arc;

use super::{file, of_manager};
use crate::error::Failure;
use crate::event::{
    EventType,
    payload::{self, RawJson, managers},
};
use crate::operation::{Access, Context, Family, Operation, Output, paging};

pub(in crate::operation) struct GetManager {
    namespace: Arc<str>,
    manager: String,
}

impl Operation for GetManager {
    type Payload = managers::Select;
    type Answer = managers::Shown;

    const REQUEST: EventType = EventType::ManagerGetRequest;
    const RESPONSE: EventType = EventType::ManagerGetResponse;
    const FAMILY: Family = Family::Search;
    const ACCESS: Access = Access::Read;

    fn parse(payload: &str) -> Result<Self, Failure> {
        let request: managers::Select = payload::decode(payload)?;
        Ok(Self {
            namespace: paging::namespace(request.namespace)?,
            manager: request.manager,
        })
    }

    async fn run(self, cx: Context) -> Result<Output<Self::Answer>, Failure> {
        let Self { namespace, manager } = self;
        let path = file(&namespace, &manager)?;
        let mut session = cx.session().await?;
        let found = cx.registry().file(session.unit()?, &namespace, &path).await;
        let found = found.map_err(|error| of_manager(error, &namespace, &manager))?;
        session.finish(cx.cancel()).await?;
        Ok(Output::one(managers::Shown {
            manager,
            document: RawJson::trusted(found.content),
            version: found.version.to_string(),
        }))
    }
}
