//! Lists the trusted keys of the tenant (`rest.md` §7), including expired ones.

use super::super::{Access, Context, Family, Operation, Output};
use super::{
    tokens,
    trusted_keys::{answer, offered},
};
use crate::auth::{Permission, ROLE_ADMIN, Rules};
use crate::error::Failure;
use crate::event::{
    EventType,
    payload::{self, trusted_keys},
};

pub(in crate::operation) struct ListTrustedKeys;

impl Operation for ListTrustedKeys {
    type Payload = trusted_keys::Get;
    type Answer = trusted_keys::TrustedKeys;

    const REQUEST: EventType = EventType::TrustedKeysGetRequest;
    const RESPONSE: EventType = EventType::TrustedKeysGetResponse;
    const FAMILY: Family = Family::Search;
    const ACCESS: Access = Access::Read;
    const NEEDS: Permission = Permission::Role(ROLE_ADMIN);

    fn offered(rules: &Rules) -> Result<(), Failure> {
        offered(rules)
    }

    fn parse(payload: &str) -> Result<Self, Failure> {
        payload::decode::<trusted_keys::Get>(payload).map(|_| Self)
    }

    async fn run(self, cx: Context) -> Result<Output<Self::Answer>, Failure> {
        let known = tokens(&cx)?.directory().known();
        let keys = known.trusted_keys_of(&cx.caller().tenant);
        let keys = keys.into_iter().map(|key| answer(&cx, key));
        Ok(Output::one(trusted_keys::TrustedKeys {
            trusted_keys: keys.collect(),
        }))
    }
}
