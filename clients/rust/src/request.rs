//! Requests that are being made, and their answers.

use std::{
    fmt,
    future::{Future, IntoFuture},
    marker::PhantomData,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use futures_util::{
    Stream, StreamExt as _, TryStreamExt as _, future::BoxFuture, stream::BoxStream,
};
use serde::de::DeserializeOwned;

use crate::{
    Client, Code, Error, Event, Json, Result,
    envelope::{IDEMPOTENCY_KEY, kind},
    generated::cloudevents::CloudEvent,
};

/// What a request is answered with.
///
/// It is implemented by the answers of the server and by [`Json`], which is any of them.
pub trait Answer: Sized + Send + 'static {
    /// Reads an event of the server. The error has the code `INVALID_JSON`.
    fn read(event: &Event) -> Result<Self>;
}

impl Answer for Json {
    fn read(event: &Event) -> Result<Self> {
        Ok(event.data.clone())
    }
}

impl Answer for Event {
    fn read(event: &Event) -> Result<Self> {
        Ok(event.clone())
    }
}

impl Answer for () {
    fn read(_: &Event) -> Result<Self> {
        Ok(())
    }
}

pub(crate) fn decoded<T: DeserializeOwned>(event: &Event) -> Result<T> {
    serde_json::from_str(event.data.as_str()).map_err(|source| {
        let message = format!("cannot read the {}", event.event_type);
        Error::caused(Code::InvalidJson, message, source)
    })
}

macro_rules! answers {
    ($($name:ident),* $(,)?) => {
        $(impl crate::Answer for $name {
            fn read(event: &crate::Event) -> crate::Result<Self> {
                crate::request::decoded(event)
            }
        })*
    };
}
pub(crate) use answers;

macro_rules! union_answer {
    ($name:ident: $($variant:ident),* $(,)?) => {
        impl crate::Answer for $name {
            fn read(event: &crate::Event) -> crate::Result<Self> {
                match event.event_type.as_str() {
                    $(stringify!($variant) => crate::request::decoded(event).map(Self::$variant),)*
                    other => Err(crate::Error::new(
                        crate::Code::InvalidJson,
                        format!("{other} is not an answer to this request"),
                    )),
                }
            }
        }
    };
}
pub(crate) use union_answer;

/// A request with one answer. It is sent when it is awaited.
///
/// Dropping the future of a request that was sent cancels it on the server, which stops whatever
/// it has not committed; so does [`tokio::time::timeout`].
///
/// ```
/// # use interlock_client::{Client, Model, Result};
/// # use serde_json::json;
/// # async fn place(client: &Client, order: &Model) -> Result<()> {
/// let placed = client
///     .entities()
///     .create(order, &json!({"total": 100}))
///     .idempotency_key("order-1")
///     .await?;
/// # Ok(())
/// # }
/// ```
#[must_use = "a request is sent when it is awaited"]
pub struct Request<A> {
    client: Client,
    event: Result<CloudEvent>,
    timeout: Option<Duration>,
    answer: PhantomData<fn() -> A>,
}

impl<A: Answer> Request<A> {
    pub(crate) fn new(client: Client, event: Result<CloudEvent>) -> Self {
        Self {
            client,
            event,
            timeout: None,
            answer: PhantomData,
        }
    }

    /// Makes the server perform a write once: a repeat with the same key gets the first answer.
    pub fn idempotency_key(mut self, key: impl AsRef<str>) -> Self {
        if let Ok(event) = &mut self.event {
            event.set_attribute(IDEMPOTENCY_KEY, key.as_ref());
        }
        self
    }

    /// Cancels the request if it is not answered in time; the code is `REQUEST_TIMEOUT` then.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    async fn answered(self) -> Result<A> {
        let asking = ask(&self.client, self.event?);
        let Some(patience) = self.timeout else {
            return asking.await;
        };
        let waited = tokio::time::timeout(patience, asking).await;
        waited.unwrap_or_else(|_| {
            let message = format!("no answer within {patience:?}");
            Err(Error::new(Code::RequestTimeout, message))
        })
    }
}

async fn ask<A: Answer>(client: &Client, event: CloudEvent) -> Result<A> {
    let mut answer = client.ask(event).await?;
    // A request that is answered by a stream has its first event as the answer.
    match answer.next().await {
        Some(event) => A::read(&successful(event?)?),
        None => Err(Error::new(Code::ServerError, "the answer is empty")),
    }
}

impl<A: Answer> IntoFuture for Request<A> {
    type Output = Result<A>;
    type IntoFuture = BoxFuture<'static, Result<A>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.answered())
    }
}

impl<A> fmt::Debug for Request<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let event_type = self.event.as_ref().map(|event| event.r#type.as_str());
        f.debug_tuple("Request").field(&event_type).finish()
    }
}

/// The event, if it does not report a failure.
fn successful(event: CloudEvent) -> Result<Event> {
    Error::in_answer(event.text()?)?;
    Ok(Event {
        event_type: event.r#type.clone(),
        data: event.into_json()?,
    })
}

/// The items of a streamed answer, as they arrive. The request is sent when the first one is asked
/// for, and cancelled when this is dropped before the last one.
///
/// It is a [`Stream`], and has [`next`](Self::next) and [`all`](Self::all) for those who do not
/// need more.
#[must_use = "a request is sent when its first item is asked for"]
pub struct Answers<T> {
    items: BoxStream<'static, Result<T>>,
    has_ended: bool,
}

impl<T: Send + 'static> Answers<T> {
    pub(crate) fn new(items: impl Stream<Item = Result<T>> + Send + 'static) -> Self {
        Self {
            items: items.boxed(),
            has_ended: false,
        }
    }

    /// The answer that the opened stream of events is.
    pub(crate) fn opened<S>(opening: impl Future<Output = Result<S>> + Send + 'static) -> Self
    where
        S: Stream<Item = Result<CloudEvent>> + Send + 'static,
        T: Answer,
    {
        let events = futures_util::stream::once(opening).try_flatten();
        let read = events.map(|event| {
            let event = successful(event?)?;
            let is_end = event.event_type == kind::STREAM_END;
            if is_end {
                Ok(None)
            } else {
                T::read(&event).map(Some)
            }
        });
        let is_more =
            |item: &Result<Option<T>>| futures_util::future::ready(!matches!(item, Ok(None)));
        Self::new(
            read.take_while(is_more)
                .filter_map(async |item| item.transpose()),
        )
    }

    /// The next item; nothing after the last one, and after a failure.
    pub async fn next(&mut self) -> Option<Result<T>> {
        std::future::poll_fn(|context| Pin::new(&mut *self).poll_next(context)).await
    }

    /// All items.
    pub async fn all(mut self) -> Result<Vec<T>> {
        let mut items = Vec::new();
        while let Some(item) = self.next().await {
            items.push(item?);
        }
        Ok(items)
    }
}

impl<T> Stream for Answers<T> {
    type Item = Result<T>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<T>>> {
        if self.has_ended {
            return Poll::Ready(None);
        }
        let next = self.items.poll_next_unpin(context);
        if let Poll::Ready(None | Some(Err(_))) = &next {
            self.has_ended = true;
        }
        next
    }
}

impl<T> fmt::Debug for Answers<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Answers")
            .field("has_ended", &self.has_ended)
            .finish_non_exhaustive()
    }
}
