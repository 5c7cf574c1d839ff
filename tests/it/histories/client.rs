//! Clients, and the members that work for them.

use std::{sync::Arc, time::Duration};

use serde_json::json;

use super::{
    checker::history::{Key, Op, Outcome, Value},
    plan::{Plan, Step, is_list},
    world::{Entities, Refused, Way, World, changed, seen},
};
use crate::support::{Call, Connection, Random, Reply};

/// Failures of transactions that others were in the way of, or whose member gave up.
const EXPECTED: [&str; 3] = ["CONFLICT", "ENTITY_MODIFIED", "WORKFLOW_FAILED"];

/// Why a member fails by plan.
const GIVEN_UP: &str = "given up";

/// What came of it, where it is known.
fn outcome(result: &Result<(), Refused>) -> Outcome {
    match result {
        Ok(()) => Outcome::Committed,
        Err(code) if EXPECTED.contains(&code.as_str()) => Outcome::Failed,
        Err(code) if code == "OUTCOME_UNKNOWN" => Outcome::Unknown,
        Err(code) => panic!("a transaction failed with {code}"),
    }
}

/// Executes one transaction, and records it.
pub(super) async fn execute(world: &World, entities: &Entities, plan: Plan, random: &mut Random) {
    let record = &world.record;
    let way = |random: &mut Random| Way {
        connection: world.some(random).as_ref(),
        token: None,
    };
    let begun = record.now();
    let mut ops = Vec::new();
    let result = match plan {
        Plan::Created(steps) => {
            let number = record.fresh();
            record.ask(number, steps);
            let payload = json!({"model": world.works, "data": {"n": number}});
            let payload = json!({"dataFormat": "JSON", "payload": payload});
            let result = way(random).call("EntityCreateRequest", payload).await;
            record.answered(number, begun, outcome(&result.map(|_| ())), None);
            return;
        }
        Plan::Moved(key, steps) => {
            let number = record.fresh();
            record.ask(number, steps);
            let patch = json!([{"op": "add", "path": "/v/-", "value": number}]);
            let payload = json!({"entityId": entities.id(key), "patch": patch, "ifMatch": "*", "transition": "MOVE"});
            let payload = json!({"patchFormat": "JSON_PATCH", "payload": payload});
            let result = way(random).call("EntityPatchRequest", payload).await;
            let own = Some(Op::Write(key, number));
            record.answered(number, begun, outcome(&result.map(|_| ())), own);
            return;
        }
        Plan::Compared(key) => {
            let (read, version) = must(way(random).read(entities, key).await);
            let value = record.fresh();
            ops.extend([read, Op::Write(key, value)]);
            way(random).patch(entities, key, value, &version).await
        }
        Plan::Careless(key) => {
            let (read, _) = must(way(random).read(entities, key).await);
            let value = record.fresh();
            let data = changed(&read, value);
            ops.extend([read, Op::Write(key, value)]);
            way(random).replace(entities, key, data).await
        }
        Plan::Appended(key) => {
            let value = record.fresh();
            ops.push(Op::Write(key, value));
            way(random).patch(entities, key, value, "*").await
        }
        Plan::Replaced(keys) => {
            let mut payloads = Vec::new();
            for key in keys {
                let value = record.fresh();
                ops.push(Op::Write(key, value));
                payloads.push(json!({"entityId": entities.id(key), "data": {"v": value}}));
            }
            let payload = json!({"dataFormat": "JSON", "payloads": payloads});
            let kind = "EntityUpdateCollectionRequest";
            way(random).call(kind, payload).await.map(|_| ())
        }
        Plan::Read(key) => {
            let (read, _) = must(way(random).read(entities, key).await);
            ops.push(read);
            Ok(())
        }
        Plan::Search => {
            ops = must(way(random).search(world, entities).await);
            Ok(())
        }
        Plan::List => {
            ops = must(way(random).list(world, entities).await);
            Ok(())
        }
    };
    record.end(begun, outcome(&result), ops);
}

/// Reads that are no part of a transaction never fail.
fn must<T>(read: Result<T, Refused>) -> T {
    read.unwrap_or_else(|code| panic!("a read failed with {code}"))
}

/// What is done in one attempt of a transaction.
struct Working<'a> {
    world: &'a World,
    entities: &'a Entities,
    token: &'a str,
    number: Value,
    /// A list that the transaction has changed already, and that is left alone.
    moved: Option<Key>,
}

impl Working<'_> {
    fn add(&self, op: Op) {
        self.world.record.add(self.number, op);
    }

    /// Records a read, unless it is of the list that is left alone.
    fn read(&self, op: &Op) {
        let (Op::List(key, _) | Op::Register(key, _) | Op::Write(key, _)) = op;
        if self.moved != Some(*key) {
            self.add(op.clone());
        }
    }

    async fn work(&self, steps: Vec<Step>, random: &mut Random) -> Result<(), Refused> {
        for step in steps {
            self.take(step, random).await?;
        }
        Ok(())
    }

    async fn take(&self, step: Step, random: &mut Random) -> Result<(), Refused> {
        let Self {
            world, entities, ..
        } = self;
        if let Step::Read(key) | Step::Replace(key) | Step::Blind(key) = step
            && self.moved == Some(key)
        {
            return Ok(());
        }
        let connection: &Arc<Connection> = world.some(random);
        let way = Way {
            connection,
            token: Some(self.token),
        };
        match step {
            Step::Read(key) => {
                let (read, _) = way.read(entities, key).await?;
                self.read(&read);
            }
            Step::Replace(key) => {
                let (read, _) = way.read(entities, key).await?;
                self.read(&read);
                let value = world.record.fresh();
                self.add(Op::Write(key, value));
                let data = changed(&read, value);
                way.replace(entities, key, data).await?;
            }
            Step::Blind(key) => {
                let value = world.record.fresh();
                self.add(Op::Write(key, value));
                way.patch(entities, key, value, "*").await?;
            }
            Step::Search => {
                let all = way.search(world, entities).await?;
                for read in &all {
                    self.read(read);
                }
            }
            Step::List => {
                let all = way.list(world, entities).await?;
                for read in &all {
                    self.read(read);
                }
            }
            Step::Fail => return Err(GIVEN_UP.to_owned()),
        }
        // Others come in between.
        if random.chance(10) {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        Ok(())
    }
}

/// Answers the call of a processor.
pub(super) async fn serve(call: &Call, world: &World, entities: &Entities) -> Reply {
    let data = call.data();
    let created = data["n"].as_u64();
    let elements = data["v"].as_array();
    let last = elements.and_then(|elements| elements.last()?.as_u64());
    let number = created.or(last).expect("a call of this test");
    let Some(steps) = world.record.attempt(number) else {
        return Reply::Failure("nobody waits for it");
    };
    let id = call.payload["entityId"].as_str().expect("an id");
    let moved = entities.key(id);
    let working = Working {
        world,
        entities,
        token: call.token(),
        number,
        moved,
    };
    if let Some(key) = moved {
        let Op::List(_, mut elements) = seen(key, data) else {
            panic!("{key} is no list");
        };
        assert!(is_list(key) && elements.pop() == Some(number));
        working.add(Op::List(key, elements));
    }
    let mut random = Random::new(number);
    if let Err(code) = working.work(steps, &mut random).await {
        if code != GIVEN_UP && !EXPECTED.contains(&code.as_str()) {
            let text = format!("a request of a transaction failed with {code}");
            world.record.complain(text);
        }
        return Reply::Failure("it was refused");
    }
    let Some(key) = moved else {
        return Reply::Nothing;
    };
    let value = world.record.fresh();
    working.add(Op::Write(key, value));
    Reply::Data(changed(&seen(key, data), value))
}

/// Reads everything at a node.
pub(super) async fn read_all(world: &World, entities: &Entities, connection: &Connection) {
    let token = None;
    let way = Way { connection, token };
    for all in [true, false] {
        let begun = world.record.now();
        let ops = if all {
            way.search(world, entities).await
        } else {
            way.list(world, entities).await
        };
        world.record.end(begun, Outcome::Committed, must(ops));
    }
}
