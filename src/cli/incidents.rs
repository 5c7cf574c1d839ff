//! `interlock incidents`: work that has stopped after it failed too often.

use std::process::ExitCode;

use clap::{Args, Subcommand};
use serde::Deserialize;

use super::{
    client::{self, Target},
    remote::{CallOptions, Error, Pagination, Service, maybe, with_service},
};
use crate::event::payload::Object;

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
    #[command(flatten)]
    options: CallOptions,
}

#[derive(Args)]
pub(super) struct Named {
    /// The incident, as the list shows it.
    #[arg(value_name = "INCIDENT")]
    incident: String,
    #[command(flatten)]
    target: Target,
}

#[derive(Deserialize)]
struct Page {
    items: Vec<Incident>,
    #[serde(default)]
    pagination: Pagination,
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

pub(super) fn run(command: &Command) -> ExitCode {
    match command {
        Command::List(asked) => with_service(&asked.options, |service| async move {
            list(&service, asked.kind.as_deref()).await
        }),
        Command::Retry(named) => close(named, "IncidentRetry", "retried"),
        Command::Cancel(named) => close(named, "IncidentCancel", "cancelled"),
    }
}

async fn list(service: &Service<'_>, kind: Option<&str>) -> Result<(), Error> {
    let mut cursor: Option<String> = None;
    let mut is_first = true;
    loop {
        let page = |object| {
            let object = maybe(object, "kind", kind);
            maybe(object, "cursor", cursor.as_deref())
        };
        let answer = service.ask("IncidentsGet", page).await?;
        let page: Page = client::read(&answer)?;
        if service.is_json() {
            show!("{answer}");
        } else {
            table(&page.items, is_first);
        }
        is_first = false;
        cursor = page.pagination.next_cursor;
        if cursor.is_none() {
            return Ok(());
        }
    }
}

fn close(named: &Named, operation: &'static str, done: &'static str) -> ExitCode {
    with_service(&named.target, |service| async move {
        let payload = |object: Object| object.text("incidentId", &named.incident);
        service.ask(operation, payload).await?;
        show!("Incident {} {done}", named.incident);
        Ok(())
    })
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
