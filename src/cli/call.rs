//! `interlock call`: any operation, over gRPC.

use std::{io::Read as _, process::ExitCode};

use clap::Args;
use serde_json::value::RawValue;
use tonic::{
    Request, Status,
    metadata::{AsciiMetadataKey, AsciiMetadataValue},
    transport::Endpoint,
};

use super::{block_on, failed};
use crate::app::config::Config;
use crate::event::{
    Event, EventType, frame::Frame,
    proto::service::cloud_events_service_client::CloudEventsServiceClient,
};
use crate::id::MessageId;
use crate::operation::{Answers, Family, Route};

#[derive(Args)]
pub(super) struct Arguments {
    /// The event type, for instance `EntityGetRequest`.
    event_type: String,
    /// The payload: JSON, @file, or - for standard input.
    #[arg(default_value = "{}")]
    payload: String,
    /// Where the service listens; by default on this machine, at the configured port.
    #[arg(long, value_name = "HOST:PORT")]
    address: Option<String>,
    /// Metadata to send along, as name=value; may be repeated.
    #[arg(long, value_name = "NAME=VALUE")]
    metadata: Vec<String>,
}

/// Why there is nothing to print.
#[derive(Debug, thiserror::Error)]
enum Error {
    #[error("`{0}` is no event type that can be asked for{1}; `interlock events` lists them")]
    UnknownType(String, String),
    #[error("the payload cannot be read from {0}")]
    Unreadable(String, #[source] std::io::Error),
    #[error("the payload is not a JSON object: {0}")]
    NotJson(serde_json::Error),
    #[error("`{0}` is not NAME=VALUE")]
    Metadata(String),
    #[error("cannot reach the service at {0}; is it running? (`interlock` starts it)")]
    Unreachable(String, #[source] tonic::transport::Error),
    #[error("the service answered {}: {}", .0.code(), .0.message())]
    Status(Status),
    #[error("an answer could not be read: {0}")]
    Answer(String),
}

pub(super) fn run(config: &Config, arguments: &Arguments) -> ExitCode {
    match block_on(call(config, arguments)) {
        Ok(Ok(true)) => ExitCode::SUCCESS,
        Ok(Ok(false)) => ExitCode::FAILURE,
        Ok(Err(error)) => failed(&error),
        Err(error) => failed(&error),
    }
}

/// Prints the answers; whether all of them say success.
async fn call(config: &Config, arguments: &Arguments) -> Result<bool, Error> {
    let route = EventType::from_name(&arguments.event_type)
        .and_then(Route::of)
        .ok_or_else(|| unknown(&arguments.event_type))?;
    let id = MessageId::fresh().to_string();
    let payload = with_id(&read(&arguments.payload)?, &id)?;
    let mut event = Event::ours(route.request, payload);
    event.id = id.into();
    let mut request = Request::new(Frame::from(event));
    for pair in &arguments.metadata {
        let bad = || Error::Metadata(pair.clone());
        let (name, value) = pair.split_once('=').ok_or_else(bad)?;
        let name: AsciiMetadataKey = name.parse().map_err(|_| bad())?;
        let value: AsciiMetadataValue = value.parse().map_err(|_| bad())?;
        request.metadata_mut().insert(name, value);
    }
    let address = arguments
        .address
        .clone()
        .unwrap_or_else(|| format!("127.0.0.1:{}", config.listen.grpc.port()));
    let unreachable = |error| Error::Unreachable(address.clone(), error);
    let channel = Endpoint::from_shared(format!("http://{address}"))
        .map_err(unreachable)?
        .connect()
        .await
        .map_err(unreachable)?;
    let mut client = CloudEventsServiceClient::new(channel)
        .max_decoding_message_size(usize::MAX)
        .max_encoding_message_size(usize::MAX);
    let one = match (route.family, route.answers) {
        (Family::Model, _) => client.entity_model_manage(request).await,
        (Family::Entity, _) => client.entity_manage(request).await,
        (Family::Search, Answers::One) => client.entity_search(request).await,
        (Family::Search, Answers::Many) => {
            let mut answers = client
                .entity_search_collection(request)
                .await
                .map_err(Error::Status)?
                .into_inner();
            let mut success = true;
            while let Some(frame) = answers.message().await.map_err(Error::Status)? {
                success &= print(frame)?;
            }
            return Ok(success);
        }
    };
    print(one.map_err(Error::Status)?.into_inner())
}

/// Prints the payload of an answer; whether it says success.
fn print(frame: Frame) -> Result<bool, Error> {
    #[derive(serde::Deserialize)]
    struct Outcome {
        success: bool,
    }
    let event = frame
        .event()
        .map_err(|rejected| Error::Answer(rejected.failure.to_string()))?;
    let text = event
        .text()
        .map_err(|failure| Error::Answer(failure.to_string()))?;
    println!("{text}");
    let outcome: Outcome =
        serde_json::from_str(text).map_err(|error| Error::Answer(error.to_string()))?;
    Ok(outcome.success)
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
    let same = crate::operation::ROUTES.iter().find(|route| {
        let name = route.request.as_str();
        name.eq_ignore_ascii_case(given)
            || name
                .strip_suffix("Request")
                .is_some_and(|name| name.eq_ignore_ascii_case(given))
    });
    let hint = same.map_or_else(String::new, |route| {
        format!(" (did you mean {}?)", route.request)
    });
    Error::UnknownType(given.to_owned(), hint)
}
