//! Converts answers to bodies.

use std::{convert::Infallible, task::Poll, time::Duration};

use axum::{
    body::{Body, Bytes},
    http::{HeaderName, StatusCode, header},
    response::{
        IntoResponse as _, Response,
        sse::{Event as SentEvent, KeepAlive, Sse},
    },
};
use futures_util::{
    FutureExt as _, Stream, StreamExt as _,
    stream::{self, BoxStream},
};

use super::{json, parts::Parts, text};
use crate::error::Failure;
use crate::event::payload::{self, ErrorMember};
use crate::operation::{Answer, AnswersTo, Events, Success};

/// From how many bytes on items leave, if more are ready: each chunk of a body costs.
const CHUNK_BYTES: usize = 16 << 10;

const JSON: &str = "application/json";

/// The items of a body, as they are written.
type Items = BoxStream<'static, Result<String, Failure>>;

/// Makes a body, or an item of one, of an answer.
pub(super) type Read = fn(&Parts, Success) -> Result<String, Failure>;

/// Makes a body and the status of an answer.
pub(super) type ReadStatus = fn(&Parts, Success) -> Result<(StatusCode, String), Failure>;

/// Makes a body and the `ETag` of an answer.
pub(super) type ReadTagged = fn(&Parts, Success) -> Result<(String, String), Failure>;

/// Makes a server-sent event of an answer.
pub(super) type ReadSent = fn(Success) -> Result<Sent, Failure>;

/// A server-sent event.
pub(super) struct Sent {
    /// The `id` from which a client resumes; none where it cannot.
    pub(super) id: Option<i64>,
    /// What it is; none for a change.
    pub(super) kind: Option<&'static str>,
    pub(super) body: String,
}

/// Has proxies pass on each event as it comes: no nginx gathers them, and nothing packs them.
const AT_ONCE: [(HeaderName, &str); 2] = [
    (HeaderName::from_static("x-accel-buffering"), "no"),
    (header::CACHE_CONTROL, "no-cache, no-transform"),
];

/// How long a live answer is silent before it shows that it lives.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// How the answer to a request is spelled.
#[derive(Clone, Copy)]
pub(super) enum Answered {
    /// One event, one value.
    Value(Read),
    /// One event, one value, which determines the status.
    WithStatus(ReadStatus),
    /// One event, one value that has a version, which is the `ETag`.
    Tagged(ReadTagged),
    /// One event, of which nothing is said but that it was done.
    Empty,
    /// One event, one text that is no JSON.
    Text(Read),
    /// Any number of events: a list, sent as it is read.
    List(Read),
    /// Any number of events: one value to a line, sent as it is read.
    Lines(Read),
    /// The events of a page: a list in `content`, and which of how many pages it is.
    Page(Read),
    /// Any number of events, of which there is one.
    First(Read),
    /// Events without an end: server-sent events, whose ids are the sequences.
    Live(ReadSent),
}

impl Answered {
    pub(super) async fn response(
        self,
        answer: Answer,
        parts: &Parts,
        answers: &AnswersTo,
    ) -> Result<Response, Failure> {
        match (self, answer) {
            (Self::Value(read) | Self::First(read), Answer::One(answer)) => {
                Ok(json(read(parts, answer)?))
            }
            (Self::WithStatus(read), Answer::One(answer)) => {
                let (status, body) = read(parts, answer)?;
                Ok((status, json(body)).into_response())
            }
            (Self::Tagged(read), Answer::One(answer)) => {
                let (tag, body) = read(parts, answer)?;
                Ok(([(header::ETAG, tag)], json(body)).into_response())
            }
            (Self::Empty, Answer::One(_)) => Ok(StatusCode::OK.into_response()),
            (Self::Text(read), Answer::One(answer)) => Ok(text(read(parts, answer)?)),
            (Self::First(read), Answer::Many(mut events)) => match events.next().await {
                Some(answer) => Ok(json(read(parts, answer?)?)),
                None => Ok(json("{}".to_owned())),
            },
            (Self::List(read), Answer::Many(events)) => {
                let items = list(read, events, parts, page_of(parts), "[", "]\n".to_owned());
                Ok(streamed(JSON, items.await?, answers))
            }
            (Self::Page(read), Answer::Page(events, page)) => {
                let close = format!("],\"page\":{}}}\n", payload::json(&page));
                let items = list(read, events, parts, usize::MAX, r#"{"content":["#, close);
                Ok(streamed(JSON, items.await?, answers))
            }
            (Self::Lines(read), Answer::Many(events)) => {
                let items = lines(read, events, parts).await?;
                Ok(streamed("application/x-ndjson", items, answers))
            }
            (Self::Live(read), Answer::Many(events)) => Ok(live(read, events, answers)),
            (Self::List(_) | Self::Lines(_) | Self::Live(_) | Self::Page(_), Answer::One(_))
            | (
                Self::Value(_)
                | Self::WithStatus(_)
                | Self::Tagged(_)
                | Self::Empty
                | Self::Text(_)
                | Self::Page(_),
                Answer::Many(_),
            )
            | (_, Answer::Page(..)) => Err(Failure::internal(
                "the table of spellings and that of operations disagree",
            )),
        }
    }
}

/// A page of size 0 is asked for as one of size 1, of which nothing is shown: events know no
/// empty page.
fn page_of(parts: &Parts) -> usize {
    if matches!(parts.query_as::<i32>("pageSize", "a number"), Ok(Some(0))) {
        0
    } else {
        usize::MAX
    }
}

/// The first event is awaited, so that what fails at once is a problem document, not half a body.
async fn begun(mut events: Events) -> Result<Events, Failure> {
    let first = events.next().await.transpose()?;
    Ok(stream::iter(first.map(Ok)).chain(events).boxed())
}

async fn list(
    read: Read,
    events: Events,
    parts: &Parts,
    limit: usize,
    open: &'static str,
    close: String,
) -> Result<Items, Failure> {
    let parts = parts.without_body();
    let items = begun(events)
        .await?
        .take(limit)
        .enumerate()
        .map(move |(index, answer)| {
            let body = read(&parts, answer?)?;
            Ok(if index == 0 { body } else { format!(",{body}") })
        });
    let open = stream::once(async { Ok(open.to_owned()) });
    let close = stream::once(async { Ok(close) });
    Ok(open.chain(items).chain(close).boxed())
}

async fn lines(read: Read, events: Events, parts: &Parts) -> Result<Items, Failure> {
    let parts = parts.without_body();
    let items = begun(events)
        .await?
        .map(move |answer| Ok(read(&parts, answer?)? + "\n"));
    Ok(items.boxed())
}

/// Events as they come. A failure is one more, of the type `failure`, and the last. Nothing more to
/// come has a status of its own, at which an `EventSource` does not connect again.
fn live(read: ReadSent, mut events: Events, answers: &AnswersTo) -> Response {
    let first = match events.next().now_or_never() {
        Some(None) => return StatusCode::NO_CONTENT.into_response(),
        first => first.flatten(),
    };
    let events = stream::iter(first).chain(events);
    let items = answers.clone().counting(
        events.map(move |answer| answer.and_then(read)),
        |item| item.as_ref().map_or(0, |sent| sent.body.len()),
        |failure| Err(failure.clone()),
    );
    let events = items.map(|item| {
        Ok::<_, Infallible>(match item {
            Ok(Sent { id, kind, body }) => {
                let sent = SentEvent::default().data(body);
                let sent = match id {
                    Some(id) => sent.id(id.to_string()),
                    None => sent,
                };
                match kind {
                    Some(kind) => sent.event(kind),
                    None => sent,
                }
            }
            Err(failure) => SentEvent::default()
                .event("failure")
                .data(payload::json(&ErrorMember::of(&failure))),
        })
    });
    let events = Sse::new(events).keep_alive(KeepAlive::new().interval(KEEP_ALIVE));
    (AT_ONCE, events).into_response()
}

/// Items that are ready leave together, up to about the size of a chunk.
fn gathered(items: Items) -> impl Stream<Item = Result<String, Failure>> + Send {
    let mut items = items.fuse();
    stream::poll_fn(move |cx| {
        let mut chunk = String::new();
        loop {
            match items.poll_next_unpin(cx) {
                Poll::Ready(Some(Ok(item))) if chunk.is_empty() => chunk = item,
                Poll::Ready(Some(Ok(item))) => chunk.push_str(&item),
                Poll::Ready(Some(Err(failure))) => return Poll::Ready(Some(Err(failure))),
                Poll::Ready(None) if chunk.is_empty() => return Poll::Ready(None),
                Poll::Pending if chunk.is_empty() => return Poll::Pending,
                Poll::Ready(None) | Poll::Pending => return Poll::Ready(Some(Ok(chunk))),
            }
            if chunk.len() >= CHUNK_BYTES {
                return Poll::Ready(Some(Ok(chunk)));
            }
        }
    })
}

/// A body that is sent as it comes. A failure on the way cuts it off: there is no trailer for it
/// (`search.md` §5).
fn streamed(content_type: &'static str, items: Items, answers: &AnswersTo) -> Response {
    let chunks = answers.clone().counting(
        gathered(items),
        |chunk| chunk.as_ref().map_or(0, String::len),
        |failure| Err(failure.clone()),
    );
    let chunks = chunks.map(|chunk| {
        let chunk = chunk.map(Bytes::from);
        chunk.map_err(|failure| std::io::Error::other(failure.to_string()))
    });
    (
        [(header::CONTENT_TYPE, content_type)],
        Body::from_stream(chunks),
    )
        .into_response()
}
