//! Lists the clients of the tenant (`rest.md` §7), including that of the settings.

use super::super::{Access, Context, Family, Operation, Output};
use super::tokens;
use crate::auth::{Permission, ROLE_ADMIN};
use crate::error::Failure;
use crate::event::{
    EventType,
    payload::{self, AsText, clients},
};

pub(in crate::operation) struct ListClients;

impl Operation for ListClients {
    type Payload = clients::Get;
    type Answer = clients::Clients;

    const REQUEST: EventType = EventType::ClientsGetRequest;
    const RESPONSE: EventType = EventType::ClientsGetResponse;
    const FAMILY: Family = Family::Search;
    const ACCESS: Access = Access::Read;
    const NEEDS: Permission = Permission::Role(ROLE_ADMIN);

    fn parse(payload: &str) -> Result<Self, Failure> {
        payload::decode::<clients::Get>(payload).map(|_| Self)
    }

    async fn run(self, cx: Context) -> Result<Output<Self::Answer>, Failure> {
        let tokens = tokens(&cx)?;
        let tenant = &cx.caller().tenant;
        let bootstrap = tokens
            .bootstrap()
            .filter(|(client, _)| client.tenant == *tenant)
            .map(|(client, since)| (&*client.id, since, since, &client.roles));
        let registered = tokens.directory().known().clients(tenant);
        let registered = registered
            .iter()
            .map(|client| (&*client.id, client.created, client.updated, &client.roles));
        let clients =
            bootstrap
                .into_iter()
                .chain(registered)
                .map(|(name, created, updated, roles)| clients::Client {
                    name: name.into(),
                    created: AsText(created),
                    updated: AsText(updated),
                    roles: roles.iter().map(Into::into).collect(),
                });
        Ok(Output::one(clients::Clients {
            clients: clients.collect(),
        }))
    }
}
