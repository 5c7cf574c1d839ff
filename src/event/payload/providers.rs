//! Payloads about providers of tokens that a tenant trusts (`rest.md` §7).

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

use super::{Answer, AsText, RequestId, RequiredText};
use crate::clock::Timestamp;
use crate::error::{Code, Failure};
use crate::id::ProviderId;

/// How long the place of a discovery document is at most, in characters; also how long a name is
/// that tokens say.
const TEXT_CHARS_MAX: usize = 1_000;

/// How many issuers and how many audiences a provider has at most.
const NAMES_MAX: usize = 10;

/// How long the name of a claim is at most, in characters.
const CLAIM_CHARS_MAX: usize = 100;

/// A request about all of them.
#[derive(Deserialize, JsonSchema)]
pub struct All {
    #[serde(rename = "id")]
    _id: RequiredText,
}

/// A request for the list of them.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct List {
    #[serde(rename = "id")]
    _id: RequiredText,
    /// Whether to omit invalidated ones; false by default.
    #[serde(default)]
    active_only: Option<bool>,
}

impl List {
    pub fn is_active_only(&self) -> bool {
        self.active_only.unwrap_or(false)
    }
}

/// A request about one of them.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct One {
    #[serde(rename = "id")]
    _id: RequiredText,
    /// A UUID.
    provider_id: String,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Register {
    #[serde(rename = "id")]
    _id: RequiredText,
    /// The address of the discovery document, for instance
    /// `https://id.example/.well-known/openid-configuration`.
    well_known_config_uri: String,
    /// The accepted issuers; without any, the issuer of the document.
    #[serde(default)]
    issuers: Option<Vec<String>>,
    /// The accepted audiences; without any, all.
    #[serde(default)]
    expected_audiences: Option<Vec<String>>,
    /// The claim with the roles; if absent, that of the settings.
    #[serde(default)]
    roles_claim: Option<String>,
}

/// A change: absent members stay, and `null` or an empty list removes the value.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Update {
    #[serde(rename = "id")]
    _id: RequiredText,
    /// A UUID.
    provider_id: String,
    /// Cannot be changed: the present value, or absent.
    #[serde(default)]
    well_known_config_uri: Option<String>,
    #[serde(default)]
    #[schemars(with = "Option<Vec<String>>")]
    issuers: Said<Vec<String>>,
    #[serde(default)]
    #[schemars(with = "Option<Vec<String>>")]
    expected_audiences: Said<Vec<String>>,
    #[serde(default)]
    #[schemars(with = "Option<String>")]
    roles_claim: Said<String>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Reactivate {
    #[serde(rename = "id")]
    _id: RequiredText,
    /// A UUID.
    provider_id: String,
    /// Whether to accept tokens signed with the keys it had when it was invalidated; if false, only
    /// those signed with newer keys. True by default.
    #[serde(default, rename = "reactivateKeys")]
    with_keys: Option<bool>,
}

/// What a change says of a member.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Said<T> {
    /// It stays.
    #[default]
    Nothing,
    Away,
    This(T),
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Said<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let given = Option::deserialize(deserializer)?;
        Ok(given.map_or(Self::Away, Self::This))
    }
}

/// What a registration says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Registration {
    pub well_known: String,
    pub issuers: Vec<Box<str>>,
    pub audiences: Vec<Box<str>>,
    pub roles_claim: Option<Box<str>>,
}

/// What a change says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Changes {
    /// The one it has, or none.
    pub well_known: Option<String>,
    pub issuers: Said<Vec<Box<str>>>,
    pub audiences: Said<Vec<Box<str>>>,
    pub roles_claim: Said<Box<str>>,
}

impl<T> Said<T> {
    fn try_map<U>(self, map: impl FnOnce(T) -> Result<U, Failure>) -> Result<Said<U>, Failure> {
        Ok(match self {
            Self::Nothing => Said::Nothing,
            Self::Away => Said::Away,
            Self::This(this) => Said::This(map(this)?),
        })
    }
}

impl<T: Default> Said<T> {
    /// Does to what there is what is said.
    pub fn change(self, there: &mut T) {
        match self {
            Self::Nothing => {}
            Self::Away => *there = T::default(),
            Self::This(this) => *there = this,
        }
    }
}

impl One {
    pub fn provider(&self) -> Result<ProviderId, Failure> {
        id(&self.provider_id)
    }
}

impl Register {
    pub fn registration(self) -> Result<Registration, Failure> {
        Ok(Registration {
            well_known: bounded(
                "wellKnownConfigUri",
                self.well_known_config_uri,
                TEXT_CHARS_MAX,
            )?,
            issuers: names("issuers", self.issuers.unwrap_or_default())?,
            audiences: names(
                "expectedAudiences",
                self.expected_audiences.unwrap_or_default(),
            )?,
            roles_claim: self.roles_claim.map(claim).transpose()?,
        })
    }
}

impl Update {
    pub fn provider(&self) -> Result<ProviderId, Failure> {
        id(&self.provider_id)
    }

    pub fn changes(self) -> Result<Changes, Failure> {
        let audiences = self.expected_audiences;
        Ok(Changes {
            well_known: self.well_known_config_uri,
            issuers: self.issuers.try_map(|list| names("issuers", list))?,
            audiences: audiences.try_map(|list| names("expectedAudiences", list))?,
            roles_claim: self.roles_claim.try_map(claim)?,
        })
    }
}

impl Reactivate {
    pub fn provider(&self) -> Result<ProviderId, Failure> {
        id(&self.provider_id)
    }

    pub fn with_keys(&self) -> bool {
        self.with_keys.unwrap_or(true)
    }
}

fn bad(message: String) -> Failure {
    Failure::new(Code::BadRequest, message)
}

fn id(text: &str) -> Result<ProviderId, Failure> {
    let bad = |_| bad(format!("`{text}` is not a UUID")).with("parameter", "providerId");
    text.parse().map_err(bad)
}

fn bounded(member: &str, text: String, chars_max: usize) -> Result<String, Failure> {
    let chars = text.chars().count();
    if (1..=chars_max).contains(&chars) {
        return Ok(text);
    }
    Err(bad(format!(
        "`{member}` has {chars} characters; it needs 1 to {chars_max}"
    )))
}

fn names(member: &str, list: Vec<String>) -> Result<Vec<Box<str>>, Failure> {
    if list.len() > NAMES_MAX {
        let count = list.len();
        return Err(bad(format!(
            "`{member}` has {count} items; {NAMES_MAX} are allowed"
        )));
    }
    list.into_iter()
        .map(|text| bounded(member, text, TEXT_CHARS_MAX).map(Into::into))
        .collect()
}

fn claim(name: String) -> Result<Box<str>, Failure> {
    bounded("rolesClaim", name, CLAIM_CHARS_MAX).map(Into::into)
}

/// A provider of tokens that a tenant trusts.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "OidcProvider")]
pub struct Provider {
    pub id: AsText<ProviderId>,
    pub well_known_config_uri: String,
    /// Whether its tokens are accepted.
    pub active: bool,
    pub created_at: AsText<Timestamp>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub issuers: Vec<Box<str>>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub expected_audiences: Vec<Box<str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub roles_claim: Option<Box<str>>,
}

/// The OIDC providers of the tenant.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "OidcProviders")]
pub struct Providers {
    pub providers: Vec<Provider>,
}

impl Answer for Providers {
    fn placeholder() -> Option<Self> {
        Some(Self {
            providers: Vec::new(),
        })
    }
}

/// The answer to a request about one of them.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "OidcProviderAnswer")]
pub struct OneProvider {
    pub provider: Provider,
}

impl Answer for OneProvider {
    const REQUEST_ID: RequestId = RequestId::OnSuccess;
}

/// The answer to a deletion.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "OidcProviderDeleted")]
pub struct Deleted {
    pub provider_id: AsText<ProviderId>,
}

impl Answer for Deleted {
    const REQUEST_ID: RequestId = RequestId::OnSuccess;
}

/// The answer to a request for the keys of all providers.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "OidcProvidersReloaded")]
pub struct Reloaded {
    /// The active ones.
    pub providers: Vec<ReloadedProvider>,
}

impl Answer for Reloaded {
    fn placeholder() -> Option<Self> {
        Some(Self {
            providers: Vec::new(),
        })
    }
}

/// The result of requesting the keys of a provider.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ReloadedProvider {
    id: AsText<ProviderId>,
    /// How many usable keys there are.
    #[serde(skip_serializing_if = "Option::is_none")]
    keys: Option<usize>,
    /// Why they are not known; those of before are used for an hour.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

impl ReloadedProvider {
    pub fn new(id: ProviderId, outcome: Result<usize, String>) -> Self {
        let (keys, error) = match outcome {
            Ok(keys) => (Some(keys), None),
            Err(error) => (None, Some(error)),
        };
        Self {
            id: AsText(id),
            keys,
            error,
        }
    }
}

pub fn not_found(id: ProviderId) -> Failure {
    Failure::new(Code::OidcProviderNotFound, "OIDC provider not found").with("id", id.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::payload::decode;

    fn registered(members: &str) -> Result<Registration, Failure> {
        let payload = format!(r#"{{"id":"1"{members}}}"#);
        decode::<Register>(&payload)?.registration()
    }

    fn changed(members: &str) -> Result<Changes, Failure> {
        let payload = format!(r#"{{"id":"1","providerId":"p"{members}}}"#);
        decode::<Update>(&payload)?.changes()
    }

    #[test]
    fn a_registration_has_bounds() {
        let uri = r#","wellKnownConfigUri":"https://x""#;
        let items = |count| format!("[{}]", vec![r#""i""#; count].join(","));
        for members in [
            String::new(),
            r#","issuers":null,"expectedAudiences":[],"rolesClaim":null"#.to_owned(),
            format!(r#","issuers":{0},"expectedAudiences":{0}"#, items(10)),
            format!(r#","rolesClaim":"{}""#, "é".repeat(100)),
        ] {
            assert!(registered(&format!("{uri}{members}")).is_ok(), "{members}");
        }
        for members in [
            String::new(),
            r#","wellKnownConfigUri":"""#.to_owned(),
            r#","wellKnownConfigUri":7"#.to_owned(),
            format!(r#","wellKnownConfigUri":"{}""#, "x".repeat(1_001)),
            format!(r#"{uri},"issuers":{}"#, items(11)),
            format!(r#"{uri},"issuers":[""]"#),
            format!(r#"{uri},"issuers":"i""#),
            format!(r#"{uri},"expectedAudiences":{}"#, items(11)),
            format!(r#"{uri},"expectedAudiences":[null]"#),
            format!(r#"{uri},"rolesClaim":"{}""#, "x".repeat(101)),
            format!(r#"{uri},"rolesClaim":"""#),
        ] {
            let refused = registered(&members).expect_err(&members);
            assert_eq!(refused.code(), Code::BadRequest, "{members}");
        }
    }

    #[test]
    fn a_change_keeps_takes_away_and_sets() {
        let kept = changed("").expect("a change");
        assert_eq!(
            (kept.issuers, kept.audiences, kept.roles_claim),
            (Said::Nothing, Said::Nothing, Said::Nothing)
        );
        let cleared = changed(r#","issuers":null,"expectedAudiences":[],"rolesClaim":null"#);
        let cleared = cleared.expect("a change");
        assert_eq!(
            (cleared.issuers, cleared.audiences, cleared.roles_claim),
            (Said::Away, Said::This(Vec::new()), Said::Away)
        );
        let set = changed(r#","issuers":["i"],"rolesClaim":"groups""#).expect("a change");
        let mut issuers = vec!["j".into(), "k".into()];
        set.issuers.change(&mut issuers);
        assert_eq!(issuers, ["i".into()]);
        assert_eq!(set.roles_claim, Said::This("groups".into()));
        set.audiences.change(&mut issuers);
        assert_eq!(issuers, ["i".into()]);
        Said::Away.change(&mut issuers);
        assert!(issuers.is_empty());
        assert!(changed(r#","issuers":7"#).is_err() && changed(r#","rolesClaim":[]"#).is_err());
    }
}
