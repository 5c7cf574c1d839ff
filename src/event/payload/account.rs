//! Payloads about the caller (`rest.md` §7).

use std::sync::Arc;

use chrono::{DateTime, Utc};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Answer, RequiredText};

#[derive(Deserialize, JsonSchema)]
pub struct Get {
    #[serde(rename = "id")]
    _id: RequiredText,
}

/// The caller of the request.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Account")]
pub struct Account {
    pub user_account_info: UserAccount,
}

impl Answer for Account {}

/// The caller, as authenticated.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UserAccount {
    pub user_id: Arc<str>,
    pub user_name: String,
    /// The tenant.
    pub legal_entity: LegalEntity,
    pub roles: Vec<Role>,
    pub current_subscription: Subscription,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct LegalEntity {
    pub id: Arc<str>,
    pub name: String,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct Role {
    pub id: String,
}

/// A documented member. Nothing is sold, so it is always the same.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Subscription {
    id: &'static str,
    legal_entity_id: Arc<str>,
    status: &'static str,
    tier_name: &'static str,
    #[schemars(with = "DateTime<Utc>")]
    period_from: &'static str,
    #[schemars(with = "Vec<Value>")]
    limits: [(); 0],
}

impl Subscription {
    pub const fn unlimited(tenant: Arc<str>) -> Self {
        Self {
            id: "unlimited",
            legal_entity_id: tenant,
            status: "ACTIVE",
            tier_name: "unlimited",
            period_from: "2020-01-01T00:00:00Z",
            limits: [],
        }
    }
}
