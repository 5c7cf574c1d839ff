//! The form of the `CloudEvents` SDK, which speaks HTTP for us.
//!
//! The SDK knows texts, booleans and integers only, so attributes of the other types become texts,
//! and it cannot carry protobuf data.

use cloudevents::{
    AttributesReader as _, Data as SdkData, Event as SdkEvent, EventBuilder as _, EventBuilderV10,
    event::{EventBuilderError, ExtensionValue},
};

use super::{AttributeName, AttributeValue, Data, Event, EventType, Rejected, bad_attribute};
use crate::error::Failure;

impl TryFrom<SdkEvent> for Event {
    type Error = Rejected;

    fn try_from(event: SdkEvent) -> Result<Self, Rejected> {
        let id: Box<str> = event.id().into();
        let reject = |failure| Rejected {
            id: id.clone(),
            failure,
        };
        let kind = EventType::from_name(event.ty())
            .ok_or_else(|| reject(Failure::unknown_type(event.ty())))?;
        let mut attributes = std::collections::BTreeMap::new();
        for (name, value) in event.iter_extensions() {
            let name = AttributeName::parse(name).ok_or_else(|| reject(bad_attribute(name)))?;
            let value = match value {
                ExtensionValue::String(text) => AttributeValue::String(text.as_str().into()),
                ExtensionValue::Boolean(truth) => AttributeValue::Boolean(*truth),
                ExtensionValue::Integer(number) => i32::try_from(*number)
                    .map(AttributeValue::Integer)
                    .map_err(|_| {
                        reject(Failure::malformed(
                            "invalid CloudEvent: an integer attribute has more than 32 bits",
                        ))
                    })?,
            };
            attributes.insert(name, value);
        }
        Ok(Self {
            source: event.source().as_str().into(),
            kind,
            attributes,
            data: match event.data() {
                None => Data::None,
                Some(SdkData::String(text)) => Data::Text(text.as_str().into()),
                Some(SdkData::Binary(bytes)) => Data::Binary(bytes.clone().into()),
                Some(SdkData::Json(value)) => Data::Text(value.to_string().into()),
            },
            id,
        })
    }
}

impl TryFrom<Event> for SdkEvent {
    type Error = EventBuilderError;

    fn try_from(event: Event) -> Result<Self, EventBuilderError> {
        let mut builder = EventBuilderV10::new()
            .id(event.id)
            .ty(event.kind.as_str())
            .source(event.source);
        for (name, value) in event.attributes {
            let value = match value {
                AttributeValue::Boolean(truth) => ExtensionValue::Boolean(truth),
                AttributeValue::Integer(number) => ExtensionValue::Integer(number.into()),
                AttributeValue::String(text)
                | AttributeValue::Uri(text)
                | AttributeValue::UriRef(text) => ExtensionValue::String(text.into()),
                AttributeValue::Bytes(bytes) => {
                    ExtensionValue::String(String::from_utf8_lossy(&bytes).into_owned())
                }
                AttributeValue::Timestamp(seconds, _) => {
                    ExtensionValue::String(seconds.to_string())
                }
            };
            builder = builder.extension(name.as_str(), value);
        }
        match event.data {
            Data::None => builder.build(),
            Data::Text(text) => builder
                .data("application/json", SdkData::String(text.into()))
                .build(),
            Data::Binary(bytes) | Data::Other { value: bytes, .. } => builder
                .data("application/json", SdkData::Binary(bytes.into()))
                .build(),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{super::proto::tests::any_event, *};

    proptest! {
        #[test]
        fn what_the_sdk_can_say_survives_it(mut event in any_event()) {
            event.source = "/source".into();
            event.attributes.retain(|name, value| {
                // Names that the SDK takes for its own.
                !matches!(name.as_str(), "id" | "type" | "source" | "time" | "subject" | "data")
                    && matches!(value, AttributeValue::String(_) | AttributeValue::Boolean(_) | AttributeValue::Integer(_))
            });
            if matches!(event.data, Data::Other { .. }) {
                event.data = Data::None;
            }
            let through = SdkEvent::try_from(event.clone()).map(Event::try_from);
            prop_assert_eq!(through.ok().and_then(Result::ok), Some(event));
        }
    }
}
