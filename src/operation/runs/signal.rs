//! Delivers a signal to a run.

use super::{
    check_size,
    deliver::{Delivery, deliver},
    json,
};
use crate::error::Failure;
use crate::event::{
    EventType,
    payload::{self, runs},
};
use crate::operation::{Access, Context, Family, Operation, Output};

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
        check_size(&cx, &self.payload, "payload")?;
        let delivery = Delivery::Signal {
            kind: &self.kind,
            payload: self.payload.as_str().into(),
        };
        let delivered = deliver(&cx, &self.run, delivery, |arrived| runs::Signalled {
            run_id: self.run.clone(),
            kind: self.kind.clone(),
            matched: arrived.is_taken,
            status: arrived.status.as_str().to_owned(),
        });
        let delivered = delivered.await;
        let (output, _) = delivered.map_err(|failure| self.failed(failure))?;
        Ok(output)
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
