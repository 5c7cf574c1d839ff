//! Shows the history of a run, the oldest events first.

use super::event;
use crate::error::{Code, Failure};
use crate::event::{
    EventType,
    payload::{self, runs},
};
use crate::operation::{
    Access, Context, Family, Operation, Output,
    paging::{self, Paging},
    subscribe_changes::from,
};
use crate::runtime::runs::events;

/// How many advances are read at a time.
const PART: i64 = 32;

/// How many bytes of events a page has; one event more may go beyond.
const PAGE_BYTES: u64 = 4 << 20;

pub(in crate::operation) struct GetHistory {
    run: String,
    after: u64,
    limit: usize,
}

impl Operation for GetHistory {
    type Payload = runs::GetHistory;
    type Answer = runs::History;

    const REQUEST: EventType = EventType::RunHistoryGetRequest;
    const RESPONSE: EventType = EventType::RunHistoryGetResponse;
    const FAMILY: Family = Family::Search;
    const ACCESS: Access = Access::Read;

    fn parse(payload: &str) -> Result<Self, Failure> {
        let request: runs::GetHistory = payload::decode(payload)?;
        Ok(Self {
            run: request.run_id,
            after: after(request.from_sequence)?,
            limit: Paging::read(request.limit, None)?.limit,
        })
    }

    async fn run(self, cx: Context) -> Result<Output<Self::Answer>, Failure> {
        let tenant = &cx.caller().tenant;
        let stored = cx.runtime().stored_run(tenant, &self.run).await?;
        let state = cx.runtime().run_state(&stored)?;
        check_ahead(self.after, state.run.sequence)?;
        let (mut items, mut reached, mut more) = (Vec::new(), self.after, false);
        let mut bytes = 0;
        'reading: loop {
            let page = cx.storage().run_events(stored.id, reached, PART).await?;
            let Some(last) = page.last() else { break };
            reached = last.last;
            for advance in page {
                let last = (advance.last, advance.position);
                for one in events(&advance.record)? {
                    if one.sequence <= self.after {
                        continue;
                    }
                    if items.len() == self.limit || bytes >= PAGE_BYTES {
                        more = true;
                        break 'reading;
                    }
                    bytes += one.bytes();
                    items.push(event(&state.run.id, one, last));
                }
            }
        }
        let next = items.last().map(|last| last.sequence.to_string());
        Ok(Output::one(runs::History {
            items,
            pagination: paging::plain(next.filter(|_| more)),
        }))
    }
}

/// The number of the last event that a caller has.
pub(super) fn after(sequence: Option<i64>) -> Result<u64, Failure> {
    let after = from(sequence)?.map_or(0, |after| after.0);
    Ok(u64::try_from(after).unwrap_or(0))
}

/// Nothing is ahead of the newest event.
pub(super) fn check_ahead(after: u64, newest: u64) -> Result<(), Failure> {
    if after > newest {
        return Err(Failure::new(
            Code::BadRequest,
            format!("fromSequence is {after}; the newest event of the run is {newest}"),
        )
        .with("newest", newest));
    }
    Ok(())
}
