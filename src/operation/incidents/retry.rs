//! Has the work of an incident done again, and its failures counted from the beginning.

use crate::auth::{Permission, ROLE_ADMIN};
use crate::error::Failure;
use crate::event::{
    EventType,
    payload::{self, incidents},
};
use crate::operation::{Access, Context, Family, Operation, Output};

pub(in crate::operation) struct RetryIncident(String);

impl Operation for RetryIncident {
    type Payload = incidents::Named;
    type Answer = incidents::Closed;

    const REQUEST: EventType = EventType::IncidentRetryRequest;
    const RESPONSE: EventType = EventType::IncidentRetryResponse;
    const FAMILY: Family = Family::Entity;
    const ACCESS: Access = Access::Write;
    const STORES: bool = false;
    const NEEDS: Permission = Permission::Role(ROLE_ADMIN);

    fn parse(payload: &str) -> Result<Self, Failure> {
        let request: incidents::Named = payload::decode(payload)?;
        Ok(Self(request.incident_id))
    }

    async fn run(self, cx: Context) -> Result<Output<Self::Answer>, Failure> {
        cx.refuse_token()?;
        let (runtime, tenant) = (cx.runtime().clone(), cx.caller().tenant.clone());
        let incident = runtime.incident(&tenant, &self.0).await?;
        let mut session = cx.session_for(0, |_, _| String::new()).await?;
        session.unit()?.settle(&incident.work)?;
        let closed = incidents::Closed {
            incident_id: self.0,
        };
        let _critical = cx.critical();
        let done = cx.finish(session, closed, Vec::new()).await?;
        cx.storage().wake_work(&tenant, &incident.work).await?;
        Ok(done)
    }
}
