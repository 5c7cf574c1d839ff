//! The part of a floor that is about runs: a bare client writes the same rows into the same tables,
//! as durably, with one commit for each that the service makes.

use std::{fmt::Write as _, path::Path, sync::Arc};

use sqlx::{AssertSqlSafe, ConnectOptions as _, SqlSafeStr as _, SqlStr};
use sqlx_sqlite::{SqliteConnectOptions, SqliteConnection};
use uuid::Uuid;

use crate::{
    floor,
    load::{Measured, Recorder, Span},
};

/// What the service keeps of one run, as read back from its file.
#[derive(Clone)]
pub(crate) struct RunPattern {
    state: Arc<str>,
    /// One for each commit of the run, in order.
    records: Vec<Arc<str>>,
}

impl RunPattern {
    /// The run that was written last.
    pub(crate) async fn read(file: &Path) -> Self {
        const STATE: &str = "select r, state from run order by n desc limit 1";
        const RECORDS: &str = "select record from run_event where r = ? order by n";
        let mut connection = SqliteConnectOptions::new()
            .filename(file)
            .read_only(true)
            .connect()
            .await
            .expect("the file of the service can be read");
        let (run, state): (i64, String) = sqlx::query_as(STATE)
            .fetch_one(&mut connection)
            .await
            .expect("there is a run");
        let records: Vec<String> = sqlx::query_scalar(RECORDS)
            .bind(run)
            .fetch_all(&mut connection)
            .await
            .expect("the run has events");
        Self {
            state: state.into(),
            records: records.into_iter().map(Into::into).collect(),
        }
    }

    /// One commit of it: an advance from one task to the next.
    pub(crate) fn advance(&self) -> Self {
        Self {
            state: Arc::clone(&self.state),
            records: self.records[self.records.len() / 2..][..1].to_vec(),
        }
    }

    fn commits(&self) -> usize {
        self.records.len()
    }
}

/// The bare client.
pub(crate) struct RunInserts {
    connection: SqliteConnection,
    pattern: RunPattern,
    /// The number of the last run, of the last commit, and of the last position.
    runs: i64,
    commits: i64,
}

/// Groups that are tried where more than one run may be in flight.
const GROUPS: &[usize] = &[16, 32, 64, 128, 256];

impl RunInserts {
    pub(crate) async fn open(file: &Path, pattern: RunPattern) -> Self {
        Self {
            connection: floor::tables_of_the_service(file).await,
            pattern,
            runs: 0,
            commits: 0,
        }
    }

    /// How many commits one run has.
    pub(crate) fn commits(&self) -> usize {
        self.pattern.commits()
    }

    /// The best size of a group that is not larger than what is in flight.
    pub(crate) async fn best_group(&mut self, in_flight: usize, span: Span) -> usize {
        let mut best = (0.0, 1);
        for group in GROUPS.iter().copied().filter(|group| *group <= in_flight) {
            let rate = self.run(group, span).await.rate();
            if rate > best.0 {
                best = (rate, group);
            }
        }
        best.1
    }

    /// Writes groups of runs, from their starts to their ends; a recorded time is that of all
    /// commits of one group.
    pub(crate) async fn run(&mut self, group: usize, span: Span) -> Measured {
        let (start, advance) = (start(group), advance(group));
        let mut recorder = Recorder::new(span, group);
        while let Some(began) = recorder.begin() {
            let first = self.runs + 1;
            self.runs += i64::try_from(group).expect("a group is small");
            for number in 0..self.pattern.commits() {
                let text = if number == 0 { &start } else { &advance };
                self.commit(text, first..=self.runs, number).await;
            }
            recorder.record(began);
        }
        recorder.finish()
    }

    async fn commit(&mut self, text: &SqlStr, runs: std::ops::RangeInclusive<i64>, number: usize) {
        let base = self.commits;
        let positions = |run: i64| base + run - runs.start() + 1;
        let mut query = sqlx::query(text.clone());
        for run in runs.clone() {
            let position = positions(run);
            query = query.bind(position).bind(Uuid::now_v7()).bind(position);
        }
        for run in runs.clone() {
            query = query
                .bind(positions(run))
                .bind(Arc::clone(&self.pattern.state))
                .bind(run);
        }
        for run in runs.clone() {
            query = query
                .bind(positions(run))
                .bind(run)
                .bind(i64::try_from(number).expect("few"))
                .bind(Arc::clone(&self.pattern.records[number]));
        }
        query
            .execute(&mut self.connection)
            .await
            .expect("the rows fit the tables");
        self.commits = positions(*runs.end());
    }
}

const COMMITS: &str = r#"insert into "commit"(seq, id, t, at, author) values"#;
const EVENTS: &str = "insert into run_event(n, r, last, record) values";

/// A group of runs that start.
fn start(group: usize) -> SqlStr {
    let runs = "insert into run(n, state, r, t, q, status, out, timer, created) values";
    let mut text = "begin immediate;".to_owned();
    for (into, values) in [
        (COMMITS, "(?,?,1,?,1)"),
        (runs, "(?,?,?,1,1,1,1,0,1)"),
        (EVENTS, "(?,?,?,?)"),
    ] {
        write!(text, "{into}{};", vec![values; group].join(",")).expect("memory");
    }
    text.push_str("commit");
    AssertSqlSafe(text).into_sql_str()
}

/// A group of runs that advance.
fn advance(group: usize) -> SqlStr {
    let update = "update run set n = ?, state = ?, status = 1 where r = ?;";
    let mut text = "begin immediate;".to_owned();
    write!(text, "{COMMITS}{};", vec!["(?,?,1,?,1)"; group].join(",")).expect("memory");
    text.push_str(&update.repeat(group));
    write!(text, "{EVENTS}{};", vec!["(?,?,?,?)"; group].join(",")).expect("memory");
    text.push_str("commit");
    AssertSqlSafe(text).into_sql_str()
}
