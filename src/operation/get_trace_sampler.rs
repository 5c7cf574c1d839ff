//! Returns the trace sampler (`rest.md` §8).

use super::{Access, Context, Family, Operation, Output, Reads};
use crate::auth::{Permission, ROLE_ADMIN};
use crate::error::Failure;
use crate::event::{
    EventType,
    payload::{self, settings},
};
use crate::telemetry::{Sampler, Strategy};

pub(super) struct GetTraceSampler;

impl Operation for GetTraceSampler {
    type Payload = settings::Get;
    type Answer = settings::TraceSampler;

    const REQUEST: EventType = EventType::TraceSamplerGetRequest;
    const RESPONSE: EventType = EventType::TraceSamplerGetResponse;
    const FAMILY: Family = Family::Search;
    const ACCESS: Access = Access::Read;
    const NEEDS: Permission = Permission::Role(ROLE_ADMIN);
    const READS: Reads = Reads::Nothing;

    fn parse(payload: &str) -> Result<Self, Failure> {
        payload::decode::<settings::Get>(payload).map(|_| Self)
    }

    async fn run(self, cx: Context) -> Result<Output<Self::Answer>, Failure> {
        let sampler = cx.telemetry().sampler();
        Ok(Output::one(answer(&sampler)))
    }
}

/// A sampler, as it is answered.
pub(super) fn answer(sampler: &Sampler) -> settings::TraceSampler {
    let ratio = match sampler.strategy {
        Strategy::Ratio(ratio) => Some(ratio),
        Strategy::Always | Strategy::Never => None,
    };
    settings::TraceSampler::new(sampler.name(), ratio, sampler.parent_based)
}
