//! Tasks on a member's stream (`runs.md` §5.2).

use std::{collections::BTreeMap, sync::Arc};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::{AsText, RawJson, decode, json};
use crate::clock::Timestamp;
use crate::error::Failure;
use crate::id::{CallId, MessageId, NAMESPACE_RULE, is_namespace};

/// How long the name of an action may be, in bytes.
pub const NAME_MAX: usize = 256;

/// How many actions or labels may be announced at once.
const ANNOUNCED_MAX: usize = 1_000;

/// A task, as a member is sent it.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TaskRequest<'a> {
    pub id: AsText<CallId>,
    /// New for every delivery; the answer names it.
    pub request_id: AsText<CallId>,
    /// The same for every delivery.
    pub task_id: &'a str,
    /// From 1.
    pub attempt: u32,
    #[schemars(extend("enum" = ["action", "connector", "item"]))]
    pub kind: &'static str,
    /// The action, the connector, or the worker of a manager.
    pub name: &'a str,
    pub namespace: &'a str,
    pub input: RawJson,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub definition: Option<OfDefinition<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step: Option<&'a str>,
    /// When the task counts as not answered.
    pub deadline: AsText<Timestamp>,
    /// The same until a task of the step has been answered.
    pub idempotency_key: &'a str,
    /// The `context` of the action.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context: Option<&'a str>,
    pub success: bool,
}

/// The definition of a run.
#[derive(Serialize, JsonSchema)]
#[schemars(inline)]
pub struct OfDefinition<'a> {
    pub name: &'a str,
    pub version: &'a str,
}

/// What a member answers to a task.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TaskAnswer<'a> {
    pub request_id: String,
    /// Absent means true.
    #[serde(default)]
    pub success: Option<bool>,
    /// Absent means `success`; `pending`: accepted, the outcome is reported by `TaskComplete`.
    #[serde(default)]
    pub outcome: Option<String>,
    /// Absent means `{}`.
    #[serde(default, borrow)]
    pub output: Option<&'a RawValue>,
    #[serde(default)]
    pub error: Option<TaskError>,
    #[serde(default)]
    pub warnings: Option<Vec<String>>,
}

/// Why a task failed.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TaskError {
    #[serde(default)]
    pub code: Option<String>,
    #[serde(default)]
    pub message: Option<String>,
    /// Whether another delivery may help.
    #[serde(default)]
    pub retryable: Option<bool>,
}

/// Informs a member that a task was cancelled.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TaskCancel<'a> {
    id: AsText<MessageId>,
    task_id: &'a str,
    /// That of the delivery.
    request_id: AsText<CallId>,
    reason: &'a str,
}

/// The text of that.
pub fn cancel(task: &str, call: CallId, reason: &str) -> String {
    json(&TaskCancel {
        id: AsText(MessageId::fresh()),
        task_id: task,
        request_id: AsText(call),
        reason,
    })
}

/// The request that an answer names, which need not be readable beyond that.
pub fn request_of(answer: &[u8]) -> Option<CallId> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Named {
        request_id: String,
    }
    let answer = String::from_utf8_lossy(answer);
    match decode::<Named>(&answer) {
        Ok(named) => named.request_id.parse().ok(),
        // It is not valid JSON, or names several.
        Err(_) => written_id(&answer),
    }
}

/// The first `requestId` that is written in a text.
fn written_id(text: &str) -> Option<CallId> {
    text.split("\"requestId\"").skip(1).find_map(|rest| {
        let value = rest.trim_start().strip_prefix(':')?.trim_start();
        let (id, _) = value.strip_prefix('"')?.split_once('"')?;
        id.parse().ok()
    })
}

/// The maximum size in bytes of all actions and labels of a member or worker, and of all tags of a
/// member.
const ANNOUNCED_BYTES_MAX: usize = 64 << 10;

/// What a member or worker says it can do.
#[derive(Debug, Default)]
pub struct Offered {
    pub namespace: Option<Arc<str>>,
    pub actions: Vec<String>,
    pub max_concurrency: Option<u32>,
    pub labels: BTreeMap<Box<str>, Box<str>>,
}

impl Offered {
    /// Checks what was said.
    pub fn check(self) -> Result<Self, Failure> {
        let bad = |parameter: &'static str, message: String| {
            Err(Failure::bad_parameter(parameter, message))
        };
        if let Some(namespace) = self.namespace.as_deref()
            && !is_namespace(namespace)
        {
            return bad(
                "namespace",
                format!("\"{namespace}\" is not a valid namespace: use {NAMESPACE_RULE}"),
            );
        }
        if self.actions.len() > ANNOUNCED_MAX || self.labels.len() > ANNOUNCED_MAX {
            let message = format!("at most {ANNOUNCED_MAX} actions and labels may be announced");
            return bad("actions", message);
        }
        let labels = self.labels.iter();
        let labels = labels.map(|(name, value)| name.len() + value.len());
        let actions = self.actions.iter().map(String::len);
        if actions.chain(labels).sum::<usize>() > ANNOUNCED_BYTES_MAX {
            let message = format!(
                "the actions and labels have more than {ANNOUNCED_BYTES_MAX} bytes together"
            );
            return bad("actions", message);
        }
        let is_name = |name: &String| (1..=NAME_MAX).contains(&name.len());
        if let Some(name) = self.actions.iter().find(|name| !is_name(name)) {
            let message = format!(
                "the name of an action has {} bytes; use 1 to {NAME_MAX}",
                name.len()
            );
            return bad("actions", message);
        }
        if self.max_concurrency == Some(0) {
            let message = "maxConcurrency is 0; use 1 or more, or leave it out";
            return bad("maxConcurrency", message.to_owned());
        }
        Ok(self)
    }
}

/// Checks the tags that a member announces.
pub(super) fn check_tags(tags: &[String]) -> Result<(), Failure> {
    let bytes: usize = tags.iter().map(String::len).sum();
    if tags.len() <= ANNOUNCED_MAX && bytes <= ANNOUNCED_BYTES_MAX {
        return Ok(());
    }
    let message = format!(
        "the member has more than {ANNOUNCED_MAX} tags, or more than {ANNOUNCED_BYTES_MAX} bytes of them"
    );
    Err(Failure::bad_parameter("tags", message))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_request_of_an_answer_is_found_whatever_else_is_wrong_with_it() {
        let id = CallId::fresh();
        let good = format!(r#"{{"requestId":"{id}","success":1}}"#);
        let not_a_number = format!(r#"{{"requestId" : "{id}","output":NaN}}"#);
        let twice = format!(r#"{{"requestId":"{id}","requestId":"{id}"}}"#);
        let marked = format!("\u{feff}{good}");
        let mut not_text = good.clone().into_bytes();
        not_text.push(0xff);
        let texts = [good, not_a_number, twice, marked].map(String::into_bytes);
        for answer in texts.into_iter().chain([not_text]) {
            let text = String::from_utf8_lossy(&answer).into_owned();
            assert_eq!(request_of(&answer), Some(id), "{text}");
        }
        for none in [
            "",
            "{",
            r#"{"requestId":7"#,
            r#"{"requestId":"x""#,
            r#""requestId""#,
        ] {
            assert_eq!(request_of(none.as_bytes()), None, "{none}");
        }
    }
}
