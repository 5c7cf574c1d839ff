//! The parts of a floor: an echo on the same gRPC stack, and inserts by a bare client.

use std::{fmt::Write as _, path::Path, pin::Pin, sync::Arc};

use futures_util::{Stream, StreamExt as _, stream};
use interlock::event::{
    frame::Frame,
    proto::service::cloud_events_service_server::{CloudEventsService, CloudEventsServiceServer},
};
use sqlx::{AssertSqlSafe, ConnectOptions as _, SqlSafeStr as _, SqlStr};
use sqlx_sqlite::{SqliteConnectOptions, SqliteConnection, SqliteJournalMode, SqliteSynchronous};
use tokio::net::TcpListener;
use tonic::{Request, Response, Status, Streaming, transport::server::TcpIncoming};
use uuid::Uuid;

use crate::{
    load::{Measured, Recorder, Span},
    message::{self, Model, echo},
    process::ECHO_READY,
    report, rest,
};

/// Answers what it is sent, at once.
struct Echo;

type Frames = Pin<Box<dyn Stream<Item = Result<Frame, Status>> + Send>>;

/// Listens on free ports, says which, and echoes until it is killed.
pub(crate) async fn serve_echo() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("an address");
    let http = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let http_address = http.local_addr().expect("an address");
    report::say(&format!("{ECHO_READY}{address} http={http_address}"));
    tokio::spawn(rest::serve_echo(http));
    tonic::transport::Server::builder()
        .initial_connection_window_size(4 << 20)
        .initial_stream_window_size(1 << 20)
        .add_service(CloudEventsServiceServer::new(Echo))
        .serve_with_incoming(TcpIncoming::from(listener).with_nodelay(Some(true)))
        .await
        .expect("serves");
}

#[tonic::async_trait]
impl CloudEventsService for Echo {
    type startStreamingStream = Frames;
    type entityManageCollectionStream = Frames;
    type entitySearchCollectionStream = Frames;

    async fn start_streaming(
        &self,
        request: Request<Streaming<Frame>>,
    ) -> Result<Response<Frames>, Status> {
        let answers = request.into_inner().map(|frame| frame.map(echo));
        Ok(Response::new(answers.boxed()))
    }

    async fn entity_manage(&self, request: Request<Frame>) -> Result<Response<Frame>, Status> {
        Ok(Response::new(echo(request.into_inner())))
    }

    async fn entity_model_manage(
        &self,
        request: Request<Frame>,
    ) -> Result<Response<Frame>, Status> {
        self.entity_manage(request).await
    }

    async fn entity_search(&self, request: Request<Frame>) -> Result<Response<Frame>, Status> {
        self.entity_manage(request).await
    }

    async fn entity_manage_collection(
        &self,
        request: Request<Frame>,
    ) -> Result<Response<Frames>, Status> {
        let answer = echo(request.into_inner());
        Ok(Response::new(stream::iter([Ok(answer)]).boxed()))
    }

    async fn entity_search_collection(
        &self,
        request: Request<Frame>,
    ) -> Result<Response<Frames>, Status> {
        let answers = stream::iter(message::streamed(request.into_inner()).map(Ok));
        Ok(Response::new(answers.boxed()))
    }
}

/// What the service writes for one creation, as read back from its file.
#[derive(Clone)]
pub(crate) struct Pattern {
    pub(crate) state: Arc<str>,
    pub(crate) workflow: Option<Arc<str>>,
    pub(crate) transition: Option<Arc<str>>,
    pub(crate) data: Arc<str>,
    pub(crate) record: Option<Arc<str>>,
}

impl Pattern {
    /// The newest entity of a model.
    pub(crate) async fn read(file: &Path, model: Model) -> Self {
        const NEWEST: &str = "select e.state, e.workflow, v.transition, v.data, v.record \
            from entity e join version v on v.n = e.n join model m on m.m = e.m \
            where m.name = ? order by e.e desc limit 1";
        type Row = (
            String,
            Option<String>,
            Option<String>,
            String,
            Option<String>,
        );
        let mut connection = SqliteConnectOptions::new()
            .filename(file)
            .read_only(true)
            .connect()
            .await
            .expect("the file of the service can be read");
        let (state, workflow, transition, data, record): Row = sqlx::query_as(NEWEST)
            .bind(model.name())
            .fetch_one(&mut connection)
            .await
            .expect("the service has created an entity");
        Self {
            state: state.into(),
            workflow: workflow.map(Into::into),
            transition: transition.map(Into::into),
            data: data.into(),
            record: record.map(Into::into),
        }
    }
}

/// A file with the tables and the durability of the service, and nothing in it.
pub(crate) async fn tables_of_the_service(file: &Path) -> SqliteConnection {
    let mut connection = SqliteConnectOptions::new()
        .filename(file)
        .create_if_missing(true)
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(SqliteSynchronous::Full)
        .pragma("wal_autocheckpoint", "8000")
        .pragma("cache_size", "-12800")
        .connect()
        .await
        .expect("a database");
    let migrations = concat!(env!("CARGO_MANIFEST_DIR"), "/src/storage/sqlite/migrations");
    sqlx::migrate::Migrator::new(Path::new(migrations))
        .await
        .expect("the files of the service")
        .run(&mut connection)
        .await
        .expect("the tables of the service");
    connection
}

/// A bare client that inserts the same rows into the same tables and indexes, as durably.
pub(crate) struct Inserts {
    connection: SqliteConnection,
    pattern: Pattern,
    /// The number of the last row in each table.
    rows: i64,
}

/// Groups that are tried where more than one row may be in flight.
const GROUPS: &[usize] = &[32, 64, 128, 256];

impl Inserts {
    pub(crate) async fn open(file: &Path, pattern: Pattern) -> Self {
        Self {
            connection: tables_of_the_service(file).await,
            pattern,
            rows: 0,
        }
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

    /// Inserts groups, one after the other; each is one transaction in one text, which is the
    /// fastest that the driver does (`help/design/storage.md` §3).
    pub(crate) async fn run(&mut self, group: usize, span: Span) -> Measured {
        let text = text(group);
        let mut recorder = Recorder::new(span, group);
        while let Some(began) = recorder.begin() {
            self.insert(&text, group).await;
            recorder.record(began);
        }
        recorder.finish()
    }

    async fn insert(&mut self, text: &SqlStr, group: usize) {
        let first = self.rows + 1;
        self.rows += i64::try_from(group).expect("a group is small");
        let rows = first..=self.rows;
        let mut query = sqlx::query(text.clone());
        for row in rows.clone() {
            query = query.bind(2 * row).bind(Uuid::now_v7()).bind(row);
        }
        let pattern = &self.pattern;
        for row in rows.clone() {
            query = query
                .bind(row)
                .bind(Uuid::now_v7())
                .bind(2 * row - 1)
                .bind(Arc::clone(&pattern.state))
                .bind(pattern.workflow.clone());
        }
        for row in rows {
            query = query
                .bind(2 * row - 1)
                .bind(row)
                .bind(2 * row)
                .bind(Arc::clone(&pattern.state))
                .bind(pattern.transition.clone())
                .bind(Arc::clone(&pattern.data))
                .bind(pattern.record.clone());
        }
        query
            .execute(&mut self.connection)
            .await
            .expect("the rows fit the tables");
    }
}

/// Into which columns of which tables a creation goes, and with which values.
pub(crate) const TABLES: [(&str, &str); 3] = [
    (r#""commit"(seq, id, t, at, author)"#, "(?,?,1,?,1)"),
    (
        "entity(e, id, m, n, state, live, created, workflow)",
        "(?,?,1,?,?,1,1,?)",
    ),
    (
        "version(n, e, m, seq, kind, state, transition, data, record)",
        "(?,?,1,?,0,?,?,?,?)",
    ),
];

fn text(group: usize) -> SqlStr {
    let mut text = "begin immediate;".to_owned();
    for (into, values) in TABLES {
        let all = vec![values; group].join(",");
        write!(text, "insert into {into} values{all};").expect("memory");
    }
    text.push_str("commit");
    AssertSqlSafe(text).into_sql_str()
}
