//! The loop around the engine.

use std::{sync::Arc, time::Instant};

use tracing::{Instrument as _, info_span, warn};

use super::{Error, Initiator, Runtime, Session};
use crate::compute::{CallSpec, Called, Failed, Work};
use crate::engine::{
    self, Answer, Answered, Call, CallError, CallRecord, Input, Next, ProcessorFailure, Run, World,
};
use crate::entity::{Document, Image, Json};
use crate::error::Failure;
use crate::storage::{Attribution, Definitions, Version};
use crate::workflow::Attachment;

/// The entity a run is about, as the unit holds it.
pub(super) struct Anchor {
    pub(super) definitions: Arc<Definitions>,
    /// What the run started from; none for a new entity.
    pub(super) base: Option<Version>,
    /// Whose doing it is, where that is not the unit's.
    pub(super) by: Option<Attribution>,
}

impl Runtime {
    /// Drives a run until it settles; then the unit holds its outcome.
    pub(super) async fn drive(
        &self,
        session: &mut Session,
        run: Run,
        anchor: &Anchor,
        by: &Initiator,
    ) -> Result<Vec<String>, Failure> {
        let world = World {
            workflows: &anchor.definitions.workflows,
            schema: &anchor.definitions.model.schema,
            limits: self.0.settings.limits,
        };
        let (mut run, mut input) = (run, Input::Go);
        loop {
            let step = engine::step(run, input, world)?;
            run = step.run;
            input = match step.next {
                Next::Go => Input::Go,
                Next::Call(call) => {
                    Input::Answered(self.call(session, &run, &call, anchor, by).await?)
                }
                Next::Settled => break,
            };
        }
        let image = run.image();
        let (record, warnings) = run.into_record();
        anchor.stage(session, image, Some(record))?;
        Ok(warnings)
    }

    /// Calls a member while the unit is parked.
    async fn call(
        &self,
        session: &mut Session,
        run: &Run,
        call: &Call,
        anchor: &Anchor,
        by: &Initiator,
    ) -> Result<Answered, Failure> {
        let image = run.image();
        let sent = image.document.clone();
        // What the member reads through its token is the entity as it is now.
        anchor.stage(session, image.clone(), None)?;
        let life = self
            .0
            .settings
            .token_life
            .max(self.0.settings.calls.longest(&call.settings));
        let work = Work {
            processor: call.processor.clone(),
            workflow: call.workflow.clone(),
            transition: call.transition.clone(),
            from: call.from.clone(),
            to: call.to.clone(),
            entity: image.id,
            transaction: session.id(),
            token: Some(
                self.0
                    .signer
                    .sign(session.ticket(), self.0.clock.now(), life)
                    .into(),
            ),
            context: call.settings.context.clone(),
            principal: by.principal.clone(),
            attached: (call.settings.attachment == Attachment::Entity).then_some(image),
        };
        let id = work.entity;
        let spec = CallSpec {
            tenant: &by.tenant,
            settings: &call.settings,
            work: Arc::new(work),
        };
        let span = info_span!("call", entity.id = %id, processor.name = %call.processor, transition.name = %call.transition);
        let began = Instant::now();
        session.park();
        let called = tokio::select! {
            called = self.0.members.call(spec, &self.0.settings.calls).instrument(span) => called,
            () = by.cancel.cancelled() => return Err(Error::Cancelled.into()),
        };
        session.take_back().await?;
        let micros = u64::try_from(began.elapsed().as_micros()).unwrap_or(u64::MAX);
        let mut answered = answered(call, called, micros);
        if let Ok(answer @ Answer { document: None, .. }) = &mut answered.result {
            answer.document = changed_meanwhile(session, id, &sent, call).await?;
        }
        Ok(answered)
    }
}

impl Anchor {
    /// Puts an image of the entity into the unit.
    fn stage(
        &self,
        session: &mut Session,
        image: Image,
        record: Option<engine::RunRecord>,
    ) -> Result<(), Failure> {
        let runs = record.into_iter().collect();
        let unit = session.unit()?;
        let base = match &self.base {
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

/// What the member's own requests have made of the entity while it was called, if anything. A
/// document that the member returns wins over that (`workflow-engine.md` §6.5).
async fn changed_meanwhile(
    session: &mut Session,
    id: crate::id::EntityId,
    sent: &Json,
    call: &Call,
) -> Result<Option<Document>, Failure> {
    let Some(now) = session.unit()?.peek(id).await? else {
        return Err(engine::Error::Processor {
            processor: call.processor.clone(),
            failure: ProcessorFailure::EntityGone,
        }
        .into());
    };
    if now.image.document == *sent {
        return Ok(None);
    }
    let document = Document::from_json(&now.image.document)
        .map_err(|error| Failure::internal(error.to_string()))?;
    Ok(Some(document))
}

fn answered(call: &Call, called: Called, micros: u64) -> Answered {
    let Called {
        outcome,
        warnings,
        member,
        attempts,
    } = called;
    let record = CallRecord {
        processor: call.processor.to_string(),
        member: member.map(|member| member.to_string()),
        attempts,
        micros,
        changed: matches!(outcome, Ok(Some(_))),
        warnings: warnings.clone(),
    };
    let result = match outcome {
        Ok(document) => Ok(Answer { document, warnings }),
        Err(failed) => {
            warn!(processor.name = %call.processor, attempts, failure = ?failed, "a call of a member failed");
            Err(match failed {
                Failed::Rejected(message) => CallError::Rejected { message, warnings },
                Failed::TimedOut { after_ms } => CallError::TimedOut { after_ms },
                Failed::Disconnected => CallError::Disconnected,
                Failed::NoMember { tags } => CallError::NoMember { tags },
            })
        }
    };
    Answered { result, record }
}
