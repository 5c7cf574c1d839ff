//! Creates a client, and returns its secret once (`rest.md` §7).

use tracing::info;

use super::super::{Access, Context, Family, Operation, Output};
use super::{Edit, see_through, store, tokens};
use crate::auth::{Entry, Permission, ROLE_ADMIN, ROLE_M2M, Registered, Roles, Tokens};
use crate::error::{Code, Failure};
use crate::event::{
    EventType,
    payload::{self, clients},
};

/// How many clients a tenant may have: all of them are held in memory.
const CLIENTS_MAX: usize = 10_000;

pub(in crate::operation) struct CreateClient {
    with_admin_role: bool,
}

impl Operation for CreateClient {
    type Payload = clients::Create;
    type Answer = clients::Credentials;

    const REQUEST: EventType = EventType::ClientCreateRequest;
    const RESPONSE: EventType = EventType::ClientCreateResponse;
    const FAMILY: Family = Family::Entity;
    const ACCESS: Access = Access::Write;
    const ONCE: bool = false;
    const STORES: bool = false;
    const NEEDS: Permission = Permission::Role(ROLE_ADMIN);

    fn parse(payload: &str) -> Result<Self, Failure> {
        let request: clients::Create = payload::decode(payload)?;
        Ok(Self {
            with_admin_role: request.with_admin_role,
        })
    }

    async fn run(self, cx: Context) -> Result<Output<Self::Answer>, Failure> {
        let tokens = tokens(&cx)?;
        if self.with_admin_role && !cx.rules().may_make_administrators {
            return Err(Failure::new(
                Code::FeatureDisabled,
                "creating clients with the administrator role is disabled; CYODA_IAM_M2M_ADMIN_ROLE_ENABLED=true enables it",
            ));
        }
        let roles = if self.with_admin_role {
            Roles::of([ROLE_M2M, ROLE_ADMIN])
        } else {
            Roles::of([ROLE_M2M])
        };
        let created = move |cx, tokens| create(cx, tokens, roles.clone());
        let (client, secret) = see_through(&cx, tokens, created).await?;
        let roles = client.roles.iter().map(Into::into).collect();
        let credentials = clients::Credentials::new(client.id, secret, roles);
        Ok(Output::one(credentials))
    }
}

async fn create(
    cx: Context,
    tokens: Tokens,
    roles: Roles,
) -> Result<(Registered, String), Failure> {
    let (secret, hash) = tokens.new_secret().await?;
    let change = tokens.directory().change().await;
    let tenant = &cx.caller().tenant;
    if change.known().clients(tenant).len() >= CLIENTS_MAX {
        return Err(Failure::new(
            Code::BadRequest,
            format!("a tenant may have at most {CLIENTS_MAX} clients; delete unused ones"),
        ));
    }
    let client = Registered::new(tenant.clone(), roles, hash, cx.storage().now());
    let kept = Edit::Keep(Entry::Client(client.clone().into()));
    store(&cx, &tokens, &change, vec![kept]).await?;
    info!(client.id = %client.id, by = %cx.caller().actor.name, "a client was created");
    Ok((client, secret))
}
