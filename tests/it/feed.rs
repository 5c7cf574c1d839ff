//! The change feed: every change in the order of commits, once, from wherever one was (`stream.md` §3).

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use interlock::event::{Event, EventType};
use serde_json::{Value, json};
use tokio::{sync::mpsc::UnboundedReceiver, task::JoinHandle};

use crate::support::{
    Connection, Rest, Server, code, create, get, locked_model, new_entity, payload_of, request,
    wait::until,
};

const SUBSCRIBE: &str = "EntityChangesSubscribeRequest";
const PATIENCE: Duration = Duration::from_secs(30);

/// A subscription on a stream.
struct Feed {
    id: String,
    answers: UnboundedReceiver<Event>,
}

impl Feed {
    async fn begin(connection: &Connection, wanted: Value) -> Self {
        let id = connection.fresh_id();
        Self {
            answers: connection.begin(request(SUBSCRIBE, &id, wanted)).await,
            id,
        }
    }

    async fn event(&mut self) -> Event {
        let next = tokio::time::timeout(PATIENCE, self.answers.recv()).await;
        next.expect("a change in time").expect("a change")
    }

    async fn next(&mut self) -> Value {
        let event = self.event().await;
        assert_eq!(event.kind, EventType::EntityChangeEvent, "{event:?}");
        let change = payload_of(&event);
        assert_eq!(change["success"], true, "{change}");
        change
    }

    async fn take(&mut self, count: usize) -> Vec<Value> {
        let mut taken = Vec::new();
        for _ in 0..count {
            taken.push(self.next().await);
        }
        taken
    }
}

fn sequence(change: &Value) -> i64 {
    change["sequence"].as_i64().expect("a number")
}

fn sequences(changes: &[Value]) -> Vec<i64> {
    changes.iter().map(sequence).collect()
}

/// Creates, changes and deletes, one after the other; how many changes that makes.
async fn write(connection: &Connection, model: &Value, rounds: usize) -> usize {
    let mut count = 0;
    for round in 0..rounds {
        let id = create(connection, model, json!({"n": round})).await;
        let update = json!({"dataFormat": "JSON", "payload": {"entityId": id, "data": {"n": -1}}});
        connection.ok("EntityUpdateRequest", update).await;
        count += 2;
        if round % 3 == 0 {
            let delete = json!({"entityId": id});
            connection.ok("EntityDeleteRequest", delete).await;
            count += 1;
        }
    }
    count
}

#[tokio::test]
async fn every_change_is_reported_with_what_it_was() {
    let server = Server::start();
    let connection = server.connect().await;
    let model = locked_model(&connection, "doc", json!({"n": 1.5})).await;
    let mut live = Feed::begin(&connection, json!({"includeData": true, "fromSequence": 0})).await;
    let id = create(&connection, &model, json!({"n": 1.50})).await;
    let update = json!({"dataFormat": "JSON", "payload": {"entityId": id, "data": {"n": 2}}});
    let updated = connection.ok("EntityUpdateRequest", update).await;
    let entity = get(&connection, &id).await;
    connection
        .ok("EntityDeleteRequest", json!({"entityId": id}))
        .await;
    let reported = live.take(3).await;
    let kinds: Vec<_> = reported
        .iter()
        .map(|change| &change["changeType"])
        .collect();
    assert_eq!(kinds, ["CREATE", "UPDATE", "DELETE"]);
    for change in &reported {
        assert_eq!(
            (&change["entityId"], &change["model"], &change["requestId"]),
            (&json!(id), &model, &json!(live.id)),
        );
    }
    assert_eq!(reported[1]["data"], json!({"n": 2}));
    assert_eq!(reported[1]["state"], entity["meta"]["state"]);
    assert_eq!(
        reported[1]["timeOfChange"],
        entity["meta"]["lastUpdateTime"]
    );
    assert_eq!(
        reported[1]["transactionId"],
        updated["transactionInfo"]["transactionId"]
    );
    assert!(reported[2].get("data").is_none(), "{}", reported[2]);
    assert_eq!(reported[2]["state"], entity["meta"]["state"]);

    // The same again, without the documents, now from the table.
    let mut again = Feed::begin(&connection, json!({"fromSequence": 0})).await;
    for (change, before) in again.take(3).await.into_iter().zip(&reported) {
        let mut expected = before.clone();
        let members = expected.as_object_mut().expect("an object");
        members.remove("data");
        members.insert("id".to_owned(), json!(again.id));
        members.insert("requestId".to_owned(), json!(again.id));
        assert_eq!(change, expected);
    }
}

#[tokio::test]
async fn a_feed_can_be_resumed_after_any_sequence_also_inside_a_commit() {
    let server = Server::on_disk(&[]);
    let connection = server.connect().await;
    let model = locked_model(&connection, "doc", json!({"n": 1})).await;
    let payloads: Vec<_> = (0..40)
        .map(|n| json!({"model": model, "data": {"n": n}}))
        .collect();
    let many = json!({"dataFormat": "JSON", "payloads": payloads});
    connection.ok("EntityCreateCollectionRequest", many).await;
    let delete = json!({"model": model});
    connection.all("EntityDeleteAllRequest", delete).await;
    write(&connection, &model, 5).await;
    let mut whole = Feed::begin(&connection, json!({"fromSequence": 0})).await;
    let all = whole.take(40 + 40 + 12).await;
    let numbers = sequences(&all);
    assert!(numbers.is_sorted_by(|one, next| one < next));
    assert_eq!(
        all[..40]
            .iter()
            .map(|change| &change["transactionId"])
            .collect::<std::collections::HashSet<_>>()
            .len(),
        1
    );
    for (index, from) in numbers.iter().enumerate().take(numbers.len() - 1) {
        let mut rest = Feed::begin(&connection, json!({"fromSequence": from})).await;
        let rest_of_it = numbers.len() - 1 - index;
        assert_eq!(
            sequences(&rest.take(rest_of_it).await),
            numbers[index + 1..],
            "after {from}"
        );
        connection.cancel(&rest.id).await;
    }
}

#[tokio::test]
async fn without_a_sequence_it_begins_now() {
    let server = Server::start();
    let connection = server.connect().await;
    let model = locked_model(&connection, "doc", json!({"n": 1})).await;
    let before = create(&connection, &model, json!({"n": 1})).await;
    let mut live = Feed::begin(&connection, json!({})).await;
    // The subscription has been taken once a request that came after it on the stream is answered
    // and something was written after that.
    let mut probe = Feed::begin(&connection, json!({"fromSequence": 0})).await;
    assert_eq!(probe.next().await["entityId"], before);
    let mut heard = Vec::new();
    for n in 0..20 {
        heard.push(create(&connection, &model, json!({"n": n})).await);
    }
    let first = live.next().await;
    assert!(
        heard.iter().any(|id| first["entityId"] == **id),
        "{first} is not of now"
    );
}

#[tokio::test]
async fn filters_leave_out_and_deleted_models_keep_their_name() {
    let server = Server::start();
    let connection = server.connect().await;
    let doc = locked_model(&connection, "doc", json!({"n": 1})).await;
    let other = locked_model(&connection, "other", json!({"n": 1})).await;
    let mut of_other = Feed::begin(&connection, json!({"model": other, "fromSequence": 0})).await;
    let mut of_nowhere = Feed::begin(
        &connection,
        json!({"states": ["NOWHERE"], "fromSequence": 0}),
    )
    .await;
    write(&connection, &doc, 10).await;
    let id = create(&connection, &other, json!({"n": 1})).await;
    let state = get(&connection, &id).await["meta"]["state"].clone();
    assert_eq!(of_other.next().await["entityId"], *id);
    let delete = json!({"entityId": id});
    connection.ok("EntityDeleteRequest", delete).await;
    assert_eq!(of_other.next().await["changeType"], "DELETE");
    let unlock = json!({"model": other, "transition": "UNLOCK"});
    connection.ok("EntityModelTransitionRequest", unlock).await;
    connection
        .ok("EntityModelDeleteRequest", json!({"model": other}))
        .await;
    for wanted in [
        json!({"model": other, "fromSequence": 0}),
        json!({"model": other, "states": [state], "fromSequence": 0}),
        json!({"model": other, "states": [], "fromSequence": 0}),
    ] {
        let mut again = Feed::begin(&connection, wanted).await;
        for kind in ["CREATE", "DELETE"] {
            let change = again.next().await;
            assert_eq!(
                (&change["changeType"], &change["model"]),
                (&json!(kind), &other)
            );
        }
    }
    assert!(of_nowhere.answers.try_recv().is_err());
    let unknown = json!({"model": {"name": "never", "version": 1}});
    let (refused, end) = connection.all(SUBSCRIBE, unknown).await;
    assert_eq!(code(&refused[0]), "MODEL_NOT_FOUND");
    assert_eq!(end["success"], false);
}

#[tokio::test]
async fn only_the_own_tenant_receives_events() {
    let server = Server::with(&[("INTERLOCK_IAM_MOCK_CALLER", "true")]);
    let ours = server.connect_as(&[("x-mock-tenant", "ours")]).await;
    let theirs = server.connect_as(&[("x-mock-tenant", "theirs")]).await;
    let mut heard = Feed::begin(&theirs, json!({"fromSequence": 0})).await;
    let mine = locked_model(&ours, "doc", json!({"n": 1})).await;
    write(&ours, &mine, 20).await;
    let model = locked_model(&theirs, "doc", json!({"n": 1})).await;
    let id = create(&theirs, &model, json!({"n": 1})).await;
    write(&ours, &mine, 20).await;
    assert_eq!(heard.next().await["entityId"], *id);
    let mut again = Feed::begin(&theirs, json!({"fromSequence": 0})).await;
    assert_eq!(again.next().await["entityId"], *id);
    assert!(heard.answers.try_recv().is_err() && again.answers.try_recv().is_err());
}

#[tokio::test]
async fn a_sequence_that_cannot_be_is_refused_at_every_door() {
    let server = Server::start();
    let connection = server.connect().await;
    let rest = server.rest();
    for bad in [json!(-1), json!(1_000_000_000_000_i64)] {
        let wanted = json!({"fromSequence": bad});
        let (refused, end) = connection.all(SUBSCRIBE, wanted.clone()).await;
        assert_eq!(
            (refused.len(), code(&refused[0])),
            (1, "BAD_REQUEST".to_owned())
        );
        assert_eq!((&end["success"], &end["count"]), (&json!(false), &json!(0)));
        let event = request(SUBSCRIBE, "1", wanted);
        let answers = connection
            .streaming("entitySearchCollection", event, &[])
            .await
            .expect("in-band");
        assert_eq!(code(&payload_of(&answers[0])), "BAD_REQUEST");
        let path = format!("/api/entity/changes/stream?fromSequence={bad}");
        rest.get(&path).await.refused(400, "BAD_REQUEST");
        rest.with("last-event-id", &bad.to_string())
            .get("/api/entity/changes/stream")
            .await
            .refused(400, "BAD_REQUEST");
    }
    for bad in [json!("5"), json!(1.5), json!(true), json!([])] {
        let event = request(
            SUBSCRIBE,
            &connection.fresh_id(),
            json!({"fromSequence": bad}),
        );
        let answers = connection.ask(event).await;
        assert_eq!(answers[0].kind, EventType::EventAckResponse);
        assert_eq!(code(&payload_of(&answers[0])), "BAD_REQUEST");
    }
    for query in [
        "fromSequence=x",
        "fromSequence=1.5",
        "fromSequence=9223372036854775808",
        "modelVersion=1",
        "entityName=doc",
        "entityName=doc&modelVersion=x",
        "includeData=perhaps",
    ] {
        rest.get(&format!("/api/entity/changes/stream?{query}"))
            .await
            .refused(400, "BAD_REQUEST");
    }
    rest.with("last-event-id", "x")
        .get("/api/entity/changes/stream")
        .await
        .refused(400, "BAD_REQUEST");
    rest.get("/api/entity/changes/stream?entityName=never&modelVersion=1")
        .await
        .refused(404, "MODEL_NOT_FOUND");
}

#[tokio::test]
async fn a_subscription_ends_when_it_is_cancelled_and_the_stream_goes_on() {
    let server = Server::start();
    let connection = server.connect().await;
    let model = locked_model(&connection, "doc", json!({"n": 1})).await;
    create(&connection, &model, json!({"n": 1})).await;
    let mut live = Feed::begin(&connection, json!({"fromSequence": 0})).await;
    live.next().await;
    connection.cancel(&live.id).await;
    let refused = payload_of(&live.event().await);
    assert_eq!(code(&refused), "CANCELLED");
    let end = live.event().await;
    assert_eq!(end.kind, EventType::EventStreamEnd);
    assert_eq!(payload_of(&end)["count"], 1);
    create(&connection, &model, json!({"n": 2})).await;
    assert!(live.answers.recv().await.is_none());
}

#[tokio::test]
async fn a_server_that_stops_ends_subscriptions_at_once_and_says_so() {
    let mut server = Server::on_disk(&[]);
    let connection = server.connect().await;
    let model = locked_model(&connection, "doc", json!({"n": 1})).await;
    create(&connection, &model, json!({"n": 1})).await;
    let from = json!({"fromSequence": 0});
    let mut live = Feed::begin(&connection, from.clone()).await;
    let mut half_closed = server.connect().await;
    let mut forgotten = Feed::begin(&half_closed, from.clone()).await;
    half_closed.half_close();
    let mut method = connection
        .live(
            "entitySearchCollection",
            request(SUBSCRIBE, "1", from.clone()),
            &[],
        )
        .await
        .expect("answers");
    let mut sent = server
        .rest()
        .open("GET", "/api/entity/changes/stream?fromSequence=0", "")
        .await;
    let batch = json!({"specversion": "1.0", "id": "1", "source": "/", "type": SUBSCRIBE, "data": {"id": "1", "fromSequence": 0}});
    let mut batched = server
        .rest()
        .with("content-type", "application/cloudevents+json")
        .open("POST", "/api/events", &batch.to_string())
        .await;
    live.next().await;
    forgotten.next().await;
    method.message().await.expect("answers").expect("a change");
    assert!(sent.sent().await.expect("a change").id.is_some());
    let begun = std::time::Instant::now();
    let stopped = tokio::spawn(async move { server.stop().await });
    for feed in [&mut live, &mut forgotten] {
        assert_eq!(
            code(&payload_of(&feed.event().await)),
            "STORAGE_UNAVAILABLE"
        );
        assert_eq!(feed.event().await.kind, EventType::EventStreamEnd);
    }
    let status = method.message().await.expect_err("a status");
    assert_eq!(status.code(), tonic::Code::Unavailable);
    let last = sent.sent().await.expect("a last event");
    assert_eq!(last.kind.as_deref(), Some("failure"));
    assert!(last.data.contains("STORAGE_UNAVAILABLE"), "{last:?}");
    assert!(sent.sent().await.is_none());
    let rest = batched.until("]\n").await.expect("a whole batch");
    assert!(rest.contains("EventStreamEnd"), "{rest}");
    assert_eq!(stopped.await.expect("stops"), Some(0));
    assert!(
        begun.elapsed() < Duration::from_secs(5),
        "{:?}",
        begun.elapsed()
    );
}

#[tokio::test]
async fn subscriptions_take_half_the_places_of_a_stream_at_most() {
    let server = Server::with(&[("INTERLOCK_STREAM_MAX_IN_FLIGHT", "4")]);
    let connection = server.connect().await;
    let model = locked_model(&connection, "doc", json!({"n": 1})).await;
    create(&connection, &model, json!({"n": 1})).await;
    let from = json!({"fromSequence": 0});
    let mut one = Feed::begin(&connection, from.clone()).await;
    let mut two = Feed::begin(&connection, from.clone()).await;
    one.next().await;
    two.next().await;
    let (refused, _) = connection.all(SUBSCRIBE, from.clone()).await;
    assert_eq!(code(&refused[0]), "TOO_MANY_REQUESTS");
    assert_eq!(refused[0]["error"]["retryable"], true);
    // The others go on being served.
    write(&connection, &model, 5).await;
    connection.cancel(&one.id).await;
    while one.answers.recv().await.is_some() {}
    let mut three = Feed::begin(&connection, from).await;
    three.take(12).await;
    two.take(11).await;
}

#[tokio::test]
async fn a_thousand_waiters_cost_little_and_all_of_them_are_answered() {
    let server = Server::with(&[("INTERLOCK_STREAM_MAX_IN_FLIGHT", "2048")]);
    let connection = server.connect().await;
    let writer = server.connect().await;
    let model = locked_model(&writer, "doc", json!({"n": 1})).await;
    let count = write(&writer, &model, 20).await;
    let mut all = Feed::begin(&writer, json!({"fromSequence": 0})).await;
    let last = all.take(count).await.pop().expect("a change");
    let before = server.resident_bytes();
    let mut feeds = Vec::new();
    for _ in 0..1_000 {
        let wanted = json!({"includeData": true, "fromSequence": sequence(&last) - 1});
        feeds.push(Feed::begin(&connection, wanted).await);
    }
    // Each tells one change at once: by this it is known to be there, and to wait.
    for feed in &mut feeds {
        assert_eq!(sequence(&feed.next().await), sequence(&last));
    }
    let grown = server.resident_bytes().saturating_sub(before);
    assert!(grown < 40 << 20, "{grown} bytes for a thousand");
    let id = create(&writer, &model, json!({"n": 1})).await;
    for feed in &mut feeds {
        assert_eq!(feed.next().await["entityId"], *id);
    }
}

#[tokio::test]
async fn a_reader_that_does_not_read_is_disconnected_costs_little_and_can_go_on() {
    let server = Server::on_disk(&[("INTERLOCK_STREAM_SEND_TIMEOUT", "1s")]);
    let writer = server.connect().await;
    let sample = json!({"n": 1, "text": "x"});
    let model = locked_model(&writer, "doc", sample).await;
    let text = "x".repeat(20_000);
    let payloads: Vec<_> = (0..100)
        .map(|n| json!({"model": model, "data": {"n": n, "text": text}}))
        .collect();
    let before = server.resident_bytes();
    // It reads one change, then nothing for a while.
    let mut outbox = server.connect().await.client();
    let wanted = json!({"fromSequence": 0, "includeData": true});
    let (send, frames) = tokio::sync::mpsc::channel(4);
    let event = request(SUBSCRIBE, "slow", wanted.clone());
    send.send(event.into()).await.expect("open");
    let mut slow = outbox
        .start_streaming(tokio_stream::wrappers::ReceiverStream::new(frames))
        .await
        .expect("a stream")
        .into_inner();
    for _ in 0..20 {
        let many = json!({"dataFormat": "JSON", "payloads": payloads});
        writer.ok("EntityCreateCollectionRequest", many).await;
    }
    let log = Arc::clone(&server.log);
    let disconnected = || {
        let log = log.lock().expect("no panic");
        log.iter().any(|line| line.contains("did not read"))
    };
    until("the slow reader is disconnected", async || disconnected()).await;
    let grown = server.resident_bytes().saturating_sub(before);
    assert!(grown < 200 << 20, "{grown} bytes for 40 MB unread");
    let mut seen = Vec::new();
    let status = loop {
        match slow.message().await {
            Ok(Some(frame)) => seen.push(payload_of(&frame.event().expect("an event"))),
            Ok(None) => panic!("no status"),
            Err(status) => break status,
        }
    };
    assert_eq!(status.code(), tonic::Code::ResourceExhausted);
    let reached = seen.last().map_or(0, sequence);
    let wanted = json!({"fromSequence": reached});
    let mut rest = Feed::begin(&writer, wanted).await;
    let mut numbers = sequences(&seen);
    numbers.extend(sequences(&rest.take(2_000 - seen.len()).await));
    assert!(numbers.is_sorted_by(|one, next| one < next));
}

/// What all writers of a load have done, and whether they shall go on.
struct Load {
    stop: Arc<AtomicBool>,
    writers: Vec<JoinHandle<usize>>,
}

impl Load {
    async fn begin(server: &Server, model: &Value) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let mut writers = Vec::new();
        for _ in 0..4 {
            let connection = server.connect().await;
            let (model, stop) = (model.clone(), Arc::clone(&stop));
            writers.push(tokio::spawn(async move {
                let mut count = 0;
                while !stop.load(Ordering::Relaxed) {
                    count += write(&connection, &model, 3).await;
                }
                count
            }));
        }
        Self { stop, writers }
    }

    /// Ends it; how many changes it made.
    async fn end(self) -> usize {
        self.stop.store(true, Ordering::Relaxed);
        let mut count = 0;
        for writer in self.writers {
            count += writer.await.expect("no panic");
        }
        count
    }
}

/// That every sequence came once and in order, and that what came is the history of everything.
async fn check_whole(server: &Server, heard: &[Value], written: usize) {
    assert_eq!(heard.len(), written);
    assert!(sequences(heard).is_sorted_by(|one, next| one < next));
    let connection = server.connect().await;
    let mut whole = Feed::begin(&connection, json!({"fromSequence": 0})).await;
    assert_eq!(sequences(&whole.take(written).await), sequences(heard));
    let mut by_entity: BTreeMap<&str, Vec<&Value>> = BTreeMap::new();
    for change in heard {
        let id = change["entityId"].as_str().expect("an id");
        by_entity.entry(id).or_default().push(change);
    }
    for (id, changes) in by_entity.into_iter().take(50) {
        let (history, _) = connection
            .all("EntityChangesMetadataGetRequest", json!({"entityId": id}))
            .await;
        let reported =
            |change: &Value| ["changeType", "timeOfChange"].map(|name| change[name].to_string());
        let then: Vec<_> = history
            .iter()
            .rev()
            .map(|item| reported(&item["changeMeta"]))
            .collect();
        assert_eq!(then, changes.into_iter().map(reported).collect::<Vec<_>>());
    }
}

#[tokio::test]
async fn a_consumer_that_is_killed_twenty_times_under_load_hears_everything_once() {
    let server = Server::on_disk(&[]);
    let model = locked_model(&server.connect().await, "doc", json!({"n": 1})).await;
    let load = Load::begin(&server, &model).await;
    let mut heard: Vec<Value> = Vec::new();
    for life in 0..20 {
        let consumer = server.connect().await;
        let from = heard.last().map_or(0, sequence);
        let wanted = json!({"fromSequence": from, "includeData": life % 2 == 0});
        let mut feed = Feed::begin(&consumer, wanted).await;
        heard.extend(feed.take(10 + life * 7).await);
        // Cut off in the middle of whatever it was being sent.
        consumer.abort();
    }
    let written = load.end().await;
    let consumer = server.connect().await;
    let from = heard.last().map_or(0, sequence);
    let mut feed = Feed::begin(&consumer, json!({"fromSequence": from})).await;
    heard.extend(feed.take(written - heard.len()).await);
    check_whole(&server, &heard, written).await;
}

/// Reads server-sent events, from where one was.
async fn read_sent(rest: &Rest, heard: &mut Vec<Value>, count: usize) {
    let rest = match heard.last() {
        Some(last) => rest.with("last-event-id", &sequence(last).to_string()),
        None => rest.clone(),
    };
    let mut coming = rest
        .open("GET", "/api/entity/changes/stream?fromSequence=0", "")
        .await;
    assert_eq!(coming.status, 200);
    assert_eq!(coming.headers["content-type"], "text/event-stream");
    for _ in 0..count {
        let sent = coming.sent().await.expect("a change");
        let change: Value = serde_json::from_str(&sent.data).expect("JSON");
        assert_eq!(sent.id, Some(sequence(&change).to_string()));
        heard.push(change);
    }
}

#[tokio::test]
async fn a_consumer_of_server_sent_events_that_is_killed_twenty_times_hears_everything_once() {
    let server = Server::on_disk(&[]);
    let model = locked_model(&server.connect().await, "doc", json!({"n": 1})).await;
    let load = Load::begin(&server, &model).await;
    let mut heard = Vec::new();
    for life in 0..20 {
        // A client of its own each time, whose connection ends with it.
        read_sent(&server.rest(), &mut heard, 10 + life * 7).await;
    }
    let written = load.end().await;
    let missing = written - heard.len();
    read_sent(&server.rest(), &mut heard, missing).await;
    check_whole(&server, &heard, written).await;
}

#[tokio::test]
async fn what_was_acknowledged_is_there_after_kill_nine_and_the_feed_resumes() {
    let mut server = Server::on_disk(&[]);
    let model = locked_model(&server.connect().await, "doc", json!({"n": 1})).await;
    let mut heard: Vec<Value> = Vec::new();
    for _ in 0..5 {
        let connection = Arc::new(server.connect().await);
        let from = heard.last().map_or(0, sequence);
        let mut feed = Feed::begin(&connection, json!({"fromSequence": from})).await;
        let writing = tokio::spawn({
            let (connection, model) = (Arc::clone(&connection), model.clone());
            async move {
                loop {
                    let event = request(
                        "EntityCreateRequest",
                        &connection.fresh_id(),
                        new_entity(&model, &json!({"n": 1})),
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
        heard.extend(feed.take(50).await);
        server.kill();
        // What was still on its way counts as heard.
        while let Some(event) = feed.answers.recv().await {
            heard.push(payload_of(&event));
        }
        writing.await.expect("no panic");
        server.restart();
    }
    let connection = server.connect().await;
    let (counted, _) = connection
        .all("EntityStatsGetRequest", json!({"model": model}))
        .await;
    let written = usize::try_from(counted[0]["count"].as_u64().expect("a number")).expect("small");
    let from = heard.last().map_or(0, sequence);
    let mut feed = Feed::begin(&connection, json!({"fromSequence": from})).await;
    heard.extend(feed.take(written - heard.len()).await);
    check_whole(&server, &heard, written).await;
}

/// Takes a connection of the command line, and passes on what is sent on it.
async fn pass_on(listener: &tokio::net::TcpListener, server: &Server) -> JoinHandle<()> {
    let accepted = tokio::time::timeout(PATIENCE, listener.accept()).await;
    let (mut near, _) = accepted.expect("connects in time").expect("a connection");
    let mut far = tokio::net::TcpStream::connect(server.grpc)
        .await
        .expect("connects");
    tokio::spawn(async move {
        let _ = tokio::io::copy_bidirectional(&mut near, &mut far).await;
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn the_command_line_resumes_before_the_first_change() {
    use std::io::{BufRead as _, BufReader};
    let server = Server::start();
    let connection = server.connect().await;
    let model = locked_model(&connection, "doc", json!({"n": 1})).await;
    create(&connection, &model, json!({"n": 1})).await;
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0")
        .await
        .expect("a port");
    let address = listener.local_addr().expect("an address").to_string();
    let mut child = crate::support::command(&server.folder(), &[])
        .args(["changes", "--data", "--address", &address])
        .stdout(std::process::Stdio::piped())
        .spawn()
        .expect("starts");
    // The first connection asks for the newest sequence, the second one is lost.
    let _asked = pass_on(&listener, &server).await;
    pass_on(&listener, &server).await.abort();
    let _resumed = pass_on(&listener, &server).await;
    create(&connection, &model, json!({"n": 2})).await;
    let mut lines = BufReader::new(child.stdout.take().expect("piped")).lines();
    let line = lines.next().expect("it goes on").expect("a line");
    let change: Value = serde_json::from_str(&line).expect("JSON");
    assert_eq!(change["data"], json!({"n": 2}));
    child.kill().expect("kills");
    child.wait().expect("ends");
}

#[tokio::test]
async fn a_model_of_an_awkward_name_is_still_listed() {
    let server = Server::start();
    let connection = server.connect().await;
    let model = locked_model(&connection, "changes", json!({"n": 1})).await;
    create(&connection, &model, json!({"n": 1})).await;
    let listed = server.rest().get("/api/entity/changes/1").await.ok();
    assert_eq!(listed.as_array().expect("a list").len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_command_line_follows_and_goes_on_after_a_restart() {
    use std::io::{BufRead as _, BufReader};
    let mut server = Server::on_disk(&[]);
    let connection = server.connect().await;
    let model = locked_model(&connection, "doc", json!({"n": 1})).await;
    let written = write(&connection, &model, 2).await;
    let port = server.grpc.port().to_string();
    let mut child = crate::support::command(&server.folder(), &[])
        .args(["changes", "--from", "0", "--data", "--model", "doc:1"])
        .args(["--address", &server.grpc.to_string()])
        .stdout(std::process::Stdio::piped())
        .spawn()
        .expect("starts");
    let mut lines = BufReader::new(child.stdout.take().expect("piped")).lines();
    let mut take = |count: usize| -> Vec<Value> {
        let taken = lines.by_ref().take(count);
        taken
            .map(|line| serde_json::from_str(&line.expect("a line")).expect("JSON"))
            .collect()
    };
    let mut heard = take(written);
    assert_eq!(heard[0]["data"], json!({"n": 0}));
    server.kill();
    server.restart_with(&[("CYODA_GRPC_PORT", &port)]);
    let connection = server.connect().await;
    let more = write(&connection, &model, 2).await;
    heard.extend(take(more));
    check_whole(&server, &heard, written + more).await;
    child.kill().expect("kills");
    child.wait().expect("ends");
    let refused = crate::support::command(&server.folder(), &[])
        .args([
            "changes",
            "--from",
            "-1",
            "--address",
            &server.grpc.to_string(),
        ])
        .output()
        .expect("runs");
    assert!(!refused.status.success());
    let said = String::from_utf8(refused.stderr).expect("text");
    assert!(said.contains("BAD_REQUEST"), "{said}");
}
