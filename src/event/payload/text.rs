//! Values in payloads that are written in a form of their own.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de, ser::SerializeStruct as _};

use crate::clock::Timestamp;
use crate::entity::Json;
use crate::id::{
    CallId, EdgeMessageId, EntityId, JobId, MemberId, MessageId, ModelId, ProviderId, StateName,
    TransactionId, TransitionName,
};

/// What serde writes the text of a raw value under. A `RawValue` of text that we know to be JSON
/// would be parsed to be made.
const RAW: &str = "$serde_json::private::RawValue";

fn write_raw<S: Serializer>(serializer: S, json: &str) -> Result<S::Ok, S::Error> {
    let mut raw = serializer.serialize_struct(RAW, 1)?;
    raw.serialize_field(RAW, json)?;
    raw.end()
}

/// Any JSON, written as it is: its digits and the order of its members stay, and nothing is
/// parsed.
#[derive(Debug, Clone)]
pub struct RawJson(pub Json);

impl RawJson {
    /// Text that is known to be JSON.
    pub fn trusted(text: impl Into<std::sync::Arc<str>>) -> Self {
        Self(Json::trusted(text))
    }

    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }
}

impl Serialize for RawJson {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        write_raw(serializer, self.as_str())
    }
}

/// Borrowed JSON that is written as it is.
#[derive(Debug, Clone, Copy)]
pub struct RawStr<'a>(pub &'a str);

impl Serialize for RawStr<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        write_raw(serializer, self.0)
    }
}

impl JsonSchema for RawJson {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "AnyValue".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({})
    }
}

/// A number in as few digits as distinguish it from its neighbours.
#[derive(Debug, Clone, PartialEq)]
pub struct Float(pub f64);

impl Float {
    /// Whole numbers have no fraction; those that are very large or small have an exponent.
    fn text(&self) -> String {
        let (number, size) = (self.0, self.0.abs());
        if size == 0.0 || (1e-6..1e21).contains(&size) {
            format!("{number}")
        } else {
            format!("{number:e}")
        }
    }
}

impl Serialize for Float {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        write_raw(serializer, &self.text())
    }
}

impl JsonSchema for Float {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Float".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "number", "format": "double"})
    }
}

/// A value that is written as the text that displays it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AsText<T>(pub T);

/// The values of a list, as texts.
pub fn as_texts<T>(values: impl IntoIterator<Item = T>) -> Vec<AsText<T>> {
    values.into_iter().map(AsText).collect()
}

impl<T: std::fmt::Display> Serialize for AsText<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

macro_rules! as_text {
    ($($type:ty, $schema:tt, $read:expr;)*) => {$(
        impl JsonSchema for AsText<$type> {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> Cow<'static, str> {
                stringify!($type).into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!($schema)
            }
        }

        impl<'de> Deserialize<'de> for AsText<$type> {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = Cow::<str>::deserialize(deserializer)?;
                let read: fn(&str) -> Option<$type> = $read;
                let value = read(&text);
                let value = value.ok_or_else(|| de::Error::custom(format!("`{text}` is not a valid {}", stringify!($type))));
                value.map(Self)
            }
        }
    )*};
}

as_text! {
    EntityId, {"type": "string", "format": "uuid"}, |text| text.parse().ok();
    TransactionId, {"type": "string", "format": "uuid"}, |text| text.parse().ok();
    ModelId, {"type": "string", "format": "uuid"}, |text| text.parse().ok();
    MemberId, {"type": "string", "format": "uuid"}, |text| text.parse().ok();
    MessageId, {"type": "string", "format": "uuid"}, |text| text.parse().ok();
    CallId, {"type": "string", "format": "uuid"}, |text| text.parse().ok();
    EdgeMessageId, {"type": "string", "format": "uuid"}, |text| text.parse().ok();
    JobId, {"type": "string", "format": "uuid"}, |text| text.parse().ok();
    ProviderId, {"type": "string", "format": "uuid"}, |text| text.parse().ok();
    Timestamp, {"type": "string", "format": "date-time"}, |text| Timestamp::parse(text).ok();
    StateName, {"type": "string"}, |text| Some(text.into());
    TransitionName, {"type": "string"}, |text| Some(text.into());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::payload::answer::json;

    #[test]
    fn raw_json_is_written_as_it_is() {
        for text in ["1.50", r#"{"b":1e2,"a":[1,  2]}"#, "null", r#""\u0041""#] {
            assert_eq!(json(&RawJson::trusted(text)), text);
            assert_eq!(json(&[RawJson::trusted(text)]), format!("[{text}]"));
        }
    }

    #[test]
    fn numbers_are_short_and_json() {
        for (number, text) in [
            (40.0, "40"),
            (-0.5, "-0.5"),
            (10.0 / 3.0, "3.3333333333333335"),
            (1e21, "1e21"),
            (1.5e-9, "1.5e-9"),
            (0.0, "0"),
            (9_007_199_254_740_993.0, "9007199254740992"),
        ] {
            assert_eq!(json(&Float(number)), text);
            let read: f64 = serde_json::from_str(text).expect("JSON");
            assert_eq!(read.to_bits(), number.to_bits(), "{text}");
        }
    }
}
