//! Starts a run, or finds the one that has its idempotency key.

use std::{sync::Arc, time::Duration};

use serde_json::value::RawValue;

use super::{check_size, json, kind, wait_for_end};
use crate::dialect::{
    flo::MANAGER,
    managers::{WrongPayload, wanted_in},
};
use crate::error::{Code, Failure};
use crate::event::{
    Event, EventType,
    payload::{
        self, answer,
        runs::{self, DefinitionName, Run, Started},
    },
};
use crate::id::RunId;
use crate::operation::{Access, Answer, Context, Family, Operation, Output, Success, paging};
use crate::program::StartedBy;
use crate::runtime::again;
use crate::runtime::runs::{RunStarted, StartRun as Start};
use crate::storage::RunName;

/// How long a caller may wait for the end of a run.
const WAIT_MAX: u64 = 30_000;

/// How many characters an idempotency key has at most.
const KEY_MAX: usize = 255;

pub(in crate::operation) struct StartRun {
    start: Start,
    /// None: as long as the definition says.
    wait: Option<Duration>,
}

impl Operation for StartRun {
    type Payload = runs::Start<'static>;
    type Answer = Started;

    const REQUEST: EventType = EventType::RunStartRequest;
    const RESPONSE: EventType = EventType::RunStartResponse;
    const FAMILY: Family = Family::Entity;
    const ACCESS: Access = Access::Write;

    fn parse(payload: &str) -> Result<Self, Failure> {
        let request: runs::Start<'_> = payload::decode(payload)?;
        let wait = request.wait_ms;
        if let Some(wait) = wait.filter(|wait| *wait > WAIT_MAX) {
            let message = format!("waitMs is {wait}; use 0 to {WAIT_MAX}");
            return Err(Failure::bad_parameter("waitMs", message));
        }
        let key = request.idempotency_key;
        if let Some(key) = &key
            && key.chars().count() > KEY_MAX
        {
            let message = format!("idempotencyKey has more than {KEY_MAX} characters");
            return Err(Failure::bad_parameter("idempotencyKey", message));
        }
        let name = RunName {
            namespace: paging::namespace(request.namespace)?,
            name: request.definition.into(),
        };
        let input = json(request.input, "{}", "input")?;
        if *name.name == *MANAGER {
            wanted_in(&input)
                .map_err(|WrongPayload(member, message)| Failure::bad_parameter(member, message))?;
        }
        Ok(Self {
            start: Start {
                version: request.version.map(Into::into),
                kind: request.kind.as_deref().map(kind).transpose()?,
                key: key.map(Into::into),
                id: request.run_id.map(Into::into),
                ..Start::new(name, input.into(), StartedBy::Caller)
            },
            wait: wait.map(Duration::from_millis),
        })
    }

    async fn run(self, cx: Context) -> Result<Output<Self::Answer>, Failure> {
        check_size(&cx, &self.start.input, "input")?;
        let name = Arc::clone(&self.start.name.name);
        let start = || async {
            let mut session = cx.session_for(0, |_, _| String::new()).await?;
            let by = cx.initiator();
            let start = Start {
                steps_at_once: !session.has_joined(),
                started_by: if cx.is_routed() {
                    StartedBy::Route
                } else {
                    self.start.started_by
                },
                ..self.start.clone()
            };
            let started = cx.runtime().start_run(&mut session, &by, start).await?;
            let wait = self.wait_for(&cx, started.is_simple_saga);
            let may_wait = !wait.is_zero() && !session.has_joined();
            let answer = shown(&name, &started);
            let warning = started.ignores_key.then(|| {
                format!(
                    "workflow {name} ignores idempotency keys; write `idempotency: optional` in \
                     its document"
                )
            });
            let warnings = warning.into_iter().collect();
            let finished = cx.finish(session, answer, warnings).await?;
            Ok((finished, started.run, may_wait.then_some(wait)))
        };
        // Another start with the same key may be committed first: it is found then.
        match again(start).await? {
            (Output::One(answer, warnings), run, Some(wait)) => {
                let answer = waited(&cx, run, answer, wait).await?;
                Ok(Output::One(answer, warnings))
            }
            (finished, _, _) => Ok(finished),
        }
    }

    async fn repeat(cx: Context, event: Event, stored: Success) -> Result<Answer, Failure> {
        if cx.has_token() {
            return Ok(Answer::One(stored));
        }
        let start = Self::parse(event.text()?)?;
        let (answer, warnings) = stored.take_outcome::<Started>()?;
        let tenant = &cx.caller().tenant;
        let found = cx.runtime().is_simple_saga(tenant, &answer.run_id).await;
        let (run, is_simple_saga) = match found {
            // It was removed since.
            Err(failure) if failure.code() == Code::RunNotFound => {
                return Ok(Output::One(answer, warnings).into());
            }
            found => found?,
        };
        let wait = start.wait_for(&cx, is_simple_saga);
        let answer = if wait.is_zero() {
            answer
        } else {
            waited(&cx, run, answer, wait).await?
        };
        Ok(Output::One(answer, warnings).into())
    }
}

impl StartRun {
    /// How long the end of the run is waited for.
    fn wait_for(&self, cx: &Context, is_simple_saga: bool) -> Duration {
        match self.wait {
            // A simple saga runs inside its request (`orchestration.md` 2.4).
            None if is_simple_saga => cx.runtime().sync_timeout(),
            wait => wait.unwrap_or_default(),
        }
    }
}

fn shown(name: &str, started: &RunStarted) -> Started {
    Started {
        run_id: started.id.to_string(),
        kind: started.kind.as_str().to_owned(),
        definition: DefinitionName {
            name: name.to_owned(),
            version: started.version.to_string(),
            digest: None,
        },
        status: started.status.as_str().to_owned(),
        created: started.is_new,
        run: None,
    }
}

/// Waits for the end of the run, and adds the run if that comes in time.
async fn waited(
    cx: &Context,
    run: RunId,
    answer: Started,
    wait: Duration,
) -> Result<Started, Failure> {
    wait_for_end(cx, run, wait).await?;
    let tenant = &cx.caller().tenant;
    let details = cx.runtime().run_details(tenant, &answer.run_id).await?;
    let run = Run::from(details);
    let (status, has_ended) = (run.status, run.finished_at.is_some());
    let text = has_ended.then(|| answer::json(&run));
    let text = text.map(RawValue::from_string).transpose();
    Ok(Started {
        status: status.to_owned(),
        run: text.map_err(|error| Failure::internal(error.to_string()))?,
        ..answer
    })
}
