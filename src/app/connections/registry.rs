//! Limits the number of connections, in total and for each address, and decides which one makes
//! room.
//!
//! If there is no room, the connection that has been idle longest is closed for the new one,
//! starting with those that never sent a request: a client that keeps connections open loses one
//! and reconnects; a client with an open request is never cut off. Only if every connection has an
//! open request, the new one is refused.

use std::{
    collections::{HashMap, VecDeque},
    net::IpAddr,
    sync::Arc,
    time::Duration,
};

use indexmap::IndexMap;
use parking_lot::{Mutex, MutexGuard};
use tokio::time::Instant;
use tracing::warn;

use super::activity::{Activity, Head, Order};
use crate::auth::Peer;
use crate::telemetry::{
    LimitedLines,
    measure::{Closed, Port, connections},
};

/// How often idle connections are searched for after none was found.
const LOOK_INTERVAL: Duration = Duration::from_millis(100);

/// The limits of connections.
#[derive(Debug, Clone, Copy)]
pub(in crate::app) struct Caps {
    pub(in crate::app) total: usize,
    /// 0 for no limit.
    pub(in crate::app) per_address: usize,
}

/// The connections of some ports; cheap to clone.
#[derive(Debug, Clone)]
pub(in crate::app) struct Registry(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    caps: Caps,
    /// A mutex, not a task: taken once when a connection begins and once when it ends.
    state: Mutex<State>,
    /// Those about limits that are reached.
    lines: LimitedLines,
}

#[derive(Debug, Default)]
struct State {
    next: u64,
    all: Group,
    peers: HashMap<Peer, Group>,
}

#[derive(Debug, Default)]
struct Group {
    members: IndexMap<u64, (Peer, Arc<Activity>)>,
    /// Connections that were idle at the last scan, and since when; the first is closed first.
    idle: VecDeque<(u64, (bool, u64))>,
    looked: Option<Instant>,
}

/// The place of a connection; dropping it frees the place.
#[derive(Debug)]
pub(in crate::app) struct ConnectionSlot {
    registry: Registry,
    id: u64,
    address: IpAddr,
    port: Port,
    activity: Arc<Activity>,
}

/// The limit that is reached.
#[derive(Debug, Clone, Copy)]
enum Limit {
    Total,
    PerAddress,
}

impl Registry {
    pub(in crate::app) fn new(caps: Caps) -> Self {
        Self(Arc::new(Shared {
            caps,
            state: Mutex::default(),
            lines: LimitedLines::default(),
        }))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.state.lock()
    }

    /// A place for a new connection, if there is one or an idle connection can be closed.
    pub(in crate::app) fn admit(
        &self,
        address: IpAddr,
        port: Port,
        head: Head,
    ) -> Option<ConnectionSlot> {
        let peer = Peer::of(address);
        let caps = self.0.caps;
        let mut state = self.lock();
        let of_peer = state.peers.get(&peer).map_or(0, Group::len);
        let limit = if caps.per_address > 0 && of_peer >= caps.per_address {
            Some(Limit::PerAddress)
        } else {
            (state.all.len() >= caps.total).then_some(Limit::Total)
        };
        if let Some(limit) = limit {
            let made_room = state.make_room(limit, peer);
            self.warn(limit, peer, made_room);
            if !made_room {
                Closed::count(Closed::Refused);
                return None;
            }
        }
        let activity = Activity::new(head);
        let id = state.add(peer, &activity);
        drop(state);
        connections(port, 1.0);
        Some(ConnectionSlot {
            registry: self.clone(),
            id,
            address,
            port,
            activity,
        })
    }

    /// Makes every connection end with the requests that it has open.
    pub(in crate::app) fn finish(&self) {
        for (_, activity) in self.lock().all.members.values() {
            activity.order(Order::Finish);
        }
    }

    fn warn(&self, limit: Limit, peer: Peer, made_room: bool) {
        let Some(skipped) = self.0.lines.next() else {
            return;
        };
        let outcome = if made_room {
            "those idle longest are closed to make room for new ones"
        } else {
            "new ones are refused, because all others have open requests"
        };
        let Caps { total, per_address } = self.0.caps;
        match limit {
            Limit::Total => warn!(
                limit = total,
                skipped,
                "the number of connections has reached INTERLOCK_CONNECTIONS_MAX or the process's file limit; {outcome}"
            ),
            Limit::PerAddress => warn!(
                limit = per_address,
                %peer,
                skipped,
                "one address has reached INTERLOCK_CONNECTIONS_PER_ADDRESS; of its connections, {outcome}"
            ),
        }
    }
}

impl State {
    fn add(&mut self, peer: Peer, activity: &Arc<Activity>) -> u64 {
        let id = self.next;
        self.next += 1;
        let member = || (peer, Arc::clone(activity));
        self.all.members.insert(id, member());
        let group = self.peers.entry(peer).or_default();
        group.members.insert(id, member());
        id
    }

    fn remove(&mut self, id: u64) -> Option<Arc<Activity>> {
        let (peer, activity) = self.all.members.swap_remove(&id)?;
        if let Some(group) = self.peers.get_mut(&peer) {
            group.members.swap_remove(&id);
            if group.members.is_empty() {
                self.peers.remove(&peer);
            }
        }
        Some(activity)
    }

    /// Closes the connection that has been idle longest; false if none is idle.
    fn make_room(&mut self, limit: Limit, peer: Peer) -> bool {
        let group = match limit {
            Limit::Total => Some(&mut self.all),
            Limit::PerAddress => self.peers.get_mut(&peer),
        };
        let Some(id) = group.and_then(Group::longest_idle) else {
            return false;
        };
        if let Some(activity) = self.remove(id) {
            activity.order(Order::End);
            Closed::count(Closed::Displaced);
        }
        true
    }
}

impl Group {
    fn len(&self) -> usize {
        self.members.len()
    }

    /// Scans all connections only when those found by the last scan are used up, so that a flood of
    /// connections does not cost a scan each.
    fn longest_idle(&mut self) -> Option<u64> {
        loop {
            while let Some((id, idle)) = self.idle.pop_front() {
                if self
                    .members
                    .get(&id)
                    .and_then(|(_, activity)| activity.idle())
                    == Some(idle)
                {
                    return Some(id);
                }
            }
            let now = Instant::now();
            if self
                .looked
                .is_some_and(|looked| now.duration_since(looked) < LOOK_INTERVAL)
            {
                return None;
            }
            let members = self.members.iter();
            let mut idle: Vec<_> = members
                .filter_map(|(id, (_, activity))| Some((*id, activity.idle()?)))
                .collect();
            idle.sort_unstable_by_key(|(id, idle)| (*idle, *id));
            if idle.is_empty() {
                self.looked = Some(now);
                return None;
            }
            self.idle = idle.into();
        }
    }
}

impl ConnectionSlot {
    /// The address of the peer.
    pub(in crate::app) const fn address(&self) -> IpAddr {
        self.address
    }

    pub(in crate::app) fn activity(&self) -> Arc<Activity> {
        Arc::clone(&self.activity)
    }

    /// Returns when the place was given to another connection.
    pub(in crate::app) async fn displaced(&self) {
        self.activity.ordered(Order::Finish).await;
    }
}

impl Drop for ConnectionSlot {
    fn drop(&mut self) {
        connections(self.port, -1.0);
        self.registry.lock().remove(self.id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NEAR: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 1));
    const FAR: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 2));

    fn registry(total: usize, per_address: usize) -> Registry {
        Registry::new(Caps { total, per_address })
    }

    fn admit(registry: &Registry, peer: IpAddr) -> Option<ConnectionSlot> {
        registry.admit(peer, Port::Rest, Head::OfEachRequest)
    }

    fn is_displaced(place: &ConnectionSlot) -> bool {
        use futures_util::FutureExt as _;
        place.displaced().now_or_never().is_some()
    }

    #[tokio::test(start_paused = true)]
    async fn the_longest_idle_makes_room_and_one_that_never_asked_before_others() {
        let registry = registry(3, 0);
        let asked = admit(&registry, NEAR).expect("a place");
        drop(asked.activity().begin());
        tokio::time::advance(Duration::from_secs(1)).await;
        let silent = admit(&registry, NEAR).expect("a place");
        let busy = admit(&registry, NEAR).expect("a place");
        let request = busy.activity().begin();
        let fourth = admit(&registry, FAR).expect("a place");
        assert!(is_displaced(&silent) && !is_displaced(&asked));
        let held = fourth.activity().begin();
        let fifth = admit(&registry, FAR).expect("a place");
        assert!(is_displaced(&asked) && !is_displaced(&busy));
        let also_held = fifth.activity().begin();
        assert!(admit(&registry, FAR).is_none(), "all have open requests");
        drop((request, held, also_held));
        tokio::time::advance(LOOK_INTERVAL).await;
        assert!(admit(&registry, FAR).is_some());
    }

    #[tokio::test]
    async fn an_address_at_its_limit_displaces_only_its_own() {
        let registry = registry(10, 2);
        let far = admit(&registry, FAR).expect("a place");
        let first = admit(&registry, NEAR).expect("a place");
        let second = admit(&registry, NEAR).expect("a place");
        let third = admit(&registry, NEAR).expect("a place");
        assert!(is_displaced(&first) && !is_displaced(&far) && !is_displaced(&second));
        drop((far, first, second, third));
        let state = registry.lock();
        assert!(state.all.members.is_empty() && state.peers.is_empty());
    }
}
