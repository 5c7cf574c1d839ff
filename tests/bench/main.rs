//! The benchmark: rows T1–T5, T7–T9 and others (`benchmark.md`) beside their floors, and the memory of the process.
//!
//! `cargo bench` builds the service as it is released, starts it as a process of its own on a
//! fresh file, loads it from this process, and prints one table. A floor is raw parts doing the
//! same bytes: an echo server on the same gRPC stack (also a process of its own: this program
//! again), and a bare client of the same database. Floors and service take turns within each
//! round, so that a busy machine hurts both; ratios are of one round, and the table shows their
//! median and span.

mod auth;
mod chain;
mod delays;
mod feed;
mod floor;
mod frozen;
mod load;
mod machine;
mod member;
mod message;
mod nodes;
mod other_driver;
#[expect(dead_code, reason = "tests use the rest of it")]
#[path = "../it/support/postgres.rs"]
mod postgres;
mod process;
mod reads;
mod report;
mod rest;
mod row;
mod run_rows;
mod runs;
mod sagas;
mod schedules;
mod search;
mod sleepers;
mod ticks;
mod timers;
mod weight;

use std::{path::PathBuf, time::Duration};

use clap::{Parser, Subcommand};

use load::Span;
use report::Report;
use row::ROWS;

/// As the service does.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Measures Interlock against its floors, and prints one table.
#[derive(Parser)]
#[command(name = "cargo bench --", after_help = EXAMPLES)]
struct Options {
    #[command(subcommand)]
    part: Option<Part>,
    /// How long the service is measured in each round; each part of a floor, half as long.
    #[arg(long, default_value_t = 2.0)]
    seconds: f64,
    /// How many rounds each row has.
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// Only rows whose name begins like this (T1 … T5, REST, T7 … T9, T12 … T22, WASM, saga, delay, chain, auth, pages, postgres, postgres-large, start, memory, size); may be repeated.
    #[arg(long, value_name = "NAME")]
    only: Vec<String>,
    /// How many connections share the unary calls in flight.
    #[arg(long, default_value_t = 16)]
    connections: usize,
    /// Another build of the service, to compare with.
    #[arg(long, value_name = "PATH", default_value = env!("CARGO_BIN_EXE_interlock"))]
    program: PathBuf,
    /// The films of the topic `search`, to be searched beside what is generated (T12).
    #[arg(long, value_name = "PATH")]
    films: Option<PathBuf>,
    /// A setting of the service, as NAME=VALUE; may be repeated.
    #[arg(long, value_name = "NAME=VALUE")]
    set: Vec<String>,
    /// What cargo says.
    #[arg(long, hide = true)]
    bench: bool,
}

const EXAMPLES: &str = "\
Examples:
  cargo bench
  cargo bench -- --only T2 --only T3 --seconds 5
  cargo bench -- --only T1 --set CYODA_LOG_LEVEL=warn";

#[derive(Subcommand)]
enum Part {
    /// The echo server of a floor; what this program starts beside the service.
    #[command(hide = true)]
    Echo,
}

/// How a row is measured.
struct Plan {
    service: Span,
    part: Span,
    rounds: usize,
    connections: usize,
    program: PathBuf,
    films: Option<PathBuf>,
    settings: Vec<(String, String)>,
}

impl Options {
    fn includes(&self, name: &str) -> bool {
        // `T1` is not the beginning of `T10`.
        let named = |only: &String| {
            name.get(..only.len())
                .is_some_and(|start| start.eq_ignore_ascii_case(only))
                && !name[only.len()..].starts_with(|next: char| next.is_ascii_digit())
        };
        self.only.is_empty() || self.only.iter().any(named)
    }

    fn plan(&self) -> Plan {
        let pair = |pair: &String| {
            let (name, value) = pair.split_once('=').expect("--set takes NAME=VALUE");
            (name.to_owned(), value.to_owned())
        };
        Plan {
            service: Span::of(Duration::from_secs_f64(self.seconds)),
            part: Span::of(Duration::from_secs_f64(self.seconds / 2.0)),
            rounds: self.rounds.max(1),
            connections: self.connections.max(1),
            program: self.program.clone(),
            films: self.films.clone(),
            settings: self.set.iter().map(pair).collect(),
        }
    }
}

fn main() {
    let options = Options::parse();
    // One thread: on two cores a second one costs more than it does (`help/design/limits.md` (a)).
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    match options.part {
        Some(Part::Echo) => runtime.block_on(floor::serve_echo()),
        None => runtime.block_on(measure(&options)),
    }
}

async fn measure(options: &Options) {
    let plan = options.plan();
    let mut report = Report::default();
    for row in ROWS.iter().filter(|row| options.includes(row.name)) {
        report::progress(row.name);
        report.add_row(row, &row.measure(&plan).await);
    }
    for row in runs::ROWS.iter().filter(|row| options.includes(row.name)) {
        report::progress(row.name);
        report.add_runs(row, &row.measure(&plan).await);
    }
    for row in sagas::ROWS.iter().filter(|row| options.includes(row.name)) {
        report::progress(row.name);
        report.add_sagas(row, &row.measure(&plan).await);
    }
    if options.includes(timers::NAME) {
        report::progress(timers::NAME);
        report.add_timers(&timers::measure(&plan).await);
    }
    if options.includes(sleepers::NAME) {
        report::progress(sleepers::NAME);
        report.add_sleepers(&sleepers::measure(&plan).await);
    }
    if options.includes(delays::NAME) {
        report::progress(delays::NAME);
        report.add_delays(&delays::measure(&plan).await);
    }
    if options.includes(schedules::NAME) {
        report::progress(schedules::NAME);
        report.add_schedules(&schedules::measure(&plan).await);
    }
    if options.includes(frozen::NAME) {
        report::progress(frozen::NAME);
        report.add_frozen(&frozen::measure(&plan).await);
    }
    if options.includes(ticks::NAME) {
        report::progress(ticks::NAME);
        report.add_ticks(&ticks::measure(&plan).await);
    }
    if options.includes(reads::T8) {
        report::progress(reads::T8);
        report.add_past(&reads::past(&plan).await);
    }
    if options.includes(reads::PAGES) {
        report::progress(reads::PAGES);
        report.add_pages(&reads::pages(&plan).await);
    }
    if options.includes(feed::NAME) {
        report::progress(feed::NAME);
        report.add_feed(&feed::measure(&plan).await);
    }
    if options.includes(chain::NAME) {
        report::progress(chain::NAME);
        chain::measure(plan.service.in_all()).await;
    }
    if options.includes(auth::NAME) {
        report::progress(auth::NAME);
        report.add_auth(&auth::measure(&plan).await);
    }
    let [t12, t13] = [search::T12, search::T13].map(|name| options.includes(name));
    if t12 || t13 {
        report::progress(if t12 { search::T12 } else { search::T13 });
        report.add_searches(&search::measure(&plan, t12, t13).await);
    }
    for name in nodes::ROWS.iter().filter(|name| options.includes(name)) {
        report::progress(name);
        report.add_nodes(name, nodes::measure(name, &plan).await);
    }
    if options.only.iter().any(|only| only == nodes::LARGE) {
        report::progress(nodes::LARGE);
        let outcome = nodes::measure(nodes::LARGE, &plan).await;
        report.add_nodes(nodes::LARGE, outcome);
    }
    for weight in weight::WEIGHTS {
        if options.includes(weight.name) {
            report::progress(weight.name);
            report.add_weight(weight, &weight::measure(weight.what, &plan).await);
        }
    }
    report.print();
}
