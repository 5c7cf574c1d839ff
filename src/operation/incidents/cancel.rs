//! Ends the work of an incident: a run is cancelled, a timer is dropped, a schedule or trigger starts
//! nothing until its definition is enabled or created again.

use crate::auth::{Permission, ROLE_ADMIN};
use crate::error::Failure;
use crate::event::{
    EventType,
    payload::{self, incidents},
};
use crate::operation::{Access, Context, Family, Operation, Output};
use crate::runtime::again;

pub(in crate::operation) struct CancelIncident(String);

impl Operation for CancelIncident {
    type Payload = incidents::Named;
    type Answer = incidents::Closed;

    const REQUEST: EventType = EventType::IncidentCancelRequest;
    const RESPONSE: EventType = EventType::IncidentCancelResponse;
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
        let (runtime, by) = (cx.runtime(), cx.initiator());
        let cancel = || async {
            let incident = runtime.incident(&by.tenant, &self.0).await?;
            let mut session = cx.session_for(0, |_, _| String::new()).await?;
            let mut arrived = runtime
                .cancel_work(&mut session, &by, &incident.work)
                .await?;
            let closed = incidents::Closed {
                incident_id: self.0.clone(),
            };
            let _critical = cx.critical();
            let finished = cx.finish(session, closed, Vec::new()).await?;
            if let Some(arrived) = &mut arrived {
                runtime.after_advance(&by.tenant, arrived);
            }
            Ok(finished)
        };
        // The run may advance at the same time.
        again(cancel).await
    }
}
