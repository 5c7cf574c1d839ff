//! `flo worker`: a worker at a shell, which pulls tasks.

use std::process::ExitCode;

use clap::{Args, Subcommand};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::workflow::yes;
use crate::cli::{
    client,
    output::Table,
    remote::{Error, Json, Options, Service, maybe, maybe_json, maybe_number, with_service},
};
use crate::event::payload::{Object, text_list};

#[derive(Subcommand)]
pub(in crate::cli) enum Command {
    /// Register a worker for some actions.
    #[command(
        after_help = "Example:\n  flo worker register w1 --actions charge-payment,ship-order\n\nTopics: interlock help runs, members."
    )]
    Register(Register),
    /// Wait for a task and print it as JSON; print nothing when the time is over.
    #[command(after_help = "\
Examples:
  flo worker await w1 --actions charge-payment
  TASK=$(flo worker await w1 --actions charge-payment --block 60000 | jq -r .taskId)

The worker has the task until its lease ends: `flo worker touch` extends it.

Topics: interlock help runs, members.")]
    Await(Await),
    /// Report the outcome of a task.
    #[command(
        after_help = "Examples:\n  flo worker complete $TASK '{\"charge_id\":\"ch_1\"}'\n  flo worker complete $TASK '{\"score\":97}' --outcome fraud\n\nTopics: interlock help runs."
    )]
    Complete(Complete),
    /// Report that a task failed.
    #[command(
        after_help = "Examples:\n  flo worker fail $TASK 'the card is declined' --code declined\n  flo worker fail $TASK 'the provider does not answer' --retry\n\nTopics: interlock help runs."
    )]
    Fail(Fail),
    /// Extend the lease of a task.
    #[command(after_help = "Example:\n  flo worker touch $TASK\n\nTopics: interlock help runs.")]
    Touch(OfTask),
    /// Stop giving a worker new tasks; its current tasks continue.
    #[command(after_help = "Example:\n  flo worker drain w1\n\nTopics: interlock help runs.")]
    Drain(OfWorker),
    /// List workers and the members that announce actions.
    #[command(
        visible_alias = "ls",
        after_help = "Example:\n  flo worker list\n\nTopics: interlock help runs, members."
    )]
    List(List),
    /// Print a worker as JSON.
    #[command(
        after_help = "Example:\n  flo worker info w1 | jq .running\n\nTopics: interlock help runs."
    )]
    Info(OfWorker),
}

#[derive(Args)]
pub(in crate::cli) struct Register {
    /// The id of the worker, of your choice.
    worker: String,
    /// The actions that it executes, separated by commas.
    #[arg(long, required = true, value_delimiter = ',', value_name = "NAMES")]
    actions: Vec<String>,
    #[command(flatten)]
    options: Options,
}

#[derive(Args)]
pub(in crate::cli) struct Await {
    /// The id of the worker.
    worker: String,
    /// The actions that it executes, separated by commas.
    #[arg(long, required = true, value_delimiter = ',', value_name = "NAMES")]
    actions: Vec<String>,
    /// How long to wait, in milliseconds; by default 30000, at most 300000.
    #[arg(long, value_name = "MS")]
    block: Option<u64>,
    #[command(flatten)]
    options: Options,
}

#[derive(Args)]
pub(in crate::cli) struct Complete {
    /// The id of the task.
    task: String,
    /// The output; by default {}.
    #[arg(value_name = "JSON", allow_negative_numbers = true)]
    output: Option<Json>,
    /// The outcome; by default `success`.
    #[arg(long)]
    outcome: Option<String>,
    #[command(flatten)]
    options: Options,
}

#[derive(Args)]
pub(in crate::cli) struct Fail {
    /// The id of the task.
    task: String,
    /// Why it failed.
    #[arg(value_name = "TEXT")]
    message: String,
    /// The code of the error, which plans can name as fatal or retryable.
    #[arg(long)]
    code: Option<String>,
    /// Have it executed again, as often as the action allows.
    #[arg(long)]
    retry: bool,
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
pub(in crate::cli) struct OfWorker {
    /// The id of the worker.
    worker: String,
    #[command(flatten)]
    options: Options,
}

#[derive(Args)]
pub(in crate::cli) struct List {
    #[command(flatten)]
    options: Options,
}

pub(super) fn run(command: &Command) -> ExitCode {
    match command {
        Command::Register(given) => with_service(&given.options, |to| register(to, given)),
        Command::Await(given) => with_service(&given.options, |to| await_task(to, given)),
        Command::Complete(given) => with_service(&given.options, |to| complete(to, given)),
        Command::Fail(given) => with_service(&given.options, |to| fail(to, given)),
        Command::Touch(given) => with_service(&given.options, |to| touch(to, given)),
        Command::Drain(given) => with_service(&given.options, |to| drain(to, given)),
        Command::List(given) => with_service(&given.options, list),
        Command::Info(given) => with_service(&given.options, |to| info(to, given)),
    }
}

async fn register(service: Service<'_>, given: &Register) -> Result<(), Error> {
    let request = |object| {
        let object = service.in_namespace(object).text("workerId", &given.worker);
        object.raw("actions", &text_list(&given.actions))
    };
    let answer = service.ask("WorkerRegister", request).await?;
    if service.is_json() {
        show!("{answer}");
    } else {
        show!("Registered worker: {}", given.worker);
    }
    Ok(())
}

async fn await_task(service: Service<'_>, given: &Await) -> Result<(), Error> {
    #[derive(Deserialize)]
    struct Given {
        tasks: Vec<Box<RawValue>>,
    }
    let request = |object| {
        let object = service.in_namespace(object).text("workerId", &given.worker);
        let object = object.raw("actions", &text_list(&given.actions));
        maybe_number(object, "blockMs", given.block)
    };
    let answer = service.ask("TaskAwait", request).await?;
    let Given { tasks } = client::read(&answer)?;
    for task in tasks {
        show!("{task}");
    }
    Ok(())
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Reported {
    applied: bool,
    #[serde(default)]
    will_retry: bool,
}

async fn complete(service: Service<'_>, given: &Complete) -> Result<(), Error> {
    let request = |object: Object| {
        let object = object.text("taskId", &given.task);
        let object = maybe(object, "outcome", given.outcome.as_deref());
        maybe_json(object, "output", given.output.as_ref())
    };
    let answer = service.ask("TaskComplete", request).await?;
    let reported: Reported = client::read(&answer)?;
    if service.is_json() {
        show!("{answer}");
    } else if reported.applied {
        show!("Completed task: {}", given.task);
    } else {
        show!("{}", late(&given.task));
    }
    Ok(())
}

async fn fail(service: Service<'_>, given: &Fail) -> Result<(), Error> {
    let request = |object: Object| {
        let object = object.text("taskId", &given.task);
        let object = object.object("error", |error| {
            maybe(error, "code", given.code.as_deref()).text("message", &given.message)
        });
        if given.retry {
            object.truth("retry", true)
        } else {
            object
        }
    };
    let answer = service.ask("TaskFail", request).await?;
    let reported: Reported = client::read(&answer)?;
    if service.is_json() {
        show!("{answer}");
    } else if !reported.applied {
        show!("{}", late(&given.task));
    } else if reported.will_retry {
        show!("Failed task: {}, which is executed again", given.task);
    } else {
        show!("Failed task: {}", given.task);
    }
    Ok(())
}

/// What is said about an answer that came too late; it is recorded, and nothing is wrong.
fn late(task: &str) -> String {
    format!("Recorded for task {task}, which had ended or was given up before: nothing changed")
}

async fn touch(service: Service<'_>, given: &OfTask) -> Result<(), Error> {
    #[derive(Deserialize)]
    struct Touched {
        until: String,
    }
    // Since it says for how long, this extends what the delivery may take, too.
    let request = |object: Object| {
        let object = object.text("taskId", &given.task);
        maybe_number(object, "extendMs", Some(30_000))
    };
    let answer = service.ask("TaskTouch", request).await?;
    let Touched { until } = client::read(&answer)?;
    if service.is_json() {
        show!("{answer}");
    } else {
        show!("Extended task: {} until {until}", given.task);
    }
    Ok(())
}

async fn drain(service: Service<'_>, given: &OfWorker) -> Result<(), Error> {
    let request = |object| service.in_namespace(object).text("workerId", &given.worker);
    let answer = service.ask("WorkerDrain", request).await?;
    if service.is_json() {
        show!("{answer}");
    } else {
        show!("Draining worker: {}", given.worker);
    }
    Ok(())
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Listed {
    worker_id: String,
    actions: Vec<String>,
    max_concurrency: u64,
    running: u64,
    healthy: bool,
    draining: bool,
    stream: bool,
    last_seen: String,
}

async fn list(service: Service<'_>) -> Result<(), Error> {
    let request = |object| service.in_namespace(object);
    let items = service.items("WorkersGet", usize::MAX, request).await?;
    let heads = [
        "WORKER",
        "ON A STREAM",
        "HEALTHY",
        "DRAINING",
        "RUNNING",
        "MOST",
        "LAST SEEN",
        "ACTIONS",
    ];
    let mut table = Table::new(heads);
    for item in &items {
        if service.is_json() {
            show!("{item}");
        } else {
            let worker: Listed = client::read(item.get())?;
            table.row([
                worker.worker_id,
                yes(worker.stream),
                yes(worker.healthy),
                yes(worker.draining),
                worker.running.to_string(),
                worker.max_concurrency.to_string(),
                worker.last_seen,
                worker.actions.join(","),
            ]);
        }
    }
    if !service.is_json() {
        show!("{table}");
    }
    Ok(())
}

async fn info(service: Service<'_>, given: &OfWorker) -> Result<(), Error> {
    let request = |object| service.in_namespace(object).text("workerId", &given.worker);
    show!("{}", service.ask("WorkerGet", request).await?);
    Ok(())
}
