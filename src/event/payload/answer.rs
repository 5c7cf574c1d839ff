//! What every answer has in common, and how its text and its schema are made.
//!
//! An operation names a type with [`Answer`]: the members of its answer beside those of every
//! answer. The text on the wire ([`text`], [`failed`]) and the JSON Schema ([`schema`]) both come
//! from that type, so they cannot differ.

use http::StatusCode;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Serialize, Serializer, ser::SerializeMap as _};
use serde_json::{Map, Value};

use super::Object;
use crate::error::Failure;
use crate::event::EventType;

/// The members of an answer beside those that every answer has.
pub trait Answer: Serialize + JsonSchema + Send + Sync + Sized + 'static {
    /// Whether the answer has the member `requestId`.
    const REQUEST_ID: RequestId = RequestId::Always;

    /// What stands for these members in an answer that failed (`errors.md` §2): existing clients
    /// require some of them. None: a failure leaves them out.
    fn placeholder() -> Option<Self> {
        None
    }

    /// The type of the event, where it is not the one that the operation names.
    fn event_type(&self) -> Option<EventType> {
        None
    }

    /// How many bytes the text needs beside the usual number.
    fn extra_bytes(&self) -> usize {
        0
    }

    /// Writes the same members in half the time (measured), for the answers that are sent most.
    /// A build for tests compares the text with that of the type whenever it is written.
    const BY_HAND: Option<fn(&Self, Object) -> Object> = None;
}

/// Which answers of a type have the member `requestId`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequestId {
    Never,
    /// Not those that failed.
    OnSuccess,
    Always,
}

/// An answer without members of its own.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Done {}

impl Answer for Done {
    const REQUEST_ID: RequestId = RequestId::Never;
}

/// Most answers are smaller than this, so their buffer does not grow.
const USUAL_BYTES: usize = 256;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Whole<'a, A> {
    id: &'a str,
    success: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<ErrorMember<'a>>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    warnings: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    request_id: Option<&'a str>,
    #[serde(flatten)]
    members: Option<&'a A>,
    #[serde(flatten)]
    of_failure: Option<Properties<'a>>,
}

/// The text of an answer that succeeded.
pub fn text<A: Answer>(request: &str, warnings: &[String], answer: &A) -> String {
    let whole = Whole {
        id: request,
        success: true,
        error: None,
        warnings,
        request_id: (A::REQUEST_ID != RequestId::Never).then_some(request),
        members: Some(answer),
        of_failure: None,
    };
    let Some(members) = A::BY_HAND else {
        return write(&whole, USUAL_BYTES + answer.extra_bytes());
    };
    let object = Object::with_room(answer.extra_bytes())
        .text("id", request)
        .truth("success", true);
    let object = match warnings {
        [] => object,
        warnings => object.raw("warnings", &json(&warnings)),
    };
    let object = match whole.request_id {
        Some(request) => object.text("requestId", request),
        None => object,
    };
    let text = members(answer, object).finish();
    debug_assert_eq!(text, json(&whole));
    text
}

/// The text of an answer that failed.
pub fn failed<A: Answer>(request: &str, failure: &Failure) -> String {
    let placeholder = A::placeholder();
    let whole = Whole {
        id: request,
        success: false,
        error: Some(ErrorMember::of(failure)),
        warnings: failure.warnings(),
        request_id: (A::REQUEST_ID == RequestId::Always).then_some(request),
        members: placeholder.as_ref(),
        of_failure: Some(Properties(failure.members())).filter(|members| !members.is_empty()),
    };
    write(&whole, USUAL_BYTES)
}

/// The text of a value.
pub fn json(value: &impl Serialize) -> String {
    write(value, USUAL_BYTES)
}

/// The text of a value of about so many bytes.
pub fn write(value: &impl Serialize, bytes: usize) -> String {
    let mut buffer = Vec::with_capacity(bytes);
    // Nothing in it can fail: every name is a text, and the buffer grows.
    let written = serde_json::to_writer(&mut buffer, value);
    debug_assert!(written.is_ok(), "{written:?}");
    String::from_utf8(buffer).unwrap_or_default()
}

/// Why a request failed.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Error")]
pub struct ErrorMember<'a> {
    /// Whether the request or the server is at fault.
    code: ErrorClass,
    /// The specific code, a colon, and what is wrong in words.
    message: String,
    /// Present, and true, only if the same request may succeed later.
    #[serde(skip_serializing_if = "Option::is_none")]
    retryable: Option<bool>,
    /// What programs need to know of the failure, as documented for its code.
    #[serde(skip_serializing_if = "Properties::is_empty")]
    #[schemars(with = "Map<String, Value>", default)]
    properties: Properties<'a>,
}

/// Who is at fault.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
#[schemars(inline)]
enum ErrorClass {
    ClientError,
    ServerError,
}

/// Named values, as an object.
#[derive(Default)]
pub struct Properties<'a>(pub &'a [(&'static str, Value)]);

impl Properties<'_> {
    const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Serialize for Properties<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for (name, value) in self.0 {
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}

impl<'a> ErrorMember<'a> {
    pub fn of(failure: &'a Failure) -> Self {
        Self {
            // Of the 5xx, 501 and 503 are for the client to act on (`errors.md` §2).
            code: if failure.code().status() == StatusCode::INTERNAL_SERVER_ERROR {
                ErrorClass::ServerError
            } else {
                ErrorClass::ClientError
            },
            message: failure.to_string(),
            retryable: failure.retryable().then_some(true),
            properties: Properties(failure.properties()),
        }
    }
}

/// The schema of an answer: the members of every answer and its own, and which of them are there
/// if it succeeded and if it failed.
pub fn schema<A: Answer>(generator: &mut SchemaGenerator) -> Schema {
    let own = A::json_schema(generator);
    whole(own, A::REQUEST_ID, A::placeholder().is_some(), generator)
}

/// The same of any answer, whose own schema is given.
fn whole(
    own: Schema,
    request_id: RequestId,
    has_placeholder: bool,
    generator: &mut SchemaGenerator,
) -> Schema {
    let member = |name: &str| own.get(name).cloned();
    let Some(Value::Object(members)) = member("properties").or_else(|| Some(Map::new().into()))
    else {
        return own;
    };
    let names = |value: Option<Value>| match value {
        Some(Value::Array(names)) => names,
        _ => Vec::new(),
    };
    let mut required = names(member("required"));
    let mut properties = Map::new();
    let mut put = |name: &str, schema: Value| properties.insert(name.to_owned(), schema);
    put(
        "id",
        json_value(
            &json_schema!({"type": "string", "description": "The id of the request's event."}),
        ),
    );
    put(
        "success",
        json_value(
            &json_schema!({"type": "boolean", "description": "Whether the request succeeded. If not, `error` says why."}),
        ),
    );
    put(
        "error",
        json_value(&generator.subschema_for::<ErrorMember<'_>>()),
    );
    put(
        "warnings",
        json_value(
            &json_schema!({"type": "array", "items": {"type": "string"}, "description": "What the caller should know, although the request was answered."}),
        ),
    );
    let mut always = vec![Value::from("id"), Value::from("success")];
    if request_id != RequestId::Never {
        put(
            "requestId",
            json_value(
                &json_schema!({"type": "string", "description": "The id of the request's event."}),
            ),
        );
        if request_id == RequestId::Always {
            always.push("requestId".into());
        } else {
            required.insert(0, "requestId".into());
        }
    }
    properties.extend(members);
    if has_placeholder {
        always.append(&mut required);
    }
    let mut whole = json_schema!({
        "type": "object",
        "properties": properties,
        "required": always,
        "if": {"properties": {"success": {"const": true}}},
        "then": {"required": required},
        "else": {"required": ["error"]}
    });
    if let Some(text) = member("description") {
        whole.insert("description".to_owned(), text);
    }
    whole
}

fn json_value(schema: &Schema) -> Value {
    schema.as_value().clone()
}
