//! What must hold in the end.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    time::Duration,
};

use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use super::{
    load::{Load, Wish},
    outside::Systems,
    plan::{Effect, Pause, Saga, Step},
};
use crate::support::{Connection, PATIENCE};

/// What was there in the end.
#[derive(Default)]
pub(super) struct Found {
    /// By the status of their runs.
    sagas: BTreeMap<String, usize>,
    undone: usize,
    late: usize,
    requests: usize,
    tasks: usize,
    rewritten: i64,
}

impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            sagas,
            undone,
            late,
            requests,
            tasks,
            rewritten,
        } = self;
        let by_status: Vec<_> = sagas
            .iter()
            .map(|(status, count)| format!("{count} {status}"))
            .collect();
        write!(
            f,
            "{} sagas ({}), {undone} steps undone of which {late} had succeeded too late; repeated \
             after crashes and faults: {requests} requests, {tasks} tasks, {rewritten} writes; each \
             saga left all or nothing, the newest step was undone first, and nothing was charged \
             twice",
            sagas.values().sum::<usize>(),
            by_status.join(", "),
        )
    }
}

/// What is left of every step that has done something, by its identifier.
struct Left {
    rows: BTreeSet<String>,
    notes: BTreeSet<String>,
    charges: BTreeSet<String>,
    things: BTreeSet<String>,
    locks: BTreeSet<String>,
    /// Which block followed the end of a saga.
    ends: BTreeMap<String, String>,
}

impl Left {
    async fn read(connection: &Connection, systems: &Systems, findings: &mut Vec<String>) -> Self {
        let rows = |name| systems.rows(name, "effects", "step").into_keys().collect();
        let mut things = BTreeSet::new();
        for id in entities(connection).await {
            if !things.insert(id.clone()) {
                findings.push(format!("two entities of {id}"));
            }
        }
        let mut keyed = |what: &str, of: &std::sync::Mutex<super::outside::Keyed>| {
            let of = of.lock().expect("no panic");
            for (id, account) in &of.accounts {
                if account.done.len() > 1 || account.undone.len() > 1 {
                    findings.push(format!("{what} {id} more than once: {account:?}"));
                }
                if account.done.is_empty() {
                    findings.push(format!("{what} {id}: undone and never done"));
                }
            }
            let left = of.accounts.iter().filter(|(_, account)| account.is_left());
            left.map(|(id, _)| id.clone()).collect()
        };
        let charges = keyed("charged", &systems.bank);
        let locks = keyed("locked", &systems.ledger);
        Self {
            rows: rows("rows"),
            notes: rows("notes"),
            charges,
            things,
            locks,
            ends: systems.rows("rows", "ends", "block"),
        }
    }

    fn has(&self, step: &Step, id: &str) -> bool {
        let of_it = match step.effect {
            Effect::Row => &self.rows,
            Effect::Note => &self.notes,
            Effect::Charge => &self.charges,
            Effect::Thing => &self.things,
            Effect::Lock => &self.locks,
        };
        of_it.contains(&format!("{id}:{}", step.name))
    }
}

/// The identifiers of all entities that are left.
async fn entities(connection: &Connection) -> Vec<String> {
    let mut all = Vec::new();
    for page in 0.. {
        let model = json!({"name": "thing", "version": 1});
        let payload = json!({"model": model, "pageSize": 1_000, "pageNumber": page});
        let (found, _) = connection.all("EntityGetAllRequest", payload).await;
        all.extend(found.iter().map(|entity| {
            let id = &entity["payload"]["data"]["id"];
            id.as_str().expect("an identifier").to_owned()
        }));
        if found.len() < 1_000 {
            return all;
        }
    }
    unreachable!("pages end")
}

/// A run and its history.
struct Reported {
    run: Value,
    history: Vec<Value>,
}

/// All runs with their histories.
async fn reported(connection: &Connection) -> Vec<Reported> {
    let listed = connection
        .every("RunsGetRequest", json!({"kind": "saga"}))
        .await;
    let mut all = Vec::new();
    for some in listed.chunks(64) {
        let reading = some.iter().map(async |run| {
            let of_it = json!({"runId": run["runId"]});
            let (mut shown, history) = tokio::join!(
                connection.ok("RunGetRequest", of_it.clone()),
                connection.every("RunHistoryGetRequest", of_it.clone())
            );
            Reported {
                run: shown["run"].take(),
                history,
            }
        });
        all.extend(futures_util::future::join_all(reading).await);
    }
    all
}

/// Looks until all holds, as what succeeds too late is undone after the end of its saga; else what
/// does not hold.
pub(super) async fn check(
    connection: &Connection,
    load: &Load,
    systems: &Systems,
) -> Result<Found, String> {
    let begun = Instant::now();
    loop {
        let mut findings = Vec::new();
        let found = look(connection, load, systems, &mut findings).await;
        if findings.is_empty() {
            return Ok(found);
        }
        if begun.elapsed() > PATIENCE / 3 {
            return Err(findings.join("\n"));
        }
        sleep(Duration::from_millis(200)).await;
    }
}

async fn look(
    connection: &Connection,
    load: &Load,
    systems: &Systems,
    findings: &mut Vec<String>,
) -> Found {
    let all = reported(connection).await;
    let left = Left::read(connection, systems, findings).await;
    let ledger = load.ledger();
    let mut found = Found {
        requests: systems.bank.lock().expect("no panic").repeated,
        tasks: systems.ledger.lock().expect("no panic").repeated,
        rewritten: systems.rewritten(),
        ..Found::default()
    };
    let mut seen = BTreeSet::new();
    for reported in &all {
        let id = reported.run["input"]["id"].as_str().expect("an identifier");
        let n: u64 = id[1..].parse().expect("a number");
        if !seen.insert(n) {
            findings.push(format!("{id} has two runs"));
        }
        let wish = &ledger.wishes[&n];
        let saga = &load.sagas[wish.saga];
        let before = findings.len();
        reported.history_is_whole(findings);
        reported.newest_is_undone_first(findings);
        reported.leaves_all_or_nothing(saga, id, &left, findings);
        reported.ends_as_wished(saga, wish, findings);
        if findings.len() > before {
            findings.push(format!(
                "of {id}: {wish:?} {saga:#?} {} {}",
                reported.run,
                reported.lines()
            ));
        }
        let status = reported.status().to_owned();
        *found.sagas.entry(status).or_default() += 1;
        found.undone += reported.count("compensation_completed");
        found.late += reported.late();
    }
    for (n, wish) in &ledger.wishes {
        if !seen.contains(n) {
            findings.push(format!("the start of s{n} is lost: {wish:?}"));
        }
    }
    found
}

impl Reported {
    fn status(&self) -> &str {
        self.run["status"].as_str().expect("a status")
    }

    fn count(&self, kind: &str) -> usize {
        let is = |event: &&Value| event["eventType"] == kind;
        self.history.iter().filter(is).count()
    }

    fn lines(&self) -> String {
        let lines = self.history.iter().map(|event| {
            format!(
                "\n    {} {} {}",
                event["time"], event["eventType"], event["detail"]
            )
        });
        lines.collect()
    }

    /// How many calls succeeded after their saga had given them up.
    fn late(&self) -> usize {
        let pairs = self.history.windows(2);
        let is_late = |pair: &&[Value]| {
            pair[0]["eventType"] == "late_answer" && pair[1]["eventType"] == "step_completed"
        };
        pairs.filter(is_late).count()
    }

    /// The sequences have no gaps, and it ends once.
    fn history_is_whole(&self, findings: &mut Vec<String>) {
        let sequences = self
            .history
            .iter()
            .map(|event| event["sequence"].as_u64().unwrap_or_default());
        if !sequences.eq(1..=self.history.len() as u64) {
            findings.push("its history has gaps".to_owned());
        }
        let ends = [
            "workflow_completed",
            "workflow_failed",
            "workflow_cancelled",
            "workflow_timed_out",
        ];
        let ended: usize = ends.iter().map(|kind| self.count(kind)).sum();
        if ended != 1 {
            findings.push(format!("it has ended {ended} times"));
        }
        if self.count("compensation_failed") > 0 {
            findings.push("a compensation has failed".to_owned());
        }
        if self.count("compensation_started") != self.count("compensation_completed") {
            findings.push("a compensation is not finished".to_owned());
        }
    }

    /// What has completed last is undone first; a step that failed is not undone.
    fn newest_is_undone_first(&self, findings: &mut Vec<String>) {
        let (mut completed, mut passed) = (Vec::new(), BTreeSet::new());
        for event in &self.history {
            let step = event["detail"].as_str().unwrap_or_default();
            match event["eventType"].as_str().unwrap_or_default() {
                "step_completed" => {
                    passed.remove(step);
                    completed.push(step);
                }
                "compensation_started" => {
                    while let Some(newest) = completed.pop() {
                        if newest == step {
                            break;
                        }
                        passed.insert(newest);
                    }
                    if passed.contains(step) {
                        findings.push(format!("{step} is undone too late, or twice"));
                    }
                }
                _ => {}
            }
        }
    }

    fn leaves_all_or_nothing(
        &self,
        saga: &Saga,
        id: &str,
        left: &Left,
        findings: &mut Vec<String>,
    ) {
        let has_completed = self.status() == "completed";
        for step in &saga.steps {
            let outcome = &self.run["steps"][step.name]["outcome"];
            let is_expected = has_completed && !(step.skips && outcome == "failure");
            if left.has(step, id) != is_expected {
                let what = if is_expected {
                    "is missing"
                } else {
                    "is left behind"
                };
                findings.push(format!(
                    "the {:?} of {id}:{} {what}",
                    step.effect, step.name
                ));
            }
        }
        let end = left.ends.get(id).map(String::as_str);
        let is_right = match self.status() {
            "completed" => end == Some("on_complete"),
            // It may have been cancelled while that was called.
            "cancelled" => end != Some("on_failure"),
            _ => end == Some("on_failure"),
        };
        if !is_right {
            findings.push(format!("{id} was followed by {end:?}"));
        }
    }

    /// A saga without limits that nobody cancels ends as its steps say.
    fn ends_as_wished(&self, saga: &Saga, wish: &Wish, findings: &mut Vec<String>) {
        let is_slow = |step: &Step| step.is_hasty || step.pause == Pause::Silence;
        if wish.is_cancelled || saga.is_hasty || saga.steps.iter().any(is_slow) {
            return;
        }
        let bad = wish.bad.and_then(|name| saga.step(name));
        let fails = bad.is_some_and(|step| !step.skips);
        let expected = if fails { "failed" } else { "completed" };
        if self.status() != expected {
            findings.push(format!("it is {} and not {expected}", self.status()));
        }
    }
}
