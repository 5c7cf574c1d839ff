//! Explanations: the same engine, driven without side effects.

use std::{collections::HashMap, sync::Arc};

use super::{Error, Runtime, anchor::parsed, apart::Meter};
use crate::engine::{Entry, Run, Start, Subject, World};
use crate::entity::{Document, Image};
use crate::error::Failure;
use crate::explain::{self, RunExplanation, Way};
use crate::id::{EntityId, ModelKey, StateName, Tenant, TransactionId, TransitionName};
use crate::storage::{self, Definitions, Recorded};
use crate::workflow::Workflow;

/// Why an entity did, does or would move, or not.
#[derive(Debug)]
pub struct Explained {
    pub model: ModelKey,
    pub state: Option<StateName>,
    /// The transitions out of the entity's state, if it has one.
    pub ways: Vec<Way>,
    pub runs: Vec<RunExplanation>,
}

/// A hypothetical entity.
#[derive(Debug)]
pub struct Supposed {
    pub model: ModelKey,
    pub document: Document,
    /// None for a new entity.
    pub state: Option<StateName>,
}

impl Runtime {
    /// What would happen to an entity if it were saved unchanged, or if a transition were
    /// requested.
    pub async fn explain_present(
        &self,
        tenant: &Tenant,
        id: EntityId,
        transition: Option<TransitionName>,
    ) -> Result<Explained, Failure> {
        let storage = self.storage();
        let snapshot = storage.snapshot(tenant, storage.latest()).await?;
        let version = snapshot
            .entity(id)
            .await?
            .ok_or(Error::EntityNotFound(id))?;
        let definitions = self.known(tenant, &version.image.model).await?;
        self.foresee(&definitions, version.image, transition).await
    }

    /// What would happen to a hypothetical entity.
    pub async fn explain_supposed(
        &self,
        tenant: &Tenant,
        supposed: Supposed,
        transition: Option<TransitionName>,
    ) -> Result<Explained, Failure> {
        let Supposed {
            model,
            document,
            state,
        } = supposed;
        let known = self.known(tenant, &model).await?;
        let (size, given) = (document.json().as_str().len(), document.clone());
        let admitted = self.apart_if_long(&known, size, move |runtime, definitions, _| {
            definitions.model.admit(&given, runtime.0.settings.compat)
        });
        let definitions = match admitted.await? {
            Some(extension) => known.with(&extension.delta),
            None => known,
        };
        let now = self.0.clock.now();
        let Some(state) = state else {
            let subject = Subject {
                id: EntityId::NIL,
                model: model.clone(),
                created: now,
                updated: now,
                transaction: TransactionId::NIL,
            };
            let run = self.as_known(Run::create(subject, document));
            let size = run.size();
            let run = self
                .apart_if_large(&definitions, size, move |runtime, definitions, meter| {
                    explain::foresee(run, runtime.world(definitions, meter))
                })
                .await;
            return Ok(Explained {
                model,
                state: None,
                ways: Vec::new(),
                runs: vec![run],
            });
        };
        let image = Image {
            id: EntityId::NIL,
            model,
            state,
            document: document.json().clone(),
            created: now,
            updated: now,
            transaction: TransactionId::NIL,
            transition: None,
            workflow: None,
        };
        self.foresee(&definitions, image, transition).await
    }

    /// Why a transaction did what it did with an entity.
    pub async fn explain_past(
        &self,
        tenant: &Tenant,
        id: EntityId,
        transaction: TransactionId,
        transition: Option<&TransitionName>,
    ) -> Result<Explained, Failure> {
        let storage = self.storage();
        let snapshot = storage.snapshot(tenant, storage.latest()).await?;
        let mut recorded = snapshot.trail_of(id, transaction).await?;
        recorded.sort_by_key(|recorded| recorded.position);
        let Some(version) = snapshot.version(id).await?.filter(|_| !recorded.is_empty()) else {
            return Err(Error::EntityNotFound(id).into());
        };
        let definitions = self.known(tenant, &version.image.model).await?;
        let then = self.workflows_then(&recorded).await?;
        let mut runs: Vec<_> = recorded
            .iter()
            .flat_map(|recorded| &recorded.record.runs)
            .map(|run| {
                explain::explain_run(run, &definitions.workflows, |hash| {
                    then.get(hash).map(Arc::clone)
                })
            })
            .collect();
        if let Some(name) = transition {
            for run in &mut runs {
                run.keep(name);
            }
        }
        let settled = runs.iter().rev().find_map(|run| run.settled.as_deref());
        Ok(Explained {
            model: version.image.model,
            state: settled.map(StateName::from),
            ways: Vec::new(),
            runs,
        })
    }

    /// The workflows that records refer to by hash.
    async fn workflows_then(
        &self,
        recorded: &[Recorded],
    ) -> Result<HashMap<String, Arc<Workflow>>, Failure> {
        let mut workflows = HashMap::new();
        let runs = recorded.iter().flat_map(|recorded| &recorded.record.runs);
        for entry in runs.flat_map(|run| &run.entries) {
            if let Entry::Chosen { hash, .. } = entry
                && !workflows.contains_key(hash)
                && let Some(workflow) = self.storage().workflow(hash).await?
            {
                workflows.insert(hash.clone(), workflow);
            }
        }
        Ok(workflows)
    }

    async fn foresee(
        &self,
        definitions: &Arc<Definitions>,
        image: Image,
        transition: Option<TransitionName>,
    ) -> Result<Explained, Failure> {
        let size = image.document.as_str().len();
        self.apart_if_large(definitions, size, move |runtime, definitions, meter| {
            runtime.foresee_here(definitions, &image, transition.as_ref(), meter)
        })
        .await
    }

    fn foresee_here(
        &self,
        definitions: &Definitions,
        image: &Image,
        transition: Option<&TransitionName>,
        meter: Option<&Meter<'_>>,
    ) -> Result<Explained, Failure> {
        let now = self.0.clock.now();
        let start = transition.cloned().map_or(Start::Loopback, Start::Named);
        let run = Run::update(
            image,
            parsed(&image.document)?,
            start,
            image.transaction,
            now,
        );
        let run = self.as_known(run);
        let world = self.world(definitions, meter);
        let governing = world
            .workflows
            .govern(image.workflow.as_ref(), &image.state);
        let document = parsed(&image.document)?;
        let facts = run.facts_of(&document, world.schema);
        let mut ways = governing.map_or_else(Vec::new, |workflow| {
            explain::ways(&workflow, &image.state, facts, meter)
        });
        if let Some(name) = transition {
            ways.retain(|way| way.guard.name == name.as_str());
        }
        Ok(Explained {
            model: image.model.clone(),
            state: Some(image.state.clone()),
            ways,
            runs: vec![explain::foresee(run, world)],
        })
    }

    pub(super) fn world<'a>(
        &self,
        definitions: &'a Definitions,
        meter: Option<&'a Meter<'a>>,
    ) -> World<'a> {
        World {
            workflows: &definitions.workflows,
            schema: &definitions.model.schema,
            limits: self.0.settings.limits,
            now: self.0.clock.now(),
            meter,
        }
    }

    async fn known(&self, tenant: &Tenant, model: &ModelKey) -> Result<Arc<Definitions>, Failure> {
        let definitions = self.storage().definitions(tenant, model).await?;
        Ok(definitions.ok_or_else(|| storage::Error::ModelNotFound(model.clone()))?)
    }
}
