//! Changes of models.

use tracing::{error, warn};

use super::{Committer, answer, answer_early, overtaken::Rounds, validation};
use crate::clock::Timestamp;
use crate::entity::Sequence;
use crate::storage::{
    Error,
    draft::{self, Committed, ModelChange},
    port::{Cause, CommitRow, ModelCommit},
    submission::Submission,
    validate,
};

impl Committer {
    /// A change of a model is a batch of its own.
    pub(super) async fn change_model(&mut self, mut submission: Submission) {
        if !submission.claim.take() {
            return;
        }
        let mut rounds = Rounds::default();
        let outcome = loop {
            if let Err(error) = self.catch_up().await {
                break Err(error);
            }
            let at = self.storage.0.instants.stamp(self.storage.now(), 1);
            let outcome = self.try_change_model(&mut submission, at).await;
            self.storage.0.instants.finish(at);
            match outcome {
                Ok(Some(committed)) => {
                    self.applied(committed.sequence, committed.at, &[]);
                    break Ok(committed);
                }
                Ok(None) => self.is_behind = true,
                Err(
                    error @ (Error::Unavailable
                    | Error::OutcomeUnknown
                    | Error::NotCommitted
                    | Error::Stopped),
                ) => break Err(error),
                // What it was refused by may be what another process has changed since.
                Err(error) => {
                    let refused = [(submission, error)];
                    let overtaken = self.is_overtaken(&refused, self.follows()).await;
                    let [(unit, error)] = refused;
                    submission = unit;
                    if !matches!(overtaken, Ok(true)) {
                        break Err(error);
                    }
                }
            }
            if let Err(error) = self.next_round(&mut rounds).await {
                break Err(error);
            }
        };
        self.end_turn().await;
        answer(submission, outcome);
    }

    /// None if another process was first.
    async fn try_change_model(
        &mut self,
        submission: &mut Submission,
        at: Timestamp,
    ) -> Result<Option<Committed>, Error> {
        let Submission { draft, reply, .. } = submission;
        let Some((key, change)) = &draft.model else {
            return Err(Error::Stopped);
        };
        let taken = validation::taken(&self.storage, std::iter::once(&**draft)).await?;
        if !taken.leaves_room_for(draft) {
            return Err(Error::Repeated);
        }
        let tenant = self.tenant_row(&draft.tenant).await?;
        let (author, executor) = self.attribution(tenant, &draft.attribution).await?;
        let current = self.storage.definitions_of(tenant, key).await?;
        let has_entities = match &current {
            Some(current) => self.storage.0.database.has_entities(current.row).await?,
            None => false,
        };
        let effect = validate::validate_model(key, current.as_deref(), has_entities, change)?;
        let sequence = Sequence(self.next);
        let commit = ModelCommit {
            tenant,
            key,
            effect,
            commit: CommitRow {
                seq: sequence.0,
                id: draft.id.uuid(),
                entry: None,
                tenant: tenant.0,
                at: at.micros(),
                author: author.0,
                executor: executor.map(|executor| executor.0),
            },
            follows: self.follows(),
            outcomes: draft::outcome_rows(draft, tenant).collect(),
        };
        let writer = self.writer.as_mut().ok_or(Error::Stopped)?;
        match writer.change_model(&commit).await {
            Ok(true) => {}
            Ok(false) => return Ok(None),
            Err(Error::Database(error)) if error.cause() == Cause::Rejected => {
                error!(%error, "the database rejected a change of a model that was validated");
                return Err(Error::NotCommitted);
            }
            Err(Error::Database(error)) => {
                let mut answer_failed = |error| answer_early(reply, error);
                let commits = std::slice::from_ref(&commit.commit);
                self.recover(commits, Some(at), &error, &mut answer_failed)
                    .await?;
            }
            Err(error) => return Err(error),
        }
        self.next += 1;
        self.revision += 1;
        self.sweeper.note(&commit.outcomes, self.storage.now());
        self.storage.0.catalog.forget(tenant, key);
        if matches!(change, ModelChange::Delete)
            && let Err(error) = self.storage.reload_indexes().await
        {
            // Nobody can search the model, and the next change of any index reads them again.
            warn!(%error, "the indexes of a deleted model are not taken out of use yet");
        }
        Ok(Some(Committed { sequence, at }))
    }
}
