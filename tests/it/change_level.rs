//! Models that their entities may widen (`models-and-entities.md` §4.3).

use std::sync::Arc;

use futures_util::future::join_all;
use interlock::event::AttributeValue;
use serde_json::{Value, json};

use crate::support::{
    Connection, Member, Reply, Rest, Server, code, create, get, governed_model, locked_model,
    new_entity, payload_of, processed_by, request,
    scene::{manual, put, simple, states},
    sync_processor,
};

const STRUCTURAL: &str = "STRUCTURAL";

async fn set_level(connection: &Connection, model: &Value, level: &str) -> Value {
    let change = json!({"model": model, "changeLevel": level});
    connection
        .call("EntityModelSetChangeLevelRequest", change)
        .await
}

/// The fields of the top of a model, as `SIMPLE_VIEW` has them.
async fn fields(connection: &Connection, model: &Value) -> Value {
    let export = json!({"model": model, "converter": "SIMPLE_VIEW"});
    connection.ok("EntityModelExportRequest", export).await["payload"]["model"]["$"].clone()
}

fn new(model: &Value, data: Value) -> (&'static str, Value) {
    ("EntityCreateRequest", new_entity(model, &data))
}

async fn stage(sample: Value, level: &str) -> (Server, Connection, Value) {
    let server = Server::start();
    let connection = server.connect().await;
    let model = locked_model(&connection, "doc", sample).await;
    let set = set_level(&connection, &model, level).await;
    assert_eq!(
        (&set["success"], &set["changeLevel"]),
        (&json!(true), &json!(level))
    );
    (server, connection, model)
}

#[tokio::test]
async fn a_level_is_set_in_either_state_and_kept_by_imports() {
    let server = Server::start();
    let (connection, rest) = (server.connect().await, server.rest());
    let set = async |level: &str| {
        rest.post(&format!("/api/model/doc/1/changeLevel/{level}"), "")
            .await
    };
    let missing = set("NOTHING").await.refused(404, "MODEL_NOT_FOUND");
    assert_eq!(missing["properties"]["entityName"], "doc");
    let import = async |sample: &str| {
        let path = "/api/model/import/JSON/SAMPLE_DATA/doc/1";
        rest.post(path, sample.to_owned()).await.ok()
    };
    let id = import(r#"{"n":1}"#).await;
    let listed = async || rest.get("/api/model/").await.ok()[0]["modelUpdateDate"].clone();
    let imported = listed().await;
    let said = set("TYPE").await.ok();
    assert_eq!(
        said,
        json!({"success": true, "message": "model doc:1 now at change level TYPE",
            "modelId": id, "modelKey": {"name": "doc", "version": 1}})
    );
    assert_eq!(listed().await, imported, "it is no import");
    let wrong = set("type").await.refused(400, "INVALID_CHANGE_LEVEL");
    assert_eq!(
        wrong["properties"],
        json!({"errorCode": "INVALID_CHANGE_LEVEL", "entityName": "doc", "entityVersion": 1, "suppliedValue": "type",
            "validValues": ["ARRAY_LENGTH", "ARRAY_ELEMENTS", "TYPE", "STRUCTURAL"]})
    );
    import(r#"{"s":"x"}"#).await;
    rest.put("/api/model/doc/1/lock", "").await.ok();
    let model = json!({"name": "doc", "version": 1});
    create(&connection, &model, json!({"n": "text", "s": "y"})).await;
    assert_eq!(fields(&connection, &model).await[".n"], "[INTEGER, STRING]");
    // Lowered and raised at will.
    set("ARRAY_LENGTH").await.ok();
    let (kind, payload) = new(&model, json!({"s": 1}));
    assert_eq!(connection.fails(kind, payload).await, "BAD_REQUEST");
    set("STRUCTURAL").await.ok();
    create(&connection, &model, json!({"s": 1, "new": true})).await;
    // A model that is made anew has none.
    let gone = json!({"model": model});
    connection.ok("EntityDeleteAllRequest", gone.clone()).await;
    rest.put("/api/model/doc/1/unlock", "").await.ok();
    connection.ok("EntityModelDeleteRequest", gone).await;
    import(r#"{"n":1}"#).await;
    rest.put("/api/model/doc/1/lock", "").await.ok();
    assert_eq!(fields(&connection, &model).await, json!({".n": "INTEGER"}));
    let (kind, payload) = new(&model, json!({"n": "x"}));
    assert_eq!(connection.fails(kind, payload).await, "INCOMPATIBLE_TYPE");
}

#[tokio::test]
async fn writes_widen_the_model_as_far_as_the_level_goes() {
    let sample = json!({"n": 1, "tags": ["x"], "dims": {"w": 1}});
    let (server, connection, model) = stage(sample, "ARRAY_ELEMENTS").await;
    let rest = server.rest();
    let post = async |data: Value| rest.post("/api/entity/JSON/doc/1", data.to_string()).await;
    let id = create(&connection, &model, json!({"n": 2, "tags": ["x", 7, "y"]})).await;
    let said = post(json!({"n": 1.5, "dims": {"h": 1}, "tags": [8]})).await;
    let problem = said.refused(400, "BAD_REQUEST");
    assert_eq!(
        problem["detail"],
        "BAD_REQUEST: change level violation: \
         dims.h: a new field requires STRUCTURAL level, but level is \"ARRAY_ELEMENTS\"; \
         n: DOUBLE where INTEGER is declared requires TYPE level, but level is \"ARRAY_ELEMENTS\""
    );
    post(json!({"dims": [1]}))
        .await
        .refused(400, "POLYMORPHIC_SLOT");
    let widened = json!({"#.dims": "OBJECT", ".n": "INTEGER", ".tags[*]": "[INTEGER, STRING]"});
    assert_eq!(fields(&connection, &model).await, widened);

    set_level(&connection, &model, STRUCTURAL).await;
    put(
        &rest,
        &id,
        "",
        json!({"n": 13.111, "extra": {"deep": [null, {"x": 1}]}}),
    )
    .await
    .ok();
    let batch = json!({"dataFormat": "JSON", "payloads": [
        {"model": model, "data": {"one": 1}}, {"model": model, "data": {"two": 2, "one": 1}}]});
    connection.ok("EntityCreateCollectionRequest", batch).await;
    let list = json!([{"id": id, "payload": "{\"three\":3}"}]);
    rest.put("/api/entity/JSON", list.to_string()).await.ok();
    assert_eq!(
        fields(&connection, &model).await,
        json!({"#.dims": "OBJECT", "#.extra": "OBJECT", ".n": "DOUBLE", ".tags[*]": "[INTEGER, STRING]",
            ".one": "INTEGER", ".two": "INTEGER", ".three": "INTEGER"})
    );

    // Patches and checks stay strict.
    let patch = json!({"patchFormat": "MERGE_PATCH", "payload": {"entityId": id, "patch": {"four": 4}, "ifMatch": "*"}});
    assert_eq!(
        connection.fails("EntityPatchRequest", patch).await,
        "BAD_REQUEST"
    );
    let check = json!({"model": model, "payload": {"four": 4}});
    let checked = connection.ok("EntityModelValidateRequest", check).await;
    assert_eq!(checked["valid"], false);
}

#[tokio::test]
async fn what_a_failed_write_would_have_added_is_forgotten() {
    let server = Server::start();
    let connection = server.connect().await;
    let workflow = processed_by(json!([sync_processor("p", json!({}))]));
    let model = governed_model(&connection, "doc", json!({"n": 1}), workflow).await;
    set_level(&connection, &model, STRUCTURAL).await;
    let member = Member::join(&server, &[]).await;
    member.serve(|call, _| async move {
        match call.data()["n"].as_i64() {
            Some(0) => Reply::Failure("no"),
            Some(1) => Reply::Data(json!({"n": 1, "made": {"by": "member"}})),
            _ => Reply::Nothing,
        }
    });
    let (kind, payload) = new(&model, json!({"n": 0, "lost": 1}));
    assert_eq!(connection.fails(kind, payload).await, "WORKFLOW_FAILED");
    let batch = json!({"dataFormat": "JSON", "payloads": [
        {"model": model, "data": {"n": 2, "lost": 1}}, {"model": model, "data": {"n": 0}}]});
    let refused = connection
        .call("EntityCreateCollectionRequest", batch)
        .await;
    assert_eq!(code(&refused), "WORKFLOW_FAILED");
    assert_eq!(fields(&connection, &model).await, json!({".n": "INTEGER"}));

    let id = create(&connection, &model, json!({"n": 2})).await;
    let again = json!({"dataFormat": "JSON", "payload": {"entityId": id, "data": {"n": 0, "lost": 1}, "transition": "AGAIN"}});
    assert_eq!(
        connection.fails("EntityUpdateRequest", again).await,
        "WORKFLOW_FAILED"
    );
    assert_eq!(fields(&connection, &model).await, json!({".n": "INTEGER"}));

    // What a processor adds is part of the write as well.
    create(&connection, &model, json!({"n": 1})).await;
    assert_eq!(
        fields(&connection, &model).await,
        json!({".n": "INTEGER", "#.made": "OBJECT"})
    );
    // And where the level does not go so far, its document is taken all the same.
    set_level(&connection, &model, "TYPE").await;
    let made = json!({"version": "1", "name": "other", "initialState": "NEW", "states": {
        "NEW": {"transitions": [{"name": "PROCESS", "next": "DONE", "manual": false, "processors": [sync_processor("p", json!({}))]}]}, "DONE": {}}});
    let narrow = governed_model(&connection, "narrow", json!({"n": 1}), made).await;
    set_level(&connection, &narrow, "TYPE").await;
    let id = create(&connection, &narrow, json!({"n": 1})).await;
    assert_eq!(
        get(&connection, &id).await["data"]["made"],
        json!({"by": "member"})
    );
    assert_eq!(fields(&connection, &narrow).await, json!({".n": "INTEGER"}));
}

#[tokio::test]
async fn a_transaction_sees_what_it_adds_before_others_do() {
    let server = Server::start();
    let connection = server.connect().await;
    let workflow = processed_by(json!([sync_processor("p", json!({}))]));
    let model = governed_model(&connection, "doc", json!({"n": 1}), workflow).await;
    let side = locked_model(&connection, "side", json!({"n": 1})).await;
    for model in [&model, &side] {
        set_level(&connection, model, "TYPE").await;
    }
    let member = Member::join(&server, &[]).await;
    let making = {
        let (kind, payload) = new(&model, json!({"n": "text"}));
        connection.ok(kind, payload)
    };
    let inside = async {
        let call = member.next().await;
        let token = call.token();
        let joined = async |kind: &str, payload: Value| {
            let id = member.connection.fresh_id();
            let event = request(kind, &id, payload)
                .with("cyodatxtoken", AttributeValue::String(token.into()));
            payload_of(&member.connection.ask(event).await[0])
        };
        let export = json!({"model": model, "converter": "SIMPLE_VIEW"});
        let seen = joined("EntityModelExportRequest", export).await;
        assert_eq!(seen["payload"]["model"]["$"][".n"], "[INTEGER, STRING]");
        // An operand that only the widened field takes.
        let find = json!({"model": model, "condition": simple("$.n", "GREATER_THAN", json!("a"))});
        let found = joined("EntitySearchRequest", find.clone()).await;
        assert_eq!(found["success"], true, "{found}");
        let checked = json!({"model": model, "payload": {"n": "x"}});
        assert_eq!(
            joined("EntityModelValidateRequest", checked).await["valid"],
            true
        );
        // What a callback adds is the transaction's too; what fails in one is not.
        let (kind, payload) = new(&side, json!({"n": [1]}));
        assert_eq!(joined(kind, payload).await["success"], false);
        let (kind, payload) = new(&side, json!({"n": "x"}));
        assert_eq!(joined(kind, payload).await["success"], true);
        for model in [&model, &side] {
            assert_eq!(fields(&connection, model).await, json!({".n": "INTEGER"}));
        }
        let event = request("EntitySearchRequest", &connection.fresh_id(), find);
        let outside = payload_of(&connection.ask(event).await[0]);
        assert_eq!(code(&outside), "CONDITION_TYPE_MISMATCH");
        member.reply(&call, Reply::Nothing).await;
    };
    tokio::join!(making, inside);
    for model in [&model, &side] {
        assert_eq!(
            fields(&connection, model).await,
            json!({".n": "[INTEGER, STRING]"})
        );
    }
}

#[tokio::test]
async fn writers_that_widen_the_same_model_never_meet() {
    let (server, connection, model) = stage(json!({"n": 1}), STRUCTURAL).await;
    let connection = Arc::new(connection);
    let makes = (0..200).map(|n| {
        let shape = match n % 4 {
            0 => json!({format!("f{}", n % 23): n}),
            1 => json!({"same": {"leaf": "x"}, "n": "text"}),
            2 => json!({"same": {"leaf": 1.5, "list": [{format!("g{}", n % 7): true}]}}),
            _ => json!({"n": 3_000_000_000_u64}),
        };
        let (kind, payload) = new(&model, shape);
        connection.ok(kind, payload)
    });
    join_all(makes).await;
    let all = fields(&connection, &model).await;
    assert_eq!(all.as_object().expect("fields").len(), 2 + 23, "{all}");
    assert_eq!(all[".n"], "[LONG, STRING]");
    // Whatever a document adds, others wait for nothing: a level that moves is seen by the next.
    let rest = server.rest();
    let levels = async {
        for _ in 0..20 {
            for level in ["TYPE", STRUCTURAL] {
                set_level(&connection, &model, level).await;
            }
        }
    };
    let writes = async {
        let mut refused = 0;
        for n in 0..100 {
            let said = rest
                .post(
                    "/api/entity/JSON/doc/1",
                    json!({format!("h{n}"): n}).to_string(),
                )
                .await;
            match said.status.as_u16() {
                200 => {}
                400 => assert_eq!(said.problem(), "BAD_REQUEST"),
                _ => said.refused_for_now(409, "CONFLICT"),
            }
            refused += u32::from(said.status != 200);
        }
        refused
    };
    let ((), refused) = tokio::join!(levels, writes);
    let grown = fields(&connection, &model).await;
    let grown = grown.as_object().expect("fields").len();
    assert_eq!(grown, 25 + 100 - refused as usize);
}

#[tokio::test]
async fn writers_that_put_different_kinds_into_one_field_are_refused_but_for_one_kind() {
    let (_server, connection, model) = stage(json!({"n": 1}), STRUCTURAL).await;
    let connection = Arc::new(connection);
    for n in 0..20 {
        let field = format!("f{n}");
        let makes = [json!(1), json!([1]), json!({"o": 1})].map(|value| {
            let (connection, model) = (Arc::clone(&connection), model.clone());
            let (kind, payload) = new(&model, json!({&field: value}));
            async move { connection.call(kind, payload).await }
        });
        let answers = join_all(makes).await;
        let (made, refused): (Vec<_>, Vec<_>) =
            answers.iter().partition(|answer| answer["success"] == true);
        assert_eq!(made.len(), 1, "{answers:?}");
        for answer in refused {
            assert_eq!(code(answer), "POLYMORPHIC_SLOT");
        }
    }
}

#[tokio::test]
async fn what_was_added_outlives_a_crash_and_a_fold() {
    let mut server = Server::on_disk(&[]);
    let connection = server.connect().await;
    let model = locked_model(&connection, "doc", json!({"n": 1})).await;
    set_level(&connection, &model, STRUCTURAL).await;
    // More deltas than are kept apart.
    for n in 0..150 {
        create(&connection, &model, json!({format!("f{n}"): {"x": n}})).await;
    }
    let before = fields(&connection, &model).await;
    assert_eq!(before.as_object().expect("fields").len(), 151);
    server.kill();
    server.restart();
    let connection = server.connect().await;
    assert_eq!(fields(&connection, &model).await, before);
    create(&connection, &model, json!({"after": 1, "f7": {"y": 1}})).await;
    assert_eq!(fields(&connection, &model).await[".after"], "INTEGER");
}

/// The Java template looks a business id up before the first write (`search.md` §3).
#[tokio::test]
async fn a_field_that_may_still_come_is_a_missing_one() {
    for (settings, refused) in [
        (vec![], ""),
        (
            vec![("INTERLOCK_COMPAT", "cyoda-0.8")],
            "INVALID_FIELD_PATH",
        ),
    ] {
        let server = Server::with(&settings);
        let connection = server.connect().await;
        let model = locked_model(&connection, "doc", json!({})).await;
        let find = |operator: &str| json!({"model": model, "condition": simple("$.sku", operator, json!("A"))});
        let code_of = async |payload: Value| {
            let answers = connection
                .ask(request(
                    "EntitySearchRequest",
                    &connection.fresh_id(),
                    payload,
                ))
                .await;
            answers
                .iter()
                .map(payload_of)
                .find(|payload| payload["success"] == false)
                .map_or_else(String::new, |payload| code(&payload))
        };
        assert_eq!(code_of(find("EQUALS")).await, "INVALID_FIELD_PATH");
        set_level(&connection, &model, "TYPE").await;
        assert_eq!(code_of(find("EQUALS")).await, "INVALID_FIELD_PATH");
        set_level(&connection, &model, STRUCTURAL).await;
        assert_eq!(code_of(find("EQUALS")).await, refused);
        create(&connection, &model, json!({})).await;
        let id = create(&connection, &model, json!({"sku": "A"})).await;
        let (found, _) = connection.all("EntitySearchRequest", find("EQUALS")).await;
        assert_eq!(found.len(), 1);
        assert_eq!(found[0]["payload"]["meta"]["id"], id.as_str());
        let (found, _) = connection
            .all("EntitySearchRequest", find("NOT_EQUAL"))
            .await;
        assert!(found.is_empty(), "a missing field satisfies nothing");
    }
}

/// A criterion reads a field that came with the document it is asked of.
#[tokio::test]
async fn criteria_know_the_fields_that_came_with_the_document() {
    let server = Server::start();
    let connection = server.connect().await;
    let workflow = states(json!({
        "A": [{"name": "GO", "next": "B", "manual": false, "criterion": simple("$.when", "GREATER_THAN", json!("2024-01-01"))}],
        "B": [manual("BACK", "A", json!({}))],
    }));
    let model = governed_model(&connection, "doc", json!({"n": 1}), workflow).await;
    set_level(&connection, &model, STRUCTURAL).await;
    let later = create(&connection, &model, json!({"when": "2024-06-01"})).await;
    let earlier = create(&connection, &model, json!({"when": "2023-06-01"})).await;
    assert_eq!(get(&connection, &later).await["meta"]["state"], "B");
    assert_eq!(get(&connection, &earlier).await["meta"]["state"], "A");
}

#[tokio::test]
async fn a_document_is_checked_against_a_model_to_its_end() {
    let server = Server::start();
    let connection = server.connect().await;
    let rest: Rest = server.rest();
    let validate = async |body: &str| {
        rest.post("/api/model/validate/doc/1", body.to_owned())
            .await
    };
    validate("{}").await.refused(404, "MODEL_NOT_FOUND");
    rest.post(
        "/api/model/import/JSON/SAMPLE_DATA/doc/1",
        r#"{"n":1,"lines":[{"q":1}],"d":{"x":1}}"#,
    )
    .await
    .ok();
    let passed = validate(r#"{"n":2}"#).await.ok();
    assert_eq!(
        (&passed["success"], &passed["message"]),
        (&json!(true), &json!("Validation passed"))
    );
    rest.put("/api/model/doc/1/lock", "").await.ok();
    let failed = validate(r#"{"n":"x","lines":[{"q":1},{"q":2.5,"new":1}],"d":null}"#)
        .await
        .ok();
    assert_eq!(failed["success"], false);
    assert_eq!(
        failed["message"],
        "Validation failed: n: expected INTEGER, got STRING; lines[1].q: expected INTEGER, got DOUBLE; \
         lines[1].new: unexpected field not present in model; d: expected object, got NULL"
    );
    assert_eq!(failed["modelKey"], json!({"name": "doc", "version": 1}));
    validate("{").await.refused(400, "BAD_REQUEST");
    let model = json!({"name": "doc", "version": 1});
    let asked = json!({"model": model, "payload": {"n": "x", "z": [1]}});
    let answer = connection.ok("EntityModelValidateRequest", asked).await;
    assert_eq!(
        answer["errors"],
        json!([
            {"path": "n", "message": "n: expected INTEGER, got STRING", "expected": ["INTEGER"], "found": "STRING"},
            {"path": "z", "message": "z: unexpected field not present in model", "expected": []},
        ])
    );
    assert_eq!(answer["errorCount"], 2);
    let many: Vec<_> = (0..1_500).map(|n| json!({format!("m{n}"): 1})).collect();
    let asked = json!({"model": model, "payload": {"lines": many}});
    let answer = connection.ok("EntityModelValidateRequest", asked).await;
    assert_eq!(answer["errors"].as_array().expect("a list").len(), 1_000);
    assert_eq!(answer["errorCount"], 1_500);
}

#[tokio::test]
async fn a_field_of_a_unique_key_stays_a_scalar() {
    let server = Server::start();
    let (connection, rest) = (server.connect().await, server.rest());
    let import = "/api/model/import/JSON/SAMPLE_DATA/doc/1";
    rest.post(import, r#"{"id":null,"n":1}"#).await.ok();
    let model = json!({"name": "doc", "version": 1});
    let keys = json!({"model": model, "uniqueKeys": [{"id": "k", "fields": ["$.id"]}]});
    connection.ok("EntityModelSetUniqueKeysRequest", keys).await;
    rest.put("/api/model/doc/1/lock", "").await.ok();
    set_level(&connection, &model, STRUCTURAL).await;
    let post = async |data: Value| rest.post("/api/entity/JSON/doc/1", data.to_string()).await;
    for data in [json!({"id": {"a": 1}}), json!({"id": [1]})] {
        let said = post(data).await;
        said.refused(422, "INVALID_UNIQUE_KEY_DEFINITION");
    }
    post(json!({"id": "A", "more": 1})).await.ok();
    post(json!({"id": "A"}))
        .await
        .refused(409, "UNIQUE_VIOLATION");
    assert_eq!(
        fields(&connection, &model).await,
        json!({".id": "STRING", ".n": "INTEGER", ".more": "INTEGER"})
    );
}
