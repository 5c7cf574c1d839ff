//! What documents of a model look like: a tree of nodes.

use std::{collections::BTreeMap, sync::Arc};

use super::types::{DataType, Types};
use crate::entity::{Path, Step};

/// The shape of the documents of one model.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Schema {
    pub root: Node,
}

impl Schema {
    /// Whether there are scalars at a path, or among the elements of a list there: whether an
    /// index can be by it.
    pub fn has_scalars_at(&self, path: &Path) -> bool {
        let node = self.root.at(path);
        let element = node.and_then(|node| node.element.as_deref());
        [node, element]
            .into_iter()
            .flatten()
            .any(|node| !node.types.is_empty())
    }
}

/// What has been seen at one place: any of an object, an array and leaves.
///
/// The structural kinds win where one must be named; the types of leaves stay attached
/// (`models-and-entities.md` §3.5).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Node {
    pub types: Types,
    pub members: Option<BTreeMap<Arc<str>, Self>>,
    pub element: Option<Box<Self>>,
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

    /// The same, where of arrays that were empty the elements are `NULL`
    /// (`models-and-entities.md` §3.1).
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

    /// The same for the element of an array.
    #[must_use]
    pub(super) fn settled_element(self) -> Self {
        if self == Self::default() {
            Self::leaf(Types::of(DataType::Null))
        } else {
            self.settled()
        }
    }

    /// What both have seen.
    #[must_use]
    pub fn merge(self, other: Self) -> Self {
        Self {
            types: self.types.merge(other.types),
            members: merge_options(self.members, other.members, merge_members),
            element: merge_options(self.element, other.element, |a, b| Box::new(a.merge(*b))),
        }
    }

    /// The node at the end of a path, if the path is known. An array may be named bare, and then
    /// stands for its elements when a leaf is wanted.
    pub fn at(&self, path: &Path) -> Option<&Self> {
        path.steps().iter().try_fold(self, |node, step| match step {
            Step::Member(name) => match &node.members {
                Some(members) if members.contains_key(name) => members.get(name),
                _ if name.parse::<usize>().is_ok() => node.element.as_deref(),
                _ => None,
            },
            Step::Element(_) | Step::Each => node.element.as_deref(),
        })
    }
}

impl Schema {
    #[must_use]
    pub fn merge(self, other: Self) -> Self {
        Self {
            root: self.root.merge(other.root),
        }
    }
}

fn merge_options<T>(a: Option<T>, b: Option<T>, both: impl FnOnce(T, T) -> T) -> Option<T> {
    match (a, b) {
        (Some(a), Some(b)) => Some(both(a, b)),
        (one, other) => one.or(other),
    }
}

fn merge_members(
    mut into: BTreeMap<Arc<str>, Node>,
    from: BTreeMap<Arc<str>, Node>,
) -> BTreeMap<Arc<str>, Node> {
    for (name, node) in from {
        let merged = match into.remove(&name) {
            Some(known) => known.merge(node),
            None => node,
        };
        into.insert(name, merged);
    }
    into
}
