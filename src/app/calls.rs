//! Applies to every gRPC call: its deadline, the minimum rate of its body, the message of a limit,
//! and, for calls of unknown callers, their number and their end.

use std::{
    net::IpAddr,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
    time::Duration,
};

use bytes::Bytes;
use futures_util::{StreamExt as _, future::BoxFuture};
use http::{HeaderMap, HeaderValue, Request, Response, StatusCode, header};
use http_body::Frame;
use http_body_util::{BodyStream, StreamBody};
use hyper::body::Incoming;
use tokio_util::sync::{CancellationToken, DropGuard, WaitForCancellationFutureOwned};
use tonic::{Status, TimeoutExpired, body::Body, service::Routes};
use tower::Service as _;

use super::connections::{self, Open, Received, Times, UNKNOWN_MAX, Within};
use crate::auth::Peer;
use crate::error::Failure;
use crate::grpc;

/// The paths of the methods whose messages may come at any time.
const STREAMS: [&str; 2] = ["/startStreaming", PEERS];

/// The method of other nodes. The first message, which is small, identifies the caller.
const PEERS: &str = "/interlock.peer.v1.Peers/link";

/// The maximum size of that message in bytes.
const GREETING_MAX: usize = 64 << 10;

/// The beginning of the paths of all event methods; their callers are authenticated before the body
/// is read.
const EVENTS: &str = "/org.cyoda.cloud.api.grpc.CloudEventsService/";

/// The beginning of the content types of gRPC. A page of another origin can send requests with other
/// types without the browser asking whether it may.
const CONTENT_TYPE: &str = "application/grpc";

/// The header with the deadline that a client sets.
const DEADLINE: &str = "grpc-timeout";

/// How calls are served.
pub(super) struct Calls {
    pub(super) routes: Routes,
    pub(super) times: Times,
    /// Authenticates callers.
    pub(super) admission: grpc::Service,
    /// Ends the calls of unknown callers.
    pub(super) stopping: CancellationToken,
}

impl Calls {
    /// Answers a call. Boxed: the task of a stream is moved several times before it runs.
    pub(super) fn answer(
        self: Arc<Self>,
        request: Request<Incoming>,
        address: IpAddr,
        open: &mut Open,
    ) -> BoxFuture<'static, Response<Body>> {
        let path = request.uri().path();
        if !is_grpc(request.headers()) {
            return Box::pin(async {
                let mut refused = Response::new(Body::empty());
                *refused.status_mut() = StatusCode::UNSUPPORTED_MEDIA_TYPE;
                refused
            });
        }
        if path.starts_with(EVENTS) || path == PEERS {
            if connections::is_late(&request) && !grpc::is_joined(request.headers()) {
                return Box::pin(async { grpc::stopping().into_http() });
            }
            return Box::pin(self.serve(request, address));
        }
        if open.count_as_unknown() {
            return Box::pin(self.serve_unknown(request));
        }
        Box::pin(async {
            let refused = Status::resource_exhausted(format!(
                "a connection may have {UNKNOWN_MAX} open calls of health and reflection"
            ));
            refused.into_http()
        })
    }

    async fn serve(
        self: Arc<Self>,
        mut request: Request<Incoming>,
        address: IpAddr,
    ) -> Response<Body> {
        let path = request.uri().path();
        let (is_stream, is_event) = (
            STREAMS.iter().any(|stream| path.ends_with(stream)),
            path.starts_with(EVENTS),
        );
        let greeting_max = (path == PEERS).then_some(GREETING_MAX);
        if greeting_max.is_some() {
            request.extensions_mut().insert(Peer::of(address));
        }
        let mut hold = None;
        if is_event {
            match self.admission.admit(request.headers()).await {
                Ok(admitted) => {
                    hold = Some(Arc::clone(&admitted.1));
                    request.extensions_mut().insert(admitted);
                }
                Err(status) => return status.into_http(),
            }
        }
        let within = if is_stream {
            Within::Message
        } else {
            Within::Body
        };
        let deadline = deadline(request.headers());
        let request = request.map(|body| {
            Received::new(body, self.times, within, too_slow)
                .counted(hold, no_room)
                .inflates(self.admission.message_max)
                .begins_within(greeting_max, greeting_too_large)
        });
        self.answered(request, deadline).await
    }

    /// Serves a call to a method that asks for no token.
    async fn serve_unknown(self: Arc<Self>, request: Request<Incoming>) -> Response<Body> {
        let deadline = deadline(request.headers());
        let over = CancellationToken::new();
        let request = request.map(|body| {
            let body = Received::new(body, self.times, Within::Body, too_slow);
            // A service that still reads the request would keep the call open.
            StreamBody::new(BodyStream::new(body).take_until(over.clone().cancelled_owned()))
        });
        let response = self.answered(request, deadline).await;
        response.map(|body| {
            Body::new(UntilStopped {
                body,
                stopping: Box::pin(self.stopping.clone().cancelled_owned()),
                _over: over.drop_guard(),
            })
        })
    }

    async fn answered<B>(&self, request: Request<B>, deadline: Option<Duration>) -> Response<Body>
    where
        B: http_body::Body<Data = Bytes> + Send + 'static,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let mut routes = self.routes.clone();
        let answering = routes.call(request);
        let answered = match deadline {
            None => answering.await,
            Some(deadline) => match tokio::time::timeout(deadline, answering).await {
                Ok(answered) => answered,
                Err(_) => return Status::from_error(Box::new(TimeoutExpired(()))).into_http(),
            },
        };
        match answered {
            Ok(mut response) => {
                name_limit(response.headers_mut(), self.admission.message_max);
                response
            }
            Err(never) => match never {},
        }
    }
}

fn is_grpc(headers: &HeaderMap) -> bool {
    let given = headers.get(header::CONTENT_TYPE);
    given.is_some_and(|given| given.as_bytes().starts_with(CONTENT_TYPE.as_bytes()))
}

/// The body of an answer that ends, with a status, when the service stops.
struct UntilStopped {
    body: Body,
    stopping: Pin<Box<WaitForCancellationFutureOwned>>,
    /// Ends the body of the request.
    _over: DropGuard,
}

impl http_body::Body for UntilStopped {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        let this = self.get_mut();
        // What is ready comes first: a watch of the health reports the stop before it ends.
        let polled = Pin::new(&mut this.body).poll_frame(cx);
        if polled.is_ready() {
            return polled;
        }
        ready!(this.stopping.as_mut().poll(cx));
        // Trailers are the end: nothing is asked for after them.
        let mut trailers = HeaderMap::new();
        let stopping = Status::unavailable("the server is stopping; connect again");
        let added = stopping.add_header(&mut trailers);
        Poll::Ready(Some(added.map(|()| Frame::trailers(trailers))))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }
}

fn no_room(failure: &Failure) -> Box<dyn std::error::Error + Send + Sync> {
    Box::new(grpc::no_room(failure))
}

fn greeting_too_large() -> Box<dyn std::error::Error + Send + Sync> {
    Box::new(Status::resource_exhausted(format!(
        "the first message of a node is larger than {GREETING_MAX} bytes"
    )))
}

fn too_slow(times: &Times) -> Box<dyn std::error::Error + Send + Sync> {
    Box::new(Status::deadline_exceeded(format!(
        "the message came too slowly: the server waits {:?} for it (INTERLOCK_BODY_TIMEOUT), and longer at {} bytes per second (INTERLOCK_BODY_MIN_BYTES_PER_SECOND)",
        times.body, times.bytes_per_second
    )))
}

/// The deadline that a client sets: up to eight digits and a unit.
fn deadline(headers: &HeaderMap) -> Option<Duration> {
    let text = headers.get(DEADLINE)?.to_str().ok()?;
    let (count, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
    if count.len() > 8 {
        return None;
    }
    let count = count.parse().ok()?;
    match unit {
        "H" => Some(Duration::from_hours(count)),
        "M" => Some(Duration::from_mins(count)),
        "S" => Some(Duration::from_secs(count)),
        "m" => Some(Duration::from_millis(count)),
        "u" => Some(Duration::from_micros(count)),
        "n" => Some(Duration::from_nanos(count)),
        _ => None,
    }
}

/// Gives a message over the limit the documented status and a text that names the setting, instead
/// of the library's "out of range".
fn name_limit(headers: &mut HeaderMap, limit: usize) {
    const STATUS: &str = "grpc-status";
    const MESSAGE: &str = "grpc-message";
    let out_of_range = tonic::Code::OutOfRange as i32;
    if headers.get(STATUS).and_then(|status| status.to_str().ok())
        == Some(out_of_range.to_string().as_str())
    {
        headers.insert(
            STATUS,
            HeaderValue::from(tonic::Code::ResourceExhausted as i32),
        );
        let message = grpc::message_too_large(limit).replace(' ', "%20");
        if let Ok(message) = message.parse() {
            headers.insert(MESSAGE, message);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_deadline_is_read_in_every_unit() {
        for (text, expected) in [
            ("2H", Some(Duration::from_hours(2))),
            ("3M", Some(Duration::from_mins(3))),
            ("10S", Some(Duration::from_secs(10))),
            ("99999999m", Some(Duration::from_millis(99_999_999))),
            ("5u", Some(Duration::from_micros(5))),
            ("0n", Some(Duration::ZERO)),
            ("100000000m", None),
            ("5", None),
            ("S", None),
            ("", None),
            ("-1S", None),
            ("5s", None),
        ] {
            let value = text.parse().expect("a header");
            let headers = HeaderMap::from_iter([(DEADLINE.parse().expect("a name"), value)]);
            assert_eq!(deadline(&headers), expected, "{text}");
        }
    }
}
