//! Lists the connected compute members of the caller's tenant (`stream.md` §3).

use super::{Access, Answer, Context, Family, Operation};
use crate::error::Failure;
use crate::event::{
    EventType,
    payload::{
        self,
        members::{self, Member},
    },
};

pub(super) struct ListMembers;

impl Operation for ListMembers {
    type Payload = members::Get;

    const REQUEST: EventType = EventType::ComputeMembersGetRequest;
    const RESPONSE: EventType = EventType::ComputeMembersGetResponse;
    const FAMILY: Family = Family::Search;
    const ACCESS: Access = Access::Read;

    fn parse(payload: &str) -> Result<Self, Failure> {
        payload::decode::<members::Get>(payload).map(|_| Self)
    }

    async fn run(self, cx: Context) -> Result<Answer, Failure> {
        let connected = cx.members().connected(&cx.caller().tenant);
        let told = connected.iter().map(|member| Member {
            id: member.id,
            tags: member.tags.iter(),
            joined: member.joined,
            seen: member.seen,
            in_flight: member.in_flight,
            served: member.served,
            failed: member.failed,
        });
        cx.answer(Self::RESPONSE, members::members(cx.request(), told))
    }
}
