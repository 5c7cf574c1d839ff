//! The change feed, and live searches.

use super::super::{
    answer::Sent,
    parts::{Parts, spec},
};
use super::{Written, bad, bad_header, begin};
use crate::error::Failure;
use crate::event::payload::{
    Object,
    answer::{json, write},
    feed::{ChangeEvent, Effect, News},
    text_list,
};
use crate::operation::Success;

/// Where a client that has lost its connection says what it has seen last.
const LAST_EVENT_ID: &str = "Last-Event-ID";

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
        .raw("condition", parts.json_within()?);
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
                .map_err(|_| bad_header(LAST_EVENT_ID, seen, "a sequence"))
        })
        .transpose()?;
    if let Some(from) = seen.or(from) {
        object = object.number("fromSequence", from);
    }
    let data = parts.query_truth("includeData")?;
    Ok(object
        .truth("includeData", data.unwrap_or_default())
        .finish())
}

/// An entity of a result, a change, or that the result is complete.
pub(in crate::rest) fn news(answer: Success) -> Result<Sent, Failure> {
    match answer.take::<News>()? {
        News::Entity(entity) => Ok(Sent {
            id: None,
            kind: Some("entity"),
            body: write(&entity.payload, entity.bytes()),
        }),
        News::Change(change) => Ok(sent(change)),
    }
}

/// A change; its sequence is the id.
pub(in crate::rest) fn change(answer: Success) -> Result<Sent, Failure> {
    Ok(sent(answer.take()?))
}

fn sent(change: ChangeEvent) -> Sent {
    let id = Some(change.sequence);
    if change.change == Some(Effect::Complete) {
        // Said by the type of the event.
        let complete = ChangeEvent {
            change: None,
            ..change
        };
        return Sent {
            id,
            kind: Some("complete"),
            body: json(&complete),
        };
    }
    Sent {
        id,
        kind: None,
        body: write(&change, change.bytes()),
    }
}
