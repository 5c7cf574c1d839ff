//! Nodes that share one database: how they reach each other.
//!
//! May use: [`crate::id`], [`crate::clock`], [`crate::entity`], [`crate::dispatch`],
//! [`crate::storage`], [`crate::compute`], [`crate::telemetry`].
//! Which nodes and members there are is in the database; here is the stream between two nodes. It
//! is opened towards a node when that is first needed, serves both directions, and is encrypted
//! and authenticated by the secret that all nodes share. Calls to members of other nodes and
//! requests that belong to a transaction of another node go over it.

mod call;
mod frame;
mod handshake;
mod link;
mod members;
mod seal;
mod secret;
#[cfg(test)]
mod tests;
mod turns;

use std::{
    collections::HashMap,
    sync::{Arc, OnceLock},
    time::Duration,
};

use bytes::Bytes;
use futures_util::{
    StreamExt as _,
    future::BoxFuture,
    stream::{self, BoxStream},
};
use parking_lot::{Mutex, MutexGuard};
use tokio::time::{Instant, timeout};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use tracing::{field::display, info, warn};

use crate::compute::Members;
use crate::storage::{self, Node, NodeRow, Storage};
use crate::telemetry::LimitedLines;

pub use link::AnswerStream;
pub use secret::Secret;

use frame::What;
use handshake::{Introduction, Met};
use link::{Ends, Link};

/// What nodes compare before they work together: that of the release, and a number that rises with
/// each change of what is sent between nodes, so that builds of one release differ, too.
const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), "+link.2");

/// How many bytes the name of a node may have. What a peer says of itself is logged before it has
/// proved that it has the secret.
pub const NAME_BYTES_MAX: usize = 256;

/// How long a node that could not be reached is not tried again.
const PAUSE: Duration = Duration::from_millis(500);

/// How long members of a node that could not be reached are not called where others can be.
const AVOIDED: Duration = Duration::from_secs(10);

/// How long opening a stream may take.
const OPENING_MAX: Duration = Duration::from_secs(10);

/// What a node of a cluster needs.
#[derive(Debug, Clone)]
pub struct Settings {
    pub secret: Secret,
    /// How long another node may take to take a call over.
    pub forward_timeout: Duration,
    /// How long the first answer to a carried request may take.
    pub proxy_timeout: Duration,
}

/// A stream to a peer, whatever carries it.
pub struct Pipe {
    pub incoming: BoxStream<'static, Result<Bytes, String>>,
    /// An error is the last that is sent.
    pub outgoing: tokio::sync::mpsc::Sender<Result<Bytes, String>>,
}

/// Opens streams to addresses.
pub trait Dial: std::fmt::Debug + Send + Sync {
    fn dial(&self, address: Arc<str>) -> BoxFuture<'static, Result<Pipe, String>>;
}

/// Answers carried requests.
pub type Carrier = Arc<dyn Fn(Bytes, CancellationToken) -> BoxStream<'static, Bytes> + Send + Sync>;

/// Whether transactions are open that requests of other nodes may join.
pub type Busy = Arc<dyn Fn() -> bool + Send + Sync>;

/// Why a stream to a peer was not begun.
#[derive(Debug, Clone, thiserror::Error)]
pub enum Refused {
    #[error(
        "node {peer} has version {theirs}, this node has version {ours}; nodes of different versions do not work together, upgrade the older one"
    )]
    Version {
        peer: String,
        theirs: String,
        ours: String,
    },
    #[error("node {peer} belongs to another cluster: it uses another database")]
    Database { peer: String },
    #[error(
        "node {peer} does not have the secret of this cluster; set the same CYODA_HMAC_SECRET at all nodes"
    )]
    Secret { peer: String },
    #[error("the stream leads back to this node")]
    Itself,
    #[error(
        "at {address}, the address of node {name}, is {found}; set CYODA_GRPC_NODE_ADDR of node {name} to an address that leads to it"
    )]
    Elsewhere {
        address: Arc<str>,
        name: Arc<str>,
        found: String,
    },
    #[error("it is not a node of a cluster, or of another version")]
    Unreadable,
    #[error("{0}")]
    Away(String),
}

/// The node cannot be reached.
#[derive(Debug, Clone, thiserror::Error)]
#[error("node {0} cannot be reached")]
pub struct Unreached(pub i64);

/// The other nodes. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Cluster(Arc<Inner>);

struct Inner {
    storage: Storage,
    members: Members,
    settings: Settings,
    own: Introduction,
    dial: Box<dyn Dial>,
    /// A mutex, not a task: it is held for a look-up.
    peers: Mutex<HashMap<NodeRow, Arc<Peer>>>,
    events: OnceLock<Carrier>,
    requests: OnceLock<Carrier>,
    busy: OnceLock<Busy>,
    known: members::Known,
    /// The log lines about peers that were refused.
    refusals: LimitedLines,
    tasks: TaskTracker,
    stop: CancellationToken,
    /// Ends the streams to other nodes: requests in flight at the stop need them.
    links: CancellationToken,
}

/// What is known of the way to another node.
#[derive(Debug, Default)]
struct Peer {
    /// A mutex, not a task: it is held for a look-up.
    link: Mutex<Option<Arc<Link>>>,
    /// Held while a stream is opened.
    opening: tokio::sync::Mutex<()>,
    /// When that failed last. A mutex, not a task: it is held for a look-up.
    failed: Mutex<Option<Instant>>,
}

impl std::fmt::Debug for Inner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Cluster({})", self.own.name)
    }
}

impl Peer {
    fn lock(&self) -> MutexGuard<'_, Option<Arc<Link>>> {
        self.link.lock()
    }

    fn link(&self) -> Option<Arc<Link>> {
        self.lock().clone().filter(|link| !link.is_over())
    }

    /// Notes that no stream could be opened, or that one was.
    fn opened(&self, failed: Option<Instant>) {
        *self.failed.lock() = failed;
    }

    /// Whether no stream could be opened within that time.
    fn has_failed_within(&self, time: Duration) -> bool {
        let failed = *self.failed.lock();
        failed.is_some_and(|at| at.elapsed() < time)
    }
}

impl Cluster {
    /// A node, after it has entered the list of nodes.
    pub async fn new(
        storage: Storage,
        members: Members,
        settings: Settings,
        name: &str,
        dial: impl Dial + 'static,
        tasks: TaskTracker,
        stop: CancellationToken,
    ) -> Result<Self, storage::Error> {
        let own = Introduction {
            number: storage.node().0,
            name: name.to_owned(),
            version: VERSION.to_owned(),
            database: storage.database_id().await?,
        };
        Ok(Self(Arc::new(Inner {
            storage,
            members,
            settings,
            own,
            dial: Box::new(dial),
            peers: Mutex::default(),
            events: OnceLock::new(),
            requests: OnceLock::new(),
            busy: OnceLock::new(),
            known: members::Known::default(),
            refusals: LimitedLines::default(),
            tasks,
            stop,
            links: CancellationToken::new(),
        })))
    }

    /// Whether transactions are open that requests of other nodes may join.
    fn is_busy(&self) -> bool {
        self.0.busy.get().is_some_and(|is_busy| is_busy())
    }

    /// Ends the streams to other nodes.
    pub fn end(&self) {
        self.0.links.cancel();
    }

    /// From now on carried events, and carried requests of REST, are answered so. There may be more
    /// of them while the node is busy.
    pub fn answer_with(&self, events: Carrier, requests: Carrier, busy: Busy) {
        // They are set once, at the start.
        let _ = self.0.busy.set(busy);
        let _ = self.0.events.set(events);
        let _ = self.0.requests.set(requests);
    }

    /// The key with which all nodes sign transaction tokens.
    pub fn signing(settings: &Settings) -> [u8; 32] {
        settings.secret.of_tokens()
    }

    /// The name of this node.
    pub fn name(&self) -> &str {
        &self.0.own.name
    }

    /// How long the first answer to a carried request may take.
    pub fn proxy_timeout(&self) -> Duration {
        self.0.settings.proxy_timeout
    }

    /// Carries an event to the node of its transaction.
    pub async fn carry_event(
        &self,
        node: NodeRow,
        event: Bytes,
    ) -> Result<AnswerStream, Unreached> {
        self.ask(node, What::Event, event).await
    }

    /// Carries a request of REST to the node of its transaction.
    pub async fn carry_request(
        &self,
        node: NodeRow,
        request: Bytes,
    ) -> Result<AnswerStream, Unreached> {
        self.ask(node, What::Http, request).await
    }

    async fn ask(&self, node: NodeRow, what: What, body: Bytes) -> Result<AnswerStream, Unreached> {
        let link = self.link(node).await?;
        link.ask(what, body).await.map_err(|_| Unreached(node.0))
    }

    fn peers(&self) -> MutexGuard<'_, HashMap<NodeRow, Arc<Peer>>> {
        self.0.peers.lock()
    }

    fn peer(&self, node: NodeRow) -> Arc<Peer> {
        Arc::clone(self.peers().entry(node).or_default())
    }

    /// Whether calls go to other nodes, if they can: this one could not be reached a moment ago.
    fn is_avoided(&self, node: NodeRow) -> bool {
        let peer = self.peers().get(&node).map(Arc::clone);
        peer.is_some_and(|peer| peer.has_failed_within(AVOIDED) && peer.link().is_none())
    }

    /// The stream to a node, which is opened if there is none.
    async fn link(&self, node: NodeRow) -> Result<Arc<Link>, Unreached> {
        let peer = self.peer(node);
        if let Some(link) = peer.link() {
            return Ok(link);
        }
        let _opening = peer.opening.lock().await;
        if let Some(link) = peer.link() {
            return Ok(link);
        }
        if peer.has_failed_within(PAUSE) {
            return Err(Unreached(node.0));
        }
        // Before those who wait for it give up: then the node is avoided for a while.
        let settings = &self.0.settings;
        let patience = settings.forward_timeout.min(settings.proxy_timeout) / 2;
        let opened = timeout(OPENING_MAX.min(patience), self.open(node)).await;
        let opened =
            opened.unwrap_or_else(|_| Err(Refused::Away("it did not answer in time".to_owned())));
        match opened {
            Ok(link) => {
                peer.opened(None);
                Ok(self.keep(&peer, link))
            }
            Err(refused) => {
                let known = self.0.storage.known_node(node);
                let known = known.as_ref();
                let shown = known.map(|node| (display(&node.name), display(&node.address)));
                let (name, address) = shown.unzip();
                warn!(
                    node = name,
                    address,
                    number = node.0,
                    "another node cannot be reached: {refused}"
                );
                peer.opened(Some(Instant::now()));
                Err(Unreached(node.0))
            }
        }
    }

    async fn open(&self, node: NodeRow) -> Result<Arc<Link>, Refused> {
        let known = self.live(node).await;
        let known = known.ok_or_else(|| Refused::Away("it is not live".to_owned()))?;
        let dialled = self.0.dial.dial(Arc::clone(&known.address)).await;
        let mut pipe = dialled.map_err(Refused::Away)?;
        let elsewhere = |found| Refused::Elsewhere {
            address: Arc::clone(&known.address),
            name: Arc::clone(&known.name),
            found,
        };
        let met = match handshake::dial(&mut pipe, &self.0.settings.secret, &self.0.own).await {
            Err(Refused::Itself) => return Err(elsewhere("this node itself".to_owned())),
            Err(Refused::Database { peer }) => {
                return Err(elsewhere(format!("node {peer} of another cluster")));
            }
            met => met?,
        };
        if met.peer.number != node.0 {
            return Err(elsewhere(format!("node {}", met.peer.name)));
        }
        Ok(self.begin(met, pipe))
    }

    /// A live node, as the database has it.
    async fn live(&self, node: NodeRow) -> Option<Node> {
        let known = self.0.storage.live_nodes();
        if let Some(known) = known.into_iter().find(|known| known.row == node) {
            return Some(known);
        }
        // It may have begun since the last beat.
        let nodes = self.0.storage.nodes().await.ok()?;
        let known = nodes.into_iter().find(|known| known.row == node)?;
        known.is_live().then_some(known)
    }

    /// Takes a stream that a peer at that address has opened; returns when it has ended.
    pub async fn accept(&self, mut pipe: Pipe, address: &str) {
        let outgoing = pipe.outgoing.clone();
        let met = handshake::accept(&mut pipe, &self.0.settings.secret, &self.0.own).await;
        match met {
            Ok(met) => {
                let peer = self.peer(NodeRow(met.peer.number));
                let link = self.begin(met, pipe);
                drop(outgoing);
                let link = self.keep(&peer, link);
                link.ended().await;
            }
            Err(refused) => {
                if let Some(skipped) = self.0.refusals.next() {
                    warn!(address = %address, skipped, "a node was refused: {refused}");
                }
                // If it is gone, it need not know.
                let _ = outgoing.send(Err(refused.to_string())).await;
            }
        }
    }

    fn begin(&self, met: Met, pipe: Pipe) -> Arc<Link> {
        info!(peer = %met.peer.name, number = met.peer.number, "the stream to another node has begun");
        // Not this cluster itself: a stream would keep it, and it the stream.
        let cluster = Arc::downgrade(&self.0);
        let serve = move |what, body, cancel| match cluster.upgrade() {
            Some(inner) => Self(inner).serve(what, body, cancel),
            None => stream::empty().boxed(),
        };
        let cluster = Arc::downgrade(&self.0);
        let is_busy = move || cluster.upgrade().is_some_and(|inner| Self(inner).is_busy());
        let ends = Ends {
            at_once: self.0.links.clone(),
            when_idle: self.0.stop.clone(),
            is_busy: Arc::new(is_busy),
        };
        Link::start(met, pipe, Arc::new(serve), &self.0.tasks, ends)
    }

    /// Keeps a stream for requests to that node, unless there is one already.
    fn keep(&self, peer: &Peer, link: Arc<Link>) -> Arc<Link> {
        let mut kept = peer.lock();
        if kept.as_ref().is_none_or(|kept| kept.is_over()) {
            *kept = Some(Arc::clone(&link));
        }
        drop(kept);
        // Nodes that are gone have new numbers when they return.
        self.peers().retain(|_, other| {
            let is_used = Arc::strong_count(other) > 1 || other.link().is_some();
            is_used || other.has_failed_within(AVOIDED)
        });
        link
    }

    fn serve(
        self,
        what: What,
        body: Bytes,
        cancel: CancellationToken,
    ) -> BoxStream<'static, Bytes> {
        let carrier = match what {
            What::Call => return call::serve(&self.0.members, &body),
            What::Event => self.0.events.get(),
            What::Http => self.0.requests.get(),
        };
        match carrier {
            Some(carrier) => carrier(body, cancel),
            None => stream::empty().boxed(),
        }
    }
}
