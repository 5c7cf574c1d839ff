//! Returns the log level (`rest.md` §8).

use super::{Access, Context, Family, Operation, Output, Reads};
use crate::auth::{Permission, ROLE_ADMIN};
use crate::error::Failure;
use crate::event::{
    EventType,
    payload::{self, settings},
};
use crate::telemetry::level_name;

pub(super) struct GetLogLevel;

impl Operation for GetLogLevel {
    type Payload = settings::Get;
    type Answer = settings::LogLevel;

    const REQUEST: EventType = EventType::LogLevelGetRequest;
    const RESPONSE: EventType = EventType::LogLevelGetResponse;
    const FAMILY: Family = Family::Search;
    const ACCESS: Access = Access::Read;
    const NEEDS: Permission = Permission::Role(ROLE_ADMIN);
    const READS: Reads = Reads::Nothing;

    fn parse(payload: &str) -> Result<Self, Failure> {
        payload::decode::<settings::Get>(payload).map(|_| Self)
    }

    async fn run(self, cx: Context) -> Result<Output<Self::Answer>, Failure> {
        let level = level_name(cx.telemetry().log_level());
        Ok(Output::one(settings::LogLevel {
            level,
            previous: None,
        }))
    }
}
