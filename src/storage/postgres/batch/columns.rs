//! The rows of a batch, column by column, in the order of the statements.

use std::collections::{HashMap, HashSet};

use uuid::Uuid;

use super::script::{
    CLAIMS, DECISIONS, DELTAS, ENTITIES, FOLDED, FREED, KEYS_ADDED, KEYS_REMOVED, MESSAGES,
    MESSAGES_GONE, MOVES, OUTCOMES, Part, RECORDS, RECORDS_GONE, REMOVED_ENTITIES,
    REMOVED_VERSIONS, RUN_EVENTS, RUN_KEYS, RUNS, RUNS_MOVED, SWEPT, Script, TASKS, TASKS_DONE,
    TOPIC_EVENTS, TOPICS, VERSIONS, last_of_each,
};
use crate::storage::postgres::news::News;
use crate::storage::{
    port::{Batch, KeyRow, MessageRow, RunMove},
    rows::encode_kind,
};

/// Adds everything a batch writes.
pub(super) fn add(script: &mut Script, batch: &Batch, is_due: bool) {
    commits(script, batch, is_due);
    entities(script, batch);
    definitions(script, batch);
    tasks(script, batch);
    runs(script, batch);
    messages(script, batch);
    named(script, batch);
    keys(script, KEYS_REMOVED, &batch.keys_removed);
    keys(script, KEYS_ADDED, &batch.keys_added);
    removals(script, batch);
}

fn commits(script: &mut Script, batch: &Batch, is_due: bool) {
    let rows = &batch.commits;
    let is_change = i64::from(batch.changes_definitions());
    script.bind(batch.follows).bind(is_change);
    script.column(rows.iter().map(|row| row.seq));
    script.column(rows.iter().map(|row| row.id));
    script.column(rows.iter().map(|row| row.entry));
    script.column(rows.iter().map(|row| row.tenant));
    script.column(rows.iter().map(|row| row.at));
    script.column(rows.iter().map(|row| row.author));
    script.column(rows.iter().map(|row| row.executor));
    script.bind(News::of(batch)).bind(is_due);
}

fn entities(script: &mut Script, batch: &Batch) {
    let rows = &batch.created;
    if !rows.is_empty() {
        script.part(ENTITIES);
        script.column(rows.iter().map(|row| row.e));
        script.column(rows.iter().map(|row| row.id));
        script.column(rows.iter().map(|row| row.m));
        script.column(rows.iter().map(|row| row.n));
        script.column(rows.iter().map(|row| &*row.state));
        script.column(rows.iter().map(|row| row.created));
        script.column(rows.iter().map(|row| row.workflow.as_deref()));
    }
    let rows = &batch.moved;
    if !rows.is_empty() {
        script.part(MOVES);
        script.column(rows.iter().map(|row| row.e));
        script.column(rows.iter().map(|row| row.n));
        script.column(rows.iter().map(|row| &*row.state));
    }
    let rows = &batch.versions;
    if !rows.is_empty() {
        script.part(VERSIONS);
        script.column(rows.iter().map(|row| row.n));
        script.column(rows.iter().map(|row| row.e));
        script.column(rows.iter().map(|row| row.m));
        script.column(rows.iter().map(|row| row.seq));
        script.column(rows.iter().map(|row| encode_kind(row.kind)));
        script.column(rows.iter().map(|row| &*row.state));
        script.column(rows.iter().map(|row| row.transition.as_deref()));
        script.column(rows.iter().map(|row| row.author));
        script.column(rows.iter().map(|row| row.executor));
        script.column(rows.iter().map(|row| row.data.as_deref()));
        script.column(rows.iter().map(|row| row.record.as_deref()));
    }
    let rows = &batch.decisions;
    if !rows.is_empty() {
        script.part(DECISIONS);
        script.column(rows.iter().map(|row| row.n));
        script.column(rows.iter().map(|row| row.e));
        script.column(rows.iter().map(|row| &*row.record));
    }
    let rows = &batch.claims;
    if !rows.is_empty() || !batch.freed.is_empty() {
        script.part(FREED);
        script.column(batch.freed.iter().map(|row| row.0));
    }
    if !rows.is_empty() {
        script.part(CLAIMS);
        script.column(rows.iter().map(|row| row.m));
        script.column(rows.iter().map(|row| row.u));
        script.column(rows.iter().map(|row| row.key.as_slice()));
        script.column(rows.iter().map(|row| row.e));
    }
}

/// What is added to schemas; what a whole schema of the same batch replaces is not written at all.
fn definitions(script: &mut Script, batch: &Batch) {
    let folded: HashMap<i64, i64> = batch.folded.iter().map(|row| (row.m, row.n)).collect();
    let is_needed = |m: i64, n: i64| folded.get(&m).is_none_or(|first| n >= *first);
    let rows = batch.deltas.iter().filter(|row| is_needed(row.m, row.n));
    if !batch.deltas.is_empty() {
        script.part(DELTAS);
        script.column(rows.clone().map(|row| row.m));
        script.column(rows.clone().map(|row| row.n));
        script.column(rows.map(|row| row.delta.as_str()));
    }
    if !folded.is_empty() {
        script.part(FOLDED);
        script.column(folded.keys().copied());
        script.column(folded.values().copied());
    }
}

fn tasks(script: &mut Script, batch: &Batch) {
    let (tasks, timers) = (&batch.tasks, &batch.timers);
    let (done, ended) = (&batch.tasks_done, &batch.timers_done);
    let has_new = !tasks.is_empty() || !timers.is_empty();
    if has_new || !done.is_empty() || !ended.is_empty() {
        script.part(TASKS_DONE);
        script.column(done.iter().map(|row| row.0));
        script.column(tasks.iter().map(|row| row.e));
        script.column(tasks.iter().map(|row| row.kind));
        script.column(tasks.iter().map(|row| &*row.name));
        script.column(done.iter().map(|row| row.0));
        let of_runs = ended.iter().map(|row| row.0);
        script.column(of_runs.chain(timers.iter().map(|row| row.r)));
    }
    if has_new {
        // A timer belongs to a run, and has neither a name nor a body.
        script.part(TASKS);
        let both = |task: Vec<i64>, timer: Vec<i64>| task.into_iter().chain(timer);
        script.column(both(
            tasks.iter().map(|row| row.k).collect(),
            timers.iter().map(|row| row.k).collect(),
        ));
        script.column(both(
            tasks.iter().map(|row| row.due).collect(),
            timers.iter().map(|row| row.due).collect(),
        ));
        script.column(both(
            tasks.iter().map(|row| row.t).collect(),
            timers.iter().map(|row| row.t).collect(),
        ));
        let none = |count: usize| std::iter::repeat_n(None::<i64>, count);
        script.column(
            tasks
                .iter()
                .map(|row| Some(row.e))
                .chain(none(timers.len())),
        );
        script.column(none(tasks.len()).chain(timers.iter().map(|row| Some(row.r))));
        script.column(both(
            tasks.iter().map(|row| row.kind).collect(),
            timers.iter().map(|row| row.kind).collect(),
        ));
        let empty = || std::iter::repeat_n("", timers.len());
        script.column(tasks.iter().map(|row| &*row.name).chain(empty()));
        script.column(tasks.iter().map(|row| &*row.body).chain(empty()));
        let owners = tasks.iter().map(|row| row.owner);
        script.column(owners.chain(none(timers.len())));
    }
}

fn runs(script: &mut Script, batch: &Batch) {
    let rows = &batch.runs;
    if !rows.is_empty() {
        script.part(RUNS);
        script.column(rows.iter().map(|row| row.r));
        script.column(rows.iter().map(|row| row.t));
        script.column(rows.iter().map(|row| row.q));
        script.column(rows.iter().map(|row| row.moved.n));
        script.column(rows.iter().map(|row| row.moved.status));
        script.column(rows.iter().map(|row| row.moved.out));
        script.column(rows.iter().map(|row| row.moved.owner));
        script.column(rows.iter().map(|row| row.moved.timer));
        script.column(rows.iter().map(|row| row.up));
        script.column(rows.iter().map(|row| row.e));
        script.column(rows.iter().map(|row| row.moved.awaits));
        script.column(rows.iter().map(|row| row.created));
        script.column(rows.iter().map(|row| row.moved.ended));
        script.column(rows.iter().map(|row| &*row.moved.state));
    }
    let ended = batch.runs_ended.iter().map(|row| &row.0);
    let moved: Vec<RunMove> = batch.runs_moved.iter().chain(ended).cloned().collect();
    let rows = last_of_each(&moved, |row| row.r);
    if !rows.is_empty() {
        script.part(RUNS_MOVED);
        script.column(rows.iter().map(|row| row.r));
        script.column(rows.iter().map(|row| row.n));
        script.column(rows.iter().map(|row| row.status));
        script.column(rows.iter().map(|row| row.out));
        script.column(rows.iter().map(|row| row.owner));
        script.column(rows.iter().map(|row| row.timer));
        script.column(rows.iter().map(|row| row.awaits));
        script.column(rows.iter().map(|row| &*row.state));
        script.column(rows.iter().map(|row| row.ended));
    }
    let rows = &batch.run_events;
    if !rows.is_empty() {
        script.part(RUN_EVENTS);
        script.column(rows.iter().map(|row| row.n));
        script.column(rows.iter().map(|row| row.r));
        script.column(rows.iter().map(|row| row.last));
        script.column(rows.iter().map(|row| &*row.record));
    }
    let rows = &batch.run_keys;
    if !rows.is_empty() {
        script.part(RUN_KEYS);
        script.column(rows.iter().map(|row| row.t));
        script.column(rows.iter().map(|row| row.kind));
        script.column(rows.iter().map(|row| &*row.scope));
        script.column(rows.iter().map(|row| &*row.key));
        script.column(rows.iter().map(|row| row.r));
    }
}

fn messages(script: &mut Script, batch: &Batch) {
    let gone = &batch.messages_gone;
    let deleted: HashSet<(Uuid, i64)> = gone.iter().map(|row| (row.id, row.t)).collect();
    let kept = |row: &&MessageRow| !deleted.contains(&(row.id, row.t));
    let rows: Vec<&MessageRow> = batch.messages.iter().filter(kept).collect();
    if !rows.is_empty() {
        script.part(MESSAGES);
        script.column(rows.iter().map(|row| row.id));
        script.column(rows.iter().map(|row| row.t));
        script.column(rows.iter().map(|row| row.seq));
        script.column(rows.iter().map(|row| &*row.header));
        script.column(rows.iter().map(|row| &*row.metadata));
        script.column(rows.iter().map(|row| &*row.content));
    }
    if !gone.is_empty() {
        script.part(MESSAGES_GONE);
        script.column(gone.iter().map(|row| row.id));
        script.column(gone.iter().map(|row| row.t));
    }
}

/// What has a name: outcomes, records, and topics with their events.
fn named(script: &mut Script, batch: &Batch) {
    let rows = last_of_each(&batch.outcomes, |row| (row.t, &*row.key, row.part));
    if !rows.is_empty() {
        script.part(OUTCOMES);
        script.column(rows.iter().map(|row| row.t));
        script.column(rows.iter().map(|row| &*row.key));
        script.column(rows.iter().map(|row| row.part));
        script.column(rows.iter().map(|row| row.hash.as_slice()));
        script.column(rows.iter().map(|row| &*row.answer));
        script.column(rows.iter().map(|row| row.expires));
    }
    let rows = last_of_each(&batch.records, |row| {
        let key = &row.key;
        (key.t, key.kind, &*key.ns, &*key.name)
    });
    if !rows.is_empty() {
        script.part(RECORDS);
        script.column(rows.iter().map(|row| row.key.t));
        script.column(rows.iter().map(|row| row.key.kind));
        script.column(rows.iter().map(|row| &*row.key.ns));
        script.column(rows.iter().map(|row| &*row.key.name));
        script.column(rows.iter().map(|row| row.n));
        script.column(rows.iter().map(|row| &*row.body));
    }
    let rows = &batch.records_gone;
    if !rows.is_empty() {
        script.part(RECORDS_GONE);
        script.column(rows.iter().map(|row| row.t));
        script.column(rows.iter().map(|row| row.kind));
        script.column(rows.iter().map(|row| &*row.ns));
        script.column(rows.iter().map(|row| &*row.name));
    }
    let rows = last_of_each(&batch.topics, |row| row.o);
    if !rows.is_empty() {
        script.part(TOPICS);
        script.column(rows.iter().map(|row| row.o));
        script.column(rows.iter().map(|row| row.t));
        script.column(rows.iter().map(|row| &*row.ns));
        script.column(rows.iter().map(|row| &*row.name));
        script.column(rows.iter().map(|row| row.last));
    }
    let rows = &batch.topic_events;
    if !rows.is_empty() {
        script.part(TOPIC_EVENTS);
        script.column(rows.iter().map(|row| row.o));
        script.column(rows.iter().map(|row| row.n));
        script.column(rows.iter().map(|row| row.at));
        script.column(rows.iter().map(|row| row.id.as_deref()));
        script.column(rows.iter().map(|row| row.key.as_deref()));
        script.column(rows.iter().map(|row| row.kind.as_deref()));
        script.column(rows.iter().map(|row| &*row.data));
    }
}

fn keys(script: &mut Script, part: Part, rows: &[KeyRow]) {
    if !rows.is_empty() {
        script.part(part);
        script.column(rows.iter().map(|row| row.p));
        script.column(rows.iter().map(|row| row.key.as_bytes()));
        script.column(rows.iter().map(|row| row.e));
    }
}

fn removals(script: &mut Script, batch: &Batch) {
    let removed = || {
        batch.removals.iter().flat_map(|group| {
            let rows = group.entities.iter().zip(group.first..);
            rows.map(move |(e, n)| (n, *e, group))
        })
    };
    if removed().next().is_none() {
        return;
    }
    script.part(REMOVED_VERSIONS);
    script.column(removed().map(|(n, _, _)| n));
    script.column(removed().map(|(_, e, _)| e));
    script.column(removed().map(|(_, _, group)| group.seq));
    script.column(removed().map(|(_, _, group)| group.author));
    script.column(removed().map(|(_, _, group)| group.executor));
    script.part(REMOVED_ENTITIES);
    script.column(removed().map(|(n, _, _)| n));
    script.column(removed().map(|(_, e, _)| e));
    if !batch.swept.is_empty() {
        script.part(SWEPT);
        script.column(batch.swept.iter().copied());
        script.column(removed().map(|(_, e, _)| e));
    }
}
