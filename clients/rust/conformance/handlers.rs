//! Handlers that do what scripts say.

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, UNIX_EPOCH},
};

use interlock_client::{
    Call, Client, HandlerResult, IntoOutcome as _, Json, Member, Outcome, Schedule, Task, Verdict,
    reject, retry,
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::{Failed, Program, commands::ask, output::failure};

/// A handler and its scripts.
#[derive(Deserialize)]
pub(crate) struct Scripted {
    kind: String,
    name: String,
    /// Works without the entity.
    #[serde(default)]
    detached: bool,
    scripts: Vec<Vec<Step>>,
}

/// One step of a script; one member besides `reason` and `outcome`.
type Step = BTreeMap<String, Json>;

/// What a member serves its calls with.
#[derive(Clone)]
pub(crate) struct On {
    pub(crate) program: Arc<Program>,
    pub(crate) member: String,
    pub(crate) quiet: bool,
}

/// What steps send.
#[derive(Deserialize)]
struct Wanted {
    r#type: String,
    payload: Json,
    key: Option<String>,
}

/// What came out of a script.
enum Done {
    Nothing,
    Document(Json),
    Verdict(Verdict),
    Schedule(Schedule),
    Outcome(Outcome),
}

/// Scripts that are executed one for each call.
struct Scripts {
    on: On,
    kind: String,
    name: String,
    all: Vec<Vec<Step>>,
    called: AtomicUsize,
}

pub(crate) fn register(member: Member, on: On, scripted: Scripted) -> Result<Member, Failed> {
    let name = scripted.name.clone();
    let member = if scripted.detached {
        member.detached(&name)
    } else {
        member
    };
    let scripts = Arc::new(Scripts {
        on,
        kind: scripted.kind.clone(),
        name: scripted.name,
        all: scripted.scripts,
        called: AtomicUsize::new(0),
    });
    Ok(match scripted.kind.as_str() {
        "processor" => member.processor(name, move |call| {
            let running = Running::of_call(&scripts, &call);
            async move {
                Ok(match running.follow().await? {
                    Done::Document(document) => Some(document),
                    _ => None,
                })
            }
        }),
        "criterion" => member.criterion(name, move |call| {
            let running = Running::of_call(&scripts, &call);
            async move {
                Ok(match running.follow().await? {
                    Done::Verdict(verdict) => verdict,
                    _ => Verdict::holds(),
                })
            }
        }),
        "schedule" => member.schedule(name, move |call| {
            let running = Running::of_call(&scripts, &call);
            async move {
                match running.follow().await? {
                    Done::Schedule(schedule) => Ok(schedule),
                    _ => Err(reject("the script has no schedule")),
                }
            }
        }),
        "action" => member.action(name, move |task| {
            let running = Running::of_task(&scripts, &task);
            async move {
                Ok(match running.follow().await? {
                    Done::Outcome(outcome) => outcome,
                    _ => ().into_outcome()?,
                })
            }
        }),
        other => return Err(format!("{other} is not a kind of handler").into()),
    })
}

/// One call of a handler.
struct Running {
    scripts: Arc<Scripts>,
    script: usize,
    number: u64,
    client: Client,
    outside: Client,
    given: Json,
    entity_id: String,
    work: Work,
    left: Left,
}

/// What warnings are added to.
enum Work {
    Call(Call),
    Task(Task),
}

/// Says how a handler has ended; that it was given up, if nothing else was noted.
struct Left {
    on: On,
    number: u64,
    how: &'static str,
}

impl Drop for Left {
    fn drop(&mut self) {
        if !self.on.quiet {
            let how = if std::thread::panicking() {
                "raised"
            } else {
                self.how
            };
            let line = json!({"event": "left", "call": self.number, "how": how});
            self.on.program.output.say(&line);
        }
    }
}

/// The event of a call.
#[derive(Serialize)]
struct Called<'a> {
    event: &'static str,
    call: u64,
    member: &'a str,
    kind: &'a str,
    name: &'a str,
    data: Option<&'a Json>,
    #[serde(flatten)]
    more: BTreeMap<&'static str, Value>,
}

impl Running {
    fn of_call(scripts: &Arc<Scripts>, call: &Call) -> Self {
        let outside = scripts.on.program.client(&scripts.on.member);
        // Calls may come before the member is known by its name.
        let outside = outside.map_or_else(|_| call.client().clone(), |(client, _)| client);
        let running = Self::new(
            scripts,
            call.client().clone(),
            outside,
            call.entity
                .as_ref()
                .map(|entity| entity.data.clone())
                .unwrap_or_default(),
            call.entity_id.clone(),
            Work::Call(call.clone()),
        );
        let caller = json!({
            "kind": call.caller.kind, "id": call.caller.id, "roles": call.caller.roles,
        });
        running.say_called(BTreeMap::from([
            ("entityId", json!(call.entity_id)),
            (
                "state",
                json!(call.entity.as_ref().map(|entity| &entity.state)),
            ),
            ("parameters", json!(call.parameters)),
            ("workflow", json!(call.workflow)),
            (
                "transition",
                json!(call.transition.as_ref().map(|one| &one.name)),
            ),
            ("transactionId", json!(call.transaction_id)),
            ("dispatchKey", json!(call.dispatch_key)),
            ("caller", caller),
        ]));
        running
    }

    fn of_task(scripts: &Arc<Scripts>, task: &Task) -> Self {
        let running = Self::new(
            scripts,
            task.client().clone(),
            task.outside().clone(),
            task.input.clone(),
            String::new(),
            Work::Task(task.clone()),
        );
        running.say_called(BTreeMap::from([
            ("attempt", json!(task.attempt)),
            ("runId", json!(task.run_id)),
            ("step", json!(task.step)),
            ("idempotencyKey", json!(task.idempotency_key)),
        ]));
        running
    }

    fn new(
        scripts: &Arc<Scripts>,
        client: Client,
        outside: Client,
        given: Json,
        entity_id: String,
        work: Work,
    ) -> Self {
        let on = scripts.on.clone();
        let called = scripts.called.fetch_add(1, Ordering::Relaxed);
        let number = on.program.calls.fetch_add(1, Ordering::Relaxed) + 1;
        Self {
            scripts: Arc::clone(scripts),
            script: called.min(scripts.all.len().saturating_sub(1)),
            number,
            client,
            outside,
            given,
            entity_id,
            work,
            left: Left {
                on,
                number,
                how: "cancelled",
            },
        }
    }

    fn say_called(&self, more: BTreeMap<&'static str, Value>) {
        let on = &self.scripts.on;
        if !on.quiet {
            on.program.output.say(&Called {
                event: "called",
                call: self.number,
                member: &on.member,
                kind: &self.scripts.kind,
                name: &self.scripts.name,
                data: (!self.given.is_null()).then_some(&self.given),
                more,
            });
        }
    }

    /// Executes the steps until one of them ends the call.
    async fn follow(mut self) -> HandlerResult<Done> {
        let done = self.steps().await;
        self.left.how = match &done {
            Ok(_) => "returned",
            Err(failure) if failure.is_chosen() && failure.is_retryable() => "retry",
            Err(failure) if failure.is_chosen() => "rejected",
            Err(_) => "raised",
        };
        done
    }

    async fn steps(&self) -> HandlerResult<Done> {
        let Some(script) = self.scripts.all.get(self.script) else {
            return Ok(Done::Nothing);
        };
        for step in script {
            if let Some(done) = self.step(step).await? {
                return Ok(done);
            }
        }
        Ok(Done::Nothing)
    }

    async fn step(&self, step: &Step) -> HandlerResult<Option<Done>> {
        let text = |name: &str| match step.get(name) {
            Some(value) => Ok(Some(value.decode::<String>()?)),
            None => HandlerResult::Ok(None),
        };
        let mut names = step.keys().map(String::as_str);
        let Some(name) = names.find(|name| !matches!(*name, "reason" | "outcome")) else {
            return Ok(None);
        };
        let value = &step[name];
        Ok(match name {
            "return" => Some(Done::Document(value.clone())),
            "merge" => Some(Done::Document(merged(&self.given, value)?)),
            "keep" => Some(Done::Nothing),
            "matches" => Some(Done::Verdict(match text("reason")? {
                Some(reason) => Verdict::fails(reason),
                None => value.decode::<bool>()?.into(),
            })),
            "schedule" => Some(Done::Schedule(schedule(value)?)),
            "output" => Some(Done::Outcome(match text("outcome")? {
                Some(outcome) => Outcome::named(outcome, value)?,
                None => value.into_outcome()?,
            })),
            "reject" => return Err(reject(value.decode::<String>()?)),
            "retry" => return Err(retry(value.decode::<String>()?)),
            "raise" => panic!("{}", value.decode::<String>()?),
            "warn" => {
                match &self.work {
                    Work::Call(call) => call.warn(value.decode::<String>()?),
                    Work::Task(task) => task.warn(value.decode::<String>()?),
                }
                None
            }
            "wait" => {
                let gate = self.scripts.on.program.gate(&value.decode::<String>()?);
                let _opened = gate.acquire().await.err();
                None
            }
            "call" => self.ask(&self.client, value).await?,
            "outside" => self.ask(&self.outside, value).await?,
            "collect" => self.collect(value).await?,
            other => return Err(format!("{other} is not a step").into()),
        })
    }

    fn wanted(&self, value: &Json) -> HandlerResult<Wanted> {
        let mut wanted: Wanted = value.decode()?;
        let id = format!("\"{}\"", self.entity_id);
        wanted.payload = Json::parse(wanted.payload.as_str().replace("\"$entityId\"", &id))?;
        Ok(wanted)
    }

    async fn ask(&self, client: &Client, value: &Json) -> HandlerResult<Option<Done>> {
        let wanted = self.wanted(value)?;
        let answer = ask(
            client,
            &wanted.r#type,
            &wanted.payload,
            wanted.key.as_deref(),
        )
        .await;
        self.say_asked("ok", answer);
        Ok(None)
    }

    async fn collect(&self, value: &Json) -> HandlerResult<Option<Done>> {
        let wanted = self.wanted(value)?;
        let read = self
            .client
            .stream::<Json>(&wanted.r#type, &wanted.payload)
            .all()
            .await;
        let items = match read {
            Ok(items) => Json::encode(&items).map_err(Failed::from),
            Err(error) => Err(error.into()),
        };
        self.say_asked("items", items);
        Ok(None)
    }

    fn say_asked(&self, name: &str, answer: Result<Json, Failed>) {
        let mut line: BTreeMap<&str, Json> = BTreeMap::from([
            ("event", json!("asked").into()),
            ("call", json!(self.number).into()),
        ]);
        match answer {
            Ok(answer) => line.insert(name, answer),
            Err(failed) => line.insert("error", failure(&failed).into()),
        };
        self.scripts.on.program.output.say(&line);
    }
}

/// The document with members added or replaced.
fn merged(document: &Json, members: &Json) -> HandlerResult<Json> {
    let mut made: BTreeMap<String, Json> = document.decode()?;
    made.extend(members.decode::<BTreeMap<String, Json>>()?);
    Ok(Json::encode(&made)?)
}

fn schedule(value: &Json) -> HandlerResult<Schedule> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Given {
        fire_at: Option<u64>,
        fire_after_ms: Option<u64>,
        expire_at: Option<u64>,
        expire_after_ms: Option<u64>,
    }
    let given: Given = value.decode()?;
    let mut made = match (given.fire_at, given.fire_after_ms) {
        (Some(at), _) => Schedule::at(UNIX_EPOCH + Duration::from_millis(at)),
        (None, Some(after)) => Schedule::after(Duration::from_millis(after)),
        (None, None) => return Err(reject("the schedule has no time")),
    };
    if let Some(at) = given.expire_at {
        made = made.expire_at(UNIX_EPOCH + Duration::from_millis(at));
    }
    if let Some(after) = given.expire_after_ms {
        made = made.expire_after(Duration::from_millis(after));
    }
    Ok(made)
}
