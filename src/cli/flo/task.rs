//! How tasks are shown; actions and workers both print them.

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::cli::client;
use crate::cli::output::Table;

/// What a table shows of a task.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Listed {
    task_id: String,
    name: String,
    status: String,
    #[serde(default)]
    outcome: Option<String>,
    attempt: u64,
    #[serde(default)]
    run_id: Option<String>,
    created_at: String,
}

pub(super) fn table(tasks: &[Box<RawValue>]) -> Result<String, client::Error> {
    let heads = [
        "TASK", "NAME", "STATUS", "OUTCOME", "ATTEMPT", "RUN", "CREATED",
    ];
    let mut table = Table::new(heads);
    for task in tasks {
        let task: Listed = client::read(task.get())?;
        table.row([
            task.task_id,
            task.name,
            task.status,
            task.outcome.unwrap_or_default(),
            task.attempt.to_string(),
            task.run_id.unwrap_or_default(),
            task.created_at,
        ]);
    }
    Ok(table.to_string())
}

/// The task of an answer, as JSON.
pub(super) fn of(answer: &str) -> Result<Box<RawValue>, client::Error> {
    #[derive(Deserialize)]
    struct Got {
        task: Box<RawValue>,
    }
    Ok(client::read::<Got>(answer)?.task)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_is_a_row() {
        let task = r#"{"taskId":"wfrun-1.1","kind":"action","name":"charge","namespace":"default",
            "status":"running","input":{},"attempt":1,"runId":"wfrun-1","createdAt":"t0"}"#;
        let tasks = [serde_json::from_str(task).expect("JSON")];
        let shown = table(&tasks).expect("a task");
        assert_eq!(
            shown,
            "TASK       NAME    STATUS   OUTCOME  ATTEMPT  RUN      CREATED\n\
             wfrun-1.1  charge  running           1        wfrun-1  t0"
        );
    }
}
