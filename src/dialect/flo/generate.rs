//! Random valid documents, for the properties that hold of all of them.
#![cfg(test)]

use serde_json::{Map, Value, json};

use crate::random::{STEP, mixed};

/// Numbers that a seed decides.
#[derive(Debug, Clone)]
pub(crate) struct Chance(pub(crate) u64);

impl Chance {
    pub(crate) fn number(&mut self) -> u64 {
        let number = mixed(self.0);
        self.0 = self.0.wrapping_add(STEP);
        number
    }

    pub(crate) fn below(&mut self, limit: usize) -> usize {
        usize::try_from(self.number() % limit.max(1) as u64).expect("below a usize")
    }

    pub(crate) fn one_in(&mut self, count: usize) -> bool {
        self.below(count) == 0
    }

    pub(crate) fn pick<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[self.below(of.len())]
    }
}

/// A map whose keys are spelt one way or the other.
struct RandomMap<'a> {
    chance: &'a mut Chance,
    map: Map<String, Value>,
}

impl<'a> RandomMap<'a> {
    fn new(chance: &'a mut Chance) -> Self {
        Self {
            chance,
            map: Map::new(),
        }
    }

    /// A member whose key is given in snake case.
    fn put(&mut self, key: &str, value: impl Into<Value>) {
        let key = if self.chance.one_in(2) {
            let mut parts = key.split('_');
            let first = parts.next().unwrap_or_default().to_owned();
            parts.fold(first, |camel, part| {
                let (head, tail) = part.split_at(1);
                camel + &head.to_uppercase() + tail
            })
        } else {
            key.to_owned()
        };
        self.map.insert(key, value.into());
    }

    /// A member that is there half of the time.
    fn maybe(&mut self, key: &str, value: impl FnOnce(&mut Chance) -> Value) {
        if self.chance.one_in(2) {
            let value = value(self.chance);
            self.put(key, value);
        }
    }

    fn finish(self) -> Value {
        Value::Object(self.map)
    }
}

const BACKOFFS: [&str; 4] = ["constant", "linear", "exponential", "exponential_jitter"];
pub(crate) const SIGNALS: [&str; 3] = ["approval", "paid", "shipped"];
pub(crate) const ACTIONS: [&str; 4] = ["charge", "look", "ship", "missing"];
pub(crate) const OUTCOMES: [&str; 5] = ["success", "failure", "timeout", "pending", "fraud"];

/// A document without errors.
pub(crate) fn document(chance: &mut Chance) -> Value {
    let names: Vec<String> = (0..chance.below(5)).map(|at| format!("step{at}")).collect();
    let mut targets = names.clone();
    targets.extend(["flo.Completed", "flo.Failed", "Done", "flo.TimedOut"].map(ToOwned::to_owned));
    let mut members = RandomMap::new(chance);
    members.put("kind", "Workflow");
    members.put("name", "generated");
    members.put("version", "1.0");
    members.maybe("idempotency", |chance| {
        json!(chance.pick(&["none", "optional", "required"]))
    });
    let start = step(members.chance, &targets);
    members.put("start", start);
    let mut steps = Map::new();
    for name in &names {
        steps.insert(name.clone(), step(members.chance, &targets));
    }
    members.put("steps", steps);
    members.put(
        "terminals",
        json!({"Done": {"status": "completed", "output": "$.input.n"}}),
    );
    let charge = plan(members.chance);
    members.put("plans", json!({"charge": charge}));
    members.maybe(
        "schedule",
        |_| json!({"interval": 1000, "maxConcurrent": 2}),
    );
    members.maybe("trigger", |_| json!({"stream": "orders", "batch_size": 2}));
    members.maybe("search_attributes", |_| {
        json!([{"name": "n", "from": "input.n", "type": "number"}, {"name": "o", "from": "$.steps._start.outcome"}])
    });
    members.maybe(
        "output",
        |_| json!({"n": "$.input.n", "first": "$.steps._start.output"}),
    );
    members.finish()
}

fn step(chance: &mut Chance, targets: &[String]) -> Value {
    let mut transitions = Map::new();
    for outcome in OUTCOMES {
        if chance.one_in(2) || outcome == "success" {
            transitions.insert(outcome.to_owned(), json!(chance.pick(targets)));
        }
    }
    let mut members = RandomMap::new(chance);
    if members.chance.one_in(4) {
        let wait = wait(members.chance, targets);
        members.put("wait_for_signal", wait);
    } else {
        let target = match members.chance.below(6) {
            0 => "@plan/charge".to_owned(),
            1 => "@workflow/child:2".to_owned(),
            _ => format!("@actions/{}", members.chance.pick(&ACTIONS)),
        };
        members.put("run", target);
        members.maybe("input_mapping", |chance| match chance.below(4) {
            0 => json!({"n": "$.input.n", "run": "$.flo.run_id"}),
            1 => json!("{\"before\": \"$.steps._start.output\"}"),
            2 => json!("{\"wrong\": \"$.nothing\"}"),
            _ => json!(["$.input", "$.steps.step0.outcome", 1.50]),
        });
        members.maybe("retry", retry);
        members.maybe("poll", |chance| {
            let mut poll = RandomMap::new(chance);
            poll.maybe("initial_delay_ms", |chance| json!(chance.below(100)));
            poll.maybe("max_attempts", |chance| json!(chance.below(4)));
            poll.maybe("backoff", |chance| json!(chance.pick(&BACKOFFS)));
            poll.maybe("base_delay_ms", |chance| json!(chance.below(100)));
            poll.maybe("max_delay_ms", |chance| json!(chance.below(500)));
            poll.finish()
        });
    }
    members.put("transitions", transitions);
    members.finish()
}

fn wait(chance: &mut Chance, targets: &[String]) -> Value {
    let signal = *chance.pick(&SIGNALS);
    let mut wait = RandomMap::new(chance);
    wait.put("type", signal);
    wait.maybe("timeout_ms", |chance| json!(1 + chance.below(5_000)));
    wait.maybe("on_timeout", |chance| json!(chance.pick(targets)));
    wait.finish()
}

fn retry(chance: &mut Chance) -> Value {
    let mut retry = RandomMap::new(chance);
    retry.maybe("max_attempts", |chance| json!(1 + chance.below(4)));
    retry.maybe("backoff", |chance| json!(chance.pick(&BACKOFFS)));
    retry.maybe("initial_delay_ms", |chance| json!(chance.below(50)));
    retry.maybe("max_delay_ms", |chance| json!(1_000 + chance.below(500)));
    retry.maybe("within_ms", |chance| json!(chance.below(2_000)));
    retry.finish()
}

fn plan(chance: &mut Chance) -> Value {
    let executors: Vec<Value> = (0..=chance.below(3))
        .map(|at| {
            let mut executor = RandomMap::new(chance);
            executor.put("name", format!("executor{at}"));
            let action = *executor.chance.pick(&ACTIONS);
            executor.put("action", format!("@actions/{action}"));
            executor.maybe("priority", |chance| json!(chance.below(200)));
            executor.maybe("retry", retry);
            executor.maybe(
                "breaker",
                |chance| json!({"failureThreshold": 1 + chance.below(3), "cooldown_ms": 100}),
            );
            executor.maybe(
                "rate_limit",
                |chance| json!({"maxPerSecond": chance.below(3)}),
            );
            executor.maybe("tracking", |_| json!({"mode": "async", "timeoutMs": 300}));
            executor.finish()
        })
        .collect();
    let mut plan = RandomMap::new(chance);
    plan.put("executors", executors);
    plan.maybe("selection", |chance| {
        json!(chance.pick(&["static-order", "round_robin", "random", "health-weighted"]))
    });
    plan.maybe("cache", |_| json!({"key": "{input.n}", "ttl_ms": 400}));
    plan.maybe("fallback", |chance| {
        json!({"value": {"declined": true}, "condition": chance.pick(&["exhausted", "any_error"])})
    });
    plan.maybe(
        "errors",
        |_| json!({"fatal": ["fraud"], "retryable": ["timeout"]}),
    );
    plan.finish()
}
