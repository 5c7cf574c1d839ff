//! What a unit publishes to topics.

use std::sync::{Arc, OnceLock};

use foldhash::HashMap;

use crate::id::Tenant;
use crate::storage::{
    Error,
    port::{TopicHead, TopicKey, TopicRow},
};

/// What an event takes beside its payload, roughly.
pub(in crate::storage) const EVENT_BYTES: usize = 200;

/// An event to be added to a topic.
#[derive(Debug, Clone)]
pub struct NewTopicEvent {
    /// JSON.
    pub payload: Arc<str>,
    pub kind: Option<Arc<str>>,
    /// Which of them keep their order.
    pub key: Option<Arc<str>>,
    /// Identifies a repeat: it is not added again.
    pub id: Option<Arc<str>>,
}

impl NewTopicEvent {
    /// How many bytes it stores.
    pub(in crate::storage) fn bytes(&self) -> usize {
        let texts = [&self.kind, &self.key, &self.id];
        let texts = texts.into_iter().flatten().map(|text| text.len());
        self.payload.len() + texts.sum::<usize>()
    }
}

/// The sequences of published events, in their order: that of the first event with its id for one
/// that is a repeat. Known once the unit is committed.
#[derive(Debug, Clone, Default)]
pub struct Published(Arc<OnceLock<Vec<i64>>>);

impl Published {
    pub fn sequences(&self) -> &[i64] {
        self.0.get().map_or(&[], Vec::as_slice)
    }
}

/// Events that a unit adds to one topic.
#[derive(Debug, Clone)]
pub(in crate::storage) struct Publication {
    pub(in crate::storage) topic: TopicKey,
    pub(in crate::storage) events: Vec<NewTopicEvent>,
    /// The last sequence of the topic when the unit computed those of its events itself.
    pub(in crate::storage) expects: Option<i64>,
    pub(in crate::storage) published: Published,
}

impl Publication {
    /// How many bytes more are stored, were none of them a repeat.
    pub(in crate::storage) fn bytes(&self) -> i64 {
        let bytes: usize = self.events.iter().map(NewTopicEvent::bytes).sum();
        i64::try_from(bytes).unwrap_or(i64::MAX)
    }
}

/// A name, and whose it is.
type Name = (Tenant, TopicKey);

/// How far the topics of a batch go, after the units that survived so far.
#[derive(Debug, Default)]
pub(in crate::storage) struct TopicView {
    heads: HashMap<Name, TopicHead>,
    /// The sequences of events by their ids.
    ids: HashMap<(Name, Arc<str>), i64>,
}

/// Where the events of a publication go.
#[derive(Debug)]
pub(in crate::storage) struct Placed {
    pub(in crate::storage) head: TopicHead,
    /// The sequence of each event, and whether it is new.
    pub(in crate::storage) sequences: Vec<(i64, bool)>,
}

impl TopicView {
    pub(in crate::storage) fn know(&mut self, tenant: &Tenant, topic: &TopicKey, head: TopicHead) {
        self.heads.insert((tenant.clone(), topic.clone()), head);
    }

    pub(in crate::storage) fn know_id(
        &mut self,
        tenant: &Tenant,
        topic: &TopicKey,
        id: Arc<str>,
        sequence: i64,
    ) {
        let name = (tenant.clone(), topic.clone());
        self.ids.insert((name, id), sequence);
    }

    /// Fails if a topic has moved whose sequences the unit has computed itself.
    pub(in crate::storage) fn check(
        &self,
        tenant: &Tenant,
        publications: &[Publication],
    ) -> Result<(), Error> {
        let has_moved = |publication: &&Publication| {
            let name = (tenant.clone(), publication.topic.clone());
            let last = self.heads.get(&name).map_or(0, |head| head.last);
            publication.expects.is_some_and(|expected| expected != last)
        };
        match publications.iter().find(has_moved) {
            Some(_) => Err(Error::Conflict),
            None => Ok(()),
        }
    }

    /// Gives the events of a publication their sequences; a topic that is not there is made with
    /// a row.
    pub(in crate::storage) fn place(
        &mut self,
        tenant: &Tenant,
        publication: &Publication,
        new_row: impl FnOnce() -> TopicRow,
    ) -> Placed {
        let name = (tenant.clone(), publication.topic.clone());
        let known = self.heads.get(&name).copied();
        let mut head = known.unwrap_or_else(|| TopicHead {
            row: new_row(),
            last: 0,
        });
        let mut sequences = Vec::with_capacity(publication.events.len());
        for event in &publication.events {
            let known = event.id.as_ref();
            let known = known.and_then(|id| self.ids.get(&(name.clone(), Arc::clone(id))));
            if let Some(first) = known {
                sequences.push((*first, false));
                continue;
            }
            head.last += 1;
            sequences.push((head.last, true));
            if let Some(id) = &event.id {
                self.ids.insert((name.clone(), Arc::clone(id)), head.last);
            }
        }
        self.heads.insert(name, head);
        Placed { head, sequences }
    }
}

impl Published {
    /// Makes them known.
    pub(in crate::storage) fn set(&self, placed: &Placed) {
        let sequences = placed.sequences.iter().map(|(sequence, _)| *sequence);
        // A unit is placed once.
        let _ = self.0.set(sequences.collect());
    }
}
