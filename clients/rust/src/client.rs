//! How requests are sent.

use std::{fmt, sync::Arc, time::Duration};

use futures_util::future::Either;
use serde::Serialize;

use crate::{
    Answer, Answers, Code, ConnectOptions, Entities, Error, Event, Json, Models, Request, Result,
    Runs,
    connection::Connection,
    envelope::{TRACE_PARENT, TRACE_STATE},
    generated::{cloudevents::CloudEvent, operations::STREAMED},
    stream::{self, Lane, Stream},
    trace::{self, Trace},
};

/// How long closing waits for outstanding answers.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(10);

/// Sends requests to a server, over one multiplexed stream.
///
/// It has a method for every operation of the server, and short forms of the most common ones:
/// [`entities`](Self::entities), [`models`](Self::models), [`runs`](Self::runs).
///
/// It is cheap to clone, and clones share their connection; any number of tasks may use it at
/// once. When the stream is lost, requests that wait for their answer fail with the code
/// `CONNECTION_LOST`, and the next request opens another one. Nothing is sent twice.
///
/// The client of a [`Call`](crate::Call) sends requests in the transaction of that call.
#[derive(Clone)]
pub struct Client {
    route: Route,
    trace: Option<Arc<Trace>>,
}

#[derive(Clone)]
enum Route {
    /// On the stream that is open when the request is made.
    Connection(Arc<Connection>),
    /// On one stream, and with the token of its lane.
    Stream(Arc<Stream>, Lane),
}

impl Client {
    /// A client of a server, such as `Client::new("localhost:9090")`. It does not connect yet; see
    /// [`connect`](Self::connect). The error has the code `INVALID_OPTIONS`.
    pub fn new(options: impl Into<ConnectOptions>) -> Result<Self> {
        let connection = Connection::new(options.into())?;
        Ok(Self::on_connection(Arc::new(connection)))
    }

    /// A client of a server that can be reached: waits until that is so, for the connect timeout
    /// at most.
    pub async fn connect(options: impl Into<ConnectOptions>) -> Result<Self> {
        let client = Self::new(options)?;
        client.reach().await?;
        Ok(client)
    }

    pub(crate) fn on_connection(connection: Arc<Connection>) -> Self {
        Self {
            route: Route::Connection(connection),
            trace: None,
        }
    }

    pub(crate) fn on_stream(stream: Arc<Stream>, lane: Lane, trace: Arc<Trace>) -> Self {
        Self {
            route: Route::Stream(stream, lane),
            trace: Some(trace),
        }
    }

    /// Waits until the server can be reached, for the connect timeout at most.
    pub async fn reach(&self) -> Result<()> {
        match &self.route {
            Route::Connection(connection) => connection.connect().await,
            Route::Stream(stream, _) => stream.failure().map_or(Ok(()), Err),
        }
    }

    /// Waits for outstanding answers, for 10 s at most, then disconnects; this ends all clones of
    /// the client. The client of a call has no connection of its own, so nothing is done there.
    pub async fn close(&self) {
        if let Route::Connection(connection) = &self.route {
            connection.shut_down(CLOSE_TIMEOUT).await;
        }
    }

    /// The same client, whose requests continue a trace. The texts are those of the headers
    /// `traceparent` and `tracestate` (W3C Trace Context). The clients of calls continue that of
    /// their call. With the feature `opentelemetry` that of the current span has precedence.
    #[must_use]
    pub fn in_trace(&self, parent: impl Into<String>, state: Option<String>) -> Self {
        let parent = Some(parent.into());
        Self {
            route: self.route.clone(),
            trace: Some(Arc::new(Trace { parent, state })),
        }
    }

    /// Creates, reads, changes, finds and follows entities.
    pub fn entities(&self) -> Entities<'_> {
        Entities::new(self)
    }

    /// Imports models and their workflows.
    pub fn models(&self) -> Models<'_> {
        Models::new(self)
    }

    /// Starts and follows runs of step workflows.
    pub fn runs(&self) -> Runs<'_> {
        Runs::new(self)
    }

    /// Sends a request of any type, and reads its one answer. The payload has no `id`; it is
    /// added.
    pub fn call<A: Answer>(
        &self,
        event_type: &str,
        payload: &(impl Serialize + ?Sized),
    ) -> Request<A> {
        Request::new(self.clone(), self.event(event_type, payload))
    }

    /// Sends a request of any type with a streamed answer, and reads its events.
    ///
    /// A client reads each streamed answer on a call of its own: requests that are made meanwhile do
    /// not wait for it. The client of a call, in a transaction, reads it on the stream: once 64 MiB
    /// of answers are unread there, it has to be read within 10 s.
    pub fn stream<A: Answer>(
        &self,
        event_type: &str,
        payload: &(impl Serialize + ?Sized),
    ) -> Answers<A> {
        let (client, event) = (self.clone(), self.event(event_type, payload));
        Answers::opened(async move {
            let event = event?;
            match &client.route {
                // Types that have one event as the answer are not accepted there.
                Route::Connection(connection) if STREAMED.contains(&&*event.r#type) => {
                    connection.answer(event).await.map(Either::Left)
                }
                Route::Connection(_) | Route::Stream(..) => {
                    client.ask(event).await.map(Either::Right)
                }
            }
        })
    }

    /// The same on a call of its own, for an answer that has no end.
    pub fn listen<A: Answer>(
        &self,
        event_type: &str,
        payload: &(impl Serialize + ?Sized),
    ) -> Answers<A> {
        let (route, event) = (self.route.clone(), self.event(event_type, payload));
        Answers::opened(async move {
            match route {
                Route::Connection(connection) => connection.listen(event?).await,
                Route::Stream(..) => Err(Error::new(
                    Code::NotSupported,
                    "an endless answer cannot be part of a transaction; use a client",
                )),
            }
        })
    }

    /// Sends a request of any type with a streamed answer, and reads its events with their types.
    pub fn events(&self, event_type: &str, payload: &(impl Serialize + ?Sized)) -> Answers<Event> {
        self.stream(event_type, payload)
    }

    fn event(&self, event_type: &str, payload: &(impl Serialize + ?Sized)) -> Result<CloudEvent> {
        let mut event = CloudEvent::of(event_type, &Json::encode(payload)?)?;
        let current = trace::current().map(Arc::new);
        if let Some(trace) = current.as_ref().or(self.trace.as_ref()) {
            for (name, value) in [(TRACE_PARENT, &trace.parent), (TRACE_STATE, &trace.state)] {
                if let Some(value) = value {
                    event.set_attribute(name, value);
                }
            }
        }
        Ok(event)
    }

    pub(crate) async fn ask(&self, event: CloudEvent) -> Result<stream::Answer> {
        match &self.route {
            Route::Connection(connection) => {
                let stream = connection.stream_soon().await?;
                let lane = stream.lane.clone();
                stream.ask(lane, event).await
            }
            Route::Stream(stream, lane) => Arc::clone(stream).ask(lane.clone(), event).await,
        }
    }

    /// Waits before something is tried again.
    pub(crate) async fn pause(&self, delay: Duration) -> Result<()> {
        match &self.route {
            Route::Connection(connection) => connection.pause(delay).await,
            // When a stream is lost, so are its transactions.
            Route::Stream(stream, _) => Err(stream.lost().or_lost()),
        }
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let target = match &self.route {
            Route::Connection(connection) => connection.target(),
            Route::Stream(..) => "a transaction",
        };
        f.debug_tuple("Client").field(&target).finish()
    }
}
