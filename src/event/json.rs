//! The JSON form of events (`application/cloudevents+json`), one or a batch.
//!
//! Own code, because the SDK's loses digits and knows no batches; data stays the bytes that came.

use std::{borrow::Cow, collections::BTreeMap};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use schemars::JsonSchema;
use serde::{Serialize, Serializer};
use serde_json::{Value, value::RawValue};

use super::{
    AttributeName, AttributeValue, Data, Event, EventType, Rejected, SPEC_VERSION, bad_attribute,
    payload::{RawStr, answer::write},
};
use crate::error::Failure;

type EventMembers<'a> = BTreeMap<Cow<'a, str>, &'a RawValue>;

impl Event {
    /// Reads one event in JSON.
    pub fn from_json(text: &str) -> Result<Self, Rejected> {
        let members: EventMembers<'_> = serde_json::from_str(text).map_err(|error| Rejected {
            id: "".into(),
            failure: Failure::malformed(format!("invalid CloudEvent: {error}")),
        })?;
        let id = text_member(&members, "id")
            .ok()
            .flatten()
            .unwrap_or_default();
        read(&members).map_err(|failure| Rejected {
            id: id.into(),
            failure,
        })
    }

    /// The event in JSON.
    pub fn to_json(&self) -> String {
        let (content_type, data, data_base64) = match &self.data {
            Data::None => (None, None, None),
            Data::Text(data) if serde_json::from_str::<&RawValue>(data).is_ok() => {
                let data = JsonData::Value(RawStr(data));
                (Some("application/json"), Some(data), None)
            }
            Data::Text(data) => (None, Some(JsonData::Text(data)), None),
            Data::Binary(data) | Data::Other { value: data, .. } => {
                (None, None, Some(STANDARD.encode(data)))
            }
        };
        let event = CloudEvent {
            specversion: SPEC_VERSION,
            id: &self.id,
            source: &self.source,
            r#type: self.kind.as_str(),
            attributes: Attributes(&self.attributes),
            datacontenttype: content_type,
            data,
            data_base64,
        };
        write(&event, USUAL_BYTES + self.len())
    }
}

/// An event takes about this many bytes without its data.
const USUAL_BYTES: usize = 256;

/// An event in JSON. Extension attributes are members beside these.
#[derive(Serialize, JsonSchema)]
pub struct CloudEvent<'a> {
    #[schemars(extend("const" = SPEC_VERSION))]
    specversion: &'static str,
    /// What the answer's `requestid` will be.
    #[schemars(length(min = 1))]
    id: &'a str,
    #[schemars(length(min = 1))]
    source: &'a str,
    /// See the help topic `cloudevents`.
    r#type: &'static str,
    #[serde(flatten)]
    #[schemars(skip)]
    attributes: Attributes<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    datacontenttype: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Value>")]
    data: Option<JsonData<'a>>,
    /// In the place of `data`, if that is not text.
    #[serde(skip_serializing_if = "Option::is_none")]
    data_base64: Option<String>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum JsonData<'a> {
    Value(RawStr<'a>),
    Text(&'a str),
}

/// Optional and extension attributes, as members.
struct Attributes<'a>(&'a BTreeMap<AttributeName, AttributeValue>);

impl Serialize for Attributes<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, value)| (name.as_str(), value)))
    }
}

impl Serialize for AttributeValue {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Boolean(truth) => serializer.serialize_bool(*truth),
            Self::Integer(number) => serializer.serialize_i32(*number),
            Self::Bytes(bytes) => serializer.serialize_str(&STANDARD.encode(bytes)),
            Self::String(text) | Self::Uri(text) | Self::UriRef(text) => {
                serializer.serialize_str(text)
            }
            Self::Timestamp(seconds, nanos) => serializer.serialize_str(&rfc3339(*seconds, *nanos)),
        }
    }
}

/// Reads a batch; each event of it is taken or rejected by itself.
pub fn batch_from_json(text: &str) -> Result<Vec<Result<Event, Rejected>>, Failure> {
    let events: Vec<&RawValue> = serde_json::from_str(text)
        .map_err(|error| Failure::malformed(format!("invalid batch of CloudEvents: {error}")))?;
    Ok(events
        .into_iter()
        .map(|event| Event::from_json(event.get()))
        .collect())
}

fn read(members: &EventMembers<'_>) -> Result<Event, Failure> {
    let required = |name: &str| {
        text_member(members, name)?
            .ok_or_else(|| Failure::malformed(format!("invalid CloudEvent: `{name}` is missing")))
    };
    let id = required("id")?;
    let kind = required("type")?;
    let kind = EventType::from_name(&kind).ok_or_else(|| Failure::unknown_type(&kind))?;
    let mut attributes = BTreeMap::new();
    for (name, value) in members {
        if matches!(
            name.as_ref(),
            "id" | "type" | "source" | "specversion" | "data" | "data_base64" | "datacontenttype"
        ) {
            continue;
        }
        let parsed = AttributeName::parse(name).ok_or_else(|| bad_attribute(name))?;
        if let Some(value) = attribute(name, value)? {
            attributes.insert(parsed, value);
        }
    }
    Ok(Event {
        id: id.into(),
        source: text_member(members, "source")?.unwrap_or_default().into(),
        kind,
        attributes,
        data: data(members)?,
    })
}

fn text_member(members: &EventMembers<'_>, name: &str) -> Result<Option<String>, Failure> {
    match members.get(name) {
        None => Ok(None),
        Some(value) => serde_json::from_str(value.get())
            .map(Some)
            .map_err(|_| Failure::malformed(format!("invalid CloudEvent: `{name}` is not a text"))),
    }
}

fn attribute(name: &str, value: &RawValue) -> Result<Option<AttributeValue>, Failure> {
    let bad = || {
        Failure::malformed(format!(
            "invalid CloudEvent: the attribute `{name}` is neither a text, a 32-bit integer nor a boolean"
        ))
    };
    Ok(match value.get().as_bytes().first() {
        Some(b'n') => None,
        Some(b't') => Some(AttributeValue::Boolean(true)),
        Some(b'f') => Some(AttributeValue::Boolean(false)),
        Some(b'"') => Some(AttributeValue::String(
            serde_json::from_str::<String>(value.get())
                .map_err(|_| bad())?
                .into(),
        )),
        _ => Some(AttributeValue::Integer(
            value.get().parse().map_err(|_| bad())?,
        )),
    })
}

/// JSON data stays as it is written; text of another content type is the text itself.
fn data(members: &EventMembers<'_>) -> Result<Data, Failure> {
    if let Some(encoded) = text_member(members, "data_base64")? {
        let bytes = STANDARD.decode(encoded).map_err(|error| {
            Failure::malformed(format!(
                "invalid CloudEvent: `data_base64` is not Base64: {error}"
            ))
        })?;
        return Ok(Data::Binary(bytes.into()));
    }
    let Some(data) = members.get("data") else {
        return Ok(Data::None);
    };
    let content_type =
        text_member(members, "datacontenttype")?.unwrap_or_else(|| "application/json".to_owned());
    Ok(if is_json(&content_type) {
        Data::Text(data.get().into())
    } else {
        Data::Text(text_member(members, "data")?.unwrap_or_default().into())
    })
}

/// Whether a media type is JSON, parameters aside.
fn is_json(content_type: &str) -> bool {
    let essence = content_type
        .split(';')
        .next()
        .unwrap_or_default()
        .trim()
        .to_ascii_lowercase();
    essence == "application/json" || essence == "text/json" || essence.ends_with("+json")
}

fn rfc3339(seconds: i64, nanos: i32) -> String {
    let time = chrono::DateTime::from_timestamp(seconds, u32::try_from(nanos).unwrap_or(0))
        .unwrap_or_default();
    time.to_rfc3339_opts(chrono::SecondsFormat::AutoSi, true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Code;

    #[test]
    fn data_stays_as_it_is_written() {
        let text = r#"{"specversion":"1.0","id":"1","source":"/s","type":"EntityCreateRequest","cyodatxtoken":"t","n":7,"b":true,
            "datacontenttype":"Application/JSON; charset=utf-8","data":{"n": 12345678901234567890.10,"a":1,"b":[1e2]}}"#;
        let event = Event::from_json(text).expect("an event");
        assert_eq!(
            event.data,
            Data::Text(r#"{"n": 12345678901234567890.10,"a":1,"b":[1e2]}"#.into())
        );
        assert_eq!(event.attribute("cyodatxtoken"), Some("t"));
        assert_eq!(Event::from_json(&event.to_json()).expect("again"), event);
        let encoded = r#"{"id":"1","type":"EntityCreateRequest","data_base64":"e30="}"#;
        assert_eq!(
            Event::from_json(encoded).expect("an event").data,
            Data::Binary("{}".into())
        );
        let other =
            r#"{"id":"1","type":"EntityCreateRequest","datacontenttype":"text/plain","data":"hi"}"#;
        assert_eq!(
            Event::from_json(other).expect("an event").data,
            Data::Text("hi".into())
        );
    }

    #[test]
    fn what_is_no_event_is_rejected() {
        for (text, id, code) in [
            ("", "", Code::BadRequest),
            ("[]", "", Code::BadRequest),
            (r#"{"id":"1"}"#, "1", Code::BadRequest),
            (r#"{"type":"EntityGetRequest"}"#, "", Code::BadRequest),
            (
                r#"{"id":"1","type":"entityGetRequest"}"#,
                "1",
                Code::UnknownEventType,
            ),
            (
                r#"{"id":"1","type":"EntityGetRequest","Bad":"x"}"#,
                "1",
                Code::BadRequest,
            ),
            (
                r#"{"id":"1","type":"EntityGetRequest","x":{}}"#,
                "1",
                Code::BadRequest,
            ),
            (
                r#"{"id":"1","type":"EntityGetRequest","x":3000000000}"#,
                "1",
                Code::BadRequest,
            ),
            (
                r#"{"id":"1","type":"EntityGetRequest","data_base64":"?"}"#,
                "1",
                Code::BadRequest,
            ),
        ] {
            let rejected = Event::from_json(text).expect_err(text);
            assert_eq!(
                (&*rejected.id, rejected.failure.code()),
                (id, code),
                "{text}"
            );
        }
        let batch = batch_from_json(r#"[{"id":"1","type":"EntityGetRequest","data":{}},5]"#)
            .expect("a batch");
        assert_eq!(
            batch.iter().map(Result::is_ok).collect::<Vec<_>>(),
            [true, false]
        );
        assert!(batch_from_json("{}").is_err());
    }
}
