//! JSON as text, so that numbers keep their digits.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::DeserializeOwned};
use serde_json::{Value, value::RawValue};

use crate::{Code, Error, Result};

/// A JSON value as text: a document, or whatever else has no fixed form.
///
/// It is sent and received as it is written, so numbers keep all their digits, and it costs
/// nothing until it is [decoded](Self::decode).
///
/// ```
/// use interlock_client::Json;
/// use serde_json::{Value, json};
///
/// let document: Json = json!({"sku": "A-1"}).into();
/// assert_eq!(document.as_str(), r#"{"sku":"A-1"}"#);
///
/// let exact = Json::parse(r#"{"weight": 1.500}"#)?;
/// assert_eq!(exact.decode::<Value>()?["weight"].to_string(), "1.500");
/// # Ok::<(), interlock_client::Error>(())
/// ```
#[derive(Clone)]
pub struct Json(Box<RawValue>);

impl Json {
    /// Encodes a value. The error has the code `INVALID_JSON`.
    pub fn encode<T: Serialize + ?Sized>(value: &T) -> Result<Self> {
        serde_json::value::to_raw_value(value)
            .map(Self)
            .map_err(|source| Error::caused(Code::InvalidJson, "cannot encode a value", source))
    }

    /// Takes a text that is JSON. The error has the code `INVALID_JSON`.
    pub fn parse(text: impl Into<String>) -> Result<Self> {
        RawValue::from_string(text.into())
            .map(Self)
            .map_err(|source| Error::caused(Code::InvalidJson, "this is not JSON", source))
    }

    /// Decodes it into a type. The error has the code `INVALID_JSON`.
    pub fn decode<T: DeserializeOwned>(&self) -> Result<T> {
        serde_json::from_str(self.as_str()).map_err(|source| {
            let expected = std::any::type_name::<T>();
            Error::caused(
                Code::InvalidJson,
                format!("JSON cannot be decoded into {expected}"),
                source,
            )
        })
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        self.0.get()
    }

    /// Whether it is null.
    pub fn is_null(&self) -> bool {
        self.as_str() == "null"
    }

    pub(crate) fn empty_object() -> Self {
        Self::from(Value::Object(serde_json::Map::new()))
    }
}

impl Default for Json {
    /// Null.
    fn default() -> Self {
        Self(RawValue::NULL.to_owned())
    }
}

impl From<Value> for Json {
    fn from(value: Value) -> Self {
        // A value that is made of nothing else can always be written.
        serde_json::value::to_raw_value(&value).map_or_else(|_| Self::default(), Self)
    }
}

impl From<&Value> for Json {
    fn from(value: &Value) -> Self {
        serde_json::value::to_raw_value(value).map_or_else(|_| Self::default(), Self)
    }
}

impl From<&Self> for Json {
    fn from(json: &Self) -> Self {
        json.clone()
    }
}

impl From<Box<RawValue>> for Json {
    fn from(raw: Box<RawValue>) -> Self {
        Self(raw)
    }
}

impl PartialEq for Json {
    /// Compares the texts.
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

impl fmt::Debug for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Display for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Serialize for Json {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Box::<RawValue>::deserialize(deserializer).map(Self)
    }
}
