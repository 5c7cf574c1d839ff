//! A random workflow.
#![cfg(test)]

use std::{collections::BTreeSet, sync::Arc};

use serde_json::{Value, json};

use super::random::Random;
use crate::workflow::Workflow;

/// A workflow, and what the simulation must know of it.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) workflow: Arc<Workflow>,
    /// The processors that may still be out when what they did is committed.
    pub(super) crossovers: BTreeSet<String>,
    /// Whether anything in it commits a part before the rest.
    pub(super) has_boundaries: bool,
}

/// Which way out of a state, before it has everything.
struct Way {
    name: String,
    to: u64,
    kind: Kind,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Automated,
    Manual,
    Scheduled,
}

impl Plan {
    pub(super) fn random(random: &mut Random) -> Self {
        let count = random.between(5, 8);
        let states: Vec<Vec<Way>> = (0..count).map(|from| ways(random, from, count)).collect();
        let mut plan = Maker {
            crossovers: BTreeSet::new(),
            has_boundaries: false,
            processors: 0,
        };
        let mut all = serde_json::Map::new();
        for (from, ways) in states.iter().enumerate() {
            let transitions: Vec<Value> = ways
                .iter()
                .map(|way| plan.transition(random, way, from, &states))
                .collect();
            all.insert(format!("S{from}"), json!({"transitions": transitions}));
        }
        let definition =
            json!({"version": "1", "name": "w", "initialState": "S0", "states": all}).to_string();
        let parsed = Workflow::parse(&definition);
        Self {
            workflow: Arc::new(parsed.expect(&definition).workflow),
            crossovers: plan.crossovers,
            has_boundaries: plan.has_boundaries,
        }
    }
}

fn ways(random: &mut Random, from: u64, count: u64) -> Vec<Way> {
    let most = if from + 1 == count { 1 } else { 3 };
    let least = u64::from(from + 1 < count);
    (0..random.between(least, most))
        .map(|number| {
            let kind = match random.below(100) {
                0..30 if from + 1 < count => Kind::Automated,
                30..55 => Kind::Scheduled,
                _ => Kind::Manual,
            };
            let to = if kind == Kind::Automated && random.chance(95) {
                random.between(from + 1, count - 1)
            } else {
                random.below(count)
            };
            Way {
                name: format!("t{from}{number}"),
                to,
                kind,
            }
        })
        .collect()
}

struct Maker {
    crossovers: BTreeSet<String>,
    has_boundaries: bool,
    processors: u32,
}

impl Maker {
    fn transition(
        &mut self,
        random: &mut Random,
        way: &Way,
        from: usize,
        states: &[Vec<Way>],
    ) -> Value {
        let mut transition = json!({
            "name": way.name,
            "next": format!("S{}", way.to),
            "manual": way.kind == Kind::Manual,
        });
        let goes_back = usize::try_from(way.to).is_ok_and(|to| to <= from);
        let guarded = random.chance(35) || (way.kind == Kind::Automated && goes_back);
        if guarded {
            transition["criterion"] = criterion(random);
        }
        if way.kind == Kind::Scheduled {
            transition["schedule"] = schedule(random);
        }
        let processors = match random.below(10) {
            0..5 => 0,
            5..9 => 1,
            _ => 2,
        };
        if processors > 0 {
            let target = usize::try_from(way.to).expect("few states");
            let list: Vec<Value> = (0..processors)
                .map(|_| self.processor(random, &states[target]))
                .collect();
            transition["processors"] = list.into();
        }
        transition
    }

    fn processor(&mut self, random: &mut Random, target: &[Way]) -> Value {
        self.processors += 1;
        let name = format!("p{}", self.processors);
        let by_name: Vec<&Way> = target
            .iter()
            .filter(|way| way.kind != Kind::Scheduled)
            .collect();
        if random.chance(15)
            && let Some(later) = random.pick(&by_name)
        {
            let mut config =
                json!({"delayMs": random.between(20, 1_500), "transition": later.name});
            if random.chance(30) {
                config["timeoutMs"] = random.below(300).into();
            }
            return json!({"type": "scheduled", "name": name, "config": config});
        }
        let mut config = json!({
            "calculationNodesTags": if random.chance(50) { "m" } else { "" },
            "responseTimeoutMs": random.between(40, 400),
        });
        if random.chance(25) {
            config["retryPolicy"] = "FIXED".into();
        }
        let mut mode = "SYNC";
        match random.below(10) {
            0..2 => {}
            2 => mode = "ASYNC_SAME_TX",
            3..6 => mode = "ASYNC_NEW_TX",
            6..9 => {
                mode = "COMMIT_BEFORE_DISPATCH";
                self.has_boundaries = true;
                config["startNewTxOnDispatch"] = random.chance(50).into();
            }
            _ => {
                self.has_boundaries = true;
                self.crossovers.insert(name.clone());
                config["asyncResult"] = true.into();
                config["crossoverToAsyncMs"] = random.between(1, 30).into();
            }
        }
        json!({"type": "EXTERNAL", "name": name, "executionMode": mode, "config": config})
    }
}

fn criterion(random: &mut Random) -> Value {
    let simple = json!({
        "type": "simple",
        "jsonPath": "$.a",
        "operatorType": "LESS_THAN",
        "value": random.between(2, 9),
    });
    let function = json!({
        "type": "function",
        "function": {"name": "f", "config": {"calculationNodesTags": "m"}},
    });
    match random.below(10) {
        0..6 => simple,
        6..8 => function,
        _ => json!({"type": "group", "operator": "OR", "conditions": [simple, function]}),
    }
}

fn schedule(random: &mut Random) -> Value {
    if random.chance(20) {
        let function =
            json!({"name": "when", "resultKind": "Schedule", "calculationNodesTags": "m"});
        return json!({"function": function});
    }
    let mut schedule = json!({"delayMs": random.between(100, 3_000)});
    if random.chance(30) {
        schedule["timeoutMs"] = random.below(300).into();
    }
    schedule
}
