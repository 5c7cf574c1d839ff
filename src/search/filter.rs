//! Evaluating one entity after the other by the evaluator, of each reading only what is looked at.

use std::{
    collections::BTreeMap,
    ops::Range,
    sync::{Arc, atomic::AtomicBool},
};

use super::{Error, Order, View};
use crate::clock::Timestamp;
use crate::condition::{Condition, Facts, Halt, Lifecycle, Meter};
use crate::entity::{Document, Path, Position, ProjectedPaths, Projection, Value};
use crate::error::Failure;
use crate::id::{EntityId, TransactionId};
use crate::pool::Pool;
use crate::storage::{Definitions, ScanPage, ScanRow, Version};

/// What is looked at of each entity.
#[derive(Debug, Clone, Default)]
pub(super) struct Looks<'a> {
    pub(super) paths: Vec<&'a Path>,
    pub(super) lifecycle: bool,
}

/// Up to how much work (see [`Condition::weight`]) is done at once.
const AT_ONCE_MAX: u64 = 1 << 20;

/// Filters entities by a condition.
pub(super) struct Filter<'a> {
    condition: &'a Arc<Condition>,
    definitions: &'a Arc<Definitions>,
    absent_lists_are_null: bool,
    weight: u64,
    wanted: Arc<ProjectedPaths>,
    projection: Projection,
    /// The document at hand, where it could not be glimpsed at.
    whole: Option<Document>,
    /// Of a condition with patterns, where there is one.
    budget: Option<Budget>,
}

/// How many entities may be evaluated by a pattern because nothing else decides (`search.md` §4).
struct Budget {
    max: usize,
    used: usize,
}

impl Budget {
    fn spend(&mut self) -> Result<(), Error> {
        self.used += 1;
        if self.used > self.max {
            return Err(Error::ScanBudget { max: self.max });
        }
        Ok(())
    }
}

/// Some entities, in the order of their ids.
pub(super) struct Part {
    pub(super) committed: Committed,
    /// What the transaction that asks has changed itself, in this part of the order; none is what
    /// it has deleted.
    pub(super) own: BTreeMap<EntityId, Option<Version>>,
}

/// What was committed, of a part.
pub(super) enum Committed {
    Versions(Vec<Version>),
    /// Those of these numbers.
    Rows(Arc<ScanPage>, Range<usize>),
}

/// An entity that may be what is looked for.
#[derive(Clone, Copy)]
pub(super) enum Candidate<'a> {
    Version(&'a Version),
    Row(ScanRow<'a>),
}

impl<'a> Looks<'a> {
    pub(super) fn of(condition: &'a Condition) -> Self {
        let looks = condition.looks();
        Self {
            paths: looks.paths,
            lifecycle: looks.lifecycle,
        }
    }

    /// Adds what entities are sorted by.
    pub(super) fn and_order(mut self, order: &'a Order) -> Self {
        self.paths.extend(order.paths());
        self.lifecycle |= order.looks_at_lifecycle();
        self
    }
}

impl<'a> Filter<'a> {
    pub(super) fn new(
        view: &View,
        definitions: &'a Arc<Definitions>,
        condition: &'a Arc<Condition>,
        looks: &Looks<'_>,
    ) -> Self {
        let max = view.snapshot().scan_max();
        let max = max.filter(|_| condition.has_patterns());
        Self {
            budget: max.map(|max| Budget { max, used: 0 }),
            ..Self::without_budget(
                definitions,
                condition,
                looks,
                view.snapshot().absent_lists_are_null(),
            )
        }
    }

    /// One that evaluates as many by a pattern as there are.
    pub(super) fn without_budget(
        definitions: &'a Arc<Definitions>,
        condition: &'a Arc<Condition>,
        looks: &Looks<'_>,
        absent_lists_are_null: bool,
    ) -> Self {
        Self {
            condition,
            definitions,
            absent_lists_are_null,
            weight: condition.weight(),
            wanted: Arc::new(ProjectedPaths::new(looks.paths.iter().copied())),
            projection: Projection::default(),
            whole: None,
            budget: None,
        }
    }

    /// Filters as many by a pattern as there are.
    pub(super) fn forget_budget(&mut self) {
        self.budget = None;
    }

    /// What is looked at of an entity, if it satisfies the condition. One that is large is not
    /// evaluated here.
    pub(super) async fn admit<'b>(
        &'b mut self,
        candidate: &'b Candidate<'_>,
    ) -> Result<Option<Facts<'b>>, Failure> {
        let text = candidate.document();
        let is_large = self.is_large(text)?;
        if is_large && !Box::pin(self.holds_apart(candidate)).await? {
            return Ok(None);
        }
        let Self {
            condition,
            definitions,
            absent_lists_are_null,
            wanted,
            projection,
            whole,
            budget,
            ..
        } = self;
        let facts = Facts {
            before: None,
            document: read(projection, whole, text, wanted)?,
            schema: &definitions.model.schema,
            lifecycle: candidate.lifecycle(),
            absent_lists_are_null: *absent_lists_are_null,
        };
        if is_large {
            return Ok(Some(facts));
        }
        if let Some(budget) = budget
            && condition.holds_without_patterns(facts).is_none()
        {
            budget.spend()?;
        }
        Ok(condition.holds(facts, None).then_some(facts))
    }

    /// Whether evaluating a document would hold up others.
    fn is_large(&mut self, text: &str) -> Result<bool, Failure> {
        let weight = self.weight;
        let is_large = |bytes: usize| weight.saturating_mul(bytes as u64) > AT_ONCE_MAX;
        if !is_large(text.len()) {
            return Ok(false);
        }
        let document = read(&mut self.projection, &mut self.whole, text, &self.wanted)?;
        Ok(is_large(document.bytes()))
    }

    /// Filters an entity on a thread for that.
    async fn holds_apart(&mut self, candidate: &Candidate<'_>) -> Result<bool, Failure> {
        let known = candidate.lifecycle();
        let apart = Apart {
            condition: Arc::clone(self.condition),
            definitions: Arc::clone(self.definitions),
            wanted: Arc::clone(&self.wanted),
            text: candidate.shared_document(),
            has_budget: self.budget.is_some(),
            absent_lists_are_null: self.absent_lists_are_null,
            id: known.id,
            state: known.state.into(),
            created: known.created,
            updated: known.updated,
            previous_transition: known.previous_transition.into(),
            transaction: known.transaction,
        };
        let party = self.definitions.party();
        let evaluating = Pool::for_evaluating().run(party, move |stop| apart.evaluate(stop));
        let Evaluated { held, is_costly } = evaluating.await?;
        if is_costly && let Some(budget) = &mut self.budget {
            budget.spend()?;
        }
        Ok(held)
    }
}

/// An entity that is evaluated elsewhere.
struct Apart {
    condition: Arc<Condition>,
    definitions: Arc<Definitions>,
    wanted: Arc<ProjectedPaths>,
    text: Arc<str>,
    has_budget: bool,
    absent_lists_are_null: bool,
    id: EntityId,
    state: Box<str>,
    created: Timestamp,
    updated: Timestamp,
    previous_transition: Box<str>,
    transaction: TransactionId,
}

/// What came of it.
struct Evaluated {
    held: bool,
    /// Whether it had to be compared with a pattern.
    is_costly: bool,
}

impl Apart {
    fn evaluate(&self, stop: &AtomicBool) -> Result<Evaluated, Failure> {
        let (mut projection, mut whole) = (Projection::default(), None);
        let facts = Facts {
            before: None,
            document: read(&mut projection, &mut whole, &self.text, &self.wanted)?,
            schema: &self.definitions.model.schema,
            lifecycle: Lifecycle {
                id: self.id,
                state: &self.state,
                created: self.created,
                updated: self.updated,
                previous_transition: &self.previous_transition,
                transaction: self.transaction,
            },
            absent_lists_are_null: self.absent_lists_are_null,
        };
        let meter = Meter::new(stop);
        let evaluate = || -> Result<Evaluated, Halt> {
            let condition = &self.condition;
            Ok(Evaluated {
                is_costly: self.has_budget
                    && condition
                        .holds_without_patterns_within(facts, &meter)?
                        .is_none(),
                held: condition.holds_within(facts, &meter)?,
            })
        };
        Ok(evaluate()?)
    }
}

/// Reads what is wanted of a stored document.
fn read<'a>(
    projection: &'a mut Projection,
    whole: &'a mut Option<Document>,
    text: &'a str,
    wanted: &ProjectedPaths,
) -> Result<Value<'a>, Failure> {
    if let Some(document) = projection.read(text, wanted) {
        return Ok(document);
    }
    let read = Document::parse(text).map_err(|error| {
        Failure::internal(format!("a stored document is not readable: {error}"))
    })?;
    Ok(whole.insert(read).root())
}

impl Part {
    /// Everything in it that was read whole, in the order of ids.
    pub(super) fn into_versions(self) -> Vec<Version> {
        if let (Committed::Versions(versions), true) = (&self.committed, self.own.is_empty()) {
            return versions.clone();
        }
        let whole = |candidate| match candidate {
            Candidate::Version(version) => Some(Version::clone(version)),
            Candidate::Row(_) => None,
        };
        self.candidates().filter_map(whole).collect()
    }

    /// Everything in it, in the order of ids.
    pub(super) fn candidates(&self) -> Box<dyn Iterator<Item = Candidate<'_>> + Send + '_> {
        let committed: Box<dyn Iterator<Item = Candidate<'_>> + Send + '_> = match &self.committed {
            Committed::Versions(versions) => Box::new(versions.iter().map(Candidate::Version)),
            Committed::Rows(page, rows) => {
                let row = |index| page.row(index).map(Candidate::Row);
                Box::new(rows.clone().filter_map(row))
            }
        };
        if self.own.is_empty() {
            return committed;
        }
        let mut seen: BTreeMap<EntityId, Candidate<'_>> = committed
            .map(|candidate| (candidate.id(), candidate))
            .collect();
        for (id, changed) in &self.own {
            match changed {
                Some(version) => seen.insert(*id, Candidate::Version(version)),
                None => seen.remove(id),
            };
        }
        Box::new(seen.into_values())
    }
}

impl Candidate<'_> {
    pub(super) const fn id(&self) -> EntityId {
        match self {
            Self::Version(version) => version.image.id,
            Self::Row(row) => row.id,
        }
    }

    pub(super) const fn position(&self) -> Position {
        match self {
            Self::Version(version) => version.position,
            Self::Row(row) => row.position,
        }
    }

    fn shared_document(&self) -> Arc<str> {
        match self {
            Self::Version(version) => version.image.document.shared(),
            Self::Row(row) => row.document.unwrap_or_default().into(),
        }
    }

    fn document(&self) -> &str {
        match self {
            Self::Version(version) => version.image.document.as_str(),
            Self::Row(row) => row.document.unwrap_or_default(),
        }
    }

    /// What is known beside the document; made up where it was not asked for, because nothing
    /// looks at it then.
    pub(super) fn lifecycle(&self) -> Lifecycle<'_> {
        match self {
            Self::Version(version) => lifecycle(version),
            Self::Row(row) => match row.lifecycle {
                Some(known) => Lifecycle {
                    id: row.id,
                    state: known.state,
                    created: known.created,
                    updated: known.updated,
                    previous_transition: known.previous_transition,
                    transaction: known.transaction,
                },
                None => Lifecycle {
                    id: row.id,
                    state: "",
                    created: Timestamp::from_micros(0),
                    updated: Timestamp::from_micros(0),
                    previous_transition: "",
                    transaction: TransactionId::NIL,
                },
            },
        }
    }
}

/// What is known of an entity beside its document.
pub(super) fn lifecycle(version: &Version) -> Lifecycle<'_> {
    let image = &version.image;
    Lifecycle {
        id: image.id,
        state: image.state.as_str(),
        created: image.created,
        updated: image.updated,
        previous_transition: image.transition_for_latest_save(),
        transaction: image.transaction,
    }
}
