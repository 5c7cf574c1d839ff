//! XML in, JSON out (`models-and-entities.md` §3.6).

use serde_json::{Value, json};

use crate::support::{Server, get, scene::simple};

const ORDER: &str = r#"<?xml version="1.0"?>
<order id="7"><customer>Ada</customer><line sku="A"><qty>2</qty></line><line sku="B"><qty>1.5</qty></line><paid>true</paid></order>"#;

fn order() -> Value {
    json!({"id": 7, "customer": "Ada", "line": [{"sku": "A", "qty": 2}, {"sku": "B", "qty": 1.5}], "paid": true})
}

#[tokio::test]
async fn samples_and_entities_come_as_xml_over_rest() {
    let server = Server::start();
    let (connection, rest) = (server.connect().await, server.rest());
    let sample = "/api/model/import/XML/SAMPLE_DATA/order/1";
    rest.post(sample, ORDER).await.ok();
    let view = rest.get("/api/model/export/SIMPLE_VIEW/order/1").await.ok();
    assert_eq!(
        view["model"],
        json!({"$": {".id": "INTEGER", ".customer": "STRING", "#.line": "OBJECT", ".paid": "BOOLEAN"},
            "$.line[*]": {"#": "ARRAY_ELEMENT", ".sku": "STRING", ".qty": "DOUBLE"}})
    );
    rest.put("/api/model/order/1/lock", "").await.ok();
    let made = rest.post("/api/entity/XML/order/1", ORDER).await.ok();
    let id = made[0]["entityIds"][0].as_str().expect("an id");
    assert_eq!(get(&connection, id).await["data"], order());
    let change = "<order><id>9007199254740993</id><customer> Bob &amp; Co </customer></order>";
    let path = format!("/api/entity/XML/{id}");
    rest.put(&path, change)
        .await
        .refused(400, "INCOMPATIBLE_TYPE");
    rest.put(&path, change.replace("9007199254740993", "8"))
        .await
        .ok();
    let stored = json!({"id": 8, "customer": "Bob & Co"});
    assert_eq!(get(&connection, id).await["data"], stored);
    rest.put(&format!("{path}/UPDATE"), "<order><id>9</id></order>")
        .await
        .ok();
    let items = json!([
        {"model": {"name": "order", "version": 1}, "payload": "<o><id>1</id></o>"},
        {"model": {"name": "order", "version": 1}, "payload": "{\"id\":2}"},
    ]);
    rest.post("/api/entity/XML", items.to_string()).await.ok();
    let find = simple("$.id", "LESS_THAN", json!(3)).to_string();
    let found = rest.post("/api/search/order/1", find).await.ok();
    assert_eq!(found.as_array().expect("a list").len(), 2);
    for (path, body) in [
        ("/api/entity/XML/order/1", "{\"id\":1}"),
        ("/api/entity/XML/order/1", "<order><id>1</order>"),
        ("/api/entity/XML/order/1", ""),
        (sample, "<a>&nothing;</a>"),
        ("/api/entity/YAML/order/1", "id: 1"),
        ("/api/model/import/XML/SIMPLE_VIEW/order/1", "<a/>"),
    ] {
        rest.post(path, body).await.refused(400, "BAD_REQUEST");
    }
    let deep = "<a>".repeat(300) + &"</a>".repeat(300);
    let said = rest.post("/api/entity/XML/order/1", deep).await;
    let problem = said.refused(400, "BAD_REQUEST");
    assert!(problem["detail"].as_str().expect("text").contains("256"));
    let said = rest
        .post("/api/entity/XML/order/1", "<order><other>1</other></order>")
        .await;
    said.refused(400, "BAD_REQUEST");
}

#[tokio::test]
async fn samples_and_entities_come_as_xml_in_events() {
    let server = Server::start();
    let connection = server.connect().await;
    let model = json!({"name": "order", "version": 1});
    let import = |payload: Value| json!({"model": model, "dataFormat": "XML", "converter": "SAMPLE_DATA", "payload": payload});
    connection
        .ok("EntityModelImportRequest", import(json!(ORDER)))
        .await;
    let refused = connection
        .fails("EntityModelImportRequest", import(json!({"id": 1})))
        .await;
    assert_eq!(refused, "BAD_REQUEST");
    let lock = json!({"model": model, "transition": "LOCK"});
    connection.ok("EntityModelTransitionRequest", lock).await;
    let one = |data: Value| json!({"dataFormat": "XML", "payload": {"model": model, "data": data}});
    let made = connection
        .ok("EntityCreateRequest", one(json!(ORDER)))
        .await;
    let id = made["transactionInfo"]["entityIds"][0].clone();
    let stored = get(&connection, id.as_str().expect("an id")).await;
    assert_eq!(stored["data"], order());
    let several = json!(["<o><id>1</id></o>", "<o><id>2</id></o>"]);
    let made = connection.ok("EntityCreateRequest", one(several)).await;
    let ids = &made["transactionInfo"]["entityIds"];
    assert_eq!(ids.as_array().expect("ids").len(), 2);
    // Existing clients call items XML and send JSON.
    let items =
        json!([{"model": model, "data": {"id": 3}}, {"model": model, "data": "<o><id>4</id></o>"}]);
    let batch = json!({"dataFormat": "XML", "payloads": items});
    connection.ok("EntityCreateCollectionRequest", batch).await;
    let updates =
        json!({"dataFormat": "XML", "payloads": [{"entityId": id, "data": "<o><id>5</id></o>"}]});
    connection
        .ok("EntityUpdateCollectionRequest", updates)
        .await;
    let update =
        json!({"dataFormat": "XML", "payload": {"entityId": id, "data": "<o><id>6</id></o>"}});
    connection.ok("EntityUpdateRequest", update).await;
    let stored = get(&connection, id.as_str().expect("an id")).await;
    assert_eq!(stored["data"], json!({"id": 6}));
    let refused = connection
        .fails("EntityCreateRequest", one(json!({"id": 1})))
        .await;
    assert_eq!(refused, "BAD_REQUEST");
}
