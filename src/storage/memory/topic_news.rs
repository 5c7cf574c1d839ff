//! What was published to topics, for those that start work by it or forget what it outdates.

use std::{
    collections::{HashMap, HashSet},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use parking_lot::{Mutex, MutexGuard};
use tokio::sync::Notify;

use crate::id::Tenant;
use crate::storage::{draft::Draft, port::TopicKey};

/// The types of events that were published, by namespace.
pub type PublishedTypes = HashMap<Arc<str>, HashSet<Arc<str>>>;

/// What was published since it was last asked for.
///
/// A mutex, not a task: held to add or to take a few names.
#[derive(Debug, Default)]
pub(in crate::storage) struct TopicNews {
    /// Nothing is collected before somebody asks for the first time.
    is_watched: AtomicBool,
    published: Mutex<Publications>,
    news: Notify,
}

#[derive(Debug, Default)]
struct Publications {
    /// The topics that have got events.
    topics: HashSet<(Tenant, TopicKey)>,
    types: HashMap<Tenant, PublishedTypes>,
}

impl Publications {
    fn add_type(&mut self, tenant: &Tenant, namespace: &Arc<str>, kind: &Arc<str>) {
        let of_tenant = self.types.entry(tenant.clone()).or_default();
        let types = of_tenant.entry(Arc::clone(namespace)).or_default();
        types.insert(Arc::clone(kind));
    }
}

impl TopicNews {
    fn lock(&self) -> MutexGuard<'_, Publications> {
        self.published.lock()
    }

    fn is_watched(&self) -> bool {
        self.is_watched.load(Ordering::Acquire)
    }

    /// Notes what a unit has published that is durable.
    pub(in crate::storage) fn committed(&self, draft: &Draft) {
        if draft.publications.is_empty() || !self.is_watched() {
            return;
        }
        let mut published = self.lock();
        for one in &draft.publications {
            let topic = one.topic.clone();
            let types = one.events.iter().filter_map(|event| event.kind.as_ref());
            for kind in types {
                published.add_type(&draft.tenant, &topic.namespace, kind);
            }
            published.topics.insert((draft.tenant.clone(), topic));
        }
        drop(published);
        self.news.notify_one();
    }

    /// Notes a topic that any process has published to.
    pub(in crate::storage) fn note(&self, tenant: &Tenant, topic: TopicKey) {
        if self.is_watched() {
            self.lock().topics.insert((tenant.clone(), topic));
            self.news.notify_one();
        }
    }

    /// Notes a type of events that any process has published.
    pub(in crate::storage) fn note_type(
        &self,
        tenant: &Tenant,
        namespace: &Arc<str>,
        kind: &Arc<str>,
    ) {
        if self.is_watched() {
            self.lock().add_type(tenant, namespace, kind);
        }
    }

    /// The topics that have got events since the last call.
    pub(in crate::storage) fn take(&self) -> HashSet<(Tenant, TopicKey)> {
        self.is_watched.store(true, Ordering::Release);
        std::mem::take(&mut self.lock().topics)
    }

    /// The types of the events since the last call.
    pub(in crate::storage) fn take_types(&self) -> HashMap<Tenant, PublishedTypes> {
        self.is_watched.store(true, Ordering::Release);
        std::mem::take(&mut self.lock().types)
    }

    /// Returns once there may be some; one caller at a time.
    pub(in crate::storage) async fn changed(&self) {
        self.is_watched.store(true, Ordering::Release);
        self.news.notified().await;
    }
}
