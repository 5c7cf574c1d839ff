//! Tasks that go to workers of another process, and runs that are taken over from one that is gone.

use std::time::Duration;

use serde_json::json;

use super::{
    becomes,
    runs::{ENDED, register, scene, start},
};
use crate::support::{PATIENCE, database::Database};

#[tokio::test]
async fn a_worker_elsewhere_gets_tasks_as_fast_as_it_takes_them() {
    let (database, nodes, connection) = scene(&[]).await;
    let other = nodes[1].connect().await;
    register(&other, "w1").await;
    for _ in 0..50 {
        start(&connection, "two-steps").await;
    }
    // One task at a time: whenever it is done, the worker asks for the next one.
    let work = async {
        loop {
            let asked = json!({"workerId": "w1", "actions": ["*"], "blockMs": 30_000});
            let given = other.ok("TaskAwaitRequest", asked).await;
            for task in given["tasks"].as_array().expect("a list") {
                let done = json!({"taskId": task["taskId"], "workerId": "w1", "output": {}});
                other.ok("TaskCompleteRequest", done).await;
            }
        }
    };
    tokio::select! {
        () = work => {}
        () = becomes(&database, ENDED, "50", Duration::from_secs(25)) => {}
    }
}

#[tokio::test]
async fn many_runs_of_a_process_that_is_gone_are_taken_over_by_few_commits() {
    let commits = |database: &Database| -> u32 {
        let count = database.execute(r#"select count(*) from "commit""#);
        count.parse().expect("a number")
    };
    let (database, mut nodes, connection) = scene(&[]).await;
    for _ in 0..100 {
        start(&connection, "two-steps").await;
    }
    let first = database.execute("select distinct owner from run where out");
    nodes[0].kill();
    let before = commits(&database);
    let taken = format!("select count(*) from run where out and owner <> {first}");
    becomes(&database, &taken, "100", PATIENCE).await;
    let made = commits(&database) - before;
    assert!(made < 50, "{made} commits");
}
