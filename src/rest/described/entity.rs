//! Entities.

use schemars::{Schema, SchemaGenerator, json_schema};

use super::{
    Body, CONDITION, DOCUMENT, Description, NO_ENTITY, NO_MODEL, Parameter, RUN, Tag, of,
    parameter::{
        CONSISTENCY, ENTITY_ID, ENTITY_NAME, FORMAT, IF_MATCH, JSON_FORMAT, MODEL_VERSION,
        POINT_IN_TIME, SIZE, TIMEOUT, TRANSACTION, TRANSITION, WINDOW, text, truth,
    },
};
use crate::error::Code;
use crate::event::payload::{
    entity::{TransactionInfo, WrittenChunk},
    search::{ChangeMeta, Condition},
};
use crate::rest::write::entity::{Created, EntitiesDeleted, Entity, EntityDeleted, Updated};

fn document(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "object",
        "description": "The document: an object that matches the model.",
        "examples": [{"customer": {"name": "Ada", "country": "GB"}, "total": 19.9}]
    })
}

fn documents(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "description": "One document, or a list of documents.",
        "anyOf": [{"type": "object"}, {"type": "array", "items": {"type": "object"}}],
        "examples": [{"customer": {"name": "Ada", "country": "GB"}, "total": 19.9}]
    })
}

/// Which of them it is the path says.
const DOCUMENTS: Body = Body::Media(&[("application/json", documents), ("application/xml", text)]);
const ONE_DOCUMENT: Body =
    Body::Media(&[("application/json", document), ("application/xml", text)]);

fn merge_patch(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "description": "RFC 7386: members replace members, and null removes a member.",
        "examples": [{"total": 21}]
    })
}

fn json_patch(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "description": "RFC 6902: operations, applied in order.",
        "type": "array",
        "items": {
            "type": "object",
            "required": ["op", "path"],
            "properties": {
                "op": {"enum": ["add", "remove", "replace", "move", "copy", "test"]},
                "path": {"type": "string"},
                "from": {"type": "string"},
                "value": {}
            }
        },
        "examples": [[{"op": "replace", "path": "/total", "value": 21}]]
    })
}

fn names(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "array", "items": {"type": "string"}, "description": "Names of transitions."})
}

const NOT_LOCKED: &[Code] = &[Code::ModelNotLocked];
const MODIFIED: &[Code] = &[Code::EntityModified];
const NO_TRANSITION: &[Code] = &[Code::TransitionNotFound];
const PATCHED: &[Code] = &[Code::PreconditionRequired, Code::UnsupportedMediaType];

pub(in crate::rest) const CREATE: Description = Description {
    text: "The entity starts in the initial state of its workflow and moves as far as automated \
           transitions lead, in one transaction. A body that begins with `[` is a list, written in \
           transactions of `transactionWindow` entities each; if one of them fails, the preceding \
           ones stay.",
    parts: &[
        ("first", FORMAT),
        ("second", ENTITY_NAME),
        ("third", MODEL_VERSION),
    ],
    parameters: &[WINDOW, TIMEOUT, CONSISTENCY],
    body: DOCUMENTS,
    codes: &[DOCUMENT, RUN, NO_MODEL, NOT_LOCKED],
    ..Description::new(
        Tag::Entities,
        "createEntity",
        "Create an entity, or several of one model",
        of::<Vec<WrittenChunk>>,
    )
};

pub(in crate::rest) const CREATE_COLLECTION: Description = Description {
    text: "They are written in transactions of `transactionWindow` entities each; if one of them \
           fails, the preceding ones stay.",
    parts: &[("first", FORMAT)],
    parameters: &[WINDOW, TIMEOUT],
    body: Body::Json(of::<Vec<Created<'static>>>),
    codes: &[DOCUMENT, RUN, NO_MODEL, NOT_LOCKED],
    ..Description::new(
        Tag::Entities,
        "createEntities",
        "Create entities of any models",
        of::<Vec<WrittenChunk>>,
    )
};

pub(in crate::rest) const UPDATE_COLLECTION: Description = Description {
    text: "An item whose `ifMatch` names another version is skipped and listed in `failed`; any \
           other failure rolls back its transaction.",
    parts: &[("first", JSON_FORMAT)],
    parameters: &[WINDOW, TIMEOUT],
    body: Body::Json(of::<Vec<Updated>>),
    codes: &[DOCUMENT, RUN, NO_ENTITY, NO_TRANSITION],
    ..Description::new(
        Tag::Entities,
        "updateEntities",
        "Update entities",
        of::<Vec<WrittenChunk>>,
    )
};

pub(in crate::rest) const GET: Description = Description {
    parts: &[("first", ENTITY_ID)],
    parameters: &[POINT_IN_TIME, TRANSACTION],
    codes: &[NO_ENTITY],
    ..Description::new(
        Tag::Entities,
        "getEntity",
        "Read an entity: now, as of a time, or as a transaction left it",
        of::<Entity>,
    )
};

pub(in crate::rest) const DELETE: Description = Description {
    text: "Its history stays, and can be read as of an earlier time.",
    parts: &[("first", ENTITY_ID)],
    parameters: &[IF_MATCH],
    codes: &[NO_ENTITY, MODIFIED],
    ..Description::new(
        Tag::Entities,
        "deleteEntity",
        "Delete an entity",
        of::<EntityDeleted>,
    )
};

pub(in crate::rest) const LIST: Description = Description {
    text: "Ordered by entity id.",
    parts: &[("first", ENTITY_NAME), ("second", MODEL_VERSION)],
    parameters: &[
        Parameter::query(
            "pageSize",
            |_| json_schema!({"type": "integer", "minimum": 0, "maximum": 10000, "default": 20}),
            "Entities per page.",
        ),
        Parameter::query(
            "pageNumber",
            |_| json_schema!({"type": "integer", "minimum": 0, "maximum": 214_748, "default": 0}),
            "The page number, from 0.",
        ),
        POINT_IN_TIME,
    ],
    codes: &[NO_MODEL],
    ..Description::new(
        Tag::Entities,
        "listEntities",
        "List the entities of a model by page",
        of::<Entity>,
    )
};

pub(in crate::rest) const DELETE_ALL: Description = Description {
    text: "All of them, or those that match the condition in the body; with `pointInTime`, of those \
           that existed then. In the profile `cyoda-0.8`, a deletion of all ignores `pointInTime` \
           and returns no ids.",
    parts: &[("first", ENTITY_NAME), ("second", MODEL_VERSION)],
    parameters: &[
        POINT_IN_TIME,
        Parameter::query("verbose", truth, "Return the ids as well."),
        SIZE,
    ],
    body: Body::OptionalJson(of::<Condition>),
    codes: &[NO_MODEL, CONDITION],
    ..Description::new(
        Tag::Entities,
        "deleteEntities",
        "Delete the entities of a model",
        of::<EntitiesDeleted>,
    )
};

pub(in crate::rest) const UPDATE: Description = Description {
    text: "The state stays, unless an automated transition follows.",
    parts: &[("first", FORMAT), ("second", ENTITY_ID)],
    parameters: &[IF_MATCH, TIMEOUT, CONSISTENCY],
    body: ONE_DOCUMENT,
    codes: &[DOCUMENT, RUN, NO_ENTITY, MODIFIED, NO_TRANSITION],
    ..Description::new(
        Tag::Entities,
        "updateEntity",
        "Replace the document of an entity",
        of::<TransactionInfo>,
    )
};

pub(in crate::rest) const UPDATE_BY_TRANSITION: Description = Description {
    parts: &[
        ("first", FORMAT),
        ("second", ENTITY_ID),
        ("third", TRANSITION),
    ],
    parameters: &[IF_MATCH, TIMEOUT, CONSISTENCY],
    body: ONE_DOCUMENT,
    codes: &[DOCUMENT, RUN, NO_ENTITY, MODIFIED, NO_TRANSITION],
    ..Description::new(
        Tag::Entities,
        "updateEntityByTransition",
        "Replace the document of an entity, and take a transition",
        of::<TransactionInfo>,
    )
};

/// One of the forms of a patch (RFC 6902).
pub(in crate::rest) const JSON_PATCH: &str = "application/json-patch+json";

const PATCHES: Body = Body::Media(&[
    ("application/merge-patch+json", merge_patch),
    (JSON_PATCH, json_patch),
]);

const MATCH_REQUIRED: Parameter = Parameter::header(
    "If-Match",
    text,
    "The `transactionId` of the version that the patch is based on, or `*` for any.",
)
.required();

pub(in crate::rest) const PATCH: Description = Description {
    parts: &[("first", JSON_FORMAT), ("second", ENTITY_ID)],
    parameters: &[MATCH_REQUIRED],
    body: PATCHES,
    codes: &[DOCUMENT, RUN, NO_ENTITY, MODIFIED, NO_TRANSITION, PATCHED],
    ..Description::new(
        Tag::Entities,
        "patchEntity",
        "Patch the document of an entity",
        of::<TransactionInfo>,
    )
};

pub(in crate::rest) const PATCH_BY_TRANSITION: Description = Description {
    parts: &[
        ("first", JSON_FORMAT),
        ("second", ENTITY_ID),
        ("third", TRANSITION),
    ],
    parameters: &[MATCH_REQUIRED],
    body: PATCHES,
    codes: &[DOCUMENT, RUN, NO_ENTITY, MODIFIED, NO_TRANSITION, PATCHED],
    ..Description::new(
        Tag::Entities,
        "patchEntityByTransition",
        "Patch the document of an entity, and take a transition",
        of::<TransactionInfo>,
    )
};

pub(in crate::rest) const CHANGES: Description = Description {
    text: "Newest first, at most 1000.",
    parameters: &[POINT_IN_TIME],
    codes: &[NO_ENTITY],
    ..Description::new(
        Tag::Entities,
        "listChanges",
        "List the changes of an entity",
        of::<ChangeMeta>,
    )
};

/// Here an id need not be a UUID to be unknown.
const ANY_ID: Parameter = Parameter {
    shape: super::parameter::name,
    ..ENTITY_ID
};

pub(in crate::rest) const TRANSITIONS: Description = Description {
    text: "All transitions of its state, whether or not they can be taken now; see `explain`.",
    parts: &[("entityId", ANY_ID)],
    parameters: &[POINT_IN_TIME, TRANSACTION],
    codes: &[NO_ENTITY],
    ..Description::new(
        Tag::Entities,
        "listTransitions",
        "List the transitions of an entity's state",
        names,
    )
};

pub(in crate::rest) const TRANSITION_NOW: Description = Description {
    parameters: &[IF_MATCH],
    codes: &[RUN, NO_ENTITY, MODIFIED, NO_TRANSITION, DOCUMENT],
    ..Description::new(
        Tag::Entities,
        "takeTransition",
        "Take a transition; returns those available afterwards",
        names,
    )
};

const ENTITY_QUERY: Parameter = Parameter::query("entityId", text, "The entity.").required();

pub(in crate::rest) const TRANSITIONS_OF_CLASS: Description = Description {
    text: "For existing clients; `GET /entity/{entityId}/transitions` is the same.",
    parameters: &[
        Parameter::query(
            "entityClass",
            |_| json_schema!({"type": "string", "pattern": "^.+\\.[0-9]{1,9}$", "examples": ["order.1"]}),
            "The name of the model, a dot, and its version.",
        )
        .required(),
        ENTITY_QUERY,
        POINT_IN_TIME,
        TRANSACTION,
    ],
    codes: &[NO_ENTITY],
    ..Description::new(
        Tag::Entities,
        "listTransitionsOfClass",
        "List the transitions of an entity's state",
        names,
    )
};

pub(in crate::rest) const TRANSITION_BY_QUERY: Description = Description {
    text: "For existing clients; `POST /entity/{entityId}/transitions/{transition}` is the same.",
    parameters: &[
        ENTITY_QUERY,
        Parameter::query("transitionName", text, "The transition to take.").required(),
        Parameter::query("entityClass", text, "Ignored."),
        IF_MATCH,
    ],
    codes: &[RUN, NO_ENTITY, MODIFIED, NO_TRANSITION, DOCUMENT],
    ..Description::new(
        Tag::Entities,
        "takeTransitionByQuery",
        "Take a transition; returns those available afterwards",
        names,
    )
};
