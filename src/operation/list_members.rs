//! Lists the connected compute members of the caller's tenant (`stream.md` §3).

use super::{Access, Context, Family, Operation, Output};
use crate::error::Failure;
use crate::event::{
    EventType,
    payload::{
        self, AsText,
        members::{self, Member, Members, NODE},
    },
};

pub(super) struct ListMembers;

impl Operation for ListMembers {
    type Payload = members::Get;
    type Answer = Members;

    const REQUEST: EventType = EventType::ComputeMembersGetRequest;
    const RESPONSE: EventType = EventType::ComputeMembersGetResponse;
    const FAMILY: Family = Family::Search;
    const ACCESS: Access = Access::Read;

    fn parse(payload: &str) -> Result<Self, Failure> {
        payload::decode::<members::Get>(payload).map(|_| Self)
    }

    async fn run(self, cx: Context) -> Result<Output<Self::Answer>, Failure> {
        let connected = cx.members().connected(&cx.caller().tenant);
        let members = connected.iter().map(|member| Member {
            member_id: AsText(member.id),
            tags: member.tags.iter().map(Into::into).collect(),
            node: NODE,
            joined_at: AsText(member.joined),
            in_flight: member.in_flight,
            served: member.served,
            failed: member.failed,
            last_seen: AsText(member.seen),
        });
        Ok(Output::one(Members {
            members: members.collect(),
        }))
    }
}
