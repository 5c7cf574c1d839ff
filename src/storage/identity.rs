//! Who may call, as it is stored: clients, keys and providers (`rest.md` §7).
//!
//! What a record says is known to who made it. No change of one is a commit: it takes no position
//! and is written between two batches, as jobs are. There are few, and a token is looked at before
//! anyone knows whose it is, so all of them are read when the service starts, and again when another
//! process has changed them.

use std::sync::Arc;

use super::{
    Error, Storage,
    port::{Identity, IdentityChange, Upkeep},
};

/// How often a change is tried: between two tries the storage has become well again.
const TRIES: usize = 3;

impl Storage {
    /// Everything that is stored, of all tenants.
    pub async fn identities(&self) -> Result<Vec<Identity>, Error> {
        self.0.database.identities().await
    }

    /// How often other processes have changed what is stored, as far as is known.
    pub fn identity_changes(&self) -> u64 {
        *self.0.identities.borrow()
    }

    /// Returns once they have done so more often than that.
    pub async fn identities_changed(&self, seen: u64) {
        let mut changes = self.0.identities.subscribe();
        // The sender is as old as the storage.
        let _ = changes.wait_for(|changes| *changes > seen).await;
    }

    /// Makes changes, all of them or none; they are durable when this returns. They were judged by
    /// what includes so many changes of other processes (`seen`): if there are more, they are
    /// refused with [`Error::Conflict`]. After another error nobody knows whether they were made,
    /// until [`Self::identities`] is asked.
    pub async fn change_identities(
        &self,
        changes: Vec<IdentityChange>,
        seen: u64,
    ) -> Result<(), Error> {
        let changes: Arc<[IdentityChange]> = changes.into();
        let mut outcome = Ok(());
        for _ in 0..TRIES {
            // Whether it was written before a failure does not matter: it can be done again.
            let changes = Arc::clone(&changes);
            let written = self.keep_up(Upkeep::Identities { changes, seen }).await;
            outcome = written.map(|_| ());
            if !matches!(outcome, Err(Error::Unavailable)) {
                break;
            }
        }
        outcome
    }
}
