//! The result of a search, delivered in parts.

use std::vec;

use super::filter::Candidate;
use crate::entity::{Image, Position};
use crate::error::Failure;
use crate::id::EntityId;
use crate::storage::{Snapshot, Version};

/// How many entities are read at once when they are sent.
const PART: usize = 256;

/// A matching entity.
#[derive(Debug)]
pub(super) enum Hit {
    /// To be read again: versions never change.
    At(EntityId, Position),
    /// Small enough to keep, or visible only in the calling transaction.
    Held(Box<Version>),
}

/// Documents up to this size may be kept for the hits of a small search, in bytes.
const SMALL: usize = 16 << 10;

impl Hit {
    pub(super) const fn id(&self) -> EntityId {
        match self {
            Self::At(id, _) => *id,
            Self::Held(version) => version.image.id,
        }
    }

    /// Drops the document, unless it cannot be read again.
    pub(super) fn of(found: Candidate<'_>) -> Self {
        match found {
            Candidate::Version(version) if !version.is_committed() => {
                Self::Held(Box::new(version.clone()))
            }
            Candidate::Version(_) | Candidate::Row(_) => Self::At(found.id(), found.position()),
        }
    }

    /// Keeps the document of one of a few hits.
    pub(super) fn of_few(found: Candidate<'_>) -> Self {
        match found {
            Candidate::Version(version) if version.image.document.as_str().len() <= SMALL => {
                Self::Held(Box::new(version.clone()))
            }
            Candidate::Version(_) | Candidate::Row(_) => Self::of(found),
        }
    }
}

/// The matching entities.
#[derive(Debug)]
pub struct Hits {
    snapshot: Snapshot,
    hits: Vec<Hit>,
}

/// The matching entities while they are sent.
#[derive(Debug)]
pub struct Outgoing {
    snapshot: Snapshot,
    hits: vec::IntoIter<Hit>,
}

impl Hits {
    pub(super) const fn of(snapshot: Snapshot, hits: Vec<Hit>) -> Self {
        Self { snapshot, hits }
    }

    pub(super) fn at(snapshot: Snapshot, positions: Vec<(EntityId, Position)>) -> Self {
        let hits = positions
            .into_iter()
            .map(|(id, position)| Hit::At(id, position))
            .collect();
        Self { snapshot, hits }
    }

    pub const fn len(&self) -> usize {
        self.hits.len()
    }

    pub const fn is_empty(&self) -> bool {
        self.hits.is_empty()
    }

    /// The committed entities that were found, with their positions.
    pub fn seen(&self) -> impl Iterator<Item = (EntityId, Position)> {
        self.hits.iter().filter_map(|hit| match hit {
            Hit::At(id, position) => Some((*id, *position)),
            Hit::Held(version) if version.is_committed() => {
                Some((version.image.id, version.position))
            }
            Hit::Held(_) => None,
        })
    }

    pub fn into_outgoing(self) -> Outgoing {
        Outgoing {
            snapshot: self.snapshot,
            hits: self.hits.into_iter(),
        }
    }
}

impl Outgoing {
    /// Whether everything was returned.
    pub fn is_empty(&self) -> bool {
        self.hits.as_slice().is_empty()
    }

    /// The next entities, in order; none at the end. At most one part; a part may be empty if none
    /// of its entities is visible to this tenant.
    pub async fn next(&mut self) -> Result<Option<Vec<Image>>, Failure> {
        let ahead = self.hits.as_slice();
        let part = &ahead[..ahead.len().min(PART)];
        if part.is_empty() {
            return Ok(None);
        }
        let positions: Vec<Position> = part
            .iter()
            .filter_map(|hit| match hit {
                Hit::At(_, position) => Some(*position),
                Hit::Held(_) => None,
            })
            .collect();
        let (committed, mut reached) = if positions.is_empty() {
            (Vec::new(), 0)
        } else {
            self.snapshot.versions(&positions).await?
        };
        let mut committed = committed.into_iter().peekable();
        let mut images = Vec::with_capacity(part.len());
        for _ in 0..part.len() {
            // The rest of the part comes next.
            if matches!(self.hits.as_slice().first(), Some(Hit::At(..))) && reached == 0 {
                break;
            }
            match self.hits.next() {
                Some(Hit::At(_, position)) => {
                    reached -= 1;
                    let is_it = |version: &Version| version.position == position;
                    images.extend(committed.next_if(is_it).map(|version| version.image));
                }
                Some(Hit::Held(version)) => images.push(version.image),
                None => break,
            }
        }
        Ok(Some(images))
    }
}
