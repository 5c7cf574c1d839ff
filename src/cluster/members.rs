//! The members of all nodes: this node's are written to the database, the others' are read there.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
    time::Duration,
};

use futures_util::{FutureExt as _, future::BoxFuture};
use parking_lot::Mutex;
use tokio::time::{Instant, timeout};
use tracing::debug;

use super::{Cluster, call};
use crate::compute::{Forwarded, Others, RemoteMember, RemoteOutcome, Wanted};
use crate::dispatch::Tags;
use crate::id::{MemberId, Tenant};
use crate::storage::{MemberChange, NodeRow, Storage};

/// How long the members of a tenant at other nodes are taken as they were read.
const FRESH: Duration = Duration::from_millis(100);

/// After how long it is looked whether the database says what is so, if nothing changes.
const AGAIN: Duration = Duration::from_secs(5);

/// How many tenants are known at once.
const TENANTS_MAX: usize = 10_000;

/// The members of other nodes, as they were read last, by tenant.
#[derive(Debug, Default)]
pub(super) struct Known {
    /// A mutex, not a task: it is held for a look-up.
    by_tenant: Mutex<HashMap<Tenant, Read>>,
    turn: std::sync::atomic::AtomicUsize,
}

/// When members were read, and which there were.
type Read = (Instant, Arc<[Elsewhere]>);

/// A member of another node.
#[derive(Debug, Clone)]
struct Elsewhere {
    node: NodeRow,
    id: MemberId,
    tags: Tags,
}

impl Cluster {
    /// Writes to the database which members this node has, whenever that changes.
    pub async fn keep_members(self) {
        let mut written = HashMap::new();
        let mut beats = self.0.storage.entered();
        while !self.0.stop.is_cancelled() {
            let entered = self.0.storage.entered();
            if entered != beats {
                // It was removed from the list of nodes, and its members with it.
                (beats, written) = (entered, HashMap::new());
            }
            let is_done = write(&self, &mut written).await;
            let pause = if is_done { AGAIN } else { FRESH };
            let changed = timeout(pause, self.0.members.changed());
            self.0.stop.run_until_cancelled(changed).await;
        }
        // Other nodes call other members from now on.
        self.0.members.leave();
        write(&self, &mut written).await;
        // What members do for what is in flight here may come to any node, which cannot open a
        // stream to this one any more.
        if !self.is_busy() {
            return;
        }
        let own = self.0.storage.node();
        let nodes = self.0.storage.nodes().await.unwrap_or_default();
        for node in nodes
            .iter()
            .filter(|node| node.row != own && node.is_live())
        {
            let _ = self.link(node.row).await;
        }
    }

    /// The members of a tenant at the other nodes that are live.
    async fn elsewhere(&self, tenant: &Tenant) -> Arc<[Elsewhere]> {
        let known = &self.0.known;
        let lock = || known.by_tenant.lock();
        if let Some((at, members)) = lock().get(tenant)
            && at.elapsed() < FRESH
        {
            return Arc::clone(members);
        }
        let members: Arc<[Elsewhere]> = match read(&self.0.storage, tenant).await {
            Ok(members) => members.into(),
            Err(error) => {
                debug!(%error, "the members of other nodes could not be read");
                Arc::default()
            }
        };
        let mut by_tenant = lock();
        if by_tenant.len() >= TENANTS_MAX {
            by_tenant.clear();
        }
        by_tenant.insert(tenant.clone(), (Instant::now(), Arc::clone(&members)));
        members
    }
}

async fn read(storage: &Storage, tenant: &Tenant) -> Result<Vec<Elsewhere>, crate::storage::Error> {
    let rows = storage.node_members(tenant).await?;
    let own = storage.node();
    let version = env!("CARGO_PKG_VERSION");
    let nodes = storage.live_nodes();
    let mut live: HashSet<NodeRow> = nodes
        .iter()
        .filter(|node| &*node.version == version)
        .map(|node| node.row)
        .collect();
    let known: HashSet<NodeRow> = nodes.iter().map(|node| node.row).collect();
    if rows.iter().any(|row| !known.contains(&row.node)) {
        // A node may have begun since the last beat.
        let nodes = storage.nodes().await?;
        let now = nodes
            .iter()
            .filter(|node| node.is_live() && &*node.version == version);
        live = now.map(|node| node.row).collect();
    }
    let rows = rows
        .into_iter()
        .filter(|row| row.node != own && live.contains(&row.node));
    let members = rows.map(|row| Elsewhere {
        node: row.node,
        id: row.id,
        tags: Tags::parse(&row.tags),
    });
    Ok(members.collect())
}

/// Writes what has changed; whether all of it is written.
async fn write(cluster: &Cluster, written: &mut HashMap<MemberId, (Tenant, Tags)>) -> bool {
    let storage = &cluster.0.storage;
    let now: HashMap<_, _> = cluster
        .0
        .members
        .all()
        .into_iter()
        .map(|(id, tenant, tags)| (id, (tenant, tags)))
        .collect();
    let mut is_done = true;
    let left: Vec<_> = written
        .keys()
        .filter(|id| !now.contains_key(id))
        .copied()
        .collect();
    for id in left {
        match storage.change_member(&MemberChange::Drop(id)).await {
            Ok(()) => {
                written.remove(&id);
            }
            Err(error) => {
                debug!(%error, "a member could not be removed from the database");
                is_done = false;
            }
        }
    }
    for (id, (tenant, tags)) in now {
        if written.contains_key(&id) {
            continue;
        }
        let put = MemberChange::Put {
            id,
            tenant: tenant.clone(),
            tags: tags.to_string().into(),
        };
        match storage.change_member(&put).await {
            Ok(()) => {
                written.insert(id, (tenant, tags));
            }
            Err(error) => {
                debug!(%error, "a member could not be written to the database");
                is_done = false;
            }
        }
    }
    is_done
}

impl Others for Cluster {
    fn find<'a>(&'a self, wanted: Wanted<'a>) -> BoxFuture<'a, Option<RemoteMember>> {
        async move {
            let members = self.elsewhere(wanted.tenant).await;
            let fitting: Vec<&Elsewhere> = members
                .iter()
                .filter(|member| {
                    member.tags.satisfy_by(wanted.tags, wanted.tag_match)
                        && !wanted.gone.contains(&member.id)
                })
                .collect();
            let (new, tried): (Vec<_>, Vec<_>) = fitting
                .into_iter()
                .partition(|member| !wanted.tried.contains(&member.id));
            let choices = if new.is_empty() { tried } else { new };
            let (avoided, reached): (Vec<_>, Vec<_>) = choices
                .into_iter()
                .partition(|member| self.is_avoided(member.node));
            let choices = if reached.is_empty() { avoided } else { reached };
            let turn = &self.0.known.turn;
            let turn = turn.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            let chosen = choices.get(turn % choices.len().max(1))?;
            Some(RemoteMember {
                node: chosen.node.0,
                member: chosen.id,
            })
        }
        .boxed()
    }

    fn call<'a>(&'a self, forwarded: Forwarded<'a>) -> BoxFuture<'a, RemoteOutcome> {
        call::forward(self, forwarded).boxed()
    }
}
