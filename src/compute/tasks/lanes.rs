//! Tasks that wait for a taker: in lanes of equal requirements, each by priority and age.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use super::spec::{Dispatch, Labels, TaskKind, TaskSpec};
use crate::dispatch::Tags;
use crate::entity::Position;
use crate::id::DEFAULT_NAMESPACE;

/// What a taker is looked up by.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Capability {
    /// A member or worker that announced the action in that namespace.
    Action(Arc<str>, Arc<str>),
    /// Any member with the tags, by a call of a processor.
    Processor,
    /// A member with the tags, in that namespace if it announced one.
    Tagged(Arc<str>),
}

/// What a task requires of its taker.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Requirement {
    pub(super) capability: Capability,
    pub(super) tags: Tags,
    pub(super) labels: Labels,
}

impl From<&TaskSpec> for Requirement {
    fn from(spec: &TaskSpec) -> Self {
        let of_kind = |tag: String| {
            let tags = spec.tags.iter().chain([tag.as_str()]);
            tags.collect::<Tags>()
        };
        let namespace = || Arc::clone(&spec.namespace);
        let (capability, tags) = match (spec.kind, spec.dispatch) {
            (TaskKind::Action, Dispatch::Task) => (
                Capability::Action(namespace(), Arc::clone(&spec.name)),
                spec.tags.clone(),
            ),
            (TaskKind::Action, Dispatch::Processor) => (Capability::Processor, spec.tags.clone()),
            (TaskKind::Connector, _) => (
                Capability::Tagged(namespace()),
                of_kind(format!("connector:{}", spec.name)),
            ),
            (TaskKind::Item, _) => (
                Capability::Tagged(namespace()),
                of_kind(format!("workflow:{}", spec.name)),
            ),
        };
        Self {
            capability,
            tags,
            labels: spec.labels.clone(),
        }
    }
}

/// The place of a task in its lane: higher priorities first, then older tasks.
pub(super) type LanePosition = (Reverse<u8>, Position, u64);

type Lane = BTreeMap<LanePosition, Arc<str>>;

/// All that wait, of one tenant.
#[derive(Debug, Default)]
pub(super) struct Lanes(BTreeMap<Capability, BTreeMap<(Tags, Labels), Lane>>);

impl Lanes {
    pub(super) fn push(&mut self, of: &Requirement, place: LanePosition, task: Arc<str>) {
        self.0
            .entry(of.capability.clone())
            .or_default()
            .entry((of.tags.clone(), of.labels.clone()))
            .or_default()
            .insert(place, task);
    }

    pub(super) fn remove(&mut self, of: &Requirement, place: LanePosition) {
        let Some(group) = self.0.get_mut(&of.capability) else {
            return;
        };
        let key = (of.tags.clone(), of.labels.clone());
        if let Some(lane) = group.get_mut(&key) {
            lane.remove(&place);
            if lane.is_empty() {
                group.remove(&key);
            }
        }
        if group.is_empty() {
            self.0.remove(&of.capability);
        }
    }

    /// The first task of each kind.
    pub(super) fn firsts(&self) -> impl Iterator<Item = &Arc<str>> {
        let lanes = self.0.values().flat_map(BTreeMap::values);
        lanes.filter_map(|lane| lane.values().next())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The first task that a taker of these capabilities, tags and labels can do.
    pub(super) fn first(&self, offer: &Offer<'_>) -> Option<&Arc<str>> {
        let fitting = offer.groups(&self.0).flat_map(|group| {
            let lanes = group
                .iter()
                .filter(|((tags, labels), _)| offer.has(tags, labels));
            lanes.filter_map(|(_, lane)| lane.first_key_value())
        });
        fitting.min_by_key(|(place, _)| **place).map(|(_, id)| id)
    }
}

/// The actions that somebody does.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Actions {
    pub(super) all: bool,
    pub(super) names: BTreeSet<Arc<str>>,
}

/// The name that stands for every action.
const EVERY: &str = "*";

impl<'a> FromIterator<&'a str> for Actions {
    fn from_iter<I: IntoIterator<Item = &'a str>>(names: I) -> Self {
        let mut actions = Self::default();
        for name in names {
            if name == EVERY {
                actions.all = true;
            } else {
                actions.names.insert(name.into());
            }
        }
        actions
    }
}

impl Actions {
    pub(super) fn contain(&self, name: &str) -> bool {
        self.all || self.names.contains(name)
    }

    /// The names as they were announced.
    pub(super) fn list(&self) -> Vec<Arc<str>> {
        let every = self.all.then(|| EVERY.into());
        every
            .into_iter()
            .chain(self.names.iter().cloned())
            .collect()
    }
}

/// What a taker offers.
pub(super) struct Offer<'a> {
    /// The namespace it announced.
    pub(super) namespace: Option<&'a Arc<str>>,
    pub(super) actions: &'a Actions,
    pub(super) tags: &'a Tags,
    pub(super) labels: &'a Labels,
    /// Whether it is a member, which can be called.
    pub(super) is_member: bool,
}

type Group = BTreeMap<(Tags, Labels), Lane>;

impl Offer<'_> {
    pub(super) fn fits(&self, required: &Requirement) -> bool {
        let may = match &required.capability {
            Capability::Action(namespace, name) => {
                self.namespace() == &**namespace && self.actions.contain(name)
            }
            Capability::Processor => self.is_member,
            Capability::Tagged(namespace) => {
                self.is_member && self.namespace.is_none_or(|own| own == namespace)
            }
        };
        may && self.has(&required.tags, &required.labels)
    }

    fn has(&self, tags: &Tags, labels: &Labels) -> bool {
        let equal = |(name, value)| self.labels.get(name) == Some(value);
        self.tags.satisfy(tags) && labels.iter().all(equal)
    }

    fn namespace(&self) -> &str {
        self.namespace.map_or(DEFAULT_NAMESPACE, AsRef::as_ref)
    }

    fn groups<'g>(&self, all: &'g BTreeMap<Capability, Group>) -> impl Iterator<Item = &'g Group> {
        let namespace: Arc<str> = self.namespace().into();
        let mut found = Vec::new();
        if self.actions.all {
            let from = Capability::Action(Arc::clone(&namespace), "".into());
            let in_namespace = |capability: &Capability| matches!(capability, Capability::Action(of, _) if *of == namespace);
            let range = all.range(from..).take_while(|(key, _)| in_namespace(key));
            found.extend(range.map(|(_, group)| group));
        } else {
            let key = |name| Capability::Action(Arc::clone(&namespace), Arc::clone(name));
            found.extend(
                self.actions
                    .names
                    .iter()
                    .filter_map(|name| all.get(&key(name))),
            );
        }
        if self.is_member {
            found.extend(all.get(&Capability::Processor));
            if let Some(own) = self.namespace {
                found.extend(all.get(&Capability::Tagged(Arc::clone(own))));
            } else {
                let tagged = all.range(Capability::Tagged("".into())..);
                found.extend(tagged.map(|(_, group)| group));
            }
        }
        found.into_iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn required(capability: Capability, tags: &str) -> Requirement {
        Requirement {
            capability,
            tags: Tags::parse(tags),
            labels: Labels::new(),
        }
    }

    #[test]
    fn a_taker_gets_the_first_task_that_it_can_do() {
        let action = |name: &str| Capability::Action("default".into(), name.into());
        let mut lanes = Lanes::default();
        let rows = [
            (required(action("a"), "x"), 10, "tagged"),
            (required(action("a"), ""), 5, "low"),
            (required(action("b"), ""), 20, "high"),
            (required(Capability::Processor, ""), 30, "processor"),
            (
                required(Capability::Tagged("other".into()), ""),
                40,
                "elsewhere",
            ),
        ];
        for (number, (of, priority, name)) in rows.iter().enumerate() {
            let place = (Reverse(*priority), Position(0), number as u64);
            lanes.push(of, place, (*name).into());
        }
        let first = |actions: &[&str], tags: &str, namespace: Option<&str>, is_member| {
            let (actions, tags) = (actions.iter().copied().collect(), Tags::parse(tags));
            let namespace = namespace.map(Arc::from);
            let offer = Offer {
                namespace: namespace.as_ref(),
                actions: &actions,
                tags: &tags,
                labels: &Labels::new(),
                is_member,
            };
            for (of, _, name) in &rows {
                if offer.fits(of) {
                    assert!(lanes.first(&offer).is_some(), "{name}");
                }
            }
            lanes.first(&offer).map(ToString::to_string)
        };
        for (actions, tags, namespace, is_member, expected) in [
            (&["a"][..], "", None, false, Some("low")),
            (&["a"], "x", None, false, Some("tagged")),
            (&["a", "b"], "", None, false, Some("high")),
            (&["*"], "", None, false, Some("high")),
            (&["*"], "", Some("other"), false, None),
            (&[], "", None, true, Some("elsewhere")),
            (&[], "", Some("mine"), true, Some("processor")),
            (&[], "", None, false, None),
        ] {
            let found = first(actions, tags, namespace, is_member);
            assert_eq!(
                found.as_deref(),
                expected,
                "{actions:?} {tags} {namespace:?}"
            );
        }
        for (number, (of, priority, _)) in rows.iter().enumerate() {
            lanes.remove(of, (Reverse(*priority), Position(0), number as u64));
        }
        assert!(lanes.0.is_empty());
    }
}
