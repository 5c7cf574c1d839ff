//! The settings of authentication (`config-and-cli.md` §2.5).

use std::time::Duration;

use super::{
    config::{ConfigError, Sources},
    settings::Setting,
};
use crate::auth::{
    Authenticator, Client, KeyUse, Roles, Rules, Seal, Secret, Settings, SigningKey, Tokens,
    TrustedKeyRules, UnknownUse, oidc,
};
use crate::clock::Clock;

/// How to create a key.
const HOW_TO_MAKE_A_KEY: &str = "make one with `openssl genpkey -algorithm RSA -pkeyopt rsa_keygen_bits:2048 -out interlock.pem`, \
    then `export CYODA_JWT_SIGNING_KEY_FILE=interlock.pem`";

const DAY: Duration = Duration::from_hours(24);

/// The configured way to authenticate callers.
pub(super) fn authenticator(
    sources: &mut Sources,
    clock: Clock,
) -> Result<Authenticator, ConfigError> {
    let is_mocked = is_mocked(sources)?;
    let bootstrap = bootstrap(sources)?;
    // All settings are read, and so checked, in either mode.
    let (issuer, audience) = (
        sources.string("JWT_ISSUER")?,
        sources.string("JWT_AUDIENCE")?,
    );
    let life = sources.count("JWT_EXPIRY_SECONDS")?;
    let used_for: KeyUse = sources
        .choice("JWT_BOOTSTRAP_AUDIENCE")?
        .parse()
        .map_err(|error: UnknownUse| ConfigError::Together(error.to_string()))?;
    let seal = seal(sources)?;
    let providers = providers(sources)?;
    let mock = mock(sources)?;
    let key = sources.string("JWT_SIGNING_KEY")?;
    if is_mocked {
        check_mock(sources, bootstrap.is_some() || !key.trim().is_empty())?;
        // Refusing to start is the purpose of this setting.
        return if sources.truth("REQUIRE_JWT")? {
            Err(ConfigError::Together(format!(
                "{}=true requires CYODA_IAM_MODE=jwt",
                sources.given_as("REQUIRE_JWT")
            )))
        } else {
            Ok(mock)
        };
    }
    if matches!(mock, Authenticator::MockChosen(_)) {
        return Err(ConfigError::Together(format!(
            "{}=true lets callers choose their identity, which CYODA_IAM_MODE=jwt does not allow",
            sources.given_as("IAM_MOCK_CALLER")
        )));
    }
    if key.trim().is_empty() {
        return Err(ConfigError::Together(format!(
            "CYODA_IAM_MODE=jwt needs a key in CYODA_JWT_SIGNING_KEY or CYODA_JWT_SIGNING_KEY_FILE: {HOW_TO_MAKE_A_KEY}"
        )));
    }
    let key = SigningKey::parse(&key).map_err(|error| {
        ConfigError::Together(format!(
            "{} is not usable: {error}; {HOW_TO_MAKE_A_KEY}",
            sources.given_as("JWT_SIGNING_KEY")
        ))
    })?;
    if bootstrap.is_none() {
        sources.warnings.push(
            "no client can obtain a token: set CYODA_BOOTSTRAP_CLIENT_ID and CYODA_BOOTSTRAP_CLIENT_SECRET"
                .to_owned(),
        );
    }
    Ok(Authenticator::Tokens(Tokens::new(Settings {
        key,
        used_for,
        seal,
        issuer,
        audience: Some(audience).filter(|audience| !audience.is_empty()),
        life: Duration::from_secs(life as u64),
        bootstrap,
        providers,
        clock,
    })))
}

/// Whether every caller is who the settings say.
fn is_mocked(sources: &Sources) -> Result<bool, ConfigError> {
    Ok(sources.choice("IAM_MODE")? != "jwt")
}

/// Reports settings of tokens that mocked authentication ignores: then every caller is an
/// administrator, although these settings suggest otherwise. An empty mode is what remains of a
/// variable that was not set.
fn check_mock(sources: &mut Sources, has_token_settings: bool) -> Result<(), ConfigError> {
    if !has_token_settings {
        return Ok(());
    }
    let why = "authentication is mocked although a signing key or a first client is set";
    if sources
        .raw("IAM_MODE")
        .is_some_and(|(_, mode)| mode.trim().is_empty())
    {
        return Err(ConfigError::Together(format!(
            "{} is empty, so {why}; set it to jwt, or to mock",
            sources.given_as("IAM_MODE")
        )));
    }
    sources.warnings.push(format!(
        "{why}; set CYODA_IAM_MODE=jwt to authenticate callers"
    ));
    Ok(())
}

/// The key that encrypts stored private keys and variables.
pub(super) fn seal(sources: &Sources) -> Result<Option<Seal>, ConfigError> {
    let key = sources.string("KEY_ENCRYPTION_KEY")?;
    if key.trim().is_empty() {
        return Ok(None);
    }
    let seal = Seal::parse(&key).map_err(|error| {
        ConfigError::Together(format!(
            "INTERLOCK_KEY_ENCRYPTION_KEY is not usable: {error}"
        ))
    })?;
    Ok(Some(seal))
}

/// What tenants may administer.
pub(super) fn rules(sources: &Sources) -> Result<Rules, ConfigError> {
    let days = |name| {
        let days = u32::try_from(sources.count(name)?).unwrap_or(u32::MAX);
        Ok(DAY.saturating_mul(days))
    };
    let trusted_keys = sources.count_or_none("IAM_TRUSTED_KEY_MAX_PER_TENANT")?;
    Ok(Rules {
        is_mocked: is_mocked(sources)?,
        may_make_administrators: sources.truth("IAM_M2M_ADMIN_ROLE_ENABLED")?,
        key_pair_life: days("IAM_KEYPAIR_DEFAULT_VALIDITY_DAYS")?,
        trusted_keys: TrustedKeyRules {
            are_on: sources.truth("IAM_TRUSTED_KEY_REGISTRATION_ENABLED")?,
            max: Some(trusted_keys).filter(|max| *max > 0),
            life: days("IAM_TRUSTED_KEY_MAX_VALIDITY_DAYS")?,
            members_max: sources.count("IAM_TRUSTED_KEY_MAX_JWK_PROPERTIES")?,
        },
    })
}

/// Settings of `OpenID` Connect providers.
fn providers(sources: &Sources) -> Result<oidc::Settings, ConfigError> {
    let millis = |name| {
        sources
            .count(name)
            .map(|millis| Duration::from_millis(millis as u64))
    };
    Ok(oidc::Settings {
        rules: oidc::FetchRules {
            needs_https: sources.truth("OIDC_REQUIRE_HTTPS")?,
            allows_private: sources.truth("OIDC_ALLOW_PRIVATE_NETWORKS")?,
            connect: millis("OIDC_CONNECT_TIMEOUT_MS")?,
            answer: millis("OIDC_SOCKET_TIMEOUT_MS")?,
            turn: millis("OIDC_CONNECTION_REQUEST_TIMEOUT_MS")?,
        },
        roles_claim: sources.string("OIDC_ROLES_CLAIM")?.into(),
    })
}

/// The client of the settings.
fn bootstrap(sources: &mut Sources) -> Result<Option<Client>, ConfigError> {
    let id = sources.string("BOOTSTRAP_CLIENT_ID")?;
    let secret = sources.string("BOOTSTRAP_CLIENT_SECRET")?;
    if id.is_empty() != secret.is_empty() {
        return Err(ConfigError::Together(
            "CYODA_BOOTSTRAP_CLIENT_ID and CYODA_BOOTSTRAP_CLIENT_SECRET must be set together"
                .to_owned(),
        ));
    }
    let named = |name| -> Result<String, ConfigError> {
        let text = sources.string(name)?;
        if text.trim().is_empty() && !id.is_empty() {
            // The service would refuse the tokens that it gives to that client.
            return Err(ConfigError::Together(format!(
                "{} must not be empty where CYODA_BOOTSTRAP_CLIENT_ID is set",
                sources.given_as(name)
            )));
        }
        Ok(text)
    };
    let client = Client {
        tenant: named("BOOTSTRAP_TENANT_ID")?.into(),
        user: named("BOOTSTRAP_USER_ID")?.into(),
        id: id.as_str().into(),
        secret: Secret::new(&secret),
        roles: Roles::parse(&sources.string("BOOTSTRAP_ROLES")?),
    };
    if let Some(role) = client
        .roles
        .iter()
        .find(|role| role.contains(char::is_whitespace))
    {
        return Err(ConfigError::Together(format!(
            "{} has the role `{role}`, with a space; separate roles by commas",
            sources.given_as("BOOTSTRAP_ROLES")
        )));
    }
    if !client.id.is_empty() && client.roles.iter().next().is_none() {
        sources.warnings.push(format!(
            "{} is empty, so the first client may administer nothing and join no members",
            sources.given_as("BOOTSTRAP_ROLES")
        ));
    }
    Ok((!client.id.is_empty()).then_some(client))
}

fn mock(sources: &mut Sources) -> Result<Authenticator, ConfigError> {
    let roles = sources.string("IAM_MOCK_ROLES")?;
    let roles = if roles.trim().is_empty() {
        let default = Setting::find("IAM_MOCK_ROLES").map_or("", |setting| setting.default);
        sources
            .warnings
            .push(format!("CYODA_IAM_MOCK_ROLES is empty; {default} is used"));
        Roles::parse(default)
    } else {
        Roles::parse(&roles)
    };
    let kind = sources.choice("IAM_MOCK_KIND")?.parse().map_err(
        |error: crate::entity::UnknownActorKind| ConfigError::Together(error.to_string()),
    )?;
    let caller = Authenticator::mock_caller(roles, kind);
    Ok(if sources.truth("IAM_MOCK_CALLER")? {
        Authenticator::MockChosen(caller)
    } else {
        Authenticator::Mock(caller)
    })
}
