//! The stream between nodes as a call of gRPC: bytes in both directions.

use std::{fmt, sync::Arc, time::Duration};

use futures_util::{
    StreamExt as _,
    future::{BoxFuture, FutureExt as _},
    stream::{self, BoxStream},
};
use tokio::sync::mpsc;
use tokio_util::task::TaskTracker;
use tonic::{
    Request, Response, Status, Streaming,
    transport::{ClientTlsConfig, Endpoint},
};

use crate::auth::Peer;
use crate::cluster::{Cluster, Dial, Pipe};
use crate::event::{
    frame::Frame,
    proto::peers::{peers_client::PeersClient, peers_server::Peers},
};

/// How many messages may wait between a stream and the connection.
const QUEUED: usize = 8;

/// How long connecting may take.
const CONNECTING_MAX: Duration = Duration::from_secs(5);

/// Takes the streams of other nodes.
#[derive(Debug, Clone)]
pub struct PeerService {
    pub cluster: Cluster,
    pub tasks: TaskTracker,
}

/// Whom other nodes are trusted to be over TLS, and which certificate this one presents. It is asked
/// for each stream, since files are renewed.
pub(super) type PeerTls = Arc<dyn Fn() -> Result<ClientTlsConfig, String> + Send + Sync>;

/// Opens streams to other nodes.
#[derive(Clone)]
pub struct Dialler {
    /// The size of the largest message that is taken.
    pub message_max: usize,
    pub tls: PeerTls,
}

impl fmt::Debug for Dialler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Dialler")
    }
}

/// The size of the largest message between nodes: a document, and what is around it.
pub const fn peer_message_max(message_max: usize) -> usize {
    message_max.saturating_mul(2).saturating_add(1 << 20)
}

fn pipe(incoming: Streaming<Frame>) -> (Pipe, mpsc::Receiver<Result<bytes::Bytes, String>>) {
    let (outgoing, to_send) = mpsc::channel(QUEUED);
    let incoming = incoming.map(|item| match item {
        Ok(Frame(bytes)) => Ok(bytes),
        Err(status) => Err(status.message().to_owned()),
    });
    let pipe = Pipe {
        incoming: incoming.boxed(),
        outgoing,
    };
    (pipe, to_send)
}

#[tonic::async_trait]
impl Peers for PeerService {
    type linkStream = BoxStream<'static, Result<Frame, Status>>;

    async fn link(
        &self,
        request: Request<Streaming<Frame>>,
    ) -> Result<Response<Self::linkStream>, Status> {
        let peer = request.extensions().get::<Peer>();
        let address = peer.unwrap_or(&Peer::UNKNOWN).to_string();
        let (pipe, to_send) = pipe(request.into_inner());
        let cluster = self.cluster.clone();
        self.tasks
            .spawn(async move { cluster.accept(pipe, &address).await });
        let sent = stream::unfold(to_send, |mut to_send| async {
            let item = to_send.recv().await?;
            Some((
                item.map(Frame).map_err(Status::failed_precondition),
                to_send,
            ))
        });
        Ok(Response::new(sent.boxed()))
    }
}

impl Dial for Dialler {
    fn dial(&self, address: Arc<str>) -> BoxFuture<'static, Result<Pipe, String>> {
        let (message_max, tls) = (self.message_max, Arc::clone(&self.tls));
        async move {
            let said = |error: tonic::transport::Error| format!("{address}: {}", deepest(&error));
            let mut endpoint = Endpoint::from_shared(address.to_string())
                .map_err(said)?
                .connect_timeout(CONNECTING_MAX)
                .tcp_nodelay(true)
                .http2_adaptive_window(true);
            if address.starts_with("https://") {
                endpoint = endpoint.tls_config(tls()?).map_err(said)?;
            }
            let channel = endpoint.connect().await.map_err(said)?;
            let mut client = PeersClient::new(channel)
                .max_decoding_message_size(message_max)
                .max_encoding_message_size(usize::MAX);
            let (outgoing, to_send) = mpsc::channel::<Result<bytes::Bytes, String>>(QUEUED);
            let sent = stream::unfold(to_send, |mut to_send| async {
                // An error is the end: the peer sees that the stream is over.
                let item = to_send.recv().await?.ok()?;
                Some((Frame(item), to_send))
            });
            let answered = client.link(sent).await;
            let incoming = answered.map_err(|status| format!("{address}: {}", deepest(&status)))?;
            let (pipe, _) = pipe(incoming.into_inner());
            Ok(Pipe { outgoing, ..pipe })
        }
        .boxed()
    }
}

/// What lies behind an error: TLS says there why a certificate was refused.
fn deepest(error: &dyn std::error::Error) -> String {
    let mut deepest = error;
    while let Some(source) = deepest.source() {
        deepest = source;
    }
    deepest.to_string()
}
