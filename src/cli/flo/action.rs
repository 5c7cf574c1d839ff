//! `flo action`: what workflows call.

use std::process::ExitCode;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use clap::{Args, Subcommand, ValueEnum};
use serde::Deserialize;

use super::{task, workflow::yes};
use crate::cli::{
    client,
    output::Table,
    remote::{Error, Json, Options, Service, maybe, maybe_number, with_service},
};
use crate::event::payload::{Object, text_list};

#[derive(Subcommand)]
pub(in crate::cli) enum Command {
    /// Register an action, or a new version of it.
    #[command(after_help = "\
Examples:
  flo action register charge-payment
  flo action register charge-payment --timeout 10000 --max-retries 5 --owner billing
  flo action register validate-order --wasm validate.wasm
  flo action register price --dispatch processor --tags pricing

With --wasm the service runs the module itself; otherwise members that announce the name, or workers
that await it, execute the action.

Topics: interlock help runs, members.")]
    Register(Register),
    /// Invoke an action without a run and print its task.
    #[command(
        after_help = "Examples:\n  flo action invoke charge-payment '{\"amount\":99.99}'\n  flo action invoke charge-payment '{}' | jq -r .taskId\n\nTopics: interlock help runs."
    )]
    Invoke(Invoke),
    /// Print a task as JSON.
    #[command(
        after_help = "Example:\n  flo action status $TASK | jq -r .status\n\nTopics: interlock help runs."
    )]
    Status(OfTask),
    /// List tasks, newest first.
    #[command(
        after_help = "Examples:\n  flo action runs\n  flo action runs charge-payment --format json | jq -r .taskId\n\nTopics: interlock help runs."
    )]
    Runs(Runs),
    /// List actions by name.
    #[command(
        visible_alias = "ls",
        after_help = "Example:\n  flo action list\n\nTopics: interlock help runs."
    )]
    List(List),
    /// Enable a disabled action.
    #[command(
        after_help = "Example:\n  flo action enable charge-payment\n\nTopics: interlock help runs."
    )]
    Enable(OfAction),
    /// Disable an action; its open tasks continue.
    #[command(
        after_help = "Example:\n  flo action disable charge-payment\n\nTopics: interlock help runs."
    )]
    Disable(OfAction),
    /// Delete an action; open tasks continue.
    #[command(
        after_help = "Example:\n  flo action delete charge-payment\n\nTopics: interlock help runs."
    )]
    Delete(OfAction),
}

#[derive(Args)]
pub(in crate::cli) struct Register {
    /// The name of the action.
    name: String,
    /// A WebAssembly module, in binary or text form, that the service runs.
    #[arg(long, value_name = "FILE")]
    wasm: Option<String>,
    /// How long one execution may take, in milliseconds; by default 30000.
    #[arg(long, value_name = "MS")]
    timeout: Option<u64>,
    /// How often a failed execution is repeated; by default 3 times.
    #[arg(long, value_name = "N")]
    max_retries: Option<u64>,
    /// Who answers for it.
    #[arg(long)]
    owner: Option<String>,
    /// The tags that a member needs, separated by commas.
    #[arg(long, value_delimiter = ',', value_name = "TAGS")]
    tags: Vec<String>,
    /// Which requests members receive; by default `task`.
    #[arg(long, value_enum)]
    dispatch: Option<Dispatch>,
    #[command(flatten)]
    options: Options,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Dispatch {
    /// Task requests, to members and workers that announce the name.
    Task,
    /// Processor requests, to any member with the tags.
    Processor,
}

#[derive(Args)]
pub(in crate::cli) struct Invoke {
    /// The name of the action.
    name: String,
    /// The input.
    #[arg(value_name = "JSON", allow_negative_numbers = true)]
    input: Json,
    #[command(flatten)]
    options: Options,
}

#[derive(Args)]
pub(in crate::cli) struct OfTask {
    /// The id of the task.
    task: String,
    #[command(flatten)]
    options: Options,
}

#[derive(Args)]
pub(in crate::cli) struct Runs {
    /// Only tasks of this action.
    name: Option<String>,
    /// How many at most.
    #[arg(long, default_value_t = 100)]
    limit: usize,
    #[command(flatten)]
    options: Options,
}

#[derive(Args)]
pub(in crate::cli) struct List {
    #[command(flatten)]
    options: Options,
}

#[derive(Args)]
pub(in crate::cli) struct OfAction {
    /// The name of the action.
    name: String,
    #[command(flatten)]
    options: Options,
}

pub(super) fn run(command: &Command) -> ExitCode {
    match command {
        Command::Register(given) => with_service(&given.options, |to| register(to, given)),
        Command::Invoke(given) => with_service(&given.options, |to| invoke(to, given)),
        Command::Status(given) => with_service(&given.options, |to| status(to, given)),
        Command::Runs(given) => with_service(&given.options, |to| runs(to, given)),
        Command::List(given) => with_service(&given.options, list),
        Command::Enable(given) => with_service(&given.options, |to| enable(to, given, true)),
        Command::Disable(given) => with_service(&given.options, |to| enable(to, given, false)),
        Command::Delete(given) => with_service(&given.options, |to| delete(to, given)),
    }
}

async fn register(service: Service<'_>, given: &Register) -> Result<(), Error> {
    #[derive(Deserialize)]
    struct Registered {
        version: u64,
    }
    let module = given.wasm.as_deref().map(module).transpose()?;
    let request = |object| {
        let object = service.in_namespace(object).text("name", &given.name);
        let object = match &module {
            Some(module) => object
                .text("type", "wasm")
                .object("wasm", |wasm| wasm.text("module", module)),
            None => object,
        };
        let object = maybe_number(object, "timeoutMs", given.timeout);
        let object = maybe_number(object, "maxRetries", given.max_retries);
        let object = maybe(object, "owner", given.owner.as_deref());
        let object = match given.dispatch {
            Some(Dispatch::Task) => object.text("dispatch", "task"),
            Some(Dispatch::Processor) => object.text("dispatch", "processor"),
            None => object,
        };
        if given.tags.is_empty() {
            object
        } else {
            object.raw("tags", &text_list(&given.tags))
        }
    };
    let answer = service.ask("ActionRegister", request).await?;
    let Registered { version } = client::read(&answer)?;
    if service.is_json() {
        show!("{answer}");
    } else {
        show!("Registered action: {} (version {version})", given.name);
    }
    Ok(())
}

/// The bytes of a module, as an event carries them.
fn module(file: &str) -> Result<String, Error> {
    match std::fs::read(file) {
        Ok(bytes) => Ok(STANDARD.encode(bytes)),
        Err(error) => Err(Error::Module(file.to_owned(), error)),
    }
}

async fn invoke(service: Service<'_>, given: &Invoke) -> Result<(), Error> {
    let request = |object| {
        let object = service.in_namespace(object).text("name", &given.name);
        object.raw("input", given.input.get())
    };
    let answer = service.ask("ActionInvoke", request).await?;
    show!("{}", task::of(&answer)?);
    Ok(())
}

async fn status(service: Service<'_>, given: &OfTask) -> Result<(), Error> {
    let request = |object: Object| object.text("taskId", &given.task);
    let answer = service.ask("TaskGet", request).await?;
    show!("{}", task::of(&answer)?);
    Ok(())
}

async fn runs(service: Service<'_>, given: &Runs) -> Result<(), Error> {
    let request = |object| maybe(service.in_namespace(object), "name", given.name.as_deref());
    let tasks = service.items("TasksGet", given.limit, request).await?;
    if service.is_json() {
        for task in &tasks {
            show!("{task}");
        }
    } else {
        show!("{}", task::table(&tasks)?);
    }
    Ok(())
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Listed {
    name: String,
    #[serde(rename = "type")]
    kind: String,
    dispatch: String,
    version: u64,
    enabled: bool,
    #[serde(default)]
    pending: u64,
    #[serde(default)]
    running: u64,
    #[serde(default)]
    owner: Option<String>,
}

async fn list(service: Service<'_>) -> Result<(), Error> {
    let request = |object| service.in_namespace(object);
    let items = service.items("ActionsGet", usize::MAX, request).await?;
    let heads = [
        "NAME", "TYPE", "DISPATCH", "VERSION", "ENABLED", "PENDING", "RUNNING", "OWNER",
    ];
    let mut table = Table::new(heads);
    for item in &items {
        if service.is_json() {
            show!("{item}");
        } else {
            let action: Listed = client::read(item.get())?;
            table.row([
                action.name,
                action.kind,
                action.dispatch,
                action.version.to_string(),
                yes(action.enabled),
                action.pending.to_string(),
                action.running.to_string(),
                action.owner.unwrap_or_default(),
            ]);
        }
    }
    if !service.is_json() {
        show!("{table}");
    }
    Ok(())
}

async fn enable(service: Service<'_>, given: &OfAction, enabled: bool) -> Result<(), Error> {
    let request = |object| {
        let object = service.in_namespace(object).text("name", &given.name);
        object.truth("enabled", enabled)
    };
    let answer = service.ask("ActionSetEnabled", request).await?;
    if service.is_json() {
        show!("{answer}");
    } else {
        let word = if enabled { "Enabled" } else { "Disabled" };
        show!("{word} action: {}", given.name);
    }
    Ok(())
}

async fn delete(service: Service<'_>, given: &OfAction) -> Result<(), Error> {
    let request = |object| service.in_namespace(object).text("name", &given.name);
    let answer = service.ask("ActionDelete", request).await?;
    if service.is_json() {
        show!("{answer}");
    } else {
        show!("Deleted action: {}", given.name);
    }
    Ok(())
}
