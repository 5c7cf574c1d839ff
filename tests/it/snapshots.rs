//! Searches that run on their own (`search.md` §6).

use std::time::Duration;

use futures_util::future::join_all;
use serde_json::{Value, json};

use crate::support::{
    Connection, Rest, Server, code, create, exactly, get, locked_model, payload_of, request,
};

const NIL: &str = "00000000-0000-0000-0000-000000000000";

/// How long a search may take.
const PATIENCE: Duration = Duration::from_mins(1);

fn everything() -> Value {
    json!({"type": "group", "operator": "AND", "conditions": []})
}

fn simple(path: &str, operator: &str, value: Value) -> Value {
    json!({"type": "simple", "jsonPath": path, "operatorType": operator, "value": value})
}

/// A condition that takes its time for each entity, and holds.
fn slow() -> Value {
    let leaf = |n: usize| {
        let pattern = format!("(a|b|ab)*(c|d{n})?(e|f)*never{n}");
        simple("$.text", "MATCHES_PATTERN", json!(pattern))
    };
    let none: Vec<_> = (0..10).map(leaf).collect();
    json!({"type": "group", "operator": "NOT", "conditions": none})
}

/// Makes entities with the numbers from 0 on, each with a text that is slow to match.
async fn fill(connection: &Connection, count: usize) -> Value {
    let sample = json!({"n": 1, "text": "x", "maybe": 1.5});
    let model = locked_model(connection, "doc", sample).await;
    for part in (0..count).collect::<Vec<_>>().chunks(1_000) {
        let payloads: Vec<_> = part
            .iter()
            .map(|n| {
                let mut data = json!({"n": n * 7 % count, "text": "ab".repeat(200)});
                if n % 3 == 0 {
                    data["maybe"] = json!(f64::from(u32::try_from(*n).expect("small")) / 8.0);
                }
                json!({"model": model, "data": data})
            })
            .collect();
        let payload = json!({"dataFormat": "JSON", "payloads": payloads});
        connection
            .ok("EntityCreateCollectionRequest", payload)
            .await;
    }
    model
}

async fn submit(connection: &Connection, payload: Value) -> String {
    let answer = connection.ok("EntitySnapshotSearchRequest", payload).await;
    let status = &answer["status"];
    assert_eq!(status["status"], "RUNNING", "{answer}");
    assert_eq!(status["entitiesCount"], 0, "{answer}");
    status["snapshotId"].as_str().expect("an id").to_owned()
}

async fn status(connection: &Connection, id: &str) -> Value {
    let asked = json!({"snapshotId": id});
    connection.ok("SnapshotGetStatusRequest", asked).await["status"].clone()
}

/// Waits until a search has ended; its status.
async fn ended(connection: &Connection, id: &str) -> Value {
    let waiting = async {
        loop {
            let status = status(connection, id).await;
            if status["status"] != "RUNNING" {
                return status;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    let ended = tokio::time::timeout(PATIENCE, waiting).await;
    ended.unwrap_or_else(|_| panic!("{id} has not ended"))
}

async fn page(
    connection: &Connection,
    id: &str,
    number: usize,
    size: usize,
) -> (Vec<Value>, Value) {
    let asked = json!({"snapshotId": id, "pageNumber": number, "pageSize": size});
    let (entities, end) = connection.all("SnapshotGetRequest", asked).await;
    assert_eq!(end["success"], true, "{end}");
    (entities, end)
}

/// Everything a search has found: the member `n` of each.
async fn numbers(connection: &Connection, id: &str) -> Vec<i64> {
    let mut numbers = Vec::new();
    for number in 0.. {
        let (entities, end) = page(connection, id, number, 4_000).await;
        assert_eq!(end["page"]["number"], number);
        let n = |entity: &Value| entity["payload"]["data"]["n"].as_i64().expect("a number");
        numbers.extend(entities.iter().map(n));
        if entities.is_empty() {
            let total = end["page"]["totalElements"].as_i64();
            assert_eq!(total, i64::try_from(numbers.len()).ok());
            return numbers;
        }
    }
    unreachable!("a page is empty");
}

async fn cancel(connection: &Connection, id: &str) -> Value {
    let asked = json!({"snapshotId": id});
    connection.call("SnapshotCancelRequest", asked).await
}

async fn cannot_read(connection: &Connection, id: &str) -> String {
    let asked = json!({"snapshotId": id});
    let (events, _) = connection.all("SnapshotGetRequest", asked).await;
    code(&events[0])
}

#[tokio::test]
async fn a_search_runs_on_its_own_and_its_result_is_read_in_pages_through_grpc() {
    let server = Server::start();
    let connection = server.connect().await;
    let model = fill(&connection, 25).await;
    let begun = connection
        .unary(
            "entitySearch",
            request(
                "EntitySnapshotSearchRequest",
                "s",
                json!({"model": model, "condition": everything()}),
            ),
            &[],
        )
        .await
        .expect("an answer");
    let begun = payload_of(&begun);
    let id = begun["status"]["snapshotId"].as_str().expect("an id");
    let done = ended(&connection, id).await;
    assert_eq!(done["status"], "SUCCESSFUL");
    assert_eq!(done["entitiesCount"], 25);
    assert_eq!(done["snapshotId"], id);
    for time in ["expirationDate", "createTime", "finishTime"] {
        assert!(done[time].is_string(), "{done}");
    }
    // Ten are on a page unless a size is given that is above 0.
    for asked in [json!({}), json!({"pageSize": 0}), json!({"pageSize": -5})] {
        let mut asked = asked;
        asked["snapshotId"] = json!(id);
        let (entities, end) = connection.all("SnapshotGetRequest", asked).await;
        assert_eq!(entities.len(), 10);
        let reported = json!({"number": 0, "size": 10, "totalElements": 25, "totalPages": 3});
        assert_eq!(end["page"], reported);
    }
    let mut seen = Vec::new();
    for number in 0..3 {
        let asked = json!({"snapshotId": id, "pageNumber": number, "clientPointTime": "2020-01-01T00:00:00Z"});
        let event = request("SnapshotGetRequest", "p", asked);
        let answers = connection.streaming("entitySearchCollection", event, &[]);
        let answers = answers.await.expect("answers");
        seen.extend(answers.iter().map(payload_of));
    }
    let all = json!({"model": model, "pageSize": 100});
    let (listed, _) = connection.all("EntityGetAllRequest", all).await;
    assert_eq!(seen.len(), 25);
    for (seen, listed) in seen.iter().zip(&listed) {
        assert_eq!(seen["payload"], listed["payload"], "in the order of ids");
    }
    let (beyond, end) = page(&connection, id, 3, 10).await;
    assert!(beyond.is_empty());
    assert_eq!(end["page"]["totalElements"], 25);
    for (asked, refused) in [
        (json!({"pageSize": 10_001}), "BAD_REQUEST"),
        (json!({"pageNumber": -1}), "BAD_REQUEST"),
        (json!({"pageNumber": 214_749}), "BAD_REQUEST"),
        (json!({"snapshotId": NIL}), "SEARCH_JOB_NOT_FOUND"),
    ] {
        let mut asked = asked;
        if asked["snapshotId"].is_null() {
            asked["snapshotId"] = json!(id);
        }
        let (events, _) = connection.all("SnapshotGetRequest", asked.clone()).await;
        assert_eq!(code(&events[0]), refused, "{asked}");
    }
    let nothing = json!({"snapshotId": NIL});
    for kind in ["SnapshotGetStatusRequest", "SnapshotCancelRequest"] {
        let answer = connection.call(kind, nothing.clone()).await;
        assert_eq!(code(&answer), "SEARCH_JOB_NOT_FOUND");
        assert_eq!(
            answer["status"],
            json!({"snapshotId": NIL, "status": "FAILED"})
        );
    }
    assert_eq!(
        code(&cancel(&connection, id).await),
        "SEARCH_JOB_ALREADY_TERMINAL"
    );
}

#[tokio::test]
async fn the_same_is_reported_in_the_words_of_rest() {
    let server = Server::start();
    let connection = server.connect().await;
    let rest = server.rest();
    fill(&connection, 1_500).await;
    let path = "/api/search/async/doc/1?sort=n:desc";
    let submitted = rest.post(path, everything().to_string()).await.ok();
    let id = submitted.as_str().expect("the id alone").to_owned();
    let state = ended(&connection, &id).await;
    let reported = rest
        .get(&format!("/api/search/async/{id}/status"))
        .await
        .ok();
    assert_eq!(
        reported,
        json!({"searchJobStatus": "SUCCESSFUL", "createTime": state["createTime"], "entitiesCount": 1_500,
            "calculationTimeMillis": state["calculationTimeMillis"], "expirationDate": state["expirationDate"], "finishTime": state["finishTime"]})
    );
    let results = async |query: &str| {
        let path = format!("/api/search/async/{id}{query}");
        rest.get(&path).await
    };
    let first = results("").await.ok();
    let reported = json!({"number": 0, "size": 1_000, "totalElements": 1_500, "totalPages": 2});
    assert_eq!(first["page"], reported);
    let content = first["content"].as_array().expect("a list");
    assert_eq!(content.len(), 1_000);
    assert_eq!(content[0]["type"], "ENTITY");
    assert_eq!(content[0]["data"]["n"], 1_499);
    assert_eq!(content[0]["meta"]["modelKey"]["name"], "doc");
    for query in ["?pageSize=0", "?pageSize=-1", "?pageNumber=0&pageSize=1000"] {
        assert_eq!(results(query).await.ok(), first, "{query}");
    }
    let last = results("?pageNumber=1").await.ok();
    assert_eq!(last["content"].as_array().map(Vec::len), Some(500));
    let beyond = results("?pageNumber=2").await.ok();
    assert_eq!(beyond["content"], json!([]));
    assert_eq!(beyond["page"]["number"], 2);
    for query in [
        "?pageSize=10001",
        "?pageNumber=-1",
        "?pageNumber=214749",
        "?pageSize=x",
    ] {
        let problem = results(query).await.refused(400, "BAD_REQUEST");
        assert!(problem["properties"]["parameter"].is_string(), "{problem}");
    }
    let cancelled = rest
        .put(&format!("/api/search/async/{id}/cancel"), "")
        .await;
    let problem = cancelled.refused(400, "SEARCH_JOB_ALREADY_TERMINAL");
    assert_eq!(problem["properties"]["currentStatus"], "SUCCESSFUL");
    assert_eq!(problem["properties"]["snapshotId"], id);
    for (method, path) in [("GET", ""), ("GET", "/status"), ("PUT", "/cancel")] {
        let asked = async |id: &str| {
            let path = format!("/api/search/async/{id}{path}");
            rest.send(method, &path, "").await
        };
        asked(NIL).await.refused(404, "SEARCH_JOB_NOT_FOUND");
        let problem = asked("nonsense").await.refused(400, "BAD_REQUEST");
        assert_eq!(problem["properties"]["parameter"], "jobId");
    }
}

#[tokio::test]
async fn what_makes_no_sense_is_refused_before_a_search_begins() {
    let server = Server::start();
    let connection = server.connect().await;
    let model = fill(&connection, 1).await;
    let rest = server.rest();
    let nested = |levels: usize| {
        (0..levels).fold(
            simple("$.n", "EQUALS", json!(1)),
            |inner, _| json!({"type": "group", "operator": "AND", "conditions": [inner]}),
        )
    };
    // Later ones are wrong in what is looked at earlier ones' turn, too.
    let unknown_sort = "?sort=nothing";
    for (model, query, condition, refused) in [
        ("none", "?sort=n:up", json!({}), "BAD_REQUEST"),
        (
            "none",
            unknown_sort,
            json!({"type": "fancy"}),
            "BAD_REQUEST",
        ),
        ("none", unknown_sort, nested(51), "BAD_REQUEST"),
        ("none", "?sort=n:up", everything(), "INVALID_FIELD_PATH"),
        ("none", "?sort=n&sort=n", everything(), "INVALID_FIELD_PATH"),
        ("none", "?sort=@colour", everything(), "INVALID_FIELD_PATH"),
        (
            "none",
            unknown_sort,
            simple("$.n", "BETWEEN", json!([1])),
            "BAD_REQUEST",
        ),
        (
            "none",
            unknown_sort,
            simple("$.n", "EQUALS", json!({"a": 1})),
            "INVALID_CONDITION",
        ),
        (
            "none",
            unknown_sort,
            simple("$.colour", "EQUALS", json!(1)),
            "MODEL_NOT_FOUND",
        ),
        (
            "doc",
            unknown_sort,
            simple("$.colour", "MATCHES_PATTERN", json!("(")),
            "INVALID_FIELD_PATH",
        ),
        (
            "doc",
            unknown_sort,
            simple("$.text", "MATCHES_PATTERN", json!("(")),
            "INVALID_CONDITION",
        ),
        (
            "doc",
            unknown_sort,
            simple("$.n", "EQUALS", json!("x")),
            "CONDITION_TYPE_MISMATCH",
        ),
        ("doc", unknown_sort, everything(), "INVALID_FIELD_PATH"),
        ("doc", "?pointInTime=soon", everything(), "BAD_REQUEST"),
    ] {
        let path = format!("/api/search/async/{model}/1{query}");
        let said = rest.post(&path, condition.to_string()).await;
        assert_eq!(said.problem(), refused, "{path} {condition}: {said:?}");
        let path = format!("/api/search/direct/{model}/1{query}");
        let said = rest.post(&path, condition.to_string()).await;
        assert_eq!(said.problem(), refused, "{path} {condition}: {said:?}");
    }
    let malformed = json!({"model": model, "condition": {"type": "fancy"}});
    let event = request("EntitySnapshotSearchRequest", "m", malformed);
    let status = connection.unary("entitySearch", event, &[]).await;
    assert_eq!(
        status.expect_err("refused").code(),
        tonic::Code::InvalidArgument
    );
    let unknown = json!({"model": model, "condition": simple("$.colour", "EQUALS", json!(1))});
    let answer = connection
        .call("EntitySnapshotSearchRequest", unknown)
        .await;
    assert_eq!(code(&answer), "INVALID_FIELD_PATH");
    assert_eq!(
        answer["status"],
        json!({"snapshotId": NIL, "status": "FAILED"})
    );
}

#[tokio::test]
async fn results_have_the_order_of_a_direct_search_however_many_there_are() {
    let server = Server::start();
    let connection = server.connect().await;
    let model = fill(&connection, 4_500).await;
    let by = |path: &str, desc: bool| json!({"path": path, "desc": desc});
    for order in [
        json!([]),
        json!([by("n", false)]),
        json!([by("maybe", false), by("n", true)]),
        json!([by("maybe", true), by("text", true)]),
        json!([{"path": "creationDate", "source": "meta", "desc": true}]),
        json!([{"path": "id", "source": "meta", "desc": true}]),
    ] {
        let condition = simple("$.n", "GREATER_OR_EQUAL", json!(10));
        let mut asked = json!({"model": model, "condition": condition, "orderBy": order});
        let id = submit(&connection, asked.clone()).await;
        assert_eq!(ended(&connection, &id).await["entitiesCount"], 4_490);
        let found = numbers(&connection, &id).await;
        asked["limit"] = json!(10_000);
        let (direct, _) = connection.all("EntitySearchRequest", asked).await;
        let direct = direct
            .iter()
            .map(|entity| entity["payload"]["data"]["n"].as_i64());
        assert!(direct.flatten().eq(found), "{order}");
    }
}

#[tokio::test]
async fn a_search_sees_its_point_in_time_whatever_happens_later() {
    let server = Server::with(&[]);
    let connection = server.connect().await;
    let model = locked_model(&connection, "doc", json!({"n": 1})).await;
    let [kept, changed, deleted] = [
        create(&connection, &model, json!({"n": 1})).await,
        create(&connection, &model, json!({"n": 2})).await,
        create(&connection, &model, json!({"n": 3})).await,
    ];
    let then = exactly(&get(&connection, &deleted).await["meta"]["lastUpdateTime"]);
    let asked = json!({"model": model, "condition": everything()});
    let before = submit(&connection, asked.clone()).await;
    let update = json!({"dataFormat": "JSON", "payload": {"entityId": changed, "data": {"n": 20}}});
    connection.ok("EntityUpdateRequest", update).await;
    connection
        .ok("EntityDeleteRequest", json!({"entityId": deleted}))
        .await;
    create(&connection, &model, json!({"n": 4})).await;
    let after = submit(&connection, asked.clone()).await;
    let mut past = asked;
    past["pointInTime"] = json!(then);
    let past = submit(&connection, past).await;
    for id in [&before, &after, &past] {
        ended(&connection, id).await;
    }
    // What changes after a search has ended changes nothing of its result, either.
    connection
        .ok("EntityDeleteRequest", json!({"entityId": kept}))
        .await;
    for (id, found) in [
        (&before, vec![1, 2, 3]),
        (&after, vec![1, 20, 4]),
        (&past, vec![1, 2, 3]),
    ] {
        assert_eq!(numbers(&connection, id).await, found);
    }
    // Nor that the model is gone.
    connection
        .ok("EntityDeleteAllRequest", json!({"model": model}))
        .await;
    let unlock = json!({"model": model, "transition": "UNLOCK"});
    connection.ok("EntityModelTransitionRequest", unlock).await;
    connection
        .ok("EntityModelDeleteRequest", json!({"model": model}))
        .await;
    assert_eq!(numbers(&connection, &past).await, [1, 2, 3]);
}

#[tokio::test]
async fn a_cancelled_search_stops_at_once_and_has_no_result() {
    let server = Server::on_disk(&[]);
    let connection = server.connect().await;
    let model = fill(&connection, 10_000).await;
    let asked = json!({"model": model, "condition": slow()});
    let ids = join_all((0..4).map(|_| submit(&connection, asked.clone()))).await;
    // The first is running, the last waits.
    for id in [&ids[0], &ids[3]] {
        let before = std::time::Instant::now();
        let answer = cancel(&connection, id).await;
        assert_eq!(answer["success"], true, "{answer}");
        assert_eq!(answer["status"]["status"], "CANCELLED");
        assert!(before.elapsed() < Duration::from_secs(5));
        let reported = status(&connection, id).await;
        assert_eq!(reported["status"], "CANCELLED");
        assert_eq!(reported["entitiesCount"], 0);
        assert!(reported["finishTime"].is_string());
        assert_eq!(cannot_read(&connection, id).await, "BAD_REQUEST");
        assert_eq!(
            code(&cancel(&connection, id).await),
            "SEARCH_JOB_ALREADY_TERMINAL"
        );
    }
    let rest = server.rest();
    let path = format!("/api/search/async/{}/cancel", ids[2]);
    let reported =
        json!({"isCancelled": true, "cancelled": true, "currentSearchJobStatus": "CANCELLED"});
    assert_eq!(rest.put(&path, "").await.ok(), reported);
    assert_eq!(cannot_read(&connection, &ids[1]).await, "BAD_REQUEST");
    // The others are not held up.
    assert_eq!(ended(&connection, &ids[1]).await["status"], "SUCCESSFUL");
    assert_eq!(numbers(&connection, &ids[1]).await.len(), 10_000);
}

#[tokio::test]
async fn of_one_tenant_a_thousand_searches_may_be_pending() {
    let server = Server::on_disk(&[]);
    let connection = server.connect().await;
    let model = fill(&connection, 10_000).await;
    let asked = json!({"model": model, "condition": slow()});
    let ids = join_all((0..2).map(|_| submit(&connection, asked.clone()))).await;
    let asked = json!({"model": model, "condition": everything()});
    join_all((0..998).map(|_| submit(&connection, asked.clone()))).await;
    let refused = connection.call("EntitySnapshotSearchRequest", asked.clone());
    assert_eq!(code(&refused.await), "TOO_MANY_REQUESTS");
    cancel(&connection, &ids[0]).await;
    submit(&connection, asked).await;
}

#[tokio::test]
async fn a_pattern_is_compared_with_everything_where_nobody_waits() {
    let server = Server::with(&[("CYODA_SQLITE_SEARCH_SCAN_LIMIT", "20")]);
    let connection = server.connect().await;
    let model = fill(&connection, 100).await;
    let pattern = simple("$.text", "MATCHES_PATTERN", json!("(ab)*"));
    let asked = json!({"model": model, "condition": pattern});
    let (events, _) = connection.all("EntitySearchRequest", asked.clone()).await;
    assert_eq!(code(&events[0]), "SCAN_BUDGET_EXHAUSTED");
    let id = submit(&connection, asked).await;
    assert_eq!(ended(&connection, &id).await["entitiesCount"], 100);
}

#[tokio::test]
async fn a_request_with_a_key_starts_or_cancels_one_search() {
    let server = Server::start();
    let connection = server.connect().await;
    let model = fill(&connection, 3_000).await;
    let asked = json!({"model": model, "condition": slow()});
    let key = [("idempotencykey", "submit")];
    let starts =
        (0..8).map(|_| connection.call_with("EntitySnapshotSearchRequest", asked.clone(), &key));
    let ids: Vec<_> = join_all(starts)
        .await
        .into_iter()
        .map(|answer| answer["status"]["snapshotId"].clone())
        .collect();
    assert!(ids[0].is_string());
    assert!(ids.iter().all(|id| *id == ids[0]), "{ids:?}");
    let asked = json!({"snapshotId": ids[0]});
    let key = [("idempotencykey", "cancel")];
    for _ in 0..2 {
        let answer = connection
            .call_with("SnapshotCancelRequest", asked.clone(), &key)
            .await;
        assert_eq!(answer["status"]["status"], "CANCELLED", "{answer}");
    }
}

#[tokio::test]
async fn a_result_is_gone_when_its_time_is_over() {
    let server = Server::with(&[
        ("CYODA_SEARCH_SNAPSHOT_TTL", "1500ms"),
        ("CYODA_SEARCH_REAP_INTERVAL", "1s"),
    ]);
    let connection = server.connect().await;
    let model = fill(&connection, 5_000).await;
    let id = submit(
        &connection,
        json!({"model": model, "condition": everything()}),
    )
    .await;
    let done = ended(&connection, &id).await;
    let time = |name: &str| {
        let text = done[name].as_str().expect("a time");
        interlock::clock::Timestamp::parse(text)
            .expect("a time")
            .micros()
    };
    assert_eq!(time("expirationDate") - time("finishTime"), 1_500_000);
    let gone = async {
        loop {
            let answer = connection
                .call("SnapshotGetStatusRequest", json!({"snapshotId": id}))
                .await;
            if answer["success"] == false {
                return code(&answer);
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    let gone = tokio::time::timeout(PATIENCE, gone).await.expect("gone");
    assert_eq!(gone, "SEARCH_JOB_NOT_FOUND");
    assert_eq!(cannot_read(&connection, &id).await, "SEARCH_JOB_NOT_FOUND");
    assert_eq!(
        code(&cancel(&connection, &id).await),
        "SEARCH_JOB_NOT_FOUND"
    );
}

/// Waits until the server has worked for so many hundredths of a second, or the searches are over.
async fn until_worked(server: &Server, ids: &[String], hundredths: u64) {
    let connection = server.connect().await;
    let working = async {
        while server.worked() < hundredths {
            let mut is_running = false;
            for id in ids {
                is_running |= status(&connection, id).await["status"] == "RUNNING";
            }
            if !is_running {
                return;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    let worked = tokio::time::timeout(PATIENCE, working).await;
    worked.expect("the server works or has nothing to do");
}

#[tokio::test]
async fn searches_that_a_crash_interrupts_find_the_same_after_it() {
    let mut server = Server::on_disk(&[]);
    let connection = server.connect().await;
    let model = fill(&connection, 5_000).await;
    let asked = json!({"model": model, "condition": slow(), "limit": 10_000, "orderBy": [{"path": "maybe", "desc": true}]});
    let mut unsorted = asked.clone();
    unsorted["orderBy"] = json!([]);
    let mut ids = Vec::new();
    for payload in [&asked, &unsorted, &asked] {
        ids.push(submit(&connection, payload.clone()).await);
    }
    // What is committed after the submission does not leak in, also when a search begins anew.
    create(&connection, &model, json!({"n": -1, "text": "late"})).await;
    for hundredths in [30, 90, 10] {
        until_worked(&server, &ids, hundredths).await;
        server.kill();
        server.restart();
    }
    let connection = server.connect().await;
    let late = server.rest();
    for id in &ids {
        assert_eq!(ended(&connection, id).await["status"], "SUCCESSFUL");
    }
    let [first, second, third] = [
        numbers(&connection, &ids[0]).await,
        numbers(&connection, &ids[1]).await,
        numbers(&connection, &ids[2]).await,
    ];
    assert_eq!(first, third);
    let path = "/api/search/direct/doc/1?limit=10000&sort=maybe:desc";
    let direct = late.post(path, everything().to_string()).await;
    let direct: Vec<i64> = direct
        .text
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).expect("JSON"))
        .filter_map(|entity| entity["data"]["n"].as_i64())
        .filter(|n| *n >= 0)
        .collect();
    assert_eq!(first, direct);
    let (mut first, mut second) = (first, second);
    first.sort_unstable();
    second.sort_unstable();
    assert_eq!(first, second);
    assert!(first.into_iter().eq(0..5_000));
}

#[tokio::test]
async fn a_search_is_nobody_elses_and_tenants_take_turns() {
    let server = Server::with(&[("INTERLOCK_IAM_MOCK_CALLER", "true")]);
    let ours = server.connect_as(&[("x-mock-tenant", "a")]).await;
    let theirs = server.connect_as(&[("x-mock-tenant", "b")]).await;
    let model = fill(&ours, 2_000).await;
    locked_model(&theirs, "doc", json!({"n": 1})).await;
    let slow = json!({"model": model, "condition": slow()});
    let all = json!({"model": model, "condition": everything()});
    let mut ids = Vec::new();
    for _ in 0..20 {
        ids.push(submit(&ours, slow.clone()).await);
    }
    // Theirs does not wait for those before it.
    let id = submit(&theirs, all).await;
    let done = ended(&theirs, &id).await;
    assert_eq!(
        (&done["status"], &done["entitiesCount"]),
        (&json!("SUCCESSFUL"), &json!(0))
    );
    assert_eq!(status(&ours, &ids[19]).await["status"], "RUNNING");
    for (connection, id) in [(&theirs, &ids[0]), (&ours, &id)] {
        let answer = connection
            .call("SnapshotGetStatusRequest", json!({"snapshotId": id}))
            .await;
        assert_eq!(code(&answer), "SEARCH_JOB_NOT_FOUND");
        assert_eq!(code(&cancel(connection, id).await), "SEARCH_JOB_NOT_FOUND");
        assert_eq!(cannot_read(connection, id).await, "SEARCH_JOB_NOT_FOUND");
    }
    for id in &ids {
        cancel(&ours, id).await;
    }
}

#[tokio::test]
async fn a_hundred_searches_at_once_all_succeed_while_writes_go_on() {
    let server = Server::on_disk(&[]);
    let connection = server.connect().await;
    let model = fill(&connection, 300).await;
    let rest = server.rest();
    let search = async |n: usize| {
        let condition = simple("$.n", "LESS_THAN", json!(n));
        let id = if n.is_multiple_of(2) {
            let asked = json!({"model": model, "condition": condition, "orderBy": [{"path": "n"}]});
            submit(&connection, asked).await
        } else {
            submit_by_rest(&rest, &condition).await
        };
        let done = ended(&connection, &id).await;
        assert_eq!(done["status"], "SUCCESSFUL");
        let found = numbers(&connection, &id).await;
        assert!(
            found.into_iter().eq(0..i64::try_from(n).expect("small")),
            "{n}"
        );
    };
    let write = async |n: usize| {
        create(&connection, &model, json!({"n": 1_000 + n, "text": "new"})).await;
    };
    tokio::join!(
        join_all((1..=100).map(search)),
        join_all((0..100).map(write))
    );
}

async fn submit_by_rest(rest: &Rest, condition: &Value) -> String {
    let path = "/api/search/async/doc/1?sort=n";
    let submitted = rest.post(path, condition.to_string()).await.ok();
    submitted.as_str().expect("an id").to_owned()
}
