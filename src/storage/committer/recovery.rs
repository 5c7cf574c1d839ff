//! What the committer does when the database fails it.

use std::time::Duration;

use tokio::time::{Instant, Interval, MissedTickBehavior};
use tracing::{error, info, warn};

use super::{Committer, answer, answer_early, flight::Validated, refuse_all};
use crate::clock::Timestamp;
use crate::storage::{
    Error,
    backend::Writer,
    port::{Cause, CommitRow, Failure},
};

/// How long the committer waits before it tries a failed storage again.
const RECOVERY_PAUSE: Duration = Duration::from_millis(500);

/// How often it is said why the storage is still unavailable.
const SAY_EVERY: Duration = Duration::from_mins(1);

/// How long those are kept waiting whose commit has failed, in case its outcome shows.
const ANSWER_WITHIN: Duration = Duration::from_secs(3);

/// How often it is looked whether the files are in their places.
const LOOK_EVERY: Duration = Duration::from_millis(500);

/// That of no commit, so that everything is read again.
const UNKNOWN_REVISION: i64 = -1;

/// Answers those who wait for a commit that failed; once.
type AnswerFailed<'a> = &'a mut (dyn FnMut(Error) + Send);

/// When to look whether the files are in their places.
pub(super) struct Watch(Option<Interval>);

impl Watch {
    /// Where there are no files there is nothing to look for.
    pub(super) fn of(writer: Option<&Writer>) -> Self {
        let has_files = writer.is_some_and(|writer| writer.in_place().is_some());
        Self(has_files.then(|| {
            let mut interval = tokio::time::interval(LOOK_EVERY);
            interval.set_missed_tick_behavior(MissedTickBehavior::Delay);
            interval
        }))
    }

    pub(super) async fn is_due(&mut self) {
        match &mut self.0 {
            Some(interval) => {
                interval.tick().await;
            }
            None => std::future::pending().await,
        }
    }
}

impl Committer {
    /// Refuses writes from the start if a damaged page is known.
    pub(super) async fn refuse_if_damaged(&mut self) {
        if self.storage.0.database.is_damaged() {
            let failure = Failure::new(Cause::Damaged, "a damaged page was found at the start");
            let _ = self.recover(&[], None, &failure, &mut |_| {}).await;
        }
    }

    /// Refuses writes while a file of the database is not in its place.
    pub(super) async fn look_for_files(&mut self) {
        let in_place = self.writer.as_ref().and_then(Writer::in_place);
        if let Some(Err(failure)) = in_place {
            self.land().await;
            let _ = self.recover(&[], None, &failure, &mut |_| {}).await;
        }
    }

    /// Answers a batch that could not be written or made durable, after what became of it.
    pub(super) async fn settle(&mut self, mut validated: Validated, failure: Failure) {
        self.storage.0.pulses.stop_writing();
        match self.find_out(&mut validated, failure).await {
            Ok(()) => self.announce(validated),
            Err(error) => {
                self.storage.0.instants.finish(validated.stamped);
                let survivors = validated.survivors.into_iter();
                refuse_all(survivors.map(|survivor| survivor.submission), &error);
            }
        }
    }

    /// What became of a batch, after something failed.
    async fn find_out(&mut self, validated: &mut Validated, failure: Failure) -> Result<(), Error> {
        // A row that the database rejects was rolled back; anything else may have been written.
        if failure.cause() == Cause::Rejected {
            error!(error = %failure, "the database rejected a batch that was validated");
            return Err(failure.into());
        }
        let (commits, stamped) = (&validated.rows.batch.commits, Some(validated.stamped));
        let survivors = &mut validated.survivors;
        let mut answer_failed = |error: Error| {
            for survivor in survivors.iter_mut() {
                let again = if matches!(error, Error::OutcomeUnknown) {
                    Error::OutcomeUnknown
                } else {
                    Error::Unavailable
                };
                answer_early(&mut survivor.submission.reply, again);
            }
        };
        self.recover(commits, stamped, &failure, &mut answer_failed)
            .await
    }

    /// Refuses writes until the database can be used again, then says whether the commits are
    /// there. Callers that wait for them are answered within a few seconds. If they are known to be rolled
    /// back, no read waits for what was `stamped`.
    pub(super) async fn recover(
        &mut self,
        commits: &[CommitRow],
        stamped: Option<Timestamp>,
        failure: &Failure,
        answer_failed: AnswerFailed<'_>,
    ) -> Result<(), Error> {
        let cause = failure.cause();
        // Whether it was written or not, others may have written since.
        self.is_behind = self.storage.0.database.is_shared();
        self.revision = UNKNOWN_REVISION;
        let Self {
            writer,
            inbox,
            chores,
            waiting,
            storage,
            stop,
            ..
        } = self;
        let writer = writer.as_mut().ok_or(Error::Stopped)?;
        storage.0.health.set_well(false);
        error!(
            error = failure as &dyn std::error::Error,
            units = commits.len(),
            "the storage failed; writes are refused: {}",
            cause.advice()
        );
        let mut is_answered = cause.is_rolled_back() || cause == Cause::Misplaced;
        if cause.is_rolled_back() {
            if let Some(stamped) = stamped {
                storage.0.instants.finish(stamped);
            }
            answer_failed(Error::Unavailable);
        } else if is_answered {
            answer_failed(Error::OutcomeUnknown);
        }
        for submission in waiting.drain() {
            answer(submission, Err(Error::Unavailable));
        }
        let known = attempts(writer, commits, cause);
        let late = tokio::time::sleep(ANSWER_WITHIN);
        tokio::pin!(known, late);
        loop {
            tokio::select! {
                biased;
                known = &mut known => {
                    storage.0.health.set_well(true);
                    info!(written = known, "the storage has recovered; writes are accepted again");
                    return if known { Ok(()) } else { Err(Error::Unavailable) };
                }
                () = &mut late, if !is_answered => {
                    is_answered = true;
                    answer_failed(Error::OutcomeUnknown);
                }
                Some(submission) = inbox.recv() => answer(submission, Err(Error::Unavailable)),
                Some(chore) = chores.recv() => chore.refuse(),
                () = stop.cancelled() => {
                    if !is_answered { answer_failed(Error::OutcomeUnknown); }
                    return Err(Error::Stopped);
                }
            }
        }
    }
}

/// Tries until the database can be used again; whether the commits are there.
async fn attempts(writer: &mut Writer, commits: &[CommitRow], cause: Cause) -> bool {
    if cause == Cause::Damaged {
        // What is damaged stays so.
        return std::future::pending().await;
    }
    let mut said: Option<(String, Instant)> = None;
    loop {
        let known = match writer.reopen(cause).await {
            Ok(()) => writer.knows(commits).await,
            Err(error) => Err(error),
        };
        match known {
            Ok(known) => return known,
            Err(error) => {
                let text = error.to_string();
                let is_known = said
                    .as_ref()
                    .is_some_and(|(said, at)| *said == text && at.elapsed() < SAY_EVERY);
                if !is_known {
                    warn!(%error, "the storage is still unavailable");
                    said = Some((text, Instant::now()));
                }
            }
        }
        tokio::time::sleep(RECOVERY_PAUSE).await;
    }
}
