//! The entity of a run, and what the run starts from.

use std::{mem, sync::Arc, time::Duration};

use super::{Session, machines::EntityEvent};
use crate::engine::RunRecord;
use crate::entity::{Document, Image, Json};
use crate::error::Failure;
use crate::id::DispatchKey;
use crate::storage::{Attribution, Definitions, Task, Version};

/// The entity of a run, as the unit holds it.
pub(super) struct Anchor {
    pub(super) definitions: Arc<Definitions>,
    pub(super) origin: Origin,
    /// The attribution, if it differs from the unit's.
    pub(super) by: Option<Attribution>,
    /// The event of a state machine that the transition is taken for.
    pub(super) event: Option<Arc<EntityEvent>>,
}

/// What a run starts from.
pub(super) enum Origin {
    /// A new entity.
    New,
    /// A version of it.
    At(Version),
    /// A version, by a due task that the run completes.
    Fired(Version, DueTask),
    /// A version that was committed before a call, by the task that was committed with it.
    Resumed(Version, Resumption),
    /// A version that this run has committed, with the task that resumes it if this run does not.
    Committed(Version, Option<Rest>),
}

/// A due task.
pub(super) struct DueTask {
    pub(super) task: Task,
    /// The tasks of the entity, if they were read with it.
    pub(super) tasks: Option<Vec<Task>>,
    /// The pause before a part that fails after the rest was committed is retried.
    pub(super) pause: Duration,
}

/// A run that another one has begun.
pub(super) struct Resumption {
    pub(super) rest: Rest,
    /// The call it begins with; everything before it is already committed.
    pub(super) dispatch: DispatchKey,
}

/// What a partly committed run has left to do.
pub(super) struct Rest {
    pub(super) task: Task,
    /// The pause before it is retried if it fails; none if it is dropped then.
    pub(super) pause: Option<Duration>,
}

impl Anchor {
    pub(super) const fn new(
        definitions: Arc<Definitions>,
        origin: Origin,
        by: Option<Attribution>,
    ) -> Self {
        Self {
            definitions,
            origin,
            by,
            event: None,
        }
    }

    /// Stages an image of the entity in the unit.
    pub(super) fn stage(
        &self,
        session: &mut Session,
        image: Image,
        record: Option<RunRecord>,
    ) -> Result<(), Failure> {
        // An image staged for a member may be incomplete; one that a run saves may not.
        if record.is_some() && self.definitions.has_unique_keys() {
            let document = parsed(&image.document)?;
            self.definitions.model.unique_keys.values(&document)?;
        }
        let runs = record.into_iter().collect();
        let unit = session.unit()?;
        let base = match self.origin.base() {
            Some(base) => Some(base.clone()),
            None => unit.peek_own(image.id),
        };
        match base {
            Some(base) => unit.update(&self.definitions, &base, image, runs, self.by.clone())?,
            None => unit.create(&self.definitions, image, runs, self.by.clone())?,
        }
        Ok(())
    }
}

impl Origin {
    /// The version the run starts from; none for a new entity.
    pub(super) const fn base(&self) -> Option<&Version> {
        match self {
            Self::New => None,
            Self::At(base)
            | Self::Fired(base, _)
            | Self::Resumed(base, _)
            | Self::Committed(base, _) => Some(base),
        }
    }

    pub(super) const fn base_mut(&mut self) -> Option<&mut Version> {
        match self {
            Self::New => None,
            Self::At(base)
            | Self::Fired(base, _)
            | Self::Resumed(base, _)
            | Self::Committed(base, _) => Some(base),
        }
    }

    /// The task that began the run, or that resumes it; the run completes it.
    pub(super) fn task(&self) -> Option<&Task> {
        match self {
            Self::New | Self::At(_) => None,
            Self::Fired(_, fired) => Some(&fired.task),
            Self::Resumed(_, resumed) => Some(&resumed.rest.task),
            Self::Committed(_, rest) => rest.as_ref().map(|rest| &rest.task),
        }
    }

    /// The pause before the rest is retried if it fails; none if it is dropped then.
    pub(super) fn pause(&self) -> Option<Duration> {
        match self {
            Self::New | Self::At(_) => None,
            Self::Fired(_, fired) => Some(fired.pause),
            Self::Resumed(_, resumed) => resumed.rest.pause,
            Self::Committed(_, rest) => rest.as_ref()?.pause,
        }
    }

    /// The tasks that were read with the entity.
    pub(super) const fn take_tasks(&mut self) -> Option<Vec<Task>> {
        match self {
            Self::Fired(_, fired) => fired.tasks.take(),
            Self::New | Self::At(_) | Self::Resumed(..) | Self::Committed(..) => None,
        }
    }

    /// The call that a resumed run begins with. From then on it is like one that was committed by
    /// this run.
    pub(super) fn take_call(&mut self) -> Option<DispatchKey> {
        match mem::replace(self, Self::New) {
            Self::Resumed(base, Resumption { rest, dispatch }) => {
                *self = Self::Committed(base, Some(rest));
                Some(dispatch)
            }
            other @ (Self::New | Self::At(_) | Self::Fired(..) | Self::Committed(..)) => {
                *self = other;
                None
            }
        }
    }
}

/// A stored document, parsed.
pub(super) fn parsed(stored: &Json) -> Result<Document, Failure> {
    Document::from_json(stored).map_err(|error| Failure::internal(error.to_string()))
}
