//! Rows T12 and T13: searches among a million entities, through an index and without one, beside
//! the same questions in bare SQL on the same file; and what searches cost those who write
//! meanwhile.
//!
//! What a search takes is measured by the server itself, which leaves the transport out: it explains
//! the search, reading everything that it would send.

use std::{
    path::Path,
    time::{Duration, Instant},
};

use interlock::entity::{Key, KeyRange, Number};
use serde_json::value::RawValue;
use sqlx::{AssertSqlSafe, ConnectOptions as _, SqlSafeStr as _, SqlStr};
use sqlx_sqlite::{SqliteConnectOptions, SqliteConnection};
use tokio::{task::JoinSet, time};

use crate::{
    Plan, load,
    message::{Model, batch, decode, event, succeeded, text, weight},
    process::{Client, Process, database, folder},
};

pub(crate) const T12: &str = "T12";
pub(crate) const T13: &str = "T13";

/// How many entities are searched.
const ENTITIES: u32 = 1_000_000;

/// How many of them one request makes, and how many such requests are in flight.
const AT_ONCE: u32 = 500;
const REQUESTS: u32 = 4;

/// What is searched by an index.
const INDEXED: [&str; 4] = ["$.batch", "$.reference", "$.weight", "$.track"];

/// Beside writers: how many clients search, and how often each of them.
pub(crate) const SEARCHERS: u32 = 8;
pub(crate) const SEARCHES_PER_SECOND: u32 = 200;

/// How many creations are in flight meanwhile.
const WRITES: usize = 16;

/// How many times a question is asked at least in a round.
const ASKED_MIN: usize = 3;

/// What was measured.
#[derive(Default)]
pub(crate) struct Outcome {
    /// How long it took to make everything that is searched, and to index it.
    pub(crate) filled: [Duration; 2],
    pub(crate) indexed: Vec<Answered>,
    pub(crate) scanned: Vec<Answered>,
    /// How large the process ever was that scanned, in bytes.
    pub(crate) memory: Option<u64>,
    /// Creations per second alone and beside searches, of each round.
    pub(crate) writes: Vec<[f64; 2]>,
    /// How many searches there were in a second.
    pub(crate) searches: f64,
}

/// What was measured of a question.
pub(crate) struct Answered {
    pub(crate) name: &'static str,
    /// How many entities the last answer had.
    pub(crate) found: usize,
    /// The medians of each round, in seconds.
    pub(crate) services: Vec<f64>,
    pub(crate) floors: Vec<f64>,
}

/// A question about the entity of some number, for the service and in SQL.
struct Question {
    name: &'static str,
    /// Members of the request.
    asked: fn(u32) -> String,
    /// What follows the columns, and what it reports.
    sql: &'static str,
    reported: fn(u32, &Rows) -> Vec<Reported>,
}

/// What is searched beside that, and the indexes of it.
const FILM: &str = "movie";
const FILMS_INDEXED: [&str; 2] = ["$.Director", "$.IMDB Rating"];

enum Reported {
    Number(i64),
    Real(f64),
    Text(String),
    Bytes(Vec<u8>),
}

/// The rows that bare SQL has to name.
struct Rows {
    model: i64,
    /// As [`INDEXED`] lists them.
    indexes: [i64; 4],
    /// As [`FILMS_INDEXED`] lists them.
    films: [i64; 2],
}

const COLUMNS: &str =
    "select e.e, v.n, v.state, v.transition, v.data, e.id, e.created, e.workflow, c.id, c.at from ";

const INDEXED_QUESTIONS: &[Question] = &[
    Question {
        name: "equality",
        asked: |n| asked(&leaf("batch", "EQUALS", &batch(n).to_string()), ""),
        sql: "search_key k join entity e on e.e = k.e join version v on v.n = e.n join \"commit\" c on c.seq = v.seq \
            where k.p = ? and k.key = ? order by e.id",
        reported: |n, rows| vec![Reported::Number(rows.indexes[0]), number(batch(n))],
    },
    Question {
        name: "range",
        asked: |n| {
            let range = format!("[{},{}]", hundredths(weight(n)), hundredths(weight(n) + 19));
            asked(&leaf("weight", "BETWEEN_INCLUSIVE", &range), "")
        },
        sql: "search_key k join entity e on e.e = k.e join version v on v.n = e.n join \"commit\" c on c.seq = v.seq \
            where k.p = ? and k.key between ? and ? order by e.id",
        reported: |n, rows| {
            let key = |n| Reported::Bytes(key(&hundredths(n)));
            vec![
                Reported::Number(rows.indexes[2]),
                key(weight(n)),
                key(weight(n) + 19),
            ]
        },
    },
    Question {
        name: "prefix",
        asked: |n| {
            let start = format!("\"R{:06}\"", n / 10);
            asked(&leaf("reference", "STARTS_WITH", &start), "")
        },
        sql: "search_key k join entity e on e.e = k.e join version v on v.n = e.n join \"commit\" c on c.seq = v.seq \
            where k.p = ? and k.key >= ? and k.key < ? order by e.id",
        reported: |n, rows| {
            let range = KeyRange::prefix(&format!("R{:06}", n / 10));
            let bytes = |key: Key| Reported::Bytes(key.as_bytes().to_vec());
            vec![
                Reported::Number(rows.indexes[1]),
                bytes(range.from),
                bytes(range.until),
            ]
        },
    },
    Question {
        name: "AND of two paths",
        asked: |n| {
            let one = leaf("batch", "EQUALS", &batch(n).to_string());
            let other = leaf("track", "LESS_THAN", "50");
            asked(&group("AND", &one, &other), "")
        },
        // What a bare client would do best: seek by the one, and look at the document for the other.
        sql: "search_key k join entity e on e.e = k.e join version v on v.n = e.n join \"commit\" c on c.seq = v.seq \
            where k.p = ? and k.key = ? and json_extract(v.data, '$.track') < 50 order by e.id",
        reported: |n, rows| vec![Reported::Number(rows.indexes[0]), number(batch(n))],
    },
    Question {
        name: "OR of two paths",
        asked: |n| {
            let one = leaf("batch", "EQUALS", &batch(n).to_string());
            let other = leaf("reference", "EQUALS", &format!("\"R{n:07}\""));
            asked(&group("OR", &one, &other), "")
        },
        sql: "(select e from search_key where p = ? and key = ? union select e from search_key where p = ? and key = ?) k \
            join entity e on e.e = k.e join version v on v.n = e.n join \"commit\" c on c.seq = v.seq order by e.id",
        reported: |n, rows| {
            let text = Key::text(&format!("R{n:07}")).as_bytes().to_vec();
            vec![
                Reported::Number(rows.indexes[0]),
                number(batch(n)),
                Reported::Number(rows.indexes[1]),
                Reported::Bytes(text),
            ]
        },
    },
    Question {
        name: "state and data",
        asked: |n| {
            let state =
                r#"{"type":"lifecycle","field":"state","operatorType":"EQUALS","value":"NEW"}"#;
            let data = leaf("batch", "EQUALS", &batch(n).to_string());
            asked(&group("AND", state, &data), "")
        },
        sql: "search_key k join entity e on e.e = k.e join version v on v.n = e.n join \"commit\" c on c.seq = v.seq \
            where k.p = ? and k.key = ? and v.state = 'NEW' order by e.id",
        reported: |n, rows| vec![Reported::Number(rows.indexes[0]), number(batch(n))],
    },
    Question {
        name: "sort, limit 20",
        asked: |n| {
            let above = leaf("weight", "GREATER_OR_EQUAL", &hundredths(weight(n)));
            asked(&above, r#","orderBy":[{"path":"weight"}],"limit":20"#)
        },
        sql: "search_key k join entity e on e.e = k.e join version v on v.n = e.n join \"commit\" c on c.seq = v.seq \
            where k.p = ? and k.key >= ? order by k.key limit 20",
        reported: |n, rows| {
            vec![
                Reported::Number(rows.indexes[2]),
                Reported::Bytes(key(&hundredths(weight(n)))),
            ]
        },
    },
    Question {
        name: "everything, sort, limit 20",
        asked: |_| {
            asked(
                ALL,
                r#","orderBy":[{"path":"weight","desc":true}],"limit":20"#,
            )
        },
        sql: "search_key k join entity e on e.e = k.e join version v on v.n = e.n join \"commit\" c on c.seq = v.seq \
            where k.p = ? order by k.key desc limit 20",
        reported: |_, rows| vec![Reported::Number(rows.indexes[2])],
    },
];

const FILM_QUESTIONS: &[Question] = &[
    Question {
        name: "films, equality",
        asked: |_| {
            asked_of(
                FILM,
                &leaf("Director", "EQUALS", &format!("{DIRECTOR:?}")),
                "",
            )
        },
        sql: "search_key k join entity e on e.e = k.e join version v on v.n = e.n join \"commit\" c on c.seq = v.seq \
            where k.p = ? and k.key = ? order by e.id",
        reported: |_, rows| {
            let text = Key::text(DIRECTOR).as_bytes().to_vec();
            vec![Reported::Number(rows.films[0]), Reported::Bytes(text)]
        },
    },
    Question {
        name: "films, sort, limit 20",
        asked: |_| {
            let order = r#","orderBy":[{"path":"$['IMDB Rating']","desc":true}],"limit":20"#;
            asked_of(FILM, ALL, order)
        },
        sql: "search_key k join entity e on e.e = k.e join version v on v.n = e.n join \"commit\" c on c.seq = v.seq \
            where k.p = ? order by k.key desc limit 20",
        reported: |_, rows| vec![Reported::Number(rows.films[1])],
    },
];

/// Someone who has made many films.
const DIRECTOR: &str = "Steven Spielberg";

const SCANNED_QUESTIONS: &[Question] = &[
    Question {
        name: "equality, two levels deep",
        asked: |n| {
            asked(
                &leaf("load.tonnes", "EQUALS", &format!("{}.5", n % 50_021)),
                "",
            )
        },
        sql: "entity e join version v on v.n = e.n join \"commit\" c on c.seq = v.seq \
            where e.m = ? and e.live and json_extract(v.data, '$.load.tonnes') = ? order by e.id",
        reported: |n, rows| {
            vec![
                Reported::Number(rows.model),
                Reported::Real(f64::from(n % 50_021) + 0.5),
            ]
        },
    },
    Question {
        name: "text and range",
        asked: |n| {
            let driver = leaf(
                "driver",
                "EQUALS",
                &format!("\"D{:03} Lovelace\"", n % 1_000),
            );
            asked(
                &group("AND", &driver, &leaf("speed", "GREATER_THAN", "90")),
                "",
            )
        },
        sql: "entity e join version v on v.n = e.n join \"commit\" c on c.seq = v.seq where e.m = ? and e.live \
            and json_extract(v.data, '$.driver') = ? and json_extract(v.data, '$.speed') > 90 order by e.id",
        reported: |n, rows| {
            let driver = format!("D{:03} Lovelace", n % 1_000);
            vec![Reported::Number(rows.model), Reported::Text(driver)]
        },
    },
    Question {
        name: "part of a text",
        asked: |n| {
            asked(
                &leaf("driver", "CONTAINS", &format!("\"{:03} Love\"", n % 1_000)),
                r#","limit":10000"#,
            )
        },
        sql: "entity e join version v on v.n = e.n join \"commit\" c on c.seq = v.seq \
            where e.m = ? and e.live and instr(json_extract(v.data, '$.driver'), ?) > 0 order by e.id",
        reported: |n, rows| {
            let part = format!("{:03} Love", n % 1_000);
            vec![Reported::Number(rows.model), Reported::Text(part)]
        },
    },
];

const ALL: &str = r#"{"type":"group","operator":"AND","conditions":[]}"#;

fn leaf(path: &str, operator: &str, value: &str) -> String {
    format!(
        r#"{{"type":"simple","jsonPath":"$.{path}","operatorType":"{operator}","value":{value}}}"#
    )
}

fn group(operator: &str, one: &str, other: &str) -> String {
    format!(r#"{{"type":"group","operator":"{operator}","conditions":[{one},{other}]}}"#)
}

fn asked(condition: &str, more: &str) -> String {
    asked_of(Model::Searched.name(), condition, more)
}

fn asked_of(model: &str, condition: &str, more: &str) -> String {
    let model = spec(model);
    format!(r#"{{"id":"1","model":{model},"condition":{condition}{more}}}"#)
}

fn spec(model: &str) -> String {
    format!(r#"{{"name":"{model}","version":1}}"#)
}

/// A number of hundredths as JSON.
fn hundredths(number: u32) -> String {
    format!("{}.{:02}", number / 100, number % 100)
}

fn key(number: &str) -> Vec<u8> {
    let number = Number::parse(number).expect("a number");
    Key::number(&number).as_bytes().to_vec()
}

fn number(number: u32) -> Reported {
    Reported::Bytes(key(&number.to_string()))
}

pub(crate) async fn measure(plan: &Plan, t12: bool, t13: bool) -> Outcome {
    // What is asked again and again gets an index otherwise, and then nothing is scanned.
    let declared = ("INTERLOCK_SEARCH_INDEXES", "declared");
    let settings = [
        plan.settings.clone(),
        vec![(declared.0.to_owned(), declared.1.to_owned())],
    ];
    let plan = &Plan {
        settings: settings.concat(),
        program: plan.program.clone(),
        films: plan.films.clone(),
        ..*plan
    };
    let folder = folder();
    let mut outcome = Outcome::default();
    {
        let service = Process::service(folder.path(), plan);
        outcome.filled = fill(&service, t12).await;
        if t12 && let Some(films) = &plan.films {
            fill_films(&mut service.client().await, films).await;
        }
    }
    // Another process, so that what it takes it takes for searches.
    let service = Process::service(folder.path(), plan);
    let mut client = service.client().await;
    let mut bare = open(&database(folder.path())).await;
    let rows = Rows::read(&mut bare).await;
    if t13 {
        for question in SCANNED_QUESTIONS {
            let mut answered = Answered::new(question);
            for _ in 0..plan.rounds.min(3) {
                answered
                    .round(question, &mut client, &mut bare, &rows, plan.part.in_all())
                    .await;
            }
            outcome.scanned.push(answered);
        }
        outcome.memory = Some(service.peak_memory());
    }
    if t12 {
        let films = plan.films.iter().flat_map(|_| FILM_QUESTIONS);
        for question in INDEXED_QUESTIONS.iter().chain(films) {
            let mut answered = Answered::new(question);
            for _ in 0..plan.rounds {
                answered
                    .round(question, &mut client, &mut bare, &rows, plan.part.in_all())
                    .await;
            }
            outcome.indexed.push(answered);
        }
        write_beside_searches(&service, plan, &mut outcome).await;
    }
    outcome
}

/// Makes what is searched, and the indexes of it; how long each took.
async fn fill(service: &Process, indexed: bool) -> [Duration; 2] {
    let mut client = service.client().await;
    for model in [Model::Plain, Model::Searched] {
        for (kind, payload) in model.set_up() {
            let request = event(kind, "set-up", payload, []);
            let answer = client.entity_model_manage(request).await.expect("answers");
            succeeded(answer.into_inner());
        }
    }
    let began = Instant::now();
    let mut makers = JoinSet::new();
    let each = ENTITIES / REQUESTS;
    for maker in 0..REQUESTS {
        let mut client = service.client().await;
        makers.spawn(async move {
            for first in (maker * each..(maker + 1) * each).step_by(AT_ONCE as usize) {
                let request = Model::create_searched(first..first + AT_ONCE);
                let answers = client.entity_manage_collection(request).await;
                let mut answers = answers.expect("answers").into_inner();
                let answer = answers.message().await.expect("an answer");
                succeeded(answer.expect("an answer"));
            }
        });
    }
    while let Some(ended) = makers.join_next().await {
        ended.expect("a maker does not panic");
    }
    let made = began.elapsed();
    if !indexed {
        return [made, Duration::ZERO];
    }
    let began = Instant::now();
    index(&mut client, Model::Searched.name(), &INDEXED).await;
    [made, began.elapsed()]
}

/// Declares indexes, and waits until they are filled.
async fn index(client: &mut Client, model: &str, paths: &[&str]) {
    let indexes: Vec<_> = paths
        .iter()
        .map(|path| format!(r#"{{"path":"{path}"}}"#))
        .collect();
    let (model, indexes) = (spec(model), indexes.join(","));
    let declared = format!(r#"{{"id":"1","model":{model},"indexes":[{indexes}]}}"#);
    manage(client, "EntityModelSetIndexesRequest", declared).await;
    let export = format!(r#"{{"id":"1","model":{model},"converter":"SIMPLE_VIEW"}}"#);
    let is_filled = |answer: &str| answer.matches(r#""READY""#).count() == paths.len();
    while !is_filled(&manage(client, "EntityModelExportRequest", export.clone()).await) {
        time::sleep(Duration::from_millis(100)).await;
    }
}

/// What is answered to a request about a model.
async fn manage(client: &mut Client, kind: &str, payload: String) -> String {
    let request = event(kind, "1", payload, []);
    let answer = client.entity_model_manage(request).await.expect("answers");
    text(&succeeded(answer.into_inner())).to_owned()
}

/// Makes the films of a file as the topic `search` does, and the indexes of them.
async fn fill_films(client: &mut Client, file: &Path) {
    let films = std::fs::read_to_string(file).expect("the films can be read");
    let films: Vec<&RawValue> = serde_json::from_str(&films).expect("a list of films");
    let model = spec(FILM);
    for (kind, said) in [
        (
            "EntityModelImportRequest",
            r#""dataFormat":"JSON","converter":"SAMPLE_DATA","payload":{"Title":"Alien"}"#,
        ),
        (
            "EntityModelSetChangeLevelRequest",
            r#""changeLevel":"STRUCTURAL""#,
        ),
        ("EntityModelTransitionRequest", r#""transition":"LOCK""#),
    ] {
        manage(
            client,
            kind,
            format!(r#"{{"id":"1","model":{model},{said}}}"#),
        )
        .await;
    }
    for films in films.chunks(AT_ONCE as usize) {
        let films: Vec<_> = films
            .iter()
            .map(|film| format!(r#"{{"model":{model},"data":{film}}}"#))
            .collect();
        let payloads = films.join(",");
        let payload = format!(r#"{{"id":"1","dataFormat":"JSON","payloads":[{payloads}]}}"#);
        let request = event("EntityCreateCollectionRequest", "1", payload, []);
        let answers = client.entity_manage_collection(request).await;
        let mut answers = answers.expect("answers").into_inner();
        while let Some(answer) = answers.message().await.expect("an open stream") {
            succeeded(answer);
        }
    }
    index(client, FILM, &FILMS_INDEXED).await;
}

async fn open(file: &Path) -> SqliteConnection {
    let options = SqliteConnectOptions::new()
        .filename(file)
        .read_only(true)
        .pragma("cache_size", "-12800");
    options.connect().await.expect("the file can be read")
}

impl Rows {
    async fn read(connection: &mut SqliteConnection) -> Self {
        let model = sqlx::query_scalar("select m from model where name = 'searched'")
            .fetch_one(&mut *connection)
            .await
            .expect("a model");
        let (mut indexes, mut films) = ([0; 4], [0; 2]);
        let paths = INDEXED.iter().chain(&FILMS_INDEXED);
        for (path, index) in paths.zip(indexes.iter_mut().chain(&mut films)) {
            let found = sqlx::query_scalar("select p from search_path where path = ?")
                .bind(*path)
                .fetch_optional(&mut *connection)
                .await
                .expect("reads");
            *index = found.unwrap_or(0);
        }
        Self {
            model,
            indexes,
            films,
        }
    }
}

impl Answered {
    const fn new(question: &Question) -> Self {
        Self {
            name: question.name,
            found: 0,
            services: Vec::new(),
            floors: Vec::new(),
        }
    }

    /// Asks both for as long, in turns, each about other entities.
    async fn round(
        &mut self,
        question: &Question,
        client: &mut Client,
        bare: &mut SqliteConnection,
        rows: &Rows,
        length: Duration,
    ) {
        let sql = AssertSqlSafe(format!("{COLUMNS}{}", question.sql)).into_sql_str();
        let (mut services, mut floors) = (Vec::new(), Vec::new());
        let until = Instant::now() + 2 * length;
        let mut n = 11;
        while Instant::now() < until || services.len() < ASKED_MIN {
            n = (n + 314_159) % ENTITIES;
            let reported = (question.reported)(n, rows);
            let (took, expected) = ask_bare(bare, &sql, reported).await;
            floors.push(took);
            let (took, found) = ask(client, (question.asked)(n)).await;
            services.push(took);
            assert_eq!(found, expected, "{} of {n}", question.name);
            self.found = found;
        }
        self.services.push(median(services));
        self.floors.push(median(floors));
    }
}

fn median(mut times: Vec<Duration>) -> f64 {
    times.sort_unstable();
    times[times.len() / 2].as_secs_f64()
}

/// Asks the service: what it took, as it says, and how many it has found.
async fn ask(client: &mut Client, payload: String) -> (Duration, usize) {
    let request = event("EntitySearchExplainRequest", "1", payload, []);
    let answer = client.entity_search(request).await.expect("an answer");
    let answer = succeeded(answer.into_inner());
    let micros = member(text(&answer), "micros");
    let returned = usize::try_from(member(text(&answer), "returned")).expect("not that many");
    (Duration::from_micros(micros), returned)
}

fn member(json: &str, name: &str) -> u64 {
    let (_, after) = json.split_once(&format!("\"{name}\":")).expect("a member");
    let digits = after.split([',', '}']).next().expect("digits");
    digits.parse().expect("a number")
}

async fn ask_bare(
    connection: &mut SqliteConnection,
    sql: &SqlStr,
    reported: Vec<Reported>,
) -> (Duration, usize) {
    let began = Instant::now();
    let mut query = sqlx::query_as(sql.clone());
    for reported in reported {
        query = match reported {
            Reported::Number(number) => query.bind(number),
            Reported::Real(number) => query.bind(number),
            Reported::Text(text) => query.bind(text),
            Reported::Bytes(bytes) => query.bind(bytes),
        };
    }
    let rows: Vec<Row> = query.fetch_all(connection).await.expect("reads");
    (began.elapsed(), rows.len())
}

type Row = (
    i64,
    i64,
    String,
    Option<String>,
    String,
    Vec<u8>,
    i64,
    Option<String>,
    Vec<u8>,
    i64,
);

/// Creates alone, and then beside searches.
async fn write_beside_searches(service: &Process, plan: &Plan, outcome: &mut Outcome) {
    let writers = service.clients(WRITES).await;
    let create = |id: &str| Model::Plain.create(id);
    let mut count = 0;
    let mut length = Duration::ZERO;
    for _ in 0..plan.rounds {
        let alone = load::unary(&writers, WRITES, plan.service, create).await;
        let began = Instant::now();
        let mut others = JoinSet::new();
        for searcher in 0..SEARCHERS {
            others.spawn(search_often(
                service.client().await,
                searcher,
                plan.service.in_all(),
            ));
        }
        let beside = load::unary(&writers, WRITES, plan.service, create).await;
        while let Some(searches) = others.join_next().await {
            count += searches.expect("a searcher does not panic");
        }
        length += began.elapsed();
        outcome.writes.push([alone.rate(), beside.rate()]);
    }
    outcome.searches = f64::from(count) / length.as_secs_f64();
}

/// Searches by an index at a steady rate; how many times.
async fn search_often(mut client: Client, first: u32, length: Duration) -> u32 {
    let mut ticks = time::interval(Duration::from_secs(1) * SEARCHERS / SEARCHES_PER_SECOND);
    ticks.set_missed_tick_behavior(time::MissedTickBehavior::Burst);
    let until = Instant::now() + length;
    let mut n = first * 1_000;
    let mut count = 0;
    while Instant::now() < until {
        ticks.tick().await;
        n = (n + 314_159) % ENTITIES;
        let question = &INDEXED_QUESTIONS[usize::try_from(count % 3).expect("small")];
        let request = event("EntitySearchRequest", "1", (question.asked)(n), []);
        let answers = client.entity_search_collection(request).await;
        let mut answers = answers.expect("answers").into_inner();
        while let Some(frame) = answers.message().await.expect("an open stream") {
            let answer = decode(frame);
            assert!(text(&answer).contains(r#""success":true"#));
        }
        count += 1;
    }
    count
}
