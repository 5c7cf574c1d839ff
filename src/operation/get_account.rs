//! Returns the authenticated caller (`rest.md` §7).

use std::sync::Arc;

use super::{Access, Context, Family, Operation, Output};
use crate::error::Failure;
use crate::event::{
    EventType,
    payload::{self, account},
};

pub(super) struct GetAccount;

impl Operation for GetAccount {
    type Payload = account::Get;
    type Answer = account::Account;

    const REQUEST: EventType = EventType::AccountGetRequest;
    const RESPONSE: EventType = EventType::AccountGetResponse;
    const FAMILY: Family = Family::Search;
    const ACCESS: Access = Access::Read;

    fn parse(payload: &str) -> Result<Self, Failure> {
        payload::decode::<account::Get>(payload).map(|_| Self)
    }

    async fn run(self, cx: Context) -> Result<Output<Self::Answer>, Failure> {
        let caller = cx.caller();
        let roles = caller.roles.iter();
        let roles = roles.map(|role| account::Role { id: role.into() });
        Ok(Output::one(account::Account {
            user_account_info: account::UserAccount {
                user_id: Arc::clone(&caller.actor.name),
                user_name: caller.user_name().into(),
                legal_entity: account::LegalEntity {
                    id: caller.tenant.shared(),
                    name: caller.tenant_name().into(),
                },
                roles: roles.collect(),
                current_subscription: account::Subscription::unlimited(caller.tenant.shared()),
            },
        }))
    }
}
