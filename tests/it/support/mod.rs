//! What tests need: a real server process, real connections, a scripted member.

pub(crate) mod alike;
pub(crate) mod backend;
pub(crate) mod batch;
pub(crate) mod chosen;
mod connection;
pub(crate) mod database;
pub(crate) mod flow;
pub(crate) mod iam;
pub(crate) mod long;
pub(crate) mod lossy;
pub(crate) mod mariadb;
mod member;
pub(crate) mod outside;
pub(crate) mod pooler;
pub(crate) mod postgres;
pub(crate) mod provider;
mod random;
pub(crate) mod relay;
mod rest;
pub(crate) mod scene;
pub(crate) mod schema;
mod server;
mod stored;
pub(crate) mod token;
pub(crate) mod wait;

pub(crate) use connection::{Connection, PATIENCE, client, code, payload_of, request};
pub(crate) use member::{Call, Member, Reply};
pub(crate) use random::Random;
pub(crate) use rest::{Coming, Rest, Said};
pub(crate) use scene::Scene;
pub(crate) use server::{Server, command};
pub(crate) use wait::between_looks;

use serde_json::{Value, json};

/// A model that is locked and ready for entities.
pub(crate) async fn locked_model(connection: &Connection, name: &str, sample: Value) -> Value {
    let model = json!({"name": name, "version": 1});
    let import = json!({"model": model, "dataFormat": "JSON", "converter": "SAMPLE_DATA", "payload": sample});
    connection.ok("EntityModelImportRequest", import).await;
    connection
        .ok(
            "EntityModelTransitionRequest",
            json!({"model": model, "transition": "LOCK"}),
        )
        .await;
    model
}

/// The same, governed by one workflow.
pub(crate) async fn governed_model(
    connection: &Connection,
    name: &str,
    sample: Value,
    workflow: Value,
) -> Value {
    let model = locked_model(connection, name, sample).await;
    connection
        .ok(
            "EntityWorkflowImportRequest",
            json!({"model": model, "workflows": [workflow]}),
        )
        .await;
    model
}

/// A workflow whose first state is left by one automated transition with these processors.
pub(crate) fn processed_by(processors: Value) -> Value {
    json!({"version": "1", "name": "processed", "initialState": "NEW", "states": {
        "NEW": {"transitions": [{"name": "PROCESS", "next": "DONE", "manual": false, "processors": processors}]},
        "DONE": {"transitions": [{"name": "AGAIN", "next": "DONE", "manual": true, "processors": processors}]},
    }})
}

/// A processor that runs inside the transaction.
pub(crate) fn sync_processor(name: &str, config: Value) -> Value {
    json!({"type": "EXTERNAL", "name": name, "executionMode": "SYNC", "config": config})
}

/// Makes an entity; its id.
pub(crate) async fn create(connection: &Connection, model: &Value, data: Value) -> String {
    let answer = connection
        .ok("EntityCreateRequest", new_entity(model, &data))
        .await;
    answer["transactionInfo"]["entityIds"][0]
        .as_str()
        .expect("an id")
        .to_owned()
}

/// The payload that makes an entity.
pub(crate) fn new_entity(model: &Value, data: &Value) -> Value {
    json!({"dataFormat": "JSON", "payload": {"model": model, "data": data}})
}

/// The entity, as `{"type","data","meta"}`.
pub(crate) async fn get(connection: &Connection, id: &str) -> Value {
    connection
        .ok("EntityGetRequest", json!({"entityId": id}))
        .await["payload"]
        .clone()
}

pub(crate) fn state(entity: &Value) -> &str {
    entity["meta"]["state"].as_str().expect("a state")
}

/// The same instant with digits below the microsecond, which make it exact.
pub(crate) fn exactly(time: &Value) -> String {
    let time = time.as_str().expect("a time").trim_end_matches('Z');
    let (seconds, fraction) = time.split_once('.').unwrap_or((time, ""));
    format!("{seconds}.{fraction:0<6}001Z")
}
