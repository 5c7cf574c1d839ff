//! The gRPC service: bytes in, bytes out.
//!
//! May use: [`crate::id`], [`crate::error`], [`crate::entity`], [`crate::dispatch`],
//! [`crate::auth`], [`crate::cluster`], [`crate::compute`], [`crate::event`], [`crate::operation`], [`crate::text`].
//! Domain errors are in-band, with status `OK`; statuses are for the transport and for requests
//! that could not be read (`grpc.md` §14).

mod member;
mod method;
mod peer;
mod stream;
mod task;

use std::{borrow::Cow, sync::Arc, time::Duration};

use http::{HeaderMap, header};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use tonic::{Request, Response, Status, Streaming, metadata::MetadataValue};

use crate::auth::{Authenticator, Login};
use crate::compute::{Members, tasks::Channels};
use crate::error::Failure;
use crate::event::{frame::Frame, proto::service::cloud_events_service_server::CloudEventsService};
use crate::operation::{self, Family, Hold, Services};
use crate::text;

use method::Method;

pub use peer::{Dialler, PeerService, peer_message_max};
pub use stream::Outbound;

/// The metadata that joins a call to an open transaction (`grpc.md` §10).
const TOKEN_METADATA: &str = "tx-token";

/// The version of this server, with which a stream begins: a client that does not understand it
/// says so.
const VERSION_METADATA: &str = "interlock-version";

/// Settings of streams (`stream.md` §6, `config-and-cli.md` §2.6).
#[derive(Debug, Clone, Copy)]
pub struct StreamSettings {
    /// How many requests of one stream may be in flight.
    pub in_flight_max: usize,
    /// How many more may wait.
    pub queued_max: usize,
    /// How long a client may leave answers unread.
    pub send_timeout: Duration,
    /// How often members are probed.
    pub keep_alive_interval: Duration,
    /// How long a member may be silent.
    pub keep_alive_timeout: Duration,
}

impl StreamSettings {
    /// How many requests in flight may have an endless answer: half, so that others are served
    /// whatever is subscribed to.
    const fn live_max(&self) -> usize {
        self.in_flight_max / 2
    }
}

/// The service.
#[derive(Debug, Clone)]
pub struct Service {
    pub services: Services,
    pub members: Members,
    pub channels: Channels,
    pub authenticator: Authenticator,
    pub streams: StreamSettings,
    /// The maximum size of a message in bytes, for error messages.
    pub message_max: usize,
    /// Ends streams once the requests in flight are answered.
    pub stop: CancellationToken,
    /// All spawned tasks.
    pub tasks: TaskTracker,
}

impl Service {
    /// Authenticates the caller before the call's body is read, and returns the budget for its
    /// bytes.
    pub async fn admit(&self, headers: &HeaderMap) -> Result<(Login, Arc<Hold>), Status> {
        let storage = self.services.runtime.storage();
        operation::refresh(storage, &self.authenticator)
            .await
            .map_err(|failure| Status::unavailable(failure.to_string()))?;
        let login = self.authenticator.login(&first_authorized(headers)).await;
        let login = login.map_err(|_| Status::unauthenticated("authentication failed"))?;
        let hold = self.services.receiving.hold(&login.caller.tenant);
        Ok((login, Arc::new(hold)))
    }

    /// Takes the result of [`Self::admit`] for a call.
    fn admitted<T>(request: &mut Request<T>) -> Result<(Login, Arc<Hold>), Status> {
        let admitted = request.extensions_mut().remove::<(Login, Arc<Hold>)>();
        admitted.ok_or_else(|| Status::internal("the call was not admitted"))
    }
}

/// The metadata with the first value of `authorization` alone: it is the one that counts
/// (`grpc.md` §4). Credentials of a channel and an interceptor may both add one.
fn first_authorized(headers: &HeaderMap) -> Cow<'_, HeaderMap> {
    let mut given = headers.get_all(header::AUTHORIZATION).iter();
    let (Some(first), Some(_)) = (given.next(), given.next()) else {
        return Cow::Borrowed(headers);
    };
    let mut one = headers.clone();
    one.insert(header::AUTHORIZATION, first.clone());
    Cow::Owned(one)
}

/// Whether a call joins an open transaction.
pub fn is_joined(headers: &HeaderMap) -> bool {
    headers.contains_key(TOKEN_METADATA)
}

/// The status of a stream or call that the server does not serve because it stops.
pub fn stopping() -> Status {
    Status::unavailable("the server is stopping; connect again")
}

/// The error of a message over the limit.
pub fn message_too_large(limit: usize) -> String {
    format!(
        "the message is larger than {limit} bytes; the server's limit is INTERLOCK_GRPC_MAX_MESSAGE_BYTES"
    )
}

/// The status of a request for whose bytes, or those of its answer, there is no room.
pub fn no_room(failure: &Failure) -> Status {
    Status::resource_exhausted(failure.to_string())
}

/// The maximum size of the message of a status in bytes. It is in a header, where a character takes
/// up to three times its bytes, and clients refuse more than 8 KiB of headers.
const STATUS_BYTES_MAX: usize = 2 << 10;

/// The status of a request that could not be read. Its message may repeat what was sent.
fn invalid(failure: &Failure) -> Status {
    Status::invalid_argument(text::start(failure.message(), STATUS_BYTES_MAX))
}

/// A response that says the version of this server, so that clients of another one refuse it.
fn with_version<T>(answer: T) -> Response<T> {
    let mut response = Response::new(answer);
    let version = MetadataValue::from_static(env!("CARGO_PKG_VERSION"));
    response.metadata_mut().insert(VERSION_METADATA, version);
    response
}

#[tonic::async_trait]
impl CloudEventsService for Service {
    type startStreamingStream = Outbound;
    type entityManageCollectionStream = method::Answered;
    type entitySearchCollectionStream = method::Answered;

    async fn start_streaming(
        &self,
        mut request: Request<Streaming<Frame>>,
    ) -> Result<Response<Outbound>, Status> {
        let (login, hold) = Self::admitted(&mut request)?;
        let answers = stream::start(self.clone(), login, hold.another(), request.into_inner());
        Ok(with_version(answers))
    }

    async fn entity_model_manage(
        &self,
        request: Request<Frame>,
    ) -> Result<Response<Frame>, Status> {
        Method::unary(Family::Model).answer_one(self, request).await
    }

    async fn entity_manage(&self, request: Request<Frame>) -> Result<Response<Frame>, Status> {
        Method::unary(Family::Entity)
            .answer_one(self, request)
            .await
    }

    async fn entity_manage_collection(
        &self,
        request: Request<Frame>,
    ) -> Result<Response<method::Answered>, Status> {
        Method::streaming(Family::Entity)
            .answer_many(self, request)
            .await
    }

    async fn entity_search(&self, request: Request<Frame>) -> Result<Response<Frame>, Status> {
        Method::unary(Family::Search)
            .answer_one(self, request)
            .await
    }

    async fn entity_search_collection(
        &self,
        request: Request<Frame>,
    ) -> Result<Response<method::Answered>, Status> {
        Method::streaming(Family::Search)
            .answer_many(self, request)
            .await
    }
}
