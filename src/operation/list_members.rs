//! Lists the connected compute members of the caller's tenant (`stream.md` §3).

use std::{collections::HashMap, sync::Arc};

use super::{Access, Context, Family, Operation, Output};
use crate::cluster::Cluster;
use crate::compute::tasks::WorkerFacts;
use crate::error::Failure;
use crate::event::{
    EventType,
    payload::{
        self, AsText,
        members::{self, ComputeMembers, Member, NODE},
    },
};

pub(super) struct ListMembers;

impl Operation for ListMembers {
    type Payload = members::Get;
    type Answer = ComputeMembers;

    const REQUEST: EventType = EventType::ComputeMembersGetRequest;
    const RESPONSE: EventType = EventType::ComputeMembersGetResponse;
    const FAMILY: Family = Family::Search;
    const ACCESS: Access = Access::Read;

    fn parse(payload: &str) -> Result<Self, Failure> {
        payload::decode::<members::Get>(payload).map(|_| Self)
    }

    async fn run(self, cx: Context) -> Result<Output<Self::Answer>, Failure> {
        let tenant = &cx.caller().tenant;
        let own = cx.services().cluster.as_ref().map(Cluster::name);
        let node: Arc<str> = own.unwrap_or(NODE).into();
        let connected = cx.members().connected(tenant);
        let by_id = |facts: WorkerFacts| (facts.id.to_string(), facts);
        let announced = cx.channels().members(tenant).into_iter().map(by_id);
        let mut announced: HashMap<_, _> = announced.collect();
        let members = connected.iter().map(|member| {
            let announced = announced.remove(&member.id.to_string());
            (member, announced)
        });
        let members = members.map(|(member, announced)| Member {
            member_id: AsText(member.id),
            tags: member.tags.iter().map(Into::into).collect(),
            node: Arc::clone(&node),
            joined_at: AsText(member.joined),
            in_flight: member.in_flight,
            served: member.served,
            failed: member.failed,
            last_seen: AsText(member.seen),
            max_concurrency: announced
                .as_ref()
                .filter(|facts| facts.announces_max)
                .map(|facts| facts.max_concurrency),
            namespace: announced.as_ref().and_then(|facts| facts.namespace.clone()),
            actions: announced
                .as_ref()
                .map(|facts| facts.actions.clone())
                .unwrap_or_default(),
            labels: announced.map(|facts| facts.labels).unwrap_or_default(),
        });
        Ok(Output::one(ComputeMembers {
            members: members.collect(),
        }))
    }
}
