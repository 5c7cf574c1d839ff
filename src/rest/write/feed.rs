//! The change feed, and live searches.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::super::{
    answer::Sent,
    parts::{Parts, spec},
};
use super::{Written, bad, begin, read};
use crate::error::Failure;
use crate::event::payload::{Object, text_list};

/// Where a client that has lost its connection says what it has seen last.
const LAST_EVENT_ID: &str = "last-event-id";

pub(in crate::rest) fn subscribe(parts: &Parts, id: &str) -> Written {
    let mut object = begin(id);
    match (parts.query("entityName"), parts.query("modelVersion")) {
        (None, None) => {}
        (Some(name), Some(_)) => {
            let version = parts.query_as::<i32>("modelVersion", "a 32-bit integer")?;
            object = object.raw("model", &spec((name, version.unwrap_or_default())));
        }
        (Some(_), None) | (None, Some(_)) => {
            return Err(bad(
                "entityName and modelVersion name a model together; give both or neither",
            ));
        }
    }
    let mut states = parts.query_all("states").peekable();
    if states.peek().is_some() {
        object = object.raw("states", &text_list(states));
    }
    finish(parts, object)
}

/// A live search.
pub(in crate::rest) fn subscribe_search(parts: &Parts, id: &str) -> Written {
    let object = begin(id)
        .raw("model", &spec(parts.model()?))
        .raw("condition", parts.json()?.get());
    finish(parts, object)
}

/// Adds from where on, and whether with documents.
fn finish(parts: &Parts, mut object: Object) -> Written {
    let from = parts.query_as::<i64>("fromSequence", "a 64-bit integer")?;
    // A client that connects again says the same as before, and how far it has come since.
    let seen = parts
        .single_header(LAST_EVENT_ID)?
        .filter(|seen| !seen.is_empty())
        .map(|seen| {
            seen.parse::<i64>()
                .map_err(|_| bad(format!("Last-Event-ID: `{seen}` is not a sequence")))
        })
        .transpose()?;
    if let Some(from) = seen.or(from) {
        object = object.number("fromSequence", from);
    }
    let data = parts.query_as::<bool>("includeData", "true or false")?;
    Ok(object
        .truth("includeData", data.unwrap_or_default())
        .finish())
}

/// An entity of a result, or a change; its sequence is the id, and what is no change says so.
pub(in crate::rest) fn news(parts: &Parts, payload: &str) -> Result<Sent, Failure> {
    #[derive(Deserialize)]
    struct Told<'a> {
        #[serde(borrow, default)]
        payload: Option<&'a RawValue>,
        #[serde(default)]
        sequence: Option<i64>,
        #[serde(borrow, rename = "entityId", default)]
        entity: Option<&'a RawValue>,
    }
    let told: Told<'_> = read(payload)?;
    match told {
        Told {
            payload: Some(envelope),
            ..
        } => Ok(Sent {
            id: None,
            kind: Some("entity"),
            body: envelope.get().to_owned(),
        }),
        Told {
            sequence: Some(sequence),
            entity: None,
            ..
        } => Ok(Sent {
            id: Some(sequence),
            kind: Some("complete"),
            body: Object::new().number("sequence", sequence).finish(),
        }),
        Told { .. } => change(parts, payload),
    }
}

/// A change; its sequence is the id.
pub(in crate::rest) fn change(_: &Parts, payload: &str) -> Result<Sent, Failure> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Told<'a> {
        sequence: i64,
        #[serde(borrow)]
        entity_id: &'a RawValue,
        #[serde(borrow)]
        model: &'a RawValue,
        #[serde(borrow)]
        state: &'a RawValue,
        #[serde(borrow)]
        change_type: &'a RawValue,
        #[serde(borrow)]
        transaction_id: &'a RawValue,
        #[serde(borrow)]
        time_of_change: &'a RawValue,
        #[serde(borrow, default)]
        change: Option<&'a RawValue>,
        #[serde(borrow, default)]
        data: Option<&'a RawValue>,
    }
    let change: Told<'_> = read(payload)?;
    let object = Object::new().number("sequence", change.sequence);
    let object = match change.change {
        Some(turn) => object.raw("change", turn.get()),
        None => object,
    };
    let object = object
        .raw("entityId", change.entity_id.get())
        .raw("model", change.model.get())
        .raw("state", change.state.get())
        .raw("changeType", change.change_type.get())
        .raw("transactionId", change.transaction_id.get())
        .raw("timeOfChange", change.time_of_change.get());
    let object = match change.data {
        Some(data) => object.raw("data", data.get()),
        None => object,
    };
    Ok(Sent {
        id: Some(change.sequence),
        kind: None,
        body: object.finish(),
    })
}
