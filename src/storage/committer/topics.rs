//! Giving the events of topics their sequences.

use std::{collections::HashMap, sync::Arc};

use super::{Committer, rows::Rows};
use crate::storage::{
    Error, Storage,
    draft::{Committed, Draft, TopicView},
    port::{TenantRow, TopicEventRow, TopicPut, TopicRow},
    validate::View,
};

impl Committer {
    /// Adds the rows of what a unit publishes, and makes the sequences known.
    pub(super) fn publish(
        &mut self,
        tenant: TenantRow,
        draft: &Draft,
        committed: Committed,
        view: &mut View,
        rows: &mut Rows,
    ) {
        for publication in &draft.publications {
            let newest = &mut self.newest_topic;
            let placed = view.topics.place(&draft.tenant, publication, || {
                let row = newest.map_or(1, |TopicRow(newest)| newest + 1);
                *newest.insert(TopicRow(row))
            });
            rows.batch.topics.push(TopicPut {
                o: placed.head.row.0,
                t: tenant.0,
                ns: Arc::clone(&publication.topic.namespace),
                name: Arc::clone(&publication.topic.name),
                last: placed.head.last,
            });
            for (event, (n, is_new)) in publication.events.iter().zip(&placed.sequences) {
                if *is_new {
                    rows.batch.topic_events.push(TopicEventRow {
                        o: placed.head.row.0,
                        n: *n,
                        at: committed.at.micros(),
                        id: event.id.clone(),
                        key: event.key.clone(),
                        kind: event.kind.clone(),
                        data: Arc::clone(&event.payload),
                    });
                }
            }
            // Not before it is written: it may have to be placed again.
            rows.placed.push((publication.published.clone(), placed));
        }
    }
}

/// How far the topics go that units publish to; of none, without a trip.
pub(super) async fn topics<'a>(
    storage: &Storage,
    newest: &mut Option<TopicRow>,
    drafts: impl Iterator<Item = &'a Draft>,
) -> Result<TopicView, Error> {
    let mut view = TopicView::default();
    let mut asked = HashMap::new();
    for draft in drafts {
        for publication in &draft.publications {
            let name = (draft.tenant.clone(), publication.topic.clone());
            let ids: &mut Vec<Arc<str>> = asked.entry(name).or_default();
            ids.extend(
                publication
                    .events
                    .iter()
                    .filter_map(|event| event.id.clone()),
            );
        }
    }
    if asked.is_empty() {
        return Ok(view);
    }
    let database = &storage.0.database;
    if newest.is_none() {
        *newest = Some(database.newest_topic().await?);
    }
    let (mut names, mut keys) = (Vec::new(), Vec::new());
    for (name, ids) in &asked {
        // A tenant that has never written has no topics.
        if let Some(row) = storage.tenant_row(&name.0).await? {
            names.push((row, name.1.clone()));
            keys.push((name, ids));
        }
    }
    for (place, head) in database.topic_heads(&names).await? {
        let Some(((tenant, topic), ids)) = keys.get(place) else {
            continue;
        };
        view.know(tenant, topic, head);
        if !ids.is_empty() {
            for (id, sequence) in database.topic_ids(head.row, ids).await? {
                view.know_id(tenant, topic, id, sequence);
            }
        }
    }
    Ok(view)
}
