//! Models: import, life cycle, export.

use serde_json::{Value, json};

use crate::support::{Server, code, create, get, locked_model};

#[tokio::test]
async fn a_model_goes_through_its_life() {
    let server = Server::start();
    let connection = server.connect().await;
    let model = json!({"name": "parcel", "version": 2});
    let import = |payload| json!({"model": model, "dataFormat": "JSON", "converter": "SAMPLE_DATA", "payload": payload});
    let change = |transition: &str| json!({"model": model, "transition": transition});
    assert_eq!(
        connection
            .fails("EntityModelTransitionRequest", change("LOCK"))
            .await,
        "MODEL_NOT_FOUND"
    );
    let imported = connection
        .ok("EntityModelImportRequest", import(json!({"sku": "A"})))
        .await;
    assert_eq!(imported["modelId"], "f8b37c28-1e72-5b2d-917d-101740a5734c");
    connection
        .ok("EntityModelImportRequest", import(json!({"qty": 1})))
        .await;
    let new = json!({"dataFormat": "JSON", "payload": {"model": model, "data": {"sku": "B"}}});
    assert_eq!(
        connection.fails("EntityCreateRequest", new.clone()).await,
        "MODEL_NOT_LOCKED"
    );
    assert_eq!(
        connection
            .fails("EntityModelTransitionRequest", change("UNLOCK"))
            .await,
        "MODEL_ALREADY_UNLOCKED"
    );
    let locked = connection
        .ok("EntityModelTransitionRequest", change("lock"))
        .await;
    assert_eq!(
        (&locked["state"], &locked["modelId"]),
        (&json!("LOCKED"), &imported["modelId"])
    );
    assert_eq!(
        connection
            .fails("EntityModelTransitionRequest", change("LOCK"))
            .await,
        "MODEL_ALREADY_LOCKED"
    );
    assert_eq!(
        connection
            .fails("EntityModelImportRequest", import(json!({"z": 1})))
            .await,
        "MODEL_ALREADY_LOCKED"
    );
    assert_eq!(
        connection
            .fails("EntityModelDeleteRequest", json!({"model": model}))
            .await,
        "MODEL_ALREADY_LOCKED"
    );
    let id = create(&connection, &model, json!({"sku": "B", "qty": 2})).await;
    let refused = connection
        .call("EntityModelTransitionRequest", change("UNLOCK"))
        .await;
    assert_eq!(refused["error"]["properties"]["entityCount"], 1);
    assert!(
        refused["error"]["message"]
            .as_str()
            .expect("text")
            .starts_with("MODEL_HAS_ENTITIES: ")
    );
    let listed = connection.ok("EntityModelGetAllRequest", json!({})).await;
    assert_eq!(listed["models"][0]["name"], "parcel");
    assert_eq!(
        (
            &listed["models"][0]["state"],
            &listed["models"][0]["version"]
        ),
        (&json!("LOCKED"), &json!(2))
    );
    connection
        .ok("EntityDeleteRequest", json!({"entityId": id}))
        .await;
    connection
        .ok("EntityModelTransitionRequest", change("UNLOCK"))
        .await;
    connection
        .ok("EntityModelDeleteRequest", json!({"model": model}))
        .await;
    assert_eq!(
        connection.ok("EntityModelGetAllRequest", json!({})).await["models"],
        json!([])
    );
    assert_eq!(
        connection.fails("EntityCreateRequest", new).await,
        "MODEL_NOT_FOUND"
    );
}

#[tokio::test]
async fn a_model_is_exported_in_both_forms() {
    let server = Server::start();
    let connection = server.connect().await;
    let sample = json!({"sku": "A-1", "qty": 3, "tags": ["x"], "dims": {"w": 1.5}, "lines": [{"n": 1, "opts": ["a"]}]});
    let model = locked_model(&connection, "parcel", sample).await;
    let view = connection
        .ok(
            "EntityModelExportRequest",
            json!({"model": model, "converter": "SIMPLE_VIEW"}),
        )
        .await;
    assert_eq!(view["payload"]["currentState"], "LOCKED");
    assert_eq!(
        view["payload"]["model"]["$.lines[*]"],
        json!({"#": "ARRAY_ELEMENT", ".n": "INTEGER", ".opts[*]": "STRING"})
    );
    assert_eq!(view["model"], model);
    let schema = connection
        .ok(
            "EntityModelExportRequest",
            json!({"model": model, "converter": "JSON_SCHEMA"}),
        )
        .await;
    assert_eq!(
        schema["payload"]["model"]["properties"]["dims"],
        json!({"type": "object", "properties": {"w": {"type": "number"}}})
    );
    let unknown = json!({"model": {"name": "nothing", "version": 1}, "converter": "SIMPLE_VIEW"});
    let refused = connection.call("EntityModelExportRequest", unknown).await;
    assert_eq!(
        (&refused["success"], &refused["payload"]),
        (&json!(false), &json!({}))
    );
    assert_eq!(refused["modelId"], "00000000-0000-0000-0000-000000000000");
    for converter in ["SAMPLE_DATA"] {
        let export = json!({"model": model, "converter": converter});
        assert_eq!(
            connection.fails("EntityModelExportRequest", export).await,
            "BAD_REQUEST"
        );
    }
}

#[tokio::test]
async fn a_model_outlives_a_restart() {
    let mut server = Server::on_disk(&[]);
    let model = locked_model(
        &server.connect().await,
        "parcel",
        json!({"a": {"b": [1, "x"]}}),
    )
    .await;
    let export = json!({"model": model, "converter": "SIMPLE_VIEW"});
    let before = server
        .connect()
        .await
        .ok("EntityModelExportRequest", export.clone())
        .await;
    assert_eq!(server.stop().await, Some(0));
    server.restart();
    let after = server
        .connect()
        .await
        .ok("EntityModelExportRequest", export)
        .await;
    assert_eq!(after["payload"], before["payload"]);
}

#[tokio::test]
async fn concurrent_imports_all_end_up_in_the_schema() {
    let server = Server::start();
    let connection = server.connect().await;
    let model = json!({"name": "wide", "version": 1});
    let imports = (0..40).map(|n| {
        let sample = json!({format!("field{n}"): n});
        let import = json!({"model": model, "dataFormat": "JSON", "converter": "SAMPLE_DATA", "payload": sample});
        connection.ok("EntityModelImportRequest", import)
    });
    futures_util::future::join_all(imports).await;
    let exported = connection
        .ok(
            "EntityModelExportRequest",
            json!({"model": model, "converter": "SIMPLE_VIEW"}),
        )
        .await;
    assert_eq!(
        exported["payload"]["model"]["$"]
            .as_object()
            .expect("fields")
            .len(),
        40
    );
}

/// Records with polymorphic and missing fields, and with names that have spaces and worse.
#[tokio::test]
async fn odd_records_load_as_a_model_and_as_entities() {
    let server = Server::start();
    let (connection, rest) = (server.connect().await, server.rest());
    let films: Vec<Value> =
        serde_json::from_str(include_str!("fixtures/films.json")).expect("JSON");
    for film in &films {
        let path = "/api/model/import/JSON/SAMPLE_DATA/film/1";
        rest.post(path, film.to_string()).await.ok();
    }
    rest.put("/api/model/film/1/lock", "").await.ok();
    let exported = rest.get("/api/model/export/SIMPLE_VIEW/film/1").await.ok();
    let view = json!({
        "$": {
            ".": "NULL", ".IMDB Rating": "DOUBLE", ".IMDB Votes": "INTEGER", ".MPAA Rating": "STRING",
            ".Director": "STRING", ".Release Date": "[STRING, LOCAL_DATE]", ".Running Time min": "INTEGER",
            ".Title": "[INTEGER, STRING, YEAR]", ".US DVD Sales": "INTEGER", ".US Gross": "[LONG, STRING]",
            ".a.b [c]": "BOOLEAN", "#.Cast": "OBJECT"},
        "$.Cast": {".Extras[*]": "NULL", ".Lead Role[*]": "[INTEGER, STRING]"}});
    assert_eq!(exported["model"], view);
    let schema = rest.get("/api/model/export/JSON_SCHEMA/film/1").await.ok();
    let properties = &schema["model"]["properties"];
    assert_eq!(
        properties["Title"],
        json!({"oneOf": [{"type": "integer"}, {"type": "string"}, {"type": "string", "format": "year"}]})
    );
    assert_eq!(properties["US DVD Sales"], json!({"type": "integer"}));
    assert_eq!(
        properties["Cast"]["properties"]["Extras"],
        json!({"type": "array", "items": {"type": "null"}})
    );
    let made = rest
        .post("/api/entity/JSON/film/1", json!(films).to_string())
        .await
        .ok();
    for (film, id) in films
        .iter()
        .zip(made[0]["entityIds"].as_array().expect("ids"))
    {
        let id = id.as_str().expect("an id");
        assert_eq!(get(&connection, id).await["data"], *film);
    }
    // The view is enough to make the same model.
    let import = |name: &str, view: Value| {
        let model = json!({"name": name, "version": 1});
        let members = json!({"model": model, "dataFormat": "JSON", "converter": "SIMPLE_VIEW", "payload": view});
        connection.call("EntityModelImportRequest", members)
    };
    for body in [exported, view.clone()] {
        let imported = import("again", body).await;
        assert_eq!(imported["success"], true, "{imported}");
        let again = rest.get("/api/model/export/SIMPLE_VIEW/again/1").await.ok();
        assert_eq!(again["model"], view);
    }
    rest.put("/api/model/again/1/lock", "").await.ok();
    rest.post("/api/entity/JSON/again/1", json!(films).to_string())
        .await
        .ok();
    for wrong in [
        json!({"$": {".a": "NUMBER"}}),
        json!({}),
        json!([]),
        json!({"$": {"#.a": "OBJECT"}}),
    ] {
        assert_eq!(code(&import("wrong", wrong).await), "BAD_REQUEST");
    }
    // Over REST, models are imported from samples only (`rest.md` §2.2).
    for converter in ["JSON_SCHEMA", "SIMPLE_VIEW"] {
        let path = format!("/api/model/import/JSON/{converter}/wrong/1");
        let said = rest.post(&path, view.to_string()).await;
        let problem = said.refused(400, "BAD_REQUEST");
        assert!(
            problem["detail"]
                .as_str()
                .expect("text")
                .contains("unsupported import converter")
        );
    }
}

/// One week of earthquakes, each of which is a sample of what the others are.
#[tokio::test]
async fn real_records_load_as_a_model_and_as_entities() {
    let server = Server::start();
    let (connection, rest) = (server.connect().await, server.rest());
    let path = "clients/python/examples/earthquakes/data/earthquakes.json";
    let file = std::fs::read_to_string(path).expect("readable");
    let file: Value = serde_json::from_str(&file).expect("JSON");
    let reports = file["features"].as_array().expect("reports");
    // All are one array, so that one import learns from all of them.
    let samples = json!({"all": reports});
    let import = json!({"model": {"name": "all", "version": 1}, "dataFormat": "JSON", "converter": "SAMPLE_DATA", "payload": samples});
    connection.ok("EntityModelImportRequest", import).await;
    let view = rest.get("/api/model/export/SIMPLE_VIEW/all/1").await.ok()["model"].clone();
    assert_eq!(
        view["$.all[*].properties"],
        json!({".mag": "DOUBLE", ".place": "STRING", ".time": "LONG", ".updated": "LONG", ".tz": "INTEGER", ".url": "STRING",
            ".detail": "STRING", ".felt": "INTEGER", ".cdi": "DOUBLE", ".mmi": "DOUBLE", ".alert": "STRING", ".status": "STRING",
            ".tsunami": "INTEGER", ".sig": "INTEGER", ".net": "STRING", ".code": view["$.all[*].properties"][".code"].clone(),
            ".ids": "STRING", ".sources": "STRING", ".types": "STRING", ".nst": "INTEGER", ".dmin": "DOUBLE", ".rms": "DOUBLE",
            ".gap": view["$.all[*].properties"][".gap"].clone(), ".magType": "STRING", ".type": "STRING", ".title": "STRING"})
    );
    for report in [&reports[0], &reports[1]] {
        let path = "/api/model/import/JSON/SAMPLE_DATA/quake/1";
        rest.post(path, report.to_string()).await.ok();
    }
    rest.put("/api/model/quake/1/lock", "").await.ok();
    rest.post("/api/model/quake/1/changeLevel/STRUCTURAL", "")
        .await
        .ok();
    for window in reports.chunks(500) {
        let body = json!(window).to_string();
        rest.post("/api/entity/JSON/quake/1?transactionWindow=100", body)
            .await
            .ok();
    }
    let count = rest.get("/api/entity/stats/quake/1").await.ok();
    assert_eq!(count["count"], reports.len());
    // What was learnt on the way is what all of them together are.
    let learnt = rest.get("/api/model/export/SIMPLE_VIEW/quake/1").await.ok();
    let texts_as_one = |types: &Value| types.as_str().expect("types").replace(", YEAR", "");
    for (name, types) in view["$.all[*].properties"].as_object().expect("fields") {
        let found = &learnt["model"]["$.properties"][name];
        assert_eq!(texts_as_one(found), texts_as_one(types), "{name}");
    }
}

#[tokio::test]
async fn a_name_or_path_that_is_too_long_is_refused_and_other_writes_go_on() {
    let server = Server::start();
    let connection = server.connect().await;
    // Of random characters, so that it is not compressed.
    let mut state = 1_u32;
    let long: String = std::iter::repeat_with(|| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        char::from(b'a' + u8::try_from((state >> 24) % 26).expect("small"))
    })
    .take(6_000)
    .collect();
    let import = json!({"model": {"name": long, "version": 1}, "dataFormat": "JSON",
        "converter": "SAMPLE_DATA", "payload": {"n": 1}});
    assert_eq!(
        connection.fails("EntityModelImportRequest", import).await,
        "BAD_REQUEST"
    );
    let mut sample = json!({"n": 1});
    sample[&long] = json!(1);
    let model = locked_model(&connection, "doc", sample).await;
    let indexes = json!({"model": model, "indexes": [{"path": format!("$.{long}")}]});
    assert_eq!(
        connection
            .fails("EntityModelSetIndexesRequest", indexes)
            .await,
        "INVALID_FIELD_PATH"
    );
    create(&connection, &model, json!({"n": 2})).await;
}

#[tokio::test]
async fn a_long_name_is_repeated_neither_in_violations_nor_in_views_without_a_limit() {
    let server = Server::start();
    let rest = server.rest();
    let (name, count) = ("k".repeat(200_000), 1_000);
    let below = |value: &str| {
        let members: Vec<_> = (0..count).map(|n| format!("\"x{n}\":{value}")).collect();
        format!("{{\"{name}\":{{{}}}}}", members.join(","))
    };
    rest.lock_model("doc", &format!("{{\"{name}\":{{\"b\":1}}}}"))
        .await;
    let said = rest.post("/api/entity/JSON/doc/1", below("1")).await;
    let problem = said.refused(400, "BAD_REQUEST");
    assert!(said.text.len() < 1 << 20, "{}", said.text.len());
    let detail = problem["detail"].as_str().expect("a detail");
    assert!(detail.contains("….x0: unexpected field"), "{detail}");
    let said = rest.post("/api/model/validate/doc/1", below("1")).await;
    assert!(said.text.len() < 1 << 20, "{}", said.text.len());
    let import = "/api/model/import/JSON/SAMPLE_DATA/wide/1";
    rest.post(import, below(r#"{"a":1}"#)).await.ok();
    let said = rest.get("/api/model/export/SIMPLE_VIEW/wide/1").await;
    said.refused(400, "BAD_REQUEST");
    let schema = rest.get("/api/model/export/JSON_SCHEMA/wide/1").await.ok();
    let members = &schema["model"]["properties"][&name]["properties"];
    assert_eq!(members.as_object().expect("an object").len(), count);
}

#[tokio::test]
async fn a_model_grows_to_a_limit() {
    let server = Server::start();
    let rest = server.rest();
    let import = async |letter: &str| {
        let sample = format!("{{\"{}\":1}}", letter.repeat(9 << 20));
        let path = "/api/model/import/JSON/SAMPLE_DATA/doc/1";
        rest.post(path, sample).await
    };
    import("a").await.ok();
    import("b").await.refused(400, "BAD_REQUEST");
    import("a").await.ok();
}
