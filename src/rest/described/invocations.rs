//! Invocations of actions, and their tasks (`runs.md` §5).

use super::{
    Body, Description, Parameter, Tag,
    definitions::{CURSOR, LIMIT, NAMESPACE},
    of,
    parameter::{text, texts},
};
use crate::error::Code;
use crate::event::payload::invocations::{Invoke, Page, Task};

pub(in crate::rest) const INVOKE: Description = Description {
    text: "With `waitMs` the answer has the outcome, if it comes in time.",
    parameters: &[NAMESPACE],
    body: Body::Json(of::<Invoke<'static>>),
    codes: &[&[Code::ActionNotFound, Code::ActionDisabled]],
    ..Description::new(Tag::Runs, "invokeAction", "Invoke an action", of::<Task>)
};

pub(in crate::rest) const GET: Description = Description {
    codes: &[&[Code::TaskNotFound]],
    ..Description::new(Tag::Runs, "getTask", "Show a task", of::<Task>)
};

pub(in crate::rest) const LIST: Description = Description {
    text: "The tasks of the newest runs first.",
    parameters: &[
        NAMESPACE,
        Parameter::query("name", text, "Only tasks of the action of this name."),
        Parameter::query(
            "status",
            texts,
            "Only tasks of this status; may be repeated.",
        ),
        Parameter::query("runId", text, "Only tasks of this run."),
        LIMIT,
        CURSOR,
    ],
    codes: &[&[Code::RunNotFound]],
    ..Description::new(Tag::Runs, "listTasks", "List tasks", of::<Page>)
};
