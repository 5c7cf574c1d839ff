//! The protobuf form of events: the only place that names generated types, beside the service.

use bytes::Bytes;
use prost::Message as _;

use super::{
    AttributeName, AttributeValue, Data, Event, EventType, Rejected, SPEC_VERSION, TOKEN_ATTRIBUTE,
    bad_attribute,
};
use crate::error::Failure;

/// The envelope. Written by the build script.
pub mod envelope {
    #![expect(clippy::pedantic, reason = "written by the build script")]

    tonic::include_proto!("io.cloudevents.v1");
}

/// The service. Written by the build script.
pub mod service {
    #![expect(
        clippy::allow_attributes,
        clippy::default_constructed_unit_structs,
        clippy::pedantic,
        nonstandard_style,
        unused_qualifications,
        reason = "written by the build script"
    )]

    include!(concat!(
        env!("OUT_DIR"),
        "/service/org.cyoda.cloud.api.grpc.rs"
    ));
}

/// The service between nodes. Written by the build script.
pub mod peers {
    #![expect(
        clippy::allow_attributes,
        clippy::default_constructed_unit_structs,
        clippy::pedantic,
        nonstandard_style,
        unused_qualifications,
        reason = "written by the build script"
    )]

    include!(concat!(env!("OUT_DIR"), "/service/interlock.peer.v1.rs"));
}

pub use envelope::{CloudEvent, CloudEventBatch};

use envelope::cloud_event::{
    CloudEventAttributeValue, Data as ProtoData, cloud_event_attribute_value::Attr,
};

/// Descriptors of everything in `proto/`, for server reflection.
pub const DESCRIPTORS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/descriptors.bin"));

/// The id alone, for messages that cannot be read whole.
#[derive(Clone, PartialEq, prost::Message)]
struct IdOnly {
    #[prost(bytes = "bytes", tag = "1")]
    id: Bytes,
}

impl Event {
    /// Reads the protobuf form. What cannot be read says what it was, as far as that is known.
    pub fn decode(message: Bytes) -> Result<Self, Rejected> {
        match CloudEvent::decode(message.clone()) {
            Ok(event) => Self::try_from(event),
            Err(error) => {
                let id = IdOnly::decode(message).map_or_else(|_| Bytes::new(), |only| only.id);
                Err(Rejected {
                    id: String::from_utf8_lossy(&id).into(),
                    failure: Failure::malformed(format!("invalid CloudEvent: {error}")),
                })
            }
        }
    }

    /// The protobuf form.
    pub fn encode(self) -> Bytes {
        CloudEvent::from(self).encode_to_vec().into()
    }
}

impl TryFrom<CloudEvent> for Event {
    type Error = Rejected;

    fn try_from(event: CloudEvent) -> Result<Self, Rejected> {
        let Some(kind) = EventType::from_name(&event.r#type) else {
            return Err(Rejected {
                id: event.id.into(),
                failure: Failure::unknown_type(&event.r#type),
            });
        };
        let mut attributes = std::collections::BTreeMap::new();
        for (name, value) in event.attributes {
            let Some(parsed) = AttributeName::parse(&name) else {
                return Err(Rejected {
                    id: event.id.into(),
                    failure: bad_attribute(&name),
                });
            };
            let value = value.attr.map(AttributeValue::from);
            // An attribute without a value says nothing. A token without one is not a token, but
            // what it was sent with must not happen outside of the transaction.
            let value = value.or_else(|| {
                (parsed.as_str() == TOKEN_ATTRIBUTE).then(|| AttributeValue::String("".into()))
            });
            if let Some(value) = value {
                attributes.insert(parsed, value);
            }
        }
        Ok(Self {
            id: event.id.into(),
            source: event.source.into(),
            kind,
            attributes,
            data: match event.data {
                None => Data::None,
                Some(ProtoData::TextData(text)) => Data::Text(text.into()),
                Some(ProtoData::BinaryData(bytes)) => Data::Binary(bytes),
                Some(ProtoData::ProtoData(any)) => Data::Other {
                    type_url: any.type_url.into(),
                    value: any.value.into(),
                },
            },
        })
    }
}

impl From<Event> for CloudEvent {
    fn from(event: Event) -> Self {
        Self {
            id: event.id.into(),
            source: event.source.into(),
            spec_version: SPEC_VERSION.to_owned(),
            r#type: event.kind.as_str().to_owned(),
            attributes: event
                .attributes
                .into_iter()
                .map(|(name, value)| {
                    (
                        name.0.into(),
                        CloudEventAttributeValue {
                            attr: Some(value.into()),
                        },
                    )
                })
                .collect(),
            data: match event.data {
                Data::None => None,
                Data::Text(text) => Some(ProtoData::TextData(text.into())),
                Data::Binary(bytes) => Some(ProtoData::BinaryData(bytes)),
                Data::Other { type_url, value } => Some(ProtoData::ProtoData(prost_types::Any {
                    type_url: type_url.into(),
                    value: value.into(),
                })),
            },
        }
    }
}

impl From<Attr> for AttributeValue {
    fn from(value: Attr) -> Self {
        match value {
            Attr::CeBoolean(truth) => Self::Boolean(truth),
            Attr::CeInteger(number) => Self::Integer(number),
            Attr::CeString(text) => Self::String(text.into()),
            Attr::CeBytes(bytes) => Self::Bytes(bytes),
            Attr::CeUri(text) => Self::Uri(text.into()),
            Attr::CeUriRef(text) => Self::UriRef(text.into()),
            Attr::CeTimestamp(time) => Self::Timestamp(time.seconds, time.nanos),
        }
    }
}

impl From<AttributeValue> for Attr {
    fn from(value: AttributeValue) -> Self {
        match value {
            AttributeValue::Boolean(truth) => Self::CeBoolean(truth),
            AttributeValue::Integer(number) => Self::CeInteger(number),
            AttributeValue::String(text) => Self::CeString(text.into()),
            AttributeValue::Bytes(bytes) => Self::CeBytes(bytes),
            AttributeValue::Uri(text) => Self::CeUri(text.into()),
            AttributeValue::UriRef(text) => Self::CeUriRef(text.into()),
            AttributeValue::Timestamp(seconds, nanos) => {
                Self::CeTimestamp(prost_types::Timestamp { seconds, nanos })
            }
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use proptest::prelude::*;

    use super::*;

    pub(in crate::event) fn any_attribute() -> impl Strategy<Value = AttributeValue> {
        prop_oneof![
            any::<bool>().prop_map(AttributeValue::Boolean),
            any::<i32>().prop_map(AttributeValue::Integer),
            ".*".prop_map(|text| AttributeValue::String(text.into())),
            prop::collection::vec(any::<u8>(), 0..20)
                .prop_map(|bytes| AttributeValue::Bytes(bytes.into())),
            "https://[a-z]{1,9}/x".prop_map(|text| AttributeValue::Uri(text.into())),
            "/[a-z]{1,9}".prop_map(|text| AttributeValue::UriRef(text.into())),
            (any::<i64>(), any::<i32>())
                .prop_map(|(seconds, nanos)| AttributeValue::Timestamp(seconds, nanos)),
        ]
    }

    pub(in crate::event) fn any_event() -> impl Strategy<Value = Event> {
        let data = prop_oneof![
            Just(Data::None),
            ".*".prop_map(|text| Data::Text(text.into())),
            prop::collection::vec(any::<u8>(), 0..40).prop_map(|bytes| Data::Binary(bytes.into())),
            ("[a-z]{1,9}", prop::collection::vec(any::<u8>(), 0..9)).prop_map(|(url, bytes)| {
                Data::Other {
                    type_url: url.into(),
                    value: bytes.into(),
                }
            }),
        ];
        let attributes = prop::collection::btree_map("[a-z0-9]{1,9}", any_attribute(), 0..4);
        (
            ".*",
            ".*",
            prop::sample::select(EventType::ALL),
            attributes,
            data,
        )
            .prop_map(|(id, source, kind, attributes, data)| Event {
                id: id.into(),
                source: source.into(),
                kind,
                attributes: attributes
                    .into_iter()
                    .map(|(name, value)| (AttributeName(name.into()), value))
                    .collect(),
                data,
            })
    }

    proptest! {
        #[test]
        fn an_event_survives_the_protobuf_form(event in any_event()) {
            let decoded = Event::decode(event.clone().encode());
            prop_assert_eq!(decoded.map_err(|rejected| rejected.failure.to_string()), Ok(event));
        }

        #[test]
        fn any_bytes_are_an_event_or_rejected(bytes in prop::collection::vec(any::<u8>(), 0..60)) {
            let _ = Event::decode(bytes.into());
        }
    }

    #[test]
    fn what_cannot_be_read_is_rejected_with_its_id() {
        let event = |kind: &str| CloudEvent {
            id: "x1".to_owned(),
            r#type: kind.to_owned(),
            data: Some(ProtoData::TextData("{}".to_owned())),
            ..CloudEvent::default()
        };
        let unknown = Event::try_from(event("NoSuchRequest")).expect_err("unknown");
        assert_eq!(
            (&*unknown.id, unknown.failure.code()),
            ("x1", crate::error::Code::UnknownEventType)
        );

        let mut bytes = event("EntityGetRequest").encode_to_vec();
        let text = bytes.len() - 2;
        bytes[text] = 0xff;
        let invalid = Event::decode(bytes.into()).expect_err("not UTF-8");
        assert_eq!(
            (&*invalid.id, invalid.failure.code()),
            ("x1", crate::error::Code::BadRequest)
        );

        let mut named = event("EntityGetRequest");
        named.attributes.insert(
            "Bad Name".to_owned(),
            CloudEventAttributeValue {
                attr: Some(Attr::CeBoolean(true)),
            },
        );
        assert_eq!(
            Event::try_from(named)
                .expect_err("badly named")
                .failure
                .code(),
            crate::error::Code::BadRequest
        );
    }
}
