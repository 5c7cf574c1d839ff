//! The three listeners, and what is served on them.

use std::{
    net::{Ipv4Addr, Ipv6Addr, SocketAddr},
    time::Duration,
};

use axum::Router;
use http::{HeaderMap, HeaderValue};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tonic::transport::Server;
use tower::ServiceBuilder;

use super::{
    Error,
    incoming::Incoming,
    tls::{Protocol, Tls},
};
use crate::auth::Peer;
use crate::event::proto::{
    DESCRIPTORS, service::cloud_events_service_server::CloudEventsServiceServer,
};
use crate::grpc;
use crate::storage::Storage;

/// Where to listen.
#[derive(Debug, Clone)]
pub struct Addresses {
    pub http: SocketAddr,
    pub grpc: SocketAddr,
    pub admin: SocketAddr,
}

/// How often a connection that is silent is asked whether it lives, and how long it may take to
/// say so. Streams that are no members' are watched this way (`stream.md` §2).
const PING_INTERVAL: Duration = Duration::from_secs(20);
const PING_TIMEOUT: Duration = Duration::from_secs(20);

/// How many calls one connection may have open.
const CONCURRENT_STREAMS: u32 = 1_024;

/// What a connection may send before it is read: enough for many calls in flight.
const CONNECTION_WINDOW: u32 = 4 << 20;
const STREAM_WINDOW: u32 = 1 << 20;

pub(super) struct Listeners {
    http: Incoming,
    grpc: Incoming,
    /// Never over TLS: it is for this machine, where no certificate has a name.
    admin: TcpListener,
}

impl Listeners {
    pub(super) async fn bind(addresses: &Addresses, tls: Option<&Tls>) -> Result<Self, Error> {
        let incoming = |listener, protocol| match tls {
            Some(tls) => Incoming::over_tls(listener, tls.spoken(), protocol),
            None => Incoming::plain(listener),
        };
        let grpc = bind("gRPC", addresses.grpc, "CYODA_GRPC_PORT").await?;
        let http = bind("REST", addresses.http, "CYODA_HTTP_PORT").await?;
        Ok(Self {
            grpc: incoming(grpc, Protocol::Http2),
            http: incoming(http, Protocol::Http1),
            admin: bind("operators", addresses.admin, "CYODA_ADMIN_PORT").await?,
        })
    }

    pub(super) fn http_address(&self) -> String {
        address(self.http.local_addr())
    }

    pub(super) fn grpc_address(&self) -> String {
        address(self.grpc.local_addr())
    }

    pub(super) fn admin_address(&self) -> String {
        address(self.admin.local_addr())
    }
}

fn address(bound: std::io::Result<SocketAddr>) -> String {
    bound.map_or_else(|_| "?".to_owned(), |address| address.to_string())
}

async fn bind(
    what: &'static str,
    address: SocketAddr,
    setting: &'static str,
) -> Result<TcpListener, Error> {
    let bound = match TcpListener::bind(address).await {
        // All interfaces are those of IPv4 alone where there is no IPv6.
        Err(_) if address.ip() == Ipv6Addr::UNSPECIFIED => {
            TcpListener::bind((Ipv4Addr::UNSPECIFIED, address.port())).await
        }
        bound => bound,
    };
    bound.map_err(|source| Error::Listen {
        what,
        address: address.to_string(),
        setting,
        source,
    })
}

/// What is served.
pub(super) struct Serving {
    pub(super) grpc: grpc::Service,
    pub(super) rest: Router,
    pub(super) admin: Router,
    pub(super) storage: Storage,
}

impl Serving {
    /// Serves until `stop`, then until what is in work has ended.
    pub(super) async fn run(
        self,
        listeners: Listeners,
        stop: CancellationToken,
    ) -> Result<(), Error> {
        let stopped = || {
            let stop = stop.clone();
            async move { stop.cancelled().await }
        };
        let (reporter, health) = tonic_health::server::health_reporter();
        let watch = report_health(reporter, self.storage, stop.clone());
        let limit = self.grpc.message_max;
        let service = CloudEventsServiceServer::new(self.grpc)
            .max_decoding_message_size(limit)
            .max_encoding_message_size(usize::MAX)
            .accept_compressed(tonic::codec::CompressionEncoding::Gzip);
        let reflection = || {
            tonic_reflection::server::Builder::configure()
                .register_encoded_file_descriptor_set(DESCRIPTORS)
                .register_encoded_file_descriptor_set(tonic_health::pb::FILE_DESCRIPTOR_SET)
        };
        let limited = ServiceBuilder::new().map_response(
            move |mut response: http::Response<tonic::body::Body>| {
                name_limit(response.headers_mut(), limit);
                response
            },
        );
        let grpc = Server::builder()
            .http2_keepalive_interval(Some(PING_INTERVAL))
            .http2_keepalive_timeout(Some(PING_TIMEOUT))
            .max_concurrent_streams(CONCURRENT_STREAMS)
            .initial_connection_window_size(CONNECTION_WINDOW)
            .initial_stream_window_size(STREAM_WINDOW)
            .layer(limited)
            .add_service(service)
            .add_service(health)
            .add_service(reflection().build_v1()?)
            .add_service(reflection().build_v1alpha()?)
            .serve_with_incoming_shutdown(listeners.grpc.stream(), stopped());
        let rest = self.rest.into_make_service_with_connect_info::<Peer>();
        let http = axum::serve(listeners.http, rest).with_graceful_shutdown(stopped());
        let admin = axum::serve(listeners.admin, self.admin).with_graceful_shutdown(stopped());
        let (grpc, http, admin, ()) =
            tokio::join!(grpc, async { http.await }, async { admin.await }, watch);
        grpc?;
        http?;
        admin?;
        Ok(())
    }
}

/// Keeps `grpc.health.v1` true to the storage.
async fn report_health(
    reporter: tonic_health::server::HealthReporter,
    storage: Storage,
    stop: CancellationToken,
) {
    const INTERVAL: Duration = Duration::from_secs(1);
    type Service = CloudEventsServiceServer<grpc::Service>;
    loop {
        if storage.is_well() {
            reporter.set_serving::<Service>().await;
        } else {
            reporter.set_not_serving::<Service>().await;
        }
        tokio::select! {
            () = tokio::time::sleep(INTERVAL) => {}
            () = stop.cancelled() => return reporter.set_not_serving::<Service>().await,
        }
    }
}

/// A message over the limit has the documented status, and is told which setting that is: the
/// library says out of range, which we never do otherwise.
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

/// Returns the name of the signal that tells the process to stop.
pub(super) async fn signal() -> &'static str {
    use tokio::signal::unix::{SignalKind, signal};
    let Ok(mut terminate) = signal(SignalKind::terminate()) else {
        return std::future::pending().await;
    };
    tokio::select! {
        _ = terminate.recv() => "SIGTERM",
        _ = tokio::signal::ctrl_c() => "SIGINT",
    }
}
