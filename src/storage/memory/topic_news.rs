//! Which topics have new events, for those that start work by them.

use std::{
    collections::HashSet,
    sync::atomic::{AtomicBool, Ordering},
};

use parking_lot::{Mutex, MutexGuard};
use tokio::sync::Notify;

use crate::id::Tenant;
use crate::storage::{draft::Draft, port::TopicKey};

/// The topics that have got events since they were last asked for.
///
/// A mutex, not a task: held to add or to take a few names.
#[derive(Debug, Default)]
pub(in crate::storage) struct TopicNews {
    /// Nothing is collected before somebody asks for the first time.
    is_watched: AtomicBool,
    changed: Mutex<HashSet<(Tenant, TopicKey)>>,
    news: Notify,
}

impl TopicNews {
    fn lock(&self) -> MutexGuard<'_, HashSet<(Tenant, TopicKey)>> {
        self.changed.lock()
    }

    /// Notes what a unit has published that is durable.
    pub(in crate::storage) fn committed(&self, draft: &Draft) {
        if draft.publications.is_empty() || !self.is_watched.load(Ordering::Acquire) {
            return;
        }
        let topics = draft.publications.iter();
        let topics = topics.map(|one| (draft.tenant.clone(), one.topic.clone()));
        self.lock().extend(topics);
        self.news.notify_one();
    }

    /// Notes a topic that any process has published to.
    pub(in crate::storage) fn note(&self, tenant: &Tenant, topic: TopicKey) {
        if self.is_watched.load(Ordering::Acquire) {
            self.lock().insert((tenant.clone(), topic));
            self.news.notify_one();
        }
    }

    /// Those that have got events since the last call.
    pub(in crate::storage) fn take(&self) -> HashSet<(Tenant, TopicKey)> {
        self.is_watched.store(true, Ordering::Release);
        std::mem::take(&mut *self.lock())
    }

    /// Returns once there may be some; one caller at a time.
    pub(in crate::storage) async fn changed(&self) {
        self.is_watched.store(true, Ordering::Release);
        self.news.notified().await;
    }
}
