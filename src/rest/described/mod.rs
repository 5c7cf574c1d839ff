//! What the `OpenAPI` document says of each path, beside what the tables of paths say already.
//!
//! A row of a table needs a [`Description`], so that no path is served that is not described. To
//! describe one: a constant in the file of its family, the type of its body (that which reads it,
//! where there is one), the type of what it answers, and the codes only it can answer. What every
//! request can meet, and every one that writes, is added from the table of operations.

pub(super) mod actions;
pub(super) mod audit;
pub(super) mod bundles;
pub(super) mod clients;
pub(super) mod definitions;
pub(super) mod entity;
pub(super) mod events;
pub(super) mod feed;
pub(super) mod files;
pub(super) mod help;
pub(super) mod incidents;
pub(super) mod invocations;
pub(super) mod key_pairs;
pub(super) mod managers;
pub(super) mod members;
pub(super) mod message;
pub(super) mod model;
pub(super) mod nodes;
pub(super) mod oauth;
pub(super) mod operators;
pub(super) mod parameter;
pub(super) mod providers;
pub(super) mod runs;
pub(super) mod sagas;
pub(super) mod search;
pub(super) mod statistics;
pub(super) mod topics;
pub(super) mod trusted_keys;
pub(super) mod workers;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use crate::error::Code;

pub(super) use parameter::Parameter;

/// Makes the schema of something, and puts what it refers to among the document's components.
pub(super) type Shape = fn(&mut SchemaGenerator) -> Schema;

/// The schema of a type.
pub(super) fn of<T: JsonSchema>(generator: &mut SchemaGenerator) -> Schema {
    generator.subschema_for::<T>()
}

/// The schema of what says nothing.
fn nothing(_: &mut SchemaGenerator) -> Schema {
    json_schema!({})
}

/// A section of the document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tag {
    Models,
    Workflows,
    Entities,
    Search,
    Statistics,
    Audit,
    Runs,
    Messages,
    Account,
    Identity,
    Operators,
    Events,
    Help,
}

impl Tag {
    pub(super) const ALL: &[Self] = &[
        Self::Models,
        Self::Workflows,
        Self::Entities,
        Self::Search,
        Self::Statistics,
        Self::Audit,
        Self::Runs,
        Self::Messages,
        Self::Account,
        Self::Identity,
        Self::Operators,
        Self::Events,
        Self::Help,
    ];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Models => "Models",
            Self::Workflows => "Workflows",
            Self::Entities => "Entities",
            Self::Search => "Search",
            Self::Statistics => "Statistics",
            Self::Audit => "Audit",
            Self::Runs => "Runs",
            Self::Messages => "Messages",
            Self::Account => "Account",
            Self::Identity => "Identity",
            Self::Operators => "Operators",
            Self::Events => "Events",
            Self::Help => "Help",
        }
    }

    pub(super) const fn meaning(self) -> &'static str {
        match self {
            Self::Models => "Schemas of entities, inferred from samples.",
            Self::Workflows => "The state machines of entities.",
            Self::Entities => "Create, read, update, move and delete entities.",
            Self::Search => "Find entities by condition.",
            Self::Statistics => "Counts and aggregates of entities.",
            Self::Audit => "What happened to entities, and why.",
            Self::Runs => "Step workflows: their definitions, and what they are made of.",
            Self::Messages => "JSON under a subject, stored beside entities.",
            Self::Account => "The caller.",
            Self::Identity => "Clients, keys and providers of the tenant.",
            Self::Operators => "Health and run-time settings of the service.",
            Self::Events => "The same operations as CloudEvents over HTTP.",
            Self::Help => "The documentation.",
        }
    }
}

/// What a request carries.
#[derive(Clone, Copy)]
pub(super) enum Body {
    None,
    /// JSON that must be there. Its content type is not looked at.
    Json(Shape),
    /// JSON that may be left out.
    OptionalJson(Shape),
    /// One of several media types.
    Media(&'static [(&'static str, Shape)]),
}

impl Body {
    /// What may be sent, by media type.
    pub(super) fn media(&self) -> Vec<(&'static str, Shape)> {
        match self {
            Self::None => Vec::new(),
            Self::Json(shape) | Self::OptionalJson(shape) => vec![("application/json", *shape)],
            Self::Media(media) => media.to_vec(),
        }
    }
}

/// The description of one method of one path.
#[derive(Clone, Copy)]
pub(super) struct Description {
    /// Names it among all: what a generated client calls it.
    pub(super) name: &'static str,
    pub(super) tag: Tag,
    /// One line, without a full stop.
    pub(super) summary: &'static str,
    /// What else there is to know, in Markdown.
    pub(super) text: &'static str,
    /// What parts of the path are here, where that differs from what they are elsewhere.
    pub(super) parts: &'static [(&'static str, Parameter)],
    pub(super) parameters: &'static [Parameter],
    pub(super) body: Body,
    /// What is answered; one item of it, where a list is.
    pub(super) answer: Shape,
    /// What is answered with 202 to a request whose work continues.
    pub(super) accepted: Option<Shape>,
    /// The codes that this path can answer and not every path.
    pub(super) codes: &'static [&'static [Code]],
}

impl Description {
    /// A description that only says what is answered.
    pub(super) const fn new(
        tag: Tag,
        name: &'static str,
        summary: &'static str,
        answer: Shape,
    ) -> Self {
        Self {
            name,
            tag,
            summary,
            text: "",
            parts: &[],
            parameters: &[],
            body: Body::None,
            answer,
            accepted: None,
            codes: &[],
        }
    }
}

/// What anything that is asked about a caller's data can meet.
pub(super) const ALWAYS: &[Code] = &[
    Code::BadRequest,
    Code::Unauthorized,
    Code::Forbidden,
    Code::TransactionExpired,
    Code::TransactionNodeUnavailable,
    Code::TransactionNotFound,
    Code::ServerError,
    Code::StorageDamaged,
    Code::StorageUnavailable,
    Code::TenantLimitExceeded,
    Code::TooManyRequests,
];

/// What can come of a look into the storage.
const STORAGE: &[Code] = &[
    Code::ServerError,
    Code::StorageDamaged,
    Code::StorageUnavailable,
];

/// What can come of a write.
pub(super) const WRITES: &[Code] = &[
    Code::Conflict,
    Code::IdempotencyConflict,
    Code::OutcomeUnknown,
    Code::TransactionTooLarge,
];

/// What can come of a run of a workflow, whose members may say anything.
const RUN: &[Code] = &[
    Code::ComputeMemberDisconnected,
    Code::DispatchForwardFailed,
    Code::DispatchTimeout,
    Code::EvaluationLimit,
    Code::InvalidUniqueKey,
    Code::NoComputeMemberForTag,
    Code::ScheduleFunctionInvalidResult,
    Code::UniqueViolation,
    Code::WorkflowFailed,
];

/// What can be wrong with a document.
const DOCUMENT: &[Code] = &[Code::IncompatibleType, Code::PolymorphicSlot];

/// What can be wrong with a condition, and with a search by it.
const CONDITION: &[Code] = &[
    Code::ConditionTypeMismatch,
    Code::EvaluationLimit,
    Code::InvalidCondition,
    Code::InvalidFieldPath,
    Code::ScanBudgetExhausted,
    Code::SearchTimeout,
];

const NO_MODEL: &[Code] = &[Code::ModelNotFound];
const NO_ENTITY: &[Code] = &[Code::EntityNotFound];
