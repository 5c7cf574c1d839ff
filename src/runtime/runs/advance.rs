//! Advances: what an arrival makes of a run, and of the runs above and below it, in one unit.

use std::{collections::VecDeque, sync::Arc, time::Duration};

use super::{
    CONFLICTS_APART, CONFLICTS_MAX, ReadRun, State, not_found,
    plans::{Followed, PermitTaken},
    state::refused,
    transition::takes_signal,
};
use crate::clock::Timestamp;
use crate::error::{Code, Failure};
use crate::expr;
use crate::id::{RunId, Tenant};
use crate::pool::{AT_ONCE_BYTES_MAX, Pool};
use crate::program::{
    self, Arrival, Effect, HistoryEvent, Next, Program, Run, Status, Turn, World,
};
use crate::random::{STEP, mixed};
use crate::runtime::{Initiator, Runtime, Session};
use crate::storage::{RunName, RunSignal};

/// After how many bytes of history and of writes an advance is committed before the next step. The
/// slots of tasks in flight limit how many runs hold as much.
const UNCOMMITTED_MAX: usize = 256 << 10;

/// The same of values that were loaded for paths: the next commit begins without them.
const LOADED_MAX: usize = 1 << 20;

/// After how long an advance is committed before the next step, so that its slot is left to others.
const ADVANCE_MAX: Duration = Duration::from_secs(1);

/// What became of an arrival.
#[derive(Debug)]
pub struct Arrived {
    /// Whether what arrived was taken: an answer by the task that is out, a signal by a wait.
    pub is_taken: bool,
    /// Whether there is anything to commit.
    pub is_changed: bool,
    pub status: Status,
    /// The run that it was for, and whether that is one of a saga.
    pub run: RunId,
    pub is_saga: bool,
    /// What follows the commit, and for which run.
    pub(super) effects: Vec<(Box<str>, Followed)>,
    pub(super) permits: Vec<PermitTaken>,
}

impl Default for Arrived {
    fn default() -> Self {
        Self {
            is_taken: false,
            is_changed: false,
            status: Status::Pending,
            run: RunId::new(0),
            is_saga: false,
            effects: Vec::new(),
            permits: Vec::new(),
        }
    }
}

impl Arrived {
    /// The attempts that have got permits are made.
    pub(super) fn spend_permits(&mut self) {
        self.permits.drain(..).for_each(PermitTaken::spend);
    }
}

/// An arrival at a run.
pub(super) struct Advance {
    pub(super) run: RunId,
    pub(super) arrival: Arrival,
    /// Of the answer of a task: which delivery it is of; 0 if none is known.
    pub(super) attempt: u32,
    /// The run as the caller has read it, so that its state is parsed once.
    pub(super) read: Option<ReadRun>,
}

impl Advance {
    pub(super) const fn of(run: RunId, arrival: Arrival) -> Self {
        Self {
            run,
            arrival,
            attempt: 0,
            read: None,
        }
    }
}

/// One run during its advance.
pub(super) struct Advancing<'a> {
    pub(super) run: RunId,
    pub(super) name: &'a RunName,
    pub(super) by: &'a Initiator,
    /// How often this advance has met a conflict.
    pub(super) conflicts: u32,
    /// Of the answer of a task that has arrived: which delivery it is of; 0 if none is known.
    pub(super) attempt: u32,
    pub(super) depth: u32,
    /// What is known of its history and not committed.
    pub(super) uncommitted: Vec<HistoryEvent>,
    /// What follows the commit.
    pub(super) effects: Vec<Effect>,
    /// How many bytes the unit held before what has arrived.
    pub(super) held_before: usize,
    pub(super) program: Arc<Program>,
    pub(super) now: Timestamp,
    pub(super) permits: Vec<PermitTaken>,
}

impl Runtime {
    /// Advances a run by an arrival, and the runs above and below it that this concerns. The unit
    /// of the session then has the outcome.
    pub(super) async fn advance_in(
        &self,
        session: &mut Session,
        by: &Initiator,
        advance: Advance,
    ) -> Result<Arrived, Failure> {
        let mut arrived = Arrived::default();
        let (conflicts, held_before) = (session.conflicts(), session.unit()?.bytes());
        let mut read = advance.read;
        let mut queue = VecDeque::from([(advance.run, advance.arrival)]);
        let mut is_first = true;
        while let Some((run, arrival)) = queue.pop_front() {
            let Some(stored) = session.unit()?.run(run).await? else {
                if is_first {
                    return Err(not_found(&run.to_string()));
                }
                continue;
            };
            let begun = match read.take() {
                // The unit may have left it otherwise than it was read.
                Some(read) if Arc::ptr_eq(&read.stored.state, &stored.state) => read.state,
                Some(_) | None => self.0.parsed.read(&stored)?,
            };
            if !is_first && begun.run.status.is_end() {
                continue;
            }
            // The turn that sent it is over, and does not depend on whether others have use for it.
            if !is_first && !takes_signal(&begun, &arrival) {
                session.unit()?.leave_run(&stored);
                continue;
            }
            let begun = self.0.parsed.take(run, begun);
            let is_elsewhere = self.storage().is_driven_elsewhere(&stored);
            let elsewhere = is_elsewhere.then(|| begun.out());
            let had_ended = begun.run.status.is_end();
            let program = self
                .program_of(&by.tenant, &stored.name, &begun.digest)
                .await?;
            let starter = begun.initiator(by)?;
            session.unit()?.turn_begins();
            let advancing = Advancing {
                run,
                name: &stored.name,
                by: &starter,
                conflicts,
                attempt: if is_first { advance.attempt } else { 0 },
                depth: begun.run.depth,
                uncommitted: Vec::new(),
                effects: Vec::new(),
                held_before,
                program,
                now: self.0.clock.now(),
                permits: Vec::new(),
            };
            let advanced = Box::pin(self.advance_one(session, advancing, begun, arrival)).await;
            let signals = session.unit()?.turn_ends();
            queue.extend(signals.into_iter().map(arriving));
            let (state, turned) = advanced?;
            let Turned {
                program,
                history,
                effects,
                permits,
                is_taken,
            } = turned;
            if is_first {
                arrived.is_taken = is_taken;
                arrived.status = state.run.status;
                arrived.run = run;
                arrived.is_saga = state.run.saga.is_some();
            }
            is_first = false;
            arrived.permits.extend(permits);
            if !is_taken && history.is_empty() {
                session.unit()?.leave_run(&stored);
                continue;
            }
            arrived.is_changed = true;
            let mut advance = state.stored(&history)?;
            advance.stays = elsewhere.is_some_and(|before| state.stays_with(&before));
            let text = Arc::clone(&advance.state);
            session.unit()?.advance_run(&stored, advance)?;
            self.mirror_later(session, &by.tenant, &stored.name, run, &program)
                .await?;
            if state.run.status.is_end()
                && !had_ended
                && let Some(parent) = stored.parent
            {
                queue.push_back((parent, ended(&state, &history)));
            }
            queue.extend(self.cancellations(session, &by.tenant, &effects).await?);
            let effects = effects.into_iter();
            let follows =
                effects.filter_map(|effect| followed(&stored.name, &program, effect, is_elsewhere));
            let follows = follows.map(|next| (state.run.id.clone(), next));
            arrived.effects.extend(follows);
            self.0.parsed.keep(run, &text, Arc::new(state));
        }
        Ok(arrived)
    }

    /// The cancellations among the effects of an advance, as they arrive at the children.
    async fn cancellations(
        &self,
        session: &mut Session,
        tenant: &Tenant,
        effects: &[Effect],
    ) -> Result<Vec<(RunId, Arrival)>, Failure> {
        let mut cancellations = Vec::new();
        for effect in effects {
            let Effect::CancelChild { run, reason } = effect else {
                continue;
            };
            let reason = reason.clone();
            match self.find_run_in(session, tenant, run).await {
                Ok(child) => cancellations.push((child, Arrival::Cancel { reason })),
                // It was removed after its end.
                Err(failure) if failure.code() == Code::RunNotFound => {}
                Err(failure) => return Err(failure),
            }
        }
        Ok(cancellations)
    }

    /// Takes all turns of one arrival.
    async fn advance_one(
        &self,
        session: &mut Session,
        mut advancing: Advancing<'_>,
        mut state: State,
        arrival: Arrival,
    ) -> Result<(State, Turned), Failure> {
        let program = Arc::clone(&advancing.program);
        let mut turned = Turned {
            program: Arc::clone(&program),
            history: Vec::new(),
            effects: Vec::new(),
            permits: Vec::new(),
            is_taken: false,
        };
        let ending = state.ending(&arrival, advancing.attempt);
        let mut arrival = arrival;
        let mut run = state.run;
        let mut is_first = true;
        let begun = advancing.now;
        loop {
            let is_full = self.has_done_enough(session, &advancing, &run, begun)?;
            let turn = self
                .turn(session, &advancing, run, arrival, is_full)
                .await?;
            advancing.uncommitted.extend(turn.history);
            advancing.effects.extend(turn.effects);
            if is_first {
                turned.is_taken = turn.taken;
                is_first = false;
            }
            run = turn.run;
            match turn.next {
                Next::Ask(ask) => {
                    session.acts_for_step(&run.execution());
                    let reply = self.reply(session, &mut advancing, ask).await;
                    // What was asked for may have taken long.
                    advancing.now = advancing.now.max(self.0.clock.now());
                    arrival = Arrival::Replied(reply?);
                }
                Next::Park | Next::End => break,
            }
        }
        state.run = run;
        turned.history = advancing.uncommitted;
        turned.effects = advancing.effects;
        if let Some(ending) = ending {
            state.keep_attempt(ending, &mut turned.history);
        }
        state.forget_used();
        turned.permits = advancing.permits;
        Ok((state, turned))
    }

    /// Whether an advance has done enough for one commit. Otherwise a run that loops over steps that
    /// wait for nothing would hold all of its history, and a slot, until its end.
    fn has_done_enough(
        &self,
        session: &mut Session,
        advancing: &Advancing<'_>,
        run: &Run,
        begun: Timestamp,
    ) -> Result<bool, Failure> {
        let written = session.unit()?.bytes();
        let events = advancing.uncommitted.iter().map(HistoryEvent::bytes);
        let events = usize::try_from(events.sum::<u64>()).unwrap_or(usize::MAX);
        let uncommitted = events.saturating_add(written.saturating_sub(advancing.held_before));
        let passed = self.0.clock.now().since(begun);
        Ok(uncommitted > UNCOMMITTED_MAX || run.bytes() > LOADED_MAX || passed > ADVANCE_MAX)
    }

    /// Takes one turn. Where it reads much, it does so apart from the threads that serve requests.
    pub(super) async fn turn(
        &self,
        session: &mut Session,
        advancing: &Advancing<'_>,
        run: Run,
        arrival: Arrival,
        is_full: bool,
    ) -> Result<Turn, Failure> {
        let id = run.id.clone();
        let bytes = run.bytes().saturating_add(arrival.bytes());
        let (program, now) = (Arc::clone(&advancing.program), advancing.now);
        let chance = chance(advancing.run, run.sequence, now);
        let limits = self.0.settings.runs.limits;
        let is_apart = advancing.conflicts >= CONFLICTS_APART;
        let is_contended = advancing.conflicts >= CONFLICTS_MAX;
        let turn = move |run: Run, arrival| {
            let world = World {
                program: &program,
                now,
                chance,
                limits,
                is_apart,
                is_contended,
                is_full,
            };
            run.advance(arrival, &world)
        };
        let is_small = bytes <= AT_ONCE_BYTES_MAX;
        let at_once = || expr::at_once(|| turn(run.clone(), arrival.clone()));
        let turned = if let Some(turned) = is_small.then(at_once).flatten() {
            turned
        } else {
            let party = self.storage().party(&advancing.by.tenant).await?;
            session.leave_slot_alone();
            let turning = Pool::for_evaluating().run(party, move |_| turn(run, arrival));
            let turned = turning.await;
            session.take_slot().await;
            turned
        };
        turned.map_err(|refusal| refused(&id, refusal))
    }
}

/// What all turns of one arrival leave behind.
#[derive(Debug)]
struct Turned {
    program: Arc<Program>,
    history: Vec<HistoryEvent>,
    effects: Vec<Effect>,
    permits: Vec<PermitTaken>,
    is_taken: bool,
}

/// What follows the commit; none if who looks at the run after it finds it.
fn followed(
    name: &RunName,
    program: &Arc<Program>,
    effect: Effect,
    is_elsewhere: bool,
) -> Option<Followed> {
    match effect {
        Effect::CancelChild { .. } => None,
        // Another process sends it, or nothing needs to know who has.
        Effect::Send(task) if is_elsewhere || task.purpose.is_none() => None,
        effect @ (Effect::Send(_)
        | Effect::GiveUp { .. }
        | Effect::Record { .. }
        | Effect::Keep { .. }
        | Effect::Log(_)) => Some(Followed {
            namespace: Arc::clone(&name.namespace),
            workflow: Arc::clone(&name.name),
            program: Arc::clone(program),
            effect,
        }),
    }
}

/// A signal that a transition has sent while a run was being advanced.
fn arriving(signal: RunSignal) -> (RunId, Arrival) {
    let RunSignal { run, kind, payload } = signal;
    let kind = (*kind).into();
    (run, Arrival::Signal { kind, payload })
}

/// The end of a run, as it arrives at its parent.
pub(super) fn ended(state: &State, history: &[HistoryEvent]) -> Arrival {
    let output = state.run.output.as_ref().and_then(|output| match output {
        program::Payload::Inline(text) => Some(Arc::from(&**text)),
        program::Payload::At(sequence) => {
            let mut events = history.iter();
            let event = events.find(|event| event.sequence == *sequence);
            event.map(|event| Arc::from(event.payload()))
        }
    });
    Arrival::ChildEnded {
        run: state.run.id.clone(),
        status: state.run.status,
        output,
        error: state.run.error.clone(),
    }
}

/// A number that differs from turn to turn: jitter and shuffles need no better one.
fn chance(run: RunId, sequence: u64, now: Timestamp) -> u64 {
    let seed = run.number().unsigned_abs() ^ now.micros().unsigned_abs().rotate_left(32);
    mixed(seed ^ sequence.wrapping_mul(STEP))
}
