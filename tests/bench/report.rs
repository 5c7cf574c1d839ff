//! What is printed.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a benchmark prints"
)]

use std::time::Duration;

use crate::{
    auth, delays, feed, frozen,
    load::Measured,
    nodes, reads,
    row::{Goal, Outcome, Row},
    runs::RunRow,
    sagas::SagaRow,
    schedules, search, sleepers, ticks, timers,
    weight::{Weight, What, megabytes},
};

/// The lines of the table, and what is printed below it.
#[derive(Default)]
pub(crate) struct Report {
    lines: Vec<[String; 7]>,
    details: Vec<String>,
}

const HEAD: [&str; 7] = [
    "", "workload", "measured", "floor", "ratio", "goal", "reached",
];

/// The goals of T7: how late, how many in a second, how many bytes.
const LATE_MAX: Duration = Duration::from_millis(50);
const FIRES_MIN: f64 = 10_000.0;
const MEMORY_MAX: f64 = 200.0;

/// How many bytes a saga in a delay may take.
const DELAY_MEMORY_MAX: f64 = 1_024.0;

/// The goals of T22: how much longer than to read the files, and how many megabytes.
const TICK_MAX: Duration = Duration::from_millis(50);
const TICK_MEMORY_MAX: f64 = 256.0;

/// The goal of T21: how many times as late.
const BESIDE_MAX: f64 = 1.2;

/// The goals of T9: how late, how many in a second, how many MB.
const DELIVERY_MAX: Duration = Duration::from_millis(10);
const CATCH_UP_MIN: f64 = 100_000.0;
/// The goals of T8 and of pages: how many times what, and how many megabytes.
const PAST_MAX: f64 = 1.2;
const PAGE_MAX: f64 = 1.5;
const PAGES_MEMORY_MAX: f64 = 256.0;

const FEED_MEMORY_MAX: f64 = 256.0;

/// The goals of T12 and T13: how many times what, how long, the share of writes that is left, and
/// how many megabytes.
const INDEXED_MAX: f64 = 2.0;
const INDEXED_MILLISECONDS_MAX: f64 = 1.0;
const SCANNED_MAX: f64 = 1.3;
const WRITES_LEFT: f64 = 0.7;
const SCAN_MEMORY_MAX: f64 = 256.0;

/// The goal of auth: how many microseconds.
const TOKEN_MAX: f64 = 15.0;

impl Report {
    pub(crate) fn add_row(&mut self, row: &Row, outcome: &Outcome) {
        self.add_compared(row.name, row.workload, (row.goal, None), outcome);
    }

    pub(crate) fn add_runs(&mut self, row: &RunRow, outcome: &Outcome) {
        self.add_compared(row.name, row.workload, (row.goal, row.absolute), outcome);
    }

    pub(crate) fn add_sagas(&mut self, row: &SagaRow, outcome: &Outcome) {
        self.add_compared(row.name, row.workload, (row.goal, None), outcome);
    }

    /// A row beside its floor; besides, seconds at most or items per second at least.
    fn add_compared(
        &mut self,
        name: &str,
        workload: &str,
        (goal, absolute): (Goal, Option<f64>),
        outcome: &Outcome,
    ) {
        let ratios = outcome.ratios();
        let ratio = middle(&ratios);
        let (lowest, highest) = (ratios[0], ratios[ratios.len() - 1]);
        let (measured, floor) = (
            middle_of(outcome.services.clone()),
            middle_of(outcome.floors.clone()),
        );
        let [measured, floor, ratio, goal, reached] = match goal {
            Goal::Latency(times) => [
                milliseconds(Duration::from_secs_f64(measured)),
                milliseconds(Duration::from_secs_f64(floor)),
                format!("{ratio:.2} × [{lowest:.2} .. {highest:.2}]"),
                match absolute {
                    Some(most) => format!("p50 ≤ {times} ×, ≤ {:.1} ms", most * 1e3),
                    None => format!("p50 ≤ {times} ×"),
                },
                verdict(
                    ratio <= times && absolute.is_none_or(|most| measured <= most),
                    false,
                ),
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
                rate_goal(share, absolute),
                verdict(
                    ratio >= share && absolute.is_none_or(|least| measured >= least),
                    ratio >= share / 2.0,
                ),
            ],
        };
        self.lines.push([
            name.to_owned(),
            workload.to_owned(),
            measured,
            floor,
            ratio,
            goal,
            reached,
        ]);
        self.details.push(format!(
            "{}: {:.1} µs of a core for each; {:.0} MB resident in the end; other programs used {:.0} % of the machine",
            name,
            outcome.cpu_each.as_secs_f64() * 1e6,
            megabytes(outcome.memory),
            outcome.others * 100.0
        ));
        for (name, load) in &outcome.loads {
            self.details.push(spread(name, load));
        }
    }

    pub(crate) fn add_timers(&mut self, outcome: &timers::Outcome) {
        let late = |quantile| Duration::from_micros(outcome.late.value_at_quantile(quantile));
        let p99 = late(0.99);
        let steady = format!(
            "timers, {} armed, {} due in a second: p99 late",
            timers::ARMED,
            timers::STEADY_RATE
        );
        let burst = format!("timers, {} due at once", timers::BURST);
        let fires = outcome.fires;
        let each = outcome.memory_each;
        let lines = [
            (steady, milliseconds(p99), "≤ 50 ms", p99 <= LATE_MAX),
            (burst, thousands(fires), "≥ 10 k/s", fires >= FIRES_MIN),
            (
                "memory of a timer".to_owned(),
                format!("{each:.0} B"),
                "≤ 200 B",
                each <= MEMORY_MAX,
            ),
        ];
        for (workload, measured, goal, reached) in lines {
            let none = || "—".to_owned();
            self.lines.push([
                timers::NAME.to_owned(),
                workload,
                measured,
                none(),
                none(),
                goal.to_owned(),
                verdict(reached, false),
            ]);
        }
        self.details.push(format!(
            "{}: late p50 {}   p90 {}   p99 {}   p99.9 {}   max {}; {:.1} µs of a core for each; other programs used {:.0} % of the machine",
            timers::NAME,
            milliseconds(late(0.5)),
            milliseconds(late(0.9)),
            milliseconds(p99),
            milliseconds(late(0.999)),
            milliseconds(late(1.0)),
            outcome.cpu_each.as_secs_f64() * 1e6,
            outcome.others * 100.0
        ));
    }

    /// A line without a floor.
    fn add_alone(&mut self, name: &str, workload: String, measured: String, goal: (&str, bool)) {
        let (goal, reached) = (goal.0.to_owned(), verdict(goal.1, false));
        let none = || "—".to_owned();
        self.lines.push([
            name.to_owned(),
            workload,
            measured,
            none(),
            none(),
            goal,
            reached,
        ]);
    }

    pub(crate) fn add_sleepers(&mut self, outcome: &sleepers::Outcome) {
        let late = |quantile| Duration::from_micros(outcome.late.value_at_quantile(quantile));
        let p99 = late(0.99);
        let (sleeping, rate) = (sleepers::SLEEPING, sleepers::STEADY_RATE);
        self.add_alone(
            sleepers::NAME,
            format!("{sleeping} sleeping runs, {rate} due in a second: p99 late"),
            milliseconds(p99),
            ("≤ 50 ms", p99 <= LATE_MAX),
        );
        self.add_alone(
            sleepers::NAME,
            format!("sleeping runs, {} due at once", sleepers::BURST),
            thousands(outcome.wakes),
            ("≥ 10 k/s", outcome.wakes >= FIRES_MIN),
        );
        self.add_alone(
            sleepers::NAME,
            "memory of a sleeping run".to_owned(),
            format!("{:.0} B", outcome.memory_each),
            ("≤ 200 B", outcome.memory_each <= MEMORY_MAX),
        );
        self.details.push(format!(
            "{}: late p50 {}   p99 {}   p99.9 {}   max {}",
            sleepers::NAME,
            milliseconds(late(0.5)),
            milliseconds(p99),
            milliseconds(late(0.999)),
            milliseconds(late(1.0))
        ));
    }

    pub(crate) fn add_delays(&mut self, outcome: &delays::Outcome) {
        let late = |quantile| Duration::from_micros(outcome.late.value_at_quantile(quantile));
        let p99 = late(0.99);
        let (sleeping, rate) = (delays::SLEEPING, delays::STEADY_RATE);
        self.add_alone(
            delays::NAME,
            format!("{sleeping} sagas in a delay, {rate} due in a second: p99 late"),
            milliseconds(p99),
            ("≤ 50 ms", p99 <= LATE_MAX),
        );
        self.add_alone(
            delays::NAME,
            "memory of a saga in a delay".to_owned(),
            format!("{:.0} B", outcome.memory_each),
            ("≤ 1 KiB", outcome.memory_each <= DELAY_MEMORY_MAX),
        );
        self.details.push(format!(
            "{}: late p50 {}   p99 {}   p99.9 {}   max {}",
            delays::NAME,
            milliseconds(late(0.5)),
            milliseconds(p99),
            milliseconds(late(0.999)),
            milliseconds(late(1.0))
        ));
    }

    pub(crate) fn add_schedules(&mut self, outcome: &schedules::Outcome) {
        let p99 = Duration::from_micros(outcome.late.value_at_quantile(0.99));
        let (count, fires) = (schedules::SCHEDULES, outcome.fires);
        self.add_alone(
            schedules::NAME,
            format!("{count} schedules, {fires} instants: p99 late"),
            milliseconds(p99),
            ("≤ 50 ms", p99 <= LATE_MAX),
        );
        let (missed, doubled) = (outcome.missed, outcome.doubled);
        self.add_alone(
            schedules::NAME,
            "instants without a start, and with two".to_owned(),
            format!("{missed}, {doubled}"),
            ("0, 0", missed + doubled == 0),
        );
    }

    pub(crate) fn add_ticks(&mut self, outcome: &ticks::Outcome) {
        let tick = middle_of(outcome.ticks.clone());
        let read = middle_of(outcome.reads.clone());
        let (managers, items, changed) = (ticks::MANAGERS, ticks::ITEMS, ticks::CHANGED);
        let longer = Duration::from_secs_f64((tick - read).max(0.0));
        self.lines.push([
            ticks::NAME.to_owned(),
            format!(
                "tick of {managers} managers of {items} items, {changed} changed; floor: bare SQL reads their files"
            ),
            milliseconds(Duration::from_secs_f64(tick)),
            milliseconds(Duration::from_secs_f64(read)),
            format!("{:.2} ×", tick / read),
            "≤ 50 ms more".to_owned(),
            verdict(longer <= TICK_MAX, false),
        ]);
        let memory = megabytes(outcome.memory);
        self.add_alone(
            ticks::NAME,
            format!("memory to tick {} managers of 1 MiB", ticks::LARGE),
            format!("{memory:.0} MB"),
            ("≤ 256 MB", memory <= TICK_MEMORY_MAX),
        );
        let quiet = Duration::from_secs_f64(middle_of(outcome.quiet.clone()));
        self.details.push(format!(
            "{}: a tick with nothing changed {}",
            ticks::NAME,
            milliseconds(quiet)
        ));
    }

    pub(crate) fn add_frozen(&mut self, outcome: &frozen::Outcome) {
        let (alone, beside) = (
            middle_of(outcome.alone.clone()),
            middle_of(outcome.beside.clone()),
        );
        let ratio = beside / alone;
        self.lines.push([
            frozen::NAME.to_owned(),
            format!(
                "timers beside {} calls of a frozen member: p99 late; floor: alone",
                frozen::CALLS
            ),
            milliseconds(Duration::from_secs_f64(beside)),
            milliseconds(Duration::from_secs_f64(alone)),
            format!("{ratio:.2} ×"),
            format!("≤ {BESIDE_MAX} ×"),
            verdict(ratio <= BESIDE_MAX, false),
        ]);
    }

    pub(crate) fn add_past(&mut self, outcome: &reads::Past) {
        let pairs = outcome.then.iter().zip(&outcome.now);
        let mut ratios: Vec<f64> = pairs.map(|(then, now)| then / now).collect();
        ratios.sort_by(f64::total_cmp);
        let ratio = middle(&ratios);
        self.lines.push([
            reads::T8.to_owned(),
            "read as of an earlier time; floor: of the current version".to_owned(),
            milliseconds(Duration::from_secs_f64(middle_of(outcome.then.clone()))),
            milliseconds(Duration::from_secs_f64(middle_of(outcome.now.clone()))),
            format!(
                "{ratio:.2} × [{:.2} .. {:.2}]",
                ratios[0],
                ratios[ratios.len() - 1]
            ),
            format!("p50 ≤ {PAST_MAX} ×"),
            verdict(ratio <= PAST_MAX, false),
        ]);
        for (name, load) in ["then", "now"].into_iter().zip(&outcome.loads) {
            self.details.push(spread(name, load));
        }
    }

    pub(crate) fn add_pages(&mut self, outcome: &reads::Pages) {
        let pairs = outcome.services.iter().zip(&outcome.floors);
        let mut ratios: Vec<f64> = pairs.map(|(service, floor)| service / floor).collect();
        ratios.sort_by(f64::total_cmp);
        let ratio = middle(&ratios);
        let memory = megabytes(outcome.memory);
        self.lines.push([
            reads::PAGES.to_owned(),
            "the last of 100 pages over REST; floor: bare SQL".to_owned(),
            milliseconds(Duration::from_secs_f64(middle_of(outcome.services.clone()))),
            milliseconds(Duration::from_secs_f64(middle_of(outcome.floors.clone()))),
            format!(
                "{ratio:.2} × [{:.2} .. {:.2}]",
                ratios[0],
                ratios[ratios.len() - 1]
            ),
            format!("≤ {PAGE_MAX} ×"),
            verdict(ratio <= PAGE_MAX, false),
        ]);
        self.lines.push([
            reads::PAGES.to_owned(),
            "memory to return all pages of 1000000 entities".to_owned(),
            format!("{memory:.0} MB"),
            "—".to_owned(),
            "—".to_owned(),
            format!("≤ {PAGES_MEMORY_MAX:.0} MB"),
            verdict(memory <= PAGES_MEMORY_MAX, false),
        ]);
        let [grpc, rest, as_of] = outcome.walks.map(|walk| walk.as_secs_f64());
        self.details.push(format!(
            "{}: all of them in {grpc:.1} s over gRPC, {rest:.1} s over REST, {as_of:.1} s as of a time",
            reads::PAGES
        ));
    }

    pub(crate) fn add_feed(&mut self, outcome: &feed::Outcome) {
        let late = |quantile| Duration::from_micros(outcome.delivery.value_at_quantile(quantile));
        let memory = megabytes(outcome.memory);
        let none = || "—".to_owned();
        let mut add = |workload: String, measured, floor, ratio, goal: String, reached| {
            let name = feed::NAME.to_owned();
            let reached = verdict(reached, false);
            self.lines
                .push([name, workload, measured, floor, ratio, goal, reached]);
        };
        add(
            format!(
                "feed, {} creations in flight: p99 to deliver",
                feed::IN_FLIGHT
            ),
            milliseconds(late(0.99)),
            none(),
            none(),
            "≤ 10 ms".to_owned(),
            late(0.99) <= DELIVERY_MAX,
        );
        let names = ["feed, catching up", "feed, catching up with documents"];
        for (name, caught_up) in names.into_iter().zip(&outcome.catching_up) {
            let rate = middle_of(caught_up.services.clone());
            let floor = middle_of(caught_up.floors.clone());
            add(
                name.to_owned(),
                thousands(rate),
                thousands(floor),
                format!("{:.0} %", rate / floor * 100.0),
                "≥ 100 k/s".to_owned(),
                rate >= CATCH_UP_MIN,
            );
        }
        add(
            format!("feed, memory to deliver {}", feed::CHANGES),
            format!("{memory:.0} MB"),
            none(),
            none(),
            format!("≤ {FEED_MEMORY_MAX:.0} MB"),
            memory <= FEED_MEMORY_MAX,
        );
        let [plain, with_data] = &outcome.catching_up;
        self.details.push(format!(
            "{}: delivered p50 {}   p90 {}   p99 {}   p99.9 {}   max {}, at {}; catching up takes {:.1} µs of a core for each, {:.1} µs with documents; other programs used {:.0} % of the machine",
            feed::NAME,
            milliseconds(late(0.5)),
            milliseconds(late(0.9)),
            milliseconds(late(0.99)),
            milliseconds(late(0.999)),
            milliseconds(late(1.0)),
            thousands(outcome.committed),
            plain.cpu_each.as_secs_f64() * 1e6,
            with_data.cpu_each.as_secs_f64() * 1e6,
            outcome.others * 100.0
        ));
    }

    pub(crate) fn add_auth(&mut self, outcome: &auth::Outcome) {
        let added = outcome.added();
        let middle = middle(&added);
        self.lines.push([
            auth::NAME.to_owned(),
            "a unary call with a token; floor: where nobody looks at it".to_owned(),
            milliseconds(Duration::from_secs_f64(middle_of(
                outcome.looked_at.clone(),
            ))),
            milliseconds(Duration::from_secs_f64(middle_of(outcome.ignored.clone()))),
            format!(
                "+{middle:.1} µs [{:.1} .. {:.1}]",
                added[0],
                added[added.len() - 1]
            ),
            format!("p50 ≤ {TOKEN_MAX} µs more"),
            verdict(middle <= TOKEN_MAX, false),
        ]);
        for (name, load) in ["looked at", "ignored"].into_iter().zip(&outcome.loads) {
            self.details.push(spread(name, load));
        }
        self.details.push(format!(
            "    a token that was never seen: p50 {}",
            milliseconds(outcome.fresh)
        ));
    }

    pub(crate) fn add_searches(&mut self, outcome: &search::Outcome) {
        for answered in &outcome.indexed {
            let goal = format!("≤ {INDEXED_MAX} ×, ≤ {INDEXED_MILLISECONDS_MAX} ms");
            self.add_answered(search::T12, answered, goal, |seconds, ratio| {
                ratio <= INDEXED_MAX && seconds * 1e3 <= INDEXED_MILLISECONDS_MAX
            });
        }
        if !outcome.writes.is_empty() {
            let [alone, beside] = [0, 1]
                .map(|which| middle_of(outcome.writes.iter().map(|both| both[which]).collect()));
            let left = middle_of(
                outcome
                    .writes
                    .iter()
                    .map(|[alone, beside]| beside / alone)
                    .collect(),
            );
            self.lines.push([
                search::T12.to_owned(),
                format!(
                    "creations beside {} clients with {:.0} searches/s; floor: alone",
                    search::SEARCHERS,
                    outcome.searches
                ),
                thousands(beside),
                thousands(alone),
                format!("{:.0} %", left * 100.0),
                format!("≥ {:.0} %", WRITES_LEFT * 100.0),
                verdict(left >= WRITES_LEFT, false),
            ]);
        }
        for answered in &outcome.scanned {
            let goal = format!("≤ {SCANNED_MAX} ×");
            self.add_answered(search::T13, answered, goal, |_, ratio| ratio <= SCANNED_MAX);
        }
        if let Some(memory) = outcome.memory {
            let memory = megabytes(memory);
            self.lines.push([
                search::T13.to_owned(),
                "memory to search 1000000 entities without an index".to_owned(),
                format!("{memory:.0} MB"),
                "—".to_owned(),
                "—".to_owned(),
                format!("≤ {SCAN_MEMORY_MAX:.0} MB"),
                verdict(memory <= SCAN_MEMORY_MAX, false),
            ]);
        }
        let [made, indexed] = outcome.filled.map(|took| took.as_secs_f64());
        self.details.push(format!(
            "{} and {}: made in {made:.0} s, indexed in {indexed:.0} s",
            search::T12,
            search::T13
        ));
    }

    fn add_answered(
        &mut self,
        name: &str,
        answered: &search::Answered,
        goal: String,
        reaches: impl Fn(f64, f64) -> bool,
    ) {
        let pairs = answered.services.iter().zip(&answered.floors);
        let mut ratios: Vec<f64> = pairs.map(|(service, floor)| service / floor).collect();
        ratios.sort_by(f64::total_cmp);
        let ratio = middle(&ratios);
        let measured = middle_of(answered.services.clone());
        self.lines.push([
            name.to_owned(),
            format!("search, {} ({} found)", answered.name, answered.found),
            milliseconds(Duration::from_secs_f64(measured)),
            milliseconds(Duration::from_secs_f64(middle_of(answered.floors.clone()))),
            format!(
                "{ratio:.2} × [{:.2} .. {:.2}]",
                ratios[0],
                ratios[ratios.len() - 1]
            ),
            goal,
            verdict(reaches(measured, ratio), false),
        ]);
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

    pub(crate) fn add_nodes(&mut self, name: &str, outcome: nodes::Outcome) {
        for line in outcome.lines {
            self.lines.push([
                nodes::NAME.to_owned(),
                line.workload,
                line.measured,
                line.floor,
                line.ratio,
                line.goal,
                verdict(line.reached, false),
            ]);
        }
        self.details.push(name.to_owned());
        let loads = outcome.loads.iter();
        let loads = loads.map(|(name, load)| spread(name, load));
        self.details.extend(loads);
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

/// The goal of a rate: a share of the floor, so many in a second, both, or none.
fn rate_goal(share: f64, absolute: Option<f64>) -> String {
    let share = (share > 0.0).then(|| format!("≥ {:.0} %", share * 100.0));
    let least = absolute.map(|least| format!("≥ {}", thousands(least)));
    let goals: Vec<String> = share.into_iter().chain(least).collect();
    if goals.is_empty() {
        "—".to_owned()
    } else {
        goals.join(", ")
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
pub(crate) fn middle(numbers: &[f64]) -> f64 {
    numbers[numbers.len() / 2]
}

pub(crate) fn middle_of(mut numbers: Vec<f64>) -> f64 {
    numbers.sort_by(f64::total_cmp);
    middle(&numbers)
}

pub(crate) fn milliseconds(time: Duration) -> String {
    format!("{:.3} ms", time.as_secs_f64() * 1e3)
}

pub(crate) fn thousands(rate: f64) -> String {
    format!("{:.1} k/s", rate / 1e3)
}
