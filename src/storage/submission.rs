//! What is handed to the committer.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU8, Ordering},
    },
    time::Instant,
};

use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use super::{
    Error, Storage,
    draft::{Committed, Draft},
};
use crate::telemetry::measure::{Step, conflicted};

/// A finished unit, and who waits for it.
#[derive(Debug)]
pub(super) struct Submission {
    pub(super) draft: Box<Draft>,
    pub(super) bytes: usize,
    pub(super) claim: Claim,
    pub(super) reply: oneshot::Sender<Result<Committed, Error>>,
}

/// Whether a unit can still be taken back.
#[derive(Debug, Clone, Default)]
pub(super) struct Claim(Arc<AtomicU8>);

impl Claim {
    const WAITING: u8 = 0;
    const WITHDRAWN: u8 = 1;
    const TAKEN: u8 = 2;

    /// Takes the unit back; false if it is being committed already.
    pub(super) fn withdraw(&self) -> bool {
        self.0
            .compare_exchange(
                Self::WAITING,
                Self::WITHDRAWN,
                Ordering::AcqRel,
                Ordering::Acquire,
            )
            .is_ok()
    }

    /// Takes it to be committed; false if it was taken back.
    pub(super) fn take(&self) -> bool {
        self.0
            .compare_exchange(
                Self::WAITING,
                Self::TAKEN,
                Ordering::AcqRel,
                Ordering::Acquire,
            )
            .is_ok()
    }
}

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
