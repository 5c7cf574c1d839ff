//! Rows of topics.

use super::columns::from_row;
use crate::clock::Timestamp;
use crate::storage::port::TopicEvent;

#[derive(Debug)]
pub(in crate::storage) struct TopicEventData {
    n: i64,
    at: i64,
    id: Option<String>,
    key: Option<String>,
    r#type: Option<String>,
    data: String,
}

from_row! { TopicEventData { n, at, id, key, r#type, data } }

impl From<TopicEventData> for TopicEvent {
    fn from(row: TopicEventData) -> Self {
        Self {
            sequence: row.n,
            at: Timestamp::from_micros(row.at),
            payload: row.data.into(),
            kind: row.r#type.map(Into::into),
            key: row.key.map(Into::into),
            id: row.id.map(Into::into),
        }
    }
}
