//! `interlock saga`: sagas, and starts of them (`runs.md` §7).

use std::process::ExitCode;

use clap::{Args, Subcommand};
use serde::Deserialize;

use super::{
    client,
    output::Table,
    remote::{Error, Json, Options, Service, maybe, maybe_json, with_service},
};

#[derive(Subcommand)]
pub(super) enum Command {
    /// Start a saga, and print the id of its run and where that is.
    #[command(after_help = "\
Examples:
  interlock saga start create_order '{\"user_id\":7,\"amount\":99.99}'
  RUN=$(interlock saga start loan_approval --format json | jq -r .runId)

A saga without delay and await is answered with its end: completed, compensated or failed. The exit
code is 1 if it has not completed. Any other saga is running; interlock flo workflow status, signal,
cancel and history take the id of its run.

Topics: interlock help sagas, runs.")]
    Start(Start),
    /// List sagas by name.
    #[command(
        visible_alias = "ls",
        after_help = "Examples:\n  interlock saga list\n  interlock saga list --format json | jq -r .name\n\nTopics: interlock help sagas."
    )]
    List {
        #[command(flatten)]
        options: Options,
    },
    /// Print a saga as it is written in its bundle, or with --format json all of it.
    #[command(
        after_help = "Example:\n  interlock saga show create_order\n\nTopics: interlock help sagas."
    )]
    Show {
        /// The name of the saga.
        name: String,
        #[command(flatten)]
        options: Options,
    },
}

#[derive(Args)]
pub(super) struct Start {
    /// The name of the saga.
    name: String,
    /// The input of the run; by default {}.
    #[arg(value_name = "JSON", allow_negative_numbers = true)]
    input: Option<Json>,
    /// Start at most one run with this key.
    #[arg(long, value_name = "KEY")]
    idempotency_key: Option<String>,
    /// The id of the run; by default the service makes one.
    #[arg(long, value_name = "RUN")]
    run_id: Option<String>,
    #[command(flatten)]
    options: Options,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Started {
    run_id: String,
    status: String,
    /// If its end was waited for.
    run: Option<Ended>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Ended {
    status: String,
    #[serde(default)]
    compensated: bool,
    error: Option<Fault>,
    #[serde(default)]
    compensation_errors: Vec<NotUndone>,
}

/// A compensation that failed.
#[derive(Deserialize)]
struct NotUndone {
    step: String,
    message: String,
}

#[derive(Deserialize)]
struct Fault {
    message: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Listed {
    name: String,
    #[serde(default)]
    bundle: String,
    version: String,
    enabled: bool,
    created_at: String,
}

#[derive(Deserialize)]
struct Defined {
    document: String,
}

pub(super) fn run(command: &Command) -> ExitCode {
    match command {
        Command::Start(given) => with_service(&given.options, |to| start(to, given)),
        Command::List { options } => with_service(options, list),
        Command::Show { name, options } => with_service(options, |to| show(to, name)),
    }
}

async fn start(service: Service<'_>, given: &Start) -> Result<(), Error> {
    let request = |object| {
        let object = service.in_namespace(object).text("definition", &given.name);
        let object = object.text("kind", "saga");
        let object = maybe_json(object, "input", given.input.as_ref());
        let object = maybe(object, "runId", given.run_id.as_deref());
        maybe(object, "idempotencyKey", given.idempotency_key.as_deref())
    };
    let answer = service.ask("RunStart", request).await?;
    if service.is_json() {
        show!("{answer}");
    }
    let Started {
        run_id,
        status,
        run,
    } = client::read(&answer)?;
    let status = match &run {
        None if ["pending", "waiting"].contains(&&*status) => "running",
        None => &status,
        Some(run) if run.compensated => "compensated",
        Some(run) => &run.status,
    };
    let error = run.as_ref().and_then(|run| run.error.as_ref());
    if !service.is_json() {
        match error {
            Some(error) => show!("{run_id} {status}: {}", error.message),
            None => show!("{run_id} {status}"),
        }
    }
    for NotUndone { step, message } in run.iter().flat_map(|run| &run.compensation_errors) {
        eprintln!("the compensation of step \"{step}\" failed and is not repeated: {message}");
    }
    if ["completed", "running"].contains(&status) {
        return Ok(());
    }
    let status = status.to_owned();
    Err(Error::NotCompleted { run_id, status })
}

async fn list(service: Service<'_>) -> Result<(), Error> {
    let request = |object| service.in_namespace(object).text("kind", "saga");
    let items = service.items("RunDefinitionsGet", usize::MAX, request);
    let items = items.await?;
    let mut table = Table::new(["SAGA", "BUNDLE", "VERSION", "ENABLED", "APPLIED"]);
    for item in &items {
        if service.is_json() {
            show!("{item}");
            continue;
        }
        let listed: Listed = client::read(item.get())?;
        let enabled = if listed.enabled { "yes" } else { "no" };
        table.row([
            listed.name,
            listed.bundle,
            listed.version,
            enabled.to_owned(),
            listed.created_at,
        ]);
    }
    if !service.is_json() {
        show!("{table}");
    }
    Ok(())
}

async fn show(service: Service<'_>, name: &str) -> Result<(), Error> {
    let request = |object| service.in_namespace(object).text("name", name);
    let answer = service.ask("RunDefinitionGet", request).await?;
    if service.is_json() {
        show!("{answer}");
        return Ok(());
    }
    let defined: Defined = client::read(&answer)?;
    show!("{}", defined.document.trim_end());
    Ok(())
}
