//! What is printed.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a benchmark prints"
)]

use std::time::Duration;

use crate::{
    attacks::{Attack, Bound, Outcome},
    stage::Measured,
};

/// The lines of the table, and what is said below it.
#[derive(Default)]
pub(crate) struct Table {
    lines: Vec<[String; 8]>,
    notes: Vec<String>,
    broken: usize,
}

const HEAD: [&str; 8] = [
    "attack",
    "p50",
    "p99",
    "errors",
    "readyz p99",
    "RSS",
    "bound",
    "held",
];

/// Says what is done at present.
pub(crate) fn progress(attack: &str, build: &str) {
    eprintln!("{attack} ({build}) …");
}

impl Table {
    pub(crate) fn add(&mut self, attack: &Attack, before: Option<Outcome>, now: Outcome) {
        let broken = faults(attack, &now);
        let cell = |of: &dyn Fn(&Measured) -> String| match &before {
            Some(before) => format!("{} → {}", of(&before.measured), of(&now.measured)),
            None => of(&now.measured),
        };
        self.lines.push([
            attack.name.to_owned(),
            cell(&|it| milliseconds(it.seen.requests.value_at_quantile(0.5))),
            cell(&|it| milliseconds(it.seen.requests.value_at_quantile(0.99))),
            cell(&|it| it.seen.errors.to_string()),
            cell(&|it| milliseconds(it.seen.probes.value_at_quantile(0.99))),
            cell(&|it| {
                if it.alive {
                    megabytes(it.peak)
                } else {
                    "ended".to_owned()
                }
            }),
            bounds(attack),
            if broken.is_empty() { "yes" } else { "no" }.to_owned(),
        ]);
        self.broken += broken.len();
        let name = attack.name;
        for (build, outcome) in [("before: ", before.as_ref()), ("", Some(&now))] {
            let Some(outcome) = outcome else { continue };
            let max = milliseconds(outcome.measured.seen.requests.max());
            let busy = outcome.measured.busy_after.as_secs_f64();
            self.notes.push(format!(
                "{name}: {build}the slowest request took {max}; the server was idle {busy:.1} s after the attack"
            ));
            if let Some(example) = &outcome.measured.seen.example {
                self.notes
                    .push(format!("{name}: {build}an error was: {example}"));
            }
            for finding in outcome
                .findings
                .iter()
                .filter(|finding| finding.held || !build.is_empty())
            {
                self.notes
                    .push(format!("{name}: {build}{}", finding.text.trim_end()));
            }
        }
        for fault in broken {
            self.notes.push(format!("{name}: BROKEN: {fault}"));
        }
    }

    pub(crate) const fn is_held(&self) -> bool {
        self.broken == 0
    }

    pub(crate) fn print(&self) {
        let row = |cells: &[String; 8]| println!("| {} |", cells.join(" | "));
        row(&HEAD.map(ToOwned::to_owned));
        row(&["---"; 8].map(ToOwned::to_owned));
        self.lines.iter().for_each(row);
        println!();
        for note in &self.notes {
            println!("- {note}");
        }
        if self.broken > 0 {
            println!("\n{} bounds are broken.", self.broken);
        }
    }

    /// Prints what there is.
    pub(crate) fn list(attacks: &[Attack]) {
        println!("| attack | what it does | bound |\n| --- | --- | --- |");
        for attack in attacks {
            println!("| {} | {} | {} |", attack.name, attack.what, bounds(attack));
        }
    }
}

/// Every bound that is broken.
fn faults(attack: &Attack, outcome: &Outcome) -> Vec<String> {
    let measured = &outcome.measured;
    let mut broken: Vec<String> = attack
        .bounds
        .iter()
        .filter_map(|bound| bound.broken(measured))
        .collect();
    if !measured.alive {
        broken.push("the server ended".to_owned());
    }
    let others = outcome.findings.iter().filter(|finding| !finding.held);
    broken.extend(others.map(|finding| finding.text.clone()));
    broken
}

impl Bound {
    fn broken(self, measured: &Measured) -> Option<String> {
        let seen = &measured.seen;
        match self {
            Self::P99(most) => over("p99", seen.requests.value_at_quantile(0.99), most),
            Self::Ready(most) => over("/readyz", seen.probes.value_at_quantile(0.99), most),
            Self::Memory(most) => (measured.peak > most << 20)
                .then(|| format!("RSS {} > {most} MB", megabytes(measured.peak))),
            Self::Errors => {
                (seen.errors > 0).then(|| format!("{} errors of the innocent client", seen.errors))
            }
            Self::Idle(most) => (measured.busy_after > most).then(|| {
                let busy = measured.busy_after.as_secs_f64();
                format!("busy for {busy:.1} s after the attack")
            }),
            Self::Reported(_) => None,
        }
    }

    fn text(self) -> String {
        match self {
            Self::P99(most) => format!("p99 ≤ {} ms", most.as_millis()),
            Self::Ready(most) => format!("/readyz ≤ {} ms", most.as_millis()),
            Self::Memory(most) => format!("RSS ≤ {most} MB"),
            Self::Errors => "no errors".to_owned(),
            Self::Idle(most) => format!("idle after {} s", most.as_secs()),
            Self::Reported(text) => text.to_owned(),
        }
    }
}

fn over(what: &str, micros: u64, most: Duration) -> Option<String> {
    (u128::from(micros) > most.as_micros())
        .then(|| format!("{what} {} > {} ms", milliseconds(micros), most.as_millis()))
}

fn bounds(attack: &Attack) -> String {
    let bounds: Vec<String> = attack.bounds.iter().map(|bound| bound.text()).collect();
    bounds.join(", ")
}

fn milliseconds(micros: u64) -> String {
    let millis = Duration::from_micros(micros).as_secs_f64() * 1e3;
    if millis < 10.0 {
        format!("{millis:.1} ms")
    } else {
        format!("{millis:.0} ms")
    }
}

pub(crate) fn megabytes(bytes: u64) -> String {
    format!("{} MB", bytes >> 20)
}
