//! `interlock changes`: the change feed, or a live search; one change per line.

use std::{ops::ControlFlow, process::ExitCode, str::FromStr, time::Duration};

use clap::Args;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::{
    client::{self, Target},
    model::Model,
    output,
    remote::{Error, Refusal, Service, with_service},
};
use crate::event::payload::{Object, text_list};

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
    const fn operation(&self) -> &'static str {
        if self.condition.is_some() {
            "EntitySearchSubscribe"
        } else {
            "EntityChangesSubscribe"
        }
    }

    /// The members of a subscription to what follows a sequence.
    fn subscription(&self, object: Object, from: Option<i64>) -> Object {
        let mut object = object.truth("includeData", self.data);
        object = match &self.condition {
            Some(Condition(condition)) => object.raw("condition", condition.get()),
            None => object.raw("states", &text_list(&self.state)),
        };
        if let Some(Model(model)) = &self.model {
            let spec = Object::new()
                .text("name", &model.name)
                .number("version", model.version);
            object = object.raw("model", &spec.finish());
        }
        match from {
            Some(from) => object.number("fromSequence", from),
            None => object,
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

#[derive(Deserialize)]
struct Change {
    error: Option<Refusal>,
    #[serde(default)]
    sequence: Option<i64>,
}

pub(super) fn run(arguments: &Arguments) -> ExitCode {
    with_service(&arguments.target, |service| async move {
        follow(&service, arguments).await
    })
}

/// Prints changes until they cannot be written; resumes after a lost connection.
async fn follow(service: &Service<'_>, arguments: &Arguments) -> Result<(), Error> {
    let mut reached = arguments.from;
    let mut was_reached = false;
    if reached.is_none() && arguments.condition.is_none() {
        // So that there is a sequence to resume after before the first change.
        reached = newest(service, arguments).await?;
        was_reached = true;
    }
    loop {
        let from = reached;
        let mut refusal = None;
        let mut print = |text: &str| {
            let change: Change = client::read(text)?;
            if change.error.is_some() {
                refusal = change.error;
                return Ok(ControlFlow::Break(()));
            }
            show!("{text}");
            reached = change.sequence.or(reached);
            Ok(ControlFlow::Continue(()))
        };
        let ended = service
            .send(
                arguments.operation(),
                |it| arguments.subscription(it, from),
                &mut print,
            )
            .await;
        if !output::is_writable() {
            return Ok(());
        }
        if let Some(refusal) = refusal {
            return Err(Error::Refused(refusal));
        }
        match ended {
            Ok(()) => was_reached = true,
            Err(Error::Client(error)) => {
                was_reached |= error.has_reached();
                // Without a sequence there is nothing to resume after.
                if reached.is_none() || !error.is_lost(was_reached) {
                    return Err(error.into());
                }
            }
            Err(error) => return Err(error),
        }
        tokio::time::sleep(PAUSE).await;
    }
}

/// The newest sequence, as the rejection of a subscription says that is ahead of it; nothing if the
/// subscription is rejected for another reason, as the next one will be.
async fn newest(service: &Service<'_>, arguments: &Arguments) -> Result<Option<i64>, Error> {
    let mut newest = None;
    let mut read = |text: &str| {
        let change: Change = client::read(text)?;
        newest = change.error.and_then(|refusal| refusal.newest());
        Ok(ControlFlow::Break(()))
    };
    let ahead = |object| arguments.subscription(object, Some(i64::MAX));
    service
        .send(arguments.operation(), ahead, &mut read)
        .await?;
    Ok(newest)
}
