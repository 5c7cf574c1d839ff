//! That every item was started, and once.

use std::{collections::BTreeMap, fmt};

use serde_json::{Value, json};

use super::{ITEMS, MANAGERS, ends, name, target};
use crate::support::Connection;

/// What was done, in all batches.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) kills: u64,
    /// Kills after which items were left to be started.
    pub(super) mid: u64,
    items: usize,
    runs: usize,
    tasks: usize,
}

impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            kills,
            mid,
            items,
            runs,
            tasks,
        } = self;
        write!(
            f,
            "{kills} kills, {mid} of them before all items were started; {items} items \
             started, by {runs} runs and {tasks} tasks, each once"
        )
    }
}

async fn works(connection: &Connection, batch: u64) -> (Vec<Value>, Vec<Value>) {
    let mut runs = Vec::new();
    for target in [target(batch, 0), target(batch, 1)] {
        let of = json!({"definition": format!("org.acme:{target}")});
        runs.extend(connection.every("RunsGetRequest", of).await);
    }
    let of = json!({"name": format!("org.acme:{}", target(batch, MANAGERS - 1))});
    let tasks = connection.every("TasksGetRequest", of).await;
    (runs, tasks)
}

/// Whether all items are started.
pub(super) async fn is_all_started(connection: &Connection, batch: u64) -> bool {
    let (runs, tasks) = works(connection, batch).await;
    runs.len() + tasks.len() == MANAGERS * ITEMS
}

pub(super) async fn check(connection: &Connection, batch: u64, found: &mut Found) {
    let (runs, tasks) = works(connection, batch).await;
    // Which items were started, by the id of their work, and how often.
    let mut started: BTreeMap<String, (String, u64, u64)> = BTreeMap::new();
    let mut times: BTreeMap<(String, u64, u64), usize> = BTreeMap::new();
    let mut note = |id: &Value, input: &Value| {
        let item = (
            input["manager"].as_str().expect("a manager").to_owned(),
            input["worker"].as_u64().expect("a worker"),
            input["item"].as_u64().expect("an item"),
        );
        *times.entry(item.clone()).or_default() += 1;
        started.insert(id.as_str().expect("an id").to_owned(), item);
    };
    for run in &runs {
        let run = json!({"runId": run["runId"]});
        let run = connection.ok("RunGetRequest", run).await["run"].take();
        assert_eq!(run["startedBy"], "manager");
        note(&run["runId"], &run["input"]);
    }
    for task in &tasks {
        let task = json!({"taskId": task["taskId"]});
        let task = connection.ok("TaskGetRequest", task).await["task"].take();
        note(&task["taskId"], &task["input"]);
    }
    for (item, times) in &times {
        assert_eq!(*times, 1, "{item:?} was started {times} times");
    }
    for one in 0..MANAGERS {
        let file = name(batch, one);
        let is_done = ends(batch, one);
        let shown = json!({"manager": file});
        let shown = connection.ok("ManagerGetRequest", shown).await;
        let manager = &shown["document"];
        let status = if is_done { "done" } else { "in-progress" };
        assert_eq!(manager["status"], status, "{manager}");
        for (order, worker) in (0..).zip(manager["workers"].as_array().expect("a list")) {
            for (place, item) in (0..).zip(worker["items"].as_array().expect("a list")) {
                let of = (file.clone(), order, place);
                let status = if is_done { "success" } else { "in-progress" };
                assert_eq!(item["status"], status, "{of:?}: {item}");
                let work = item["workflow_id"].as_str().expect("an id");
                assert_eq!(started.get(work), Some(&of), "{item} names its own work");
                found.items += 1;
            }
        }
    }
    assert_eq!(times.len(), started.len());
    assert_eq!(times.len(), MANAGERS * ITEMS);
    found.runs += runs.len();
    found.tasks += tasks.len();
}
