//! What one tenant can do to another: each attack beside an innocent client, as one table.
//!
//! `tests/attack` builds the service as it is released and runs this. Each attack has a server
//! process of its own, on a fresh file, whose callers bear tokens. The attack is of one tenant; the
//! innocent client is of another, on a thread of its own, and makes 20 small reads and creates in a
//! second whether they are answered or not: a latency is counted from the instant at which the
//! request was due. A bound that is broken makes the exit code 1.
#![expect(
    clippy::needless_pass_by_value,
    reason = "what is sent reads best as a literal"
)]

mod attacks;
mod caller;
mod innocent;
#[expect(dead_code, reason = "the other benchmark uses all of it")]
#[path = "../machine.rs"]
mod machine;
mod member;
mod stage;
mod table;

use std::{path::PathBuf, process::ExitCode, time::Duration};

use clap::Parser;

use attacks::ATTACKS;
use stage::Stage;
use table::Table;

/// Attacks a server as one tenant, measures it as another, and prints one table.
#[derive(Parser)]
#[command(name = "tests/attack", after_help = EXAMPLES)]
struct Options {
    /// The build of the service to attack.
    #[arg(long, value_name = "PATH", default_value = env!("CARGO_BIN_EXE_interlock"))]
    program: PathBuf,
    /// An earlier build, which is attacked as well: its measurements come first in each cell.
    #[arg(long, value_name = "PATH")]
    before: Option<PathBuf>,
    /// Only attacks whose name begins like this; may be repeated.
    #[arg(long, value_name = "NAME")]
    only: Vec<String>,
    /// How long each attack lasts.
    #[arg(long, default_value_t = 10.0)]
    seconds: f64,
    /// A setting of the service, as NAME=VALUE; may be repeated.
    #[arg(long, value_name = "NAME=VALUE")]
    set: Vec<String>,
    /// Prints the attacks and their bounds, and attacks nothing.
    #[arg(long)]
    list: bool,
    /// What cargo says.
    #[arg(long, hide = true)]
    bench: bool,
}

const EXAMPLES: &str = "\
Examples:
  tests/attack
  tests/attack --only patterns --seconds 20
  tests/attack --before ../old/interlock --only timers";

/// What every attack is run with.
pub(crate) struct Plan {
    pub(crate) length: Duration,
    pub(crate) settings: Vec<(String, String)>,
}

fn main() -> ExitCode {
    let options = Options::parse();
    if options.list {
        Table::list(ATTACKS);
        return ExitCode::SUCCESS;
    }
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a runtime");
    let table = runtime.block_on(run(&options));
    // What an attack has left behind is not waited for.
    runtime.shutdown_background();
    table.print();
    if table.is_held() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

async fn run(options: &Options) -> Table {
    let settings = options.set.iter().map(|given| {
        let (name, value) = given.split_once('=').expect("a setting is NAME=VALUE");
        (name.to_owned(), value.to_owned())
    });
    let plan = Plan {
        length: Duration::from_secs_f64(options.seconds),
        settings: settings.collect(),
    };
    let mut table = Table::default();
    let chosen = |name: &str| {
        options.only.is_empty()
            || options
                .only
                .iter()
                .any(|only| name.starts_with(only.as_str()))
    };
    for attack in ATTACKS.iter().filter(|attack| chosen(attack.name)) {
        let mut before = None;
        if let Some(program) = &options.before {
            table::progress(attack.name, "before");
            before = Some((attack.act)(Stage::set(program, &plan, attack).await).await);
        }
        table::progress(attack.name, "now");
        let now = (attack.act)(Stage::set(&options.program, &plan, attack).await).await;
        table.add(attack, before, now);
    }
    table
}
