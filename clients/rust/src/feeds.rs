//! Streamed answers that resume after a lost connection.

mod changes;
mod history;
mod live;
mod search;

use std::{future::Future, time::Duration};

use serde_json::json;

pub(crate) use self::{
    changes::changes,
    history::{all_runs, run},
    live::live_search,
    search::search,
};
pub use self::{
    changes::{Change, Changes},
    live::{Live, Match},
};
use crate::{
    Answers, Client, Code, Error, Event, Result,
    connection::{DELAY_FIRST, DELAY_MAX},
};

/// An answer that can be asked for again, after what was read of it.
trait Resumable: Send + Sized + 'static {
    type Event: Send + 'static;
    type Item: Send + 'static;

    /// Asks for what was not read yet.
    fn open(
        &mut self,
        client: &Client,
    ) -> impl Future<Output = Result<Answers<Self::Event>>> + Send;

    /// Notes that an event was read; returns what is made of it.
    fn read(&mut self, event: Self::Event) -> Result<Option<Self::Item>>;

    /// Whether a failure is final although the connection was lost.
    fn is_final(&mut self) -> bool {
        false
    }

    /// Whether an answer that has ended was complete.
    fn is_complete(&mut self, client: &Client) -> impl Future<Output = Result<bool>> + Send;
}

struct Resuming<R: Resumable> {
    client: Client,
    source: R,
    /// Whether a server that cannot be reached is an interruption.
    is_reached: bool,
    reading: Option<Answers<R::Event>>,
    delay: Duration,
}

/// Reads an answer again and again, until it is complete or fails for good.
fn resuming<R: Resumable>(client: Client, source: R) -> Answers<R::Item> {
    reading(client, source, true)
}

/// Does the same for an answer without an end. It fails if the server cannot be reached at first:
/// its address may be wrong.
fn following<R: Resumable>(client: Client, source: R) -> Answers<R::Item> {
    reading(client, source, false)
}

fn reading<R: Resumable>(client: Client, source: R, is_reached: bool) -> Answers<R::Item> {
    let state = Resuming {
        client,
        source,
        is_reached,
        reading: None,
        delay: DELAY_FIRST,
    };
    Answers::new(futures_util::stream::try_unfold(
        state,
        |mut state| async move { Ok(state.next().await?.map(|item| (item, state))) },
    ))
}

impl<R: Resumable> Resuming<R> {
    async fn next(&mut self) -> Result<Option<R::Item>> {
        if !self.is_reached {
            self.client.reach().await?;
            self.is_reached = true;
        }
        loop {
            match self.attempt().await {
                Ok(Step::Item(item)) => {
                    self.delay = DELAY_FIRST;
                    return Ok(Some(item));
                }
                Ok(Step::Complete) => return Ok(None),
                Ok(Step::Interrupted) => {}
                Err(error) if is_passing(&error) && !self.source.is_final() => {}
                Err(error) => return Err(error),
            }
            self.reading = None;
            self.client.pause(self.delay).await?;
            self.delay = DELAY_MAX.min(self.delay * 2);
        }
    }

    async fn attempt(&mut self) -> Result<Step<R::Item>> {
        let reading = match &mut self.reading {
            Some(reading) => reading,
            none => none.insert(self.source.open(&self.client).await?),
        };
        while let Some(event) = reading.next().await {
            if let Some(item) = self.source.read(event?)? {
                return Ok(Step::Item(item));
            }
        }
        let is_complete = self.source.is_complete(&self.client).await?;
        Ok(if is_complete {
            Step::Complete
        } else {
            Step::Interrupted
        })
    }
}

enum Step<T> {
    Item(T),
    Interrupted,
    Complete,
}

fn is_passing(error: &Error) -> bool {
    error.is_lost() || *error.code() == Code::StorageUnavailable
}

/// The newest position of a feed: the refusal of one that does not exist yet names it.
async fn newest(client: &Client, event_type: &str) -> Result<i64> {
    let mut answer = client.listen::<Event>(event_type, &json!({"fromSequence": i64::MAX}));
    let Some(Err(refusal)) = answer.next().await else {
        let message = "the server does not report its newest sequence";
        return Err(Error::new(Code::ServerError, message));
    };
    match refusal.properties().get("newest") {
        Some(newest) => newest.decode(),
        None => Err(refusal),
    }
}
