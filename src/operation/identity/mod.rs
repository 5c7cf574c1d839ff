//! Who may call: clients and keys (`rest.md` §7).
//!
//! What is made here is stored, and known in memory besides, because every token is looked at with
//! it. Each change takes a turn, is stored, and is then known ([`store`]); it goes on if who asked
//! for it has gone ([`see_through`]), since what is stored and what is known must not part.
//! None of it is a commit, and answers may hold a secret that is told once: these operations refuse
//! idempotency keys.

mod create_client;
mod delete_client;
mod list_clients;
mod reset_client_secret;

use std::{panic::resume_unwind, sync::Arc};

use tracing::{Instrument as _, error};

use super::Context;
use crate::auth::{BadRecord, Change, Known, Registered, Tokens};
use crate::error::{Code, Failure};
use crate::event::payload::clients;
use crate::storage::{self, IdentityChange, IdentityKind, Storage};

pub(super) use create_client::CreateClient;
pub(super) use delete_client::DeleteClient;
pub(super) use list_clients::ListClients;
pub(super) use reset_client_secret::ResetClientSecret;

/// Why what is stored could not be made known.
#[derive(Debug, thiserror::Error)]
pub enum Unknown {
    #[error("who may call could not be read")]
    Storage(#[from] storage::Error),
    #[error(transparent)]
    Record(#[from] BadRecord),
}

/// Has known what is stored, and nothing else.
pub async fn recall(storage: &Storage, tokens: &Tokens) -> Result<(), Unknown> {
    recall_in(storage, &tokens.directory().change().await).await
}

async fn recall_in(storage: &Storage, change: &Change) -> Result<(), Unknown> {
    let mut known = Known::default();
    for stored in storage.identities().await? {
        match stored.kind {
            IdentityKind::Client => {
                known.read_client(&stored.name, stored.tenant, &stored.record)?;
            }
            IdentityKind::KeyPair | IdentityKind::TrustedKey | IdentityKind::Provider => {}
        }
    }
    change.replace(known);
    Ok(())
}

/// What knows tokens. While authentication is mocked there is nothing to administer.
fn tokens(cx: &Context) -> Result<Tokens, Failure> {
    cx.authenticator().tokens().cloned().ok_or_else(|| {
        Failure::new(
            Code::NotImplemented,
            "authentication is mocked; clients and keys are where CYODA_IAM_MODE is `jwt`",
        )
    })
}

/// Sees a change through, even if who asked for it goes away meanwhile.
async fn see_through<T: Send + 'static>(
    cx: &Context,
    change: impl Future<Output = Result<T, Failure>> + Send + 'static,
) -> Result<T, Failure> {
    let change = cx.in_work().spawn(change.in_current_span());
    change.await.unwrap_or_else(|ended| {
        let Ok(panic) = ended.try_into_panic() else {
            return Err(storage::Error::Stopped.into());
        };
        resume_unwind(panic)
    })
}

/// Stores changes and has them known.
async fn store(
    cx: &Context,
    change: &Change,
    changes: Vec<IdentityChange>,
    edit: impl FnOnce(&mut Known) + Send,
) -> Result<(), Failure> {
    match cx.storage().change_identities(changes).await {
        Ok(()) => {
            change.edit(edit);
            Ok(())
        }
        Err(failed) => {
            // Whether it was written is not known, but what is stored counts.
            if let Err(error) = recall_in(cx.storage(), change).await {
                error!(%error, "who may call is not known anew; start again");
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
            ": it is that of CYODA_BOOTSTRAP_CLIENT_ID, which only the settings change"
        } else {
            ""
        };
        clients::not_found(name, more)
    })
}
