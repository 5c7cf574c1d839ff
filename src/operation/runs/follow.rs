//! Follows the history of a run, or those of many.

use std::{collections::HashMap, collections::VecDeque, sync::Arc};

use futures_util::stream;

use super::{
    event,
    history::{after, check_ahead},
};
use crate::entity::Position;
use crate::error::{Code, Failure};
use crate::event::{
    EventType,
    payload::{
        self,
        runs::{self, Event},
    },
};
use crate::id::RunId;
use crate::operation::{
    Access, Answers, Context, Family, Operation, Output, paging, subscribe_changes::from,
};
use crate::program::EventKind;
use crate::runtime::runs::events;
use crate::storage::{FollowedRuns, RunEvents, RunFeed};

/// How many names of runs are remembered while many runs are followed.
const NAMES_MAX: usize = 10_000;

pub(in crate::operation) struct FollowRuns {
    run: Option<String>,
    definition: Option<Arc<str>>,
    namespace: Arc<str>,
    from: Option<i64>,
}

impl Operation for FollowRuns {
    type Payload = runs::Subscribe;
    type Answer = Event;

    const REQUEST: EventType = EventType::RunHistorySubscribeRequest;
    const RESPONSE: EventType = EventType::RunHistoryEvent;
    const FAMILY: Family = Family::Search;
    const ANSWERS: Answers = Answers::Live;
    const ACCESS: Access = Access::Read;

    fn parse(payload: &str) -> Result<Self, Failure> {
        let request: runs::Subscribe = payload::decode(payload)?;
        from(request.from_sequence)?;
        Ok(Self {
            run: request.run_id,
            definition: request.definition.map(Into::into),
            namespace: paging::namespace(request.namespace)?,
            from: request.from_sequence,
        })
    }

    async fn run(self, cx: Context) -> Result<Output<Self::Answer>, Failure> {
        let mut following = match &self.run {
            Some(run) => self.one(cx, run).await?,
            None => self.all(cx)?,
        };
        following.begin().await?;
        let events = stream::try_unfold(following, |mut following| async move {
            let next = following.next().await?;
            Ok(next.map(|event| (event, following)))
        });
        Ok(Output::many(events))
    }
}

impl FollowRuns {
    async fn one(&self, cx: Context, run: &str) -> Result<Following, Failure> {
        let tenant = &cx.caller().tenant;
        let stored = cx.runtime().stored_run(tenant, run).await?;
        let state = cx.runtime().run_state(&stored)?;
        let newest = state.run.sequence;
        let after = match self.from {
            Some(_) => after(self.from)?,
            None => newest,
        };
        check_ahead(after, newest)?;
        let feed = cx
            .storage()
            .follow_runs(tenant, FollowedRuns::One(stored.id, after));
        Ok(Following {
            feed,
            cx,
            ready: VecDeque::new(),
            after,
            // After its last event a run has only late answers, which are not sent.
            is_over: stored.ended.is_some() && after >= newest,
            of: Of::One {
                run: state.run.id.clone(),
                ends_at: stored.ended.map(|_| newest),
            },
        })
    }

    fn all(self, cx: Context) -> Result<Following, Failure> {
        let tenant = &cx.caller().tenant;
        let newest = cx.storage().latest().0;
        let from = from(self.from)?.unwrap_or(Position(newest));
        if from.0 > newest {
            return Err(Failure::new(
                Code::BadRequest,
                format!(
                    "fromSequence is {}; the newest position is {newest}",
                    from.0
                ),
            )
            .with("newest", newest));
        }
        let feed = cx.storage().follow_runs(tenant, FollowedRuns::All(from));
        Ok(Following {
            feed,
            cx,
            ready: VecDeque::new(),
            after: 0,
            is_over: false,
            of: Of::Many {
                namespace: self.namespace,
                definition: self.definition,
                from,
                names: HashMap::new(),
            },
        })
    }
}

/// A reader of histories, and for whom.
struct Following {
    feed: RunFeed,
    cx: Context,
    ready: VecDeque<Event>,
    /// Of one run, the number of the last event that was sent.
    after: u64,
    is_over: bool,
    of: Of,
}

enum Of {
    One {
        run: Box<str>,
        /// Of a run that had ended, the number of its newest event.
        ends_at: Option<u64>,
    },
    Many {
        namespace: Arc<str>,
        definition: Option<Arc<str>>,
        from: Position,
        /// The identifiers of runs that are followed; none of those that are not.
        names: HashMap<RunId, Option<Box<str>>>,
    },
}

impl Following {
    /// Reads the first event of a run that has ended, so that it is known at once if there is none.
    async fn begin(&mut self) -> Result<(), Failure> {
        let has_ended = matches!(&self.of, Of::One { ends_at, .. } if ends_at.is_some());
        if has_ended && let Some(first) = self.next().await? {
            self.ready.push_front(first);
        }
        Ok(())
    }

    async fn next(&mut self) -> Result<Option<Event>, Failure> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Ok(Some(event));
            }
            if self.is_over {
                return Ok(None);
            }
            let found = tokio::select! {
                biased;
                failure = self.cx.given_up() => return Err(failure),
                found = self.feed.next() => found?,
            };
            for advance in found {
                self.take(advance).await?;
            }
        }
    }

    async fn take(&mut self, advance: RunEvents) -> Result<(), Failure> {
        let last = (advance.last, advance.position);
        let name = match &mut self.of {
            Of::One { run, ends_at } => {
                if ends_at.is_some_and(|end| advance.last >= end) {
                    self.is_over = true;
                }
                Some(run.clone())
            }
            Of::Many { .. } => self.name(advance.run).await?,
        };
        let Some(name) = name else { return Ok(()) };
        for one in events(&advance.record)? {
            let (kind, sequence) = (one.kind, one.sequence);
            let event = event(&name, one, last);
            match &self.of {
                Of::One { .. } => {
                    if self.is_over && kind == EventKind::LateAnswer || sequence <= self.after {
                        continue;
                    }
                    self.after = sequence;
                    self.is_over |= is_end(kind);
                }
                Of::Many { from, .. } => {
                    if event.position <= from.0 {
                        continue;
                    }
                }
            }
            self.ready.push_back(event);
        }
        Ok(())
    }

    /// The identifier of a run, if it is followed.
    async fn name(&mut self, run: RunId) -> Result<Option<Box<str>>, Failure> {
        let Of::Many {
            namespace,
            definition,
            names,
            ..
        } = &mut self.of
        else {
            return Ok(None);
        };
        if let Some(known) = names.get(&run) {
            return Ok(known.clone());
        }
        let tenant = &self.cx.caller().tenant;
        let name = match self.cx.storage().run(tenant, run).await? {
            Some(stored)
                if stored.name.namespace == *namespace
                    && definition
                        .as_ref()
                        .is_none_or(|name| *name == stored.name.name)
                    && !stored.name.name.starts_with('@') =>
            {
                Some(self.cx.runtime().run_state(&stored)?.run.id.clone())
            }
            Some(_) | None => None,
        };
        if names.len() >= NAMES_MAX {
            names.clear();
        }
        names.insert(run, name.clone());
        Ok(name)
    }
}

/// Whether nothing but late answers follows an event of that kind.
const fn is_end(kind: EventKind) -> bool {
    matches!(
        kind,
        EventKind::WorkflowCompleted
            | EventKind::WorkflowFailed
            | EventKind::WorkflowCancelled
            | EventKind::WorkflowTimedOut
    )
}
