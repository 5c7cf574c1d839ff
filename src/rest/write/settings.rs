//! What an operator may change while the process runs (`rest.md` §8).

use serde::Deserialize;
use serde_json::value::RawValue;

use super::super::parts::Parts;
use super::{Written, begin, optional, read};
use crate::event::payload::Object;

pub(in crate::rest) fn set_log_level(parts: &Parts, id: &str) -> Written {
    #[derive(Deserialize)]
    struct Body {
        level: String,
    }
    let body: Body = parts.json_as("log level")?;
    Ok(begin(id).text("level", &body.level).finish())
}

pub(in crate::rest) fn log_level(_: &Parts, payload: &str) -> Written {
    #[derive(Deserialize)]
    struct Level {
        level: String,
        #[serde(default)]
        previous: Option<String>,
    }
    let answer: Level = read(payload)?;
    let object = Object::new().text("level", &answer.level);
    Ok(optional(object, "previous", answer.previous.as_deref()).finish())
}

/// The members of a sampler, in the spelling of either side.
#[derive(Deserialize)]
struct Tracing<'a> {
    sampler: String,
    #[serde(borrow, default)]
    ratio: Option<&'a RawValue>,
    #[serde(borrow, default, alias = "parentBased")]
    parent_based: Option<&'a RawValue>,
}

impl Tracing<'_> {
    fn write(&self, object: Object, parent_based: &str) -> String {
        let object = object.text("sampler", &self.sampler);
        let members = [("ratio", self.ratio), (parent_based, self.parent_based)];
        members
            .into_iter()
            .fold(object, |object, (name, value)| match value {
                Some(value) => object.raw(name, value.get()),
                None => object,
            })
            .finish()
    }
}

pub(in crate::rest) fn set_trace_sampler(parts: &Parts, id: &str) -> Written {
    let body: Tracing<'_> = parts.json_as("sampler")?;
    Ok(body.write(begin(id), "parentBased"))
}

pub(in crate::rest) fn trace_sampler(_: &Parts, payload: &str) -> Written {
    let answer: Tracing<'_> = read(payload)?;
    Ok(answer.write(Object::new(), "parent_based"))
}
