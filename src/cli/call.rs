//! `interlock call`: any operation, over gRPC.

use std::{io::Read as _, process::ExitCode};

use clap::Args;
use serde_json::value::RawValue;

use super::{
    block_on,
    client::{self, Target},
    failed,
};
use crate::app::config::Config;
use crate::event::{Event, EventType};
use crate::id::MessageId;
use crate::operation::{ROUTES, Route};

#[derive(Args)]
pub(super) struct Arguments {
    /// The event type, for instance `EntityGetRequest`.
    event_type: String,
    /// The payload: JSON, @file, or - for standard input.
    #[arg(default_value = "{}")]
    payload: String,
    #[command(flatten)]
    target: Target,
}

/// Why nothing is printed.
#[derive(Debug, thiserror::Error)]
enum Error {
    #[error("`{0}` is not a request type{1}; `interlock events` lists them")]
    UnknownType(String, String),
    #[error("the payload cannot be read from {0}")]
    Unreadable(String, #[source] std::io::Error),
    #[error("the payload is not a JSON object: {0}")]
    NotJson(serde_json::Error),
    #[error(transparent)]
    Client(#[from] client::Error),
}

pub(super) fn run(config: &Config, arguments: &Arguments) -> ExitCode {
    match block_on(call(config, arguments)) {
        Ok(Ok(true)) => ExitCode::SUCCESS,
        Ok(Ok(false)) => ExitCode::FAILURE,
        Ok(Err(error)) => failed(&error),
        Err(error) => failed(&error),
    }
}

/// Prints the answers; returns whether all of them are successful.
async fn call(config: &Config, arguments: &Arguments) -> Result<bool, Error> {
    #[derive(serde::Deserialize)]
    struct Success {
        success: bool,
    }
    let route = EventType::from_name(&arguments.event_type)
        .and_then(Route::of)
        .ok_or_else(|| unknown(&arguments.event_type))?;
    let id = MessageId::fresh().to_string();
    let payload = with_id(&read(&arguments.payload)?, &id)?;
    let mut event = Event::ours(route.request, payload);
    event.id = id.into();
    let mut success = true;
    let mut print = |text: &str| {
        println!("{text}");
        success &= client::read::<Success>(text)?.success;
        Ok(())
    };
    arguments
        .target
        .ask(config, route, event, &mut print)
        .await?;
    Ok(success)
}

fn read(payload: &str) -> Result<String, Error> {
    if payload == "-" {
        let mut text = String::new();
        std::io::stdin()
            .read_to_string(&mut text)
            .map_err(|error| Error::Unreadable("standard input".to_owned(), error))?;
        return Ok(text);
    }
    match payload.strip_prefix('@') {
        Some(path) => {
            std::fs::read_to_string(path).map_err(|error| Error::Unreadable(path.to_owned(), error))
        }
        None => Ok(payload.to_owned()),
    }
}

/// Fills in the `id` that every payload must have.
fn with_id(payload: &str, id: &str) -> Result<String, Error> {
    let members: std::collections::BTreeMap<String, &RawValue> =
        serde_json::from_str(payload).map_err(Error::NotJson)?;
    if members.contains_key("id") {
        return Ok(payload.to_owned());
    }
    let rest = payload.trim_start().trim_start_matches('{');
    let comma = if members.is_empty() { "" } else { "," };
    Ok(format!("{{\"id\":\"{id}\"{comma}{rest}"))
}

fn unknown(given: &str) -> Error {
    let asked = given.to_ascii_lowercase();
    let asked = asked.strip_suffix("request").unwrap_or(&asked);
    let distance = |kind: &EventType| {
        let name = kind.as_str().to_ascii_lowercase();
        strsim::levenshtein(asked, name.strip_suffix("request").unwrap_or(&name))
    };
    let nearest = ROUTES
        .iter()
        .map(|route| route.request)
        .min_by_key(distance);
    // A mostly different name is not suggested.
    let meant = nearest.filter(|kind| distance(kind) <= asked.len() / 3);
    let hint = meant.map_or_else(String::new, |kind| format!(" (did you mean {kind}?)"));
    Error::UnknownType(given.to_owned(), hint)
}
