//! Connections: accepted, counted, served and ended.
//!
//! Every port is served here: a connection has a place in a [`Registry`], and a task that ends it
//! when it is idle, sends half a request, or does not read its answer. `axum::serve` and the server
//! of tonic have none of these limits, so the accept loop is ours and the protocols are hyper's.

mod activity;
mod answer;
mod received;
mod registry;
mod resources;
mod settings;
mod socket;

use std::{convert::Infallible, net::IpAddr, pin::pin, sync::Arc, time::Duration};

use http::{Request, Response};
use http_body::Body;
use hyper::{
    body::Bytes,
    server::conn::{http1, http2},
    service::service_fn,
};
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    server::graceful::GracefulConnection,
};
use tokio::time::{Instant, sleep_until};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use tracing::debug;

use super::incoming::Incoming;
use crate::operation::Hold;
use crate::telemetry::measure::Closed;

pub use settings::{Connections, Times};

pub(super) use activity::{Head, Open, UNKNOWN_MAX};
pub(super) use received::{Received, Within};
pub(super) use registry::{Caps, ConnectionSlot, Registry};
pub(super) use resources::{file_limit, memory_limit};
pub(super) use settings::settings;

use activity::{Due, Order};
use answer::{Answer, Streams};
use socket::Tracked;

/// How long a connection may take to close gracefully.
const GOODBYE: Duration = Duration::from_secs(1);

/// The largest head of an HTTP/1.1 request, in bytes; also what one read takes at most. Heads are in
/// no budget, so this is what each connection of an unknown client takes.
const HEAD_MAX: usize = 32 << 10;

/// How often a silent HTTP/2 connection is pinged, and how long the answer may take. Streams that
/// are not members' are watched this way (`stream.md` §2).
const PING_INTERVAL: Duration = Duration::from_secs(20);
const PING_TIMEOUT: Duration = Duration::from_secs(20);

/// How many calls one connection may have open.
const CONCURRENT_STREAMS: u32 = 1_024;

/// The flow-control window of a connection: enough for many calls in flight.
const CONNECTION_WINDOW: u32 = 4 << 20;
const STREAM_WINDOW: u32 = 1 << 20;

/// The protocol of a port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Speaks {
    Http1,
    Http2,
}

/// Marks the requests of a connection that was accepted after the server had begun to stop.
#[derive(Debug, Clone, Copy)]
struct Late;

/// Whether a request is on a connection that was accepted after the server had begun to stop.
pub(super) fn is_late<B>(request: &Request<B>) -> bool {
    request.extensions().get::<Late>().is_some()
}

/// Until when connections are accepted.
#[derive(Debug, Clone)]
pub(super) struct Stop {
    /// From now on those that are open finish, and requests of others are late.
    pub(super) begins: CancellationToken,
    /// No more are accepted.
    pub(super) closes: CancellationToken,
}

/// Serves every connection of a listener until it closes, then until the open requests have ended.
pub(super) async fn serve<S, F, B>(
    mut incoming: Incoming,
    speaks: Speaks,
    times: Times,
    stop: Stop,
    service: S,
) where
    S: Fn(Request<hyper::body::Incoming>, IpAddr, &mut Open) -> F + Clone + Send + Sync + 'static,
    F: Future<Output = Response<B>> + Send + 'static,
    B: Body<Data = Bytes> + Unpin + Send + 'static,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>> + Send,
{
    let open = TaskTracker::new();
    let mut stops = false;
    loop {
        let (socket, place) = tokio::select! {
            biased;
            () = stop.closes.cancelled() => break,
            () = stop.begins.cancelled(), if !stops => {
                stops = true;
                incoming.finish();
                continue;
            }
            next = incoming.next() => next,
        };
        let (activity, address) = (place.activity(), place.address());
        let socket = TokioIo::new(Tracked::new(socket, activity.clone(), times.write));
        let service = service.clone();
        let service = service_fn(move |mut request: Request<_>| {
            if stops {
                request.extensions_mut().insert(Late);
            }
            let mut request_open = activity.begin();
            let answered = service(request, address, &mut request_open);
            async move {
                let mut response = answered.await;
                let unread = response.extensions_mut().remove::<Arc<Hold>>();
                Ok::<_, Infallible>(response.map(|body| Answer::new(body, request_open, unread)))
            }
        });
        match speaks {
            Speaks::Http1 => {
                let connection = http1::Builder::new()
                    .max_buf_size(HEAD_MAX)
                    .serve_connection(socket, service);
                open.spawn(drive(connection, place, times));
            }
            Speaks::Http2 => {
                let connection = http2::Builder::new(Streams { stall: times.write })
                    .timer(TokioTimer::new())
                    .initial_connection_window_size(CONNECTION_WINDOW)
                    .initial_stream_window_size(STREAM_WINDOW)
                    .max_concurrent_streams(CONCURRENT_STREAMS)
                    .keep_alive_interval(PING_INTERVAL)
                    .keep_alive_timeout(PING_TIMEOUT)
                    .serve_connection(socket, service);
                open.spawn(drive(connection, place, times));
            }
        }
    }
    incoming.finish();
    // The port is free for another process while open requests finish.
    drop(incoming);
    open.close();
    open.wait().await;
}

/// Serves one connection until it ends, exceeds a time limit, or loses its place.
async fn drive<C>(connection: C, place: ConnectionSlot, times: Times)
where
    C: GracefulConnection<Error = hyper::Error>,
{
    let activity = place.activity();
    let mut connection = pin!(connection);
    let mut clock = pin!(sleep_until(activity.next_look(&times, Instant::now())));
    let (mut known, mut is_due) = (Order::Serve, false);
    loop {
        tokio::select! {
            biased;
            ended = connection.as_mut() => {
                if let Err(error) = ended {
                    debug!(%error, "a connection ended");
                }
                return;
            }
            order = activity.ordered(known) => {
                if order == Order::End {
                    return;
                }
                known = order;
                connection.as_mut().graceful_shutdown();
            }
            () = clock.as_mut() => {
                let now = Instant::now();
                match activity.due(&times, now) {
                    Due::Later => clock.as_mut().reset(activity.next_look(&times, now)),
                    Due::Now(_) if is_due => return,
                    Due::Now(why) => {
                        is_due = true;
                        Closed::count(why);
                        connection.as_mut().graceful_shutdown();
                        clock.as_mut().reset(now + GOODBYE);
                    }
                }
            }
        }
    }
}
