//! Actions (`runs.md` §5).

use schemars::{Schema, SchemaGenerator, json_schema};

use super::{
    Body, Description, Tag,
    definitions::{CURSOR, LIMIT, NAMESPACE},
    of,
};
use crate::error::Code;
use crate::event::payload::actions::{Deleted, Enabled, Item, Page, Register, Registered};

const NO_ACTION: &[Code] = &[Code::ActionNotFound];

/// The members of the event but those that are in the path.
fn registration(generator: &mut SchemaGenerator) -> Schema {
    let whole = generator.root_schema_for::<Register>();
    let mut properties = whole.get("properties").cloned().unwrap_or_default();
    if let Some(members) = properties.as_object_mut() {
        members.remove("id");
        members.remove("name");
    }
    json_schema!({"type": "object", "properties": properties})
}

pub(in crate::rest) const REGISTER: Description = Description {
    text: "What there is of the name is replaced, and its version rises by one. Open tasks \
           continue as they were sent.",
    parameters: &[NAMESPACE],
    body: Body::OptionalJson(registration),
    ..Description::new(
        Tag::Runs,
        "registerAction",
        "Register an action",
        of::<Registered>,
    )
};

pub(in crate::rest) const LIST: Description = Description {
    parameters: &[NAMESPACE, LIMIT, CURSOR],
    ..Description::new(Tag::Runs, "listActions", "List actions by name", of::<Page>)
};

pub(in crate::rest) const GET: Description = Description {
    parameters: &[NAMESPACE],
    codes: &[NO_ACTION],
    ..Description::new(Tag::Runs, "getAction", "An action", of::<Item>)
};

pub(in crate::rest) const ENABLE: Description = Description {
    parameters: &[NAMESPACE],
    codes: &[NO_ACTION],
    ..Description::new(Tag::Runs, "enableAction", "Enable an action", of::<Enabled>)
};

pub(in crate::rest) const DISABLE: Description = Description {
    text: "Steps that ask for it end with `target_disabled`. Open tasks continue.",
    ..Description {
        name: "disableAction",
        summary: "Disable an action",
        ..ENABLE
    }
};

pub(in crate::rest) const DELETE: Description = Description {
    text: "Open tasks continue.",
    parameters: &[NAMESPACE],
    codes: &[NO_ACTION],
    ..Description::new(Tag::Runs, "deleteAction", "Delete an action", of::<Deleted>)
};
