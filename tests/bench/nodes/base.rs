//! A `PostgreSQL` server of the benchmark, nodes over its databases, and what a bare client does
//! with it.

use interlock::event::frame::Frame;
use sqlx::{AssertSqlSafe, Connection as _, SqlSafeStr as _, SqlStr};
use sqlx_postgres::PgConnection;
use tempfile::TempDir;
use uuid::Uuid;

use crate::{
    Plan,
    load::{Measured, Recorder, Span},
    message::{Model, event, succeeded, text},
    postgres::Postgres,
    process::{self, Client, Process, folder},
};

/// What the nodes of a cluster share.
const SECRET: &str = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";

/// A server that syncs to the disk as it does by default.
pub(crate) struct Base {
    server: Postgres,
    folder: TempDir,
}

impl Base {
    pub(crate) fn start() -> Self {
        let server = process::postgres();
        let folder = folder();
        Self { server, folder }
    }

    /// A new database; its URL.
    pub(crate) fn database(&self, name: &str) -> String {
        self.server.execute(&format!("create database {name}"));
        self.server.url(name)
    }

    /// A node over a database.
    pub(crate) fn node(&self, url: &str, name: &str, plan: &Plan) -> Process {
        let settings = [
            ("CYODA_STORAGE_BACKEND", "postgres"),
            ("CYODA_POSTGRES_URL", url),
            ("CYODA_CLUSTER_ENABLED", "true"),
            ("CYODA_NODE_ID", name),
            ("CYODA_HMAC_SECRET", SECRET),
            ("INTERLOCK_SEARCH_TIMEOUT", "1h"),
        ];
        Process::service_with(self.folder.path(), plan, &settings)
    }
}

/// Makes a model ready for entities.
pub(crate) async fn set_up(client: &mut Client, model: Model) {
    for (kind, payload) in model.set_up() {
        let request = event(kind, "set-up", payload, []);
        let answer = client.entity_model_manage(request).await.expect("answers");
        succeeded(answer.into_inner());
    }
}

/// Creates an entity; its id.
pub(crate) async fn create(client: &mut Client, model: Model, id: &str) -> String {
    let answer = client.entity_manage(model.create(id)).await;
    let answer = succeeded(answer.expect("an answer").into_inner());
    let (_, rest) = text(&answer).split_once("\"entityIds\":[\"").expect("ids");
    rest.split('"').next().expect("an id").to_owned()
}

/// The request to read an entity.
pub(crate) fn read(id: &str) -> Frame {
    let payload = format!(r#"{{"id":"1","entityId":"{id}"}}"#);
    event("EntityGetRequest", "1", payload, [])
}

/// One client that does one thing after the other.
pub(crate) async fn one(span: Span, mut act: impl AsyncFnMut(usize)) -> Measured {
    let mut recorder = Recorder::new(span, 1);
    let mut n = 0;
    while let Some(began) = recorder.begin() {
        act(n).await;
        recorder.record(began);
        n += 1;
    }
    recorder.finish()
}

/// What the service writes for one creation, as read back from its database.
struct Pattern {
    state: String,
    workflow: Option<String>,
    transition: Option<String>,
    data: String,
    record: Option<String>,
}

/// A bare client that inserts the same rows into the same tables and indexes, in one statement for
/// each batch.
pub(crate) struct Inserts {
    connection: PgConnection,
    pattern: Pattern,
    text: SqlStr,
    /// The last position that was written.
    seq: i64,
    at: i64,
}

const INSERT: &str = r#"with head as (
  insert into "commit"(seq, id, prev, t, at, author, rev)
  select c.seq, c.id, case when c.i = 1 then $1 end, 1, c.at, 1, 0
  from unnest($2::bigint[], $3::uuid[], $4::bigint[]) with ordinality c(seq, id, at, i)),
entities as (
  insert into entity(e, id, m, n, state, live, created, workflow)
  select x.e, x.id, 1, x.n, $8, true, 0, $9 from unnest($5::bigint[], $6::uuid[], $5::bigint[]) x(e, id, n))
insert into version(n, e, m, seq, kind, state, transition, data, record)
select x.n, x.n, 1, x.seq, 0, $8, $10, x.data, $11
from unnest($5::bigint[], $7::bigint[], $12::text[]) x(n, seq, data)"#;

const NEWEST: &str = "select e.state, e.workflow, v.transition, v.data, v.record \
    from entity e join version v on v.n = e.n order by e.e desc limit 1";

impl Inserts {
    /// The rows are those of the newest entity in the database of a service.
    pub(crate) async fn open(base: &Base, name: &str, service: &str) -> Self {
        type Row = (
            String,
            Option<String>,
            Option<String>,
            String,
            Option<String>,
        );
        let mut filled = connect(service).await;
        let row = sqlx::query_as(NEWEST).fetch_one(&mut filled).await;
        let (state, workflow, transition, data, record): Row = row.expect("an entity");
        let mut connection = connect(&base.database(name)).await;
        let migrations = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/src/storage/postgres/migrations"
        );
        sqlx::migrate::Migrator::new(std::path::Path::new(migrations))
            .await
            .expect("the files of the service")
            .run(&mut connection)
            .await
            .expect("the tables of the service");
        Self {
            connection,
            pattern: Pattern {
                state,
                workflow,
                transition,
                data,
                record,
            },
            text: AssertSqlSafe(INSERT).into_sql_str(),
            seq: 0,
            at: 0,
        }
    }

    /// Inserts batches of so many entities, one batch after the other; each entity has a commit of
    /// its own, or all of a batch have one.
    pub(crate) async fn run(&mut self, entities: usize, apart: bool, span: Span) -> Measured {
        let mut recorder = Recorder::new(span, entities);
        while let Some(began) = recorder.begin() {
            self.insert(entities, apart).await;
            recorder.record(began);
        }
        recorder.finish()
    }

    async fn insert(&mut self, entities: usize, apart: bool) {
        let count = i64::try_from(entities).expect("few");
        let first = self.seq + 1;
        // A version has a position, and its commit the next one; or one commit is behind all.
        let (versions, commits): (Vec<i64>, Vec<i64>) = if apart {
            (0..count)
                .map(|n| (first + 2 * n, first + 2 * n + 1))
                .unzip()
        } else {
            let last = first + count;
            (0..count).map(|n| (first + n, last)).unzip()
        };
        let mut seqs = commits.clone();
        seqs.dedup();
        let ids = |count: usize| -> Vec<Uuid> { (0..count).map(|_| Uuid::now_v7()).collect() };
        let ats: Vec<i64> = (1..).map(|n| self.at + n).take(seqs.len()).collect();
        let pattern = &self.pattern;
        let query = sqlx::query(self.text.clone())
            .bind(self.seq)
            .bind(&seqs)
            .bind(ids(seqs.len()))
            .bind(&ats)
            .bind(&versions)
            .bind(ids(entities))
            .bind(&commits)
            .bind(&pattern.state)
            .bind(&pattern.workflow)
            .bind(&pattern.transition)
            .bind(&pattern.record)
            .bind(vec![pattern.data.as_str(); entities]);
        let done = query.execute(&mut self.connection).await;
        done.expect("the rows fit the tables");
        self.seq = seqs[seqs.len() - 1];
        self.at = ats[ats.len() - 1];
    }
}

pub(crate) async fn connect(url: &str) -> PgConnection {
    PgConnection::connect(url).await.expect("connects")
}
