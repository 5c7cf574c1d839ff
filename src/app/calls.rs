//! Applies to every gRPC call: its deadline, the minimum rate of its body, and the message of a
//! limit.

use std::{net::IpAddr, sync::Arc, time::Duration};

use http::{HeaderMap, HeaderValue, Request, Response};
use hyper::body::Incoming;
use tonic::{Status, TimeoutExpired, body::Body, service::Routes};
use tower::Service as _;

use super::connections::{Received, Times, Within};
use crate::auth::Peer;
use crate::error::Failure;
use crate::grpc;

/// The paths of the methods whose messages may come at any time.
const STREAMS: [&str; 2] = ["/startStreaming", PEERS];

/// The method of other nodes. Who calls it is known by the first message, which is small.
const PEERS: &str = "/interlock.peer.v1.Peers/link";

/// The maximum size of that message in bytes.
const GREETING_MAX: usize = 64 << 10;

/// The beginning of the paths of all event methods; their callers are authenticated before the body
/// is read.
const EVENTS: &str = "/org.cyoda.cloud.api.grpc.CloudEventsService/";

/// The header with the deadline that a client sets.
const DEADLINE: &str = "grpc-timeout";

/// How calls are served.
pub(super) struct Calls {
    pub(super) routes: Routes,
    pub(super) times: Times,
    /// Authenticates callers.
    pub(super) admission: grpc::Service,
}

impl Calls {
    pub(super) async fn serve(
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

fn no_room(failure: &Failure) -> Box<dyn std::error::Error + Send + Sync> {
    Box::new(Status::resource_exhausted(failure.to_string()))
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
