//! Who is connected.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicI64, AtomicU64, Ordering},
    },
};

use tokio::sync::{Notify, mpsc, oneshot};

use super::{Request, Response};
use crate::callout::Tags;
use crate::clock::Timestamp;
use crate::id::{CallId, EntityId, MemberId, Tenant};

/// Every connected member, of all tenants. Cheap to clone.
///
/// Locks, not a task: a hop through one would put two wake-ups into every call (`LIMITS.md` §0),
/// and each lock is held for a look-up.
#[derive(Debug, Clone, Default)]
pub struct Members(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    by_tenant: Mutex<HashMap<Tenant, Vec<Arc<Member>>>>,
    joined: Notify,
    /// How many calls are out for each tenant that has any.
    out: Mutex<HashMap<Tenant, usize>>,
    /// Counts calls, to take turns among members that are equally busy.
    turn: AtomicU64,
}

/// One connected member.
#[derive(Debug)]
pub(super) struct Member {
    pub(super) id: MemberId,
    tags: Tags,
    outbox: mpsc::Sender<Request>,
    calls: Mutex<Calls>,
    /// When it was last chosen, in turns.
    last_turn: AtomicU64,
    joined: Timestamp,
    /// When something last came from it, in microseconds.
    seen: AtomicI64,
    served: AtomicU64,
    failed: AtomicU64,
}

/// What is known of a connected member.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Connected {
    pub id: MemberId,
    pub tags: Tags,
    pub joined: Timestamp,
    /// When something last came from it.
    pub seen: Timestamp,
    /// How many calls are out.
    pub in_flight: usize,
    /// How many calls it has done as it was asked.
    pub served: u64,
    /// How many calls it has refused, or not answered before they were given up.
    pub failed: u64,
}

/// The calls that are out.
#[derive(Debug, Default)]
struct Calls {
    /// In the order in which they went out, which is the order in which they fail.
    out: BTreeMap<CallId, Out>,
    /// Set when the member has gone: no call goes out any more.
    gone: bool,
}

/// A call that is out.
#[derive(Debug)]
struct Out {
    /// What it is about.
    entity: EntityId,
    answer: oneshot::Sender<Response>,
}

/// A member's place among the members; dropping it is leaving, and fails the calls that are out.
#[derive(Debug)]
pub struct Membership {
    members: Members,
    tenant: Tenant,
    pub(super) member: Arc<Member>,
}

impl Members {
    /// Takes a member in. What it is sent comes out of `outbox`'s other end.
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

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<Tenant, Vec<Arc<Member>>>> {
        self.0
            .by_tenant
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// A place among the calls of a tenant that are out at once; none if it has too many.
    pub(super) fn place(&self, tenant: &Tenant, most: usize) -> Option<Place> {
        let mut out = self.0.out.lock().unwrap_or_else(PoisonError::into_inner);
        let count = out.entry(tenant.clone()).or_default();
        if *count >= most {
            return None;
        }
        *count += 1;
        Some(Place {
            members: self.clone(),
            tenant: tenant.clone(),
        })
    }

    /// Waits until another member joins, from the moment this is called.
    pub(super) fn next_join(&self) -> tokio::sync::futures::Notified<'_> {
        self.0.joined.notified()
    }

    /// The member of the tenant that has all of `required` and the fewest calls out; one of
    /// `tried` only if there is no other.
    pub(super) fn choose(
        &self,
        tenant: &Tenant,
        required: &Tags,
        tried: &[MemberId],
    ) -> Option<Arc<Member>> {
        let by_tenant = self.lock();
        let fitting = by_tenant
            .get(tenant)?
            .iter()
            .filter(|member| member.tags.satisfy(required));
        let chosen = fitting.min_by_key(|member| {
            (
                tried.contains(&member.id),
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

/// One of the calls of a tenant that are out; dropping it makes room.
#[derive(Debug)]
pub(super) struct Place {
    members: Members,
    tenant: Tenant,
}

impl Drop for Place {
    fn drop(&mut self) {
        let out = &self.members.0.out;
        let mut out = out.lock().unwrap_or_else(PoisonError::into_inner);
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

    /// The entity that a call is about which is out on this stream.
    pub fn entity_of(&self, call: CallId) -> Option<EntityId> {
        self.member.lock().out.get(&call).map(|out| out.entity)
    }

    /// Hands over an answer. One to a call that is not out on this stream changes nothing: it
    /// was answered, timed out, or never made.
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

    /// Notes that something has come from the member.
    pub fn saw(&self, now: Timestamp) {
        self.member.seen.store(now.micros(), Ordering::Relaxed);
    }

    /// Whether the member owes answers.
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
        // Dropping the senders fails the calls.
        let mut calls = self.member.lock();
        calls.gone = true;
        calls.out.clear();
    }
}

impl Member {
    fn lock(&self) -> std::sync::MutexGuard<'_, Calls> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
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

    fn in_flight(&self) -> usize {
        self.lock().out.len()
    }

    /// Notes that a call goes out; none if the member has gone.
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

/// An answer that is waited for; dropping it makes a late one unknown.
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
