//! A server with one model, spoken to as most clients do.

use std::time::Duration;

use serde_json::{Value, json};

use super::{Connection, Rest, Said, Server, connection::PATIENCE, get, governed_model, state};

/// The fields that entities of the scene may have.
const SAMPLE: &str = r#"{"n": 1, "s": "text", "ok": true}"#;

/// How often something is looked at until it is as wanted.
const NOW_AND_THEN: Duration = Duration::from_millis(5);

/// A server, and one connection to it. The model is `doc`, version 1.
pub(crate) struct Scene {
    pub(crate) server: Server,
    pub(crate) connection: Connection,
    pub(crate) rest: Rest,
}

impl Scene {
    /// With entities that this workflow governs.
    pub(crate) async fn of(workflow: Value) -> Self {
        Self::on(Server::start(), workflow).await
    }

    pub(crate) async fn on(server: Server, workflow: Value) -> Self {
        let connection = server.connect().await;
        let sample = serde_json::from_str(SAMPLE).expect("JSON");
        governed_model(&connection, "doc", sample, workflow).await;
        let rest = server.rest();
        Self {
            server,
            connection,
            rest,
        }
    }

    /// Starts the process again after its end.
    pub(crate) async fn restart(&mut self) {
        self.server.restart();
        self.connection = self.server.connect().await;
        self.rest = self.server.rest();
    }

    pub(crate) fn model() -> Value {
        json!({"name": "doc", "version": 1})
    }

    /// Imports workflows.
    pub(crate) async fn import(&self, mode: &str, workflows: Value) -> Said {
        let body = json!({"importMode": mode, "workflows": workflows});
        self.rest
            .post("/api/model/doc/1/workflow/import", body.to_string())
            .await
    }

    pub(crate) async fn export(&self) -> Value {
        let exported = self.rest.get("/api/model/doc/1/workflow/export").await;
        exported.ok()["workflows"].clone()
    }

    /// Tries to make an entity.
    pub(crate) async fn post(&self, data: Value) -> Said {
        let path = "/api/entity/JSON/doc/1";
        self.rest.post(path, data.to_string()).await
    }

    /// Makes an entity; its id.
    pub(crate) async fn create(&self, data: Value) -> String {
        let made = self.post(data).await.ok();
        let id = made[0]["entityIds"][0].as_str();
        id.expect("an id").to_owned()
    }

    /// Tries to change an entity, with that transition or none (`""`).
    pub(crate) async fn put(&self, id: &str, transition: &str, data: Value) -> Said {
        put(&self.rest, id, transition, data).await
    }

    pub(crate) async fn get(&self, id: &str) -> Value {
        get(&self.connection, id).await
    }

    pub(crate) async fn state(&self, id: &str) -> String {
        state(&self.get(id).await).to_owned()
    }

    /// Waits until the entity is in that state; the entity.
    pub(crate) async fn reaches(&self, id: &str, wanted: &str) -> Value {
        let waiting = async {
            loop {
                let entity = self.get(id).await;
                if state(&entity) == wanted {
                    return entity;
                }
                tokio::time::sleep(NOW_AND_THEN).await;
            }
        };
        let reached = tokio::time::timeout(PATIENCE, waiting).await;
        reached.unwrap_or_else(|_| panic!("{id} has not come to {wanted}"))
    }

    /// Every entity of the model.
    pub(crate) async fn entities(&self) -> Vec<Value> {
        let all = json!({"model": Self::model()});
        let (entities, _) = self.connection.all("EntityGetAllRequest", all).await;
        entities
    }

    /// Who changed the entity and how, newest first.
    pub(crate) async fn changes(&self, id: &str) -> Vec<Value> {
        let asked = json!({"entityId": id});
        let kind = "EntityChangesMetadataGetRequest";
        let (changes, _) = self.connection.all(kind, asked).await;
        changes
            .iter()
            .map(|change| change["changeMeta"].clone())
            .collect()
    }

    /// What the audit tells of the state machine of an entity, oldest first.
    pub(crate) async fn audited(&self, id: &str) -> Vec<Value> {
        let path = format!("/api/audit/entity/{id}?eventType=StateMachine&limit=1000");
        let page = self.rest.get(&path).await.ok();
        let mut items = page["items"].as_array().expect("a list").clone();
        items.reverse();
        items
    }
}

/// How many audit events are of that type.
pub(crate) fn count(events: &[Value], kind: &str) -> usize {
    let is_it = |event: &&Value| event["eventType"] == kind;
    events.iter().filter(is_it).count()
}

/// Tries to change an entity as someone.
pub(crate) async fn put(rest: &Rest, id: &str, transition: &str, data: Value) -> Said {
    let mut path = format!("/api/entity/JSON/{id}");
    if !transition.is_empty() {
        path = format!("{path}/{transition}");
    }
    rest.put(&path, data.to_string()).await
}

/// A workflow of these states that begins in `A`; a state is the list of its transitions.
pub(crate) fn states(states: Value) -> Value {
    let states: serde_json::Map<_, _> = states
        .as_object()
        .expect("states")
        .iter()
        .map(|(name, transitions)| (name.clone(), json!({"transitions": transitions})))
        .collect();
    json!({"version": "1", "name": "w", "initialState": "A", "states": states})
}

/// A transition, with what else is to be said of it.
pub(crate) fn way(name: &str, next: &str, manual: bool, more: Value) -> Value {
    let mut way = json!({"name": name, "next": next, "manual": manual});
    for (member, value) in more.as_object().expect("members") {
        way[member] = value.clone();
    }
    way
}

/// A transition that is taken by itself.
pub(crate) fn automated(name: &str, next: &str, more: Value) -> Value {
    way(name, next, false, more)
}

/// A transition that is asked for.
pub(crate) fn manual(name: &str, next: &str, more: Value) -> Value {
    way(name, next, true, more)
}

/// One processor, as a member of a transition.
pub(crate) fn processor(mode: &str, config: Value) -> Value {
    json!({"processors": [{"type": "EXTERNAL", "name": "p", "executionMode": mode, "config": config}]})
}

pub(crate) fn simple(path: &str, operator: &str, value: Value) -> Value {
    json!({"type": "simple", "jsonPath": path, "operatorType": operator, "value": value})
}

/// Holds where `ok` is true.
pub(crate) fn ok() -> Value {
    json!({"criterion": simple("$.ok", "EQUALS", json!(true))})
}
