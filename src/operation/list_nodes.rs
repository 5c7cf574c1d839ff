//! Lists the processes that use the database.

use super::{Access, Context, Family, Operation, Output};
use crate::auth::{Permission, ROLE_ADMIN};
use crate::error::Failure;
use crate::event::{
    EventType,
    payload::{
        self,
        nodes::{self, Node, Nodes},
    },
};

pub(super) struct ListNodes;

impl Operation for ListNodes {
    type Payload = nodes::Get;
    type Answer = Nodes;

    const REQUEST: EventType = EventType::NodesGetRequest;
    const RESPONSE: EventType = EventType::NodesGetResponse;
    const FAMILY: Family = Family::Search;
    const ACCESS: Access = Access::Read;
    const NEEDS: Permission = Permission::Role(ROLE_ADMIN);

    fn parse(payload: &str) -> Result<Self, Failure> {
        payload::decode::<nodes::Get>(payload).map(|_| Self)
    }

    async fn run(self, cx: Context) -> Result<Output<Self::Answer>, Failure> {
        let (storage, tenant) = (cx.storage(), &cx.caller().tenant);
        let own = storage.node();
        let nodes = storage.nodes().await?;
        let here = cx.members().connected(tenant).len();
        // Members are written to the database in a cluster only.
        let elsewhere = storage.node_members(tenant).await?;
        let count = |row| elsewhere.iter().filter(|member| member.node == row).count();
        let nodes = nodes.into_iter().map(|node| Node {
            live: node.is_live(),
            members: if node.row == own {
                here
            } else {
                count(node.row)
            },
            beat_age_ms: u64::try_from(node.beat_age.as_millis()).unwrap_or(u64::MAX),
            name: node.name,
            address: node.address,
            version: node.version,
        });
        Ok(Output::one(Nodes {
            nodes: nodes.collect(),
        }))
    }
}
