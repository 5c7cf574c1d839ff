//! Answers as events, for APIs on which answers refer to their requests: the stream, and
//! `CloudEvents` over HTTP (`stream.md` §2).

use futures_util::{StreamExt as _, stream};
use tokio_util::sync::CancellationToken;

use super::{Answer, Answers, Events, Route};
use crate::error::Failure;
use crate::event::{
    AttributeValue, Event, EventType, REQUEST_ID_ATTRIBUTE, SEQUENCE_ATTRIBUTE,
    STREAM_END_ATTRIBUTE,
    payload::{search::Page, stream as payload},
};

/// The reply to one request.
pub enum Reply {
    One(Event),
    /// Numbered events, then the end.
    Many(stream::BoxStream<'static, Event>),
}

impl Reply {
    /// The events that carry an answer; `cancel` ends one of many early.
    pub fn new(
        request: &str,
        kind: EventType,
        answer: Result<Answer, Failure>,
        cancel: CancellationToken,
    ) -> Self {
        let Some(route) = Route::of(kind) else {
            return Self::refusal(request, &Failure::unknown_type(kind.as_str()));
        };
        match answer {
            Ok(Answer::One(success)) => Self::One(quoting(
                request,
                success.into_event(request, route.response),
            )),
            Ok(Answer::Many(events)) => Self::many(request, route, events, None, cancel),
            Ok(Answer::Page(events, page)) => {
                Self::many(request, route, events, Some(page), cancel)
            }
            Err(failure) if failure.is_in_request() => Self::refusal(request, &failure),
            Err(failure) => match route.answers {
                Answers::One => Self::One(quoting(request, route.refuse(request, &failure))),
                Answers::Many | Answers::Live => {
                    let events = stream::iter([Err(failure)]).boxed();
                    Self::many(request, route, events, None, cancel)
                }
            },
        }
    }

    /// The acknowledgement that says why an event was not taken.
    pub fn refusal(source: &str, failure: &Failure) -> Self {
        Self::One(refusal(source, failure))
    }

    /// The answer to a request that was cancelled.
    pub fn cancelled(request: &str, kind: EventType) -> Self {
        Self::new(
            request,
            kind,
            Err(Failure::cancelled()),
            CancellationToken::new(),
        )
    }

    fn many(
        request: &str,
        route: &'static Route,
        events: Events,
        page: Option<Page>,
        cancel: CancellationToken,
    ) -> Self {
        let sending = Sending {
            request: request.into(),
            route,
            events: Some(events),
            page,
            cancel,
            count: 0,
            last: None,
        };
        Self::Many(stream::unfold(sending, Sending::next).fuse().boxed())
    }

    /// The events, however many.
    pub fn into_events(self) -> stream::BoxStream<'static, Event> {
        match self {
            Self::One(event) => stream::once(std::future::ready(event)).boxed(),
            Self::Many(events) => events,
        }
    }
}

/// The event that says that another was taken.
pub fn acknowledgement(source: &str) -> Event {
    quoting(
        source,
        Event::ours(EventType::EventAckResponse, payload::ack(source)),
    )
}

/// The event that says why another was not taken.
pub fn refusal(source: &str, failure: &Failure) -> Event {
    quoting(
        source,
        Event::ours(
            EventType::EventAckResponse,
            payload::refusal(source, failure),
        ),
    )
}

/// A streamed answer on its way.
struct Sending {
    request: Box<str>,
    route: &'static Route,
    /// None once they have ended.
    events: Option<Events>,
    page: Option<Page>,
    cancel: CancellationToken,
    /// How many have been sent that are not failures.
    count: u64,
    /// The end, where it follows a failure.
    last: Option<Event>,
}

impl Sending {
    async fn next(mut self) -> Option<(Event, Self)> {
        if let Some(last) = self.last.take() {
            return Some((last, self));
        }
        let events = self.events.as_mut()?;
        let item = tokio::select! {
            biased;
            () = self.cancel.cancelled() => Some(Err(Failure::cancelled())),
            item = events.next() => item,
        };
        let event = match item {
            Some(Ok(success)) => {
                self.count += 1;
                let event = success.into_event(&self.request, self.route.response);
                self.numbered(self.count, event)
            }
            // One event of the answer's type, then the end with the same error.
            Some(Err(failure)) => {
                self.events = None;
                self.last = Some(self.end(Some(&failure)));
                self.numbered(self.count + 1, self.route.refuse(&self.request, &failure))
            }
            None => {
                self.events = None;
                self.end(None)
            }
        };
        Some((event, self))
    }

    fn numbered(&self, number: u64, event: Event) -> Event {
        quoting(&self.request, event).with(
            SEQUENCE_ATTRIBUTE,
            AttributeValue::String(number.to_string().into()),
        )
    }

    fn end(&self, failure: Option<&Failure>) -> Event {
        let event = Event::ours(
            EventType::EventStreamEnd,
            payload::end(&self.request, self.count, self.page.as_ref(), failure),
        );
        quoting(&self.request, event).with(STREAM_END_ATTRIBUTE, AttributeValue::Boolean(true))
    }
}

fn quoting(request: &str, event: Event) -> Event {
    event.with(REQUEST_ID_ATTRIBUTE, AttributeValue::String(request.into()))
}
