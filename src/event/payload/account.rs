//! Payloads about the caller (`rest.md` §7).

use schemars::JsonSchema;
use serde::Deserialize;

use super::{Object, RequiredText, list, success};

#[derive(Deserialize, JsonSchema)]
pub struct Get {
    #[serde(rename = "id")]
    _id: RequiredText,
}

/// Who calls, as it is told.
pub struct Account<'a, R: Iterator<Item = &'a str>> {
    pub user: &'a str,
    pub user_name: &'a str,
    pub tenant: &'a str,
    pub tenant_name: &'a str,
    pub roles: R,
}

pub fn account<'a>(request: &str, account: Account<'a, impl Iterator<Item = &'a str>>) -> String {
    let entity = Object::new()
        .text("id", account.tenant)
        .text("name", account.tenant_name);
    let roles = account
        .roles
        .map(|role| Object::new().text("id", role).finish());
    // Nothing is sold: the documented members say so.
    let subscription = Object::new()
        .text("id", "unlimited")
        .text("legalEntityId", account.tenant)
        .text("status", "ACTIVE")
        .text("tierName", "unlimited")
        .text("periodFrom", "2020-01-01T00:00:00Z")
        .raw("limits", "[]");
    let info = Object::new()
        .text("userId", account.user)
        .text("userName", account.user_name)
        .raw("legalEntity", &entity.finish())
        .raw("roles", &list(roles))
        .raw("currentSubscription", &subscription.finish());
    success(request, &[])
        .text("requestId", request)
        .raw("userAccountInfo", &info.finish())
        .finish()
}
