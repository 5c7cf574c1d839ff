//! Token exchange (RFC 8693, `rest.md` §7): a client presents a subject's token, which a trusted
//! key of the client's tenant has signed, and receives a token with which it acts for the subject.
//!
//! The issued token has the subject and its roles as the trusted key signed them, and the actor. It
//! is worth no more than the token that was exchanged: it ends with that, belongs to the same
//! tenant, and does not have the client's roles.

use super::{
    Roles,
    claims::{Claims, NAME_BYTES_MAX, SubjectClaims},
    directory::Known,
    pair::KeyUse,
    subject_of,
    token::{BYTES_MAX, Minted, Proved, Refusal, Tokens, is_issued, key_named, validation},
    trusted::TrustedKey,
    turns::Peer,
};
use crate::clock::Timestamp;
use crate::error::Failure;
use crate::id::Tenant;

impl Tokens {
    /// A token for an authenticated client, in exchange for another one.
    pub(super) async fn exchange(
        &self,
        client: &str,
        secret: &str,
        subject: &str,
        peer: Peer,
    ) -> Result<Result<Minted, Refusal>, Failure> {
        let subject = subject.to_owned();
        let give = move |tokens: &Self, client: Proved| tokens.exchanged(&client, &subject);
        self.grant(client, secret, peer, give).await
    }

    fn exchanged(
        &self,
        client: &Proved,
        subject: &str,
    ) -> Result<Result<Minted, Refusal>, Failure> {
        let known = self.directory().known();
        let subject = match check(subject, &client.tenant, &known, self.now()) {
            Ok(subject) => subject,
            Err(refusal) => return Ok(Err(refusal)),
        };
        let claims = Claims {
            sub: Some(subject.user.clone()),
            caas_user_id: Some(subject.user),
            // Set even if there are none, so that no other claim is read as roles.
            user_roles: Some(subject.roles.iter().map(str::to_owned).collect()),
            act: Some(Claims::acting(&client.id)),
            subject_key: Some(subject.key),
            subject_key_registered: Some(subject.key_registered.micros()),
            ..Claims::default()
        };
        let minted = self.signed(client, subject.used_for, claims, Some(subject.expires))?;
        Ok(Ok(minted))
    }
}

/// The subject for which a client may act.
#[derive(Debug, PartialEq, Eq)]
struct Subject {
    user: String,
    /// The trusted key that signed its token.
    key: String,
    key_registered: Timestamp,
    roles: Roles,
    used_for: KeyUse,
    expires: Timestamp,
}

/// The subject of a token that the tenant trusts.
fn check(token: &str, tenant: &Tenant, known: &Known, now: Timestamp) -> Result<Subject, Refusal> {
    let (claims, key) = trusted(token, tenant, known, now).ok_or(Refusal::Untrusted)?;
    // Only a provider vouches for its users.
    let is_user = |user: &String| {
        (1..=NAME_BYTES_MAX).contains(&user.len())
            && !user.chars().any(char::is_control)
            && subject_of(user).is_none()
    };
    let user = claims.sub.filter(is_user);
    let user = user.ok_or(Refusal::Untrusted)?;
    // Checked last: only the tenant's own issuers can see the difference.
    if claims.caas_org_id.as_deref() != Some(tenant.as_str()) {
        return Err(Refusal::OtherTenant);
    }
    Ok(Subject {
        user,
        key: key.name.to_string(),
        key_registered: key.created,
        roles: Roles::of(claims.user_roles.iter().flatten().map(String::as_str)),
        used_for: key.used_for,
        expires: key
            .validity
            .to
            .min(Timestamp::from_micros(claims.exp.saturating_mul(1_000_000))),
    })
}

/// The claims of a token that a trusted key of the tenant has signed, and that key.
fn trusted<'a>(
    token: &str,
    tenant: &Tenant,
    known: &'a Known,
    now: Timestamp,
) -> Option<(SubjectClaims, &'a TrustedKey)> {
    if token.len() > BYTES_MAX {
        return None;
    }
    let name = key_named(token)?;
    let key = known.trusted_key(&name);
    let key = key.filter(|key| key.tenant == *tenant)?;
    let mut validation = validation();
    // The audience of the token is not known here.
    validation.validate_aud = false;
    validation.set_required_spec_claims(&["exp", "sub"]);
    let claims = jsonwebtoken::decode::<SubjectClaims>(token, key.decoding(now)?, &validation)
        .ok()?
        .claims;
    let mut begins = claims.iat.into_iter().chain(claims.nbf);
    let is_issued = begins.all(|begins| is_issued(begins, now));
    // No clock skew is allowed for: a token in exchange ends with this one, so it would be expired.
    let is_current = claims.exp > now.millis().div_euclid(1_000);
    let is_trusted = is_issued && is_current && key.trusts(claims.iss.as_deref());
    is_trusted.then_some((claims, key))
}
