//! The three listeners, and what is served on them.

use std::{
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    sync::Arc,
    time::Duration,
};

use axum::{Router, extract::ConnectInfo};
use futures_util::future::BoxFuture;
use http::{Request, Response};
use hyper::body::Incoming as Body;
use tokio::{net::TcpListener, sync::oneshot};
use tokio_util::sync::CancellationToken;
use tonic::{server::NamedService as _, service::Routes};
use tonic_health::ServingStatus;
use tower::Service as _;

use super::{
    Error,
    calls::Calls,
    connections::{self, Caps, Head, Open, Received, Registry, Speaks, Stop, Times, Within},
    incoming::{Incoming, Places},
    tls::{Protocol, Tls},
};
use crate::auth::Peer;
use crate::event::proto::{
    DESCRIPTORS, peers::peers_server::PeersServer,
    service::cloud_events_service_server::CloudEventsServiceServer,
};
use crate::grpc;
use crate::rest::{self, BodyTooSlow};
use crate::storage::Storage;
use crate::telemetry::measure::Port;

/// Where to listen.
#[derive(Debug, Clone)]
pub struct Addresses {
    pub http: SocketAddr,
    pub grpc: SocketAddr,
    pub admin: SocketAddr,
}

impl Addresses {
    /// Where programs of this machine reach a listener.
    pub const fn from_here(listener: SocketAddr) -> SocketAddr {
        if listener.ip().is_unspecified() {
            SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), listener.port())
        } else {
            listener
        }
    }
}

/// The settings of addresses.
const PUBLIC: &str = "INTERLOCK_BIND_ADDRESS";
const ADMIN: &str = "CYODA_ADMIN_BIND_ADDRESS";

/// How many connections the admin port accepts, beside those of the other ports.
const ADMIN_CONNECTIONS: usize = 64;

pub(super) struct Listeners {
    http: Incoming,
    grpc: Incoming,
    /// Never with TLS: it is for this machine, for which no certificate has a name. It has its own
    /// runtime.
    admin: std::net::TcpListener,
    http_address: SocketAddr,
    grpc_address: SocketAddr,
    admin_address: SocketAddr,
}

impl Listeners {
    pub(super) async fn bind(
        addresses: &Addresses,
        tls: Option<&Tls>,
        registry: &Registry,
    ) -> Result<Self, Error> {
        let incoming = |listener, places, protocol| match tls {
            Some(tls) => Incoming::over_tls(listener, places, tls.spoken(), protocol),
            None => Incoming::plain(listener, places),
        };
        let places = |port, head| Places {
            registry: registry.clone(),
            port,
            head,
        };
        let grpc = bind("gRPC", addresses.grpc, PUBLIC, "CYODA_GRPC_PORT").await?;
        let http = bind("REST", addresses.http, PUBLIC, "CYODA_HTTP_PORT").await?;
        let admin = bind("operators", addresses.admin, ADMIN, "CYODA_ADMIN_PORT").await?;
        Ok(Self {
            grpc_address: grpc.local_addr()?,
            http_address: http.local_addr()?,
            admin_address: admin.local_addr()?,
            grpc: incoming(grpc, places(Port::Grpc, Head::Preface), Protocol::Http2),
            http: incoming(
                http,
                places(Port::Rest, Head::OfEachRequest),
                Protocol::Http1,
            ),
            admin: admin.into_std()?,
        })
    }

    pub(super) const fn http_address(&self) -> SocketAddr {
        self.http_address
    }

    pub(super) const fn grpc_address(&self) -> SocketAddr {
        self.grpc_address
    }

    pub(super) const fn admin_address(&self) -> SocketAddr {
        self.admin_address
    }
}

async fn bind(
    what: &'static str,
    address: SocketAddr,
    address_setting: &str,
    port_setting: &str,
) -> Result<TcpListener, Error> {
    let bound = match TcpListener::bind(address).await {
        // Without IPv6, all interfaces means those of IPv4.
        Err(_) if address.ip() == Ipv6Addr::UNSPECIFIED => {
            TcpListener::bind((Ipv4Addr::UNSPECIFIED, address.port())).await
        }
        bound => bound,
    };
    bound.map_err(|source| Error::Listen {
        what,
        address: address.to_string(),
        remedy: if source.kind() == std::io::ErrorKind::AddrNotAvailable {
            format!("{address_setting} to an address of this machine")
        } else {
            format!("{port_setting} to a free port")
        },
        source,
    })
}

/// The maximum size in bytes of a message to a method that needs no authentication: its bytes are in
/// nobody's budget.
const PUBLIC_MESSAGE_MAX: usize = 4 << 10;

/// What is served.
pub(super) struct Serving {
    pub(super) grpc: grpc::Service,
    /// The streams of other nodes, in a cluster.
    pub(super) peers: Option<grpc::PeerService>,
    pub(super) rest: Router,
    pub(super) admin: Router,
    /// Runs beside the admin port, on its thread.
    pub(super) probe: BoxFuture<'static, ()>,
    pub(super) storage: Storage,
    pub(super) times: Times,
}

impl Serving {
    /// Serves until `stop`, then until the requests in flight have ended.
    pub(super) async fn run(
        self,
        listeners: Listeners,
        stop: CancellationToken,
    ) -> Result<(), Error> {
        let (reporter, health) = tonic_health::server::health_reporter();
        let announced = CancellationToken::new();
        let watch = report_health(reporter, self.storage, stop.clone(), announced.clone());
        let admission = self.grpc.clone();
        let members = self.grpc.members.clone();
        let stopping = Stop {
            begins: stop.clone(),
            closes: CancellationToken::new(),
        };
        // What is in flight may need requests of members, which come on new connections.
        let close = async {
            stop.cancelled().await;
            members.all_left().await;
            stopping.closes.cancel();
        };
        let service = CloudEventsServiceServer::new(self.grpc)
            .max_decoding_message_size(admission.message_max)
            .max_encoding_message_size(usize::MAX)
            .accept_compressed(tonic::codec::CompressionEncoding::Gzip);
        let reflection = || {
            tonic_reflection::server::Builder::configure()
                .register_encoded_file_descriptor_set(DESCRIPTORS)
                .register_encoded_file_descriptor_set(tonic_health::pb::FILE_DESCRIPTOR_SET)
        };
        let mut routes = Routes::new(service)
            .add_service(health.max_decoding_message_size(PUBLIC_MESSAGE_MAX))
            .add_service(
                reflection()
                    .build_v1()?
                    .max_decoding_message_size(PUBLIC_MESSAGE_MAX),
            )
            .add_service(
                reflection()
                    .build_v1alpha()?
                    .max_decoding_message_size(PUBLIC_MESSAGE_MAX),
            );
        if let Some(peers) = self.peers {
            let message_max = grpc::peer_message_max(admission.message_max);
            let peers = PeersServer::new(peers)
                .max_decoding_message_size(message_max)
                .max_encoding_message_size(usize::MAX);
            routes = routes.add_service(peers);
        }
        let routes = routes.prepare();
        let times = self.times;
        let calls = Arc::new(Calls {
            routes,
            times,
            admission,
            stopping: announced,
        });
        let grpc = connections::serve(
            listeners.grpc,
            Speaks::Http2,
            times,
            stopping.clone(),
            move |request, address, open: &mut Open| {
                Arc::clone(&calls).answer(request, address, open)
            },
        );
        let pages = Pages {
            router: self.rest,
            times,
        };
        let http = connections::serve(
            listeners.http,
            Speaks::Http1,
            times,
            stopping.clone(),
            move |request, address, _: &mut Open| pages.clone().serve(request, address),
        );
        let admin = serve_operators(listeners.admin, self.admin, self.probe, times, stop.clone())?;
        let ((), (), (), (), admin) = tokio::join!(grpc, http, watch, close, admin);
        // It ends without a result only if its thread has panicked.
        admin.map_err(|_| std::io::Error::other("the thread of the admin port has ended"))??;
        Ok(())
    }
}

/// Serves the admin port on a thread of its own, which responds whatever the other threads do.
fn serve_operators(
    listener: std::net::TcpListener,
    router: Router,
    probe: BoxFuture<'static, ()>,
    times: Times,
    stop: CancellationToken,
) -> std::io::Result<oneshot::Receiver<std::io::Result<()>>> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let (ended, end) = oneshot::channel();
    let serving = async move {
        let places = Places {
            registry: Registry::new(Caps {
                total: ADMIN_CONNECTIONS,
                per_address: 0,
            }),
            port: Port::Admin,
            head: Head::OfEachRequest,
        };
        let incoming = Incoming::plain(TcpListener::from_std(listener)?, places);
        tokio::spawn(probe);
        let pages = Pages { router, times };
        connections::serve(
            incoming,
            Speaks::Http1,
            times,
            Stop {
                begins: stop.clone(),
                closes: stop,
            },
            move |request, address, _: &mut Open| pages.clone().serve(request, address),
        )
        .await;
        Ok(())
    };
    std::thread::Builder::new()
        .name("admin".to_owned())
        .spawn(move || {
            // If the process is ending, nobody waits for it any more.
            let _ = ended.send(runtime.block_on(serving));
        })?;
    Ok(end)
}

/// What is answered from a router.
#[derive(Clone)]
struct Pages {
    router: Router,
    times: Times,
}

impl Pages {
    async fn serve(
        mut self,
        request: Request<Body>,
        address: IpAddr,
    ) -> Response<axum::body::Body> {
        if connections::is_late(&request)
            && let Some(refused) = rest::refused_by_stop(request.headers(), request.uri())
        {
            return refused;
        }
        let received = |body| Received::new(body, self.times, Within::Body, too_slow);
        let mut request = request.map(|body| axum::body::Body::new(received(body)));
        let peer = ConnectInfo(Peer::of(address));
        request.extensions_mut().insert(peer);
        match self.router.call(request).await {
            Ok(response) => response,
            Err(never) => match never {},
        }
    }
}

fn too_slow(times: &Times) -> Box<dyn std::error::Error + Send + Sync> {
    Box::new(BodyTooSlow {
        waited: times.body,
        bytes_per_second: times.bytes_per_second,
    })
}

/// Keeps `grpc.health.v1` equal to the readiness of the storage. Cancels `announced` once its
/// watches have the status of the stop.
async fn report_health(
    reporter: tonic_health::server::HealthReporter,
    storage: Storage,
    stop: CancellationToken,
    announced: CancellationToken,
) {
    const INTERVAL: Duration = Duration::from_secs(1);
    type Service = CloudEventsServiceServer<grpc::Service>;
    let report = async |status| {
        // The empty name is that of the whole server, for which probes and balancers ask.
        for service in ["", Service::NAME] {
            reporter.set_service_status(service, status).await;
        }
    };
    let mut last = None;
    loop {
        let status = if storage.is_well() {
            ServingStatus::Serving
        } else {
            ServingStatus::NotServing
        };
        // A status that is set again is sent again to all that watch it.
        if last != Some(status) {
            report(status).await;
            last = Some(status);
        }
        tokio::select! {
            () = tokio::time::sleep(INTERVAL) => {}
            () = stop.cancelled() => break,
        }
    }
    report(ServingStatus::NotServing).await;
    announced.cancel();
}
