//! Lists state machines by name.

use std::sync::Arc;

use crate::error::Failure;
use crate::event::{
    EventType,
    payload::{self, bundles},
};
use crate::operation::{
    Access, Context, Family, Operation, Output,
    paging::{self, Paging},
};

pub(in crate::operation) struct ListMachines {
    namespace: Arc<str>,
    paging: Paging,
}

impl Operation for ListMachines {
    type Payload = bundles::List;
    type Answer = bundles::Machines;

    const REQUEST: EventType = EventType::MachinesGetRequest;
    const RESPONSE: EventType = EventType::MachinesGetResponse;
    const FAMILY: Family = Family::Model;
    const ACCESS: Access = Access::Read;

    fn parse(payload: &str) -> Result<Self, Failure> {
        let request: bundles::List = payload::decode(payload)?;
        Ok(Self {
            namespace: paging::namespace(request.namespace)?,
            paging: Paging::read(request.limit, request.cursor.as_deref())?,
        })
    }

    async fn run(self, cx: Context) -> Result<Output<Self::Answer>, Failure> {
        let Paging { limit, after } = self.paging;
        let tenant = &cx.caller().tenant;
        let listed = cx
            .registry()
            .machines(tenant, &self.namespace, after.as_deref(), limit);
        let (listed, more) = listed.await?;
        let last = listed.last().filter(|_| more);
        let pagination = paging::pagination(last.map(|last| &*last.name));
        let items = listed.into_iter().map(|machine| bundles::Machine {
            machine: machine.name,
            bundle: machine.bundle.to_string(),
            initial: machine.initial,
            states: machine.states.into_iter().map(|state| state.name).collect(),
        });
        Ok(Output::one(bundles::Machines {
            pagination,
            items: items.collect(),
        }))
    }
}
