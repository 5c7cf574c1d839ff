//! Payloads about connected compute members (`stream.md` §3).

use schemars::JsonSchema;
use serde::Deserialize;

use super::{Object, RequiredText, list, success, text_list};
use crate::clock::Timestamp;
use crate::id::MemberId;

/// What a process says it is called that is the only one (`config-and-cli.md` §11).
const NODE: &str = "standalone";

#[derive(Deserialize, JsonSchema)]
pub struct Get {
    #[serde(rename = "id")]
    _id: RequiredText,
}

/// A connected member, as it is told.
pub struct Member<T> {
    pub id: MemberId,
    pub tags: T,
    pub joined: Timestamp,
    pub seen: Timestamp,
    pub in_flight: usize,
    pub served: u64,
    pub failed: u64,
}

pub fn members<'a>(
    request: &str,
    members: impl Iterator<Item = Member<impl Iterator<Item = &'a str>>>,
) -> String {
    let number = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
    let members = members.map(|member| {
        Object::new()
            .text("memberId", &member.id.to_string())
            .raw("tags", &text_list(member.tags))
            .text("node", NODE)
            .text("joinedAt", &member.joined.to_string())
            .number(
                "inFlight",
                i64::try_from(member.in_flight).unwrap_or(i64::MAX),
            )
            .number("served", number(member.served))
            .number("failed", number(member.failed))
            .text("lastSeen", &member.seen.to_string())
            .finish()
    });
    success(request, &[])
        .text("requestId", request)
        .raw("members", &list(members))
        .finish()
}
