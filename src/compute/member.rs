//! The connected members.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering},
    },
    time::Duration,
};

use parking_lot::{Mutex, MutexGuard};
use tokio::sync::{Notify, mpsc, oneshot};

use super::{Others, Request, Response, Wanted};
use crate::clock::Timestamp;
use crate::dispatch::{TagMatch, Tags};
use crate::id::{CallId, EntityId, MemberId, Tenant};

/// How often a stream that ends looks whether its calls are answered.
const BETWEEN_LOOKS: Duration = Duration::from_millis(20);

/// All connected members of all tenants. Cheap to clone.
///
/// Locks, not a task: a hop through one would put two wake-ups into every call (`limits.md` §0),
/// and each lock is held for a look-up.
#[derive(Debug, Clone, Default)]
pub struct Members(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    /// Which members can be called for the tags of a call.
    tag_match: TagMatch,
    by_tenant: Mutex<HashMap<Tenant, Vec<Arc<Member>>>>,
    joined: Notify,
    /// How many calls each tenant has in flight, if any.
    out: Mutex<HashMap<Tenant, usize>>,
    /// Notified when a member has joined or left; one waits for it.
    changed: Notify,
    /// Whether other nodes have no calls made here any more.
    leaving: AtomicBool,
    /// Members at other nodes, in a cluster.
    others: OnceLock<Arc<dyn Others>>,
    /// Counts calls, so that equally busy members take turns.
    turn: AtomicU64,
}

/// One connected member.
#[derive(Debug)]
pub(super) struct Member {
    pub(super) id: MemberId,
    tags: Tags,
    outbox: mpsc::Sender<Request>,
    calls: Mutex<Calls>,
    /// Whether it is about to leave: it gets calls only if no other member fits.
    draining: AtomicBool,
    /// When it was last chosen, as a count of calls.
    last_turn: AtomicU64,
    joined: Timestamp,
    /// When a message last arrived from it, in microseconds.
    seen: AtomicI64,
    served: AtomicU64,
    failed: AtomicU64,
}

/// Facts about a connected member.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Connected {
    pub id: MemberId,
    pub tags: Tags,
    pub joined: Timestamp,
    /// When a message last arrived from it.
    pub seen: Timestamp,
    /// How many calls are in flight.
    pub in_flight: usize,
    /// How many calls succeeded.
    pub served: u64,
    /// How many calls failed or timed out.
    pub failed: u64,
}

/// The calls in flight.
#[derive(Debug, Default)]
struct Calls {
    /// In the order in which they were sent, which is the order in which they fail.
    out: BTreeMap<CallId, Out>,
    /// Set when the member has disconnected: no more calls are sent.
    gone: bool,
    /// Those that the member has not begun, because it is about to leave.
    declined: Vec<CallId>,
}

/// A call in flight.
#[derive(Debug)]
struct Out {
    /// The entity of the call.
    entity: EntityId,
    answer: oneshot::Sender<Response>,
}

/// The membership of a connected member; dropping it disconnects the member and fails its calls.
#[derive(Debug)]
pub struct Membership {
    members: Members,
    tenant: Tenant,
    pub(super) member: Arc<Member>,
}

impl Members {
    /// Members among which one of the required tags suffices for a call, instead of all of them.
    pub fn of_any_tag() -> Self {
        Self(Arc::new(Shared {
            tag_match: TagMatch::Any,
            ..Shared::default()
        }))
    }

    /// Adds a member. Calls to it are sent through `outbox`.
    pub fn join(
        &self,
        tenant: &Tenant,
        id: MemberId,
        tags: Tags,
        outbox: mpsc::Sender<Request>,
        now: Timestamp,
    ) -> Membership {
        let member = Arc::new(Member {
            id,
            tags,
            outbox,
            calls: Mutex::default(),
            draining: AtomicBool::new(false),
            last_turn: AtomicU64::new(0),
            joined: now,
            seen: AtomicI64::new(now.micros()),
            served: AtomicU64::new(0),
            failed: AtomicU64::new(0),
        });
        self.lock()
            .entry(tenant.clone())
            .or_default()
            .push(Arc::clone(&member));
        self.0.joined.notify_waiters();
        self.0.changed.notify_one();
        Membership {
            members: self.clone(),
            tenant: tenant.clone(),
            member,
        }
    }

    /// The members of a tenant, in the order in which they joined.
    pub fn connected(&self, tenant: &Tenant) -> Vec<Connected> {
        let by_tenant = self.lock();
        let members = by_tenant.get(tenant).into_iter().flatten();
        members.map(|member| member.facts()).collect()
    }

    /// Sends calls to a member only if no other one fits; it answers those that it has.
    pub fn drain(&self, tenant: &Tenant, id: MemberId) {
        if let Some(member) = self.named(tenant, id) {
            member.draining.store(true, Ordering::Relaxed);
            self.0.changed.notify_one();
        }
    }

    /// Returns once no member is connected, as when it is looked at now and then.
    pub async fn all_left(&self) {
        while !self.lock().is_empty() {
            tokio::time::sleep(BETWEEN_LOOKS).await;
        }
    }

    /// From now on, other nodes have no calls made here, and this node still makes its own.
    pub fn leave(&self) {
        self.0.leaving.store(true, Ordering::Relaxed);
    }

    pub(super) fn is_leaving(&self) -> bool {
        self.0.leaving.load(Ordering::Relaxed)
    }

    /// The members of all tenants that get calls of other nodes, with their tags.
    pub fn all(&self) -> Vec<(MemberId, Tenant, Tags)> {
        if self.is_leaving() {
            return Vec::new();
        }
        let by_tenant = self.lock();
        let each = by_tenant.iter().flat_map(|(tenant, members)| {
            let fact = |member: &Arc<Member>| (member.id, tenant.clone(), member.tags.clone());
            members
                .iter()
                .filter(|member| !member.is_draining())
                .map(fact)
        });
        each.collect()
    }

    /// Returns once a member has joined or left since this returned last; one may wait.
    pub async fn changed(&self) {
        self.0.changed.notified().await;
    }

    /// From now on, members at other nodes are called where none fits here.
    pub fn reach(&self, others: Arc<dyn Others>) {
        // It is set once, at the start.
        let _ = self.0.others.set(others);
    }

    pub(super) fn tag_match(&self) -> TagMatch {
        self.0.tag_match
    }

    pub(super) fn others(&self) -> Option<&Arc<dyn Others>> {
        self.0.others.get()
    }

    /// The member of a tenant that has that id.
    pub(super) fn named(&self, tenant: &Tenant, id: MemberId) -> Option<Arc<Member>> {
        let by_tenant = self.lock();
        let member = by_tenant.get(tenant)?.iter().find(|member| member.id == id);
        member.map(Arc::clone)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Tenant, Vec<Arc<Member>>>> {
        self.0.by_tenant.lock()
    }

    /// A place among the calls that a tenant may have in flight; none if it has reached the limit.
    pub(super) fn place(&self, tenant: &Tenant, most: usize) -> Option<CallPermit> {
        let mut out = self.0.out.lock();
        let count = out.entry(tenant.clone()).or_default();
        if *count >= most {
            return None;
        }
        *count += 1;
        Some(CallPermit {
            members: self.clone(),
            tenant: tenant.clone(),
        })
    }

    /// Waits until another member joins, beginning when this is called.
    pub(super) fn next_join(&self) -> tokio::sync::futures::Notified<'_> {
        self.0.joined.notified()
    }

    /// The member that has the wanted tags and the fewest calls in flight; one that was tried only
    /// if there is no other, and one that is about to leave only then: what it still works on may
    /// need it. One that has not begun this call is not asked again.
    pub(super) fn choose(&self, wanted: Wanted<'_>) -> Option<Arc<Member>> {
        let by_tenant = self.lock();
        let fitting = by_tenant.get(wanted.tenant)?.iter().filter(|member| {
            member.tags.satisfy_by(wanted.tags, wanted.tag_match)
                && !wanted.gone.contains(&member.id)
        });
        let chosen = fitting.min_by_key(|member| {
            (
                member.is_draining(),
                wanted.tried.contains(&member.id),
                member.in_flight(),
                member.last_turn.load(Ordering::Relaxed),
            )
        })?;
        chosen.last_turn.store(
            self.0.turn.fetch_add(1, Ordering::Relaxed) + 1,
            Ordering::Relaxed,
        );
        Some(Arc::clone(chosen))
    }
}

/// One of the calls that a tenant has in flight; dropping it makes room.
#[derive(Debug)]
pub(super) struct CallPermit {
    members: Members,
    tenant: Tenant,
}

impl Drop for CallPermit {
    fn drop(&mut self) {
        let out = &self.members.0.out;
        let mut out = out.lock();
        if let Some(count) = out.get_mut(&self.tenant) {
            *count -= 1;
            if *count == 0 {
                out.remove(&self.tenant);
            }
        }
    }
}

impl Membership {
    pub fn id(&self) -> MemberId {
        self.member.id
    }

    /// The entity of a call in flight on this stream.
    pub fn entity_of(&self, call: CallId) -> Option<EntityId> {
        self.member.lock().out.get(&call).map(|out| out.entity)
    }

    /// Delivers a response. One to a call that is not in flight on this stream changes nothing: the
    /// call was answered, timed out, or never made.
    pub fn answered(&self, call: CallId, response: Response) -> bool {
        let Some(waiting) = self.member.lock().out.remove(&call) else {
            return false;
        };
        let count = match &response.outcome {
            Ok(_) => &self.member.served,
            Err(_) => &self.member.failed,
        };
        count.fetch_add(1, Ordering::Relaxed);
        waiting.answer.send(response).is_ok()
    }

    /// The member is about to leave and has not begun a call; false if that is not in flight.
    pub fn declined(&self, call: CallId) -> bool {
        self.member.draining.store(true, Ordering::Relaxed);
        let mut calls = self.member.lock();
        let was_out = calls.out.remove(&call).is_some();
        if was_out {
            calls.declined.push(call);
        }
        was_out
    }

    /// Notes that a message has arrived from the member.
    pub fn saw(&self, now: Timestamp) {
        self.member.seen.store(now.micros(), Ordering::Relaxed);
    }

    /// Returns once the member has no calls to respond to, as when it is looked at now and then.
    pub fn answered_all(&self) -> impl Future<Output = ()> + Send + use<> {
        let member = Arc::clone(&self.member);
        async move {
            while !member.lock().out.is_empty() {
                tokio::time::sleep(BETWEEN_LOOKS).await;
            }
        }
    }

    /// Whether the member has calls to respond to.
    pub fn has_calls_out(&self) -> bool {
        !self.member.lock().out.is_empty()
    }
}

impl Drop for Membership {
    fn drop(&mut self) {
        let mut by_tenant = self.members.lock();
        if let Some(members) = by_tenant.get_mut(&self.tenant) {
            members.retain(|member| !Arc::ptr_eq(member, &self.member));
            if members.is_empty() {
                by_tenant.remove(&self.tenant);
            }
        }
        drop(by_tenant);
        self.members.0.changed.notify_one();
        // Dropping the senders fails the calls.
        let mut calls = self.member.lock();
        calls.gone = true;
        calls.out.clear();
    }
}

impl Member {
    fn lock(&self) -> MutexGuard<'_, Calls> {
        self.calls.lock()
    }

    fn facts(&self) -> Connected {
        Connected {
            id: self.id,
            tags: self.tags.clone(),
            joined: self.joined,
            seen: Timestamp::from_micros(self.seen.load(Ordering::Relaxed)),
            in_flight: self.in_flight(),
            served: self.served.load(Ordering::Relaxed),
            failed: self.failed.load(Ordering::Relaxed),
        }
    }

    /// Whether the member has not begun a call; it is asked once.
    pub(super) fn has_declined(&self, call: CallId) -> bool {
        let mut calls = self.lock();
        let before = calls.declined.len();
        calls.declined.retain(|declined| *declined != call);
        calls.declined.len() < before
    }

    pub(super) fn is_draining(&self) -> bool {
        self.draining.load(Ordering::Relaxed)
    }

    fn in_flight(&self) -> usize {
        self.lock().out.len()
    }

    /// Registers a call that is about to be sent; none if the member has disconnected.
    pub(super) fn expect(self: &Arc<Self>, call: CallId, entity: EntityId) -> Option<Expected> {
        let (answer, response) = oneshot::channel();
        let mut calls = self.lock();
        if calls.gone {
            return None;
        }
        calls.out.insert(call, Out { entity, answer });
        drop(calls);
        Some(Expected {
            member: Arc::clone(self),
            call,
            response,
        })
    }

    pub(super) const fn outbox(&self) -> &mpsc::Sender<Request> {
        &self.outbox
    }
}

/// An awaited response; dropping it makes a late one unknown.
#[derive(Debug)]
pub(super) struct Expected {
    member: Arc<Member>,
    call: CallId,
    pub(super) response: oneshot::Receiver<Response>,
}

impl Drop for Expected {
    fn drop(&mut self) {
        if self.member.lock().out.remove(&self.call).is_some() {
            self.member.failed.fetch_add(1, Ordering::Relaxed);
        }
    }
}
