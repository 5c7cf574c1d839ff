//! Live search: what fits a condition, then how that changes, in the order of commits (`stream.md` §3).

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use interlock::event::{Event, EventType};
use serde_json::{Value, json};
use tokio::sync::mpsc::UnboundedReceiver;

use crate::support::{
    Connection, Rest, Server, code, create, locked_model, new_entity, payload_of, request,
};

const SUBSCRIBE: &str = "EntitySearchSubscribeRequest";
const PATIENCE: Duration = Duration::from_secs(30);

/// A subscription on a stream.
struct Live {
    id: String,
    answers: UnboundedReceiver<Event>,
}

impl Live {
    async fn begin(connection: &Connection, wanted: Value) -> Self {
        let id = connection.fresh_id();
        Self {
            answers: connection.begin(request(SUBSCRIBE, &id, wanted)).await,
            id,
        }
    }

    async fn event(&mut self) -> Event {
        let next = tokio::time::timeout(PATIENCE, self.answers.recv()).await;
        next.expect("news in time").expect("news")
    }

    /// The documents of the result by id, and the sequence as of which it is complete.
    async fn result(&mut self) -> (BTreeMap<String, Value>, i64) {
        let mut found = BTreeMap::new();
        loop {
            let event = self.event().await;
            let payload = payload_of(&event);
            assert_eq!(payload["success"], true, "{payload}");
            if event.kind == EventType::EntityResponse {
                let entity = &payload["payload"];
                let id = entity["meta"]["id"].as_str().expect("an id").to_owned();
                let again = found.insert(id, entity["data"].clone());
                assert!(again.is_none(), "{payload} came twice");
                continue;
            }
            assert_eq!(event.kind, EventType::EntityChangeEvent);
            assert_eq!(payload["change"], "complete", "{payload}");
            return (found, sequence(&payload));
        }
    }

    async fn turn(&mut self) -> Value {
        let event = self.event().await;
        assert_eq!(event.kind, EventType::EntityChangeEvent, "{event:?}");
        let turn = payload_of(&event);
        assert_eq!(turn["success"], true, "{turn}");
        turn
    }

    async fn turns(&mut self, count: usize) -> Vec<Value> {
        let mut turns = Vec::new();
        for _ in 0..count {
            turns.push(self.turn().await);
        }
        turns
    }
}

fn sequence(change: &Value) -> i64 {
    change["sequence"].as_i64().expect("a number")
}

fn leaf(path: &str, operator: &str, value: impl Into<Value>) -> Value {
    json!({"type": "simple", "jsonPath": path, "operatorType": operator, "value": value.into()})
}

fn large() -> Value {
    leaf("$.n", "GREATER_THAN", 10)
}

async fn update(connection: &Connection, id: &str, data: Value) {
    let update = json!({"dataFormat": "JSON", "payload": {"entityId": id, "data": data}});
    connection.ok("EntityUpdateRequest", update).await;
}

async fn delete(connection: &Connection, id: &str) {
    let delete = json!({"entityId": id});
    connection.ok("EntityDeleteRequest", delete).await;
}

/// Which of a turn's members tell what happened.
fn reported(turn: &Value) -> (String, String, Option<Value>) {
    let text = |name: &str| turn[name].as_str().expect("a text").to_owned();
    (text("change"), text("entityId"), turn.get("data").cloned())
}

/// Does to a set what a turn says.
fn apply(set: &mut BTreeMap<String, Value>, turn: &Value) {
    let (change, id, data) = reported(turn);
    let data = data.unwrap_or_default();
    let before = match change.as_str() {
        "entered" => set.insert(id, data).is_some(),
        "changed" => set.insert(id, data).is_none(),
        "left" => set.remove(&id).is_none(),
        other => panic!("{other}"),
    };
    assert!(!before, "{turn} does not fit what was reported before");
}

/// What a direct search finds, by id.
async fn found(
    connection: &Connection,
    model: &Value,
    condition: &Value,
) -> BTreeMap<String, Value> {
    let search = json!({"model": model, "condition": condition, "limit": 10000});
    let (entities, end) = connection.all("EntitySearchRequest", search).await;
    assert_eq!(end["success"], true, "{end}");
    entities
        .iter()
        .map(|entity| {
            let entity = &entity["payload"];
            let id = entity["meta"]["id"].as_str().expect("an id");
            (id.to_owned(), entity["data"].clone())
        })
        .collect()
}

#[tokio::test]
async fn the_result_comes_first_and_then_what_enters_is_changed_and_leaves() {
    let server = Server::start();
    let connection = server.connect().await;
    let model = locked_model(&connection, "doc", json!({"n": 1})).await;
    let small = create(&connection, &model, json!({"n": 1})).await;
    let big = create(&connection, &model, json!({"n": 11})).await;
    let wanted = json!({"model": model, "condition": large(), "includeData": true});
    let mut live = Live::begin(&connection, wanted.clone()).await;
    let (result, complete) = live.result().await;
    assert_eq!(result, BTreeMap::from([(big.clone(), json!({"n": 11}))]));
    let plain = json!({"model": model, "condition": large()});
    let mut without = Live::begin(&connection, plain.clone()).await;
    without.result().await;

    update(&connection, &small, json!({"n": 2})).await;
    update(&connection, &small, json!({"n": 12})).await;
    update(&connection, &small, json!({"n": 13})).await;
    update(&connection, &big, json!({"n": 3})).await;
    delete(&connection, &small).await;
    delete(&connection, &big).await;
    let new = create(&connection, &model, json!({"n": 14})).await;
    create(&connection, &model, json!({"n": 4})).await;
    let turns = live.turns(5).await;
    let doc = |n: i64| Some(json!({"n": n}));
    let expected = [
        ("entered", &small, doc(12)),
        ("changed", &small, doc(13)),
        ("left", &big, None),
        ("left", &small, None),
        ("entered", &new, doc(14)),
    ]
    .map(|(change, id, data)| (change.to_owned(), id.clone(), data));
    assert_eq!(turns.iter().map(reported).collect::<Vec<_>>(), expected);
    let kinds: Vec<_> = turns.iter().map(|turn| &turn["changeType"]).collect();
    assert_eq!(kinds, ["UPDATE", "UPDATE", "UPDATE", "DELETE", "CREATE"]);
    assert!(sequence(&turns[0]) > complete);
    assert!(turns.is_sorted_by(|one, next| sequence(one) < sequence(next)));
    assert_eq!(turns[0]["requestId"], json!(live.id));
    let plain_turns = without.turns(5).await;
    for (plain, turn) in plain_turns.iter().zip(&turns) {
        assert!(plain.get("data").is_none(), "{plain}");
        assert_eq!(
            (&plain["change"], &plain["sequence"]),
            (&turn["change"], &turn["sequence"])
        );
    }
    // From each place on, the rest is the same; also from before the result and before everything.
    let mut all = wanted.clone();
    for (index, from) in [complete]
        .into_iter()
        .chain(turns.iter().map(sequence))
        .enumerate()
    {
        all["fromSequence"] = json!(from);
        let mut rest = Live::begin(&connection, all.clone()).await;
        let mut rest_of_it = rest.turns(turns.len() - index).await;
        for turn in &mut rest_of_it {
            turn["id"] = turns[0]["id"].clone();
            turn["requestId"] = turns[0]["requestId"].clone();
        }
        assert_eq!(rest_of_it, turns[index..]);
    }
    all["fromSequence"] = json!(0);
    let mut history = Live::begin(&connection, all).await;
    assert_eq!(reported(&history.turn().await).1, big);

    // The same over server-sent events.
    let path = "/api/search/live/doc/1";
    let condition = large().to_string();
    let mut coming = server
        .rest()
        .open("POST", &format!("{path}?includeData=true"), &condition)
        .await;
    assert_eq!(coming.status, 200);
    assert_eq!(coming.headers["content-type"], "text/event-stream");
    let entity = coming.sent().await.expect("an entity");
    assert_eq!(
        (entity.kind.as_deref(), &entity.id),
        (Some("entity"), &None)
    );
    let envelope: Value = serde_json::from_str(&entity.data).expect("JSON");
    assert_eq!(envelope["meta"]["id"], json!(new));
    assert_eq!(envelope["data"], json!({"n": 14}));
    let end = coming.sent().await.expect("the end of the result");
    assert_eq!(end.kind.as_deref(), Some("complete"));
    delete(&connection, &new).await;
    let left = coming.sent().await.expect("a change");
    assert_eq!(left.kind, None);
    let body: Value = serde_json::from_str(&left.data).expect("JSON");
    assert_eq!(
        (&body["change"], &body["entityId"]),
        (&json!("left"), &json!(new))
    );
    assert_eq!(left.id, Some(sequence(&body).to_string()));
    let mut again = server
        .rest()
        .with("last-event-id", &end.id.expect("a sequence"))
        .open("POST", path, &condition)
        .await;
    assert_eq!(again.sent().await, Some(left));
}

#[tokio::test]
async fn states_and_times_are_part_of_it_and_an_index_serves_the_result() {
    let server = Server::start();
    let connection = server.connect().await;
    let model = locked_model(&connection, "doc", json!({"n": 1, "s": "x"})).await;
    for n in 0..300 {
        create(&connection, &model, json!({"n": n, "s": "x"})).await;
    }
    let set = json!({"model": model, "indexes": [{"path": "$.n"}]});
    connection.ok("EntityModelSetIndexesRequest", set).await;
    let id = create(&connection, &model, json!({"n": 7, "s": "x"})).await;
    let state = crate::support::get(&connection, &id).await["meta"]["state"].clone();
    let by_state =
        json!({"type": "lifecycle", "field": "state", "operatorType": "EQUALS", "value": state});
    let by_id = json!({"type": "lifecycle", "field": "id", "operatorType": "EQUALS", "value": id});
    for condition in [
        leaf("$.n", "EQUALS", 7),
        json!({"type": "group", "operator": "AND", "conditions": [by_state, leaf("$.n", "EQUALS", 7)]}),
    ] {
        let mut live =
            Live::begin(&connection, json!({"model": model, "condition": condition})).await;
        assert_eq!(live.result().await.0.len(), 2);
    }
    let mut live = Live::begin(&connection, json!({"model": model, "condition": by_id})).await;
    assert_eq!(live.result().await.0.len(), 1);
    update(&connection, &id, json!({"n": 8, "s": "x"})).await;
    assert_eq!(reported(&live.turn().await).0, "changed");
    let all = json!({"type": "group", "operator": "AND", "conditions": []});
    let mut live = Live::begin(&connection, json!({"model": model, "condition": all})).await;
    assert_eq!(live.result().await.0.len(), 301);
}

#[tokio::test]
async fn what_a_search_refuses_is_refused_in_the_same_order_at_every_door() {
    let server = Server::start();
    let connection = server.connect().await;
    let model = locked_model(&connection, "doc", json!({"n": 1, "o": {"k": 1}})).await;
    let unknown = json!({"name": "never", "version": 1});
    for (model, condition) in [
        (&model, json!({})),
        (&model, json!({"type": "unheard-of"})),
        (&model, leaf("$.n", "RESEMBLES", 1)),
        (&model, leaf("$.n", "BETWEEN", json!([1]))),
        (&model, leaf("$.n", "EQUALS", json!({"a": 1}))),
        (&unknown, leaf("$.n", "RESEMBLES", 1)),
        (&unknown, leaf("$.n", "EQUALS", 1)),
        (&model, leaf("$.unknown", "EQUALS", 1)),
        (&model, leaf("$.o", "EQUALS", 1)),
        (&model, leaf("$.n", "MATCHES_PATTERN", "(")),
        (&model, leaf("$.n", "GREATER_THAN", "abc")),
        (
            &model,
            json!({"type": "function", "function": {"name": "f"}}),
        ),
    ] {
        let wanted = json!({"model": model, "condition": condition});
        let event = |kind: &str| request(kind, &connection.fresh_id(), wanted.clone());
        let searched = connection.ask(event("EntitySearchRequest")).await;
        let watched = connection.ask(event(SUBSCRIBE)).await;
        let expected = code(&payload_of(&searched[0]));
        assert_eq!(code(&payload_of(&watched[0])), expected, "{condition}");
        let name = model["name"].as_str().expect("a name");
        let path = |kind: &str| format!("/api/search/{kind}/{name}/1");
        let rest = server.rest();
        let searched = rest.post(&path("direct"), condition.to_string()).await;
        let watched = rest.post(&path("live"), condition.to_string()).await;
        assert_eq!(
            (watched.status, watched.problem()),
            (searched.status, searched.problem()),
            "{condition}"
        );
    }
    for bad in [json!(-1), json!(1_000_000_000_000_i64)] {
        let wanted = json!({"model": model, "condition": large(), "fromSequence": bad});
        let (refused, end) = connection.all(SUBSCRIBE, wanted).await;
        assert_eq!(code(&refused[0]), "BAD_REQUEST");
        assert_eq!(end["success"], false);
        let path = format!("/api/search/live/doc/1?fromSequence={bad}");
        let said = server.rest().post(&path, large().to_string()).await;
        said.refused(400, "BAD_REQUEST");
    }
    for bad in [json!("5"), json!(1.5), json!(true)] {
        let wanted = json!({"model": model, "condition": large(), "fromSequence": bad});
        let answers = connection
            .ask(request(SUBSCRIBE, &connection.fresh_id(), wanted))
            .await;
        assert_eq!(code(&payload_of(&answers[0])), "BAD_REQUEST");
    }
}

#[tokio::test]
async fn a_model_may_grow_and_go_and_come_back() {
    let server = Server::start();
    let connection = server.connect().await;
    let model = locked_model(&connection, "doc", json!({"n": 1})).await;
    let level = json!({"model": model, "changeLevel": "STRUCTURAL"});
    connection
        .ok("EntityModelSetChangeLevelRequest", level)
        .await;
    // A field that does not exist yet.
    let later = leaf("$.later", "EQUALS", "x");
    let mut live = Live::begin(&connection, json!({"model": model, "condition": later})).await;
    assert_eq!(live.result().await.0.len(), 0);
    let id = create(&connection, &model, json!({"n": 1, "later": "x"})).await;
    assert_eq!(
        reported(&live.turn().await),
        ("entered".to_owned(), id.clone(), None)
    );
    // The first texts where there were only numbers.
    let mut texts = Live::begin(
        &connection,
        json!({"model": model, "condition": leaf("$.n", "EQUALS", "5")}),
    )
    .await;
    assert_eq!(texts.result().await.0.len(), 0);
    let text = create(&connection, &model, json!({"n": "5"})).await;
    assert_eq!(reported(&texts.turn().await).1, text);
    let whole = json!({"model": model, "condition": leaf("$.n", "NOT_NULL", 0)});
    let mut all = Live::begin(&connection, whole).await;
    assert_eq!(all.result().await.0.len(), 2);
    // Everything leaves, the model goes, and one of the same name takes its place.
    connection
        .ok("EntityDeleteAllRequest", json!({"model": model}))
        .await;
    all.turns(2).await;
    let unlock = json!({"model": model, "transition": "UNLOCK"});
    connection.ok("EntityModelTransitionRequest", unlock).await;
    connection
        .ok("EntityModelDeleteRequest", json!({"model": model}))
        .await;
    let model = locked_model(&connection, "doc", json!({"n": 1})).await;
    let id = create(&connection, &model, json!({"n": 3})).await;
    assert_eq!(
        reported(&all.turn().await),
        ("entered".to_owned(), id, None)
    );
}

#[tokio::test]
async fn only_the_own_tenant_receives_changes_and_only_of_the_model() {
    let server = Server::with(&[("INTERLOCK_IAM_MOCK_CALLER", "true")]);
    let ours = server.connect_as(&[("x-mock-tenant", "ours")]).await;
    let theirs = server.connect_as(&[("x-mock-tenant", "theirs")]).await;
    let mine = locked_model(&ours, "doc", json!({"n": 1})).await;
    let model = locked_model(&theirs, "doc", json!({"n": 1})).await;
    let other = locked_model(&theirs, "other", json!({"n": 1})).await;
    create(&ours, &mine, json!({"n": 20})).await;
    let wanted = json!({"model": model, "condition": large()});
    let mut live = Live::begin(&theirs, wanted).await;
    assert_eq!(live.result().await.0.len(), 0);
    for n in 11..30 {
        create(&ours, &mine, json!({"n": n})).await;
        create(&theirs, &other, json!({"n": n})).await;
    }
    let id = create(&theirs, &model, json!({"n": 20})).await;
    assert_eq!(reported(&live.turn().await).1, id);
    assert!(live.answers.try_recv().is_err());
}

/// Writers that move entities in and out of what is watched.
struct Load {
    stop: Arc<AtomicBool>,
    writers: Vec<tokio::task::JoinHandle<()>>,
}

impl Load {
    async fn begin(server: &Server, model: &Value) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let mut writers = Vec::new();
        for writer in 0..3_usize {
            let connection = server.connect().await;
            let (model, stop) = (model.clone(), Arc::clone(&stop));
            writers.push(tokio::spawn(async move {
                let mut own: Vec<String> = Vec::new();
                let mut round = writer;
                while !stop.load(Ordering::Relaxed) {
                    round = round.wrapping_mul(7_919).wrapping_add(13);
                    let n = round % 23;
                    if own.len() < 20 || round % 5 == 0 {
                        own.push(create(&connection, &model, json!({"n": n})).await);
                    } else if round % 5 == 1 {
                        let id = own.swap_remove(round % own.len());
                        delete(&connection, &id).await;
                    } else if round % 50 == 2 {
                        // Many at once, in one commit.
                        let payloads: Vec<_> = (0..30)
                            .map(|n| json!({"model": model, "data": {"n": n}}))
                            .collect();
                        let many = json!({"dataFormat": "JSON", "payloads": payloads});
                        connection.ok("EntityCreateCollectionRequest", many).await;
                    } else {
                        let id = &own[round % own.len()];
                        update(&connection, id, json!({"n": n})).await;
                    }
                }
            }));
        }
        Self { stop, writers }
    }

    async fn end(self) {
        self.stop.store(true, Ordering::Relaxed);
        for writer in self.writers {
            writer.await.expect("no panic");
        }
    }
}

/// Follows until nothing is left of what was written by then.
async fn catch_up(
    connection: &Connection,
    model: &Value,
    wanted: Value,
    set: &mut BTreeMap<String, Value>,
) {
    let expected = found(connection, model, &large()).await;
    let mut live = Live::begin(connection, wanted).await;
    let give_up = tokio::time::Instant::now() + PATIENCE;
    while *set != expected {
        let next = tokio::time::timeout_at(give_up, live.answers.recv()).await;
        let Ok(Some(event)) = next else {
            let ids = |set: &BTreeMap<String, Value>| set.keys().cloned().collect::<BTreeSet<_>>();
            panic!(
                "{:?} differ",
                ids(set)
                    .symmetric_difference(&ids(&expected))
                    .collect::<Vec<_>>()
            );
        };
        apply(set, &payload_of(&event));
    }
    // And nothing more.
    let more = tokio::time::timeout(Duration::from_millis(300), live.answers.recv()).await;
    assert!(more.is_err(), "{more:?}");
}

#[tokio::test]
async fn a_set_kept_by_a_consumer_that_is_killed_often_is_what_a_search_finds() {
    let server = Server::on_disk(&[]);
    let model = locked_model(&server.connect().await, "doc", json!({"n": 1})).await;
    let load = Load::begin(&server, &model).await;
    let mut wanted = json!({"model": model, "condition": large(), "includeData": true});
    // The result while it is written to; the first consumers are cut off before it is complete.
    let mut set = BTreeMap::new();
    for life in 0..4 {
        let consumer = server.connect().await;
        let mut live = Live::begin(&consumer, wanted.clone()).await;
        if life < 3 {
            live.event().await;
            consumer.abort();
            continue;
        }
        let (result, complete) = live.result().await;
        set = result;
        wanted["fromSequence"] = json!(complete);
        for turn in live.turns(30).await {
            apply(&mut set, &turn);
            wanted["fromSequence"] = turn["sequence"].clone();
        }
        consumer.abort();
    }
    for life in 0..20 {
        let consumer = server.connect().await;
        let mut live = Live::begin(&consumer, wanted.clone()).await;
        for turn in live.turns(1 + life * 5).await {
            apply(&mut set, &turn);
            assert!(turn["sequence"].as_i64() > wanted["fromSequence"].as_i64());
            wanted["fromSequence"] = turn["sequence"].clone();
        }
        consumer.abort();
    }
    load.end().await;
    let connection = server.connect().await;
    catch_up(&connection, &model, wanted, &mut set).await;
}

#[tokio::test]
async fn a_result_is_of_one_moment_however_slowly_it_is_read() {
    let server = Server::on_disk(&[]);
    let writer = server.connect().await;
    let model = locked_model(&writer, "doc", json!({"n": 1})).await;
    let mut ids = Vec::new();
    for n in 0..8 {
        let payloads: Vec<_> = (0..500)
            .map(|_| json!({"model": model, "data": {"n": 11 + n}}))
            .collect();
        let many = json!({"dataFormat": "JSON", "payloads": payloads});
        let made = writer.ok("EntityCreateCollectionRequest", many).await;
        let made = made["transactionInfo"]["entityIds"].as_array().cloned();
        ids.extend(made.unwrap_or_default());
    }
    let rest: Rest = server.rest();
    let mut coming = rest
        .open("POST", "/api/search/live/doc/1", &large().to_string())
        .await;
    coming.sent().await.expect("the first");
    // All of it is changed while it is on its way, from the end.
    for part in ids.rchunks(500) {
        let payloads: Vec<_> = part
            .iter()
            .map(|id| json!({"id": id, "payload": "{\"n\": 1}"}))
            .collect();
        let body = Value::from(payloads).to_string();
        let said = rest
            .with("content-type", "application/json")
            .put("/api/entity/JSON?transactionWindow=500", body)
            .await;
        assert_eq!(said.status, 200, "{said:?}");
    }
    let mut count = 1;
    loop {
        let sent = coming.sent().await.expect("more");
        match sent.kind.as_deref() {
            Some("entity") => {
                let entity: Value = serde_json::from_str(&sent.data).expect("JSON");
                assert!(entity["data"]["n"].as_i64() > Some(10), "{entity}");
                count += 1;
            }
            Some("complete") => break,
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(count, 4_000);
    let mut left = BTreeSet::new();
    for _ in 0..4_000 {
        let sent = coming.sent().await.expect("a change");
        let turn: Value = serde_json::from_str(&sent.data).expect("JSON");
        assert_eq!(turn["change"], "left");
        assert!(left.insert(turn["entityId"].to_string()), "{turn}");
    }
}

#[tokio::test]
async fn what_was_acknowledged_is_there_after_kill_nine_and_it_resumes() {
    let mut server = Server::on_disk(&[]);
    let model = locked_model(&server.connect().await, "doc", json!({"n": 1})).await;
    let mut wanted = json!({"model": model, "condition": large(), "includeData": true});
    let mut set = BTreeMap::new();
    for life in 0..4 {
        let connection = Arc::new(server.connect().await);
        let mut live = Live::begin(&connection, wanted.clone()).await;
        if life == 0 {
            let (result, complete) = live.result().await;
            set = result;
            wanted["fromSequence"] = json!(complete);
        }
        let writing = tokio::spawn({
            let (connection, model) = (Arc::clone(&connection), model.clone());
            async move {
                for n in 0.. {
                    let event = request(
                        "EntityCreateRequest",
                        &connection.fresh_id(),
                        new_entity(&model, &json!({"n": n % 20})),
                    );
                    let Some(mut answers) = connection.try_begin(event).await else {
                        return;
                    };
                    if answers.recv().await.is_none() {
                        return;
                    }
                }
            }
        });
        for turn in live.turns(30).await {
            apply(&mut set, &turn);
            wanted["fromSequence"] = turn["sequence"].clone();
        }
        server.kill();
        while let Some(event) = live.answers.recv().await {
            let turn = payload_of(&event);
            apply(&mut set, &turn);
            wanted["fromSequence"] = turn["sequence"].clone();
        }
        writing.await.expect("no panic");
        server.restart();
    }
    let connection = server.connect().await;
    catch_up(&connection, &model, wanted, &mut set).await;
}

#[tokio::test]
async fn it_ends_when_it_is_cancelled_and_when_the_server_stops() {
    let mut server = Server::on_disk(&[]);
    let connection = server.connect().await;
    let model = locked_model(&connection, "doc", json!({"n": 1})).await;
    let wanted = json!({"model": model, "condition": large()});
    let mut live = Live::begin(&connection, wanted.clone()).await;
    live.result().await;
    connection.cancel(&live.id).await;
    assert_eq!(code(&payload_of(&live.event().await)), "CANCELLED");
    assert_eq!(live.event().await.kind, EventType::EventStreamEnd);
    let mut live = Live::begin(&connection, wanted).await;
    live.result().await;
    let stopped = tokio::spawn(async move { server.stop().await });
    assert_eq!(
        code(&payload_of(&live.event().await)),
        "STORAGE_UNAVAILABLE"
    );
    assert_eq!(stopped.await.expect("stops"), Some(0));
}

#[tokio::test]
async fn a_reader_that_does_not_read_costs_little() {
    let server = Server::on_disk(&[]);
    let writer = server.connect().await;
    let model = locked_model(&writer, "doc", json!({"n": 1, "text": "x"})).await;
    let text = "x".repeat(20_000);
    let payloads: Vec<_> = (0..100)
        .map(|n| json!({"model": model, "data": {"n": 11 + n, "text": text}}))
        .collect();
    let many = json!({"dataFormat": "JSON", "payloads": payloads});
    for _ in 0..10 {
        writer
            .ok("EntityCreateCollectionRequest", many.clone())
            .await;
    }
    let before = server.resident_bytes();
    let mut slow = Vec::new();
    for _ in 0..5 {
        let path = "/api/search/live/doc/1?includeData=true";
        let mut coming = server.rest().open("POST", path, &large().to_string()).await;
        coming.sent().await.expect("the first");
        slow.push(coming);
    }
    for _ in 0..20 {
        writer
            .ok("EntityCreateCollectionRequest", many.clone())
            .await;
    }
    let grown = server.resident_bytes().saturating_sub(before);
    assert!(grown < 150 << 20, "{grown} bytes for five of 60 MB unread");
    for coming in &mut slow {
        let mut count = 1;
        while count < 3_001 {
            coming.sent().await.expect("more");
            count += 1;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_command_line_tells_it_and_goes_on_after_a_restart() {
    use std::io::{BufRead as _, BufReader};
    let mut server = Server::on_disk(&[]);
    let connection = server.connect().await;
    let model = locked_model(&connection, "doc", json!({"n": 1})).await;
    let first = create(&connection, &model, json!({"n": 11})).await;
    let port = server.grpc.port().to_string();
    let condition = large().to_string();
    let mut child = crate::support::command(&server.folder(), &[])
        .args(["changes", "--model", "doc:1", "--where", &condition])
        .args(["--address", &server.grpc.to_string()])
        .stdout(std::process::Stdio::piped())
        .spawn()
        .expect("starts");
    let mut lines = BufReader::new(child.stdout.take().expect("piped")).lines();
    let mut take = || -> Value {
        let line = lines.next().expect("a line").expect("readable");
        serde_json::from_str(&line).expect("JSON")
    };
    assert_eq!(take()["payload"]["meta"]["id"], json!(first));
    assert_eq!(take()["change"], "complete");
    delete(&connection, &first).await;
    assert_eq!(take()["change"], "left");
    server.kill();
    server.restart_with(&[("CYODA_GRPC_PORT", &port)]);
    let connection = server.connect().await;
    let second = create(&connection, &model, json!({"n": 12})).await;
    assert_eq!(reported(&take()), ("entered".to_owned(), second, None));
    child.kill().expect("kills");
    child.wait().expect("ends");
    for arguments in [
        &["--where", "{"][..],
        &["--where", &condition],
        &["--model", "doc:1", "--where", &condition, "--state", "A"],
        &["--model", "doc:1", "--where", "{}"],
    ] {
        let refused = crate::support::command(&server.folder(), &[])
            .arg("changes")
            .args(arguments)
            .args(["--address", &server.grpc.to_string()])
            .output()
            .expect("runs");
        assert!(!refused.status.success(), "{arguments:?}");
    }
}
