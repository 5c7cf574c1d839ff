//! Rows of the service over `PostgreSQL`, by one node and by several: every row has a database of
//! its own on a server that was started for it, and its floor is measured in turns with it.

mod base;
mod carried;
mod changes;
mod creates;
mod large;
mod reads;
mod timers;

use std::panic::AssertUnwindSafe;

use futures_util::FutureExt as _;

use crate::{Plan, load::Measured, report};

use base::Base;

/// What all names of rows begin with.
pub(crate) const NAME: &str = "postgres";

/// What was measured of a row: one line of the table.
pub(crate) struct Line {
    pub(crate) workload: String,
    pub(crate) measured: String,
    pub(crate) floor: String,
    pub(crate) ratio: String,
    pub(crate) goal: String,
    pub(crate) reached: bool,
}

/// Lines, and loads whose percentiles are printed below the table.
#[derive(Default)]
pub(crate) struct Outcome {
    pub(crate) lines: Vec<Line>,
    pub(crate) loads: Vec<(String, Measured)>,
}

/// A cell that has nothing to say.
const NONE: &str = "—";

/// Every row, behind the beginning of its name.
pub(crate) const ROWS: [&str; 8] = [
    "postgres T11",
    "postgres batches",
    "postgres reads",
    "postgres two nodes",
    "postgres changes",
    "postgres carried",
    "postgres timers",
    "postgres memory",
];

/// Not measured unless it is asked for by its whole name: it takes half an hour.
pub(crate) const LARGE: &str = "postgres-large";

/// Measures a row on a server of its own.
pub(crate) async fn measure(name: &str, plan: &Plan) -> Outcome {
    let base = Base::start();
    // A row that fails does not take the table along.
    let row = AssertUnwindSafe(Box::pin(row(name, &base, plan))).catch_unwind();
    row.await.unwrap_or_else(|_| Outcome {
        lines: vec![Line {
            workload: format!("{name} failed: see above"),
            measured: NONE.to_owned(),
            floor: NONE.to_owned(),
            ratio: NONE.to_owned(),
            goal: NONE.to_owned(),
            reached: false,
        }],
        loads: Vec::new(),
    })
}

async fn row(name: &str, base: &Base, plan: &Plan) -> Outcome {
    match name.trim_start_matches("postgres ") {
        "T11" => creates::sixteen_clients(base, plan).await,
        "batches" => creates::batches(base, plan).await,
        "reads" => reads::measure(base, plan).await,
        "two nodes" => creates::two_nodes(base, plan).await,
        "changes" => changes::measure(base, plan).await,
        "carried" => carried::measure(base, plan).await,
        "timers" => timers::measure(base, plan).await,
        "memory" => large::memory(base, plan).await,
        _ => large::measure(base, plan, large::ENTITIES_LONG).await,
    }
}

impl Outcome {
    /// Keeps a load with others of the same name.
    fn keep(&mut self, name: &str, load: &Measured) {
        match self.loads.iter_mut().find(|(known, _)| known == name) {
            Some((_, known)) => *known = known.clone().and(load),
            None => self.loads.push((name.to_owned(), load.clone())),
        }
    }
}

/// Rates of each round, beside those of the floor.
#[derive(Default)]
struct Rates {
    services: Vec<f64>,
    floors: Vec<f64>,
}

impl Rates {
    /// At least this share of the floor, in the median over the rounds.
    fn line(&self, workload: &str, least: f64) -> Line {
        let both = self.services.iter().zip(&self.floors);
        let mut ratios: Vec<f64> = both.map(|(service, floor)| service / floor).collect();
        ratios.sort_by(f64::total_cmp);
        let ratio = report::middle(&ratios);
        let percent = |share: f64| format!("{:.0} %", share * 100.0);
        let (lowest, highest) = (ratios[0], ratios[ratios.len() - 1]);
        Line {
            workload: workload.to_owned(),
            measured: report::thousands(report::middle_of(self.services.clone())),
            floor: report::thousands(report::middle_of(self.floors.clone())),
            ratio: format!(
                "{} [{} .. {}]",
                percent(ratio),
                percent(lowest),
                percent(highest)
            ),
            goal: format!("≥ {}", percent(least)),
            reached: ratio >= least,
        }
    }
}
