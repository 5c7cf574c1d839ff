//! What stands in a path, a query or a header.

use schemars::{Schema, SchemaGenerator, json_schema};

use super::Shape;

/// Where a parameter stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::rest) enum ParameterLocation {
    Path,
    Query,
    Header,
}

impl ParameterLocation {
    pub(in crate::rest) const fn as_str(self) -> &'static str {
        match self {
            Self::Path => "path",
            Self::Query => "query",
            Self::Header => "header",
        }
    }
}

/// One parameter.
#[derive(Clone, Copy)]
pub(in crate::rest) struct Parameter {
    pub(in crate::rest) name: &'static str,
    pub(in crate::rest) place: ParameterLocation,
    pub(in crate::rest) required: bool,
    pub(in crate::rest) shape: Shape,
    pub(in crate::rest) text: &'static str,
}

impl Parameter {
    const fn path(name: &'static str, shape: Shape, text: &'static str) -> Self {
        Self {
            name,
            place: ParameterLocation::Path,
            required: true,
            shape,
            text,
        }
    }

    pub(in crate::rest) const fn query(
        name: &'static str,
        shape: Shape,
        text: &'static str,
    ) -> Self {
        Self {
            name,
            place: ParameterLocation::Query,
            required: false,
            shape,
            text,
        }
    }

    pub(in crate::rest) const fn header(
        name: &'static str,
        shape: Shape,
        text: &'static str,
    ) -> Self {
        Self {
            name,
            place: ParameterLocation::Header,
            required: false,
            shape,
            text,
        }
    }

    pub(in crate::rest) const fn required(self) -> Self {
        Self {
            required: true,
            ..self
        }
    }
}

pub(in crate::rest) fn text(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "string"})
}

/// A text that is not empty: a part of a path cannot be.
pub(in crate::rest) fn name(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "string", "minLength": 1})
}

pub(in crate::rest) fn uuid(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "string", "format": "uuid"})
}

pub(in crate::rest) fn instant(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "string", "format": "date-time"})
}

pub(in crate::rest) fn truth(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "boolean"})
}

pub(in crate::rest) fn int32(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "integer", "format": "int32", "minimum": i32::MIN, "maximum": i32::MAX})
}

pub(in crate::rest) fn int64(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "integer", "format": "int64"})
}

/// A list that is written by repeating the parameter.
pub(in crate::rest) fn texts(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "array", "items": {"type": "string"}})
}

const CLIENT_ID: Parameter = Parameter::path("clientId", client_id, "The client.");
const PROVIDER_ID: Parameter = Parameter::path("providerId", uuid, "The OpenID Connect provider.");
const CONVERTER: Parameter =
    Parameter::path("converter", import_converter, "The format of the body.");
const CHANGE_LEVEL: Parameter = Parameter::path(
    "changeLevel",
    change_level,
    "How far entities may widen the model; each level permits what the lower ones do.",
);
const ACTION: Parameter = Parameter::path("action", name, "The name of the action.");
const BUNDLE: Parameter = Parameter::path("bundle", name, "The name of the bundle.");
const DEFINITION: Parameter = Parameter::path("definition", name, "The name of the definition.");
const PLAN: Parameter = Parameter::path("plan", name, "The name of the plan.");
const EVENT: Parameter = Parameter::path("event", name, "The name of the event.");
const MACHINE: Parameter = Parameter::path("machine", name, "The name of the state machine.");
const MACHINE_ENTITY: Parameter = Parameter::path("entity", name, "The table, or the model.");
const MACHINE_ROW: Parameter = Parameter::path("id", name, "The row, or the entity.");
const SAGA: Parameter = Parameter::path("saga", name, "The name of the saga.");
const RUN: Parameter = Parameter::path("runId", name, "The run.");
const DATA_FORMAT: Parameter = Parameter::path("dataFormat", format, "The format of the sample.");
const JOB: Parameter = Parameter::path("jobId", name, "The background search.");
const INCIDENT: Parameter = Parameter::path("incidentId", name, "The incident.");
const KEY_ID: Parameter = Parameter::path("keyId", name, "The key pair, by its `kid`.");
const FILE_PATH: Parameter = Parameter::path(
    "path",
    |_| json_schema!({"type": "string", "minLength": 1, "maxLength": 511}),
    "The path of the file without its first slash; its slashes are written as they are.",
);
const MANAGER: Parameter = Parameter::path("manager", name, "The name of the manager's file.");
const MESSAGE_ID: Parameter = Parameter::path("messageId", uuid, "The message.");
const SUBJECT: Parameter = Parameter::path("subject", name, "The subject.");
const TOPIC: Parameter = Parameter::path("topic", name, "The name of the topic.");
const TASK: Parameter = Parameter::path("taskId", name, "The task.");
const WORKER: Parameter = Parameter::path(
    "workerId",
    |_| json_schema!({"type": "string", "minLength": 1, "maxLength": 128}),
    "The worker; of a member on a stream its `memberId`.",
);
const TRANSACTION_ID: Parameter = Parameter::path("transactionId", name, "The transaction.");
pub(in crate::rest) const TRUSTED_KEY: Parameter =
    Parameter::path("keyId", name, "The trusted key, by its `kid`.");
pub(in crate::rest) const ENTITY_ID: Parameter = Parameter::path("entityId", uuid, "The entity.");
pub(in crate::rest) const ENTITY_NAME: Parameter =
    Parameter::path("entityName", name, "The name of the model.");
pub(in crate::rest) const MODEL_VERSION: Parameter =
    Parameter::path("modelVersion", int32, "The version of the model.");
pub(in crate::rest) const TRANSITION: Parameter =
    Parameter::path("transition", name, "The transition to take.");
pub(in crate::rest) const FORMAT: Parameter =
    Parameter::path("format", format, "The format of the documents.");
pub(in crate::rest) const JSON_FORMAT: Parameter = Parameter::path(
    "format",
    json_format,
    "The format of the documents: only JSON is supported.",
);
pub(in crate::rest) const EXPORT_CONVERTER: Parameter =
    Parameter::path("converter", export_converter, "The form to export.");

/// What parts of paths are where a description does not say otherwise.
const PARTS: &[Parameter] = &[
    ACTION,
    CHANGE_LEVEL,
    CLIENT_ID,
    CONVERTER,
    DATA_FORMAT,
    BUNDLE,
    DEFINITION,
    EVENT,
    PLAN,
    RUN,
    ENTITY_ID,
    ENTITY_NAME,
    INCIDENT,
    JOB,
    KEY_ID,
    FILE_PATH,
    MACHINE,
    MACHINE_ENTITY,
    MACHINE_ROW,
    MANAGER,
    MESSAGE_ID,
    MODEL_VERSION,
    PROVIDER_ID,
    SAGA,
    SUBJECT,
    TOPIC,
    TASK,
    TRANSACTION_ID,
    TRANSITION,
    WORKER,
];

/// A part of a path, by its name.
pub(in crate::rest) fn part(name: &str) -> Option<Parameter> {
    PARTS.iter().find(|part| part.name == name).copied()
}

fn format(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "string", "enum": ["JSON", "XML"]})
}

fn client_id(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "string", "pattern": "^[A-Za-z0-9]{1,100}$"})
}

fn change_level(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "string", "enum": ["ARRAY_LENGTH", "ARRAY_ELEMENTS", "TYPE", "STRUCTURAL"]})
}

fn json_format(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "string", "enum": ["JSON"]})
}

fn import_converter(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "string", "enum": ["SAMPLE_DATA"]})
}

fn export_converter(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "string", "enum": ["JSON_SCHEMA", "SIMPLE_VIEW"]})
}

/// Joins any request to a transaction.
pub(in crate::rest) const TOKEN: Parameter = Parameter::header(
    "X-Tx-Token",
    text,
    "Joins the request to the open transaction of a call to a compute member: it reads the \
     transaction's writes, and its own writes are committed with it or not at all. Members receive \
     the token in the attribute `cyodatxtoken` of the event that calls them.",
);

/// Has any request that writes done once.
pub(in crate::rest) const KEY: Parameter = Parameter::header(
    "Idempotency-Key",
    |_| json_schema!({"type": "string", "minLength": 1, "maxLength": 255}),
    "A text of the client's choice; the request is performed once: a repeat with the same key \
     receives the first answer, by default for a day. Another request with that key is an \
     `IDEMPOTENCY_CONFLICT`; after a failure the key is free.",
);

pub(in crate::rest) const LAST_EVENT_ID: Parameter = Parameter::header(
    "Last-Event-ID",
    text,
    "The last sequence received; takes precedence over `fromSequence`.",
);

pub(in crate::rest) const POINT_IN_TIME: Parameter = Parameter::query(
    "pointInTime",
    instant,
    "Read as of this time (RFC 3339); a date alone is its midnight in UTC.",
);

pub(in crate::rest) const TRANSACTION: Parameter = Parameter::query(
    "transactionId",
    text,
    "Read as this transaction left it. Not together with `pointInTime`.",
);

pub(in crate::rest) const IF_MATCH: Parameter = Parameter::header(
    "If-Match",
    text,
    "The `transactionId` of the version that the change is based on; if there is a newer version, \
     nothing is written (`ENTITY_MODIFIED`).",
);

pub(in crate::rest) const WINDOW: Parameter = Parameter::query(
    "transactionWindow",
    |_| json_schema!({"type": "integer", "minimum": 1, "maximum": 1000, "default": 100}),
    "Entities per transaction.",
);

/// Read, so that they must be what they say, and without effect.
pub(in crate::rest) const TIMEOUT: Parameter = Parameter::query(
    "transactionTimeoutMillis",
    int64,
    "Accepted for existing clients; has no effect.",
);
pub(in crate::rest) const CONSISTENCY: Parameter = Parameter::query(
    "waitForConsistencyAfter",
    truth,
    "Accepted for existing clients; has no effect.",
);
pub(in crate::rest) const SIZE: Parameter = Parameter::query(
    "transactionSize",
    int32,
    "Accepted for existing clients; has no effect.",
);
