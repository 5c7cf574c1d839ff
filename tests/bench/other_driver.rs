//! What another driver would do (`benchmark.md`): the inserts of a floor by `rusqlite`,
//! which has no thread of its own and steps a prepared statement for each row. It is printed beside
//! the parts, and no part of a floor.

use std::path::Path;

use rusqlite::{Connection, params};
use uuid::Uuid;

use crate::{
    floor::{Inserts, Pattern, TABLES},
    load::{Measured, Recorder, Span},
};

pub(crate) struct OtherDriver {
    connection: Connection,
    pattern: Pattern,
    statements: [String; TABLES.len()],
    /// The number of the last row in each table.
    rows: i64,
}

impl OtherDriver {
    pub(crate) async fn open(file: &Path, pattern: &Pattern) -> Self {
        drop(Inserts::open(file, pattern.clone()).await);
        let connection = Connection::open(file).expect("the database");
        connection
            .execute_batch(
                "pragma journal_mode = wal; pragma synchronous = full; \
                 pragma wal_autocheckpoint = 8000; pragma cache_size = -12800",
            )
            .expect("pragmas");
        Self {
            connection,
            pattern: pattern.clone(),
            statements: TABLES.map(|(into, values)| format!("insert into {into} values{values}")),
            rows: 0,
        }
    }

    /// Inserts groups, one after the other; each is one transaction.
    pub(crate) fn run(&mut self, group: usize, span: Span) -> Measured {
        let mut recorder = Recorder::new(span, group);
        while let Some(began) = recorder.begin() {
            self.insert(group).expect("the rows fit the tables");
            recorder.record(began);
        }
        recorder.finish()
    }

    fn insert(&mut self, group: usize) -> rusqlite::Result<()> {
        let first = self.rows + 1;
        self.rows += i64::try_from(group).expect("a group is small");
        let Pattern {
            state,
            workflow,
            transition,
            data,
            record,
        } = &self.pattern;
        let transaction = self.connection.transaction()?;
        {
            let prepare = |text: &String| transaction.prepare_cached(text);
            let [commit, entity, version] = &self.statements;
            let (mut commit, mut entity, mut version) =
                (prepare(commit)?, prepare(entity)?, prepare(version)?);
            for row in first..=self.rows {
                let id = || *Uuid::now_v7().as_bytes();
                commit.execute(params![2 * row, id(), row])?;
                entity.execute(params![row, id(), 2 * row - 1, state, workflow])?;
                version.execute(params![
                    2 * row - 1,
                    row,
                    2 * row,
                    state,
                    transition,
                    data,
                    record
                ])?;
            }
        }
        transaction.commit()
    }
}
