//! Timers: what is armed when an entity settles, and cancelled when it leaves
//! (`workflow-engine.md` §9).

use std::time::Duration;

use super::Error;
use crate::clock::Timestamp;
use crate::dispatch::Reply;
use crate::entity::{Document, Shape, Value};
use crate::id::{FunctionName, StateName, TransitionName};

/// A transition that will be taken later.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Timer {
    pub kind: TimerKind,
    /// It applies only while the entity is in this state.
    pub state: StateName,
    pub transition: TransitionName,
    pub due: Timestamp,
    /// How late it may fire; none for any time.
    pub timeout: Option<Duration>,
}

/// What armed a timer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimerKind {
    /// The schedule of the transition: armed again by every write that settles in its state.
    Transition,
    /// A processor of a transition into the state: armed once.
    Processor,
}

/// An armed timer of an entity.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Armed {
    pub kind: TimerKind,
    pub state: StateName,
    pub transition: TransitionName,
}

/// A change to the timers of an entity.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TimerChange {
    /// Replaces the timer of the same kind and transition.
    Arm(Timer),
    Cancel {
        kind: TimerKind,
        transition: TransitionName,
    },
}

/// When a timer is due, and how late it may fire.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Plan {
    Due {
        at: Timestamp,
        timeout: Option<Duration>,
    },
    /// It expires before it is due.
    BornExpired,
}

/// Reads the result of a schedule function (`workflow-engine.md` §9.2).
pub(super) fn plan(function: &FunctionName, reply: &Reply, now: Timestamp) -> Result<Plan, Error> {
    let fault = |why| Error::NoSchedule {
        function: function.clone(),
        why,
    };
    let Reply::Computed { kind, result } = reply else {
        return Err(fault("not a function's answer"));
    };
    if kind != "Schedule" {
        return Err(fault("`resultKind` is not `Schedule`"));
    }
    let members = ScheduleResult::read(result.as_ref()).map_err(fault)?;
    let fire = match (members.fire_at, members.fire_after) {
        (Some(at), None) => at,
        (None, Some(after)) => now.millis().saturating_add(after),
        _ => return Err(fault("give either `fireAt` or `fireAfterMs`")),
    };
    let expire = match (members.expire_at, members.expire_after) {
        (None, None) => None,
        (Some(at), None) => Some(at),
        (None, Some(after)) => Some(fire.saturating_add(after)),
        _ => return Err(fault("give one of `expireAt` and `expireAfterMs`")),
    };
    let timeout = match expire {
        None => None,
        Some(expire) if expire <= fire => return Ok(Plan::BornExpired),
        Some(expire) => Some(Duration::from_millis(
            u64::try_from(expire.saturating_sub(fire)).unwrap_or(0),
        )),
    };
    Ok(Plan::Due {
        at: Timestamp::from_micros(fire.max(0).saturating_mul(1_000)),
        timeout,
    })
}

#[derive(Default)]
struct ScheduleResult {
    fire_at: Option<i64>,
    fire_after: Option<i64>,
    expire_at: Option<i64>,
    expire_after: Option<i64>,
}

impl ScheduleResult {
    fn read(result: Option<&Document>) -> Result<Self, &'static str> {
        let Some(Shape::Object(given)) = result.map(|result| result.root().shape()) else {
            return Err("`result` is not an object");
        };
        let mut members = Self::default();
        for (name, value) in given.filter(|(_, value)| !value.is_null()) {
            let place = match name.as_ref() {
                "fireAt" => &mut members.fire_at,
                "fireAfterMs" => &mut members.fire_after,
                "expireAt" => &mut members.expire_at,
                "expireAfterMs" => &mut members.expire_after,
                _ => return Err("`result` has an unknown member"),
            };
            *place = Some(whole(value).ok_or("a time is not a whole number of milliseconds")?);
        }
        Ok(members)
    }
}

fn whole(value: Value<'_>) -> Option<i64> {
    let Shape::Number(literal) = value.shape() else {
        return None;
    };
    literal.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_function_answers_is_a_plan_or_refused() {
        let at = |ms: i64, timeout_ms: Option<u64>| {
            Ok(Plan::Due {
                at: Timestamp::from_micros(ms * 1_000),
                timeout: timeout_ms.map(Duration::from_millis),
            })
        };
        for (result, expected) in [
            (r#"{"fireAt":5000}"#, at(5_000, None)),
            (r#"{"fireAfterMs":500}"#, at(1_500, None)),
            (r#"{"fireAt":10,"expireAfterMs":7}"#, at(10, Some(7))),
            (r#"{"fireAfterMs":1,"expireAt":1003}"#, at(1_001, Some(2))),
            (r#"{"fireAt":10,"expireAt":10}"#, Ok(Plan::BornExpired)),
            (r#"{"fireAt":10,"expireAfterMs":-1}"#, Ok(Plan::BornExpired)),
            (r#"{"fireAt":1,"fireAfterMs":null}"#, at(1, None)),
            ("{}", Err(())),
            (r#"{"fireAt":1,"fireAfterMs":1}"#, Err(())),
            (r#"{"fireAt":1,"expireAt":1,"expireAfterMs":1}"#, Err(())),
            (r#"{"fireAt":"1"}"#, Err(())),
            (r#"{"fireAt":1.5}"#, Err(())),
            (r#"{"fireAt":1,"colour":2}"#, Err(())),
            ("[]", Err(())),
        ] {
            let reply = |kind: &str| Reply::Computed {
                kind: kind.to_owned(),
                result: Some(Document::parse(result).expect("JSON")),
            };
            let now = Timestamp::from_micros(1_000_000);
            let planned = plan(&"f".into(), &reply("Schedule"), now);
            assert_eq!(planned.map_err(|_| ()), expected, "{result}");
            assert!(plan(&"f".into(), &reply("Other"), now).is_err());
        }
    }
}
