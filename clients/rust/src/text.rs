//! How texts, unions and lists of the wire become types.

use serde::{Deserialize, Deserializer};

/// An enumeration of texts. A text that this version does not know is kept.
macro_rules! text_enum {
    ($(#[$docs:meta])* pub enum $name:ident { $($(#[$value_docs:meta])* $variant:ident = $text:literal,)* }) => {
        $(#[$docs])*
        #[derive(Clone, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum $name {
            $($(#[$value_docs])* #[doc = concat!("`", $text, "`")] $variant,)*
            /// A value that this version does not know.
            Other(String),
        }

        impl $name {
            /// As on the wire.
            pub fn as_str(&self) -> &str {
                match self {
                    $(Self::$variant => $text,)*
                    Self::Other(text) => text,
                }
            }
        }

        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                match text {
                    $($text => Self::$variant,)*
                    _ => Self::Other(text.to_owned()),
                }
            }
        }

        impl From<String> for $name {
            fn from(text: String) -> Self {
                Self::from(text.as_str())
            }
        }

        impl ::std::fmt::Display for $name {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl ::serde::Serialize for $name {
            fn serialize<S: ::serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }

        impl<'de> ::serde::Deserialize<'de> for $name {
            fn deserialize<D: ::serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                String::deserialize(deserializer).map(Self::from)
            }
        }
    };
}
pub(crate) use text_enum;

/// Alternatives that a member distinguishes. Those that this version does not know are kept.
///
/// They are read from the text, because what serde would buffer loses the digits of numbers.
macro_rules! union {
    ($(#[$docs:meta])* pub enum $name:ident by $tag:literal { $($variant:ident($kind:ident) = $value:literal,)* }) => {
        $(#[$docs])*
        #[derive(Clone, Debug, PartialEq, ::serde::Serialize)]
        #[serde(tag = $tag)]
        #[non_exhaustive]
        pub enum $name {
            $(#[doc = concat!("`", $value, "`")] #[serde(rename = $value)] $variant($kind),)*
            /// An alternative that this version does not know.
            #[serde(untagged)]
            Other(crate::Json),
        }

        $(impl From<$kind> for $name {
            fn from(one: $kind) -> Self {
                Self::$variant(one)
            }
        })*

        impl<'de> ::serde::Deserialize<'de> for $name {
            fn deserialize<D: ::serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                #[derive(::serde::Deserialize)]
                struct Tag {
                    #[serde(rename = $tag)]
                    tag: String,
                }
                let raw = crate::Json::deserialize(deserializer)?;
                let read = match ::serde_json::from_str::<Tag>(raw.as_str()).map(|read| read.tag).as_deref() {
                    $(Ok($value) => ::serde_json::from_str(raw.as_str()).map(Self::$variant),)*
                    _ => Ok(Self::Other(raw)),
                };
                read.map_err(::serde::de::Error::custom)
            }
        }
    };
}
pub(crate) use union;

/// Reads null as the value that stands for nothing.
pub(crate) fn or_empty<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de> + Default,
{
    Option::deserialize(deserializer).map(Option::unwrap_or_default)
}
