//! Administration of clients, keys and `OpenID` Connect providers (`rest.md` §7).
//!
//! Entries are stored, and also held in memory, because every token is checked against them.
//! Changes are serialized, stored and then published ([`store`]); a change is completed even if its
//! caller disconnects ([`see_through`]), because the stored and the published state must not
//! differ. None of this is a commit, and answers may contain a secret that is returned once: these
//! operations reject idempotency keys.

mod create_client;
mod delete_client;
mod delete_key;
mod delete_provider;
mod get_key_pair;
mod invalidate_key;
mod invalidate_provider;
mod issue_key_pair;
mod key;
mod list_clients;
mod list_providers;
mod list_trusted_keys;
mod provider;
mod reactivate_key;
mod reactivate_provider;
mod register_provider;
mod register_trusted_key;
mod reload_providers;
mod reset_client_secret;
mod trusted_keys;
mod update_provider;

use std::{panic::resume_unwind, sync::Arc, time::Duration};

use tokio_util::sync::CancellationToken;
use tracing::{Instrument as _, error, info, warn};

use super::Context;
use crate::auth::{
    Authenticator, BadRecord, Change, Entry, KeyPair, KeyUse, Known, NotSealed, Registered, Rules,
    Tokens, TrustedKey, UnknownUse, Validity, oidc::Provider,
};
use crate::clock::Timestamp;
use crate::error::{Code, Failure};
use crate::event::payload::{AsText, clients, key_pairs};
use crate::runtime::again;
use crate::storage::{self, Identity, IdentityChange, IdentityKind, Storage};

pub(super) use create_client::CreateClient;
pub(super) use delete_client::DeleteClient;
pub(super) use delete_key::{DeleteKeyPair, DeleteTrustedKey};
pub(super) use delete_provider::DeleteProvider;
pub(super) use get_key_pair::GetKeyPair;
pub(super) use invalidate_key::{InvalidateKeyPair, InvalidateTrustedKey};
pub(super) use invalidate_provider::InvalidateProvider;
pub(super) use issue_key_pair::IssueKeyPair;
pub(super) use list_clients::ListClients;
pub(super) use list_providers::ListProviders;
pub(super) use list_trusted_keys::ListTrustedKeys;
pub(super) use reactivate_key::{ReactivateKeyPair, ReactivateTrustedKey};
pub(super) use reactivate_provider::ReactivateProvider;
pub(super) use register_provider::RegisterProvider;
pub(super) use register_trusted_key::RegisterTrustedKey;
pub(super) use reload_providers::ReloadProviders;
pub(super) use reset_client_secret::ResetClientSecret;
pub(super) use update_provider::UpdateProvider;

/// Why what is stored could not be made known.
#[derive(Debug, thiserror::Error)]
pub enum Unknown {
    #[error("clients, keys and providers could not be read")]
    Storage(#[from] storage::Error),
    #[error(transparent)]
    Record(#[from] BadRecord),
    #[error(transparent)]
    Seal(#[from] NotSealed),
}

/// Has known what is stored, and nothing else. What was stored before the settings gave a key to
/// encrypt it is encrypted now.
pub async fn recall(storage: &Storage, tokens: &Tokens) -> Result<(), Unknown> {
    let change = tokens.directory().change().await;
    loop {
        recall_in(storage, tokens, &change).await?;
        let Some(seal) = tokens.seal() else {
            return Ok(());
        };
        let pairs = change.known().sealed(seal)?;
        if pairs.is_empty() {
            return Ok(());
        }
        let keys = pairs.len();
        let sealed = pairs
            .into_iter()
            .map(|pair| Edit::Keep(Entry::KeyPair(pair.into())));
        let edits: Vec<_> = sealed.collect();
        let changes = edits.iter().map(Edit::stored).collect();
        let seen = tokens.directory().includes();
        match storage.change_identities(changes, seen).await {
            Ok(()) => {}
            // Another process was first: it may have encrypted them, too.
            Err(storage::Error::Conflict) => continue,
            Err(error) => return Err(error.into()),
        }
        apply(&change, edits);
        info!(
            keys,
            "private keys that were stored unencrypted were encrypted"
        );
        return Ok(());
    }
}

/// Has known what other processes have changed up to now.
async fn catch_up(storage: &Storage, tokens: &Tokens) -> Result<(), Unknown> {
    if tokens.directory().includes() >= storage.identity_changes() {
        return Ok(());
    }
    let change = tokens.directory().change().await;
    if tokens.directory().includes() < storage.identity_changes() {
        recall_in(storage, tokens, &change).await?;
    }
    Ok(())
}

/// Learns which clients, keys and providers any process has changed before this was called, so that
/// credentials that were revoked anywhere are refused from here on.
pub async fn refresh(storage: &Storage, authenticator: &Authenticator) -> Result<(), Failure> {
    if let Some(tokens) = authenticator.tokens() {
        storage.refresh().await?;
        catch_up(storage, tokens)
            .await
            .map_err(|error| match error {
                Unknown::Storage(error) => error.into(),
                Unknown::Record(_) | Unknown::Seal(_) => Failure::internal(error.to_string()),
            })?;
    }
    Ok(())
}

/// Has the changes of other processes known when they are made, which ends the streams of revoked
/// credentials, until `stop` is cancelled.
pub async fn follow(storage: Storage, tokens: Tokens, stop: CancellationToken) {
    const PAUSE: Duration = Duration::from_secs(1);
    let followed = async {
        loop {
            storage
                .identities_changed(tokens.directory().includes())
                .await;
            if let Err(error) = catch_up(&storage, &tokens).await {
                warn!(%error, "clients, keys and providers could not be reloaded; retrying");
                tokio::time::sleep(PAUSE).await;
            }
        }
    };
    stop.run_until_cancelled(followed).await;
}

async fn recall_in(storage: &Storage, tokens: &Tokens, change: &Change) -> Result<(), Unknown> {
    let changes = storage.identity_changes();
    let (mut known, before) = (Known::default(), change.known());
    for stored in storage.identities().await? {
        let Identity {
            kind,
            name,
            tenant,
            record,
        } = stored;
        let entry = match kind {
            IdentityKind::Client => Entry::Client(Registered::read(&name, tenant, &record)?.into()),
            IdentityKind::KeyPair => {
                let read = KeyPair::read(&name, tenant.clone(), &record, tokens.seal());
                let why = match &read {
                    Ok(pair) => pair.locked(),
                    Err(error) => Some(error.clone()),
                };
                if let Some(error) = why {
                    if !before.is_unusable(&name) {
                        warn!(%error, %tenant, "a key pair signs nothing here; until that changes, the key of the settings signs for its tenant");
                    }
                    known.note_unusable(&name);
                }
                // One that cannot be read must not take down the others, and other tenants.
                let Ok(pair) = read else { continue };
                Entry::KeyPair(pair.into())
            }
            IdentityKind::TrustedKey => {
                Entry::TrustedKey(TrustedKey::read(&name, tenant, &record)?.into())
            }
            IdentityKind::Provider => {
                Entry::Provider(Provider::read(&name, tenant, &record)?.into())
            }
        };
        known.put(entry);
    }
    change.replace(known);
    change.included(changes);
    Ok(())
}

/// While authentication is mocked there is nothing to administer.
pub(super) fn offered(rules: &Rules) -> Result<(), Failure> {
    if rules.is_mocked {
        Err(mocked())
    } else {
        Ok(())
    }
}

fn mocked() -> Failure {
    Failure::new(
        Code::NotImplemented,
        "authentication is mocked; clients and keys require CYODA_IAM_MODE=jwt",
    )
}

/// What knows tokens.
fn tokens(cx: &Context) -> Result<Tokens, Failure> {
    cx.authenticator().tokens().cloned().ok_or_else(mocked)
}

/// Completes a change even if its caller disconnects. It is made again if another process has
/// changed clients, keys or providers first, because it may not be what was judged by then.
async fn see_through<T, F>(
    cx: &Context,
    tokens: Tokens,
    mut change: impl FnMut(Context, Tokens) -> F + Send + 'static,
) -> Result<T, Failure>
where
    T: Send + 'static,
    F: Future<Output = Result<T, Failure>> + Send + 'static,
{
    let context = cx.clone();
    let changed = async move { again(|| change(context.clone(), tokens.clone())).await };
    let changed = cx.in_flight().spawn(changed.in_current_span());
    changed.await.unwrap_or_else(|ended| {
        let Ok(panic) = ended.try_into_panic() else {
            return Err(storage::Error::Stopped.into());
        };
        resume_unwind(panic)
    })
}

/// A change of what is stored and known.
enum Edit {
    Keep(Entry),
    Forget(Entry),
}

impl Edit {
    fn stored(&self) -> IdentityChange {
        let (Self::Keep(entry) | Self::Forget(entry)) = self;
        let kind = match entry {
            Entry::Client(_) => IdentityKind::Client,
            Entry::KeyPair(_) => IdentityKind::KeyPair,
            Entry::TrustedKey(_) => IdentityKind::TrustedKey,
            Entry::Provider(_) => IdentityKind::Provider,
        };
        let (name, tenant) = (entry.name(), entry.tenant().clone());
        match self {
            Self::Keep(entry) => IdentityChange::Keep(Identity {
                kind,
                name,
                tenant,
                record: entry.record().into(),
            }),
            Self::Forget(_) => IdentityChange::Forget { kind, name, tenant },
        }
    }
}

/// Has edits known that are stored.
fn apply(change: &Change, edits: Vec<Edit>) {
    change.edit(|known| {
        for edit in edits {
            match edit {
                Edit::Keep(entry) => known.put(entry),
                Edit::Forget(entry) => known.drop(&entry),
            }
        }
    });
}

/// Stores edits, all or none, and has them known.
async fn store(
    cx: &Context,
    tokens: &Tokens,
    change: &Change,
    edits: Vec<Edit>,
) -> Result<(), Failure> {
    let changes = edits.iter().map(Edit::stored).collect();
    let seen = tokens.directory().includes();
    match cx.storage().change_identities(changes, seen).await {
        Ok(()) => {
            apply(change, edits);
            Ok(())
        }
        Err(failed) => {
            // Whether it was written is not known, but what is stored counts.
            if let Err(error) = recall_in(cx.storage(), tokens, change).await {
                error!(%error, "clients, keys and providers could not be reloaded; restart the service");
            }
            Err(failed.into())
        }
    }
}

/// The client of that name, which must be the tenant's. Another tenant's is as unknown as none;
/// that of the settings is known, and cannot be changed here.
fn client_of(
    cx: &Context,
    tokens: &Tokens,
    known: &Known,
    name: &str,
) -> Result<Arc<Registered>, Failure> {
    let tenant = &cx.caller().tenant;
    let client = known.client(name).filter(|client| client.tenant == *tenant);
    client.cloned().ok_or_else(|| {
        let is_of_settings = tokens
            .bootstrap()
            .is_some_and(|(client, _)| *client.id == *name && client.tenant == *tenant);
        let more = if is_of_settings {
            ": it is the client of CYODA_BOOTSTRAP_CLIENT_ID, which only the settings can change"
        } else {
            ""
        };
        clients::not_found(name, more)
    })
}

/// The key pair of that name, which must be the tenant's. Another tenant's is as unknown as none;
/// the key of the settings is known, and cannot be changed here.
fn key_pair_of(
    cx: &Context,
    tokens: &Tokens,
    known: &Known,
    name: &str,
) -> Result<Arc<KeyPair>, Failure> {
    let pair = known.key_pair(name);
    let pair = pair.filter(|pair| pair.tenant == cx.caller().tenant);
    pair.cloned().ok_or_else(|| {
        let more = if tokens.is_settings_key(name) {
            ": it is the key of CYODA_JWT_SIGNING_KEY, which only the settings can change"
        } else {
            ""
        };
        key_pairs::not_found(name, more)
    })
}

/// A key pair, as it is answered.
fn key_pair(cx: &Context, pair: &KeyPair) -> key_pairs::KeyPair {
    key_pairs::KeyPair {
        key_id: (&*pair.name).into(),
        algorithm: key_pairs::ALGORITHM,
        public_key: (&*pair.public().info).into(),
        active: pair.validity.is_active(cx.storage().now()),
        valid_from: AsText(pair.validity.from),
        valid_to: Some(AsText(pair.validity.to)),
    }
}

fn used_for(audience: &str) -> Result<KeyUse, Failure> {
    audience
        .parse()
        .map_err(|error: UnknownUse| Failure::new(Code::BadRequest, error.to_string()))
}

/// A time that is not over, and begins before it ends.
fn validity(from: Timestamp, to: Timestamp, now: Timestamp) -> Result<Validity, Failure> {
    let why = if to <= now {
        "validTo is not in the future"
    } else if to <= from {
        "validTo is not after validFrom"
    } else {
        return Ok(Validity::new(from, to));
    };
    Err(Failure::new(Code::BadRequest, why))
}
