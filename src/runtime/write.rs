//! The operations on entities, one at a time: a batch is n of these in one session, so one entity
//! and many take the same code path.

use std::sync::Arc;

use tracing::warn;

use super::{
    Error, Initiator, Runtime, Session,
    anchor::{Anchor, Origin, parsed},
};
use crate::clock::PointInTime;
use crate::engine::{Run, RunRecord, Start, Subject};
use crate::entity::{ActorKind, Document, Json, Patch};
use crate::error::{Code, Failure};
use crate::id::{EntityId, ModelKey, TransactionId, TransitionName};
use crate::model::{Extension, Lock};
use crate::storage::{self, Attribution, Definitions, Version};

/// An entity to create.
#[derive(Debug)]
pub struct NewEntity {
    pub model: ModelKey,
    pub document: Document,
}

/// A created entity.
#[derive(Debug)]
pub struct Created {
    pub id: EntityId,
    pub warnings: Vec<String>,
}

/// A change to an entity.
#[derive(Debug)]
pub struct Update {
    pub id: EntityId,
    pub content: Content,
    /// The transition to take; without it, the document is saved and the cascade runs from the
    /// present state.
    pub transition: Option<TransitionName>,
    /// The transaction of the version this change is based on; any version if none.
    pub if_match: Option<Box<str>>,
}

/// The new document of an entity.
#[derive(Debug)]
pub enum Content {
    /// The document stays.
    Kept,
    Replaced(Document),
    Patched(Patch),
}

/// A changed entity.
#[derive(Debug)]
pub struct Updated {
    pub warnings: Vec<String>,
}

/// A deleted entity.
#[derive(Debug)]
pub struct Deleted {
    pub model: ModelKey,
}

impl Runtime {
    /// Creates an entity and runs its workflow.
    pub async fn create(
        &self,
        session: &mut Session,
        entity: NewEntity,
        by: &Initiator,
    ) -> Result<Created, Failure> {
        let NewEntity { model, document } = entity;
        let definitions = self.definitions(session, &model).await?;
        if definitions.model.lock == Lock::Unlocked {
            return Err(storage::Error::ModelNotLocked(model).into());
        }
        let extension = self.validate(&definitions, &document).await?;
        let definitions = widened(session, definitions, extension)?;
        let now = self.0.clock.now();
        let subject = Subject {
            id: EntityId::fresh(),
            model,
            created: now,
            updated: now,
            transaction: session.id(),
        };
        let id = subject.id;
        session.is_about(id);
        let anchor = Anchor::new(definitions, Origin::New, attribution(session, by)?);
        let run = Box::new(self.as_known(Run::create(subject, document)));
        let warnings = self.drive(session, run, anchor, by).await?;
        Ok(Created { id, warnings })
    }

    /// Updates an entity and runs its workflow.
    pub async fn update(
        &self,
        session: &mut Session,
        update: Update,
        by: &Initiator,
    ) -> Result<Updated, Failure> {
        let Update {
            id,
            content,
            transition,
            if_match,
        } = update;
        let base = session
            .unit()?
            .read(id)
            .await?
            .ok_or(Error::EntityNotFound(id))?;
        let definitions = self.definitions(session, &base.image.model).await?;
        let mut extension = None;
        let document = match content {
            Content::Kept => parsed(&base.image.document)?,
            Content::Replaced(document) => {
                extension = self.validate(&definitions, &document).await?;
                document
            }
            Content::Patched(patch) => {
                self.patched(&definitions, &base.image.document, patch)
                    .await?
            }
        };
        // Compared with the version that was read; the commit makes it binding (`storage.md` §3).
        // Errors in the document come first (`rest.md` §3.6), and no member is called in vain.
        if let Some(expected) = if_match
            && *expected != *base.image.transaction.to_string()
        {
            // Stored if the rest of a collection is committed.
            let now = self.0.clock.now();
            let refused = RunRecord::refused(transition.as_ref(), &base.image, &expected, now);
            session.unit()?.note(&base, refused)?;
            return Err(Error::EntityModified(id).into());
        }
        let definitions = widened(session, definitions, extension)?;
        let run = Run::update(
            &base.image,
            document,
            transition.map_or(Start::Loopback, Start::Named),
            session.id(),
            self.0.clock.now(),
        );
        let run = self.as_known(run);
        let anchor = Anchor::new(definitions, Origin::At(base), attribution(session, by)?);
        session.is_about(id);
        let warnings = self.drive(session, Box::new(run), anchor, by).await?;
        Ok(Updated { warnings })
    }

    /// Updates an entity as a request of its own. In compatibility profiles that do so, a rejection
    /// because of `if_match` is audited.
    pub async fn update_alone(
        &self,
        session: &mut Session,
        update: Update,
        by: &Initiator,
    ) -> Result<Updated, Failure> {
        let id = update.id;
        let expected = update.if_match.clone();
        let expected = expected.filter(|_| self.0.settings.compat.refused_writes_are_audited());
        let Some(expected) = expected else {
            return self.update(session, update, by).await;
        };
        let transition = update.transition.clone();
        let updated = self.update(session, update, by).await;
        if let Err(failure) = &updated
            && failure.code() == Code::EntityModified
            && let Err(error) = self.audit_refused(id, transition, &expected, by).await
        {
            warn!(%error, entity.id = %id, "a rejected write could not be audited");
        }
        updated
    }

    /// Audits a rejected write in a transaction of its own.
    async fn audit_refused(
        &self,
        id: EntityId,
        transition: Option<TransitionName>,
        expected: &str,
        by: &Initiator,
    ) -> Result<(), storage::Error> {
        let mut unit = self.storage().unit(&by.tenant, by.attribution());
        let Some(stored) = unit.peek(id).await? else {
            return Ok(());
        };
        let now = self.0.clock.now();
        let refused = RunRecord::refused(transition.as_ref(), &stored.image, expected, now);
        unit.note(&stored, refused)?;
        unit.commit(&by.cancel).await?;
        Ok(())
    }

    /// Deletes an entity. No workflow runs (`workflow-engine.md` §7.7).
    pub async fn delete(
        &self,
        session: &mut Session,
        id: EntityId,
        if_match: Option<&str>,
        by: &Initiator,
    ) -> Result<Deleted, Failure> {
        let by = attribution(session, by)?.map(Arc::new);
        let base = session.unit()?.read(id).await?;
        let base = base.ok_or(Error::EntityNotFound(id))?;
        if if_match.is_some_and(|expected| *expected != *base.image.transaction.to_string()) {
            return Err(Error::EntityModified(id).into());
        }
        let definitions = self.definitions(session, &base.image.model).await?;
        session.unit()?.remove(&definitions, &base, by)?;
        Ok(Deleted {
            model: base.image.model,
        })
    }

    /// Deletes entities of one model that a search found, as of the session's unit or as of an
    /// earlier time; returns the outcomes in order.
    pub async fn delete_found(
        &self,
        session: &mut Session,
        found: Vec<Version>,
        then: Option<&PointInTime>,
        by: &Initiator,
    ) -> Result<Vec<(EntityId, Result<(), Failure>)>, Failure> {
        let Some(first) = found.first() else {
            return Ok(Vec::new());
        };
        // Checked last: they belong to everything that was found, or there is a conflict.
        let definitions = self.definitions(session, &first.image.model).await?;
        let attribution = attribution(session, by)?.map(Arc::new);
        let unit = session.unit()?;
        let now = if then.is_some() {
            unit.now_of(found).await?
        } else {
            let seen = |version: Version| (version.image.id, Some(version));
            found.into_iter().map(seen).collect()
        };
        let mut outcomes = Vec::with_capacity(now.len());
        for (id, version) in now {
            let outcome = match version {
                Some(version) => {
                    unit.remove(&definitions, &version, attribution.clone())?;
                    Ok(())
                }
                None => Err(Error::EntityNotFound(id).into()),
            };
            outcomes.push((id, outcome));
        }
        Ok(outcomes)
    }

    /// The transitions that can be named in the entity's state, in the order of the definition
    /// (`workflow-engine.md` §10).
    pub async fn transitions(
        &self,
        session: &mut Session,
        version: &Version,
    ) -> Result<Vec<TransitionName>, Failure> {
        let definitions = self.definitions(session, &version.image.model).await?;
        let governing = definitions
            .workflows
            .govern(version.image.workflow.as_ref(), &version.image.state);
        let state = governing
            .as_ref()
            .and_then(|workflow| workflow.state(&version.image.state));
        let transitions = state.map_or(&[][..], |state| &state.transitions);
        let lists_disabled = self.0.settings.compat.disabled_transitions_are_listed();
        let known = transitions
            .iter()
            .filter(|transition| lists_disabled || !transition.is_disabled());
        Ok(known.map(|transition| transition.name.clone()).collect())
    }

    /// Adapts the facts that conditions see to the profile.
    pub(super) fn as_known(&self, mut run: Run) -> Run {
        let compat = self.0.settings.compat;
        if compat.previous_transition_is_the_requested() {
            run.record_what_was_asked();
        }
        if compat.absent_lists_are_null() {
            run.take_absent_lists_as_null();
        }
        run
    }

    /// The version that the unit's own transaction or another one wrote.
    pub async fn written_by(
        &self,
        session: &mut Session,
        id: EntityId,
        transaction: TransactionId,
    ) -> Result<Option<Version>, Failure> {
        Ok(session
            .unit()?
            .snapshot()
            .await?
            .written_by(id, transaction)
            .await?)
    }

    /// Validates a caller's document; returns how it extends its model, if it may.
    async fn validate(
        &self,
        definitions: &Arc<Definitions>,
        document: &Document,
    ) -> Result<Option<Extension>, Failure> {
        let (size, document) = (document.json().as_str().len(), document.clone());
        self.apart_if_long(definitions, size, move |runtime, definitions, _| {
            let extension = definitions
                .model
                .admit(&document, runtime.0.settings.compat)?;
            definitions.model.unique_keys.values(&document)?;
            Ok(extension)
        })
        .await
    }

    /// The document that a patch makes. It never widens the model (`rest.md` §3.6).
    async fn patched(
        &self,
        definitions: &Arc<Definitions>,
        stored: &Json,
        patch: Patch,
    ) -> Result<Document, Failure> {
        let (size, stored) = (patch.work(stored.as_str().len()), stored.clone());
        self.apart_if_long(definitions, size, move |runtime, definitions, stop| {
            let patched = patch.apply_unless(&parsed(&stored)?, stop);
            let document =
                patched.map_err(|error| Failure::new(Code::BadRequest, error.to_string()))?;
            definitions
                .model
                .check(&document, runtime.0.settings.compat)?;
            definitions.model.unique_keys.values(&document)?;
            Ok(document)
        })
        .await
    }

    /// Extends a model by a document that a member returned, as far as the change level permits.
    /// The document is accepted in any case (`workflow-engine.md` §6.2).
    pub(super) async fn learn(
        &self,
        session: &mut Session,
        definitions: &Arc<Definitions>,
        document: &Document,
    ) -> Result<Arc<Definitions>, Failure> {
        if definitions.model.change_level.is_none() {
            return Ok(Arc::clone(definitions));
        }
        let (size, document) = (document.json().as_str().len(), document.clone());
        let admitted = self.apart_if_long(definitions, size, move |runtime, definitions, _| {
            definitions
                .model
                .admit(&document, runtime.0.settings.compat)
        });
        Ok(match admitted.await {
            Ok(Some(extension)) => {
                let definitions = Arc::clone(definitions);
                session.unit()?.learn(definitions, extension)?
            }
            Ok(None) | Err(_) => Arc::clone(definitions),
        })
    }

    pub(super) async fn definitions(
        &self,
        session: &mut Session,
        model: &ModelKey,
    ) -> Result<Arc<Definitions>, Failure> {
        let definitions = session.unit()?.definitions(model).await?;
        Ok(definitions.ok_or_else(|| storage::Error::ModelNotFound(model.clone()))?)
    }
}

/// The definitions as the unit sees them after its model was extended.
fn widened(
    session: &mut Session,
    definitions: Arc<Definitions>,
    extension: Option<Extension>,
) -> Result<Arc<Definitions>, Failure> {
    Ok(match extension {
        Some(extension) => session.unit()?.widen(definitions, extension)?,
        None => definitions,
    })
}

/// `grpc.md` §10: a service or the system that joins executes on behalf of the author; a user is
/// recorded as the author. None if that is the unit's attribution anyway.
fn attribution(session: &mut Session, by: &Initiator) -> Result<Option<Attribution>, Failure> {
    if !session.has_joined() {
        return Ok(None);
    }
    let actor = by.principal.actor.clone();
    let author = &session.unit()?.attribution().author;
    Ok(match actor.kind {
        _ if actor == *author => None,
        ActorKind::User => Some(Attribution {
            author: actor,
            executor: None,
        }),
        ActorKind::Service | ActorKind::System => Some(Attribution {
            author: author.clone(),
            executor: Some(actor),
        }),
    })
}
