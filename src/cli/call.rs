//! `interlock call`: any operation, over gRPC.

use std::{io::Read as _, ops::ControlFlow, process::ExitCode};

use clap::Args;
use serde_json::value::RawValue;

use super::{
    block_on,
    client::{self, Target},
    failed, wrong,
};
use crate::app::config::Config;
use crate::event::{Event, EventType};
use crate::id::MessageId;
use crate::operation::{ROUTES, Route};

#[derive(Args)]
pub(super) struct Arguments {
    /// The event type, for instance `EntityGetRequest`.
    #[arg(value_parser = request_type)]
    event_type: &'static Route,
    /// The payload: JSON, @file, or - for standard input.
    #[arg(default_value = "{}")]
    payload: String,
    #[command(flatten)]
    target: Target,
}

/// Why nothing is printed.
#[derive(Debug, thiserror::Error)]
enum Error {
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
        Ok(Err(error @ Error::NotJson(_))) => wrong(&error),
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
    let route = arguments.event_type;
    let id = MessageId::fresh().to_string();
    let payload = with_id(&read(&arguments.payload)?, &id)?;
    let mut event = Event::ours(route.request, payload);
    event.id = id.into();
    let mut success = true;
    let mut print = |text: &str| {
        show!("{text}");
        success &= client::read::<Success>(text)?.success;
        Ok(ControlFlow::Continue(()))
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

fn request_type(given: &str) -> Result<&'static Route, String> {
    let known = EventType::from_name(given).and_then(Route::of);
    known.ok_or_else(|| {
        let hint = meant(given).map_or_else(String::new, |kind| format!(" (did you mean {kind}?)"));
        format!("it is not a request type{hint}; `interlock events` lists them")
    })
}

/// The request type that was probably meant.
fn meant(given: &str) -> Option<EventType> {
    let asked = given.to_ascii_lowercase();
    // Without what all names end with, which would make any two of them similar.
    let short = |name: &str| name.strip_suffix("request").unwrap_or(name).to_owned();
    let short_asked = short(&asked);
    let distance = |kind: &EventType| {
        let name = kind.as_str().to_ascii_lowercase();
        // The typing error may be in that end.
        strsim::levenshtein(&asked, &name).min(strsim::levenshtein(&short_asked, &short(&name)))
    };
    let nearest = ROUTES
        .iter()
        .map(|route| route.request)
        .min_by_key(distance);
    // A mostly different name is not suggested.
    nearest.filter(|kind| distance(kind) <= short_asked.len() / 3)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_type_that_is_written_wrongly_is_suggested() {
        let get = Some(EventType::EntityGetRequest);
        for given in [
            "EntityGet",
            "entitygetrequest",
            "EntityGetRequset",
            "EntiyGetRequest",
        ] {
            assert_eq!(meant(given), get, "{given}");
        }
        for given in ["SomethingElseRequest", "x", ""] {
            assert_eq!(meant(given), None, "{given}");
        }
        assert!(request_type("EntityGetRequest").is_ok());
    }
}
