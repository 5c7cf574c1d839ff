//! Returns the key pair that signs the tenant's tokens of an audience now (`rest.md` §7).

use super::super::{Access, Context, Family, Operation, Output};
use super::{key_pair, tokens};
use crate::auth::{KeyUse, Permission, ROLE_ADMIN};
use crate::error::{Code, Failure};
use crate::event::{
    EventType,
    payload::{self, AsText, key_pairs},
};

pub(in crate::operation) struct GetKeyPair {
    used_for: KeyUse,
}

impl Operation for GetKeyPair {
    type Payload = key_pairs::Get;
    type Answer = key_pairs::KeyPair;

    const REQUEST: EventType = EventType::KeyPairGetRequest;
    const RESPONSE: EventType = EventType::KeyPairGetResponse;
    const FAMILY: Family = Family::Search;
    const ACCESS: Access = Access::Read;
    const NEEDS: Permission = Permission::Role(ROLE_ADMIN);

    fn parse(payload: &str) -> Result<Self, Failure> {
        let request: key_pairs::Get = payload::decode(payload)?;
        let used_for = super::used_for(&request.audience)?;
        Ok(Self { used_for })
    }

    async fn run(self, cx: Context) -> Result<Output<Self::Answer>, Failure> {
        let tokens = tokens(&cx)?;
        let known = tokens.directory().known();
        let signer = known.signer(&cx.caller().tenant, self.used_for, cx.storage().now());
        let answer = if let Some(pair) = signer {
            key_pair(&cx, pair)
        } else {
            let (key, since) = tokens.settings_key(self.used_for).ok_or_else(|| {
                let audience = self.used_for.as_str();
                Failure::new(
                    Code::KeypairNotFound,
                    format!("no key pair signs for the audience `{audience}`; issue one"),
                )
                .with("audience", audience)
            })?;
            key_pairs::KeyPair {
                key_id: (&*key.name).into(),
                algorithm: key_pairs::ALGORITHM,
                public_key: (&*key.info).into(),
                active: true,
                valid_from: AsText(since),
                valid_to: None,
            }
        };
        Ok(Output::one(answer))
    }
}
