//! Row T8, a read as of an earlier time beside one of the current version; and pages: what a walk
//! over all pages of a large model takes of memory, and what its last page costs beside the same
//! page in bare SQL.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use http_body_util::BodyExt as _;
use interlock::{clock::Timestamp, event::frame::Frame};
use sqlx::ConnectOptions as _;
use sqlx_sqlite::{SqliteConnectOptions, SqliteConnection};

use crate::{
    Plan, feed,
    load::{Measured, Recorder, Span},
    message::{Model, decode, event, succeeded, text},
    process::{Client, Process, database, folder},
    rest::{self, Http},
};

pub(crate) const T8: &str = "T8";
pub(crate) const PAGES: &str = "pages";

/// How many entities are read in turn.
const READ: u32 = 1_000;

/// How many entities a page has.
const PAGE: u32 = 10_000;

/// The number of the last page.
const LAST: u32 = feed::CHANGES / PAGE - 1;

/// Between the writes of one version and the next, so that there are instants between them.
const SPARE: Duration = Duration::from_millis(20);

/// The rows of a page, as nothing but SQL reads them.
const BARE: &str = "select e.id, e.created, v.n, v.state, v.transition, v.data, c.id, c.at \
    from (select id, n, created from entity where m = 1 and live order by id limit ?1 offset ?2) e \
    join version v on v.n = e.n join \"commit\" c on c.seq = v.seq";

type Row = (
    Vec<u8>,
    i64,
    i64,
    String,
    Option<String>,
    String,
    Vec<u8>,
    i64,
);

/// What was measured of T8: of each round, in seconds, and all of them together.
pub(crate) struct Past {
    pub(crate) then: Vec<f64>,
    pub(crate) now: Vec<f64>,
    pub(crate) loads: [Measured; 2],
}

pub(crate) async fn past(plan: &Plan) -> Past {
    let folder = folder();
    let service = Process::service(folder.path(), plan);
    let mut client = service.client().await;
    for (kind, payload) in Model::Plain.set_up() {
        let request = event(kind, "set-up", payload, []);
        let answer = client.entity_model_manage(request).await.expect("answers");
        succeeded(answer.into_inner());
    }
    let mut ids = Vec::new();
    for n in 0..READ {
        let request = Model::Plain.create(&n.to_string());
        let answer = client.entity_manage(request).await.expect("an answer");
        let answer = succeeded(answer.into_inner());
        let (_, rest) = text(&answer).split_once("\"entityIds\":[\"").expect("ids");
        ids.push(rest.split('"').next().expect("an id").to_owned());
    }
    tokio::time::sleep(SPARE).await;
    let between = SystemTime::now().duration_since(UNIX_EPOCH).expect("later");
    let between = i64::try_from(between.as_micros()).expect("this age") / 1_000 * 1_000 + 1;
    tokio::time::sleep(SPARE).await;
    for id in &ids {
        let answer = client
            .entity_manage(Model::again(id))
            .await
            .expect("an answer");
        succeeded(answer.into_inner());
    }
    let id_of = |n: u32| &ids[usize::try_from(n % READ).expect("small")];
    let now = |n: u32| {
        let payload = format!(r#"{{"id":"1","entityId":"{}"}}"#, id_of(n));
        event("EntityGetRequest", "1", payload, [])
    };
    let then = |n: u32| {
        let at = Timestamp::from_micros(between + i64::from(n % 999));
        let payload = format!(
            r#"{{"id":"1","entityId":"{}","pointInTime":"{at}"}}"#,
            id_of(n)
        );
        event("EntityGetRequest", "1", payload, [])
    };
    let mut rounds = (Vec::new(), Vec::new());
    let mut loads: Option<[Measured; 2]> = None;
    for _ in 0..plan.rounds {
        let (of_now, of_then) = (
            read(&mut client, plan.part, now).await,
            read(&mut client, plan.part, then).await,
        );
        rounds.0.push(of_then.latency(0.5).as_secs_f64());
        rounds.1.push(of_now.latency(0.5).as_secs_f64());
        loads = Some(match loads.take() {
            None => [of_then, of_now],
            Some([then, now]) => [then.and(&of_then), now.and(&of_now)],
        });
    }
    Past {
        then: rounds.0,
        now: rounds.1,
        loads: loads.expect("a round"),
    }
}

/// One client that reads one entity after the other.
async fn read(client: &mut Client, span: Span, request: impl Fn(u32) -> Frame) -> Measured {
    let mut recorder = Recorder::new(span, 1);
    let mut n = 0;
    while let Some(began) = recorder.begin() {
        let answer = client.entity_search(request(n)).await.expect("an answer");
        succeeded(answer.into_inner());
        recorder.record(began);
        n += 1;
    }
    recorder.finish()
}

/// What was measured of pages.
pub(crate) struct Pages {
    /// How large the process ever was that returned all pages, in bytes: over gRPC, over REST, and as
    /// of a time.
    pub(crate) memory: u64,
    /// How long each of those walks took.
    pub(crate) walks: [Duration; 3],
    /// The last page over REST, and in bare SQL; of each round, in seconds.
    pub(crate) services: Vec<f64>,
    pub(crate) floors: Vec<f64>,
}

pub(crate) async fn pages(plan: &Plan) -> Pages {
    let folder = folder();
    {
        let service = Process::service(folder.path(), plan);
        let mut client = service.client().await;
        for (kind, payload) in Model::Plain.set_up() {
            let request = event(kind, "set-up", payload, []);
            let answer = client.entity_model_manage(request).await.expect("answers");
            succeeded(answer.into_inner());
        }
        feed::fill(&service).await;
    }
    let service = Process::service(folder.path(), plan);
    let client = service.client().await;
    let rest = Rest::new(&service);
    let began = Instant::now();
    for number in 0..=LAST {
        assert_eq!(page(&client, number).await, PAGE, "page {number}");
    }
    let over_grpc = began.elapsed();
    let began = Instant::now();
    for number in 0..=LAST {
        rest.page(number, "").await;
    }
    let over_rest = began.elapsed();
    let began = Instant::now();
    let then = Timestamp::from_micros(
        i64::try_from(
            SystemTime::now()
                .duration_since(UNIX_EPOCH)
                .expect("later")
                .as_micros(),
        )
        .expect("this age"),
    );
    for number in 0..=LAST {
        rest.page(number, &format!("&pointInTime={then}")).await;
    }
    let as_of = began.elapsed();
    let memory = service.peak_memory();
    let mut bare = SqliteConnectOptions::new()
        .filename(database(folder.path()))
        .read_only(true)
        .connect()
        .await
        .expect("connects");
    let (mut services, mut floors) = (Vec::new(), Vec::new());
    for _ in 0..plan.rounds.max(3) {
        floors.push(bare_page(&mut bare).await.as_secs_f64());
        let began = Instant::now();
        rest.page(LAST, "").await;
        services.push(began.elapsed().as_secs_f64());
    }
    Pages {
        memory,
        walks: [over_grpc, over_rest, as_of],
        services,
        floors,
    }
}

/// Reads the last page as a bare client does.
async fn bare_page(connection: &mut SqliteConnection) -> Duration {
    let began = Instant::now();
    let rows: Vec<Row> = sqlx::query_as(BARE)
        .bind(PAGE)
        .bind(PAGE * LAST)
        .fetch_all(connection)
        .await
        .expect("reads");
    assert_eq!(u32::try_from(rows.len()).expect("a page"), PAGE);
    began.elapsed()
}

/// Reads a page over gRPC; how many entities it has.
async fn page(client: &Client, number: u32) -> u32 {
    let payload = format!(
        r#"{{"id":"1","model":{{"name":"plain","version":1}},"pageSize":{PAGE},"pageNumber":{number}}}"#
    );
    let request = event("EntityGetAllRequest", "1", payload, []);
    let answers = client.clone().entity_search_collection(request).await;
    let mut answers = answers.expect("answers").into_inner();
    let mut count = 0;
    while let Some(frame) = answers.message().await.expect("an open stream") {
        let answer = decode(frame);
        assert!(
            text(&answer).contains(r#""success":true"#),
            "{}",
            text(&answer)
        );
        count += 1;
    }
    count
}

/// A client of REST.
struct Rest {
    client: Http,
    base: String,
}

impl Rest {
    fn new(service: &Process) -> Self {
        Self {
            client: rest::client(),
            base: format!("http://{}/api/entity/plain/1", service.http()),
        }
    }

    /// Reads a page, and throws it away as it comes.
    async fn page(&self, number: u32, more: &str) {
        let path = format!("{}?pageSize={PAGE}&pageNumber={number}{more}", self.base);
        let answer = self.client.get(path.parse().expect("a URI")).await;
        let answer = answer.expect("an answer");
        assert_eq!(answer.status(), 200, "page {number}");
        let mut body = answer.into_body();
        let mut bytes = 0;
        while let Some(frame) = body.frame().await {
            bytes += frame
                .expect("a whole body")
                .data_ref()
                .map_or(0, Bytes::len);
        }
        assert!(
            bytes > 1_000 * usize::try_from(PAGE).expect("small"),
            "page {number}"
        );
    }
}
