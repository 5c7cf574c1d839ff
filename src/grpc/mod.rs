//! The gRPC service: bytes in, bytes out.
//!
//! May use: [`crate::id`], [`crate::error`], [`crate::entity`], [`crate::callout`],
//! [`crate::auth`], [`crate::compute`], [`crate::event`], [`crate::operation`].
//! Domain errors are in-band, with status `OK`; statuses are for the transport and for requests
//! that could not be read (`grpc.md` §14).

mod member;
mod method;
mod stream;

use std::{sync::Arc, time::Duration};

use http::HeaderMap;
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use tonic::{Request, Response, Status, Streaming};

use crate::auth::{Authenticator, Login};
use crate::compute::Members;
use crate::error::Failure;
use crate::event::{frame::Frame, proto::service::cloud_events_service_server::CloudEventsService};
use crate::operation::{Family, Hold, Services};

use method::Method;

pub use stream::Outbound;

/// The metadata that joins a call to an open transaction (`grpc.md` §10).
const TOKEN_METADATA: &str = "tx-token";

/// What applies to streams (`stream.md` §6, `config-and-cli.md` §2.6).
#[derive(Debug, Clone, Copy)]
pub struct StreamSettings {
    /// How many requests of one stream are in work at once.
    pub in_flight_max: usize,
    /// How many more may wait.
    pub queued_max: usize,
    /// How long a reader may leave the queue of answers as it is.
    pub send_timeout: Duration,
    /// How often members are probed.
    pub keep_alive_interval: Duration,
    /// How long a member may be silent.
    pub keep_alive_timeout: Duration,
}

impl StreamSettings {
    /// How many of the requests in work may be such as have an answer without an end: half, so
    /// that the others are served whatever is subscribed to.
    const fn live_max(&self) -> usize {
        self.in_flight_max / 2
    }
}

/// The service.
#[derive(Debug, Clone)]
pub struct Service {
    pub services: Services,
    pub members: Members,
    pub authenticator: Authenticator,
    pub streams: StreamSettings,
    /// The largest message that is taken, in bytes; for what is said of larger ones.
    pub message_max: usize,
    /// Ends streams once what is in work is answered.
    pub stop: CancellationToken,
    /// Everything that is spawned.
    pub tasks: TaskTracker,
}

impl Service {
    /// Says who calls, before anything of the call is read, and what its bytes are counted in.
    pub async fn admit(&self, headers: &HeaderMap) -> Result<(Login, Arc<Hold>), Status> {
        let login = self.authenticator.login(headers).await;
        let login = login.map_err(|_| Status::unauthenticated("authentication failed"))?;
        let hold = self.services.receiving.hold(&login.caller.tenant);
        Ok((login, Arc::new(hold)))
    }

    /// Takes what [`Self::admit`] has found out about a call.
    fn admitted<T>(request: &mut Request<T>) -> Result<(Login, Arc<Hold>), Status> {
        let admitted = request.extensions_mut().remove::<(Login, Arc<Hold>)>();
        admitted.ok_or_else(|| Status::internal("the call was not admitted"))
    }
}

/// What is said of a message over the limit.
pub fn message_too_large(limit: usize) -> String {
    format!(
        "the message is larger than {limit} bytes; the server's limit is INTERLOCK_GRPC_MAX_MESSAGE_BYTES"
    )
}

/// The status of a request that could not be read.
fn invalid(failure: &Failure) -> Status {
    Status::invalid_argument(failure.message())
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
        Ok(Response::new(stream::start(
            self.clone(),
            login,
            hold.another(),
            request.into_inner(),
        )))
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
