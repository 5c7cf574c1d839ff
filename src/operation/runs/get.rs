//! Shows a run.

use crate::error::Failure;
use crate::event::{
    EventType,
    payload::{self, runs},
};
use crate::operation::{Access, Context, Family, Operation, Output};

pub(in crate::operation) struct GetRun {
    run: String,
}

impl Operation for GetRun {
    type Payload = runs::Get;
    type Answer = runs::Got;

    const REQUEST: EventType = EventType::RunGetRequest;
    const RESPONSE: EventType = EventType::RunGetResponse;
    const FAMILY: Family = Family::Search;
    const ACCESS: Access = Access::Read;

    fn parse(payload: &str) -> Result<Self, Failure> {
        let request: runs::Get = payload::decode(payload)?;
        Ok(Self {
            run: request.run_id,
        })
    }

    async fn run(self, cx: Context) -> Result<Output<Self::Answer>, Failure> {
        let details = cx.runtime().run_details(&cx.caller().tenant, &self.run);
        let run = details.await?.into();
        Ok(Output::one(runs::Got { run }))
    }
}
