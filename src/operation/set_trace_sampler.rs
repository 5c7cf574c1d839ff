//! Changes the trace sampler, until the process ends (`rest.md` §8).

use super::{Access, Context, Family, Operation, Output, Reads, get_trace_sampler::answer};
use crate::auth::{Permission, ROLE_ADMIN};
use crate::error::{Code, Failure};
use crate::event::{
    EventType,
    payload::{self, settings},
};
use crate::telemetry::Sampler;

pub(super) struct SetTraceSampler(Sampler);

impl Operation for SetTraceSampler {
    type Payload = settings::SetTraceSampler;
    type Answer = settings::TraceSampler;

    const REQUEST: EventType = EventType::TraceSamplerSetRequest;
    const RESPONSE: EventType = EventType::TraceSamplerSetResponse;
    const FAMILY: Family = Family::Entity;
    const ACCESS: Access = Access::Write;
    const STORES: bool = false;
    const NEEDS: Permission = Permission::Role(ROLE_ADMIN);
    const READS: Reads = Reads::Nothing;

    fn parse(payload: &str) -> Result<Self, Failure> {
        let request: settings::SetTraceSampler = payload::decode(payload)?;
        let parent_based = request.parent_based.unwrap_or(true);
        Sampler::new(&request.sampler, request.ratio, parent_based)
            .map(Self)
            .map_err(|error| Failure::new(Code::BadRequest, error.to_string()))
    }

    async fn run(self, cx: Context) -> Result<Output<Self::Answer>, Failure> {
        cx.telemetry().set_sampler(self.0);
        let warning = "traces are not exported yet, so the sampler has no effect".to_owned();
        Ok(Output::One(answer(&self.0), vec![warning]))
    }
}
