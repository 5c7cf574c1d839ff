//! The parts of the statement, its text, and its values while they are put together.

use std::{
    collections::{HashMap, HashSet},
    hash::Hash,
    sync::Arc,
};

use sqlx::{Arguments as _, AssertSqlSafe, Encode, Type, error::BoxDynError, query::QueryScalar};
use sqlx_postgres::{PgArguments, Postgres};

/// An element of the list of parts: its number, and its text.
#[derive(Clone, Copy)]
pub(super) struct Part(u32, &'static str);

const HEAD: &str = include_str!("../sql/batch/head.sql");
const END: &str = include_str!("../sql/batch/end.sql");

pub(super) const ENTITIES: Part = Part(0, include_str!("../sql/batch/entities.sql"));
pub(super) const MOVES: Part = Part(1, include_str!("../sql/batch/moves.sql"));
pub(super) const VERSIONS: Part = Part(2, include_str!("../sql/batch/versions.sql"));
pub(super) const DECISIONS: Part = Part(3, include_str!("../sql/batch/decisions.sql"));
pub(super) const FREED: Part = Part(4, include_str!("../sql/batch/freed.sql"));
pub(super) const CLAIMS: Part = Part(5, include_str!("../sql/batch/claims.sql"));
pub(super) const OUTCOMES: Part = Part(6, include_str!("../sql/batch/outcomes.sql"));
pub(super) const DELTAS: Part = Part(7, include_str!("../sql/batch/deltas.sql"));
pub(super) const FOLDED: Part = Part(8, include_str!("../sql/batch/folded.sql"));
pub(super) const TASKS_DONE: Part = Part(9, include_str!("../sql/batch/tasks_done.sql"));
pub(super) const TASKS: Part = Part(10, include_str!("../sql/batch/tasks.sql"));
pub(super) const RUNS: Part = Part(11, include_str!("../sql/batch/runs.sql"));
pub(super) const RUNS_MOVED: Part = Part(12, include_str!("../sql/batch/runs_moved.sql"));
pub(super) const RUN_EVENTS: Part = Part(13, include_str!("../sql/batch/run_events.sql"));
pub(super) const RUN_KEYS: Part = Part(14, include_str!("../sql/batch/run_keys.sql"));
pub(super) const MESSAGES: Part = Part(15, include_str!("../sql/batch/messages.sql"));
pub(super) const MESSAGES_GONE: Part = Part(16, include_str!("../sql/batch/messages_gone.sql"));
pub(super) const RECORDS: Part = Part(17, include_str!("../sql/batch/records.sql"));
pub(super) const RECORDS_GONE: Part = Part(18, include_str!("../sql/batch/records_gone.sql"));
pub(super) const TOPICS: Part = Part(19, include_str!("../sql/batch/topics.sql"));
pub(super) const TOPIC_EVENTS: Part = Part(20, include_str!("../sql/batch/topic_events.sql"));
pub(super) const KEYS_REMOVED: Part = Part(21, include_str!("../sql/batch/keys_removed.sql"));
pub(super) const KEYS_ADDED: Part = Part(22, include_str!("../sql/batch/keys_added.sql"));
pub(super) const REMOVED_VERSIONS: Part =
    Part(23, include_str!("../sql/batch/removed_versions.sql"));
pub(super) const REMOVED_ENTITIES: Part =
    Part(24, include_str!("../sql/batch/removed_entities.sql"));
pub(super) const SWEPT: Part = Part(25, include_str!("../sql/batch/swept.sql"));

/// How many values the commits take.
const HEAD_VALUES: usize = 11;

/// How many texts are kept.
const TEXTS_MAX: usize = 256;

/// Texts that were written before, by the parts they have.
#[derive(Debug, Default)]
pub(in crate::storage::postgres) struct Texts(HashMap<u32, Arc<str>>);

impl Texts {
    fn of(&mut self, parts: &[Part]) -> Arc<str> {
        let shape = parts.iter().fold(0, |shape, part| shape | 1 << part.0);
        if self.0.len() == TEXTS_MAX {
            self.0.clear();
        }
        Arc::clone(self.0.entry(shape).or_insert_with(|| text_of(parts)))
    }
}

/// The text of a statement: values of parts are numbered after those of the commits.
fn text_of(parts: &[Part]) -> Arc<str> {
    let mut text = String::from(without_comment(HEAD));
    let mut number = HEAD_VALUES;
    for Part(_, part) in parts {
        text.push_str(",\n");
        let mut pieces = without_comment(part).split('?');
        text.push_str(pieces.next().unwrap_or_default());
        for piece in pieces {
            number += 1;
            text.push('$');
            text.push_str(&number.to_string());
            text.push_str(piece);
        }
    }
    text.push('\n');
    text.push_str(END.trim_end());
    text.into()
}

/// A statement without the lines that say what it does.
fn without_comment(text: &str) -> &str {
    let mut rest = text;
    while rest.starts_with("--") {
        rest = rest.split_once('\n').map_or("", |(_, rest)| rest);
    }
    rest.trim_end()
}

/// A statement with its values; it answers whether the batch was written.
pub(in crate::storage::postgres) type Scripted = QueryScalar<'static, Postgres, bool, PgArguments>;

/// A statement, as it is put together.
#[derive(Default)]
pub(super) struct Script {
    parts: Vec<Part>,
    values: PgArguments,
    failed: Option<BoxDynError>,
}

impl Script {
    pub(super) fn part(&mut self, part: Part) -> &mut Self {
        self.parts.push(part);
        self
    }

    pub(super) fn bind<'v, T: Encode<'v, Postgres> + Type<Postgres>>(
        &mut self,
        value: T,
    ) -> &mut Self {
        if self.failed.is_none() {
            self.failed = self.values.add(value).err();
        }
        self
    }

    /// Binds a column of rows.
    pub(super) fn column<'v, T>(&mut self, values: impl IntoIterator<Item = T>) -> &mut Self
    where
        Vec<T>: Encode<'v, Postgres> + Type<Postgres>,
    {
        self.bind(values.into_iter().collect::<Vec<T>>())
    }

    /// The statement, if every value could be encoded.
    pub(super) fn finish(self, texts: &mut Texts) -> Result<Scripted, sqlx::Error> {
        if let Some(error) = self.failed {
            return Err(sqlx::Error::Encode(error));
        }
        let text = texts.of(&self.parts);
        Ok(sqlx::query_scalar_with(AssertSqlSafe(text), self.values))
    }
}

/// Of several rows of one name, the last, in their order.
pub(super) fn last_of_each<'r, R, N: Hash + Eq>(
    rows: &'r [R],
    name: impl Fn(&'r R) -> N,
) -> Vec<&'r R> {
    let mut seen = HashSet::new();
    let mut kept: Vec<&R> = rows
        .iter()
        .rev()
        .filter(|row| seen.insert(name(row)))
        .collect();
    kept.reverse();
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_numbered_through_all_parts() {
        let text = text_of(&[MOVES, DECISIONS]);
        assert!(!text.contains('?'), "{text}");
        for number in 1..=HEAD_VALUES + 6 {
            assert!(text.contains(&format!("${number}")), "{number}: {text}");
        }
        assert!(!text.contains(&format!("${}", HEAD_VALUES + 7)), "{text}");
    }

    #[test]
    fn turns_are_taken_and_tried_by_one_lock() {
        let key = |text: &str, function: &str| -> String {
            let (_, rest) = text.split_once(function).expect("it is called");
            rest.chars().take_while(char::is_ascii_digit).collect()
        };
        let taken = key(include_str!("../sql/session_turn.sql"), "pg_advisory_lock(");
        assert!(!taken.is_empty());
        assert_eq!(key(HEAD, "pg_try_advisory_xact_lock_shared("), taken);
    }

    #[test]
    fn of_rows_of_one_name_the_last_is_written() {
        let rows = [("a", 1), ("b", 2), ("a", 3)];
        let kept = last_of_each(&rows, |row| row.0);
        assert_eq!(kept, [&("b", 2), &("a", 3)]);
    }
}
