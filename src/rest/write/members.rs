//! Who is connected.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::super::parts::Parts;
use super::{Written, read};
use crate::event::payload::Object;

pub(in crate::rest) fn members(_: &Parts, payload: &str) -> Written {
    #[derive(Deserialize)]
    struct Members<'a> {
        #[serde(borrow)]
        members: &'a RawValue,
    }
    let answer: Members<'_> = read(payload)?;
    Ok(Object::new().raw("members", answer.members.get()).finish())
}
