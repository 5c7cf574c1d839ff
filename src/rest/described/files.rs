//! Files (`runs.md` §8).

use schemars::{Schema, SchemaGenerator, json_schema};

use super::{
    Body, Description, Parameter, Tag,
    definitions::{CURSOR, LIMIT, NAMESPACE},
    nothing, of,
    parameter::text,
};
use crate::error::Code;
use crate::event::payload::files::{Deleted, Page, Written};

const NO_FILE: &[Code] = &[Code::FileNotFound];
const MODIFIED: &[Code] = &[Code::EntityModified];

const IF_MATCH: Parameter = Parameter::header(
    "If-Match",
    text,
    "The `ETag` of the version that the change is based on, or `*` for any; if the file has another \
     version or is not there, nothing is written (`ENTITY_MODIFIED`).",
);

const IF_NONE_MATCH: Parameter = Parameter::header(
    "If-None-Match",
    |_| json_schema!({"type": "string", "enum": ["*"]}),
    "`*` writes the file only if there is none (`ENTITY_MODIFIED`). Not together with `If-Match`.",
);

const PREFIX: Parameter = Parameter::query(
    "prefix",
    |_| json_schema!({"type": "string", "default": "/", "maxLength": 512}),
    "What the paths begin with.",
);

/// Any JSON.
fn any(generator: &mut SchemaGenerator) -> Schema {
    nothing(generator)
}

pub(in crate::rest) const PUT: Description = Description {
    text: "The body is the content: any JSON of at most 1 MiB, kept as it is written. The `ETag` of \
           the answer is the version. In a transaction the file is written by its commit.",
    parameters: &[NAMESPACE, IF_MATCH, IF_NONE_MATCH],
    body: Body::Json(any),
    codes: &[MODIFIED],
    ..Description::new(Tag::Runs, "putFile", "Write a file", of::<Written>)
};

pub(in crate::rest) const GET: Description = Description {
    text: "The body is the content as it was written, and the `ETag` its version.",
    parameters: &[NAMESPACE],
    codes: &[NO_FILE, &[Code::ValidationFailed]],
    ..Description::new(Tag::Runs, "getFile", "Read a file", any)
};

pub(in crate::rest) const DELETE: Description = Description {
    parameters: &[NAMESPACE, IF_MATCH],
    codes: &[NO_FILE, MODIFIED],
    ..Description::new(Tag::Runs, "deleteFile", "Delete a file", of::<Deleted>)
};

pub(in crate::rest) const LIST: Description = Description {
    parameters: &[NAMESPACE, PREFIX, LIMIT, CURSOR],
    ..Description::new(Tag::Runs, "listFiles", "List files by path", of::<Page>)
};
