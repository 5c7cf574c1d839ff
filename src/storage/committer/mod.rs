//! The one task that commits (`help/design/storage.md` §3).
//!
//! It takes everything that waits, validates it in arrival order, writes the survivors in one
//! database transaction, and answers them when that is durable. There is no delay: the batch is
//! what arrived while the last one was written. While that is on its way to the disk the next one
//! is validated and written, if they do not concern each other.

mod flight;
mod log;
mod model;
mod overtaken;
mod recovery;
mod rows;
mod sweeper;
mod topics;
mod upkeep;
mod validation;
mod waiting;

use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;
use tracing::{debug, error};

use super::{
    Error, Storage,
    backend::Writer,
    chore::{Chore, Reply},
    draft::Committed,
    port::{Batch, Cause, EntityRow, Failure, Newest, TenantRow, TopicRow, Written},
    submission::Submission,
};
use crate::entity::Position;
use crate::telemetry::nodes;

use flight::{Flight, Validated};
use log::Growth;
use overtaken::Rounds;
use recovery::Watch;
use sweeper::Sweeper;
use waiting::Waiting;

/// The state of the task.
pub(super) struct Committer {
    storage: Storage,
    writer: Option<Writer>,
    inbox: mpsc::Receiver<Submission>,
    chores: mpsc::Receiver<Chore>,
    /// The next position.
    next: i64,
    /// The newest row of `entity`; known once the database has been asked.
    newest_entity: Option<EntityRow>,
    /// The newest row of `topic`, likewise.
    newest_topic: Option<TopicRow>,
    /// How often what batches are validated by was changed, as of the commit before the next.
    revision: i64,
    /// Whether other processes may have committed what is not known here.
    is_behind: bool,
    /// Whether other processes write so often that a batch without a turn is likely to be overtaken.
    is_contended: bool,
    /// How the database failed while a batch was validated.
    failure: Option<Failure>,
    /// What was taken out of the inbox.
    waiting: Waiting,
    /// The last batch, until it is durable and answered.
    flight: Option<Flight>,
    /// Of the log, since it was last to be copied back.
    growth: Growth,
    sweeper: Sweeper,
    stop: CancellationToken,
}

/// A unit that survived its validation, before it is durable.
struct Survivor {
    submission: Submission,
    tenant: TenantRow,
    committed: Committed,
    first: Position,
}

/// A unit that did not survive its validation, and why.
type Refused = (Submission, Error);

impl Committer {
    pub(super) fn new(
        storage: Storage,
        inbox: mpsc::Receiver<Submission>,
        chores: mpsc::Receiver<Chore>,
        newest: Newest,
    ) -> Self {
        let (writer, is_shared) = (storage.0.database.writer(), storage.0.database.is_shared());
        Self {
            storage,
            writer,
            inbox,
            chores,
            next: newest.sequence.0 + 1,
            revision: newest.revision,
            newest_entity: None,
            newest_topic: None,
            // What comes first learns the time of the server, and what was committed since the start.
            is_behind: is_shared,
            is_contended: false,
            failure: None,
            waiting: Waiting::default(),
            flight: None,
            growth: Growth::default(),
            sweeper: Sweeper::default(),
            stop: CancellationToken::new(),
        }
    }

    /// Commits until `stop` is cancelled and everything that was submitted before is answered.
    pub(super) async fn run(mut self, stop: CancellationToken) {
        self.stop = stop.clone();
        self.sweeper.plan(&self.storage).await;
        self.refuse_if_damaged().await;
        let mut watch = Watch::of(self.writer.as_ref());
        loop {
            tokio::select! {
                biased;
                () = self.sweeper.is_due() => {
                    self.land().await;
                    self.sweeper.sweep(&self.storage, self.writer.as_mut()).await;
                }
                () = watch.is_due() => self.look_for_files().await,
                some = some_wait(&mut self.waiting, &mut self.inbox) => {
                    if !some { break; }
                    self.batch().await;
                    // However busy it is, upkeep has its turn.
                    if let Ok(chore) = self.chores.try_recv() { self.keep_up(chore).await; }
                },
                synced = flight::synced(&mut self.flight) => self.landed(synced).await,
                Some(chore) = self.chores.recv() => self.keep_up(chore).await,
                () = stop.cancelled() => {
                    // Nobody can submit from here on; what waits is still answered.
                    self.inbox.close();
                }
            }
            if stop.is_cancelled() && self.waiting.is_empty() && self.inbox.is_empty() {
                break;
            }
        }
        self.land().await;
        if let Some(writer) = self.writer.take() {
            self.storage.0.database.close(writer).await;
        }
        debug!("all writes are stored, and the committer has stopped");
    }

    async fn batch(&mut self) {
        // One batch is less work than two halves of it.
        let wait = self.waiting.len() + self.inbox.len();
        let flight = self.flight.as_ref();
        if flight.is_some_and(|flight| wait <= flight.validated.survivors.len() / 2) {
            self.land().await;
        }
        // Before it is decided what the batch holds: what comes while the turn is waited for is in it.
        let turn = self.take_contended_turn().await;
        while self.waiting.has_room()
            && let Ok(next) = self.inbox.try_recv()
        {
            self.waiting.push(next);
        }
        let mut batch = self.waiting.batch();
        if let Err(error) = turn {
            refuse_all(batch, &error);
            return self.end_turn().await;
        }
        if batch.iter().any(|unit| unit.draft.model.is_some()) {
            self.land().await;
            for change in batch {
                self.change_model(change).await;
            }
            return;
        }
        batch.retain(|submission| submission.claim.take());
        self.commit(batch).await;
    }

    async fn commit(&mut self, mut batch: Vec<Submission>) {
        let mut rounds = Rounds::default();
        while let Some(overtaken) = self.try_commit(batch).await {
            nodes::batch_overtaken();
            self.is_contended = true;
            if let Err(error) = self.next_round(&mut rounds).await {
                refuse_all(overtaken, &error);
                break;
            }
            batch = overtaken;
        }
        self.pass_turn().await;
    }

    /// Commits a batch, or returns what has to be validated again since another process was first.
    async fn try_commit(&mut self, batch: Vec<Submission>) -> Option<Vec<Submission>> {
        if let Err(error) = self.catch_up().await {
            refuse_all(batch, &error);
            return None;
        }
        let flight = self.flight.as_ref();
        if flight.is_some_and(|flight| flight.decides(&batch)) {
            self.land().await;
        }
        let view = match self.view(&batch).await {
            Ok(view) => view,
            Err(error) => {
                refuse_all(batch, &error);
                return None;
            }
        };
        let follows = self.follows();
        let (validated, refused) = self.validate(view, batch).await;
        match self.is_overtaken(&refused, follows).await {
            Ok(false) => {
                for (submission, error) in refused {
                    answer(submission, Err(error));
                }
            }
            overtaken => {
                let survivors = validated.map(|validated| self.give_up(validated));
                let units = refused.into_iter().map(|(submission, _)| submission);
                let units = survivors.into_iter().flatten().chain(units).collect();
                let Err(error) = overtaken else {
                    return Some(units);
                };
                refuse_all(units, &error);
                return None;
            }
        }
        if let Some(failure) = self.failure.take() {
            // What is in flight has its own outcome; what was validated is not written at all.
            self.land().await;
            if let Some(validated) = validated {
                refuse_all(self.give_up(validated), &Error::Unavailable);
            }
            let _ = self.recover(&[], None, &failure, &mut |_| {}).await;
            return None;
        }
        let validated = validated?;
        let batch = &validated.rows.batch;
        self.storage
            .0
            .pulses
            .begin_writing(validated.newest.sequence);
        if !self.storage.0.database.is_shared() {
            // Elsewhere what can be read is durable.
            let changed = batch.models_changed();
            self.storage.0.instants.readable(validated.stamped, changed);
        }
        let (written, synced) = self.write(batch).await;
        match (written, synced) {
            (Ok(Written::Syncing(syncing)), Ok(())) => {
                if self.storage.0.database.is_shared() {
                    nodes::batch_committed();
                }
                self.revision += i64::from(batch.changes_definitions());
                self.growth
                    .add(batch, validated.bytes, &self.storage.0.long_log);
                self.flight = Some(Flight::new(validated, syncing));
            }
            (Ok(Written::Overtaken), Ok(())) => {
                return Some(self.give_up(validated));
            }
            (written, synced) => {
                if synced.is_err() {
                    self.landed(synced).await;
                }
                let failure = written.err().unwrap_or_else(|| {
                    Failure::new(
                        Cause::Other,
                        "the batch before could not be made durable, so nothing is known of what \
                         was written after it",
                    )
                });
                self.settle(validated, failure).await;
            }
        }
        None
    }

    /// The units of a batch that is not written. Where others write, no position may be left out.
    fn give_up(&mut self, validated: Validated) -> Vec<Submission> {
        self.is_behind = self.storage.0.database.is_shared();
        self.storage.0.pulses.stop_writing();
        self.storage.0.instants.finish(validated.stamped);
        let units = validated.survivors.into_iter();
        units.map(|unit| unit.submission).collect()
    }

    /// Writes a batch; meanwhile the one before is answered as soon as it is durable.
    async fn write(&mut self, batch: &Batch) -> (Result<Written, Failure>, Result<(), Failure>) {
        let Some(writer) = &mut self.writer else {
            let none = Failure::new(Cause::Other, "there is no connection that writes");
            return (Err(none), Ok(()));
        };
        let landing = async {
            if self.flight.is_some() {
                flight::synced(&mut self.flight).await?;
            }
            if let Some(flight) = self.flight.take() {
                flight::announce(flight.validated, &self.storage, &mut self.sweeper);
            }
            Ok(())
        };
        tokio::join!(writer.write(batch), landing)
    }

    /// Waits until the batch that was written last is durable, and answers it.
    async fn land(&mut self) {
        if self.flight.is_some() {
            let synced = flight::synced(&mut self.flight).await;
            self.landed(synced).await;
        }
    }

    async fn landed(&mut self, synced: Result<(), Failure>) {
        let Some(Flight { validated, .. }) = self.flight.take() else {
            return;
        };
        match synced {
            Ok(()) => self.announce(validated),
            Err(failure) => self.settle(validated, failure).await,
        }
    }

    fn announce(&mut self, validated: Validated) {
        flight::announce(validated, &self.storage, &mut self.sweeper);
    }
}

/// Returns once something waits to be committed; false if nothing will any more.
async fn some_wait(waiting: &mut Waiting, inbox: &mut mpsc::Receiver<Submission>) -> bool {
    if waiting.is_empty() {
        let Some(first) = inbox.recv().await else {
            return false;
        };
        waiting.push(first);
    }
    true
}

/// Answers before it is known what becomes of a unit.
fn answer_early<T>(reply: &mut Reply<T>, outcome: Error) {
    let (closed, _) = oneshot::channel();
    let _ = std::mem::replace(reply, closed).send(Err(outcome));
}

/// The caller may be gone; that changes nothing.
fn answer(submission: Submission, outcome: Result<Committed, Error>) {
    let _ = submission.reply.send(outcome);
}

/// Answers every unit of a batch that could not be written.
fn refuse_all(batch: impl IntoIterator<Item = Submission>, error: &Error) {
    let is_away = |failure: &Failure| failure.cause() == Cause::Away;
    let unavailable = matches!(error, Error::Unavailable | Error::Stopped)
        || matches!(error, Error::Database(failure) if is_away(failure));
    if !unavailable {
        error!(
            error = error as &dyn std::error::Error,
            "a batch was not committed"
        );
    }
    for submission in batch {
        let error = if unavailable {
            Error::Unavailable
        } else {
            Error::NotCommitted
        };
        answer(submission, Err(error));
    }
}
