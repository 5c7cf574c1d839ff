//! A batch as one SQL text.
//!
//! Each statement is in a file, with one row; here rows are repeated.
//!
//! Rows go in as `values`, padded to one of few sizes with rows of nulls that are filtered out, so
//! there are few distinct texts and all of them stay prepared. A text that was written once is not
//! written again, only its values are bound.

mod named;

use std::{collections::HashMap, sync::Arc};

use sqlx::{Arguments as _, AssertSqlSafe, Encode, Type, error::BoxDynError, query::Query};
use sqlx_sqlite::{Sqlite, SqliteArguments};

use super::read::json_list;
use crate::storage::{
    port::{
        Batch, CommitRow, DeltaRow, EntityMove, Folded, Freed, KeyRow, MessageGone, MessageRow,
        NewClaim, NewDecision, NewEntity, NewVersion, OutcomeRow, Removals, TaskDone, TaskRow,
    },
    rows::encode_kind,
};

pub(super) const BEGIN: &str = include_str!("sql/begin.sql");
pub(super) const COMMIT: &str = include_str!("sql/commit.sql");
const CLAIMS: &str = include_str!("sql/batch/claims.sql");
const COMMITS: &str = include_str!("sql/batch/commits.sql");
const DECISIONS: &str = include_str!("sql/batch/decisions.sql");
const DELTAS: &str = include_str!("sql/batch/deltas.sql");
const ENTITIES: &str = include_str!("sql/batch/entities.sql");
const FOLDED: &str = include_str!("sql/batch/folded.sql");
const FREED: &str = include_str!("sql/batch/freed.sql");
const KEY_REMOVED: &str = include_str!("sql/batch/key_removed.sql");
const KEYS_ADDED: &str = include_str!("sql/batch/keys_added.sql");
const MESSAGE_GONE: &str = include_str!("sql/batch/message_gone.sql");
const MESSAGES: &str = include_str!("sql/batch/messages.sql");
const MOVES: &str = include_str!("sql/batch/moves.sql");
const OUTCOMES: &str = include_str!("sql/batch/outcomes.sql");
const RUN_EVENTS: &str = include_str!("sql/batch/run_events.sql");
const RUN_KEYS: &str = include_str!("sql/batch/run_keys.sql");
const RUNS: &str = include_str!("sql/batch/runs.sql");
const RUNS_ENDED: &str = include_str!("sql/batch/runs_ended.sql");
const RUNS_MOVED: &str = include_str!("sql/batch/runs_moved.sql");
const RECORD_GONE: &str = include_str!("sql/batch/record_gone.sql");
const RECORDS: &str = include_str!("sql/batch/records.sql");
const TASKS: &str = include_str!("sql/batch/tasks.sql");
const TASKS_DONE: &str = include_str!("sql/batch/tasks_done.sql");
const TOPIC_EVENTS: &str = include_str!("sql/batch/topic_events.sql");
const TOPICS: &str = include_str!("sql/batch/topics.sql");
const TIMERS: &str = include_str!("sql/batch/timers.sql");
const TIMERS_DONE: &str = include_str!("sql/batch/timers_done.sql");
const VERSIONS: &str = include_str!("sql/batch/versions.sql");

/// What the one row of a statement in a file begins with.
const ROWS: &str = "values ";

/// Rows of a table, as values of a statement.
pub(super) trait Row {
    const COLUMNS: usize;
    fn bind(&self, values: &mut Script);
}

/// A statement, as it is written.
pub(super) struct Script {
    /// None where it is known already.
    text: Option<String>,
    values: Result<SqliteArguments, BoxDynError>,
}

/// A statement with its values.
pub(super) type Scripted = Query<'static, Sqlite, SqliteArguments>;

/// Texts that were written before.
#[derive(Debug, Default)]
pub(super) struct Texts(HashMap<Shape, Text>);

#[derive(Debug, Clone)]
struct Text {
    sql: Arc<str>,
    /// How many values it takes.
    values: usize,
}

/// What the text of a whole batch depends on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Shape {
    /// How many rows everything is padded to that is not counted here by itself.
    size: usize,
    /// A bit for each table that something is written to.
    tables: u32,
    freed: usize,
    messages_gone: usize,
    records_gone: usize,
    keys_removed: usize,
}

/// How many texts are kept; of large batches each is some tens of KiB.
const TEXTS_MAX: usize = 64;

impl Texts {
    fn keep(&mut self, shape: Shape, sql: String, values: usize) -> Arc<str> {
        if self.0.len() == TEXTS_MAX {
            self.0.clear();
        }
        let sql: Arc<str> = sql.into();
        let text = Text {
            sql: Arc::clone(&sql),
            values,
        };
        self.0.insert(shape, text);
        sql
    }
}

impl Script {
    fn new(text: Option<String>) -> Self {
        Self {
            text,
            values: Ok(SqliteArguments::default()),
        }
    }

    fn with(self, text: Arc<str>) -> Result<Scripted, sqlx::Error> {
        let values = self.values.map_err(sqlx::Error::Encode)?;
        Ok(sqlx::query_with(AssertSqlSafe(text), values))
    }

    /// Adds a statement as it is.
    fn push(&mut self, statement: &str) {
        if let Some(text) = &mut self.text {
            text.push_str(statement.trim_end());
        }
    }

    /// Adds a statement with so many rows in place of its one.
    fn push_with_rows(&mut self, statement: &str, rows: usize) {
        let Some(text) = &mut self.text else { return };
        let Some((head, (row, tail))) = statement
            .split_once(ROWS)
            .and_then(|(head, rest)| Some((head, rest.split_once(')')?)))
        else {
            return text.push_str(statement.trim_end());
        };
        let row: String = row.split_whitespace().collect();
        text.push_str(head);
        for index in 0..rows {
            text.push_str(if index == 0 { ROWS } else { "," });
            text.push_str(&row);
            text.push(')');
        }
        text.push_str(tail.trim_end());
    }

    pub(super) fn bind<'q, T: Encode<'q, Sqlite> + Type<Sqlite>>(&mut self, value: T) -> &mut Self {
        if let Ok(values) = &mut self.values
            && let Err(error) = values.add(value)
        {
            self.values = Err(error);
        }
        self
    }

    /// The values of a row; of none, nulls.
    fn bind_row<T: Row>(&mut self, row: Option<&T>) {
        match row {
            Some(row) => row.bind(self),
            None => (0..T::COLUMNS).for_each(|_| {
                self.bind(None::<i64>);
            }),
        }
    }
}

/// How many rows of one table a text takes.
const TEXT_ROWS: usize = 512;

/// How many entities one statement deletes, or the claims of how many.
const REMOVED_AT_ONCE: usize = 4_096;

impl Batch {
    fn longest(&self) -> usize {
        self.lengths().into_iter().max().unwrap_or(0)
    }

    /// The whole batch as one transaction in one text; none if it is too large for that.
    pub(super) fn script(&self, texts: &mut Texts) -> Result<Option<Scripted>, sqlx::Error> {
        if self.longest().max(self.freed.len()) > TEXT_ROWS || !self.removals.is_empty() {
            return Ok(None);
        }
        let shape = self.shape();
        let known = texts.0.get(&shape).cloned();
        let mut script = Script::new(known.is_none().then(String::new));
        if let (Some(known), Ok(values)) = (&known, &mut script.values) {
            values.reserve(known.values, 0);
        }
        script.push(BEGIN);
        write(&mut script, FREED, &self.freed, shape.freed);
        self.add_rows(&mut script, 0);
        script.push(COMMIT);
        let text = match (known, script.text.take()) {
            (Some(known), _) => known.sql,
            (None, sql) => {
                let values = script.values.as_ref().map_or(0, SqliteArguments::len);
                texts.keep(shape, sql.unwrap_or_default(), values)
            }
        };
        script.with(text).map(Some)
    }

    fn shape(&self) -> Shape {
        let written = self.lengths().into_iter().chain([self.folded.len()]);
        let tables = written.zip(0..).filter(|(rows, _)| *rows > 0);
        Shape {
            size: padded(self.longest()),
            tables: tables.fold(0, |tables, (_, table)| tables | 1 << table),
            freed: padded(self.freed.len()),
            messages_gone: padded(self.messages_gone.len()),
            records_gone: padded(self.records_gone.len()),
            keys_removed: padded(self.keys_removed.len()),
        }
    }

    /// The entities whose claims end, as JSON lists for one statement each.
    pub(super) fn freed(&self) -> impl Iterator<Item = String> {
        let parts = self.freed.chunks(REMOVED_AT_ONCE);
        parts.map(|part| json_list(part.iter().map(|freed| freed.0)))
    }

    /// The rows as texts for a transaction that is open, in which the claims that end have ended.
    pub(super) fn scripts(&self) -> impl Iterator<Item = Result<Scripted, sqlx::Error>> {
        (0..self.longest()).step_by(TEXT_ROWS).map(|from| {
            let mut script = Script::new(Some(String::new()));
            self.add_rows(&mut script, from);
            let text = script.text.take().unwrap_or_default();
            script.with(text.into())
        })
    }

    /// What one statement fails at ends the batch: of a statement that could fail alone, `SQLite`
    /// would copy every page it touches.
    fn add_rows(&self, script: &mut Script, from: usize) {
        let size = padded((self.longest() - from).min(TEXT_ROWS));
        write(script, COMMITS, part(&self.commits, from), size);
        write(script, ENTITIES, part(&self.created, from), size);
        write(script, MOVES, part(&self.moved, from), size);
        write(script, VERSIONS, part(&self.versions, from), size);
        write(script, DECISIONS, part(&self.decisions, from), size);
        write(script, CLAIMS, part(&self.claims, from), size);
        // One may replace what an earlier commit of its request stored, or what has expired.
        write(script, OUTCOMES, part(&self.outcomes, from), size);
        write(script, TASKS_DONE, part(&self.tasks_done, from), size);
        write(script, DELTAS, part(&self.deltas, from), size);
        write(script, FOLDED, part(&self.folded, from), size);
        // A new task replaces one of the same entity, kind and name.
        write(script, TASKS, part(&self.tasks, from), size);
        // A new timer replaces that of the same run.
        write(script, TIMERS_DONE, part(&self.timers_done, from), size);
        write(script, TIMERS, part(&self.timers, from), size);
        write(script, RUNS, part(&self.runs, from), size);
        write(script, RUNS_MOVED, part(&self.runs_moved, from), size);
        write(script, RUNS_ENDED, part(&self.runs_ended, from), size);
        write(script, RUN_EVENTS, part(&self.run_events, from), size);
        write(script, RUN_KEYS, part(&self.run_keys, from), size);
        write(script, MESSAGES, part(&self.messages, from), size);
        delete(script, MESSAGE_GONE, part(&self.messages_gone, from));
        // In their order: several units may have put one of the same name.
        write(script, RECORDS, part(&self.records, from), size);
        delete(script, RECORD_GONE, part(&self.records_gone, from));
        // Likewise: several units may have published to one.
        write(script, TOPICS, part(&self.topics, from), size);
        write(script, TOPIC_EVENTS, part(&self.topic_events, from), size);
        delete(script, KEY_REMOVED, part(&self.keys_removed, from));
        write(script, KEYS_ADDED, part(&self.keys_added, from), size);
    }
}

impl Removals {
    /// The entities in parts of one statement each, as a JSON list, and the position of the
    /// first of them.
    pub(super) fn parts(&self) -> impl Iterator<Item = (i64, String)> {
        let firsts = (self.first..).step_by(REMOVED_AT_ONCE);
        firsts
            .zip(self.entities.chunks(REMOVED_AT_ONCE))
            .map(|(first, part)| (first, json_list(part.iter())))
    }
}

/// The size that so many rows are padded to: a power of two, or one and a half of one, since every
/// row of nulls is bound and looked at as well.
const fn padded(rows: usize) -> usize {
    if rows == 0 {
        return 0;
    }
    let power = rows.next_power_of_two();
    let less = power / 4 * 3;
    if rows <= less && less >= 8 {
        less
    } else {
        power
    }
}

fn part<T>(rows: &[T], from: usize) -> &[T] {
    let to = rows.len().min(from + TEXT_ROWS);
    rows.get(from..to).unwrap_or_default()
}

/// Adds a statement that takes rows, padded to a size; none without rows.
fn write<T: Row>(script: &mut Script, statement: &str, rows: &[T], size: usize) {
    if rows.is_empty() {
        return;
    }
    script.push_with_rows(statement, size);
    for index in 0..size {
        script.bind_row(rows.get(index));
    }
}

/// Deletes rows by keys of several columns, each by a statement of its own: a list of such keys
/// would be looked for in the whole table.
fn delete<T: Row>(script: &mut Script, statement: &str, rows: &[T]) {
    if rows.is_empty() {
        return;
    }
    for index in 0..padded(rows.len()) {
        script.push(statement);
        script.bind_row(rows.get(index));
    }
}

impl Row for NewDecision {
    const COLUMNS: usize = 3;

    fn bind(&self, values: &mut Script) {
        values
            .bind(self.n)
            .bind(self.e)
            .bind(Arc::clone(&self.record));
    }
}

impl Row for OutcomeRow {
    const COLUMNS: usize = 6;

    fn bind(&self, values: &mut Script) {
        values
            .bind(self.t)
            .bind(Arc::clone(&self.key))
            .bind(self.part);
        values
            .bind(self.hash.clone())
            .bind(Arc::clone(&self.answer))
            .bind(self.expires);
    }
}

impl Row for Freed {
    const COLUMNS: usize = 1;

    fn bind(&self, values: &mut Script) {
        values.bind(self.0);
    }
}

impl Row for NewClaim {
    const COLUMNS: usize = 4;

    fn bind(&self, values: &mut Script) {
        values
            .bind(self.m)
            .bind(self.u)
            .bind(self.key.clone())
            .bind(self.e);
    }
}

impl Row for TaskRow {
    const COLUMNS: usize = 8;

    fn bind(&self, values: &mut Script) {
        values.bind(self.k).bind(self.due).bind(self.t).bind(self.e);
        values
            .bind(self.kind)
            .bind(Arc::clone(&self.name))
            .bind(Arc::clone(&self.body))
            .bind(0_i64);
    }
}

impl Row for MessageRow {
    const COLUMNS: usize = 6;

    fn bind(&self, values: &mut Script) {
        values.bind(self.id).bind(self.t).bind(self.seq);
        values
            .bind(Arc::clone(&self.header))
            .bind(Arc::clone(&self.metadata))
            .bind(Arc::clone(&self.content));
    }
}

impl Row for MessageGone {
    const COLUMNS: usize = 2;

    fn bind(&self, values: &mut Script) {
        values.bind(self.id).bind(self.t);
    }
}

impl Row for TaskDone {
    const COLUMNS: usize = 1;

    fn bind(&self, values: &mut Script) {
        values.bind(self.0);
    }
}

impl Row for DeltaRow {
    const COLUMNS: usize = 3;

    fn bind(&self, values: &mut Script) {
        values.bind(self.m).bind(self.n).bind(self.delta.clone());
    }
}

impl Row for Folded {
    const COLUMNS: usize = 2;

    fn bind(&self, values: &mut Script) {
        values.bind(self.m).bind(self.n);
    }
}

impl Row for KeyRow {
    const COLUMNS: usize = 3;

    fn bind(&self, values: &mut Script) {
        values
            .bind(self.p)
            .bind(self.key.as_bytes().to_vec())
            .bind(self.e);
    }
}

impl Row for CommitRow {
    const COLUMNS: usize = 7;

    fn bind(&self, values: &mut Script) {
        values
            .bind(self.seq)
            .bind(self.id)
            .bind(self.entry)
            .bind(self.tenant)
            .bind(self.at)
            .bind(self.author)
            .bind(self.executor);
    }
}

impl Row for NewEntity {
    const COLUMNS: usize = 8;

    fn bind(&self, values: &mut Script) {
        values
            .bind(self.e)
            .bind(self.id)
            .bind(self.m)
            .bind(self.n)
            .bind(Arc::clone(&self.state));
        values
            .bind(true)
            .bind(self.created)
            .bind(self.workflow.clone());
    }
}

impl Row for EntityMove {
    const COLUMNS: usize = 3;

    fn bind(&self, values: &mut Script) {
        values
            .bind(self.e)
            .bind(self.n)
            .bind(Arc::clone(&self.state));
    }
}

impl Row for NewVersion {
    const COLUMNS: usize = 11;

    fn bind(&self, values: &mut Script) {
        values
            .bind(self.n)
            .bind(self.e)
            .bind(self.m)
            .bind(self.seq)
            .bind(encode_kind(self.kind));
        values
            .bind(Arc::clone(&self.state))
            .bind(self.transition.clone())
            .bind(self.author)
            .bind(self.executor);
        values.bind(self.data.clone()).bind(self.record.clone());
    }
}

#[cfg(test)]
mod tests {
    use sqlx::Execute as _;

    use super::*;
    use crate::entity::Key;

    fn batch(claims: i64, freed: i64, removed: i64, folded: i64) -> Batch {
        let key = |n| KeyRow {
            p: 1,
            key: Key::null(),
            e: n,
        };
        Batch {
            claims: (0..claims)
                .map(|e| NewClaim {
                    m: 1,
                    u: 0,
                    key: vec![1],
                    e,
                })
                .collect(),
            freed: (0..freed).map(Freed).collect(),
            keys_removed: (0..removed).map(key).collect(),
            folded: (0..folded).map(|n| Folded { m: 1, n }).collect(),
            ..Batch::default()
        }
    }

    #[test]
    fn rows_are_padded_to_few_sizes() {
        let sizes: std::collections::BTreeSet<_> = (0..=TEXT_ROWS).map(padded).collect();
        let expected = [
            0, 1, 2, 4, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512,
        ];
        assert!(sizes.iter().eq(&expected), "{sizes:?}");
        assert!((0..=TEXT_ROWS).all(|rows| padded(rows) >= rows));
    }

    #[test]
    fn a_text_that_is_known_is_the_one_that_would_be_written() {
        let mut known = Texts::default();
        for claims in [0, 1, 2, 3, 5, 64] {
            for (freed, removed, folded) in [(0, 0, 0), (1, 0, 0), (3, 1, 0), (0, 5, 0), (0, 0, 1)]
            {
                let batch = batch(claims, freed, removed, folded);
                let text = |texts: &mut Texts| {
                    let mut script = batch.script(texts).expect("encodes").expect("small");
                    let values = script.take_arguments().expect("bound").expect("values");
                    (script.sql().as_str().to_owned(), values.len())
                };
                let (fresh, count) = text(&mut Texts::default());
                assert_eq!(fresh.matches('?').count(), count);
                assert_eq!(text(&mut known), (fresh, count), "{batch:?}");
            }
        }
    }
}
