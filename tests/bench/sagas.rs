//! Row T20, and that of three statements: simple sagas beside their floors.
//!
//! A saga is timed from the request that starts it to the answer that says how it has ended. Its
//! floor is a unary echo, its statements by a bare client of the same kind of file, and the commits
//! of its own records by another. Local steps read a row of that file, so that what is measured is
//! the saga around them.

use std::{fmt::Write as _, path::Path, time::Duration};

use interlock::event::frame::Frame;
use sqlx::{AssertSqlSafe, ConnectOptions as _, SqlSafeStr as _};
use sqlx_sqlite::{SqliteConnectOptions, SqliteConnection, SqliteJournalMode};
use tempfile::TempDir;

use crate::{
    Plan,
    load::{self, Measured, Recorder, Span},
    machine::{self, Cores},
    message::{Model, Sizes, document, event, succeeded, text},
    process::{Client, Process, database, folder},
    row::{Goal, Outcome},
    run_rows::{RunInserts, RunPattern},
};

/// A workload of sagas, and what it shall reach.
pub(crate) struct SagaRow {
    pub(crate) name: &'static str,
    pub(crate) workload: &'static str,
    pub(crate) goal: Goal,
    what: What,
}

/// What the steps do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum What {
    /// Four read a row.
    Reads,
    /// The last of four fails, and three are undone.
    Fails,
    /// Four create an entity, which is the input.
    Entities,
    /// Three insert a row.
    Inserts,
}

pub(crate) const ROWS: &[SagaRow] = &[
    SagaRow {
        name: "T20",
        workload: "saga of four local steps, one client",
        goal: Goal::Latency(2.0),
        what: What::Reads,
    },
    SagaRow {
        name: "T20",
        workload: "the fourth fails and three are undone",
        goal: Goal::Latency(2.0),
        what: What::Fails,
    },
    SagaRow {
        name: "T20",
        workload: "saga of four entity steps, one client",
        goal: Goal::Latency(2.5),
        what: What::Entities,
    },
    SagaRow {
        name: "saga",
        workload: "saga of three SQLite inserts, one client",
        goal: Goal::Latency(2.0),
        what: What::Inserts,
    },
];

const SAGA: &str = "measured";

const TABLE: &str = "CREATE TABLE orders (id INTEGER PRIMARY KEY, status TEXT, user_id INTEGER)";
const ROW: &str = "INSERT INTO orders (id, status, user_id) VALUES (1, 'pending', 7)";
const SELECT: &str = "SELECT * FROM orders WHERE id = 1";
const INSERT: &str = "INSERT INTO orders (status, user_id) VALUES ('pending', 7) RETURNING *";

impl What {
    /// The operation, and what is undone by which, of one step.
    fn step(self, number: u32) -> (String, Option<String>) {
        let read = |target: &str| {
            format!(
                "connector = \"db\"\n operation = \"SELECT\"\n target = \"{target}\"\n params = {{ id = 1 }}"
            )
        };
        match self {
            Self::Reads => (read("orders"), None),
            Self::Fails if number == 4 => (read("missing"), None),
            Self::Fails => (read("orders"), Some(read("orders"))),
            Self::Entities => {
                let model = Model::Plain.name();
                let call = format!(
                    "connector = \"entities\"\n operation = \"INSERT\"\n target = \"{model}/1\""
                );
                (call, None)
            }
            Self::Inserts => {
                let call = "connector = \"db\"\n operation = \"INSERT\"\n target = \"orders\"\n data = { status = \"pending\", user_id = 7 }";
                (call.to_owned(), None)
            }
        }
    }

    const fn steps(self) -> u32 {
        match self {
            Self::Reads | Self::Fails | Self::Entities => 4,
            Self::Inserts => 3,
        }
    }

    /// The statements that the bare client executes.
    fn statements(self) -> Vec<&'static str> {
        match self {
            Self::Reads => vec![SELECT; 4],
            // One fails, and three are undone.
            Self::Fails => vec![SELECT; 6],
            Self::Entities => Vec::new(),
            Self::Inserts => vec![INSERT; 3],
        }
    }

    /// The status of a run that has gone as it should.
    const fn end(self) -> &'static str {
        match self {
            Self::Fails => r#""failed""#,
            Self::Reads | Self::Entities | Self::Inserts => r#""completed""#,
        }
    }

    fn hcl(self, file: &Path) -> String {
        let file = file.to_str().expect("UTF-8");
        let mut text = format!(
            "connector \"db\" {{\n type = \"database\"\n driver = \"sqlite\"\n database = \
             \"{file}\"\n}}\nconnector \"entities\" {{\n type = \"entity\"\n}}\nsaga \"{SAGA}\" {{\n"
        );
        for number in 1..=self.steps() {
            let (action, undo) = self.step(number);
            let _ = write!(text, "step \"s{number}\" {{\n action {{\n {action}\n }}\n");
            if let Some(undo) = undo {
                let _ = write!(text, " compensate {{\n {undo}\n }}\n");
            }
            text.push_str("}\n");
        }
        text.push_str("}\n");
        text
    }
}

/// Everything that takes turns.
struct Bench {
    service: Process,
    echo: Process,
    to_service: Vec<Client>,
    to_echo: Vec<Client>,
    statements: Statements,
    inserts: RunInserts,
    sizes: Sizes,
    _folder: TempDir,
}

impl SagaRow {
    pub(crate) async fn measure(&self, plan: &Plan) -> Outcome {
        let mut bench = Bench::set_up(self.what, plan).await;
        let cores = Cores::now();
        let ours = bench.cpu_time();
        let mut on_core = Duration::ZERO;
        let mut outcome = Outcome::default();
        for _ in 0..plan.rounds {
            let parts = bench.floor(plan.part).await;
            let floor = parts.iter().map(|(_, part)| self.goal.of(part)).sum();
            outcome.floors.push(floor);
            let before = bench.service.cpu_time();
            let service = load::unary(&bench.to_service, 1, plan.service, start).await;
            on_core += bench.service.cpu_time().saturating_sub(before);
            outcome.services.push(self.goal.of(&service));
            let loads = std::iter::once(("service".to_owned(), service)).chain(parts);
            outcome.add(loads);
        }
        outcome.cpu_each = on_core / outcome.loads[0].1.total.max(1);
        outcome.memory = bench.service.memory();
        let ours = bench.cpu_time().saturating_sub(ours);
        outcome.others = Cores::now().others_since(&cores, ours);
        outcome
    }
}

impl Bench {
    async fn set_up(what: What, plan: &Plan) -> Self {
        let folder = folder();
        let file = folder.path().join("orders.db");
        Statements::open(&file, Vec::new()).await;
        let statements = folder.path().join("orders-floor.db");
        let statements = Statements::open(&statements, what.statements()).await;
        let service = Process::service(folder.path(), plan);
        let echo = Process::echo();
        let to_service = service.clients(1).await;
        let to_echo = echo.clients(1).await;
        let mut client = to_service[0].clone();
        if what == What::Entities {
            for (kind, payload) in Model::Plain.set_up() {
                manage(&mut client, kind, payload).await;
            }
        }
        apply(&mut client, &what.hcl(&file)).await;
        // One is run first, and its messages and rows are those of the floor.
        let request = start("look");
        let mut sizes = Sizes {
            request: request.0.len(),
            answer: 0,
        };
        let answer = client.entity_manage(request).await.expect("an answer");
        sizes.answer = answer.get_ref().0.len();
        let answer = succeeded(answer.into_inner());
        assert!(
            text(&answer).contains(what.end()),
            "the saga ended otherwise: {}",
            text(&answer)
        );
        let pattern = RunPattern::read(&database(folder.path())).await;
        let inserts = RunInserts::open(&folder.path().join("floor.db"), pattern).await;
        Self {
            service,
            echo,
            to_service,
            to_echo,
            statements,
            inserts,
            sizes,
            _folder: folder,
        }
    }

    /// The parts of the floor, by their names.
    async fn floor(&mut self, span: Span) -> Vec<(String, Measured)> {
        let sizes = self.sizes;
        let request = move |id: &str| sizes.request(id);
        let echoed = load::unary(&self.to_echo, 1, span, request).await;
        let mut parts = vec![("unary echo".to_owned(), echoed)];
        let count = self.statements.texts.len();
        if count > 0 {
            let executed = self.statements.run(span).await;
            parts.push((format!("{count} statements"), executed));
        }
        let name = format!("{} commits", self.inserts.commits());
        parts.push((name, self.inserts.run(1, span).await));
        parts
    }

    /// The time that this process and those it measures have been on a core.
    fn cpu_time(&self) -> Duration {
        machine::cpu_time_of(std::process::id()) + self.service.cpu_time() + self.echo.cpu_time()
    }
}

/// A bare client of the file that the steps work on.
struct Statements {
    connection: SqliteConnection,
    texts: Vec<&'static str>,
}

impl Statements {
    /// Makes the file.
    async fn open(file: &Path, texts: Vec<&'static str>) -> Self {
        let mut connection = SqliteConnectOptions::new()
            .filename(file)
            .create_if_missing(true)
            .journal_mode(SqliteJournalMode::Wal)
            .connect()
            .await
            .expect("a database");
        for text in [TABLE, ROW] {
            sqlx::query(text)
                .execute(&mut connection)
                .await
                .expect("a table with a row");
        }
        Self { connection, texts }
    }

    /// Executes them all, again and again; a recorded time is that of all.
    async fn run(&mut self, span: Span) -> Measured {
        let mut recorder = Recorder::new(span, 1);
        while let Some(began) = recorder.begin() {
            for text in &self.texts {
                sqlx::query(AssertSqlSafe(*text).into_sql_str())
                    .fetch_all(&mut self.connection)
                    .await
                    .expect("rows");
            }
            recorder.record(began);
        }
        recorder.finish()
    }
}

async fn manage(client: &mut Client, kind: &str, payload: String) {
    let request = event(kind, "set-up", payload, []);
    let answer = client.entity_model_manage(request).await.expect("answers");
    succeeded(answer.into_inner());
}

/// Applies a bundle of one file.
pub(crate) async fn apply(client: &mut Client, hcl: &str) {
    let hcl = serde_json::to_string(hcl).expect("a text");
    let payload =
        format!(r#"{{"id":"1","bundle":"bench","files":[{{"path":"sagas.hcl","text":{hcl}}}]}}"#);
    manage(client, "BundleApplyRequest", payload).await;
}

/// The request to start a saga, and to wait for its end.
fn start(id: &str) -> Frame {
    let payload = format!(
        r#"{{"id":"{id}","definition":"{SAGA}","input":{},"waitMs":30000}}"#,
        document(id)
    );
    event("RunStartRequest", id, payload, [])
}
