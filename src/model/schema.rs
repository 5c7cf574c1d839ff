//! The schema of the documents of a model: a tree of nodes.

use std::sync::Arc;

use foldhash::fast::RandomState;
use indexmap::{IndexMap, map};

use super::types::{DataType, Types};
use crate::entity::{Path, Step};

/// How many bytes a node counts in addition to its name.
pub(super) const NODE_BYTES: usize = 64;

/// How many names are compared with one that is not known, and how long they may be: that takes
/// time for each pair of characters.
const COMPARED_MAX: usize = 500;
const COMPARED_BYTES_MAX: usize = 48;

/// Up to how many new members are each put into their place: to sort them in looks at all members,
/// which adds up where each document of many adds one.
const PLACED_MAX: usize = 8;

/// The schema of one model.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Schema {
    pub root: Node,
}

impl Schema {
    /// Roughly how many bytes it takes.
    pub(super) fn bytes(&self) -> usize {
        self.root.bytes()
    }

    /// Whether documents may have a text as a member of that name.
    pub fn has_text(&self, name: &str) -> bool {
        let members = self.root.members.as_ref();
        let member = members.and_then(|members| members.get(name));
        member.is_some_and(|member| member.types.any(|of| of == DataType::String))
    }

    /// The known path that was probably meant by an unknown one: one name in it is another, similar
    /// one.
    pub fn nearest(&self, path: &Path) -> Option<Path> {
        let mut node = &self.root;
        let steps = path.steps();
        for (at, step) in steps.iter().enumerate() {
            if let Some(next) = node.within(step) {
                node = next;
                continue;
            }
            let Step::Member(name) = step else {
                return None;
            };
            let mut renamed = steps.to_vec();
            renamed[at] = Step::Member(similar(name, node.members.as_ref()?)?);
            return Some(Path::from_steps(renamed)).filter(|path| self.root.at(path).is_some());
        }
        None
    }

    /// Whether there are scalars at a path, or among the elements of a list there, so that an index
    /// can use it.
    pub fn has_scalars_at(&self, path: &Path) -> bool {
        let node = self.root.at(path);
        let element = node.and_then(|node| node.element.as_deref());
        [node, element]
            .into_iter()
            .flatten()
            .any(|node| !node.types.is_empty())
    }
}

/// What has been seen at one place: any of an object, a list and leaves.
///
/// If one kind must be named, the structural ones win; the types of leaves stay attached
/// (`models-and-entities.md` §3.5).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Node {
    pub types: Types,
    pub members: Option<SchemaMembers>,
    pub element: Option<Box<Self>>,
}

/// The members of an object in name order. They are looked up for each member of each document, so
/// by hash: that takes a third of a tree's time (measured).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SchemaMembers(IndexMap<Arc<str>, Node, RandomState>);

impl SchemaMembers {
    pub fn get(&self, name: &str) -> Option<&Node> {
        self.0.get(name)
    }

    pub fn iter(&self) -> map::Iter<'_, Arc<str>, Node> {
        self.0.iter()
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The node of a member, which is added if it is new; the members have to be sorted then.
    pub(super) fn entry(&mut self, name: &str) -> &mut Node {
        let at = self.0.get_index_of(name);
        let at = at.unwrap_or_else(|| self.0.insert_full(name.into(), Node::default()).0);
        &mut self.0[at]
    }

    /// Adds a new member; fastest if names arrive in order.
    pub(super) fn insert(&mut self, name: Arc<str>, node: Node) {
        self.0.insert_sorted(name, node);
    }
}

impl Extend<(Arc<str>, Node)> for SchemaMembers {
    /// Adds members, and merges those that exist.
    fn extend<T: IntoIterator<Item = (Arc<str>, Node)>>(&mut self, members: T) {
        let members = members.into_iter();
        if members.size_hint().1.is_some_and(|most| most <= PLACED_MAX) {
            for (name, node) in members {
                match self.0.get_mut(&name) {
                    Some(known) => *known = std::mem::take(known).merge(node),
                    None => self.insert(name, node),
                }
            }
            return;
        }
        let len = self.0.len();
        for (name, node) in members {
            match self.0.entry(name) {
                map::Entry::Occupied(mut known) => {
                    let merged = std::mem::take(known.get_mut()).merge(node);
                    known.insert(merged);
                }
                map::Entry::Vacant(place) => {
                    place.insert(node);
                }
            }
        }
        if self.0.len() > len {
            // The stable sort makes use of what is already in order, which is mostly all of it.
            self.0.sort_keys();
        }
    }
}

impl FromIterator<(Arc<str>, Node)> for SchemaMembers {
    fn from_iter<T: IntoIterator<Item = (Arc<str>, Node)>>(members: T) -> Self {
        let mut all = Self::default();
        all.extend(members);
        all
    }
}

impl IntoIterator for SchemaMembers {
    type Item = (Arc<str>, Node);
    type IntoIter = map::IntoIter<Arc<str>, Node>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl<'a> IntoIterator for &'a SchemaMembers {
    type Item = (&'a Arc<str>, &'a Node);
    type IntoIter = map::Iter<'a, Arc<str>, Node>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl Node {
    pub fn leaf(types: Types) -> Self {
        Self {
            types,
            ..Self::default()
        }
    }

    pub fn array(element: Self) -> Self {
        Self {
            element: Some(Box::new(element)),
            ..Self::default()
        }
    }

    pub const fn is_structure(&self) -> bool {
        self.members.is_some() || self.element.is_some()
    }

    fn bytes(&self) -> usize {
        let members = self.members.iter().flatten();
        let members = members.map(|(name, node)| name.len() + node.bytes());
        let element = self.element.as_ref().map_or(0, |element| element.bytes());
        NODE_BYTES + members.sum::<usize>() + element
    }

    /// Sorts the members of everything within it.
    pub(super) fn sort(&mut self) {
        if let Some(SchemaMembers(members)) = &mut self.members {
            members.values_mut().for_each(Self::sort);
            members.sort_unstable_keys();
        }
        if let Some(element) = &mut self.element {
            element.sort();
        }
    }

    /// The same, with `NULL` as the element of lists that were empty (`models-and-entities.md`
    /// §3.1).
    #[must_use]
    pub(super) fn settled(self) -> Self {
        let settled = |(name, node): (_, Self)| (name, node.settled());
        Self {
            types: self.types,
            members: self
                .members
                .map(|members| members.into_iter().map(settled).collect()),
            element: self
                .element
                .map(|element| Box::new(element.settled_element())),
        }
    }

    /// The same for the element of a list.
    #[must_use]
    pub(super) fn settled_element(self) -> Self {
        if self == Self::default() {
            Self::leaf(Types::of(DataType::Null))
        } else {
            self.settled()
        }
    }

    /// The union of both.
    #[must_use]
    pub fn merge(self, other: Self) -> Self {
        Self {
            types: self.types.merge(other.types),
            members: merge_options(self.members, other.members, |mut members, others| {
                members.extend(others);
                members
            }),
            element: merge_options(self.element, other.element, |a, b| Box::new(a.merge(*b))),
        }
    }

    /// The node at a path, if the path is known. A list without `[*]` stands for its elements if a
    /// leaf is needed.
    pub fn at(&self, path: &Path) -> Option<&Self> {
        path.steps().iter().try_fold(self, Self::within)
    }

    fn within(&self, step: &Step) -> Option<&Self> {
        match step {
            Step::Member(name) => match &self.members {
                Some(members) if members.get(name).is_some() => members.get(name),
                _ if name.parse::<usize>().is_ok() => self.element.as_deref(),
                _ => None,
            },
            Step::Element(_) | Step::Each => self.element.as_deref(),
        }
    }
}

impl Schema {
    #[must_use]
    pub fn merge(mut self, other: Self) -> Self {
        self.add(other);
        self
    }

    /// Becomes the union of both.
    pub fn add(&mut self, other: Self) {
        self.root = std::mem::take(&mut self.root).merge(other.root);
    }
}

/// The most similar name of a member, unless all are mostly different.
fn similar(name: &str, members: &SchemaMembers) -> Option<Arc<str>> {
    let is_short = |name: &str| name.len() <= COMPARED_BYTES_MAX;
    if !is_short(name) {
        return None;
    }
    let known = members.iter().map(|(known, _)| known);
    let known = known.take(COMPARED_MAX).filter(|known| is_short(known));
    let distance = |known: &str| strsim::osa_distance(name, known);
    let (distance, nearest) = known.map(|known| (distance(known), known)).min()?;
    (distance <= (name.len() + 1) / 3).then(|| Arc::clone(nearest))
}

fn merge_options<T>(a: Option<T>, b: Option<T>, both: impl FnOnce(T, T) -> T) -> Option<T> {
    match (a, b) {
        (Some(a), Some(b)) => Some(both(a, b)),
        (one, other) => one.or(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entity::Document;

    #[test]
    fn a_misspelled_path_is_near_the_one_that_is_meant() {
        let sample = r#"{"total":1,"lines":[{"sku":"a"}],"customer":{"name":"A","x":1},"on":true}"#;
        let schema = Schema::infer(&Document::parse(sample).expect("JSON"));
        for (unknown, meant) in [
            ("$.totl", Some("$.total")),
            ("$.Total", Some("$.total")),
            ("$.lines[*].skus", Some("$.lines[*].sku")),
            ("$.custmer.name", Some("$.customer.name")),
            ("$.no", Some("$.on")),
            ("$.customer.y", None),
            // What would follow is not known there.
            ("$.custmer.names", None),
            ("$.country", None),
            ("$.total.net", None),
            ("$.total[0]", None),
        ] {
            let nearest = schema.nearest(&Path::parse(unknown).expect("a path"));
            let nearest = nearest.map(|path| path.to_string());
            assert_eq!(nearest.as_deref(), meant, "{unknown}");
        }
    }
}
