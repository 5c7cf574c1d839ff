//! What is printed.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a benchmark prints"
)]

use std::time::Duration;

use crate::{
    load::Measured,
    row::{Goal, Outcome, Row},
    weight::{Weight, What, megabytes},
};

/// The lines of the table, and what is told below it.
#[derive(Default)]
pub(crate) struct Report {
    lines: Vec<[String; 7]>,
    details: Vec<String>,
}

const HEAD: [&str; 7] = [
    "", "workload", "measured", "floor", "ratio", "goal", "reached",
];

impl Report {
    pub(crate) fn add_row(&mut self, row: &Row, outcome: &Outcome) {
        let ratios = outcome.ratios();
        let ratio = middle(&ratios);
        let (lowest, highest) = (ratios[0], ratios[ratios.len() - 1]);
        let (measured, floor) = (
            middle_of(outcome.services.clone()),
            middle_of(outcome.floors.clone()),
        );
        let [measured, floor, ratio, goal, reached] = match row.goal {
            Goal::Latency(times) => [
                milliseconds(Duration::from_secs_f64(measured)),
                milliseconds(Duration::from_secs_f64(floor)),
                format!("{ratio:.2} × [{lowest:.2} .. {highest:.2}]"),
                format!("p50 ≤ {times} ×"),
                verdict(ratio <= times, false),
            ],
            Goal::Rate(share) => [
                thousands(measured),
                thousands(floor),
                format!(
                    "{:.0} % [{:.0} .. {:.0}]",
                    ratio * 100.0,
                    lowest * 100.0,
                    highest * 100.0
                ),
                format!("≥ {:.0} %", share * 100.0),
                verdict(ratio >= share, ratio >= share / 2.0),
            ],
        };
        let name = row.name.to_owned();
        self.lines.push([
            name,
            row.workload.to_owned(),
            measured,
            floor,
            ratio,
            goal,
            reached,
        ]);
        self.details.push(format!(
            "{}: {:.1} µs of a core for each; {:.0} MB resident in the end; other programs used {:.0} % of the machine",
            row.name,
            outcome.cpu_each.as_secs_f64() * 1e6,
            megabytes(outcome.memory),
            outcome.others * 100.0
        ));
        for (name, load) in &outcome.loads {
            self.details.push(spread(name, load));
        }
    }

    pub(crate) fn add_weight(&mut self, weight: &Weight, measured: &[f64]) {
        let unit = match weight.what {
            What::Start => "ms",
            What::IdleMemory | What::Program => "MB",
        };
        let value = middle(measured);
        let reached = verdict(value <= weight.goal, false);
        self.lines.push([
            String::new(),
            weight.name.to_owned(),
            format!("{value:.1} {unit}"),
            "—".to_owned(),
            "—".to_owned(),
            format!("≤ {:.0} {unit}", weight.goal),
            reached,
        ]);
    }

    pub(crate) fn print(&self) {
        let head = HEAD.map(str::to_owned);
        let width = |column: usize| {
            let lines = std::iter::once(&head).chain(&self.lines);
            lines.map(|line| line[column].chars().count()).max()
        };
        let widths: [usize; 7] = std::array::from_fn(|column| width(column).unwrap_or(0));
        let print = |line: &[String; 7]| {
            let cells: Vec<String> = line
                .iter()
                .zip(widths)
                .map(|(cell, width)| format!("{cell:width$}"))
                .collect();
            println!("| {} |", cells.join(" | "));
        };
        println!();
        print(&head);
        print(&widths.map(|width| "-".repeat(width)));
        self.lines.iter().for_each(print);
        println!();
        for detail in &self.details {
            println!("{detail}");
        }
    }
}

/// Says what is being measured, where nobody reads a table.
pub(crate) fn progress(name: &str) {
    eprintln!("measuring {name} …");
}

/// Prints a line.
pub(crate) fn say(line: &str) {
    println!("{line}");
}

fn verdict(reached: bool, half: bool) -> String {
    match (reached, half) {
        (true, _) => "yes",
        (false, true) => "half",
        (false, false) => "no",
    }
    .to_owned()
}

fn spread(name: &str, load: &Measured) -> String {
    let at = |quantile| milliseconds(load.latency(quantile));
    format!(
        "    {name:22} {:>10}   p50 {}   p90 {}   p99 {}   p99.9 {}   max {}",
        thousands(load.rate()),
        at(0.5),
        at(0.9),
        at(0.99),
        at(0.999),
        at(1.0)
    )
}

/// The middle one of numbers that are in order.
fn middle(numbers: &[f64]) -> f64 {
    numbers[numbers.len() / 2]
}

fn middle_of(mut numbers: Vec<f64>) -> f64 {
    numbers.sort_by(f64::total_cmp);
    middle(&numbers)
}

fn milliseconds(time: Duration) -> String {
    format!("{:.3} ms", time.as_secs_f64() * 1e3)
}

fn thousands(rate: f64) -> String {
    format!("{:.1} k/s", rate / 1e3)
}
