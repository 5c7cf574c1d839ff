//! The change feeds of all nodes: they agree, and give the order of the versions of registers.

use std::collections::BTreeMap;

use interlock::event::{Event, EventType};
use serde_json::{Value as Json, json};
use tokio::sync::mpsc::UnboundedReceiver;

use super::{
    checker::history::{Key, Value},
    plan::{LISTS, REGISTERS, is_list},
    world::{Entities, World},
};
use crate::support::{Connection, PATIENCE, Server, payload_of, request};

/// One change: its sequence, its entity and what it was changed to.
#[derive(Debug, Clone, PartialEq)]
struct Change {
    sequence: i64,
    entity: String,
    kind: String,
    data: Json,
}

/// The feed of each node.
pub(super) struct Feeds {
    feeds: Vec<(Connection, UnboundedReceiver<Event>)>,
    seen: i64,
}

impl Feeds {
    pub(super) async fn follow(servers: &[Server]) -> Self {
        let mut feeds = Vec::new();
        for server in servers {
            let connection = server.connect().await;
            let id = connection.fresh_id();
            let all = json!({"fromSequence": 0, "includeData": true});
            let asked = request("EntityChangesSubscribeRequest", &id, all);
            let changes = connection.begin(asked).await;
            feeds.push((connection, changes));
        }
        Self { feeds, seen: 0 }
    }

    /// The values that each register has had, as of a mark that is written now: all feeds agree
    /// about that, and about everything else.
    pub(super) async fn registers(
        &mut self,
        world: &World,
        entities: &Entities,
    ) -> BTreeMap<Key, Vec<Value>> {
        let value = world.record.fresh();
        let data = json!({"v": value});
        let payload = json!({"entityId": world.mark, "data": data});
        let payload = json!({"dataFormat": "JSON", "payload": payload});
        world.nodes[0][0].ok("EntityUpdateRequest", payload).await;
        let is_mark = |change: &Change| change.entity == world.mark && change.data == data;
        let mut first: Option<Vec<Change>> = None;
        for (_, changes) in &mut self.feeds {
            let mut part = Vec::new();
            while !part.last().is_some_and(is_mark) {
                part.push(next(changes).await);
            }
            match &first {
                None => first = Some(part),
                Some(first) => agree(first, &part),
            }
        }
        let first = first.expect("a node");
        for change in &first {
            assert!(change.sequence >= self.seen, "{change:?} is out of order");
            self.seen = change.sequence;
        }
        ordered(&first, entities)
    }
}

fn agree(one: &[Change], other: &[Change]) {
    for (one, other) in one.iter().zip(other) {
        assert_eq!(one, other, "the feeds of two nodes differ");
    }
    assert_eq!(one.len(), other.len(), "the feeds of two nodes differ");
}

async fn next(changes: &mut UnboundedReceiver<Event>) -> Change {
    let next = tokio::time::timeout(PATIENCE, changes.recv()).await;
    let event = next.expect("a change in time").expect("the feed lasts");
    assert_eq!(event.kind, EventType::EntityChangeEvent, "{event:?}");
    let mut change = payload(&event);
    let text = |name: &str| change[name].as_str().unwrap_or_default().to_owned();
    Change {
        sequence: change["sequence"].as_i64().expect("a number"),
        entity: text("entityId"),
        kind: text("changeType"),
        data: change["data"].take(),
    }
}

fn payload(event: &Event) -> Json {
    let change: Json = serde_json::from_str(event.text().expect("text")).expect("JSON");
    // Only what is wrong is worth a look at the schema.
    assert!(change["success"] == json!(true), "{}", payload_of(event));
    change
}

/// The values of each register, without those that it was made with.
fn ordered(changes: &[Change], entities: &Entities) -> BTreeMap<Key, Vec<Value>> {
    let registers = LISTS..LISTS + REGISTERS;
    let mut orders: BTreeMap<Key, Vec<Value>> = registers.map(|key| (key, Vec::new())).collect();
    for change in changes {
        let key = entities.key(&change.entity);
        let Some(key) = key.filter(|key| !is_list(*key)) else {
            continue;
        };
        let value = change.data["v"].as_u64().expect("a number");
        if value > 0 {
            orders.entry(key).or_default().push(value);
        }
    }
    orders
}
