//! Many entities at once, and pages of the feed.
#![cfg(test)]

use super::State;
use crate::entity::{ChangeKind, Changed, Json, Position, Sequence};
use crate::id::EntityId;
use crate::storage::port::{
    ChangeRange, Entry, LifecycleEntry, Lifecycles, ModelRow, Reached, ScanPage, ScanRequest,
    TenantRow, Version,
};

impl State {
    pub(in crate::storage) fn scan_page(&self, asked: ScanRequest) -> Reached {
        let tenant = self.model(asked.model.0).tenant;
        let (versions, reached) = self.scan(tenant, asked.model, asked.after, asked.at, asked.rows);
        (page_of(&versions), reached)
    }

    pub(in crate::storage) fn scan(
        &self,
        tenant: TenantRow,
        model: ModelRow,
        after: Option<EntityId>,
        at: Sequence,
        limit: i64,
    ) -> (Vec<Version>, Option<EntityId>) {
        let limit = usize::try_from(limit).expect("a number of rows");
        let of_model = |id: &EntityId| {
            let entity = self.entity(tenant, *id);
            after.is_none_or(|after| *id > after)
                && entity.is_some_and(|entity| entity.made.m == model.0)
        };
        let mut ids: Vec<_> = self.rows.keys().copied().filter(of_model).collect();
        ids.truncate(limit);
        let reached = ids.last().copied().filter(|_| ids.len() == limit);
        let versions = ids
            .into_iter()
            .filter_map(|id| self.as_of(tenant, id, at))
            .filter(|version| version.live)
            .collect();
        (versions, reached)
    }

    pub(in crate::storage) fn page(
        &self,
        model: ModelRow,
        limit: i64,
        offset: i64,
    ) -> Vec<(EntityId, Position)> {
        let [limit, offset] =
            [limit, offset].map(|number| usize::try_from(number).expect("a number of rows"));
        let page = self.live(model).skip(offset).take(limit);
        page.map(|entity| (EntityId::from_uuid(entity.made.id), Position(entity.n)))
            .collect()
    }

    pub(in crate::storage) fn page_as_of(
        &self,
        model: ModelRow,
        after: Option<EntityId>,
        at: Sequence,
        limit: i64,
        offset: i64,
    ) -> Vec<(EntityId, Position)> {
        let [limit, offset] =
            [limit, offset].map(|number| usize::try_from(number).expect("a number of rows"));
        let of_model = self.rows.iter().filter_map(|(id, e)| {
            let entity = &self.entities[e];
            let is_ahead = after.is_none_or(|after| *id > after) && entity.made.m == model.0;
            let then = entity.versions.iter().rev().find(|n| **n <= at.0)?;
            let was_there = self.versions[then].kind != ChangeKind::Delete;
            (is_ahead && was_there).then_some((*id, Position(*then)))
        });
        of_model.skip(offset).take(limit).collect()
    }

    pub(in crate::storage) fn next_version(&self, after: Position) -> Option<Position> {
        let mut next = self.versions.range(after.0 + 1..);
        next.next().map(|(n, _)| Position(*n))
    }

    pub(in crate::storage) fn changes(&self, range: &ChangeRange) -> (Vec<Changed>, Position) {
        let mut changes = Vec::new();
        let mut bytes = 0;
        for (n, version) in self.versions.range(range.after.0 + 1..=range.until.0) {
            let image = self.version(*n);
            let is_wanted = image.tenant == range.tenant
                && range.model.is_none_or(|model| model.0 == version.m)
                && range
                    .states
                    .as_ref()
                    .is_none_or(|states| states.contains(&image.image.state));
            if !is_wanted {
                continue;
            }
            let document = version.data.clone().filter(|_| range.documents);
            bytes += document.as_ref().map_or(0, |text| text.len());
            let is_full = changes.len() == range.limit || bytes > range.bytes;
            if is_full && let Some(Changed { position, .. }) = changes.last() {
                let reached = *position;
                return (changes, reached);
            }
            changes.push(Changed {
                position: Position(*n),
                entity: image.image.id,
                model: image.image.model,
                state: image.image.state,
                kind: version.kind,
                transaction: image.image.transaction,
                at: image.image.updated,
                document: document.map(Json::trusted),
            });
        }
        (changes, range.until)
    }
}

/// A page of these versions, with everything that is known of them.
fn page_of(versions: &[Version]) -> ScanPage {
    let (mut rows, mut documents) = (Vec::new(), String::new());
    let mut known = Lifecycles {
        states: String::new(),
        transitions: String::new(),
        all: Vec::new(),
    };
    let add = |text: &str, to: &mut String| {
        let from = to.len();
        to.push_str(text);
        (from, to.len())
    };
    for (index, version) in versions.iter().enumerate() {
        let image = &version.image;
        rows.push(Entry {
            id: image.id,
            position: version.position,
            document: Some(add(image.document.as_str(), &mut documents)),
            index,
        });
        known.all.push(LifecycleEntry {
            state: add(image.state.as_str(), &mut known.states),
            transition: add(image.transition_for_latest_save(), &mut known.transitions),
            created: image.created,
            updated: image.updated,
            transaction: image.transaction,
        });
    }
    ScanPage::new(rows, documents, Some(known))
}
