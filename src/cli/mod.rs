//! The command line: the service, and a client of it.
//!
//! May use: [`crate::id`], [`crate::clock`], [`crate::telemetry`], [`crate::workflow`], [`crate::storage`],
//! [`crate::event`], [`crate::operation`], [`crate::help`], [`crate::app`], [`crate::dialect`], [`crate::text`].
//! The only place that prints.
#![expect(clippy::print_stderr, reason = "a command line prints")]

// First, because the others print with its macro.
#[macro_use]
mod output;

mod backup;
mod bundle;
mod call;
mod changes;
mod client;
mod copy;
mod events;
mod explain;
mod files;
mod flo;
mod health;
mod help;
mod incidents;
mod init;
mod machine;
mod managers;
mod members;
mod model;
mod nodes;
mod remote;
mod saga;
mod workflow;

use std::{
    ffi::OsString,
    io::{self, Write as _},
    path::{Path, PathBuf},
    process::ExitCode,
    sync::{
        Arc, LazyLock,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use clap::{Arg, Parser, Subcommand, builder::UnknownArgumentValueParser};
use futures_util::FutureExt as _;

use crate::app::{
    self,
    config::{Config, ConfigError, Sources},
};
use crate::storage::{self, Storage};
use crate::telemetry::{Telemetry, log_panics};

/// An event-driven database service for records with a life cycle: entities in workflows, over gRPC
/// and REST.
#[derive(Parser)]
#[command(
    name = "interlock",
    disable_version_flag = true,
    disable_help_subcommand = true,
    arg = port_option(),
    after_help = EXAMPLES
)]
struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
    /// Print the version.
    #[arg(short = 'V', short_alias = 'v', long = "version")]
    version: bool,
}

/// How long the service waits at its end for threads that are held up, and for its log to be read.
const END_PATIENCE: Duration = Duration::from_secs(1);

/// The exit code of wrong arguments (`config-and-cli.md` §4); the parser of arguments has the same.
const WRONG_ARGUMENTS: u8 = 2;

const EXAMPLES: &str = "\
Examples:
  interlock                                     start the service (REST 8080, gRPC 9090)
  CYODA_STORAGE_BACKEND=memory interlock        the same, in memory only
  interlock events                              list the event types and the method of each
  interlock call EntityModelGetAllRequest       list the models of a running service
  interlock call EntityGetRequest '{\"entityId\":\"…\"}'
  interlock call EntityCreateRequest @new.json --metadata x-mock-tenant=acme
  interlock workflow draw order.json            draw a workflow in Mermaid or DOT
  interlock flo validate workflow -f order.yaml check a step workflow without a service
  interlock flo workflow start order '{}'       start a run of a step workflow
  interlock apply -f shop/                      apply sagas and state machines in HCL
  interlock init                                write a file that explains every setting
  interlock health && echo ready

Topics: getting-started, tutorial, models, unique-keys, entities, idempotency, workflows, criteria,
processors, timers, flo-documents, definitions, runs, sagas, connectors, actions, topics, files,
managers, members, transactions, search, indexes, statistics, history, changes, explain, messages,
cloudevents, grpc, rest, openapi, errors, config, cli, console, operators, postgres, security,
attacks, reference, benchmark, contributing, design.
`interlock help` lists them, `interlock help <topic>` prints one.

Settings are read from the environment and from .env files; `interlock help config` lists them.";

#[derive(Subcommand)]
enum Command {
    /// Start the service; this is the default command.
    #[command(
        arg = port_option(),
        after_help = "Example:\n  CYODA_HTTP_PORT=8081 CYODA_SQLITE_PATH=./my.db interlock serve\n\nTopics: interlock help config, operators."
    )]
    Serve {
        /// A folder of definitions to apply at this start: `*.hcl` as one bundle, and step
        /// workflows. It comes before `INTERLOCK_DEFINITIONS`.
        #[arg(long, value_name = "DIR")]
        definitions: Option<PathBuf>,
    },
    /// Apply the HCL files of sagas and state machines as one bundle.
    #[command(after_help = "\
Examples:
  interlock apply -f shop.hcl --bundle shop
  STRIPE_KEY=sk_test_1 interlock apply -f shop/
  interlock apply -f shop/ --dry-run

Values of env(\"NAME\") are taken from the environment of this command. The bundle is replaced as a
whole, in one step, or with any error not at all: findings are printed to standard error, and the
exit code is 1.

Topics: interlock help sagas.")]
    Apply(bundle::Apply),
    /// List, show and delete bundles of sagas and state machines.
    #[command(
        subcommand,
        after_help = "Examples:\n  interlock bundle list\n  interlock bundle show shop\n\nTopics: interlock help sagas."
    )]
    Bundle(bundle::Command),
    /// Start, list and show sagas.
    #[command(
        subcommand,
        after_help = "Examples:\n  interlock saga start create_order '{\"user_id\":7}'\n  interlock saga list\n\nTopics: interlock help sagas."
    )]
    Saga(saga::Command),
    /// List state machines, and fire their events.
    #[command(
        subcommand,
        after_help = "Examples:\n  interlock machine list\n  interlock machine fire order_status orders 1 pay\n\nTopics: interlock help sagas."
    )]
    Machine(machine::Command),
    /// Send an event to a running service and print its answers, one JSON document per line.
    #[command(after_help = "\
Examples:
  interlock call EntityModelGetAllRequest
  interlock call EntityGetAllRequest '{\"model\":{\"name\":\"earthquake\",\"version\":1},\"pageSize\":5}'
  interlock call EntityCreateRequest @entity.json
  jq -c . entity.json | interlock call EntityCreateRequest -

A missing `id` of the payload is filled in. The exit code is 1 if an answer has success:false.

Topics: interlock help cloudevents, and cloudevents <type> for the payload of a type.")]
    Call(call::Arguments),
    /// List the request types.
    #[command(
        after_help = "Examples:\n  interlock events\n  interlock events --format json | jq '.[].request'\n  interlock events --schema EntityCreateRequest\n  interlock events --schema EntityResponse | jq .required\n\nTopics: interlock help cloudevents, grpc."
    )]
    Events {
        #[arg(long, value_enum, default_value_t = remote::Format::Text)]
        format: remote::Format,
        /// Print the JSON Schema (2020-12) of the data of this event type, of a request or of an
        /// answer.
        #[arg(long, value_name = "TYPE")]
        schema: Option<String>,
    },
    /// Draw workflows.
    #[command(
        subcommand,
        after_help = "Example:\n  interlock workflow draw order.json\n\nTopics: interlock help workflows."
    )]
    Workflow(workflow::Command),
    /// Step workflows: their definitions, runs, actions, workers and topics.
    #[command(
        subcommand,
        after_help = "\
Examples:
  interlock flo workflow create -f order.yaml
  interlock flo workflow start order '{\"order_id\":\"ORD-123\"}' --idempotency-key order-123
  interlock flo workflow history $RUN --follow
  interlock flo workflow signal $RUN --type approval '{\"decision\":\"approved\"}'
  interlock flo validate workflow -f order.yaml

The program does the same under the name `flo` (a link): ln -s interlock flo

The exit code is 1 if the service refuses or cannot be reached, 2 for invalid arguments.

Topics: interlock help runs, flo-documents."
    )]
    Flo(flo::Command),
    /// Explain why an entity did or did not move, test by test.
    #[command(after_help = "\
Examples:
  interlock explain 01a1feaf-9657-73d8-8cc5-0f937d08e621
  interlock explain 01a1feaf-9657-73d8-8cc5-0f937d08e621 --transition approve
  interlock explain 01a1feaf-9657-73d8-8cc5-0f937d08e621 --transaction 01a1feaf-9756-74eb-a461-e2e9a988f995
  interlock explain 01a1feaf-9657-73d8-8cc5-0f937d08e621 --json | jq .transitions

+ marks a test that holds, - one that does not, ? one that was not evaluated or that depends on a
member. Nothing is changed, and no member is called.

Topics: interlock help explain, criteria.")]
    Explain(explain::Arguments),
    /// Files: JSON documents under paths. List them, and copy them to a folder and back.
    #[command(
        subcommand,
        after_help = "Examples:\n  interlock files list /states/\n  interlock files pull ./states\n  interlock files push ./states\n\nTopics: interlock help files."
    )]
    Files(files::Command),
    /// Write a settings file that explains every setting; an existing file is kept.
    #[command(after_help = "\
Examples:
  interlock init
  interlock init --force        overwrite an existing file
  XDG_CONFIG_HOME=/srv/config interlock init

The file is interlock/interlock.env in $XDG_CONFIG_HOME or ~/.config, readable by its owner only.
Nothing is written if it exists, or if /etc/interlock/interlock.env exists.

Topics: interlock help config.")]
    Init {
        /// Overwrite an existing file.
        #[arg(long)]
        force: bool,
    },
    /// Follow the change feed, one JSON document per line, until interrupted.
    #[command(after_help = "\
Examples:
  interlock changes --from 0
  interlock changes --model order/1 --state SHIPPED --data | jq .data
  interlock changes --from 42 > changes.ndjson
  interlock changes --model order/1 --where '{\"type\":\"simple\",\"jsonPath\":\"$.total\",\"operatorType\":\"GREATER_THAN\",\"value\":100}'

After a lost connection it resumes after the last change: none is missing and none is repeated.

Topics: interlock help changes.")]
    Changes(changes::Arguments),
    /// Work that has stopped after it failed too often: list, retry or cancel it.
    #[command(
        subcommand,
        after_help = "Examples:\n  interlock incidents list --kind run\n  interlock incidents retry run-1790000000000000000\n  interlock incidents cancel run-1790000000000000000\n\nTopics: interlock help operators."
    )]
    Incidents(incidents::Command),
    /// Managers: batches in files that people read and edit, brought up to date by ticks.
    #[command(
        subcommand,
        after_help = "Examples:\n  interlock manager create -f import.json\n  interlock manager tick\n  interlock manager list --status error\n  interlock manager reset $MANAGER --worker import-file\n\nTopics: interlock help managers."
    )]
    Manager(managers::Command),
    /// List the connected compute members.
    #[command(
        after_help = "Examples:\n  interlock members\n  interlock members --format json | jq '.members[].tags'\n\nTopics: interlock help members."
    )]
    Members(members::Arguments),
    /// List the processes that use the database, and which of them are live.
    #[command(
        after_help = "Examples:\n  interlock nodes\n  interlock nodes --format json | jq '.nodes[].name'\n\nTopics: interlock help postgres."
    )]
    Nodes(nodes::Arguments),
    /// Check whether a running service is ready; the exit code is 0 if it is.
    #[command(
        after_help = "Example:\n  CYODA_ADMIN_PORT=9091 interlock health\n\nTopics: interlock help operators."
    )]
    Health,
    /// Migrate the database without starting the service.
    #[command(
        after_help = "Example:\n  CYODA_SQLITE_PATH=./my.db interlock migrate --timeout 10m\n\nTopics: interlock help operators, config."
    )]
    Migrate {
        /// How long it may take.
        #[arg(long, default_value = "5m", value_parser = duration)]
        timeout: Duration,
    },
    /// Copy the database into a file, also while the service runs.
    #[command(after_help = "\
Examples:
  interlock backup /backups/interlock-2026-11-23.db
  CYODA_SQLITE_PATH=./my.db interlock backup my-copy.db

The copy is the database as of one instant, in one file. Writes are not held up; until the copy is
done, the log beside the database grows. A file of that name must not exist.

The file <database>.key, which encrypts the variables of bundles, is not part of it: keep a copy of
that file in another place.

Topics: interlock help operators.")]
    Backup {
        /// The file to write.
        #[arg(value_name = "FILE")]
        to: PathBuf,
    },
    /// Replace the database with a backup, while the service is stopped.
    #[command(after_help = "\
Examples:
  interlock restore /backups/interlock-2026-11-23.db
  interlock restore /backups/interlock-2026-11-23.db --replace

The backup is checked first, and stays as it is. With --replace the database that is there is kept
under another name, which is printed.

The file <database>.key, which encrypts the variables of bundles, is not part of a backup: copy it
beside the database if it is not there.

Topics: interlock help operators.")]
    Restore {
        /// The file of the backup.
        #[arg(value_name = "FILE")]
        from: PathBuf,
        /// Replace the database that is there.
        #[arg(long)]
        replace: bool,
    },
    /// Copy everything into an empty database of another kind.
    #[command(after_help = "\
Examples:
  interlock copy --from sqlite --to postgres        those of CYODA_SQLITE_PATH and CYODA_POSTGRES_URL
  interlock copy --from sqlite:./my.db --to postgres://interlock@db.example.com/interlock
  interlock copy --from postgres --to sqlite:/backups/interlock.db

A database in a file is copied to a PostgreSQL server, or one on a server to a file. Stop every
service that uses either of them first. The target is made and migrated; it must be
empty. Entities with their history, positions, ids, timers, runs and everything else are the same
afterwards, so readers of the change feed continue where they were. At the end both sides are read
again and compared.

A copy that was interrupted is resumed by the same command. Until it is finished, no service starts
over the target. The source stays as it is.

Topics: interlock help postgres.")]
    Copy {
        /// What is copied: `sqlite`, `postgres`, `sqlite:PATH` or `postgres://…`.
        #[arg(long, value_name = "DATABASE")]
        from: String,
        /// Where it goes; an empty database.
        #[arg(long, value_name = "DATABASE")]
        to: String,
    },
    /// Print a help topic, or the list of topics.
    #[command(after_help = "\
Examples:
  interlock help
  interlock help workflows
  interlock help errors MODEL_NOT_FOUND
  interlock help cloudevents EntityCreateRequest    the payload of an event type
  interlock help openapi yaml > openapi.yaml
  interlock help config all | jq '.vars[].name'

The same over HTTP: GET help/<topic> below the context path.")]
    Help(help::Arguments),
    /// Print the version.
    #[command(after_help = "Example:\n  interlock version\n\nTopics: interlock help operators.")]
    Version,
}

fn duration(text: &str) -> Result<Duration, String> {
    humantime::parse_duration(text).map_err(|_| "not a duration like `5m` or `90s`".to_owned())
}

fn version() -> String {
    format!(
        "{} (commit {}, built {})",
        env!("CARGO_PKG_VERSION"),
        env!("BUILD_COMMIT"),
        env!("BUILD_TIME")
    )
}

/// Whether the process ends when the reader of its output is gone.
static ENDS_WITH_THE_READER: LazyLock<Arc<AtomicBool>> = LazyLock::new(Arc::default);

/// Lets a command end, like any other, when the reader of its output is gone. The service
/// continues: it notices lost connections where it writes to them.
fn end_with_the_reader() {
    ENDS_WITH_THE_READER.store(true, Ordering::Relaxed);
    // Without it, the command ends when it notices that it cannot print; there is no other harm.
    let _ = signal_hook::flag::register_conditional_default(
        signal_hook::consts::SIGPIPE,
        Arc::clone(&ENDS_WITH_THE_READER),
    );
}

/// While it exists, a service is connected, whose loss is an error to report.
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

/// Prints what has arrived meanwhile. Commands have one thread, so nothing else is written.
fn with_the_reader<T>(print: impl FnOnce() -> T) -> T {
    let before = ENDS_WITH_THE_READER.swap(true, Ordering::Relaxed);
    let printed = print();
    ENDS_WITH_THE_READER.store(before, Ordering::Relaxed);
    printed
}

/// The words of the command line. The program called as `flo` is `interlock flo` (`runs.md` §4.1);
/// its version is that of the program.
fn words(given: impl Iterator<Item = OsString>) -> Vec<OsString> {
    let mut words: Vec<_> = given.collect();
    let name = words.first().map(Path::new).and_then(Path::file_stem);
    let is_version = words
        .get(1)
        .is_some_and(|word| word == "--version" || word == "-V" || word == "-v");
    if name.is_some_and(|name| name == "flo") && !is_version {
        words.splice(..1, ["interlock".into(), "flo".into()]);
    }
    words
}

/// Executes the arguments; returns the exit code of the process.
pub fn run() -> ExitCode {
    // A write beyond the file size limit must fail instead of ending the process.
    if let Err(error) = signal_hook::flag::register(signal_hook::consts::SIGXFSZ, Arc::default()) {
        return failed(&error);
    }
    let arguments = Arguments::parse_from(words(std::env::args_os()));
    let command = if arguments.version {
        Command::Version
    } else {
        arguments
            .command
            .unwrap_or(Command::Serve { definitions: None })
    };
    if matches!(command, Command::Serve { .. }) {
        return execute(command);
    }
    end_with_the_reader();
    output::finish(execute(command))
}

fn execute(command: Command) -> ExitCode {
    match command {
        Command::Serve { definitions } => {
            with_settings(Config::read, |config| serve(config, definitions))
        }
        Command::Apply(given) => bundle::apply(&given),
        Command::Bundle(command) => bundle::run(&command),
        Command::Saga(command) => saga::run(&command),
        Command::Machine(command) => machine::run(&command),
        Command::Call(arguments) => with_config(|config| call::run(&config, &arguments)),
        Command::Events {
            schema: Some(kind), ..
        } => events::print_schema(&kind),
        Command::Events { format, .. } => {
            events::print(format);
            ExitCode::SUCCESS
        }
        Command::Workflow(command) => workflow::run(&command),
        Command::Flo(command) => flo::run(&command),
        Command::Explain(arguments) => explain::run(&arguments),
        Command::Init { force } => init::run(force),
        Command::Changes(arguments) => changes::run(&arguments),
        Command::Files(command) => files::run(&command),
        Command::Incidents(command) => incidents::run(&command),
        Command::Manager(command) => managers::run(&command),
        Command::Nodes(arguments) => nodes::run(&arguments),
        Command::Members(arguments) => members::run(&arguments),
        Command::Health => with_config(|config| health::run(&config)),
        Command::Migrate { timeout } => with_database(|config| migrate(&config, timeout)),
        Command::Backup { to } => with_database(|config| backup::back_up(&config, &to)),
        Command::Restore { from, replace } => {
            with_database(|config| backup::restore(&config, &from, replace))
        }
        Command::Copy { from, to } => copy::run(&from, &to),
        Command::Help(arguments) => help::run(&arguments),
        Command::Version => {
            show!("interlock {}", version());
            ExitCode::SUCCESS
        }
    }
}

/// Every command reads the settings, so that all of them address the same service.
fn with_config(command: impl FnOnce(Config) -> ExitCode) -> ExitCode {
    with_settings(Config::of_client, |config| {
        warn_of(&config.warnings);
        command(config)
    })
}

/// The same for a command that opens the database.
fn with_database(command: impl FnOnce(Config) -> ExitCode) -> ExitCode {
    with_settings(Config::read, |config| {
        warn_of(&config.warnings);
        command(config)
    })
}

fn with_settings(
    read: impl FnOnce(Sources) -> Result<Config, ConfigError>,
    command: impl FnOnce(Config) -> ExitCode,
) -> ExitCode {
    match Sources::of_process().and_then(read) {
        Ok(config) => command(config),
        Err(error) => failed(&error),
    }
}

/// Prints warnings about the settings.
fn warn_of(warnings: &[String]) {
    for warning in warnings {
        eprintln!("interlock: warning: {warning}");
    }
}

fn serve(mut config: Config, definitions: Option<PathBuf>) -> ExitCode {
    config.definitions = definitions.or(config.definitions);
    let telemetry = Telemetry::start(config.log_level, storage::DRIVER);
    let written = LogWritten(telemetry.clone());
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
    let outcome = runtime.block_on(app::run(config, telemetry));
    runtime.shutdown_timeout(END_PATIENCE);
    drop(written);
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => failed(&error),
    }
}

/// Waits for the log at the end, which may be that of a panic.
struct LogWritten(Telemetry);

impl Drop for LogWritten {
    fn drop(&mut self) {
        self.0.flush_log(END_PATIENCE);
    }
}

fn migrate(config: &Config, timeout: Duration) -> ExitCode {
    let outcome =
        block_on(async { tokio::time::timeout(timeout, Storage::migrate(&config.storage)).await });
    match outcome {
        Ok(Ok(Ok(migrations))) => {
            match migrations {
                0 => show!("the database was up to date already"),
                1 => show!("1 migration was applied; the database is up to date"),
                _ => show!("{migrations} migrations were applied; the database is up to date"),
            }
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

/// Runs a command's future on one thread. It is boxed, so that the runtime is compiled once.
fn block_on<T>(work: impl Future<Output = T>) -> io::Result<T> {
    Ok(tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?
        .block_on(work.boxed_local()))
}

/// Prints an error with its causes.
fn failed(error: &dyn std::error::Error) -> ExitCode {
    let text = with_causes(error);
    // The file that cannot be written may be that of both outputs: it is no reason to panic.
    let _ = writeln!(io::stderr(), "interlock: {text}");
    ExitCode::FAILURE
}

/// Prints what is wrong with an argument.
fn wrong(error: &dyn std::error::Error) -> ExitCode {
    failed(error);
    ExitCode::from(WRONG_ARGUMENTS)
}

/// An error and its causes, each once: some errors of libraries repeat their cause.
fn with_causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(inner) = source {
        let cause = inner.to_string();
        if !text.ends_with(&cause) {
            text = format!("{text}: {cause}");
        }
        source = inner.source();
    }
    text
}

/// An option that people try, to say where ports are set.
fn port_option() -> Arg {
    let hint =
        "ports are settings, not options: CYODA_HTTP_PORT=8081 CYODA_GRPC_PORT=9091 interlock";
    Arg::new("port")
        .long("port")
        .aliases(["http-port", "grpc-port", "admin-port"])
        .hide(true)
        .value_parser(UnknownArgumentValueParser::suggest(hint))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("{text}")]
    struct Fault {
        text: &'static str,
        source: Option<Box<Self>>,
    }

    #[test]
    fn a_cause_that_an_error_repeats_is_shown_once() {
        let mut error = Fault {
            text: "disk I/O error",
            source: None,
        };
        for text in [
            "(778) disk I/O error",
            "returned: (778) disk I/O error",
            "x.db",
        ] {
            error = Fault {
                text,
                source: Some(Box::new(error)),
            };
        }
        let text = with_causes(&error);
        assert_eq!(text, "x.db: returned: (778) disk I/O error");
    }
}
