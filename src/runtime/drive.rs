//! The loop around the engine.

use std::{
    mem,
    sync::Arc,
    time::{Duration, Instant},
};

use tracing::{Instrument as _, Span, info_span, warn};

use super::{
    Error, Initiator, Runtime, Session,
    later::{self, Continuation},
    machines::{EntityEvent, machine_called, with_status},
    token::Ticket,
};
use crate::callout::{Attachment, Reply};
use crate::compat::Compat;
use crate::compute::{Attempted, Attempts, CallSpec, Called, Failed, RETRY_PAUSE, Work};
use crate::engine::{
    self, Answer, Answered, Call, CallError, CallRecord, Fate, Input, Next, ProcessorFailure, Run,
    RunOutcome, RunRecord, RunsCall, Scope,
};
use crate::entity::{Document, Image, Json};
use crate::error::{Code, Coded as _, Failure};
use crate::id::{DispatchKey, EntityId, ProcessorName, TransactionId};
use crate::storage::{self, Attribution, Definitions, Mark, Task, TaskKind, Version};

/// The entity of a run, as the unit holds it.
pub(super) struct Anchor {
    pub(super) definitions: Arc<Definitions>,
    pub(super) origin: Origin,
    /// The attribution, if it differs from the unit's.
    pub(super) by: Option<Attribution>,
    /// The event of a state machine that the transition is taken for.
    pub(super) event: Option<Arc<EntityEvent>>,
}

/// What a run starts from.
pub(super) enum Origin {
    /// A new entity.
    New,
    /// A version of it.
    At(Version),
    /// A version, by a due task that the run completes.
    Fired(Version, DueTask),
    /// A version that was committed before a call, by the task that was committed with it.
    Resumed(Version, Resumption),
    /// A version that this run has committed, with the task that resumes it if this run does not.
    Committed(Version, Option<Rest>),
}

/// A due task.
pub(super) struct DueTask {
    pub(super) task: Task,
    /// The tasks of the entity, if they were read with it.
    pub(super) tasks: Option<Vec<Task>>,
    /// The pause before a part that fails after the rest was committed is retried.
    pub(super) pause: Duration,
}

/// A run that another one has begun.
pub(super) struct Resumption {
    pub(super) rest: Rest,
    /// The call it begins with; everything before it is already committed.
    pub(super) dispatch: DispatchKey,
}

/// What a partly committed run has left to do.
pub(super) struct Rest {
    pub(super) task: Task,
    /// The pause before it is retried if it fails; none if it is dropped then.
    pub(super) pause: Option<Duration>,
}

/// Why a run did not finish.
pub(super) enum Stopped {
    Engine(engine::Error),
    Other(Failure),
}

impl From<Failure> for Stopped {
    fn from(failure: Failure) -> Self {
        Self::Other(failure)
    }
}

impl From<Error> for Stopped {
    fn from(error: Error) -> Self {
        Self::Other(error.into())
    }
}

impl From<storage::Error> for Stopped {
    fn from(error: storage::Error) -> Self {
        Self::Other(error.into())
    }
}

impl Stopped {
    /// The failure as it is returned to callers.
    pub(super) fn failure(self, compat: Compat) -> Failure {
        let error = match self {
            Self::Other(failure) => return failure,
            Self::Engine(error) => error,
        };
        if error.code() == Code::TransitionNotFound {
            let status = compat.transition_not_found();
            return Failure::from(error).as_known(Code::TransitionNotFound, status);
        }
        let code = if matches!(error, engine::Error::ProcessorTimedOut { .. }) {
            compat.processor_timeout()
        } else if error.is_disconnect_after_commit() {
            compat.disconnect_after_commit()
        } else {
            error.code()
        };
        if code == error.code() {
            return error.into();
        }
        Failure::from(error).as_known(code, code.status())
    }
}

impl Runtime {
    /// Drives a run until it settles; then the unit holds its outcome.
    pub(super) async fn drive(
        &self,
        session: &mut Session,
        run: Box<Run>,
        mut anchor: Anchor,
        by: &Initiator,
    ) -> Result<Vec<String>, Failure> {
        let mut warnings = Vec::new();
        let driven = self.drive_to_end(session, run, &mut anchor, by, &mut warnings);
        match driven.await {
            Ok(_) => Ok(warnings),
            Err(stopped) => {
                // What was committed stays; the failure is returned to the caller, who decides.
                Box::pin(session.abandon_unfinished()).await;
                Err(stopped.failure(self.0.settings.compat).warned(warnings))
            }
        }
    }

    pub(super) async fn drive_to_end(
        &self,
        session: &mut Session,
        mut run: Box<Run>,
        anchor: &mut Anchor,
        by: &Initiator,
        warnings: &mut Vec<String>,
    ) -> Result<Fate, Stopped> {
        let mut tasks = Vec::new();
        let known = anchor.origin.take_tasks();
        if let Some(base) = anchor.origin.base()
            && (anchor.origin.task().is_some() || anchor.definitions.workflows.has_timers())
        {
            tasks = match known {
                Some(tasks) => tasks,
                None => session.unit()?.tasks(base).await?,
            };
            if let Some(due) = anchor.origin.task() {
                let before = tasks.len();
                tasks.retain(|task| task.key != due.key);
                // It was read before the entity, which may have moved or armed it again since.
                if tasks.len() == before {
                    return Ok(Fate::Dropped);
                }
            }
            run.has_armed(tasks.iter().filter_map(later::armed).collect());
        }
        let began_in = session.id();
        let mut input = Input::Go;
        loop {
            let definitions = Arc::clone(&anchor.definitions);
            let step = tokio::select! {
                biased;
                step = self.step(&definitions, run, input, warnings) => step.map_err(Stopped::Engine)?,
                () = session.cancelled(by) => return Err(Error::Cancelled.into()),
            };
            run = step.run;
            input = match step.next {
                Next::Go => Input::Go,
                Next::Call(call) => {
                    // Most runs make no call, so their futures need no room for one.
                    let calling = Box::pin(self.call(session, &mut run, &call, anchor, by));
                    let answered = calling.await?;
                    if let Some(document) = answered.document() {
                        anchor.definitions = self.learn(session, &definitions, document)?;
                    }
                    Input::Answered(Box::new(answered))
                }
                Next::OnRuns(call) => {
                    let called = Box::pin(self.call_on_runs(session, &run, &call, anchor, by));
                    let answered = called.await?;
                    if let Some(document) = answered.document() {
                        anchor.definitions = self.learn(session, &definitions, document)?;
                    }
                    Input::Answered(Box::new(answered))
                }
                Next::Settled => break,
            };
        }
        // If a part was committed, it has stored what was pending when the run began.
        if let Some(base) = anchor.origin.base().filter(|_| session.id() != began_in)
            && anchor.definitions.workflows.has_timers()
        {
            tasks = session.unit()?.tasks(base).await?;
        }
        if let Some(document) = with_status(&anchor.definitions, &run)? {
            run.take_in(document);
        }
        let outcome = run.finish();
        let fate = outcome.fate;
        settle(session, outcome, anchor, &tasks)?;
        Ok(fate)
    }

    /// Calls a member, inside the transaction or after it.
    async fn call(
        &self,
        session: &mut Session,
        run: &mut Run,
        call: &Call,
        anchor: &mut Anchor,
        by: &Initiator,
    ) -> Result<Answered, Stopped> {
        if let Some(machine) = machine_called(&anchor.definitions.workflows, call) {
            let called = self.call_for_machine(session, run, call, anchor, by, machine);
            return Box::pin(called).await;
        }
        match call.scope {
            Scope::Inside | Scope::Savepoint => {
                self.call_inside(session, run, call, anchor, by).await
            }
            Scope::Boundary { .. } | Scope::Crossover { .. } if !session.may_be_parted() => {
                Err(Stopped::Engine(boundary_in_callback(call)))
            }
            Scope::Boundary { joins } => {
                self.call_after_commit(session, run, call, anchor, by, joins)
                    .await
            }
            Scope::Crossover { after } => {
                self.call_across(session, run, call, anchor, by, after)
                    .await
            }
        }
    }

    /// Starts or signals runs of step workflows, in the transaction.
    async fn call_on_runs(
        &self,
        session: &mut Session,
        run: &Run,
        call: &RunsCall,
        anchor: &Anchor,
        by: &Initiator,
    ) -> Result<Answered, Stopped> {
        let (image, began) = (run.image(), Instant::now());
        // A step that a signal makes a run take sees the entity as it is now.
        anchor.stage(session, image.clone(), None)?;
        let done = self.do_on_runs(session, by, call, &image).await;
        if let Err(failure) = done {
            if failure.code() != Code::WorkflowFailed {
                return Err(failure.into());
            }
            return Err(Stopped::Engine(engine::Error::Processor {
                processor: call.processor.clone(),
                failure: ProcessorFailure::Runs(failure.message().to_owned()),
            }));
        }
        let micros = u64::try_from(began.elapsed().as_micros()).unwrap_or(u64::MAX);
        let mut answered = Answered::of_runs(call, micros);
        take_in_changes(
            session,
            image.id,
            &image.document,
            &call.processor,
            &mut answered,
        )
        .await?;
        Ok(answered)
    }

    /// A call whose result belongs to the transaction in which it is made.
    async fn call_inside(
        &self,
        session: &mut Session,
        run: &Run,
        call: &Call,
        anchor: &Anchor,
        by: &Initiator,
    ) -> Result<Answered, Stopped> {
        let image = run.image();
        let (id, sent) = (image.id, image.document.clone());
        // A member that reads with its token sees the entity as it is now.
        anchor.stage(session, image, None)?;
        let transaction = Some(session.id());
        let mut spec = self.spec(run, call, transaction, DispatchKey::fresh(), by);
        let began = Instant::now();
        let (called, before) = self.call_joined(session, call, &mut spec, by).await?;
        let mut answered = answered(call, called, began);
        let unit = session.unit()?;
        if call.scope == Scope::Savepoint {
            if answered.result.is_err() {
                unit.roll_back_to(&before);
            }
            // The returned document is ignored (`workflow-engine.md` §6.2).
            if let Ok(answer) = &mut answered.result {
                answer.reply = Reply::Processed(None);
            }
        }
        unit.release(before);
        take_in_changes(session, id, &sent, &named(call), &mut answered).await?;
        Ok(answered)
    }

    /// A call that is made after the work so far has been committed (`workflow-engine.md` §6.4).
    async fn call_after_commit(
        &self,
        session: &mut Session,
        run: &mut Run,
        call: &Call,
        anchor: &mut Anchor,
        by: &Initiator,
        joins: bool,
    ) -> Result<Answered, Stopped> {
        let dispatch = if let Some(dispatch) = anchor.origin.take_call() {
            dispatch
        } else {
            let dispatch = DispatchKey::fresh();
            self.commit_so_far(session, run, anchor, by, dispatch)
                .await?;
            dispatch
        };
        // The new transaction begins now, or, if the member does not join it, after the call.
        session.renew()?;
        let began = Instant::now();
        let answered = if joins {
            self.go_on(session, run, anchor).await?;
            let sent = run.image().document;
            let mut spec = self.spec(run, call, Some(session.id()), dispatch, by);
            let (called, before) = self.call_joined(session, call, &mut spec, by).await?;
            session.unit()?.release(before);
            let mut answered = answered(call, called, began);
            take_in_changes(
                session,
                run.subject().id,
                &sent,
                &named(call),
                &mut answered,
            )
            .await?;
            answered
        } else {
            let spec = self.spec(run, call, None, dispatch, by);
            session.leave_slot();
            let called = self.call_alone(&spec).await;
            session.take_slot().await;
            self.go_on(session, run, anchor).await?;
            answered(call, called, began)
        };
        Ok(answered)
    }

    /// A call that is first awaited inside the transaction (`workflow-engine.md` §6.6).
    async fn call_across(
        &self,
        session: &mut Session,
        run: &mut Run,
        call: &Call,
        anchor: &mut Anchor,
        by: &Initiator,
        after: Duration,
    ) -> Result<Answered, Stopped> {
        if matches!(anchor.origin, Origin::Resumed(..)) {
            return self
                .call_after_commit(session, run, call, anchor, by, false)
                .await;
        }
        let image = run.image();
        let (id, sent) = (image.id, image.document.clone());
        anchor.stage(session, image, None)?;
        let dispatch = DispatchKey::fresh();
        let mut spec = self.spec(run, call, Some(session.id()), dispatch, by);
        spec.token = Some(self.token(session.ticket(), call));
        let mut calling = Box::pin(self.call_alone(&spec));
        let began = Instant::now();
        session.park();
        let in_time = tokio::select! {
            biased;
            called = &mut calling => Some(called),
            () = tokio::time::sleep(after) => None,
            () = session.cancelled(by) => return Err(Error::Cancelled.into()),
        };
        session.take_back().await?;
        if let Some(called) = in_time {
            let mut answered = answered(call, called, began);
            take_in_changes(session, id, &sent, &named(call), &mut answered).await?;
            return Ok(answered);
        }
        if let Some(document) = changed_meanwhile(session, id, &sent, &named(call)).await? {
            run.take_in(document);
        }
        self.commit_so_far(session, run, anchor, by, dispatch)
            .await?;
        session.renew()?;
        session.leave_slot();
        let called = calling.await;
        session.take_slot().await;
        self.go_on(session, run, anchor).await?;
        Ok(answered(call, called, began))
    }

    /// Commits the entity as it is, with the task that resumes the run.
    async fn commit_so_far(
        &self,
        session: &mut Session,
        run: &mut Run,
        anchor: &mut Anchor,
        by: &Initiator,
        dispatch: DispatchKey,
    ) -> Result<(), Stopped> {
        let suspended = run
            .suspended()
            .ok_or_else(|| Failure::internal("a run that cannot be suspended"))?;
        let record = run.split_record();
        let image = run.image();
        let id = image.id;
        anchor.stage(session, image, Some(record))?;
        let continuation = Continuation {
            suspended,
            entry: session.entry(),
            written: session.id(),
            dispatch,
            principal: by.principal.clone(),
            armed_by: match session.unit()?.attribution() {
                Attribution {
                    author,
                    executor: Some(_),
                } => Some(author.clone()),
                Attribution { executor: None, .. } => None,
            },
        };
        let unit = session.unit()?;
        if let Some(done) = anchor.origin.task() {
            unit.drop_task(done);
        }
        unit.put_task(continuation.task(id, self.0.clock.now())?)?;
        let written = session.id();
        session.commit_segment(by).await?;
        let base = self.committed(session, id, written).await?;
        let tasks = session.unit()?.tasks(&base).await?;
        let pause = anchor.origin.pause();
        let rest = tasks
            .into_iter()
            .find(|task| task.kind == TaskKind::Continuation)
            .map(|task| Rest { task, pause });
        if let Some(rest) = &rest {
            session.is_unfinished(rest.task.clone(), rest.pause)?;
        }
        anchor.origin = Origin::Committed(base, rest);
        Ok(())
    }

    /// Continues in the new transaction, if the entity is still as it was committed.
    async fn go_on(
        &self,
        session: &mut Session,
        run: &mut Run,
        anchor: &mut Anchor,
    ) -> Result<(), Stopped> {
        let Some(base) = anchor.origin.base_mut() else {
            return Err(Failure::internal("a run that was not committed resumes").into());
        };
        let (id, written) = (base.image.id, base.image.transaction);
        *base = self.committed(session, id, written).await?;
        run.enter(&base.image, session.id());
        Ok(())
    }

    /// The entity, if that transaction wrote its newest version.
    async fn committed(
        &self,
        session: &mut Session,
        id: EntityId,
        written: TransactionId,
    ) -> Result<Version, Stopped> {
        let version = session.unit()?.read(id).await?;
        version
            .filter(|version| version.image.transaction == written)
            .ok_or_else(|| storage::Error::Conflict.into())
    }

    /// A call of a run; it may not take longer than the run.
    fn spec<'a>(
        &self,
        run: &Run,
        call: &'a Call,
        transaction: Option<TransactionId>,
        dispatch: DispatchKey,
        by: &'a Initiator,
    ) -> CallSpec<'a> {
        let image = run.image();
        let work = Work {
            callee: call.callee.clone(),
            workflow: call.workflow.clone(),
            transition_context: call.transition_context.clone(),
            entity: image.id,
            transaction,
            context: call.settings.context.clone(),
            principal: by.principal.clone(),
            attached: (call.settings.attachment == Attachment::Entity).then_some(image),
        };
        let left = run.time_left(self.0.clock.now(), self.0.settings.limits);
        CallSpec {
            tenant: &by.tenant,
            settings: &call.settings,
            dispatch,
            token: None,
            work: Arc::new(work),
            until: tokio::time::Instant::now().checked_add(left),
        }
    }

    /// The token that joins a session's transaction for as long as the call may take.
    fn token(&self, ticket: Ticket, call: &Call) -> Arc<str> {
        let life = self.0.settings.token_life.max(self.longest(call));
        self.0.signer.sign(ticket, self.0.clock.now(), life).into()
    }

    /// The longest time a call can take with all its attempts, limited by the time left for the
    /// run.
    fn longest(&self, call: &Call) -> Duration {
        let limit = self.0.settings.limits.time;
        self.0.settings.calls.longest(&call.settings).min(limit)
    }

    /// A call whose member does not join the transaction, with all its attempts.
    async fn call_alone(&self, spec: &CallSpec<'_>) -> Called {
        let (members, settings) = (&self.0.members, &self.0.settings.calls);
        members.call(spec, settings).instrument(span(spec)).await
    }

    /// A call whose member may join the unit, which is parked meanwhile. If an attempt is followed
    /// by another, its writes are rolled back to the mark at which it began, and its token is
    /// revoked: the member may not know yet that the attempt has failed.
    async fn call_joined(
        &self,
        session: &mut Session,
        call: &Call,
        spec: &mut CallSpec<'_>,
        by: &Initiator,
    ) -> Result<(Called, Mark), Stopped> {
        let (members, settings) = (&self.0.members, &self.0.settings.calls);
        let before = session.unit()?.mark();
        let mut attempts = Attempts::default();
        loop {
            let ticket = session.ticket();
            spec.token = Some(self.token(ticket, call));
            session.park();
            let attempt = members.attempt(spec, settings, &mut attempts);
            let attempted = tokio::select! {
                biased;
                attempted = attempt.instrument(span(spec)) => attempted,
                () = session.cancelled(by) => return Err(Error::Cancelled.into()),
            };
            session.take_back().await?;
            match attempted {
                Attempted::Ended(called) => {
                    if called.outcome.is_err() {
                        session.revoke(ticket);
                    }
                    return Ok((called, before));
                }
                Attempted::Again => {
                    session.revoke(ticket);
                    session.unit()?.roll_back_to(&before);
                }
            }
            session.leave_slot();
            tokio::select! {
                () = tokio::time::sleep(RETRY_PAUSE) => {}
                () = session.cancelled(by) => return Err(Error::Cancelled.into()),
            }
        }
    }
}

fn span(spec: &CallSpec<'_>) -> Span {
    let (entity, callee) = (spec.work.entity, &spec.work.callee);
    info_span!("call", entity.id = %entity, callee.kind = callee.kind(), callee.name = callee.name())
}

/// Stores the outcome of a run in the unit.
fn settle(
    session: &mut Session,
    outcome: RunOutcome,
    anchor: &Anchor,
    tasks: &[Task],
) -> Result<(), Failure> {
    let id = outcome.image.id;
    match (outcome.fate, anchor.origin.base()) {
        (Fate::Saved, _) => anchor.stage(session, outcome.image, Some(outcome.record))?,
        (Fate::Declined, Some(base)) => {
            let unit = session.unit()?;
            // For a member that was called, it was staged as if the run would save it.
            unit.leave(id);
            unit.note(base, outcome.record)?;
        }
        (Fate::Declined | Fate::Dropped, _) => {}
    }
    let unit = session.unit()?;
    if let Some(task) = anchor.origin.task() {
        unit.drop_task(task);
    }
    for change in outcome.timers {
        later::apply(unit, id, change, tasks)?;
    }
    Ok(())
}

fn boundary_in_callback(call: &Call) -> engine::Error {
    engine::Error::Processor {
        processor: call.callee.name().into(),
        failure: ProcessorFailure::BoundaryInCallback,
    }
}

impl Anchor {
    pub(super) const fn new(
        definitions: Arc<Definitions>,
        origin: Origin,
        by: Option<Attribution>,
    ) -> Self {
        Self {
            definitions,
            origin,
            by,
            event: None,
        }
    }

    /// Stages an image of the entity in the unit.
    pub(super) fn stage(
        &self,
        session: &mut Session,
        image: Image,
        record: Option<RunRecord>,
    ) -> Result<(), Failure> {
        // An image staged for a member may be incomplete; one that a run saves may not.
        if record.is_some() && self.definitions.has_unique_keys() {
            let document = Document::from_json(&image.document)
                .map_err(|error| Failure::internal(error.to_string()))?;
            self.definitions.model.unique_keys.values(&document)?;
        }
        let runs = record.into_iter().collect();
        let unit = session.unit()?;
        let base = match self.origin.base() {
            Some(base) => Some(base.clone()),
            None => unit.peek_own(image.id),
        };
        match base {
            Some(base) => unit.update(&self.definitions, &base, image, runs, self.by.clone())?,
            None => unit.create(&self.definitions, image, runs, self.by.clone())?,
        }
        Ok(())
    }
}

impl Origin {
    /// The version the run starts from; none for a new entity.
    const fn base(&self) -> Option<&Version> {
        match self {
            Self::New => None,
            Self::At(base)
            | Self::Fired(base, _)
            | Self::Resumed(base, _)
            | Self::Committed(base, _) => Some(base),
        }
    }

    const fn base_mut(&mut self) -> Option<&mut Version> {
        match self {
            Self::New => None,
            Self::At(base)
            | Self::Fired(base, _)
            | Self::Resumed(base, _)
            | Self::Committed(base, _) => Some(base),
        }
    }

    /// The task that began the run, or that resumes it; the run completes it.
    fn task(&self) -> Option<&Task> {
        match self {
            Self::New | Self::At(_) => None,
            Self::Fired(_, fired) => Some(&fired.task),
            Self::Resumed(_, resumed) => Some(&resumed.rest.task),
            Self::Committed(_, rest) => rest.as_ref().map(|rest| &rest.task),
        }
    }

    /// The pause before the rest is retried if it fails; none if it is dropped then.
    fn pause(&self) -> Option<Duration> {
        match self {
            Self::New | Self::At(_) => None,
            Self::Fired(_, fired) => Some(fired.pause),
            Self::Resumed(_, resumed) => resumed.rest.pause,
            Self::Committed(_, rest) => rest.as_ref()?.pause,
        }
    }

    /// The tasks that were read with the entity.
    const fn take_tasks(&mut self) -> Option<Vec<Task>> {
        match self {
            Self::Fired(_, fired) => fired.tasks.take(),
            Self::New | Self::At(_) | Self::Resumed(..) | Self::Committed(..) => None,
        }
    }

    /// The call that a resumed run begins with. From then on it is like one that was committed by
    /// this run.
    fn take_call(&mut self) -> Option<DispatchKey> {
        match mem::replace(self, Self::New) {
            Self::Resumed(base, Resumption { rest, dispatch }) => {
                *self = Self::Committed(base, Some(rest));
                Some(dispatch)
            }
            other => {
                *self = other;
                None
            }
        }
    }
}

/// After a processor that returned no document: takes over the changes that its own requests made.
pub(super) async fn take_in_changes(
    session: &mut Session,
    id: EntityId,
    sent: &Json,
    processor: &ProcessorName,
    answered: &mut Answered,
) -> Result<(), Stopped> {
    if let Ok(Answer {
        reply: Reply::Processed(document @ None),
        ..
    }) = &mut answered.result
    {
        *document = changed_meanwhile(session, id, sent, processor).await?;
    }
    Ok(())
}

/// The changes that the member's own requests made to the entity during the call, if any. A
/// document that the member returns takes precedence (`workflow-engine.md` §6.5).
async fn changed_meanwhile(
    session: &mut Session,
    id: EntityId,
    sent: &Json,
    processor: &ProcessorName,
) -> Result<Option<Document>, Stopped> {
    let Some(now) = session.unit()?.peek(id).await? else {
        return Err(Stopped::Engine(engine::Error::Processor {
            processor: processor.clone(),
            failure: ProcessorFailure::EntityGone,
        }));
    };
    if now.image.document == *sent {
        return Ok(None);
    }
    let document = Document::from_json(&now.image.document)
        .map_err(|error| Failure::internal(error.to_string()))?;
    Ok(Some(document))
}

fn answered(call: &Call, called: Called, began: Instant) -> Answered {
    let Called {
        outcome,
        warnings,
        member,
        attempts,
    } = called;
    let record = CallRecord {
        name: call.callee.name().to_owned(),
        mode: None,
        failure: None,
        member: member.map(|member| member.to_string()),
        attempts,
        micros: u64::try_from(began.elapsed().as_micros()).unwrap_or(u64::MAX),
        changed: matches!(outcome, Ok(Reply::Processed(Some(_)))),
        warnings: warnings.clone(),
    };
    let result = match outcome {
        Ok(reply) => Ok(Answer { reply, warnings }),
        Err(failed) => {
            warn!(callee.kind = call.callee.kind(), callee.name = call.callee.name(), attempts, failure = ?failed, "a call to a member failed");
            Err(match failed {
                Failed::Rejected(message) => CallError::Rejected { message, warnings },
                Failed::TimedOut { after_ms } => CallError::TimedOut { after_ms },
                Failed::Disconnected => CallError::Disconnected,
                Failed::NotForwarded => CallError::NotForwarded,
                Failed::NoMember { tags } => CallError::NoMember { tags },
                Failed::TooMany { limit } => CallError::TooMany { limit },
            })
        }
    };
    Answered { result, record }
}

/// The name of what a call is for, as failures of processors have it.
fn named(call: &Call) -> ProcessorName {
    call.callee.name().into()
}
