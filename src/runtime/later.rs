//! The content of tasks: timers, and runs to resume (`workflow-engine.md` §6.4 and §9).

use std::{sync::Arc, time::Duration};

use serde::{Deserialize, Serialize};

use crate::clock::Timestamp;
use crate::compute::Principal;
use crate::engine::{Armed, Suspended, TimerChange, TimerKind};
use crate::entity::Actor;
use crate::error::Failure;
use crate::id::{DispatchKey, EntityId, StateName, TransactionId, TransitionName};
use crate::storage::{NewTask, Once, Print, Task, TaskKind, UnitOfWork, Version};

/// A timer as stored in a task; the transition is the name of the task.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct TimerBody {
    state: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    timeout_ms: Option<u64>,
    by: By,
}

/// The principal on whose behalf a task is executed.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct By {
    kind: String,
    name: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    roles: Vec<String>,
}

/// The rest of a run.
pub(super) struct Continuation {
    pub(super) suspended: Suspended,
    /// The transaction in which the request began.
    pub(super) entry: TransactionId,
    /// The transaction that wrote the committed part.
    pub(super) written: TransactionId,
    /// Identifies the next call; the same for every attempt.
    pub(super) dispatch: DispatchKey,
    pub(super) principal: Principal,
    /// The principal that armed the timer with which the run began; none if a request began it.
    pub(super) armed_by: Option<Actor>,
    /// Of a request with an idempotency key, whose outcome is provisional until the rest has ended.
    pub(super) once: Option<Once>,
    /// Whether that request has more to do than this run.
    pub(super) has_more: bool,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ContinuationBody {
    run: Suspended,
    entry: String,
    written: String,
    dispatch: String,
    by: By,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    armed_by: Option<By>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    once: Option<OnceBody>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    has_more: bool,
}

#[derive(Serialize, Deserialize)]
struct OnceBody {
    key: String,
    part: u32,
    print: Print,
    expires: i64,
}

impl OnceBody {
    fn of(once: &Once) -> Self {
        Self {
            key: once.key.to_string(),
            part: once.part,
            print: once.print,
            expires: once.expires.micros(),
        }
    }

    fn once(self) -> Once {
        Once {
            key: self.key.into(),
            part: self.part,
            print: self.print,
            expires: Timestamp::from_micros(self.expires),
        }
    }
}

/// The name of every continuation: an entity has at most one.
const CONTINUATION: &str = "continuation";

impl By {
    pub(super) fn of(actor: &Actor, roles: &[Box<str>]) -> Self {
        Self {
            kind: actor.kind.as_str().to_owned(),
            name: actor.name.to_string(),
            roles: roles.iter().map(ToString::to_string).collect(),
        }
    }

    pub(super) fn principal(self) -> Result<Principal, Failure> {
        Ok(Principal {
            actor: Actor {
                kind: self.kind.parse().map_err(unreadable)?,
                name: self.name.as_str().into(),
            },
            roles: self.roles.into_iter().map(Into::into).collect(),
            trace: None,
        })
    }
}

fn unreadable(error: impl std::fmt::Display) -> Failure {
    Failure::internal(format!("a task is not readable: {error}"))
}

impl TimerBody {
    pub(super) fn read(task: &Task) -> Result<Self, Failure> {
        serde_json::from_str(&task.body).map_err(unreadable)
    }

    pub(super) fn state(&self) -> &str {
        &self.state
    }

    pub(super) fn timeout(&self) -> Option<Duration> {
        self.timeout_ms.map(Duration::from_millis)
    }

    /// The principal that armed it.
    pub(super) fn author(self) -> Result<Actor, Failure> {
        Ok(self.by.principal()?.actor)
    }
}

impl Continuation {
    pub(super) fn task(self, entity: EntityId, now: Timestamp) -> Result<NewTask, Failure> {
        let body = ContinuationBody {
            run: self.suspended,
            entry: self.entry.to_string(),
            written: self.written.to_string(),
            dispatch: self.dispatch.to_string(),
            by: By::of(&self.principal.actor, &self.principal.roles),
            armed_by: self.armed_by.map(|actor| By::of(&actor, &[])),
            once: self.once.as_ref().map(OnceBody::of),
            has_more: self.has_more,
        };
        Ok(NewTask {
            entity,
            kind: TaskKind::Continuation,
            name: CONTINUATION.into(),
            due: now,
            body: encode(&body)?,
        })
    }

    pub(super) fn read(task: &Task) -> Result<Self, Failure> {
        let body: ContinuationBody = serde_json::from_str(&task.body).map_err(unreadable)?;
        Ok(Self {
            suspended: body.run,
            entry: body.entry.parse().map_err(unreadable)?,
            written: body.written.parse().map_err(unreadable)?,
            dispatch: body.dispatch.parse().map_err(unreadable)?,
            principal: body.by.principal()?,
            armed_by: match body.armed_by {
                Some(by) => Some(by.principal()?.actor),
                None => None,
            },
            once: body.once.map(OnceBody::once),
            has_more: body.has_more,
        })
    }
}

fn encode(body: &impl Serialize) -> Result<Arc<str>, Failure> {
    serde_json::to_string(body)
        .map(Into::into)
        .map_err(|error| Failure::internal(error.to_string()))
}

const fn task_kind(kind: TimerKind) -> TaskKind {
    match kind {
        TimerKind::Transition => TaskKind::Schedule,
        TimerKind::Processor => TaskKind::Timer,
    }
}

/// The kind of timer that a task is; none if it is not a timer.
pub(super) const fn timer_kind(kind: TaskKind) -> Option<TimerKind> {
    match kind {
        TaskKind::Schedule => Some(TimerKind::Transition),
        TaskKind::Timer => Some(TimerKind::Processor),
        TaskKind::Continuation | TaskKind::Run => None,
    }
}

/// The timer that a task is, as the engine represents it.
pub(super) fn armed(task: &Task) -> Option<Armed> {
    Some(Armed {
        kind: timer_kind(task.kind)?,
        state: StateName::from(TimerBody::read(task).ok()?.state.as_str()),
        transition: TransitionName::from(&*task.name),
    })
}

/// Applies changes to the timers of an entity that has these tasks: one that the unit saves, or has
/// read at `base`.
pub(super) fn apply(
    unit: &mut UnitOfWork,
    (entity, base): (EntityId, Option<&Version>),
    change: TimerChange,
    tasks: &[Task],
) -> Result<(), Failure> {
    match change {
        TimerChange::Cancel { kind, transition } => {
            let cancelled = tasks
                .iter()
                .find(|task| task.kind == task_kind(kind) && *task.name == *transition.as_str());
            if let Some(task) = cancelled {
                unit.drop_task(task);
            }
        }
        TimerChange::Arm(timer) => {
            let body = TimerBody {
                state: timer.state.to_string(),
                timeout_ms: timer
                    .timeout
                    .map(|timeout| u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX)),
                // A timer armed by a timer keeps the first one's author.
                by: By::of(&unit.attribution().author, &[]),
            };
            let task = NewTask {
                entity,
                kind: task_kind(timer.kind),
                name: timer.transition.shared(),
                due: timer.due,
                body: encode(&body)?,
            };
            match base {
                Some(base) => unit.put_task_of(base, task)?,
                None => unit.put_task(task)?,
            }
        }
    }
    Ok(())
}
