//! Composite unique keys (`models-and-entities.md` §9).

use std::sync::Arc;

use futures_util::future::join_all;
use serde_json::{Value, json};

use crate::support::{
    Connection, Member, PATIENCE, Reply, Rest, Said, Server, code, create, get, new_entity,
    request,
    scene::{automated, manual, processor, states},
};

/// A server with a model `doc` whose key is `org.code` with `n`.
struct Stage {
    server: Server,
    connection: Arc<Connection>,
    rest: Rest,
    model: Value,
}

const KEYS: &str = "/api/model/doc/1/unique-keys";

fn keys() -> Value {
    json!([{"id": "by-code", "fields": ["$.org.code", "$.n"]}])
}

fn sample() -> Value {
    json!({"org": {"code": "x"}, "n": 1, "other": true, "many": [1]})
}

fn doc(code: &str, n: Value) -> Value {
    json!({"org": {"code": code}, "n": n})
}

impl Stage {
    async fn of(workflow: Value) -> Self {
        Self::on(Server::start(), workflow).await
    }

    async fn on(server: Server, workflow: Value) -> Self {
        let connection = Arc::new(server.connect().await);
        let rest = server.rest();
        let model = json!({"name": "doc", "version": 1});
        let import = json!({"model": model, "dataFormat": "JSON", "converter": "SAMPLE_DATA", "payload": sample()});
        connection.ok("EntityModelImportRequest", import).await;
        rest.put(KEYS, json!({"uniqueKeys": keys()}).to_string())
            .await
            .ok();
        rest.put("/api/model/doc/1/lock", "").await.ok();
        let import = json!({"model": model, "workflows": [workflow]});
        connection.ok("EntityWorkflowImportRequest", import).await;
        Self {
            server,
            connection,
            rest,
            model,
        }
    }

    async fn plain() -> Self {
        Self::of(states(json!({"A": []}))).await
    }

    async fn post(&self, data: Value) -> Said {
        self.rest
            .post("/api/entity/JSON/doc/1", data.to_string())
            .await
    }

    async fn create(&self, data: Value) -> String {
        create(&self.connection, &self.model, data).await
    }

    async fn put(&self, id: &str, transition: &str, data: Value) -> Said {
        crate::support::scene::put(&self.rest, id, transition, data).await
    }
}

#[tokio::test]
async fn of_sixty_four_creates_with_one_key_one_succeeds_on_the_stream() {
    let stage = Stage::plain().await;
    for round in 0..5 {
        let creates = (0..64).map(|_| {
            let new = new_entity(&stage.model, &doc("a", json!(round)));
            stage.connection.call("EntityCreateRequest", new)
        });
        let answers = join_all(creates).await;
        let (made, refused): (Vec<_>, Vec<_>) = answers
            .into_iter()
            .partition(|answer| answer["success"] == true);
        assert_eq!((made.len(), refused.len()), (1, 63));
        for answer in refused {
            assert_eq!(code(&answer), "UNIQUE_VIOLATION");
            assert_eq!(answer["error"]["retryable"], Value::Null, "{answer}");
        }
    }
}

#[tokio::test]
async fn of_sixty_four_creates_with_one_key_one_succeeds_over_rest() {
    let stage = Stage::plain().await;
    let answers = join_all((0..64).map(|_| stage.post(doc("a", json!(1))))).await;
    let (made, refused): (Vec<_>, Vec<_>) =
        answers.into_iter().partition(|said| said.status == 200);
    assert_eq!((made.len(), refused.len()), (1, 63));
    let holder = made[0].json()[0]["entityIds"][0].clone();
    let holder = holder.as_str().expect("an id");
    for said in refused {
        let problem = said.refused(409, "UNIQUE_VIOLATION");
        assert_eq!(problem["properties"]["retryable"], Value::Null, "{problem}");
        let reported = format!("entity {holder} has $.org.code = \"a\", $.n = 1, too");
        let detail = problem["detail"].as_str().expect("a text");
        assert!(detail.contains(&reported), "{detail}");
    }
}

#[tokio::test]
async fn updates_race_for_a_value_as_creates_do() {
    let stage = Stage::plain().await;
    let mut ids = Vec::new();
    for n in 0..16 {
        ids.push(stage.create(doc("a", json!(n))).await);
    }
    let answers = join_all(
        ids.iter()
            .map(|id| stage.put(id, "", doc("wanted", json!(1)))),
    )
    .await;
    let (done, refused): (Vec<_>, Vec<_>) =
        answers.into_iter().partition(|said| said.status == 200);
    assert_eq!(done.len(), 1);
    for said in refused {
        said.refused(409, "UNIQUE_VIOLATION");
    }
}

#[tokio::test]
async fn equality_is_by_type_and_numbers_by_value() {
    let stage = Stage::plain().await;
    let post = async |n: &str| {
        let body = format!(r#"{{"org":{{"code":"a"}},"n":{n}}}"#);
        stage.rest.post("/api/entity/JSON/doc/1", body).await
    };
    post("42").await.ok();
    for same in ["42", "42.0", "4.2e1", "420E-1"] {
        post(same).await.refused(409, "UNIQUE_VIOLATION");
    }
    post("43").await.ok();
    // Large numbers, digit for digit.
    stage
        .rest
        .post(
            "/api/model/import/JSON/SAMPLE_DATA/big/1",
            r#"{"n":123456789012345678901234567890,"s":"x","b":true}"#,
        )
        .await
        .ok();
    let by_all =
        json!({"uniqueKeys": [{"id": "n", "fields": ["$.n"]}, {"id": "s", "fields": ["$.s"]}]});
    stage
        .rest
        .put("/api/model/big/1/unique-keys", by_all.to_string())
        .await
        .ok();
    stage.rest.put("/api/model/big/1/lock", "").await.ok();
    let post = async |body: &str| {
        stage
            .rest
            .post("/api/entity/JSON/big/1", body.to_owned())
            .await
    };
    post(r#"{"n":123456789012345678901234567890}"#).await.ok();
    post(r#"{"n":123456789012345678901234567891}"#).await.ok();
    post(r#"{"n":123456789012345678901234567890.0}"#)
        .await
        .refused(409, "UNIQUE_VIOLATION");
    // Of several keys each counts, and one of nulls does not.
    post(r#"{"s":"é"}"#).await.ok();
    post(r#"{"s":"É"}"#).await.ok();
    post(r#"{"s":"\u00e9","n":7}"#)
        .await
        .refused(409, "UNIQUE_VIOLATION");
    post(r#"{"n":7,"s":null}"#).await.ok();
    let long = "x".repeat(100_000);
    post(&format!(r#"{{"s":"{long}"}}"#)).await.ok();
    post(&format!(r#"{{"s":"{long}y"}}"#)).await.ok();
    let said = post(&format!(r#"{{"s":"{long}"}}"#)).await;
    said.refused(409, "UNIQUE_VIOLATION");
}

#[tokio::test]
async fn a_key_is_given_whole_or_not_at_all() {
    let stage = Stage::plain().await;
    for _ in 0..2 {
        for free in [
            json!({}),
            json!({"n": null}),
            json!({"org": {}, "other": false}),
        ] {
            stage.post(free).await.ok();
        }
    }
    for partial in [
        json!({"n": 1}),
        json!({"org": {"code": "a"}, "n": null}),
        json!({"org": {"code": "a"}}),
    ] {
        let problem = stage.post(partial).await.refused(422, "INVALID_UNIQUE_KEY");
        assert!(
            problem["detail"]
                .as_str()
                .expect("text")
                .contains("by-code")
        );
    }
    let digits = "1".repeat(65);
    let body = format!(r#"{{"org":{{"code":"a"}},"n":{digits}}}"#);
    // The schema is stricter than the key here.
    let said = stage.rest.post("/api/entity/JSON/doc/1", body).await;
    said.refused(400, "INCOMPATIBLE_TYPE");
    let id = stage.create(doc("a", json!(1))).await;
    stage
        .put(&id, "", json!({"n": 1}))
        .await
        .refused(422, "INVALID_UNIQUE_KEY");
    let patch = stage
        .rest
        .with("content-type", "application/merge-patch+json")
        .with("if-match", "*")
        .send("PATCH", &format!("/api/entity/JSON/{id}"), r#"{"n":null}"#)
        .await;
    patch.refused(422, "INVALID_UNIQUE_KEY");
    // One item spoils the whole of a collection, and is named.
    let item = |data: Value| json!({"model": stage.model, "data": data});
    let batch = json!({"dataFormat": "JSON", "payloads": [item(doc("z", json!(1))), item(json!({"n": 1}))]});
    let answer = stage
        .connection
        .call("EntityCreateCollectionRequest", batch)
        .await;
    assert_eq!(code(&answer), "INVALID_UNIQUE_KEY");
    let message = answer["error"]["message"].as_str().expect("a text");
    assert!(message.contains("item 1"), "{message}");
    stage.post(doc("z", json!(1))).await.ok();
}

#[tokio::test]
async fn a_value_is_freed_by_a_change_a_deletion_and_the_deletion_of_all() {
    let stage = Stage::plain().await;
    let one = stage.create(doc("a", json!(1))).await;
    stage
        .post(doc("a", json!(1)))
        .await
        .refused(409, "UNIQUE_VIOLATION");
    // Saving it as it is claims what it has.
    stage.put(&one, "", doc("a", json!(1))).await.ok();
    stage.put(&one, "", doc("b", json!(1))).await.ok();
    let two = stage.create(doc("a", json!(1))).await;
    stage
        .put(&one, "", doc("a", json!(1)))
        .await
        .refused(409, "UNIQUE_VIOLATION");
    // What was refused has changed nothing.
    assert_eq!(
        get(&stage.connection, &one).await["data"]["org"]["code"],
        "b"
    );
    stage.rest.delete(&format!("/api/entity/{two}")).await.ok();
    let two = stage.create(doc("a", json!(1))).await;
    // In one transaction they change places.
    let update = |id: &str, data: Value| json!({"entityId": id, "data": data});
    let swap = json!({"dataFormat": "JSON", "payloads": [update(&one, doc("a", json!(1))), update(&two, doc("b", json!(1)))]});
    stage
        .connection
        .ok("EntityUpdateCollectionRequest", swap)
        .await;
    // Two in one transaction that want the same.
    let item = json!({"model": stage.model, "data": doc("c", json!(1))});
    let twins = json!({"dataFormat": "JSON", "payloads": [item, item]});
    let refused = stage
        .connection
        .fails("EntityCreateCollectionRequest", twins)
        .await;
    assert_eq!(refused, "UNIQUE_VIOLATION");
    stage.rest.delete("/api/entity/doc/1").await.ok();
    for code in ["a", "b", "c"] {
        stage.post(doc(code, json!(1))).await.ok();
    }
}

#[tokio::test]
async fn keys_are_defined_replaced_and_cleared_while_the_model_is_unlocked() {
    let server = Server::start();
    let rest = server.rest();
    let set = async |keys: Value| {
        rest.put(KEYS, json!({"uniqueKeys": keys}).to_string())
            .await
    };
    set(keys()).await.refused(404, "MODEL_NOT_FOUND");
    let import = async |sample: Value| {
        let path = "/api/model/import/JSON/SAMPLE_DATA/doc/1";
        rest.post(path, sample.to_string()).await
    };
    let export = async |converter: &str| {
        rest.get(&format!("/api/model/export/{converter}/doc/1"))
            .await
            .ok()
    };
    import(sample()).await.ok();
    assert_eq!(export("SIMPLE_VIEW").await.get("uniqueKeys"), None);
    let done = set(keys()).await.ok();
    assert_eq!(
        (&done["success"], &done["message"]),
        (&json!(true), &json!("unique keys set on model doc:1"))
    );
    for converter in ["SIMPLE_VIEW", "JSON_SCHEMA"] {
        assert_eq!(export(converter).await["uniqueKeys"], keys(), "{converter}");
    }
    for (bad, status, code) in [
        (
            json!([{"id": "", "fields": ["$.n"]}]),
            422,
            "INVALID_UNIQUE_KEY_DEFINITION",
        ),
        (
            json!([{"id": "a", "fields": []}]),
            422,
            "INVALID_UNIQUE_KEY_DEFINITION",
        ),
        (
            json!([{"id": "a", "fields": ["$.n", "$.n"]}]),
            422,
            "INVALID_UNIQUE_KEY_DEFINITION",
        ),
        (
            json!([{"id": "a", "fields": ["$.n"]}, {"id": "a", "fields": ["$.other"]}]),
            422,
            "INVALID_UNIQUE_KEY_DEFINITION",
        ),
        (
            json!([{"id": "a", "fields": ["$.none"]}]),
            422,
            "INVALID_UNIQUE_KEY_DEFINITION",
        ),
        (
            json!([{"id": "a", "fields": ["$.org"]}]),
            422,
            "INVALID_UNIQUE_KEY_DEFINITION",
        ),
        (
            json!([{"id": "a", "fields": ["$.many[*]"]}]),
            422,
            "INVALID_UNIQUE_KEY_DEFINITION",
        ),
        (
            json!([{"id": "a", "fields": ["n"]}]),
            422,
            "INVALID_UNIQUE_KEY_DEFINITION",
        ),
        (json!([{"id": "a"}]), 400, "BAD_REQUEST"),
        (json!([{"id": 1, "fields": ["$.n"]}]), 400, "BAD_REQUEST"),
        (json!([{"id": "a", "fields": "$.n"}]), 400, "BAD_REQUEST"),
        (json!({"id": "a"}), 400, "BAD_REQUEST"),
        (Value::Null, 400, "BAD_REQUEST"),
    ] {
        let problem = set(bad.clone()).await.refused(status, code);
        if status == 422 {
            assert_eq!(problem["properties"]["entityName"], "doc", "{bad}");
            assert_eq!(problem["properties"]["entityVersion"], 1, "{bad}");
        }
    }
    rest.put(KEYS, "{").await.refused(400, "BAD_REQUEST");
    let large = format!(r#"{{"uniqueKeys":[{}]}}"#, " ".repeat(1 << 20));
    rest.put(KEYS, large).await.refused(400, "BAD_REQUEST");
    assert_eq!(
        export("SIMPLE_VIEW").await["uniqueKeys"],
        keys(),
        "they stay"
    );
    // Another sample keeps them, unless one of their fields would be no scalar.
    import(json!({"n": "text", "more": 1})).await.ok();
    assert_eq!(export("SIMPLE_VIEW").await["uniqueKeys"], keys());
    for spoiling in [json!({"n": {"x": 1}}), json!({"org": {"code": ["x"]}})] {
        let problem = import(spoiling.clone()).await;
        let problem = problem.refused(422, "INVALID_UNIQUE_KEY_DEFINITION");
        assert_eq!(problem["properties"]["entityName"], "doc", "{spoiling}");
    }
    let other = json!([{"id": "by-more", "fields": ["$.more"]}]);
    set(other.clone()).await.ok();
    assert_eq!(export("SIMPLE_VIEW").await["uniqueKeys"], other);
    import(json!({"n": {"x": 1}})).await.ok();
    set(json!([])).await.ok();
    assert_eq!(export("SIMPLE_VIEW").await.get("uniqueKeys"), None);
    rest.put("/api/model/doc/1/lock", "").await.ok();
    let problem = set(other).await.refused(409, "MODEL_ALREADY_LOCKED");
    let properties = &problem["properties"];
    assert_eq!(
        (&properties["expectedState"], &properties["actualState"]),
        (&json!("UNLOCKED"), &json!("LOCKED"))
    );
    // A model that is made anew begins without.
    rest.put("/api/model/doc/1/unlock", "").await.ok();
    set(json!([{"id": "a", "fields": ["$.other"]}])).await.ok();
    rest.delete("/api/model/doc/1").await.ok();
    import(sample()).await.ok();
    assert_eq!(export("SIMPLE_VIEW").await.get("uniqueKeys"), None);
}

#[tokio::test]
async fn keys_change_once_no_entity_is_left() {
    let stage = Stage::plain().await;
    stage.post(doc("a", json!(1))).await.ok();
    let unlock = "/api/model/doc/1/unlock";
    stage
        .rest
        .put(unlock, "")
        .await
        .refused(409, "MODEL_HAS_ENTITIES");
    stage.rest.delete("/api/entity/doc/1").await.ok();
    stage.rest.put(unlock, "").await.ok();
    let other = json!({"uniqueKeys": [{"id": "by-n", "fields": ["$.n"]}]});
    let answer = stage
        .connection
        .ok(
            "EntityModelSetUniqueKeysRequest",
            json!({"model": stage.model, "uniqueKeys": other["uniqueKeys"]}),
        )
        .await;
    assert_eq!(answer["state"], "UNLOCKED");
    stage.rest.put("/api/model/doc/1/lock", "").await.ok();
    stage.post(doc("a", json!(1))).await.ok();
    stage
        .post(doc("b", json!(1)))
        .await
        .refused(409, "UNIQUE_VIOLATION");
    stage.post(doc("a", json!(2))).await.ok();
    stage.post(json!({"org": {"code": "x"}})).await.ok();
}

/// New entities go from `A` to `B` through one processor of that mode; from there by hand.
fn processed(mode: &str) -> Value {
    states(json!({
        "A": [automated("GO", "B", processor(mode, json!({})))],
        "B": [manual("AGAIN", "B", processor(mode, json!({})))]}))
}

#[tokio::test]
async fn what_processors_write_is_checked_in_every_mode() {
    for mode in ["SYNC", "ASYNC_SAME_TX", "COMMIT_BEFORE_DISPATCH"] {
        let stage = Stage::of(processed(mode)).await;
        let member = Member::join(&stage.server, &[]).await;
        member.serve(|call, _| async move {
            let mut data = call.data().clone();
            match data["org"]["code"].as_str() {
                Some("partial") => data["n"] = Value::Null,
                Some("same") => data["org"]["code"] = json!("taken"),
                _ => {}
            }
            if call.data().get("other").is_some() {
                // It fills in what the request left open.
                data = json!({"org": {"code": "filled"}, "n": 1});
            }
            Reply::Data(data)
        });
        stage.create(doc("taken", json!(1))).await;
        let refused = stage.post(doc("same", json!(1))).await;
        refused.refused(409, "UNIQUE_VIOLATION");
        let refused = stage.post(doc("partial", json!(1))).await;
        refused.refused(422, "INVALID_UNIQUE_KEY");
        let id = stage.create(json!({"other": true})).await;
        let data = &get(&stage.connection, &id).await["data"];
        assert_eq!(data["org"]["code"], "filled", "{mode}");
        stage
            .post(json!({"other": false}))
            .await
            .refused(409, "UNIQUE_VIOLATION");
        // The value is free again if nothing of the entity was stored; otherwise its own.
        if mode == "COMMIT_BEFORE_DISPATCH" {
            let again = stage.post(doc("same", json!(1))).await;
            again.refused(409, "UNIQUE_VIOLATION");
        }
    }
}

#[tokio::test]
async fn what_a_timer_writes_is_checked_and_tried_again() {
    let mut config = processor("SYNC", json!({}));
    config["schedule"] = json!({"delayMs": 50});
    let fires = automated("LATER", "B", config);
    let workflow = states(json!({"A": [fires], "B": []}));
    let server = Server::with(&[
        ("CYODA_STORAGE_BACKEND", "memory"),
        ("CYODA_SCHEDULER_REDISPATCH_BACKOFF", "50ms"),
    ]);
    let stage = Stage::on(server, workflow).await;
    let member = Member::join(&stage.server, &[]).await;
    let mut calls = member.record(|call| {
        let mut data = call.data().clone();
        data["org"]["code"] = json!("taken");
        Reply::Data(data)
    });
    let first = stage.create(doc("a", json!(1))).await;
    calls.recv().await.expect("a call");
    let second = stage.create(doc("b", json!(1))).await;
    calls.recv().await.expect("a call");
    calls.recv().await.expect("another try");
    let data = get(&stage.connection, &second).await;
    assert_eq!(data["data"]["org"]["code"], "b");
    stage
        .rest
        .delete(&format!("/api/entity/{first}"))
        .await
        .ok();
    // The try that is taken may be the one that has called already.
    let taken = async {
        loop {
            let entity = get(&stage.connection, &second).await;
            if entity["meta"]["state"] == "B" {
                break entity;
            }
        }
    };
    let taken = tokio::time::timeout(PATIENCE, taken)
        .await
        .expect("a try that is taken");
    assert_eq!(taken["data"]["org"]["code"], "taken");
}

#[tokio::test]
async fn joined_writes_count_with_the_transaction_they_join() {
    let stage = Stage::of(processed("SYNC")).await;
    let import = json!({"model": {"name": "note", "version": 1}, "dataFormat": "JSON", "converter": "SAMPLE_DATA", "payload": {"n": 1}});
    stage
        .connection
        .ok("EntityModelImportRequest", import)
        .await;
    stage
        .rest
        .put(
            "/api/model/note/1/unique-keys",
            json!({"uniqueKeys": [{"id": "n", "fields": ["$.n"]}]}).to_string(),
        )
        .await
        .ok();
    stage.rest.put("/api/model/note/1/lock", "").await.ok();
    let note = json!({"name": "note", "version": 1});
    let held = create(&stage.connection, &note, json!({"n": 1})).await;
    let member = Member::join(&stage.server, &[]).await;
    let serve = async |steps: Vec<(&'static str, Value)>| {
        let call = member.next().await;
        let mut answers = Vec::new();
        for (kind, payload) in steps {
            let token = [("cyodatxtoken", call.token())];
            answers.push(stage.connection.call_with(kind, payload, &token).await);
        }
        member.reply(&call, Reply::Nothing).await;
        answers
    };
    let new = || new_entity(&note, &json!({"n": 1}));
    // Claimed while someone else has it: nothing of the transaction is stored.
    let (refused, _) = tokio::join!(
        stage.post(doc("a", json!(1))),
        serve(vec![("EntityCreateRequest", new())])
    );
    refused.refused(409, "UNIQUE_VIOLATION");
    // Freed first, in the same transaction.
    let delete = json!({"entityId": held});
    let (made, answers) = tokio::join!(
        stage.post(doc("a", json!(1))),
        serve(vec![
            ("EntityDeleteRequest", delete),
            ("EntityCreateRequest", new())
        ])
    );
    made.ok();
    assert!(answers.iter().all(|answer| answer["success"] == true));
    let partial = json!({"model": stage.model, "data": {"n": 7}});
    let partial = json!({"dataFormat": "JSON", "payload": partial});
    let (made, answers) = tokio::join!(
        stage.post(doc("b", json!(1))),
        serve(vec![("EntityCreateRequest", partial)])
    );
    made.ok();
    assert_eq!(code(&answers[0]), "INVALID_UNIQUE_KEY");
}

#[tokio::test]
async fn claims_survive_kill_nine() {
    let server = Server::on_disk(&[]);
    let mut stage = Stage::on(server, states(json!({"A": []}))).await;
    for cycle in 0..5 {
        let connection = Arc::clone(&stage.connection);
        let mut answers = Vec::new();
        for n in 0..200 {
            let new = new_entity(&stage.model, &doc("k", json!(cycle * 1_000 + n % 100)));
            let id = connection.fresh_id();
            answers.push(
                connection
                    .begin(request("EntityCreateRequest", &id, new))
                    .await,
            );
        }
        // Of two that claim the same it may be either.
        answers[0].recv().await.expect("an answer");
        stage.server.kill();
        stage.server.restart();
        stage.connection = Arc::new(stage.server.connect().await);
        stage.rest = stage.server.rest();
        let all = json!({"model": stage.model, "pageSize": 10_000});
        let (entities, _) = stage.connection.all("EntityGetAllRequest", all).await;
        let numbers = entities
            .iter()
            .map(|entity| entity["payload"]["data"]["n"].as_i64());
        let mut numbers: Vec<_> = numbers.map(|n| n.expect("a number")).collect();
        let count = numbers.len();
        numbers.sort_unstable();
        numbers.dedup();
        assert_eq!(numbers.len(), count, "none twice");
        for n in numbers.iter().rev().take(3) {
            stage
                .post(doc("k", json!(n)))
                .await
                .refused(409, "UNIQUE_VIOLATION");
        }
    }
}
