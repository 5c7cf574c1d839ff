//! The nodes, the entities, and how they are read and written.

use std::sync::Arc;

use interlock::event::{AttributeValue, Event, EventType};
use serde_json::{Value as Json, json};

use super::{
    checker::history::{Key, Op, Value},
    plan::{LISTS, REGISTERS, is_list},
    record::Record,
};
use crate::support::{
    Connection, Random, Server, code, create, governed_model, locked_model, processed_by, request,
    sync_processor,
};

/// The first of the numbers that a list holds must not fit into fewer bytes than all others.
const SAMPLE: u64 = 3_000_000_000;

/// What stays when the entities are replaced.
pub(super) struct World {
    /// By node, and several for each.
    pub(super) nodes: Vec<Vec<Arc<Connection>>>,
    pub(super) lists: Json,
    pub(super) registers: Json,
    /// Entities of it are processed.
    pub(super) works: Json,
    /// The entity that is changed when everything else is done.
    pub(super) mark: String,
    pub(super) record: Record,
}

/// The entities of a part of the history.
pub(super) struct Entities {
    ids: Vec<String>,
}

impl Entities {
    pub(super) fn id(&self, key: Key) -> &str {
        &self.ids[usize::try_from(key).expect("small")]
    }

    pub(super) fn key(&self, id: &str) -> Option<Key> {
        let place = self.ids.iter().position(|other| other == id)?;
        Key::try_from(place).ok()
    }
}

impl World {
    pub(super) async fn prepare(servers: &[Server]) -> Self {
        let mut nodes = Vec::new();
        for server in servers {
            let mut connections = Vec::new();
            for _ in 0..4 {
                connections.push(Arc::new(server.connect().await));
            }
            nodes.push(connections);
        }
        let one = &nodes[0][0];
        let processor = json!([sync_processor(
            "work",
            json!({"calculationNodesTags": "work"})
        )]);
        let moved = json!({"version": "1", "name": "moved", "initialState": "THERE", "states": {
            "THERE": {"transitions": [
                {"name": "MOVE", "next": "THERE", "manual": true, "processors": processor}]}}});
        let lists = governed_model(one, "list", json!({"v": [SAMPLE]}), moved).await;
        let registers = locked_model(one, "register", json!({"v": SAMPLE})).await;
        let works = processed_by(processor);
        let works = governed_model(one, "work", json!({"n": SAMPLE}), works).await;
        let marks = locked_model(one, "mark", json!({"v": SAMPLE})).await;
        let mark = create(one, &marks, json!({"v": 0})).await;
        Self {
            nodes,
            lists,
            registers,
            works,
            mark,
            record: Record::new(),
        }
    }

    /// A connection to some node.
    pub(super) fn some(&self, random: &mut Random) -> &Arc<Connection> {
        let node = random.below(self.nodes.len());
        random.pick(&self.nodes[node])
    }

    /// New entities in place of those that are there.
    pub(super) async fn refresh(&self) -> Entities {
        let one = &self.nodes[0][0];
        let (list, register) = (json!({"v": []}), json!({"v": 0}));
        let mut payloads = Vec::new();
        for (model, data, count) in [
            (&self.lists, list, LISTS),
            (&self.registers, register, REGISTERS),
        ] {
            one.ok("EntityDeleteAllRequest", json!({"model": model}))
                .await;
            payloads.extend((0..count).map(|_| json!({"model": model, "data": data})));
        }
        let made = json!({"dataFormat": "JSON", "payloads": payloads});
        let made = one.ok("EntityCreateCollectionRequest", made).await;
        let ids = made["transactionInfo"]["entityIds"].as_array();
        let ids = ids.expect("ids").iter();
        Entities {
            ids: ids
                .map(|id| id.as_str().expect("an id").to_owned())
                .collect(),
        }
    }
}

/// Where and as what something is done.
#[derive(Clone)]
pub(super) struct Way<'a> {
    pub(super) connection: &'a Connection,
    /// The token of the transaction that it is a part of.
    pub(super) token: Option<&'a str>,
}

/// Why it was not done: the code of the failure.
pub(super) type Refused = String;

impl Way<'_> {
    fn event(&self, kind: &str, payload: Json) -> Event {
        let event = request(kind, &self.connection.fresh_id(), payload);
        match self.token {
            Some(token) => event.with("cyodatxtoken", AttributeValue::String(token.into())),
            None => event,
        }
    }

    /// What one event answers.
    pub(super) async fn call(&self, kind: &str, payload: Json) -> Result<Json, Refused> {
        let answers = self.connection.ask(self.event(kind, payload)).await;
        let answer = parsed(&answers[0]);
        if answer["success"] == json!(true) {
            Ok(answer)
        } else {
            Err(code(&answer))
        }
    }

    /// The entities that answer it.
    async fn all(&self, kind: &str, payload: Json) -> Result<Vec<Json>, Refused> {
        let answers = self.connection.ask(self.event(kind, payload)).await;
        let end = answers.last().expect("an answer");
        if end.kind != EventType::EventStreamEnd {
            return Err(code(&parsed(end)));
        }
        let mut all: Vec<_> = answers.iter().map(parsed).collect();
        all.pop();
        let failed = all.iter().find(|one| one["success"] != json!(true));
        failed.map_or(Ok(()), |failed| Err(code(failed)))?;
        Ok(all)
    }

    /// What a key holds, and its version.
    pub(super) async fn read(
        &self,
        entities: &Entities,
        key: Key,
    ) -> Result<(Op, String), Refused> {
        let asked = json!({"entityId": entities.id(key)});
        let answer = self.call("EntityGetRequest", asked).await?;
        let version = answer["payload"]["meta"]["transactionId"].as_str();
        let version = version.expect("a version").to_owned();
        Ok((seen(key, &answer["payload"]["data"]), version))
    }

    /// Changes a key, the list without reading it.
    pub(super) async fn patch(
        &self,
        entities: &Entities,
        key: Key,
        value: Value,
        expected: &str,
    ) -> Result<(), Refused> {
        let patch = json!([if is_list(key) {
            json!({"op": "add", "path": "/v/-", "value": value})
        } else {
            json!({"op": "replace", "path": "/v", "value": value})
        }]);
        let payload = json!({"entityId": entities.id(key), "patch": patch, "ifMatch": expected});
        let payload = json!({"patchFormat": "JSON_PATCH", "payload": payload});
        self.call("EntityPatchRequest", payload).await?;
        Ok(())
    }

    pub(super) async fn replace(
        &self,
        entities: &Entities,
        key: Key,
        data: Json,
    ) -> Result<(), Refused> {
        let payload = json!({"entityId": entities.id(key), "data": data});
        let payload = json!({"dataFormat": "JSON", "payload": payload});
        self.call("EntityUpdateRequest", payload).await?;
        Ok(())
    }

    /// All lists, of one snapshot.
    pub(super) async fn search(
        &self,
        world: &World,
        entities: &Entities,
    ) -> Result<Vec<Op>, Refused> {
        let all = json!({"type": "group", "operator": "AND", "conditions": []});
        let asked = json!({"model": world.lists, "condition": all});
        let found = self.all("EntitySearchRequest", asked).await?;
        Ok(those(entities, &found))
    }

    /// All registers, of one snapshot.
    pub(super) async fn list(
        &self,
        world: &World,
        entities: &Entities,
    ) -> Result<Vec<Op>, Refused> {
        let asked = json!({"model": world.registers, "pageSize": 100});
        let found = self.all("EntityGetAllRequest", asked).await?;
        Ok(those(entities, &found))
    }
}

fn parsed(event: &Event) -> Json {
    serde_json::from_str(event.text().expect("text")).expect("JSON")
}

fn those(entities: &Entities, found: &[Json]) -> Vec<Op> {
    let op = |one: &Json| {
        let entity = &one["payload"];
        let id = entity["meta"]["id"].as_str().expect("an id");
        let key = entities.key(id).expect("an entity of this part");
        seen(key, &entity["data"])
    };
    found.iter().map(op).collect()
}

/// What was read of a key.
pub(super) fn seen(key: Key, data: &Json) -> Op {
    if is_list(key) {
        let elements = data["v"].as_array().expect("a list").iter();
        let elements = elements.map(|value| value.as_u64().expect("a number"));
        Op::List(key, elements.collect())
    } else {
        let value = data["v"].as_u64().expect("a number");
        Op::Register(key, (value > 0).then_some(value))
    }
}

/// What a key is to hold once a value is written.
pub(super) fn changed(read: &Op, value: Value) -> Json {
    match read {
        Op::List(_, elements) => {
            let mut elements = elements.clone();
            elements.push(value);
            json!({"v": elements})
        }
        Op::Register(..) | Op::Write(..) => json!({"v": value}),
    }
}
