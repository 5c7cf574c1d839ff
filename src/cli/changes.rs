//! `interlock changes`: the change feed, or a live search; one change per line.

use std::{process::ExitCode, str::FromStr, time::Duration};

use clap::Args;
use serde::Deserialize;
use serde_json::value::RawValue;
use tonic::Code;

use super::{
    block_on,
    client::{self, Target},
    failed,
    model::Model,
    output,
};
use crate::app::config::Config;
use crate::event::{
    Event, EventType,
    payload::{Object, text_list},
};
use crate::id::MessageId;
use crate::operation::Route;

/// The pause before reconnecting.
const PAUSE: Duration = Duration::from_secs(1);

#[derive(Args)]
pub(super) struct Arguments {
    /// The last sequence that was received: 0 for all changes; without it, new changes only.
    #[arg(long, value_name = "SEQUENCE", allow_negative_numbers = true)]
    from: Option<i64>,
    /// Only the changes of this model.
    #[arg(long, value_name = "NAME/VERSION")]
    model: Option<Model>,
    /// Only changes that leave the entity in this state; may be repeated.
    #[arg(long, value_name = "NAME")]
    state: Vec<String>,
    /// A condition on the model: print the matching entities, then those that enter, change and leave.
    #[arg(
        long = "where",
        value_name = "CONDITION",
        requires = "model",
        conflicts_with = "state"
    )]
    condition: Option<Condition>,
    /// Print the documents as well.
    #[arg(long)]
    data: bool,
    #[command(flatten)]
    target: Target,
}

impl Arguments {
    /// The event type to send.
    const fn kind(&self) -> EventType {
        if self.condition.is_some() {
            EventType::EntitySearchSubscribeRequest
        } else {
            EventType::EntityChangesSubscribeRequest
        }
    }
}

/// A condition as JSON on the command line.
#[derive(Debug, Clone)]
struct Condition(Box<RawValue>);

impl FromStr for Condition {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let bad = |error| format!("not a condition as JSON: {error}");
        serde_json::from_str(text).map(Self).map_err(bad)
    }
}

/// Why there are no more changes.
#[derive(Debug, thiserror::Error)]
enum Error {
    #[error(transparent)]
    Client(#[from] client::Error),
    #[error("{0}")]
    Refused(String),
}

#[derive(Deserialize)]
struct PrintedChange {
    error: Option<Refusal>,
    #[serde(default)]
    sequence: Option<i64>,
}

#[derive(Deserialize)]
struct Refusal {
    message: String,
    #[serde(default)]
    properties: Ahead,
}

/// What the rejection of a sequence says that does not exist yet.
#[derive(Default, Deserialize)]
struct Ahead {
    newest: Option<i64>,
}

pub(super) fn run(config: &Config, arguments: &Arguments) -> ExitCode {
    match block_on(follow(config, arguments)) {
        Ok(Ok(())) => ExitCode::SUCCESS,
        Ok(Err(error)) => failed(&error),
        Err(error) => failed(&error),
    }
}

/// Prints changes until they cannot be written; resumes after a lost connection.
async fn follow(config: &Config, arguments: &Arguments) -> Result<(), Error> {
    let Some(route) = Route::of(arguments.kind()) else {
        return Ok(());
    };
    let mut reached = arguments.from;
    let mut was_reached = false;
    if reached.is_none() && arguments.condition.is_none() {
        // So that there is a sequence to resume after before the first change.
        reached = newest(config, arguments, route).await?;
        was_reached = true;
    }
    loop {
        let event = subscription(arguments, reached);
        let mut refused = None;
        let mut print = |text: &str| {
            let change: PrintedChange = client::read(text)?;
            if let Some(refusal) = change.error {
                refused = Some(refusal.message);
            } else {
                show!("{text}");
                reached = change.sequence.or(reached);
            }
            Ok(())
        };
        let ended = arguments.target.ask(config, route, event, &mut print).await;
        if !output::is_writable() {
            return Ok(());
        }
        if let Some(message) = refused {
            return Err(Error::Refused(message));
        }
        was_reached |= has_reached(&ended);
        match ended {
            // Without a sequence there is nothing to resume after.
            Err(error) if reached.is_none() || !is_lost(&error, was_reached) => {
                return Err(error.into());
            }
            Ok(()) | Err(_) => tokio::time::sleep(PAUSE).await,
        }
    }
}

/// The newest sequence, as the rejection of a subscription says that is ahead of it; nothing if the
/// subscription is rejected for another reason, as the next one will be.
async fn newest(
    config: &Config,
    arguments: &Arguments,
    route: &Route,
) -> Result<Option<i64>, Error> {
    let event = subscription(arguments, Some(i64::MAX));
    let mut newest = None;
    let mut read = |text: &str| {
        let change: PrintedChange = client::read(text)?;
        newest = change.error.and_then(|refusal| refusal.properties.newest);
        Ok(())
    };
    arguments
        .target
        .ask(config, route, event, &mut read)
        .await?;
    Ok(newest)
}

/// Whether a service was there, although it may have printed nothing.
const fn has_reached(ended: &Result<(), client::Error>) -> bool {
    !matches!(
        ended,
        Err(client::Error::Unreachable(..) | client::Error::UnreachableOverTls(..))
    )
}

/// Whether another attempt may help; a service that was never reached may not exist.
fn is_lost(error: &client::Error, was_reached: bool) -> bool {
    match error {
        client::Error::Unreachable(..) | client::Error::UnreachableOverTls(..) => was_reached,
        client::Error::Status { status, .. } => matches!(
            status.code(),
            Code::Unavailable | Code::Unknown | Code::Cancelled | Code::Internal
        ),
        client::Error::File(_) | client::Error::Answer(_) | client::Error::Version(_) => false,
    }
}

fn subscription(arguments: &Arguments, from: Option<i64>) -> Event {
    let id = MessageId::fresh().to_string();
    let mut payload = Object::new()
        .text("id", &id)
        .truth("includeData", arguments.data);
    payload = match &arguments.condition {
        Some(Condition(condition)) => payload.raw("condition", condition.get()),
        None => payload.raw("states", &text_list(&arguments.state)),
    };
    if let Some(Model(model)) = &arguments.model {
        let spec = Object::new()
            .text("name", &model.name)
            .number("version", model.version);
        payload = payload.raw("model", &spec.finish());
    }
    if let Some(from) = from {
        payload = payload.number("fromSequence", from);
    }
    let mut event = Event::ours(arguments.kind(), payload.finish());
    event.id = id.into();
    event
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_service_that_was_reached_may_come_back_before_it_has_printed_anything() {
        let error = tonic::transport::Endpoint::from_shared("http://[").expect_err("no address");
        let away = Err(client::Error::Unreachable("here".to_owned(), error));
        let lost = Err(client::Error::Status {
            status: tonic::Status::unavailable("the connection was lost"),
            hint: "",
        });
        assert!(has_reached(&Ok(())) && has_reached(&lost) && !has_reached(&away));
        let is_left = |is_reached| away.as_ref().is_err_and(|error| is_lost(error, is_reached));
        assert!(is_left(true) && !is_left(false));
    }
}
