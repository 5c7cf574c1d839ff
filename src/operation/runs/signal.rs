//! Delivers a signal to a run.

use super::json;
use crate::error::{Code, Failure};
use crate::event::{
    EventType,
    payload::{self, runs},
};
use crate::operation::{Access, Context, Family, Operation, Output};

/// How often a signal is delivered again that met another advance of the run.
const TRIES: usize = 10;

pub(in crate::operation) struct SignalRun {
    run: String,
    kind: String,
    payload: String,
}

impl Operation for SignalRun {
    type Payload = runs::Deliver<'static>;
    type Answer = runs::Signalled;

    const REQUEST: EventType = EventType::RunSignalRequest;
    const RESPONSE: EventType = EventType::RunSignalResponse;
    const FAMILY: Family = Family::Entity;
    const ACCESS: Access = Access::Write;

    fn parse(payload: &str) -> Result<Self, Failure> {
        let request: runs::Deliver<'_> = payload::decode(payload)?;
        Ok(Self {
            run: request.run_id,
            kind: request.kind,
            payload: json(request.payload, "null", "payload")?,
        })
    }

    async fn run(self, cx: Context) -> Result<Output<Self::Answer>, Failure> {
        let by = cx.initiator();
        let _arriving = cx.runtime().arriving(&by.tenant)?;
        let mut tries = 0;
        loop {
            tries += 1;
            let mut session = cx.session_for(0, |_, _| String::new()).await?;
            let runtime = cx.runtime();
            let payload = self.payload.as_str().into();
            let signalled = runtime
                .signal_run(&mut session, &by, &self.run, &self.kind, payload)
                .await;
            let arrived = signalled.map_err(|failure| self.failed(failure))?;
            let answer = runs::Signalled {
                run_id: self.run.clone(),
                kind: self.kind.clone(),
                matched: arrived.has_matched(),
                status: arrived.status.as_str().to_owned(),
            };
            let has_joined = session.has_joined();
            match cx.finish(session, answer, Vec::new()).await {
                Ok(output) => {
                    if !has_joined {
                        runtime.after_advance(&by.tenant, arrived);
                    }
                    return Ok(output);
                }
                Err(failure) => {
                    runtime.advance_failed(&by.tenant, &arrived);
                    let again = failure.code() == Code::Conflict && tries < TRIES && !has_joined;
                    if !again {
                        return Err(self.failed(failure));
                    }
                }
            }
        }
    }
}

impl SignalRun {
    /// A failure says for what, as a success does (`runs.md` §4).
    fn failed(&self, failure: Failure) -> Failure {
        let status = failure
            .properties()
            .iter()
            .find(|(name, _)| *name == "status");
        let status = status.map(|(_, value)| value.clone());
        let failure = failure
            .with_member("runId", self.run.clone())
            .with_member("type", self.kind.clone())
            .with_member("matched", false);
        match status {
            Some(status) => failure.with_member("status", status),
            None => failure,
        }
    }
}
