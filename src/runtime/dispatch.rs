//! Calls to members, inside a transaction or between two of them.

use std::{
    pin::pin,
    sync::Arc,
    time::{Duration, Instant},
};

use tracing::{Instrument as _, Span, info_span, warn};

use super::{
    Initiator, Runtime, Session,
    anchor::{Anchor, Origin, parsed},
    drive::Stopped,
    machines::machine_called,
    token::Ticket,
};
use crate::compute::{Attempted, Attempts, DispatchSpec, Dispatched, Failed, RETRY_PAUSE, Work};
use crate::dispatch::{Attachment, Callee, Reply};
use crate::engine::{
    self, Answer, Answered, Dispatch, DispatchError, DispatchRecord, ProcessorFailure, Run,
    RunsCall, Scope,
};
use crate::entity::{Document, Json};
use crate::error::Code;
use crate::id::{DispatchKey, EntityId, TransactionId};
use crate::storage::Mark;

impl Runtime {
    /// Calls a member, inside the transaction or after it.
    pub(super) async fn dispatch(
        &self,
        session: &mut Session,
        run: &mut Run,
        call: &Dispatch,
        anchor: &mut Anchor,
        by: &Initiator,
    ) -> Result<Answered, Stopped> {
        if let Some(machine) = machine_called(&anchor.definitions.workflows, call) {
            let called = self.dispatch_to_machine(session, run, call, anchor, by, machine);
            return Box::pin(called).await;
        }
        match call.scope {
            Scope::Inside | Scope::Savepoint => {
                self.dispatch_inside(session, run, call, anchor, by).await
            }
            Scope::Boundary { .. } | Scope::Crossover { .. } if !session.may_be_parted() => {
                Err(Stopped::Engine(boundary_in_callback(call)))
            }
            Scope::Boundary { joins } => {
                self.dispatch_after_commit(session, run, call, anchor, by, joins)
                    .await
            }
            Scope::Crossover { after } => {
                self.dispatch_across(session, run, call, anchor, by, after)
                    .await
            }
        }
    }

    /// Starts or signals runs of step workflows, in the transaction.
    pub(super) async fn call_on_runs(
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
            &Callee::Processor(call.processor.clone()),
            &mut answered,
        )
        .await?;
        Ok(answered)
    }

    /// A call whose result belongs to the transaction in which it is made.
    async fn dispatch_inside(
        &self,
        session: &mut Session,
        run: &mut Run,
        call: &Dispatch,
        anchor: &mut Anchor,
        by: &Initiator,
    ) -> Result<Answered, Stopped> {
        let image = run.image();
        let (id, sent) = (image.id, image.document.clone());
        // A member that reads with its token sees the entity as it is now.
        anchor.stage(session, image, None)?;
        // What is committed while the member works is not seen by it (`workflow-engine.md` §8).
        session.unit()?.snapshot().await?;
        let transaction = Some(session.id());
        let mut spec = self.spec(run, call, transaction, DispatchKey::fresh(), by);
        let began = Instant::now();
        let (called, before) = self.dispatch_joined(session, call, &mut spec, by).await?;
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
        take_in_changes(session, id, &sent, &call.callee, &mut answered).await?;
        // A function returns no document that could take precedence.
        let is_of_function = matches!(
            answered.result,
            Ok(Answer {
                reply: Reply::Evaluated(_) | Reply::Computed { .. },
                ..
            })
        );
        if is_of_function
            && let Some(document) = changed_meanwhile(session, id, &sent, &call.callee).await?
        {
            let learned = self.learn(session, &anchor.definitions, &document);
            anchor.definitions = learned.await?;
            run.take_in(document);
        }
        Ok(answered)
    }

    /// A call that is made after the work so far has been committed (`workflow-engine.md` §6.4).
    async fn dispatch_after_commit(
        &self,
        session: &mut Session,
        run: &mut Run,
        call: &Dispatch,
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
            self.resume_after_commit(session, run, anchor).await?;
            let sent = run.image().document;
            let mut spec = self.spec(run, call, Some(session.id()), dispatch, by);
            let (called, before) = self.dispatch_joined(session, call, &mut spec, by).await?;
            session.unit()?.release(before);
            let mut answered = answered(call, called, began);
            take_in_changes(
                session,
                run.subject().id,
                &sent,
                &call.callee,
                &mut answered,
            )
            .await?;
            answered
        } else {
            let spec = self.spec(run, call, None, dispatch, by);
            session.leave_slot();
            let called = self.dispatch_alone(&spec).await;
            session.take_slot().await;
            let answered = answered(call, called, began);
            self.resume_with(session, run, call, anchor, &answered)
                .await?;
            answered
        };
        Ok(answered)
    }

    /// Continues in the new transaction after a call that did not join it. What a member says of its
    /// failure is not replaced by a conflict, which the commit of whatever follows would find, too.
    async fn resume_with(
        &self,
        session: &mut Session,
        run: &mut Run,
        call: &Dispatch,
        anchor: &mut Anchor,
        answered: &Answered,
    ) -> Result<(), Stopped> {
        let resumed = self.resume_after_commit(session, run, anchor).await;
        let Ok(answer) = &answered.result else {
            return Ok(());
        };
        // The engine does not see the answer of a run that ends here, so its warnings are added.
        resumed.map_err(|stopped| match stopped {
            Stopped::Other(failure) => {
                let (kind, name) = (call.callee.kind(), call.callee.name());
                let warnings = answer.warnings.iter();
                let warnings = warnings.map(|text| format!("{kind} {name}: {text}"));
                Stopped::Other(failure.warned(warnings.collect()))
            }
            Stopped::Engine(error) => Stopped::Engine(error),
        })
    }

    /// A call that is first awaited inside the transaction (`workflow-engine.md` §6.6).
    async fn dispatch_across(
        &self,
        session: &mut Session,
        run: &mut Run,
        call: &Dispatch,
        anchor: &mut Anchor,
        by: &Initiator,
        after: Duration,
    ) -> Result<Answered, Stopped> {
        if matches!(anchor.origin, Origin::Resumed(..)) {
            return self
                .dispatch_after_commit(session, run, call, anchor, by, false)
                .await;
        }
        let (members, settings) = (&self.0.members, &self.0.settings.calls);
        let image = run.image();
        let (id, sent) = (image.id, image.document.clone());
        anchor.stage(session, image, None)?;
        let dispatch = DispatchKey::fresh();
        let mut spec = self.spec(run, call, Some(session.id()), dispatch, by);
        let before = session.unit()?.mark();
        let mut attempts = Attempts::default();
        let began = Instant::now();
        let mut crossing = pin!(tokio::time::sleep(after));
        let attempt = loop {
            let ticket = session.ticket();
            spec.token = Some(self.token(ticket, call));
            session.park()?;
            let attempt = members.attempt(&spec, settings, &mut attempts);
            let mut attempt = Box::pin(attempt.instrument(span(&spec)));
            let mut attempted = tokio::select! {
                biased;
                attempted = &mut attempt => Some(attempted),
                () = &mut crossing => None,
                error = session.cancelled(by) => return Err(error.into()),
            };
            if attempted.is_none() {
                // It may end while requests of the member still work in the transaction.
                attempted = tokio::select! {
                    biased;
                    taken = session.take_back(by, spec.until) => taken.map(|()| None)?,
                    attempted = &mut attempt => Some(attempted),
                };
            }
            let Some(attempted) = attempted else {
                break attempt;
            };
            drop(attempt);
            let ended = self.end_attempt(session, attempted, ticket, &before, by, spec.until);
            if let Some(called) = ended.await? {
                session.unit()?.release(before);
                let mut answered = answered(call, called, began);
                take_in_changes(session, id, &sent, &call.callee, &mut answered).await?;
                return Ok(answered);
            }
        };
        session.unit()?.release(before);
        if let Some(document) = changed_meanwhile(session, id, &sent, &call.callee).await? {
            run.take_in(document);
        }
        self.commit_so_far(session, run, anchor, by, dispatch)
            .await?;
        session.renew()?;
        session.leave_slot();
        let called = match attempt.await {
            Attempted::Ended(called) => called,
            Attempted::Again => {
                // The transaction of the first attempts has ended.
                tokio::time::sleep(RETRY_PAUSE).await;
                let spec = self.spec(run, call, None, dispatch, by);
                let further = members.dispatch_further(&spec, settings, &mut attempts);
                further.instrument(span(&spec)).await
            }
        };
        session.take_slot().await;
        let answered = answered(call, called, began);
        self.resume_with(session, run, call, anchor, &answered)
            .await?;
        Ok(answered)
    }

    /// A call of a run; it may not take longer than the run.
    fn spec<'a>(
        &self,
        run: &Run,
        call: &'a Dispatch,
        transaction: Option<TransactionId>,
        dispatch: DispatchKey,
        by: &'a Initiator,
    ) -> DispatchSpec<'a> {
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
        DispatchSpec {
            tenant: &by.tenant,
            settings: &call.settings,
            dispatch,
            token: None,
            work: Arc::new(work),
            until: tokio::time::Instant::now().checked_add(left),
        }
    }

    /// The token that joins a session's transaction for as long as the call may take.
    fn token(&self, ticket: Ticket, call: &Dispatch) -> Arc<str> {
        let life = self.0.settings.token_life.max(self.longest(call));
        self.0.signer.sign(ticket, self.0.clock.now(), life).into()
    }

    /// The longest time a call can take with all its attempts, limited by the time left for the
    /// run.
    fn longest(&self, call: &Dispatch) -> Duration {
        let limit = self.0.settings.limits.time;
        self.0.settings.calls.longest(&call.settings).min(limit)
    }

    /// A call whose member does not join the transaction, with all its attempts.
    async fn dispatch_alone(&self, spec: &DispatchSpec<'_>) -> Dispatched {
        let (members, settings) = (&self.0.members, &self.0.settings.calls);
        members
            .dispatch(spec, settings)
            .instrument(span(spec))
            .await
    }

    /// A call whose member may join the unit, which is parked meanwhile. If an attempt is followed
    /// by another, its writes are rolled back to the mark at which it began. The token of an attempt
    /// that failed is revoked, because the member may not know it yet, and its requests that are
    /// still working are cancelled, so that the call does not take longer than it may.
    async fn dispatch_joined(
        &self,
        session: &mut Session,
        call: &Dispatch,
        spec: &mut DispatchSpec<'_>,
        by: &Initiator,
    ) -> Result<(Dispatched, Mark), Stopped> {
        let (members, settings) = (&self.0.members, &self.0.settings.calls);
        let before = session.unit()?.mark();
        let mut attempts = Attempts::default();
        loop {
            let ticket = session.ticket();
            spec.token = Some(self.token(ticket, call));
            session.park()?;
            let attempt = members.attempt(spec, settings, &mut attempts);
            let attempted = tokio::select! {
                biased;
                attempted = attempt.instrument(span(spec)) => attempted,
                error = session.cancelled(by) => return Err(error.into()),
            };
            let ended = self.end_attempt(session, attempted, ticket, &before, by, spec.until);
            if let Some(called) = ended.await? {
                return Ok((called, before));
            }
        }
    }

    /// Takes the unit back after an attempt. If another follows, that is after a pause, and on top
    /// of what was before the first.
    async fn end_attempt(
        &self,
        session: &mut Session,
        attempted: Attempted,
        ticket: Ticket,
        before: &Mark,
        by: &Initiator,
        until: Option<tokio::time::Instant>,
    ) -> Result<Option<Dispatched>, Stopped> {
        let has_failed = match &attempted {
            Attempted::Ended(called) => called.outcome.is_err(),
            Attempted::Again => true,
        };
        if has_failed {
            session.end_attempt(ticket);
        }
        session.take_back(by, until).await?;
        match attempted {
            Attempted::Ended(called) => return Ok(Some(called)),
            Attempted::Again => session.unit()?.roll_back_to(before),
        }
        session.leave_slot();
        tokio::select! {
            () = tokio::time::sleep(RETRY_PAUSE) => Ok(None),
            error = session.cancelled(by) => Err(error.into()),
        }
    }
}

fn span(spec: &DispatchSpec<'_>) -> Span {
    let (entity, callee) = (spec.work.entity, &spec.work.callee);
    info_span!("call", entity.id = %entity, callee.kind = callee.kind(), callee.name = callee.name())
}

fn boundary_in_callback(call: &Dispatch) -> engine::Error {
    engine::Error::Processor {
        processor: call.callee.name().into(),
        failure: ProcessorFailure::BoundaryInCallback,
    }
}

/// After a processor that returned no document: takes over the changes that its own requests made.
pub(super) async fn take_in_changes(
    session: &mut Session,
    id: EntityId,
    sent: &Json,
    callee: &Callee,
    answered: &mut Answered,
) -> Result<(), Stopped> {
    if let Ok(Answer {
        reply: Reply::Processed(document @ None),
        ..
    }) = &mut answered.result
    {
        *document = changed_meanwhile(session, id, sent, callee).await?;
    }
    Ok(())
}

/// The changes that the member's own requests made to the entity during the call, if any. A
/// document that the member returns takes precedence (`workflow-engine.md` §6.5).
async fn changed_meanwhile(
    session: &mut Session,
    id: EntityId,
    sent: &Json,
    callee: &Callee,
) -> Result<Option<Document>, Stopped> {
    let Some(now) = session.unit()?.peek(id).await? else {
        return Err(Stopped::Engine(engine::Error::entity_gone(callee)));
    };
    if now.image.document == *sent {
        return Ok(None);
    }
    Ok(Some(parsed(&now.image.document)?))
}

fn answered(call: &Dispatch, called: Dispatched, began: Instant) -> Answered {
    let Dispatched {
        outcome,
        warnings,
        member,
        attempts,
    } = called;
    let record = DispatchRecord {
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
            warn!(callee.kind = call.callee.kind(), callee.name = call.callee.name(), attempts, failure = %failed, "a call to a member failed");
            Err(match failed {
                Failed::Rejected(message) => DispatchError::Rejected { message, warnings },
                Failed::TimedOut { after_ms } => DispatchError::TimedOut { after_ms },
                Failed::Disconnected => DispatchError::Disconnected,
                Failed::NotForwarded => DispatchError::NotForwarded,
                Failed::NoMember { tags } => DispatchError::NoMember { tags },
                Failed::TooMany { limit } => DispatchError::TooMany { limit },
            })
        }
    };
    Answered { result, record }
}
