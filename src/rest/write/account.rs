//! The caller.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::super::parts::Parts;
use super::{Written, read};
use crate::event::payload::Object;

pub(in crate::rest) fn account(_: &Parts, payload: &str) -> Written {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Account<'a> {
        #[serde(borrow)]
        user_account_info: &'a RawValue,
    }
    let answer: Account<'_> = read(payload)?;
    Ok(Object::new()
        .raw("userAccountInfo", answer.user_account_info.get())
        .finish())
}
