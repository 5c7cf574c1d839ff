//! What must hold, whatever happened.
#![cfg(test)]

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    fmt::Write as _,
    time::Duration,
};

use super::{
    MODEL, reader,
    world::{Action, DeedKind, Ledger, Op, OpOutcome, Origin, World, tenant},
};
use crate::clock::Timestamp;
use crate::engine::{Entry, RunRecord, StartKind};
use crate::entity::ChangeKind;
use crate::id::{EntityId, ModelKey, StateName, TransactionId, TransitionName};
use crate::storage::{Error, Recorded, Snapshot, Storage, Task, TaskKind, Version};

/// Everything that is recorded of one entity.
pub(super) struct Life {
    pub(super) id: EntityId,
    /// As readers get it.
    pub(super) current: Option<Version>,
    /// Oldest first.
    pub(super) trail: Vec<Recorded>,
    /// The versions of the trail that are not deletions, by transaction.
    versions: BTreeMap<TransactionId, Version>,
    pub(super) tasks: Vec<Task>,
}

/// Reads everything and holds it against what is known.
pub(super) async fn check(world: &World, storage: &Storage) {
    let lives = match read(world, storage).await {
        Ok(lives) => lives,
        Err(error) => return world.fail(format!("not readable: {error}")),
    };
    let mut findings = Vec::new();
    for life in &lives {
        let mut replay = Replay::new(world, life, storage.now());
        replay.all();
        findings.append(&mut replay.findings);
    }
    {
        let ledger = world.ledger();
        Effects::new(&ledger, world, &lives).all(&mut findings);
    }
    reader::check(world, storage, &lives, &mut findings).await;
    for life in &lives {
        world.note(|ledger| life.story(ledger));
    }
    for finding in findings {
        world.fail(finding);
    }
}

impl Life {
    /// The document that a transaction left; none if it deleted the entity.
    pub(super) fn document(&self, transaction: TransactionId) -> Option<String> {
        let version = self.versions.get(&transaction)?;
        version.live.then(|| version.image.document.to_string())
    }

    /// Its story, for the trace.
    fn story(&self, ledger: &mut Ledger) -> String {
        let mut story = ledger.name(self.id);
        for recorded in &self.trail {
            let version = self.versions.get(&recorded.transaction);
            let _ = write!(story, "\n    {}", recorded.at.micros());
            for run in &recorded.record.runs {
                let _ = write!(story, " {:?}", run.start);
                for entry in &run.entries {
                    let _ = match entry {
                        Entry::Moved { transition, to, .. } => write!(story, " {transition}>{to}"),
                        Entry::Armed {
                            transition, due, ..
                        } => write!(story, " +{transition}@{due}"),
                        Entry::Cancelled { transition, .. } => write!(story, " -{transition}"),
                        Entry::Expired { transition, .. } => write!(story, " ~{transition}"),
                        Entry::Fired { transition } => write!(story, " !{transition}"),
                        Entry::Called(call) => write!(story, " {}()", call.name),
                        Entry::Settled { state } => write!(story, " ={state}"),
                        Entry::Considered(considered) => {
                            write!(story, " {}?{}", considered.name, considered.held)
                        }
                        Entry::Declined { transition, .. } => write!(story, " ?{transition}"),
                        Entry::Aborted { .. } => write!(story, " refused"),
                        Entry::Skipped(_)
                        | Entry::Chosen { .. }
                        | Entry::Ungoverned { .. }
                        | Entry::Parted { .. } => Ok(()),
                    };
                }
            }
            if let Some(change) = &recorded.change {
                let image = version.map(|version| &version.image);
                let _ = write!(
                    story,
                    ": {:?} {} {}",
                    change.kind,
                    image.map_or("", |image| image.state.as_str()),
                    image.map_or("", |image| image.document.as_str()),
                );
            }
        }
        story
    }
}

pub(super) async fn read(world: &World, storage: &Storage) -> Result<Vec<Life>, Error> {
    let snapshot = storage.snapshot(&tenant(), storage.latest()).await?;
    let mut ids: BTreeSet<EntityId> = world.ledger().entities.iter().copied().collect();
    let there = there(storage, &snapshot).await?;
    ids.extend(there.iter().map(|version| version.image.id));
    let mut lives = Vec::new();
    for id in ids {
        let mut trail = snapshot.trail(id, None, 100_000).await?;
        trail.reverse();
        let changes = trail.iter().filter_map(|recorded| recorded.change.as_ref());
        let positions: Vec<_> = changes.map(|change| change.position).collect();
        let (versions, _) = snapshot.versions(&positions).await?;
        let current = snapshot.version(id).await?;
        let tasks = match &current {
            Some(current) => {
                let mut unit = storage.unit(&tenant(), super::attribution());
                unit.tasks(current).await?
            }
            None => Vec::new(),
        };
        lives.push(Life {
            id,
            current,
            trail,
            versions: versions
                .into_iter()
                .map(|version| (version.image.transaction, version))
                .collect(),
            tasks,
        });
    }
    Ok(lives)
}

/// For how long a continuation may wait to be tried: as long as the calls of one run take, and
/// more. One of a timer may fail for as long as there is its workflow.
const PATIENCE: Duration = Duration::from_secs(10);

/// Whether anything but a timer waits.
pub(super) async fn is_anything_unfinished(storage: &Storage) -> Result<bool, Error> {
    let snapshot = storage.snapshot(&tenant(), storage.latest()).await?;
    let mut unit = storage.unit(&tenant(), super::attribution());
    for version in there(storage, &snapshot).await? {
        let tasks = unit.tasks(&version).await?;
        if tasks.iter().any(|task| task.kind == TaskKind::Continuation) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// All entities that there are.
async fn there(storage: &Storage, snapshot: &Snapshot) -> Result<Vec<Version>, Error> {
    let key = ModelKey::new(MODEL, 1);
    let mut there = Vec::new();
    if let Some(definitions) = storage.definitions(&tenant(), &key).await? {
        let mut scan = snapshot.scan(&definitions);
        while let Some(mut part) = scan.next().await? {
            there.append(&mut part);
        }
    }
    Ok(there)
}

/// The records of an entity, replayed: nothing torn, and no timer early or lost.
struct Replay<'a> {
    world: &'a World,
    life: &'a Life,
    now: Timestamp,
    state: Option<StateName>,
    armed: BTreeMap<String, (StateName, i64)>,
    /// Timers that were over without a change of the entity: a run that was under way at that time
    /// still reports them.
    over: BTreeSet<String>,
    /// Timers of states that were left, be it for a moment.
    left: BTreeSet<String>,
    /// Timers that processors have asked for, with the state they are for.
    asked: Vec<(StateName, TransitionName)>,
    findings: Vec<String>,
}

impl<'a> Replay<'a> {
    const fn new(world: &'a World, life: &'a Life, now: Timestamp) -> Self {
        Self {
            world,
            life,
            now,
            state: None,
            armed: BTreeMap::new(),
            over: BTreeSet::new(),
            left: BTreeSet::new(),
            asked: Vec::new(),
            findings: Vec::new(),
        }
    }

    fn insist(&mut self, holds: bool, what: impl FnOnce() -> String) {
        if !holds {
            let name = self.world.ledger().name(self.life.id);
            self.findings.push(format!("{name}: {}", what()));
        }
    }

    fn all(&mut self) {
        let mut gone = false;
        let mut transactions = BTreeSet::new();
        for recorded in &self.life.trail {
            self.insist(!gone, || "something after its deletion".to_owned());
            for run in &recorded.record.runs {
                self.run(run, recorded);
            }
            let Some(change) = &recorded.change else {
                continue;
            };
            let first = transactions.insert(change.transaction);
            self.insist(first, || "two versions of one transaction".to_owned());
            if change.kind == ChangeKind::Delete {
                gone = true;
                continue;
            }
            let version = self.life.versions.get(&change.transaction).cloned();
            let Some(version) = version else {
                self.insist(false, || "a change without a version".to_owned());
                continue;
            };
            let replayed = self.state.clone();
            self.insist(replayed.as_ref() == Some(&version.image.state), || {
                format!(
                    "in {} where its record leads to {replayed:?}",
                    version.image.state
                )
            });
            let known = self
                .world
                .plan
                .workflow
                .state(&version.image.state)
                .is_some();
            self.insist(known, || format!("in {}", version.image.state));
            let writer = self.world.ledger().writer(&version.image.document);
            self.insist(writer.is_some(), || {
                format!("nobody wrote {}", version.image.document)
            });
        }
        self.current(gone);
    }

    fn current(&mut self, gone: bool) {
        let last = self
            .life
            .trail
            .iter()
            .rev()
            .find_map(|recorded| recorded.change.as_ref());
        let read = self.life.current.as_ref();
        let same = last.map(|change| change.position) == read.map(|version| version.position);
        self.insist(same, || {
            format!("readers get {read:?}, and last is {last:?}")
        });
        if gone {
            return;
        }
        let timers = self
            .life
            .tasks
            .iter()
            .filter(|task| task.kind != TaskKind::Continuation);
        let stored: BTreeMap<String, i64> = timers
            .map(|task| (task.name.to_string(), task.due.micros()))
            .collect();
        // One of a state that was left between two parts of a run may have been dropped when due.
        let recorded: BTreeMap<String, i64> = self
            .armed
            .iter()
            .filter(|(name, _)| !self.left.contains(*name) || stored.contains_key(*name))
            .map(|(name, (_, due))| (name.clone(), *due))
            .collect();
        self.insist(stored == recorded, || {
            format!("has timers {stored:?}, and its record reports {recorded:?}")
        });
        let tried = self.world.ledger().tried.get(&self.life.id).copied();
        let now = self.now;
        let is_left = |task: &Task| {
            let since = tried.map_or(task.due, |tried| tried.max(task.due));
            task.kind == TaskKind::Continuation && now.since(since) > PATIENCE
        };
        let continued = self.life.tasks.iter().any(is_left);
        self.insist(!continued, || "a continuation is left".to_owned());
    }

    fn run(&mut self, run: &RunRecord, recorded: &Recorded) {
        if !run.start.is_continued() {
            self.asked.clear();
        }
        let mut processors = Vec::new();
        let mut fired = false;
        for entry in &run.entries {
            match entry {
                Entry::Chosen { .. } => {
                    let initial = &self.world.plan.workflow.initial;
                    self.state.get_or_insert_with(|| initial.clone());
                }
                Entry::Called(call) => processors.push(call.name.clone()),
                Entry::Moved {
                    transition,
                    from,
                    to,
                } => self.moved(transition, from, to, &mut processors),
                Entry::Fired { transition } => {
                    fired = true;
                    self.fired(transition, run, recorded);
                }
                Entry::Armed {
                    transition,
                    state,
                    due,
                } => {
                    let state = StateName::from(state.as_str());
                    self.asked.retain(|(_, asked)| asked.as_str() != transition);
                    self.left.remove(transition);
                    self.armed.insert(transition.clone(), (state, *due));
                }
                Entry::Cancelled { transition, .. } => {
                    let was_over = self.over.remove(transition);
                    let was_armed = self.armed.remove(transition).is_some() || was_over;
                    self.insist(was_armed, || format!("{transition} was cancelled unarmed"));
                }
                Entry::Expired { transition, .. } => {
                    self.over.insert(transition.clone());
                    self.armed.remove(transition);
                }
                Entry::Settled { state } => {
                    let here = self.state.clone();
                    self.insist(
                        here.as_ref().is_some_and(|here| here.as_str() == state),
                        || format!("settled in {state} and not in {here:?}"),
                    );
                }
                Entry::Declined { state, .. } | Entry::Parted { state } => {
                    let here = self.state.clone();
                    self.insist(
                        here.as_ref().is_some_and(|here| here.as_str() == state),
                        || format!("stays in {state} and is in {here:?}"),
                    );
                }
                Entry::Skipped(_)
                | Entry::Ungoverned { .. }
                | Entry::Considered(_)
                | Entry::Aborted { .. } => {}
            }
        }
        let settled = run
            .entries
            .iter()
            .any(|entry| matches!(entry, Entry::Settled { .. }));
        if settled {
            let here = self.state.clone();
            let lost: Vec<_> = std::mem::take(&mut self.asked)
                .into_iter()
                .filter(|(state, _)| Some(state) == here.as_ref())
                .collect();
            self.insist(lost.is_empty(), || format!("never armed: {lost:?}"));
        }
        let expired = run
            .entries
            .iter()
            .any(|entry| matches!(entry, Entry::Expired { .. }));
        if run.start == StartKind::Timer
            && !fired
            && !expired
            && let Some(declined) = &run.asked
        {
            self.over.insert(declined.clone());
            self.armed.remove(declined);
        }
    }

    fn moved(&mut self, transition: &str, from: &str, to: &str, processors: &mut Vec<String>) {
        let here = self.state.replace(StateName::from(to));
        self.insist(
            here.as_ref().is_some_and(|here| here.as_str() == from),
            || format!("moved from {from} while in {here:?}"),
        );
        if from != to {
            self.left.extend(self.armed.keys().cloned());
        }
        let plan = &self.world.plan.workflow;
        let taken = plan
            .state(&StateName::from(from))
            .and_then(|state| state.transition(&TransitionName::from(transition)));
        self.insist(taken.is_some_and(|taken| taken.next.as_str() == to), || {
            format!("{transition} leads from {from} to {to}")
        });
        processors.clear();
        for processor in taken.iter().flat_map(|taken| &taken.processors) {
            if let crate::workflow::Task::Timer { transition, .. } = &processor.task {
                self.asked.push((StateName::from(to), transition.clone()));
            }
        }
    }

    fn fired(&mut self, transition: &str, run: &RunRecord, recorded: &Recorded) {
        let here = self.state.clone();
        let armed = self.armed.remove(transition);
        self.insist(armed.is_some(), || format!("{transition} fired unarmed"));
        let Some((state, due)) = armed else { return };
        self.insist(Some(&state) == here.as_ref(), || {
            format!("{transition} of {state} fired in {here:?}")
        });
        let early = run.at < due || recorded.at.micros() < due;
        self.insist(!early, || {
            format!("{transition} was due at {due} and fired at {}", run.at)
        });
    }
}

/// What each deed came to: nothing lost, nothing twice, and everything of a transaction or nothing.
struct Effects<'a> {
    ledger: &'a Ledger,
    lives: HashMap<EntityId, &'a Life>,
    committed: BTreeSet<TransactionId>,
    has_boundaries: bool,
}

impl<'a> Effects<'a> {
    fn new(ledger: &'a Ledger, world: &World, lives: &'a [Life]) -> Self {
        let trails = lives.iter().flat_map(|life| &life.trail);
        Self {
            ledger,
            lives: lives.iter().map(|life| (life.id, life)).collect(),
            committed: trails.map(|recorded| recorded.transaction).collect(),
            has_boundaries: world.plan.has_boundaries,
        }
    }

    /// Whether a transaction left an entity as it was: then a timer was declined, and what the
    /// member of its criterion wrote is undone.
    fn was_left(&self, entity: EntityId, transaction: Option<TransactionId>) -> bool {
        self.lives.get(&entity).is_some_and(|life| {
            let mut of_it = life
                .trail
                .iter()
                .filter(|recorded| Some(recorded.transaction) == transaction);
            of_it.any(|recorded| recorded.change.is_none())
        })
    }

    /// Whether anything that an op did is there.
    fn shows(&self, op: &Op) -> bool {
        op.deeds.iter().any(|deed| {
            let life = deed.entity.and_then(|entity| self.lives.get(&entity));
            life.is_some_and(|life| {
                let mut trail = life.trail.iter();
                trail.any(|recorded| Some(recorded.transaction) == deed.transaction)
            })
        })
    }

    /// Whether what an op did shows if its transaction was committed.
    fn counts(&self, op: usize) -> bool {
        let mut op = &self.ledger.ops[op];
        loop {
            let Origin::Callback {
                anchor,
                call,
                is_crossover,
                parent,
            } = &op.origin
            else {
                return true;
            };
            // What an attempt wrote that was not the one that counts is undone, unless it was under way
            // when its request went on without it.
            let holds = self.ledger.accepted.contains(call) || (*is_crossover && self.shows(op));
            if op.outcome != OpOutcome::Done || !holds || self.was_left(*anchor, op.began) {
                return false;
            }
            let above = &self.ledger.ops[*parent];
            let is_nested =
                matches!(above.origin, Origin::Callback { .. }) && above.began == op.began;
            if !is_nested {
                return true;
            }
            op = above;
        }
    }

    fn all(&self, findings: &mut Vec<String>) {
        // The last deed of each transaction for each entity; none if it took it away again.
        let mut expected: BTreeMap<(EntityId, TransactionId), Option<Action>> = BTreeMap::new();
        let mut made = BTreeSet::new();
        for action in &self.ledger.completed {
            let deed = &self.ledger.ops[action.op].deeds[action.deed];
            let (Some(entity), Some(transaction)) = (deed.entity, deed.transaction) else {
                continue;
            };
            if !self.committed.contains(&transaction) || !self.counts(action.op) {
                continue;
            }
            let key = (entity, transaction);
            match deed.kind {
                DeedKind::Create => {
                    // Unless a part of it was committed before.
                    if self.ledger.ops[action.op].began == Some(transaction) {
                        made.insert(key);
                    }
                    expected.insert(key, Some(*action));
                }
                DeedKind::Delete if made.contains(&key) => {
                    expected.insert(key, None);
                }
                DeedKind::Update | DeedKind::Delete => {
                    expected.insert(key, Some(*action));
                }
            }
        }
        for (index, op) in self.ledger.ops.iter().enumerate() {
            let is_client = matches!(op.origin, Origin::Client);
            let last = op.last.filter(|last| self.committed.contains(last));
            let did = Self::leaves_something(op);
            if is_client && op.outcome == OpOutcome::Done && did && last.is_none() {
                findings.push(format!("op {index} was acknowledged and is lost"));
            }
            if is_client && op.outcome == OpOutcome::Failed && last.is_some() {
                findings.push(format!("op {index} failed and was committed"));
            }
            let began = op
                .began
                .is_some_and(|began| self.committed.contains(&began));
            if is_client && op.outcome == OpOutcome::Failed && began && !self.has_boundaries {
                findings.push(format!("op {index} failed and was committed in part"));
            }
        }
        for ((entity, transaction), action) in &expected {
            self.is_there(*entity, *transaction, *action, findings);
        }
        self.nothing_else(&expected, findings);
        self.nothing_overwritten(findings);
    }

    /// Whether an op changed anything in its last transaction but what it took away again.
    fn leaves_something(op: &Op) -> bool {
        let mut left = BTreeMap::new();
        let of_last = op
            .deeds
            .iter()
            .filter(|deed| deed.transaction.is_some() && deed.transaction == op.last);
        for deed in of_last {
            let made_here = left.contains_key(&deed.entity);
            match deed.kind {
                DeedKind::Delete if left.get(&deed.entity) == Some(&DeedKind::Create) => {
                    left.remove(&deed.entity);
                }
                _ if made_here => {}
                kind @ (DeedKind::Create | DeedKind::Update | DeedKind::Delete) => {
                    left.insert(deed.entity, kind);
                }
            }
        }
        !left.is_empty()
    }

    fn is_there(
        &self,
        entity: EntityId,
        transaction: TransactionId,
        action: Option<Action>,
        findings: &mut Vec<String>,
    ) {
        let life = self.lives.get(&entity);
        let of_it = |recorded: &&Recorded| recorded.transaction == transaction;
        let change = life.and_then(|life| {
            life.trail
                .iter()
                .filter(of_it)
                .find_map(|recorded| recorded.change.as_ref())
        });
        match (action, change) {
            (None, None) => {}
            (None, Some(_)) => findings.push("made and deleted, and still there".to_owned()),
            (Some(action), None) => findings.push(format!("{action:?} is lost")),
            (Some(action), Some(change)) => {
                let deed = &self.ledger.ops[action.op].deeds[action.deed];
                let deleted = change.kind == ChangeKind::Delete;
                if deleted != (deed.kind == DeedKind::Delete) {
                    findings.push(format!("{action:?} came to {:?}", change.kind));
                }
                let version = life.and_then(|life| life.versions.get(&transaction));
                let writer =
                    version.and_then(|version| self.ledger.writer(&version.image.document));
                // A later deed of that session may have begun to replace it, and ended in another
                // transaction.
                let is_later = writer.is_some_and(|writer| {
                    let deed = &self.ledger.ops[writer.op].deeds[writer.deed];
                    matches!(self.ledger.ops[writer.op].origin, Origin::Client)
                        && deed.transaction != Some(transaction)
                });
                if !deleted && !is_later && writer != Some(action) {
                    findings.push(format!("{action:?} was replaced by {writer:?}"));
                }
            }
        }
    }

    /// What a session did is all there is of its transaction.
    fn nothing_else(
        &self,
        expected: &BTreeMap<(EntityId, TransactionId), Option<Action>>,
        findings: &mut Vec<String>,
    ) {
        let ops = self.ledger.ops.iter().enumerate();
        let sessions: HashMap<TransactionId, usize> = ops
            .filter(|(_, op)| matches!(op.origin, Origin::Client))
            .filter_map(|(index, op)| Some((op.began?, index)))
            .collect();
        for life in self.lives.values() {
            for (transaction, version) in &life.versions {
                if expected.contains_key(&(life.id, *transaction)) {
                    continue;
                }
                let Some(writer) = self.ledger.writer(&version.image.document) else {
                    continue;
                };
                // A part that was committed before its deed was complete, or by a later run.
                let deed = &self.ledger.ops[writer.op].deeds[writer.deed];
                let is_part = sessions.get(transaction) == Some(&writer.op)
                    && deed.transaction != Some(*transaction);
                let by_session = sessions.contains_key(transaction);
                let is_callback =
                    matches!(self.ledger.ops[writer.op].origin, Origin::Callback { .. });
                let was_undone = is_callback && deed.transaction == Some(*transaction);
                if (by_session && !is_part) || was_undone {
                    findings.push(format!("{writer:?} shows although it was undone"));
                }
            }
        }
    }

    /// Each acknowledged change follows the version it was based on.
    fn nothing_overwritten(&self, findings: &mut Vec<String>) {
        for (index, op) in self.ledger.ops.iter().enumerate() {
            let Some(began) = op.began.filter(|_| matches!(op.origin, Origin::Client)) else {
                continue;
            };
            let mut entities = BTreeSet::new();
            for deed in &op.deeds {
                let Some(entity) = deed.entity else { continue };
                if !entities.insert(entity) || deed.transaction.is_none() {
                    continue;
                }
                let (Some(seen), Some(life)) = (deed.seen, self.lives.get(&entity)) else {
                    continue;
                };
                let changes: Vec<_> = life
                    .trail
                    .iter()
                    .filter(|recorded| recorded.change.is_some())
                    .collect();
                // Not what members did in the same transaction before.
                let by_op = |recorded: &&Recorded| {
                    let version = life.versions.get(&recorded.transaction);
                    let writer =
                        version.and_then(|version| self.ledger.writer(&version.image.document));
                    recorded.entry == began && writer.is_some_and(|writer| writer.op == index)
                };
                let first = changes
                    .iter()
                    .copied()
                    .position(|recorded| by_op(&recorded));
                let before = first.and_then(|first| changes.get(first.checked_sub(1)?));
                if first.is_some() && before.map(|recorded| recorded.transaction) != Some(seen) {
                    findings.push(format!("op {index} overwrote what it had not seen"));
                }
            }
        }
    }
}
