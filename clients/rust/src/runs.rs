//! The most common operations on runs of step workflows.

use serde::Serialize;

use crate::{
    Answers, Client, Json, Request,
    api::{RunGetRequest, RunGetResponse, RunHistoryEvent, RunStartRequest, RunStartResponse},
    feeds,
};

/// Starts and follows runs of step workflows.
#[derive(Debug)]
pub struct Runs<'a> {
    client: &'a Client,
}

impl<'a> Runs<'a> {
    pub(crate) fn new(client: &'a Client) -> Self {
        Self { client }
    }

    /// Starts a run of a definition.
    pub fn start(
        &self,
        definition: impl Into<String>,
        input: &(impl Serialize + ?Sized),
    ) -> Request<RunStartResponse> {
        self.started(RunStartRequest::new(definition), input)
    }

    /// Starts the run of a definition that has this key, once: a repeat returns that run. The
    /// document of the definition has to say that it has keys. The key of the request
    /// ([`Request::idempotency_key`]) is another one.
    pub fn start_once(
        &self,
        definition: impl Into<String>,
        input: &(impl Serialize + ?Sized),
        key: impl Into<String>,
    ) -> Request<RunStartResponse> {
        self.started(RunStartRequest::new(definition).idempotency_key(key), input)
    }

    fn started(
        &self,
        request: RunStartRequest,
        input: &(impl Serialize + ?Sized),
    ) -> Request<RunStartResponse> {
        match Json::encode(input) {
            Ok(input) => self.client.call("RunStartRequest", &request.input(input)),
            Err(failure) => Request::new(self.client.clone(), Err(failure)),
        }
    }

    /// Reads a run.
    pub fn get(&self, run_id: impl Into<String>) -> Request<RunGetResponse> {
        self.client
            .call("RunGetRequest", &RunGetRequest::new(run_id))
    }

    /// Follows the events of a run after the sequence, 0 for all, until the run ends. After a lost
    /// connection it resumes after the last event, so that each comes once.
    ///
    /// It is a separate call, so it may be read slowly.
    pub fn follow(&self, run_id: impl Into<String>, after: i64) -> Answers<RunHistoryEvent> {
        feeds::run(self.client.clone(), run_id.into(), after)
    }

    /// Follows the events of all runs; see [`AllRuns`]. It has no end, and resumes as
    /// [`follow`](Self::follow) does.
    pub fn follow_all(&self, what: AllRuns) -> Answers<RunHistoryEvent> {
        feeds::all_runs(self.client.clone(), what)
    }
}

/// Chooses the runs that [`Runs::follow_all`] follows: all of the default namespace from now on, if
/// nothing is set.
#[derive(Clone, Debug, Default)]
pub struct AllRuns {
    pub(crate) namespace: Option<String>,
    pub(crate) definition: Option<String>,
    pub(crate) after: Option<i64>,
}

impl AllRuns {
    /// Chooses all runs of the default namespace from now on.
    pub fn new() -> Self {
        Self::default()
    }

    /// Those of a namespace.
    #[must_use]
    pub fn namespace(mut self, namespace: impl Into<String>) -> Self {
        self.namespace = Some(namespace.into());
        self
    }

    /// Those of a definition.
    #[must_use]
    pub fn definition(mut self, definition: impl Into<String>) -> Self {
        self.definition = Some(definition.into());
        self
    }

    /// Their events after this position, rather than from now on.
    #[must_use]
    pub fn after(mut self, position: i64) -> Self {
        self.after = Some(position);
        self
    }
}
