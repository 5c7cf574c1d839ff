//! A server with a member that does every task as the action's name and the input say.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use interlock::event::EventType;
use serde_json::{Value, json};

use super::{
    Connection, Server, between_looks,
    connection::{PATIENCE, payload_of, request},
};

/// The actions of the member, and what they answer:
/// `echo` the input, `says` the outcome and output of the input, `fails` with the error of the
/// input, `later` is pending `n` times, `flaky` fails `n` times, `silent` nothing, `garbage` what
/// cannot be read. `off` is disabled, `none` is not registered.
const ACTIONS: [&str; 8] = [
    "echo", "says", "fails", "later", "flaky", "silent", "garbage", "off",
];

/// A server, a client and that member.
pub(crate) struct Flow {
    pub(crate) server: Server,
    pub(crate) connection: Connection,
}

/// A run that has ended, and its history.
pub(crate) struct Ended {
    pub(crate) run: Value,
    pub(crate) history: Vec<Value>,
}

impl Flow {
    pub(crate) async fn new() -> Self {
        Self::with(&[]).await
    }

    pub(crate) async fn with(settings: &[(&str, &str)]) -> Self {
        let server = Server::with(settings);
        let connection = server.connect().await;
        for name in ACTIONS {
            let action = json!({"name": name, "maxRetries": 0, "timeoutMs": 300});
            connection.ok("ActionRegisterRequest", action).await;
        }
        let off = json!({"name": "off", "enabled": false});
        connection.ok("ActionSetEnabledRequest", off).await;
        let member = server.connect().await;
        let join = json!({"actions": ["*"]});
        let join = request("CalculationMemberJoinEvent", "join", join);
        member.send(join).await;
        let greeting = member.unasked().await.expect("a greeting");
        assert_eq!(greeting.kind, EventType::CalculationMemberGreetEvent);
        tokio::spawn(serve(member));
        Self { server, connection }
    }

    pub(crate) async fn define(&self, document: Value) {
        let payload = json!({"document": document});
        self.connection
            .ok("RunDefinitionCreateRequest", payload)
            .await;
    }

    /// Starts a run; its id.
    pub(crate) async fn start(&self, name: &str, input: Value) -> String {
        let payload = json!({"definition": name, "input": input});
        let started = self.connection.ok("RunStartRequest", payload).await;
        started["runId"].as_str().expect("an id").to_owned()
    }

    /// Waits for the end of a run.
    pub(crate) async fn ended(&self, id: &str) -> Ended {
        let follow = json!({"runId": id, "fromSequence": 0});
        let follow = self.connection.all("RunHistorySubscribeRequest", follow);
        let (history, _) = follow.await;
        let run = json!({"runId": id});
        let run = self.connection.ok("RunGetRequest", run).await["run"].take();
        Ended { run, history }
    }

    /// Defines a workflow, and runs it to its end.
    pub(crate) async fn run(&self, document: Value, input: Value) -> Ended {
        let name = document["name"].as_str().expect("a name").to_owned();
        self.define(document).await;
        let id = self.start(&name, input).await;
        self.ended(&id).await
    }

    /// Waits until a run waits for that; the run.
    pub(crate) async fn waits(&self, id: &str, what: &str) -> Value {
        let look = async {
            loop {
                let run = json!({"runId": id});
                let run = self.connection.ok("RunGetRequest", run).await["run"].take();
                if run["waiting"]["for"] == what {
                    return run;
                }
                assert!(run["finishedAt"].is_null(), "{run}");
                between_looks().await;
            }
        };
        let waits = tokio::time::timeout(PATIENCE, look).await;
        waits.unwrap_or_else(|_| panic!("{id} does not wait for a {what}"))
    }

    pub(crate) async fn signal(&self, id: &str, kind: &str, payload: Value) -> Value {
        let signal = json!({"runId": id, "type": kind, "payload": payload});
        self.connection.ok("RunSignalRequest", signal).await
    }
}

impl Ended {
    pub(crate) fn status(&self) -> &str {
        self.run["status"].as_str().expect("a status")
    }

    /// How often something happened.
    pub(crate) fn count(&self, kind: &str) -> usize {
        let of_it = |event: &&Value| event["eventType"] == kind;
        self.history.iter().filter(of_it).count()
    }

    /// The events as `type detail`, from the second on: the first is the start.
    pub(crate) fn events(&self) -> Vec<String> {
        let text = |event: &Value| {
            let of = |name: &str| event[name].as_str().expect("a text").to_owned();
            format!("{} {}", of("eventType"), of("detail"))
                .trim()
                .to_owned()
        };
        self.history.iter().skip(1).map(text).collect()
    }

    /// Its last event, as `type detail`.
    pub(crate) fn last(&self) -> String {
        self.events().pop().expect("an event")
    }

    /// The time from the first event of a type to the first of another.
    pub(crate) fn waited(&self, from: &str, to: &str) -> Duration {
        let first = |kind: &str| *self.times(kind).first().expect("an event");
        first(to).saturating_sub(first(from))
    }

    /// When the events of a type happened.
    pub(crate) fn times(&self, kind: &str) -> Vec<Duration> {
        let of_it = |event: &&Value| event["eventType"] == kind;
        let time = |event: &Value| {
            let time = event["time"].as_str().expect("a time");
            let time = interlock::clock::Timestamp::parse(time).expect("a time");
            Duration::from_micros(time.micros().unsigned_abs())
        };
        self.history.iter().filter(of_it).map(time).collect()
    }
}

/// A workflow of version 1.
pub(crate) fn workflow(name: &str, start: Value, steps: Value) -> Value {
    json!({"kind": "Workflow", "name": name, "version": "1", "start": start, "steps": steps})
}

async fn serve(member: Connection) {
    let done: Arc<Mutex<HashMap<String, u64>>> = Arc::default();
    while let Some(event) = member.unasked_or_end().await {
        if event.kind != EventType::TaskCalculationRequest {
            continue;
        }
        let task = payload_of(&event);
        let input = &task["input"];
        let before = {
            let mut done = done.lock().expect("no panic");
            let key = format!("{} {}", task["runId"], task["name"]);
            let times = done.entry(key).or_default();
            *times += 1;
            *times - 1
        };
        let is_again = before < input["n"].as_u64().unwrap_or_default();
        let mut answer = match task["name"].as_str().expect("a name") {
            "echo" => json!({"output": input}),
            "says" => input.clone(),
            "fails" => json!({"success": false, "error": input["error"]}),
            "later" if is_again => json!({"outcome": "pending"}),
            "flaky" if is_again => json!({"success": false, "error": {"message": "not yet"}}),
            "later" | "flaky" => json!({"output": {"before": before}}),
            "garbage" => json!({"outcome": 5}),
            _ => continue,
        };
        answer["requestId"] = task["requestId"].clone();
        let answer = request("TaskCalculationResponse", &member.fresh_id(), answer);
        member.send(answer).await;
    }
}
