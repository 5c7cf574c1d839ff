//! The history of runs.

use super::{Resumable, following, newest};
use crate::{
    Answers, Client, Result,
    api::{RunHistoryEvent, RunHistorySubscribeRequest},
    runs::AllRuns,
};

struct OneRun {
    run_id: String,
    after: i64,
}

pub(crate) fn run(client: Client, run_id: String, after: i64) -> Answers<RunHistoryEvent> {
    following(client, OneRun { run_id, after })
}

impl Resumable for OneRun {
    type Event = RunHistoryEvent;
    type Item = RunHistoryEvent;

    async fn open(&mut self, client: &Client) -> Result<Answers<RunHistoryEvent>> {
        let request = RunHistorySubscribeRequest::new()
            .run_id(self.run_id.as_str())
            .from_sequence(self.after);
        Ok(client.run_history_subscribe(&request))
    }

    fn read(&mut self, event: RunHistoryEvent) -> Result<Option<RunHistoryEvent>> {
        if event.event_type.is_none() {
            return Ok(None);
        }
        self.after = event.sequence.unwrap_or(self.after);
        Ok(Some(event))
    }

    /// The answer ends with the run, and may end with the server.
    async fn is_complete(&mut self, client: &Client) -> Result<bool> {
        let Some(run) = client.runs().get(self.run_id.as_str()).await?.run else {
            return Ok(false);
        };
        let is_over = matches!(
            run.status.as_str(),
            "completed" | "failed" | "cancelled" | "timed_out"
        );
        Ok(is_over && self.after >= run.last_sequence)
    }
}

struct Runs {
    what: AllRuns,
}

pub(crate) fn all_runs(client: Client, what: AllRuns) -> Answers<RunHistoryEvent> {
    following(client, Runs { what })
}

impl Resumable for Runs {
    type Event = RunHistoryEvent;
    type Item = RunHistoryEvent;

    async fn open(&mut self, client: &Client) -> Result<Answers<RunHistoryEvent>> {
        let after = match self.what.after {
            Some(after) => after,
            None => newest(client, "RunHistorySubscribeRequest").await?,
        };
        self.what.after = Some(after);
        let mut request = RunHistorySubscribeRequest::new().from_sequence(after);
        request.namespace.clone_from(&self.what.namespace);
        request.definition.clone_from(&self.what.definition);
        Ok(client.run_history_subscribe(&request))
    }

    fn read(&mut self, event: RunHistoryEvent) -> Result<Option<RunHistoryEvent>> {
        self.what.after = event.position.or(self.what.after);
        Ok(event.event_type.is_some().then_some(event))
    }

    fn is_final(&mut self) -> bool {
        self.what.after.is_none() // the server could not be reached at first
    }

    async fn is_complete(&mut self, _: &Client) -> Result<bool> {
        Ok(false)
    }
}
