//! Handing a finished unit to the committer.

use std::time::Instant;

use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use super::{
    Error, Storage,
    draft::{Committed, Draft},
    submission::{Claim, Submission},
};
use crate::telemetry::measure::{Step, conflicted};

impl Storage {
    /// Hands a finished unit to the committer and waits for what becomes of it.
    pub(super) async fn submit(
        &self,
        draft: Box<Draft>,
        bytes: usize,
        cancel: &CancellationToken,
    ) -> Result<Committed, Error> {
        let begun = Instant::now();
        let outcome = self.try_submit(draft, bytes, cancel).await;
        Step::Commit.since(begun);
        if matches!(outcome, Err(Error::Conflict)) {
            conflicted();
        }
        outcome
    }

    async fn try_submit(
        &self,
        draft: Box<Draft>,
        bytes: usize,
        cancel: &CancellationToken,
    ) -> Result<Committed, Error> {
        if !self.takes_writes() {
            return Err(Error::Unavailable);
        }
        if self.0.database.is_shared() && draft.has_nul() {
            return Err(Error::NulCharacter);
        }
        let room = self.0.room.take(&draft.tenant, bytes);
        let _room = tokio::select! {
            biased;
            room = room => room?,
            () = cancel.cancelled() => return Err(Error::Cancelled),
        };
        let (reply, mut outcome) = oneshot::channel();
        let claim = Claim::default();
        let submission = Submission {
            draft,
            bytes,
            claim: claim.clone(),
            reply,
        };
        self.0
            .submissions
            .send(submission)
            .await
            .map_err(|_| Error::Stopped)?;
        tokio::select! {
            biased;
            outcome = &mut outcome => return outcome.map_err(|_| Error::Stopped)?,
            () = cancel.cancelled() => {}
        }
        if claim.withdraw() {
            return Err(Error::Cancelled);
        }
        outcome.await.map_err(|_| Error::Stopped)?
    }
}
