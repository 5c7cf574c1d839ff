//! `interlock incidents`: work that has stopped after it failed too often.

use std::process::ExitCode;

use clap::{Args, Subcommand};
use serde::Deserialize;

use super::{
    Format, block_on,
    client::{self, Target},
    failed,
};
use crate::app::config::Config;
use crate::event::{Event, EventType, payload::Object};
use crate::id::MessageId;
use crate::operation::Route;

#[derive(Subcommand)]
pub(super) enum Command {
    /// List work that has stopped, with its reason.
    List(List),
    /// Try the work again.
    Retry(Named),
    /// Cancel the run, drop the timer, or stop the schedule or trigger.
    Cancel(Named),
}

#[derive(Args)]
pub(super) struct List {
    /// Only incidents of that kind: run, timer or producer.
    #[arg(long)]
    kind: Option<String>,
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
    #[command(flatten)]
    target: Target,
}

#[derive(Args)]
pub(super) struct Named {
    /// The incident, as the list shows it.
    #[arg(value_name = "INCIDENT")]
    incident: String,
    #[command(flatten)]
    target: Target,
}

/// Why it was not done.
#[derive(Debug, thiserror::Error)]
enum Error {
    #[error(transparent)]
    Client(#[from] client::Error),
    #[error("{0}")]
    Refused(String),
}

#[derive(Deserialize)]
struct Answer {
    error: Option<Refusal>,
    #[serde(default)]
    items: Vec<Incident>,
    #[serde(default)]
    pagination: Pagination,
}

#[derive(Deserialize)]
struct Refusal {
    message: String,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Pagination {
    next_cursor: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Incident {
    #[serde(rename = "incidentId")]
    id: String,
    kind: String,
    run_id: Option<String>,
    entity_id: Option<String>,
    name: Option<String>,
    reason: String,
    tries: u32,
    since: String,
}

pub(super) fn run(config: &Config, command: &Command) -> ExitCode {
    let done = block_on(async {
        match command {
            Command::List(asked) => list(config, asked).await,
            Command::Retry(named) => {
                close(config, named, EventType::IncidentRetryRequest, "retried").await
            }
            Command::Cancel(named) => {
                let kind = EventType::IncidentCancelRequest;
                close(config, named, kind, "cancelled").await
            }
        }
    });
    match done {
        Ok(Ok(())) => ExitCode::SUCCESS,
        Ok(Err(error)) => failed(&error),
        Err(error) => failed(&error),
    }
}

async fn list(config: &Config, asked: &List) -> Result<(), Error> {
    let mut cursor: Option<String> = None;
    let mut is_first = true;
    loop {
        let payload = |mut object: Object| {
            for (name, value) in [("kind", &asked.kind), ("cursor", &cursor)] {
                if let Some(value) = value {
                    object = object.text(name, value);
                }
            }
            object
        };
        let kind = EventType::IncidentsGetRequest;
        let (answer, text) = ask(config, &asked.target, kind, payload).await?;
        match asked.format {
            Format::Json => show!("{text}"),
            Format::Table => table(&answer.items, is_first),
        }
        is_first = false;
        cursor = answer.pagination.next_cursor;
        if cursor.is_none() {
            return Ok(());
        }
    }
}

async fn close(config: &Config, named: &Named, kind: EventType, done: &str) -> Result<(), Error> {
    let payload = |object: Object| object.text("incidentId", &named.incident);
    ask(config, &named.target, kind, payload).await?;
    show!("Incident {} {done}", named.incident);
    Ok(())
}

/// The answer, also as it arrived.
async fn ask(
    config: &Config,
    target: &Target,
    kind: EventType,
    payload: impl FnOnce(Object) -> Object,
) -> Result<(Answer, String), Error> {
    let Some(route) = Route::of(kind) else {
        return Err(Error::Refused(format!("{kind} is not an operation")));
    };
    let id = MessageId::fresh().to_string();
    let mut event = Event::ours(kind, payload(Object::new().text("id", &id)).finish());
    event.id = id.into();
    let mut text = String::new();
    let mut keep = |answer: &str| {
        answer.clone_into(&mut text);
        Ok(())
    };
    target.ask(config, route, event, &mut keep).await?;
    let answer: Answer = client::read(&text)?;
    match answer.error {
        Some(refusal) => Err(Error::Refused(refusal.message)),
        None => Ok((answer, text)),
    }
}

fn table(incidents: &[Incident], has_head: bool) {
    if has_head {
        show!(
            "{:<36} {:<9} {:<36} {:<24} {:>5} {:<27} REASON",
            "INCIDENT",
            "KIND",
            "RUN OR ENTITY",
            "NAME",
            "TRIES",
            "SINCE"
        );
    }
    for incident in incidents {
        let subject = incident.run_id.as_ref().or(incident.entity_id.as_ref());
        show!(
            "{:<36} {:<9} {:<36} {:<24} {:>5} {:<27} {}",
            incident.id,
            incident.kind,
            subject.map_or("", String::as_str),
            incident.name.as_deref().unwrap_or(""),
            incident.tries,
            incident.since,
            incident.reason.lines().next().unwrap_or("")
        );
    }
}
