//! The command line: the service, and a client of it.
//!
//! May use: [`crate::id`], [`crate::telemetry`], [`crate::workflow`], [`crate::storage`],
//! [`crate::event`], [`crate::operation`], [`crate::help`], [`crate::app`].
//! The only place that prints.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a command line prints"
)]

mod call;
mod changes;
mod client;
mod events;
mod explain;
mod health;
mod help;
mod init;
mod members;
mod model;
mod workflow;

use std::{
    process::ExitCode,
    sync::{
        Arc, LazyLock,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use clap::{Parser, Subcommand, ValueEnum};

use crate::app::{
    self,
    config::{Config, Sources},
};
use crate::storage::Storage;
use crate::telemetry::{Telemetry, log_panics};

/// A gRPC-first service in which every record is an entity in a workflow and everything is a `CloudEvent`.
#[derive(Parser)]
#[command(
    name = "interlock",
    disable_version_flag = true,
    disable_help_subcommand = true,
    after_help = EXAMPLES
)]
struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
    /// Print the version.
    #[arg(short = 'v', long = "version")]
    version: bool,
}

const EXAMPLES: &str = "\
Examples:
  interlock                                     start the service (REST 8080, gRPC 9090)
  CYODA_STORAGE_BACKEND=memory interlock        the same, forgetting everything at the end
  interlock events                              every event type, and which method takes it
  interlock call EntityModelGetAllRequest       ask a running service for its models
  interlock call EntityGetRequest '{\"entityId\":\"…\"}'
  interlock call EntityCreateRequest @new.json --metadata x-mock-tenant=acme
  interlock workflow draw order.json            a workflow as a picture, in Mermaid or DOT
  interlock init                                write a file that explains every setting
  interlock health && echo ready

Topics: getting-started, tutorial, models, unique-keys, entities, idempotency, workflows, criteria,
processors, timers, members, transactions, search, indexes, statistics, history, changes, explain,
messages, cloudevents, grpc, rest, openapi, errors, config, cli, operators, security, attacks,
reference, benchmark, contributing. `interlock help` lists them, `interlock help <topic>` prints one.

Settings come from the environment and from .env files; `interlock help config` lists them.";

#[derive(Subcommand)]
enum Command {
    /// Start the service (what happens without a command, too).
    #[command(
        after_help = "Example:\n  CYODA_HTTP_PORT=8081 CYODA_SQLITE_PATH=./my.db interlock serve\n\nTopics: interlock help config, operators."
    )]
    Serve,
    /// Send an event to a running service and print what answers, one JSON document to a line.
    #[command(after_help = "\
Examples:
  interlock call EntityModelGetAllRequest
  interlock call EntityGetAllRequest '{\"model\":{\"name\":\"earthquake\",\"version\":1},\"pageSize\":5}'
  interlock call EntityCreateRequest @entity.json
  jq -c . entity.json | interlock call EntityCreateRequest -

The payload's `id` is filled in if it is not given. The exit code is 1 if the answer says success:false.

Topics: interlock help cloudevents, and cloudevents <type> for what a payload says.")]
    Call(call::Arguments),
    /// List the event types that can be asked for.
    #[command(
        after_help = "Examples:\n  interlock events\n  interlock events --format json | jq '.[].request'\n  interlock events --schema EntityCreateRequest\n  interlock events --schema EntityResponse | jq .required\n\nTopics: interlock help cloudevents, grpc."
    )]
    Events {
        #[arg(long, value_enum, default_value_t = Format::Table)]
        format: Format,
        /// Print the JSON Schema (2020-12) of the data of this event type, of a request or of an
        /// answer.
        #[arg(long, value_name = "TYPE")]
        schema: Option<String>,
    },
    /// Look at workflows.
    #[command(subcommand)]
    Workflow(workflow::Command),
    /// Say why an entity did or did not move, leaf by leaf.
    #[command(after_help = "\
Examples:
  interlock explain 01a1feaf-9657-73d8-8cc5-0f937d08e621
  interlock explain 01a1feaf-9657-73d8-8cc5-0f937d08e621 --transition approve
  interlock explain 01a1feaf-9657-73d8-8cc5-0f937d08e621 --transaction 01a1feaf-9756-74eb-a461-e2e9a988f995
  interlock explain 01a1feaf-9657-73d8-8cc5-0f937d08e621 --json | jq .transitions

+ stands before what holds, - before what does not, ? before what was not looked at or what a
member would have to say. Nothing is changed, and no member is asked.

Topics: interlock help explain, criteria.")]
    Explain(explain::Arguments),
    /// Write a file for your settings, with all of them explained; what is there stays.
    #[command(after_help = "\
Examples:
  interlock init
  interlock init --force        write it anew, whatever is in it
  XDG_CONFIG_HOME=/srv/config interlock init

The file is interlock/interlock.env in $XDG_CONFIG_HOME or ~/.config, for its owner alone. Nothing
is written if it is there, or if /etc/interlock/interlock.env is.

Topics: interlock help config.")]
    Init {
        /// Write the file anew if there is one.
        #[arg(long)]
        force: bool,
    },
    /// Follow every change, one JSON document to a line, until it is ended.
    #[command(after_help = "\
Examples:
  interlock changes --from 0
  interlock changes --model order/1 --state SHIPPED --data | jq .data
  interlock changes --from 42 > changes.ndjson
  interlock changes --model order/1 --where '{\"type\":\"simple\",\"jsonPath\":\"$.total\",\"operatorType\":\"GREATER_THAN\",\"value\":100}'

When the connection is lost it goes on after the last change, so none is missing and none comes twice.

Topics: interlock help history.")]
    Changes(changes::Arguments),
    /// List the compute members that are connected.
    #[command(
        after_help = "Examples:\n  interlock members\n  interlock members --format json | jq '.members[].tags'\n\nTopics: interlock help members."
    )]
    Members(members::Arguments),
    /// Ask a running service whether it is ready; the exit code says so.
    #[command(
        after_help = "Example:\n  CYODA_ADMIN_PORT=9091 interlock health\n\nTopics: interlock help operators."
    )]
    Health,
    /// Bring the database up to date, without starting the service.
    #[command(
        after_help = "Example:\n  CYODA_SQLITE_PATH=./my.db interlock migrate --timeout 10m\n\nTopics: interlock help operators, config."
    )]
    Migrate {
        /// How long it may take.
        #[arg(long, default_value = "5m", value_parser = humantime::parse_duration)]
        timeout: Duration,
    },
    /// Tell about a topic; without one, list the topics.
    #[command(after_help = "\
Examples:
  interlock help
  interlock help workflows
  interlock help errors MODEL_NOT_FOUND
  interlock help cloudevents EntityCreateRequest    what its payload says
  interlock help openapi yaml > openapi.yaml
  interlock help config all | jq '.vars[].name'

The same over HTTP: GET help/<topic> below the context path.")]
    Help(help::Arguments),
    /// Print the version.
    Version,
}

/// How a list is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    Table,
    Json,
}

fn version() -> String {
    format!(
        "{} (commit {}, built {})",
        env!("CARGO_PKG_VERSION"),
        env!("BUILD_COMMIT"),
        env!("BUILD_TIME")
    )
}

/// Whether the process ends when it writes to someone who has gone.
static ENDS_WITH_THE_READER: LazyLock<Arc<AtomicBool>> = LazyLock::new(Arc::default);

/// Has a command end, like any other, when nobody reads any more what it prints. The service
/// goes on: whose connection is gone says so where it is written to.
fn end_with_the_reader() {
    ENDS_WITH_THE_READER.store(true, Ordering::Relaxed);
    // Without it, printing would panic; there is no other harm.
    let _ = signal_hook::flag::register_conditional_default(
        signal_hook::consts::SIGPIPE,
        Arc::clone(&ENDS_WITH_THE_READER),
    );
}

/// As long as it is there a service is spoken with, whose going is an error to be told.
struct Connected(bool);

impl Connected {
    fn new() -> Self {
        Self(ENDS_WITH_THE_READER.swap(false, Ordering::Relaxed))
    }
}

impl Drop for Connected {
    fn drop(&mut self) {
        ENDS_WITH_THE_READER.store(self.0, Ordering::Relaxed);
    }
}

/// Prints what has come meanwhile. Commands have one thread, so nothing else is written.
fn with_the_reader<T>(print: impl FnOnce() -> T) -> T {
    let before = ENDS_WITH_THE_READER.swap(true, Ordering::Relaxed);
    let printed = print();
    ENDS_WITH_THE_READER.store(before, Ordering::Relaxed);
    printed
}

/// Does what the arguments say; the exit code is that of the process.
pub fn run() -> ExitCode {
    let arguments = Arguments::parse();
    let command = if arguments.version {
        Command::Version
    } else {
        arguments.command.unwrap_or(Command::Serve)
    };
    if !matches!(command, Command::Serve) {
        end_with_the_reader();
    }
    match command {
        Command::Serve => with_config(serve),
        Command::Call(arguments) => with_config(|config| call::run(&config, &arguments)),
        Command::Events {
            schema: Some(kind), ..
        } => events::print_schema(&kind),
        Command::Events { format, .. } => {
            events::print(format);
            ExitCode::SUCCESS
        }
        Command::Workflow(command) => workflow::run(&command),
        Command::Explain(arguments) => with_config(|config| explain::run(&config, &arguments)),
        Command::Init { force } => init::run(force),
        Command::Changes(arguments) => with_config(|config| changes::run(&config, &arguments)),
        Command::Members(arguments) => with_config(|config| members::run(&config, &arguments)),
        Command::Health => with_config(|config| health::run(&config)),
        Command::Migrate { timeout } => with_config(|config| migrate(&config, timeout)),
        Command::Help(arguments) => help::run(&arguments),
        Command::Version => {
            println!("interlock {}", version());
            ExitCode::SUCCESS
        }
    }
}

/// Every command reads the settings, so that all of them mean the same service.
fn with_config(command: impl FnOnce(Config) -> ExitCode) -> ExitCode {
    match Config::read(Sources::of_process()) {
        Ok(config) => command(config),
        Err(error) => failed(&error),
    }
}

fn serve(config: Config) -> ExitCode {
    let telemetry = Telemetry::start(config.log_level);
    log_panics();
    for warning in &config.warnings {
        tracing::warn!("{warning}");
    }
    let runtime = match tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
    {
        Ok(runtime) => runtime,
        Err(error) => return failed(&error),
    };
    match runtime.block_on(app::run(config, telemetry)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => failed(&error),
    }
}

fn migrate(config: &Config, timeout: Duration) -> ExitCode {
    let outcome =
        block_on(async { tokio::time::timeout(timeout, Storage::migrate(&config.storage)).await });
    match outcome {
        Ok(Ok(Ok(()))) => {
            println!("the database is up to date");
            ExitCode::SUCCESS
        }
        Ok(Ok(Err(error))) => failed(&error),
        Ok(Err(_)) => {
            eprintln!("interlock: the migration did not end within {timeout:?}; raise --timeout");
            ExitCode::FAILURE
        }
        Err(error) => failed(&error),
    }
}

/// Runs what a command waits for, on one thread.
fn block_on<T>(work: impl Future<Output = T>) -> std::io::Result<T> {
    Ok(tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?
        .block_on(work))
}

/// Says what went wrong, with everything that led to it.
fn failed(error: &dyn std::error::Error) -> ExitCode {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(inner) = source {
        text = format!("{text}: {inner}");
        source = inner.source();
    }
    eprintln!("interlock: {text}");
    ExitCode::FAILURE
}
