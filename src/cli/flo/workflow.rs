//! `flo workflow`: definitions and runs.

use std::process::ExitCode;

use clap::{Args, Subcommand};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::{
    history::{self, History},
    run::Run,
    validate,
};
use crate::cli::{
    client,
    output::{Finding, Table},
    remote::{Error, Json, Options, Service, maybe, maybe_json, report, with_service},
};
use crate::dialect::flo::{Document, Idempotency};
use crate::event::payload::{Object, definitions::Change, text_list};
use crate::id::MessageId;

#[derive(Subcommand)]
pub(in crate::cli) enum Command {
    /// Create a version of a workflow from its document, or replace it.
    #[command(after_help = "\
Examples:
  flo workflow create -f order.yaml
  flo workflow create -f - < order.json
  flo workflow create -f order.yaml -n billing --address orders.example.com:9090

Findings are printed to standard error. A document with an error is refused, and the exit code is 1.
A document of a version that exists replaces it, which is printed as Replaced (or Unchanged). Live
runs continue with the document they were started with.

Topics: interlock help flo-documents, runs.")]
    Create(Create),
    /// Start a run and print its id.
    #[command(
        visible_alias = "run",
        after_help = "\
Examples:
  flo workflow start process-order '{\"order_id\":\"ORD-123\",\"amount\":99.99}'
  flo workflow start process-order '{}' --idempotency-key order-123
  RUN=$(flo workflow start process-order) && flo workflow history $RUN --follow

A second start with the same key prints the id of the first run. If the workflow requires a key and
none is given, one is generated and reported on standard error.

Topics: interlock help runs, idempotency."
    )]
    Start(Start),
    /// Print where a run is, as one line of JSON.
    #[command(
        visible_alias = "get",
        after_help = "Examples:\n  flo workflow status wfrun-1795597200000000000\n  flo workflow status $RUN | jq -r .status\n  flo workflow start ship \"$(flo workflow status $RUN --input)\"    another run with the same input\n\nTopics: interlock help runs."
    )]
    Status(Status),
    /// Send a signal to a run.
    #[command(after_help = "\
Examples:
  flo workflow signal $RUN --type approval '{\"decision\":\"approved\",\"approver\":\"manager@co.com\"}'
  flo workflow signal $RUN --type approval --payload '{\"decision\":\"approved\"}'

A signal that the run does not wait for yet is kept until it does. A run that has ended refuses it.

Topics: interlock help runs.")]
    Signal(Signal),
    /// Cancel a run and its children.
    #[command(
        after_help = "Examples:\n  flo workflow cancel $RUN\n  flo workflow cancel $RUN --reason 'ordered twice'\n\nTopics: interlock help runs."
    )]
    Cancel(Cancel),
    /// Print what has happened in a run.
    #[command(after_help = "\
Examples:
  flo workflow history $RUN
  flo workflow history $RUN --follow
  flo workflow history $RUN --from 7 --limit 10
  flo workflow history $RUN --format json | jq -r .event_type

--follow prints events as they happen until the run ends; after a lost connection it resumes.

Topics: interlock help runs.")]
    History(History),
    /// List runs, newest first.
    #[command(
        name = "list-runs",
        visible_alias = "runs",
        after_help = "\
Examples:
  flo workflow list-runs
  flo workflow runs process-order --status waiting --status running
  flo workflow runs --attribute customer=C-7 --attribute 'amount>100' --limit 20

Topics: interlock help runs."
    )]
    ListRuns(ListRuns),
    /// List definitions by name.
    #[command(
        visible_alias = "ls",
        after_help = "Examples:\n  flo workflow list\n  flo workflow ls -n billing --format json | jq -r .name\n\nTopics: interlock help runs."
    )]
    List(List),
    /// Print the document of a definition as it was created.
    #[command(
        visible_aliases = ["def", "show"],
        after_help = "Examples:\n  flo workflow definition process-order\n  flo workflow show process-order --version 1.0.0 > order.yaml\n\nTopics: interlock help flo-documents."
    )]
    Definition(OfDefinition),
    /// Refuse starts of a definition; live runs continue.
    #[command(
        after_help = "Examples:\n  flo workflow disable process-order\n  flo workflow disable process-order --version 1.0.0\n\nTopics: interlock help runs."
    )]
    Disable(OfDefinition),
    /// Accept starts of a definition again.
    #[command(
        after_help = "Example:\n  flo workflow enable process-order\n\nTopics: interlock help runs."
    )]
    Enable(OfDefinition),
    /// Delete a definition, or one version of it; live runs continue.
    #[command(
        after_help = "Examples:\n  flo workflow delete process-order\n  flo workflow delete process-order --version 1.0.0\n\nTopics: interlock help runs."
    )]
    Delete(OfDefinition),
}

#[derive(Args)]
pub(in crate::cli) struct Create {
    /// The document, or - for standard input.
    #[arg(short, long, value_name = "FILE")]
    file: String,
    #[command(flatten)]
    options: Options,
}

#[derive(Args)]
pub(in crate::cli) struct Start {
    /// The name of the workflow.
    name: String,
    /// The input of the run; by default {}.
    #[arg(value_name = "JSON", allow_negative_numbers = true)]
    input: Option<Json>,
    /// The version; by default the one that was created last.
    #[arg(long)]
    version: Option<String>,
    /// Start at most one run with this key.
    #[arg(long, value_name = "KEY")]
    idempotency_key: Option<String>,
    /// The id of the run; by default the service makes one.
    #[arg(long, value_name = "RUN")]
    run_id: Option<String>,
    #[command(flatten)]
    options: Options,
}

#[derive(Args)]
pub(in crate::cli) struct Status {
    /// The id of the run.
    run: String,
    /// Print only the input of the run, as it was given.
    #[arg(long)]
    input: bool,
    #[command(flatten)]
    options: Options,
}

#[derive(Args)]
pub(in crate::cli) struct Signal {
    /// The id of the run.
    run: String,
    /// The type of the signal.
    #[arg(long = "type", value_name = "TYPE")]
    kind: String,
    /// The payload; by default null.
    #[arg(
        value_name = "JSON",
        allow_negative_numbers = true,
        conflicts_with = "payload"
    )]
    positional: Option<Json>,
    /// The payload, as an option.
    #[arg(long, value_name = "JSON", allow_negative_numbers = true)]
    payload: Option<Json>,
    #[command(flatten)]
    options: Options,
}

#[derive(Args)]
pub(in crate::cli) struct Cancel {
    /// The id of the run.
    run: String,
    /// Why; by default `cancelled by user`.
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
    #[command(flatten)]
    options: Options,
}

#[derive(Args)]
pub(in crate::cli) struct ListRuns {
    /// Only runs of this workflow.
    name: Option<String>,
    /// Only runs of this workflow, as an option.
    #[arg(long, value_name = "NAME", conflicts_with = "name")]
    workflow: Option<String>,
    /// Only runs with this status; may be repeated.
    #[arg(long)]
    status: Vec<String>,
    /// Only runs that this text finds.
    #[arg(long, value_name = "TEXT")]
    search: Option<String>,
    /// Only runs with this search attribute (a=x, n<5, n>5); may be repeated.
    #[arg(long, value_name = "ATTRIBUTE")]
    attribute: Vec<String>,
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
pub(in crate::cli) struct OfDefinition {
    /// The name of the workflow.
    name: String,
    /// One version of it.
    #[arg(long)]
    version: Option<String>,
    #[command(flatten)]
    options: Options,
}

pub(super) fn run(command: &Command) -> ExitCode {
    match command {
        Command::Create(given) => with_service(&given.options, |to| create(to, given)),
        Command::Start(given) => with_service(&given.options, |to| start(to, given)),
        Command::Status(given) => with_service(&given.options, |to| status(to, given)),
        Command::Signal(given) => with_service(&given.options, |to| signal(to, given)),
        Command::Cancel(given) => with_service(&given.options, |to| cancel(to, given)),
        Command::History(given) => history::run(given),
        Command::ListRuns(given) => with_service(&given.options, |to| list_runs(to, given)),
        Command::List(given) => with_service(&given.options, list),
        Command::Definition(given) => with_service(&given.options, |to| show(to, given)),
        Command::Disable(given) => with_service(&given.options, |to| enable(to, given, false)),
        Command::Enable(given) => with_service(&given.options, |to| enable(to, given, true)),
        Command::Delete(given) => with_service(&given.options, |to| delete(to, given)),
    }
}

async fn create(service: Service<'_>, given: &Create) -> Result<(), Error> {
    #[derive(Deserialize)]
    struct Created {
        name: String,
        version: String,
        change: Change,
        #[serde(default)]
        findings: Vec<Finding>,
    }
    let document = String::from_utf8(validate::read(&given.file)?)
        .map_err(|_| Error::NotText(given.file.clone()))?;
    let request = |object| service.in_namespace(object).text("document", &document);
    let answer = service.ask("RunDefinitionCreate", request).await?;
    let created: Created = client::read(&answer)?;
    if !created.findings.is_empty() {
        report(&created.findings);
    }
    let Created { name, version, .. } = created;
    if service.is_json() {
        show!("{answer}");
    } else {
        match created.change {
            Change::Created => show!("Created workflow: {name}"),
            Change::Replaced => show!("Replaced workflow: {name} (version {version})"),
            Change::Unchanged => show!("Unchanged workflow: {name} (version {version})"),
        }
    }
    Ok(())
}

async fn start(service: Service<'_>, given: &Start) -> Result<(), Error> {
    let key = given.idempotency_key.as_deref();
    let run = match ask_to_start(&service, given, key).await {
        Err(Error::Refused(refusal)) if key.is_none() && refusal.is("BAD_REQUEST") => {
            if !requires_key(&service, given).await? {
                return Err(Error::Refused(refusal));
            }
            let key = MessageId::fresh().to_string();
            eprintln!("idempotency key: {key}");
            ask_to_start(&service, given, Some(&key)).await?
        }
        answer => answer?,
    };
    if service.is_json() {
        show!("{}", Object::new().text("run_id", &run).finish());
    } else {
        show!("{run}");
    }
    Ok(())
}

/// The id of the run.
async fn ask_to_start(
    service: &Service<'_>,
    given: &Start,
    key: Option<&str>,
) -> Result<String, Error> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Started {
        run_id: String,
    }
    let request = |object| {
        let object = service.in_namespace(object).text("definition", &given.name);
        let object = maybe(object, "version", given.version.as_deref());
        let object = maybe_json(object, "input", given.input.as_ref());
        let object = maybe(object, "runId", given.run_id.as_deref());
        maybe(object, "idempotencyKey", key)
    };
    let answer = service.ask("RunStart", request).await?;
    let Started { run_id } = client::read(&answer)?;
    Ok(run_id)
}

/// Whether the definition rejects a start without an idempotency key.
async fn requires_key(service: &Service<'_>, given: &Start) -> Result<bool, Error> {
    let of = (given.name.as_str(), given.version.as_deref());
    let text = document(service, of).await?.1;
    let (document, _) = Document::read_in(None, text.as_bytes());
    Ok(document.is_some_and(|document| document.idempotency == Idempotency::Required))
}

/// The answer about a definition, and its document.
async fn document(
    service: &Service<'_>,
    (name, version): (&str, Option<&str>),
) -> Result<(String, String), Error> {
    #[derive(Deserialize)]
    struct Defined {
        document: Box<RawValue>,
    }
    let request = |object| {
        maybe(
            service.in_namespace(object).text("name", name),
            "version",
            version,
        )
    };
    let answer = service.ask("RunDefinitionGet", request).await?;
    let Defined { document } = client::read(&answer)?;
    // A document that was sent as an object is JSON; as a text, that text.
    let text = if document.get().starts_with('"') {
        client::read(document.get())?
    } else {
        document.get().to_owned()
    };
    Ok((answer, text))
}

async fn status(service: Service<'_>, given: &Status) -> Result<(), Error> {
    #[derive(Deserialize)]
    struct Got {
        run: Run,
    }
    let request = |object: Object| object.text("runId", &given.run);
    let answer = service.ask("RunGet", request).await?;
    let Got { run } = client::read(&answer)?;
    if given.input {
        show!("{}", run.input());
    } else {
        show!("{}", run.status_line());
    }
    Ok(())
}

async fn signal(service: Service<'_>, given: &Signal) -> Result<(), Error> {
    #[derive(Deserialize)]
    struct Signalled {
        matched: bool,
        status: String,
    }
    let payload = given.positional.as_ref().or(given.payload.as_ref());
    let request = |object: Object| {
        let object = object.text("runId", &given.run).text("type", &given.kind);
        maybe_json(object, "payload", payload)
    };
    let answer = service.ask("RunSignal", request).await?;
    let Signalled { matched, status } = client::read(&answer)?;
    let (kind, run) = (&given.kind, &given.run);
    if service.is_json() {
        show!("{answer}");
    } else if matched {
        show!("Signal {kind} delivered to {run}; its status is now {status}");
    } else {
        show!("Signal {kind} kept for {run}, which is {status} and does not wait for it yet");
    }
    Ok(())
}

async fn cancel(service: Service<'_>, given: &Cancel) -> Result<(), Error> {
    #[derive(Deserialize)]
    struct Cancelled {
        status: String,
    }
    let request = |object: Object| {
        let object = object.text("runId", &given.run);
        maybe(object, "reason", given.reason.as_deref())
    };
    let answer = service.ask("RunCancel", request).await?;
    let Cancelled { status } = client::read(&answer)?;
    if service.is_json() {
        show!("{answer}");
    } else {
        show!(
            "Cancel requested for {}; its status is now {status}",
            given.run
        );
    }
    Ok(())
}

async fn list_runs(service: Service<'_>, given: &ListRuns) -> Result<(), Error> {
    let name = given.name.as_deref().or(given.workflow.as_deref());
    let request = |object| {
        let mut object = maybe(service.in_namespace(object), "definition", name);
        if !given.status.is_empty() {
            object = object.raw("status", &text_list(&given.status));
        }
        if !given.attribute.is_empty() {
            object = object.raw("attributes", &text_list(&given.attribute));
        }
        maybe(object, "search", given.search.as_deref())
    };
    let items = service.items("RunsGet", given.limit, request).await?;
    let mut table = Table::new([
        "RUN",
        "WORKFLOW",
        "VERSION",
        "STATUS",
        "STEP",
        "CREATED",
        "COMPENSATED",
        "ERROR",
    ]);
    for item in &items {
        if service.is_json() {
            show!("{item}");
        } else {
            let run: Run = client::read(item.get())?;
            let error = run.fault_in_short();
            table.row([
                run.id,
                run.definition.name,
                run.definition.version,
                run.status,
                run.current_step.unwrap_or_default(),
                run.created_at,
                run.compensated.map(yes).unwrap_or_default(),
                error,
            ]);
        }
    }
    if !service.is_json() {
        show!("{table}");
    }
    Ok(())
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Listed {
    name: String,
    kind: String,
    version: String,
    versions: Vec<String>,
    enabled: bool,
    created_at: String,
    #[serde(default)]
    description: String,
}

async fn list(service: Service<'_>) -> Result<(), Error> {
    let request = |object| service.in_namespace(object);
    let items = service
        .items("RunDefinitionsGet", usize::MAX, request)
        .await?;
    let heads = [
        "NAME",
        "KIND",
        "VERSION",
        "VERSIONS",
        "ENABLED",
        "CREATED",
        "DESCRIPTION",
    ];
    let mut table = Table::new(heads);
    for item in &items {
        if service.is_json() {
            show!("{item}");
        } else {
            let listed: Listed = client::read(item.get())?;
            table.row([
                listed.name,
                listed.kind,
                listed.version,
                listed.versions.len().to_string(),
                yes(listed.enabled),
                listed.created_at,
                listed.description,
            ]);
        }
    }
    if !service.is_json() {
        show!("{table}");
    }
    Ok(())
}

pub(super) fn yes(truth: bool) -> String {
    if truth { "yes" } else { "no" }.to_owned()
}

async fn show(service: Service<'_>, given: &OfDefinition) -> Result<(), Error> {
    let of = (given.name.as_str(), given.version.as_deref());
    let (answer, text) = document(&service, of).await?;
    if service.is_json() {
        show!("{answer}");
    } else {
        show!("{}", text.trim_end_matches('\n'));
    }
    Ok(())
}

async fn enable(service: Service<'_>, given: &OfDefinition, enabled: bool) -> Result<(), Error> {
    let request = |object| {
        let object = service.in_namespace(object).text("name", &given.name);
        maybe(object, "version", given.version.as_deref()).truth("enabled", enabled)
    };
    let answer = service.ask("RunDefinitionSetEnabled", request).await?;
    if service.is_json() {
        show!("{answer}");
    } else {
        let word = if enabled { "Enabled" } else { "Disabled" };
        show!("{word} workflow: {}", given.called());
    }
    Ok(())
}

async fn delete(service: Service<'_>, given: &OfDefinition) -> Result<(), Error> {
    let request = |object| {
        let object = service.in_namespace(object).text("name", &given.name);
        maybe(object, "version", given.version.as_deref())
    };
    let answer = service.ask("RunDefinitionDelete", request).await?;
    if service.is_json() {
        show!("{answer}");
    } else {
        show!("Deleted workflow: {}", given.called());
    }
    Ok(())
}

impl OfDefinition {
    fn called(&self) -> String {
        match &self.version {
            Some(version) => format!("{} (version {version})", self.name),
            None => self.name.clone(),
        }
    }
}
