//! `interlock manager`: batches in files, and their ticks (`runs.md` §8).

use std::{collections::BTreeMap, process::ExitCode};

use clap::{Args, Subcommand};
use serde::Deserialize;

use super::{
    client,
    flo::validate,
    output::Table,
    remote::{Error, Json, Options, Service, maybe, maybe_json, with_service},
};
use crate::event::payload::Object;

#[derive(Subcommand)]
pub(super) enum Command {
    /// Make a manager of a JSON document; prints the name of its file.
    #[command(after_help = "Example:\n  interlock manager create -f import-august.json")]
    Create {
        /// The document, or - for standard input.
        #[arg(short, long)]
        file: String,
        #[command(flatten)]
        options: Options,
    },
    /// List managers.
    #[command(
        visible_alias = "ls",
        after_help = "Example:\n  interlock manager list --status error"
    )]
    List {
        /// Only managers of this status: to-do, in-progress, done, paused or error.
        #[arg(long)]
        status: Option<String>,
        #[command(flatten)]
        options: Options,
    },
    /// Print a manager as it is written.
    Show(Named),
    /// Bring managers up to date, and start what is to be started.
    #[command(after_help = "\
Examples:
  interlock manager tick
  interlock manager tick '{\"managers\":[\"com.acme:import-20240821095322.json\"]}'

If a manager could not be ticked, the exit code is 1.")]
    Tick {
        /// Which managers; all that are in progress by default.
        payload: Option<Json>,
        #[command(flatten)]
        options: Options,
    },
    /// Have nothing more started for a manager.
    Pause(Named),
    /// Resume a manager that is paused.
    Resume(Named),
    /// Have done again what failed of a manager, of one of its workers, or one item.
    #[command(after_help = "\
Examples:
  interlock manager reset $MANAGER
  interlock manager reset $MANAGER --worker import-file --item 2024-08-20")]
    Reset {
        #[command(flatten)]
        named: Named,
        /// The user code of a worker, or its order if none has this code.
        #[arg(long)]
        worker: Option<String>,
        /// The name of an item, or its place, from 0, if none has this name.
        #[arg(long, requires = "worker")]
        item: Option<String>,
    },
}

#[derive(Args)]
pub(super) struct Named {
    /// The name of the manager's file.
    manager: String,
    #[command(flatten)]
    options: Options,
}

#[derive(Deserialize)]
struct Created {
    manager: String,
}

#[derive(Deserialize)]
struct Listed {
    manager: String,
    #[serde(default)]
    name: String,
    status: Option<String>,
    workers: BTreeMap<String, usize>,
}

#[derive(Deserialize)]
struct Shown<'a> {
    #[serde(borrow)]
    document: &'a serde_json::value::RawValue,
}

#[derive(Deserialize)]
struct Ticked {
    processed: Vec<Processed>,
}

#[derive(Deserialize)]
struct Processed {
    manager: String,
    status: Option<String>,
    started: Vec<Started>,
    error: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Started {
    worker: Option<i64>,
    item: usize,
    run_id: Option<String>,
    task_id: Option<String>,
}

impl Ticked {
    fn show(&self) {
        for one in &self.processed {
            let status = one.status.as_deref().unwrap_or_default();
            show!(
                "{}: {}",
                one.manager,
                one.error.as_deref().unwrap_or(status)
            );
            for item in &one.started {
                let worker = item.worker.map(|order| order.to_string());
                let worker = worker.as_deref().unwrap_or("-");
                let work = item.run_id.as_deref().or(item.task_id.as_deref());
                let work = work.unwrap_or_default();
                show!("  started item {} of worker {worker}: {work}", item.item);
            }
        }
    }
}

#[derive(Deserialize)]
struct Controlled {
    status: String,
    changed: Vec<serde::de::IgnoredAny>,
}

pub(super) fn run(command: &Command) -> ExitCode {
    match command {
        Command::Create { file, options } => with_service(options, |to| create(to, file)),
        Command::List { status, options } => {
            with_service(options, |to| list(to, status.as_deref()))
        }
        Command::Show(named) => with_service(&named.options, |to| show(to, &named.manager)),
        Command::Tick { payload, options } => {
            with_service(options, |to| tick(to, payload.as_ref()))
        }
        Command::Pause(named) => control(named, "pause", None, None),
        Command::Resume(named) => control(named, "resume", None, None),
        Command::Reset {
            named,
            worker,
            item,
        } => control(named, "reset", worker.as_deref(), item.as_deref()),
    }
}

async fn create(service: Service<'_>, file: &str) -> Result<(), Error> {
    let text = String::from_utf8(validate::read(file)?);
    let text = text.map_err(|_| Error::NotText(file.to_owned()))?;
    let bad = |error| Error::NotJson(file.to_owned(), error);
    let document: Json = text.parse().map_err(bad)?;
    let request = |object| service.in_namespace(object).raw("document", document.get());
    let answer = service.ask("ManagerCreate", request).await?;
    if service.is_json() {
        show!("{answer}");
    } else {
        show!("{}", client::read::<Created>(&answer)?.manager);
    }
    Ok(())
}

async fn list(service: Service<'_>, status: Option<&str>) -> Result<(), Error> {
    let request = |object| maybe(service.in_namespace(object), "status", status);
    let items = service.items("ManagersGet", usize::MAX, request).await?;
    let mut table = Table::new(["MANAGER", "NAME", "STATUS", "WORKERS"]);
    for item in items {
        if service.is_json() {
            show!("{item}");
            continue;
        }
        let mut listed: Listed = client::read(item.get())?;
        let total = listed.workers.remove("total").unwrap_or(0);
        let by_status = listed.workers.iter();
        let by_status = by_status.map(|(status, count)| format!("{count} {status}"));
        let by_status: Vec<_> = by_status.collect();
        table.row([
            listed.manager,
            listed.name,
            listed.status.unwrap_or_else(|| "not a manager".to_owned()),
            format!("{total} ({})", by_status.join(", ")),
        ]);
    }
    if !service.is_json() {
        show!("{table}");
    }
    Ok(())
}

async fn show(service: Service<'_>, manager: &str) -> Result<(), Error> {
    let request = |object: Object| service.in_namespace(object).text("manager", manager);
    let answer = service.ask("ManagerGet", request).await?;
    if service.is_json() {
        show!("{answer}");
    } else {
        show!("{}", client::read::<Shown<'_>>(&answer)?.document);
    }
    Ok(())
}

async fn tick(service: Service<'_>, payload: Option<&Json>) -> Result<(), Error> {
    let request = |object| maybe_json(service.in_namespace(object), "payload", payload);
    let answer = service.ask("ManagerTick", request).await?;
    let ticked: Ticked = client::read(&answer)?;
    if service.is_json() {
        show!("{answer}");
    } else {
        ticked.show();
    }
    let failed = ticked.processed.iter().filter(|one| one.error.is_some());
    match failed.count() {
        0 => Ok(()),
        failed => Err(Error::NotTicked(failed)),
    }
}

fn control(named: &Named, change: &str, worker: Option<&str>, item: Option<&str>) -> ExitCode {
    with_service(&named.options, async |service: Service<'_>| {
        let request = |object: Object| {
            let object = service.in_namespace(object).text("manager", &named.manager);
            maybe(
                maybe(object.text("do", change), "worker", worker),
                "item",
                item,
            )
        };
        let answer = service.ask("ManagerControl", request).await?;
        if service.is_json() {
            show!("{answer}");
            return Ok(());
        }
        let controlled: Controlled = client::read(&answer)?;
        show!("{}: {}", named.manager, controlled.status);
        if change == "reset" {
            let count = controlled.changed.len();
            show!("{count} item{} reset", if count == 1 { "" } else { "s" });
        }
        Ok(())
    })
}
