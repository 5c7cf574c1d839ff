//! Returns the trace sampler (`rest.md` §8).

use super::{Access, Answer, Context, Family, Operation};
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

    const REQUEST: EventType = EventType::TraceSamplerGetRequest;
    const RESPONSE: EventType = EventType::TraceSamplerGetResponse;
    const FAMILY: Family = Family::Search;
    const ACCESS: Access = Access::Read;
    const NEEDS: Permission = Permission::Role(ROLE_ADMIN);

    fn parse(payload: &str) -> Result<Self, Failure> {
        payload::decode::<settings::Get>(payload).map(|_| Self)
    }

    async fn run(self, cx: Context) -> Result<Answer, Failure> {
        let sampler = cx.telemetry().sampler();
        cx.answer(Self::RESPONSE, told(&cx, &sampler, &[]))
    }
}

/// The answer that tells of a sampler.
pub(super) fn told(cx: &Context, sampler: &Sampler, warnings: &[String]) -> String {
    let ratio = match sampler.strategy {
        Strategy::Ratio(ratio) => Some(ratio),
        Strategy::Always | Strategy::Never => None,
    };
    settings::trace_sampler(
        cx.request(),
        sampler.name(),
        ratio,
        sampler.parent_based,
        warnings,
    )
}
