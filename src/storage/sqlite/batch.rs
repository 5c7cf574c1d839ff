//! A batch as one SQL text.
//!
//! Rows go in as `values`, padded to one of few sizes with rows of nulls that are filtered out, so
//! there are few distinct texts and all of them stay prepared. A text that was written once is not
//! written again, only its values are bound.

use std::{collections::HashMap, sync::Arc};

use sqlx::{Arguments as _, AssertSqlSafe, Encode, Type, error::BoxDynError, query::Query};
use sqlx_sqlite::{Sqlite, SqliteArguments};
use uuid::Uuid;

use super::{read::json_list, rows::encode_kind};
use crate::entity::{ChangeKind, Key, Sequence};
use crate::storage::{agenda::Noted, judge::NewDelta};

/// Everything a batch writes.
#[derive(Debug, Default)]
pub(in crate::storage) struct Batch {
    pub(in crate::storage) commits: Vec<CommitRow>,
    pub(in crate::storage) created: Vec<NewEntity>,
    pub(in crate::storage) moved: Vec<EntityMove>,
    pub(in crate::storage) versions: Vec<NewVersion>,
    pub(in crate::storage) removals: Vec<Removals>,
    pub(in crate::storage) decisions: Vec<NewDecision>,
    /// Entities whose claims of unique keys end; that comes before any are made.
    pub(in crate::storage) freed: Vec<Freed>,
    pub(in crate::storage) claims: Vec<NewClaim>,
    pub(in crate::storage) tasks: Vec<TaskRow>,
    /// Tasks that are done or void.
    pub(in crate::storage) tasks_done: Vec<TaskDone>,
    pub(in crate::storage) messages: Vec<MessageRow>,
    pub(in crate::storage) outcomes: Vec<OutcomeRow>,
    pub(in crate::storage) messages_gone: Vec<MessageGone>,
    pub(in crate::storage) deltas: Vec<DeltaRow>,
    /// Models whose earlier deltas are not needed any more.
    pub(in crate::storage) folded: Vec<Folded>,
    /// The widened models, for those who know them.
    pub(in crate::storage) grown: Vec<NewDelta>,
    pub(in crate::storage) keys_removed: Vec<KeyRow>,
    pub(in crate::storage) keys_added: Vec<KeyRow>,
    /// Indexes that so many entities leave that all of their keys are looked through.
    pub(in crate::storage) swept: Vec<i64>,
    /// When the new tasks are due, for those who wait for them.
    pub(in crate::storage) agenda: Vec<Noted>,
}

/// A record without a version.
#[derive(Debug, Clone)]
pub(in crate::storage) struct NewDecision {
    pub(in crate::storage) n: i64,
    pub(in crate::storage) e: i64,
    pub(in crate::storage) record: Arc<str>,
}

#[derive(Debug, Clone)]
pub(in crate::storage) struct TaskRow {
    pub(in crate::storage) k: i64,
    pub(in crate::storage) due: i64,
    pub(in crate::storage) t: i64,
    pub(in crate::storage) e: i64,
    pub(in crate::storage) kind: i64,
    pub(in crate::storage) name: Arc<str>,
    pub(in crate::storage) body: Arc<str>,
}

#[derive(Debug, Clone)]
pub(in crate::storage) struct MessageRow {
    pub(in crate::storage) id: Uuid,
    pub(in crate::storage) t: i64,
    pub(in crate::storage) seq: i64,
    pub(in crate::storage) header: Arc<str>,
    pub(in crate::storage) metadata: Arc<str>,
    pub(in crate::storage) content: Arc<str>,
}

/// A message that there shall be no more, if it is that tenant's.
#[derive(Debug)]
pub(in crate::storage) struct MessageGone {
    pub(in crate::storage) id: Uuid,
    pub(in crate::storage) t: i64,
}

#[derive(Debug)]
pub(in crate::storage) struct TaskDone(pub(in crate::storage) i64);

/// What became of a request that is to be done once.
#[derive(Debug, Clone)]
pub(in crate::storage) struct OutcomeRow {
    pub(in crate::storage) t: i64,
    pub(in crate::storage) key: Arc<str>,
    pub(in crate::storage) part: i64,
    pub(in crate::storage) hash: Vec<u8>,
    pub(in crate::storage) answer: Arc<str>,
    pub(in crate::storage) expires: i64,
}

/// An entity that claims nothing any more.
#[derive(Debug)]
pub(in crate::storage) struct Freed(pub(in crate::storage) i64);

/// A value of a unique key, and the entity that has it.
#[derive(Debug, Clone)]
pub(in crate::storage) struct NewClaim {
    pub(in crate::storage) m: i64,
    /// The place of the key among those of the model.
    pub(in crate::storage) u: i64,
    pub(in crate::storage) key: Vec<u8>,
    pub(in crate::storage) e: i64,
}

/// What a commit adds to the schema of a model.
#[derive(Debug, Clone)]
pub(in crate::storage) struct DeltaRow {
    pub(in crate::storage) m: i64,
    pub(in crate::storage) n: i64,
    pub(in crate::storage) delta: String,
}

/// A model, and its first delta that counts.
#[derive(Debug)]
pub(in crate::storage) struct Folded {
    pub(in crate::storage) m: i64,
    pub(in crate::storage) n: i64,
}

/// An entity under a key of an index.
#[derive(Debug)]
pub(in crate::storage) struct KeyRow {
    pub(in crate::storage) p: i64,
    pub(in crate::storage) key: Key,
    pub(in crate::storage) e: i64,
}

/// Entities that one commit deletes.
#[derive(Debug)]
pub(in crate::storage) struct Removals {
    /// The position of the first; the others follow.
    pub(in crate::storage) first: i64,
    pub(in crate::storage) seq: i64,
    pub(in crate::storage) author: Option<i64>,
    pub(in crate::storage) executor: Option<i64>,
    pub(in crate::storage) entities: Vec<i64>,
}

#[derive(Debug, Clone)]
pub(in crate::storage) struct CommitRow {
    pub(in crate::storage) seq: i64,
    pub(in crate::storage) id: Uuid,
    /// The transaction that the request began with, where this is a later one.
    pub(in crate::storage) entry: Option<Uuid>,
    pub(in crate::storage) tenant: i64,
    pub(in crate::storage) at: i64,
    pub(in crate::storage) author: i64,
    pub(in crate::storage) executor: Option<i64>,
}

#[derive(Debug, Clone)]
pub(in crate::storage) struct NewEntity {
    pub(in crate::storage) e: i64,
    pub(in crate::storage) id: Uuid,
    pub(in crate::storage) m: i64,
    pub(in crate::storage) n: i64,
    pub(in crate::storage) state: Arc<str>,
    pub(in crate::storage) created: i64,
    pub(in crate::storage) workflow: Option<Arc<str>>,
}

/// An entity whose current version is another one now.
#[derive(Debug)]
pub(in crate::storage) struct EntityMove {
    pub(in crate::storage) e: i64,
    pub(in crate::storage) n: i64,
    pub(in crate::storage) state: Arc<str>,
}

#[derive(Debug, Clone)]
pub(in crate::storage) struct NewVersion {
    pub(in crate::storage) n: i64,
    pub(in crate::storage) e: i64,
    pub(in crate::storage) m: i64,
    pub(in crate::storage) seq: i64,
    pub(in crate::storage) kind: ChangeKind,
    pub(in crate::storage) state: Arc<str>,
    pub(in crate::storage) transition: Option<Arc<str>>,
    pub(in crate::storage) author: Option<i64>,
    pub(in crate::storage) executor: Option<i64>,
    pub(in crate::storage) data: Option<Arc<str>>,
    pub(in crate::storage) record: Option<Arc<str>>,
}

/// Rows of a table, as values of a statement.
trait Row {
    const COLUMNS: usize;
    fn bind(&self, values: &mut Values<'_>);
}

/// A statement, as it is written.
struct Script {
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

    fn push(&mut self, part: &str) -> &mut Self {
        if let Some(text) = &mut self.text {
            text.push_str(part);
        }
        self
    }

    fn bind<'q, T: Encode<'q, Sqlite> + Type<Sqlite>>(&mut self, value: T) {
        self.push("?");
        if let Ok(values) = &mut self.values
            && let Err(error) = values.add(value)
        {
            self.values = Err(error);
        }
    }
}

struct Values<'a> {
    script: &'a mut Script,
    first: bool,
}

impl Values<'_> {
    fn add<'q, T: Encode<'q, Sqlite> + Type<Sqlite>>(&mut self, value: T) -> &mut Self {
        if !std::mem::take(&mut self.first) {
            self.script.push(",");
        }
        self.script.bind(value);
        self
    }
}

/// How many rows of one table a text takes.
const TEXT_ROWS: usize = 512;

/// How many entities one statement deletes, or the claims of how many.
const REMOVED_AT_ONCE: usize = 4_096;

impl Batch {
    /// With room for so many units, each of one version.
    pub(in crate::storage) fn with_room(units: usize) -> Self {
        Self {
            commits: Vec::with_capacity(units),
            created: Vec::with_capacity(units),
            versions: Vec::with_capacity(units),
            ..Self::default()
        }
    }

    /// Adds what the commit of that sequence adds to schemas.
    pub(in crate::storage) fn add_deltas(&mut self, deltas: Vec<NewDelta>, sequence: Sequence) {
        for mut delta in deltas {
            let (m, n) = (delta.row.0, sequence.0);
            if delta.is_whole {
                self.folded.push(Folded { m, n });
            }
            self.deltas.push(DeltaRow {
                m,
                n,
                delta: std::mem::take(&mut delta.text),
            });
            self.grown.push(delta);
        }
    }

    /// How many rows of each table are written, or taken out one by one.
    const fn lengths(&self) -> [usize; 14] {
        [
            self.commits.len(),
            self.created.len(),
            self.moved.len(),
            self.versions.len(),
            self.decisions.len(),
            self.claims.len(),
            self.tasks.len(),
            self.tasks_done.len(),
            self.messages.len(),
            self.outcomes.len(),
            self.messages_gone.len(),
            self.deltas.len(),
            self.keys_removed.len(),
            self.keys_added.len(),
        ]
    }

    fn longest(&self) -> usize {
        self.lengths().into_iter().max().unwrap_or(0)
    }

    /// How many rows are written.
    pub(in crate::storage) fn len(&self) -> usize {
        self.lengths().into_iter().sum()
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
        script.push("begin immediate;");
        if !self.freed.is_empty() {
            script.push("delete from unique_key where e in (");
            values(&mut script, &self.freed, shape.freed);
            script.push(");");
        }
        self.add_rows(&mut script, 0);
        script.push("commit");
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
        insert(
            script,
            r#"insert or rollback into "commit"(seq, id, entry, t, at, author, executor)"#,
            part(&self.commits, from),
            size,
        );
        insert(
            script,
            "insert or rollback into entity(e, id, m, n, state, live, created, workflow)",
            part(&self.created, from),
            size,
        );
        let moved = part(&self.moved, from);
        if !moved.is_empty() {
            script.push("update entity set n = v.column2, state = v.column3 from (");
            values(script, moved, size);
            script.push(") v where entity.e = v.column1;");
        }
        insert(
            script,
            "insert or rollback into version(n, e, m, seq, kind, state, transition, author, executor, data, record)",
            part(&self.versions, from),
            size,
        );
        insert(
            script,
            "insert or rollback into decision(n, e, record)",
            part(&self.decisions, from),
            size,
        );
        insert(
            script,
            "insert or rollback into unique_key(m, u, key, e)",
            part(&self.claims, from),
            size,
        );
        // One may replace what an earlier commit of its request stored, or what has expired.
        insert(
            script,
            "insert or replace into idempotency(t, key, part, hash, answer, expires)",
            part(&self.outcomes, from),
            size,
        );
        let done = part(&self.tasks_done, from);
        if !done.is_empty() {
            script.push("delete from task where k in (");
            values(script, done, size);
            script.push(");");
        }
        insert(
            script,
            "insert or rollback into model_delta(m, n, delta)",
            part(&self.deltas, from),
            size,
        );
        let folded = part(&self.folded, from);
        if !folded.is_empty() {
            script.push("delete from model_delta where exists (select 1 from (");
            values(script, folded, size);
            script.push(") v where model_delta.m = v.column1 and model_delta.n < v.column2);");
        }
        // A new task replaces one of the same entity, kind and name.
        insert(
            script,
            "insert or replace into task(k, due, t, e, kind, name, body, tries)",
            part(&self.tasks, from),
            size,
        );
        insert(
            script,
            "insert or rollback into message(id, t, seq, header, metadata, content)",
            part(&self.messages, from),
            size,
        );
        delete(
            script,
            "delete from message where (id, t) =",
            part(&self.messages_gone, from),
        );
        delete(
            script,
            "delete from search_key where (p, key, e) =",
            part(&self.keys_removed, from),
        );
        insert(
            script,
            "insert or ignore into search_key(p, key, e)",
            part(&self.keys_added, from),
            size,
        );
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

fn insert<T: Row>(script: &mut Script, into: &'static str, rows: &[T], size: usize) {
    if rows.is_empty() {
        return;
    }
    script.push(into).push(" select * from (");
    values(script, rows, size);
    script.push(") where column1 is not null;");
}

/// Deletes rows by keys of several columns, each by a statement of its own: a list of such keys
/// would be looked for in the whole table.
fn delete<T: Row>(script: &mut Script, from: &'static str, rows: &[T]) {
    if rows.is_empty() {
        return;
    }
    for index in 0..padded(rows.len()) {
        script.push(from).push("(");
        row(script, rows.get(index));
        script.push(");");
    }
}

fn values<T: Row>(script: &mut Script, rows: &[T], size: usize) {
    for index in 0..size {
        script.push(if index == 0 { "values(" } else { ",(" });
        row(script, rows.get(index));
        script.push(")");
    }
}

/// The values of a row; of none, nulls.
fn row<T: Row>(script: &mut Script, row: Option<&T>) {
    let mut values = Values {
        script,
        first: true,
    };
    match row {
        Some(row) => row.bind(&mut values),
        None => (0..T::COLUMNS).for_each(|_| {
            values.add(None::<i64>);
        }),
    }
}

impl Row for NewDecision {
    const COLUMNS: usize = 3;

    fn bind(&self, values: &mut Values<'_>) {
        values.add(self.n).add(self.e).add(Arc::clone(&self.record));
    }
}

impl Row for OutcomeRow {
    const COLUMNS: usize = 6;

    fn bind(&self, values: &mut Values<'_>) {
        values.add(self.t).add(Arc::clone(&self.key)).add(self.part);
        values
            .add(self.hash.clone())
            .add(Arc::clone(&self.answer))
            .add(self.expires);
    }
}

impl Row for Freed {
    const COLUMNS: usize = 1;

    fn bind(&self, values: &mut Values<'_>) {
        values.add(self.0);
    }
}

impl Row for NewClaim {
    const COLUMNS: usize = 4;

    fn bind(&self, values: &mut Values<'_>) {
        values
            .add(self.m)
            .add(self.u)
            .add(self.key.clone())
            .add(self.e);
    }
}

impl Row for TaskRow {
    const COLUMNS: usize = 8;

    fn bind(&self, values: &mut Values<'_>) {
        values.add(self.k).add(self.due).add(self.t).add(self.e);
        values
            .add(self.kind)
            .add(Arc::clone(&self.name))
            .add(Arc::clone(&self.body))
            .add(0_i64);
    }
}

impl Row for MessageRow {
    const COLUMNS: usize = 6;

    fn bind(&self, values: &mut Values<'_>) {
        values.add(self.id).add(self.t).add(self.seq);
        values
            .add(Arc::clone(&self.header))
            .add(Arc::clone(&self.metadata))
            .add(Arc::clone(&self.content));
    }
}

impl Row for MessageGone {
    const COLUMNS: usize = 2;

    fn bind(&self, values: &mut Values<'_>) {
        values.add(self.id).add(self.t);
    }
}

impl Row for TaskDone {
    const COLUMNS: usize = 1;

    fn bind(&self, values: &mut Values<'_>) {
        values.add(self.0);
    }
}

impl Row for DeltaRow {
    const COLUMNS: usize = 3;

    fn bind(&self, values: &mut Values<'_>) {
        values.add(self.m).add(self.n).add(self.delta.clone());
    }
}

impl Row for Folded {
    const COLUMNS: usize = 2;

    fn bind(&self, values: &mut Values<'_>) {
        values.add(self.m).add(self.n);
    }
}

impl Row for KeyRow {
    const COLUMNS: usize = 3;

    fn bind(&self, values: &mut Values<'_>) {
        values
            .add(self.p)
            .add(self.key.as_bytes().to_vec())
            .add(self.e);
    }
}

impl Row for CommitRow {
    const COLUMNS: usize = 7;

    fn bind(&self, values: &mut Values<'_>) {
        values
            .add(self.seq)
            .add(self.id)
            .add(self.entry)
            .add(self.tenant)
            .add(self.at)
            .add(self.author)
            .add(self.executor);
    }
}

impl Row for NewEntity {
    const COLUMNS: usize = 8;

    fn bind(&self, values: &mut Values<'_>) {
        values
            .add(self.e)
            .add(self.id)
            .add(self.m)
            .add(self.n)
            .add(Arc::clone(&self.state));
        values
            .add(true)
            .add(self.created)
            .add(self.workflow.clone());
    }
}

impl Row for EntityMove {
    const COLUMNS: usize = 3;

    fn bind(&self, values: &mut Values<'_>) {
        values.add(self.e).add(self.n).add(Arc::clone(&self.state));
    }
}

impl Row for NewVersion {
    const COLUMNS: usize = 11;

    fn bind(&self, values: &mut Values<'_>) {
        values
            .add(self.n)
            .add(self.e)
            .add(self.m)
            .add(self.seq)
            .add(encode_kind(self.kind));
        values
            .add(Arc::clone(&self.state))
            .add(self.transition.clone())
            .add(self.author)
            .add(self.executor);
        values.add(self.data.clone()).add(self.record.clone());
    }
}

#[cfg(test)]
mod tests {
    use sqlx::Execute as _;

    use super::*;

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
