//! Models: import, life cycle, export.

use serde_json::json;

use crate::support::{Server, create, locked_model};

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
    assert_eq!(server.stop(), Some(0));
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
