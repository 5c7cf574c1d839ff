//! Managers (`runs.md` §8).

use schemars::{Schema, SchemaGenerator, json_schema};

use super::{
    Body, Description, Parameter, Tag,
    definitions::{CURSOR, LIMIT, NAMESPACE},
    of,
    parameter::text,
};
use crate::error::Code;
use crate::event::payload::managers::{Controlled, Created, Page, Shown, TickPayload, Ticked};

const NO_MANAGER: &[Code] = &[Code::ManagerNotFound];
const INVALID: &[Code] = &[Code::ValidationFailed];

const STATUS: Parameter = Parameter::query(
    "status",
    |_| json_schema!({"type": "string", "enum": ["to-do", "in-progress", "done", "paused", "error"]}),
    "Only managers of this status.",
);

const WORKER: Parameter = Parameter::query(
    "worker",
    text,
    "The `order` or the `user_code` of a worker; all if absent. The body may say it, too.",
);

const ITEM: Parameter = Parameter::query(
    "item",
    text,
    "The place, from 0, or the name of an item of the worker; all that ended `error` if absent. The \
     body may say it, too.",
);

fn document(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "object", "required": ["document"], "properties": {"document": {
        "type": "object", "required": ["configuration_code", "user_code", "workers"]
    }}})
}

fn payload(generator: &mut SchemaGenerator) -> Schema {
    let payload = generator.subschema_for::<TickPayload>();
    json_schema!({"type": "object", "properties": {"payload": payload}})
}

fn parts(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "object", "properties": {
        "worker": {"type": ["string", "integer"]},
        "item": {"type": ["string", "integer"]}
    }})
}

pub(in crate::rest) const CREATE: Description = Description {
    text: "`document` is the manager. Its file is named by its codes and a stamp; a tick has it begin.",
    parameters: &[NAMESPACE],
    body: Body::Json(document),
    codes: &[INVALID],
    ..Description::new(Tag::Runs, "createManager", "Make a manager", of::<Created>)
};

pub(in crate::rest) const LIST: Description = Description {
    parameters: &[NAMESPACE, STATUS, LIMIT, CURSOR],
    ..Description::new(
        Tag::Runs,
        "listManagers",
        "List managers by the names of their files",
        of::<Page>,
    )
};

pub(in crate::rest) const GET: Description = Description {
    parameters: &[NAMESPACE],
    codes: &[NO_MANAGER],
    ..Description::new(
        Tag::Runs,
        "getManager",
        "A manager as it is written",
        of::<Shown>,
    )
};

pub(in crate::rest) const TICK: Description = Description {
    text: "Has managers begin, takes over how the work stands that was started, and starts what \
           follows. It does not wait for what it starts.",
    parameters: &[NAMESPACE],
    body: Body::OptionalJson(payload),
    codes: &[NO_MANAGER],
    ..Description::new(Tag::Runs, "tickManagers", "Tick managers", of::<Ticked>)
};

pub(in crate::rest) const PAUSE: Description = Description {
    text: "Nothing more is started for it; what runs goes to its end.",
    parameters: &[NAMESPACE],
    codes: &[NO_MANAGER, INVALID],
    ..Description::new(
        Tag::Runs,
        "pauseManager",
        "Pause a manager",
        of::<Controlled>,
    )
};

pub(in crate::rest) const RESUME: Description = Description {
    parameters: &[NAMESPACE],
    codes: &[NO_MANAGER, INVALID],
    ..Description::new(
        Tag::Runs,
        "resumeManager",
        "Resume a manager",
        of::<Controlled>,
    )
};

pub(in crate::rest) const RESET: Description = Description {
    text: "The item, or every item of the worker or of the manager that ended `error`, is to be \
           done again; worker and manager are in progress.",
    parameters: &[NAMESPACE, WORKER, ITEM],
    body: Body::OptionalJson(parts),
    codes: &[NO_MANAGER, INVALID],
    ..Description::new(
        Tag::Runs,
        "resetManager",
        "Have items of a manager done again",
        of::<Controlled>,
    )
};
