//! Returns the authenticated caller (`rest.md` §7).

use super::{Access, Answer, Context, Family, Operation};
use crate::error::Failure;
use crate::event::{
    EventType,
    payload::{self, account},
};

pub(super) struct GetAccount;

impl Operation for GetAccount {
    type Payload = account::Get;

    const REQUEST: EventType = EventType::AccountGetRequest;
    const RESPONSE: EventType = EventType::AccountGetResponse;
    const FAMILY: Family = Family::Search;
    const ACCESS: Access = Access::Read;

    fn parse(payload: &str) -> Result<Self, Failure> {
        payload::decode::<account::Get>(payload).map(|_| Self)
    }

    async fn run(self, cx: Context) -> Result<Answer, Failure> {
        let caller = cx.caller();
        let told = account::Account {
            user: &caller.actor.name,
            user_name: caller.user_name(),
            tenant: caller.tenant.as_str(),
            tenant_name: caller.tenant_name(),
            roles: caller.roles.iter(),
        };
        cx.answer(Self::RESPONSE, account::account(cx.request(), told))
    }
}
