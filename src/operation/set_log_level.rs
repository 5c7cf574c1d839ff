//! Changes the log level, until the process ends (`rest.md` §8).

use tracing::{Level, warn};

use super::{Access, Context, Family, Operation, Output, Reads};
use crate::auth::{Permission, ROLE_ADMIN};
use crate::error::{Code, Failure};
use crate::event::{
    EventType,
    payload::{self, settings},
};
use crate::telemetry::{level_name, parse_level};

pub(super) struct SetLogLevel(Level);

impl Operation for SetLogLevel {
    type Payload = settings::SetLogLevel;
    type Answer = settings::LogLevel;

    const REQUEST: EventType = EventType::LogLevelSetRequest;
    const RESPONSE: EventType = EventType::LogLevelSetResponse;
    const FAMILY: Family = Family::Entity;
    const ACCESS: Access = Access::Write;
    const STORES: bool = false;
    const NEEDS: Permission = Permission::Role(ROLE_ADMIN);
    const READS: Reads = Reads::Nothing;

    fn parse(payload: &str) -> Result<Self, Failure> {
        let request: settings::SetLogLevel = payload::decode(payload)?;
        parse_level(&request.level).map(Self).ok_or_else(|| {
            let given = &request.level;
            Failure::new(
                Code::BadRequest,
                format!("the level is `{given}`; use debug, info, warn or error"),
            )
        })
    }

    async fn run(self, cx: Context) -> Result<Output<Self::Answer>, Failure> {
        let previous = cx.telemetry().set_log_level(self.0);
        let (level, previous) = (level_name(self.0), level_name(previous));
        if level != previous {
            warn!(level, previous, by = %cx.caller().actor.name, "the log level has changed");
        }
        Ok(Output::one(settings::LogLevel {
            level,
            previous: Some(previous),
        }))
    }
}
