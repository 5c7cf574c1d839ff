//! Starts runs by the clock (`orchestration.md` 1.11).
//!
//! A schedule is a record that says how far it has come. It is replaced in the unit that starts the
//! run, so that a planned instant starts one run at most, whatever happens in between. When a
//! schedule is due is kept in memory only: after a restart it is the next planned instant.
//!
//! Where several processes use one database, all of them know when schedules are due, and one of them
//! fires each. The others leave an instant to it until they see that it has been fired; who takes a
//! schedule over from a process that is gone fires what that one has left.

use std::{
    collections::{BTreeSet, HashMap, HashSet},
    sync::Arc,
    time::Duration,
};

use futures_util::{StreamExt as _, stream};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tracing::warn;

use super::{
    Initiator, Runtime, again,
    incidents::{About, Fault, Held, Verdict, contained},
    runs::StartRun,
};
use crate::clock::{Timestamp, Woken};
use crate::error::{Code, Coded as _, Failure};
use crate::id::{RunId, Tenant};
use crate::program::StartedBy;
use crate::registry::producer::{self, Producer, Schedule};
use crate::storage::{RecordKey, RecordRow, RunName, Work};
use crate::telemetry::measure::Fire;

/// How many schedules are read at once.
const PAGE: usize = 1_000;

/// How many are fired at once.
const AT_ONCE: usize = 64;

/// The pause after a failure.
const AFTER_TROUBLE: Duration = Duration::from_secs(1);

/// The smallest difference between times.
const TICK: i64 = 1;

/// After which pause an instant is looked at again that is another process's to fire.
const LEFT_PAUSE: Duration = Duration::from_millis(500);

/// How late an instant is fired at most that another process has left. It is longer than it takes to
/// find out that a process is gone.
const LEFT_MAX: Duration = Duration::from_secs(15);

/// The name of a producer's record, and whose it is.
pub(super) type Name = (Tenant, RecordKey);

/// When schedules are due.
#[derive(Debug, Default)]
struct Agenda {
    due: BTreeSet<(Timestamp, Name)>,
    of: HashMap<Name, Planned>,
    /// Those whose records could not be read: nothing is fired until they are.
    unread: HashSet<Name>,
    /// When they are read again.
    read_at: Option<Timestamp>,
}

#[derive(Debug, Clone, Copy)]
struct Planned {
    instant: Timestamp,
    /// Later than the instant after a failure.
    due: Timestamp,
    /// Whether it was another process's to fire.
    is_left: bool,
}

impl Agenda {
    fn put(&mut self, name: Name, planned: Option<Planned>) {
        self.unread.remove(&name);
        if let Some(before) = self.of.remove(&name) {
            self.due.remove(&(before.due, name.clone()));
        }
        if let Some(planned) = planned {
            self.due.insert((planned.due, name.clone()));
            self.of.insert(name, planned);
        }
    }

    /// Puts a schedule where it says, but leaves out no instant that it was to be fired at.
    fn plan(&mut self, name: Name, schedule: &Schedule, now: Timestamp) {
        warn_if_ahead(&name, schedule, now);
        let known = self.of.get(&name).copied();
        let instant = known.map(|known| known.instant.micros());
        let after = instant.map_or_else(|| now.micros(), |known| now.micros().min(known - TICK));
        let next = schedule.next_after(Timestamp::from_micros(after), now);
        let next = next.filter(|_| !schedule.paused);
        let planned = next.map(|instant| Planned {
            is_left: known.is_some_and(|known| known.is_left && known.instant == instant),
            ..Planned::at(instant)
        });
        self.put(name, planned);
    }

    /// Plans a schedule that others have known to be this process's since it has begun to start.
    fn plan_left(&mut self, name: Name, schedule: &Schedule, now: Timestamp) {
        warn_if_ahead(&name, schedule, now);
        let next = schedule.next_since(now.before(LEFT_MAX), now);
        let next = next.filter(|_| !schedule.paused);
        let left = next.map(|instant| Planned {
            is_left: true,
            ..Planned::at(instant)
        });
        self.put(name, left);
    }

    /// Notes that the record of a schedule could not be read. What it was planned for is kept.
    fn put_unread(&mut self, name: Name, now: Timestamp) {
        self.unread.insert(name);
        self.read_at = Some(now.after(AFTER_TROUBLE));
    }

    /// Takes those out that are to be read again.
    fn take_unread(&mut self, now: Timestamp) -> HashSet<Name> {
        match self.read_at.take_if(|at| *at <= now) {
            Some(_) => std::mem::take(&mut self.unread),
            None => HashSet::new(),
        }
    }

    /// Takes out what is due.
    fn take_due(&mut self, now: Timestamp) -> Vec<(Name, Planned)> {
        let mut taken = Vec::new();
        while let Some((due, _)) = self.due.first()
            && *due <= now
            && let Some((_, name)) = self.due.pop_first()
        {
            if !self.unread.contains(&name)
                && let Some(planned) = self.of.remove(&name)
            {
                taken.push((name, planned));
            }
        }
        taken
    }

    fn names(&self) -> HashSet<Name> {
        self.of.keys().chain(&self.unread).cloned().collect()
    }

    /// When there is something to do.
    fn next(&self) -> Option<Timestamp> {
        let due = self.due.first().map(|(due, _)| *due);
        due.into_iter().chain(self.read_at).min()
    }
}

impl Planned {
    const fn at(instant: Timestamp) -> Self {
        Self {
            instant,
            due: instant,
            is_left: false,
        }
    }

    /// It is another process's to fire, so it is looked at again later.
    fn left(self, now: Timestamp) -> Self {
        Self {
            due: now.after(LEFT_PAUSE),
            is_left: true,
            ..self
        }
    }
}

/// A schedule that has come further than the clock shows was fired while the clock was wrong.
fn warn_if_ahead((_, key): &Name, schedule: &Schedule, now: Timestamp) {
    if schedule.paused || !schedule.is_ahead(now) {
        return;
    }
    let (producer, next) = (&*key.name, schedule.next(now));
    let next = next.map(|next| next.to_string()).unwrap_or_default();
    warn!(
        producer,
        next, "the clock was set back after a schedule had fired; it fires next at `next`"
    );
}

impl Runtime {
    /// Fires schedules and follows topics until `stop` is cancelled.
    pub async fn look_after_producers(self, stop: CancellationToken) {
        let (triggers, changed) = mpsc::unbounded_channel();
        let looking = async {
            tokio::join!(self.fire_schedules(triggers), self.follow_topics(changed));
        };
        stop.run_until_cancelled(looking).await;
    }

    /// Triggers that were committed go to `triggers`.
    async fn fire_schedules(&self, triggers: mpsc::UnboundedSender<Name>) {
        let mut agenda = Agenda::default();
        let mut alarm = self.0.clock.alarm();
        self.read_schedules(&mut agenda).await;
        loop {
            let due = self.leave_to_others(&mut agenda).await;
            let mut fired = stream::iter(due)
                .map(|(name, planned)| async move {
                    let next = contained(self.fire_schedule(&name, planned)).await;
                    (name, planned, next)
                })
                .buffer_unordered(AT_ONCE);
            while let Some((name, planned, next)) = fired.next().await {
                let planned = match next {
                    Ok(next) => next.map(|instant| Planned {
                        is_left: planned.is_left && instant <= self.0.clock.now(),
                        ..Planned::at(instant)
                    }),
                    Err(fault) => {
                        Fire::Failed.count();
                        let again = self.producer_failed(&name, &fault).await;
                        again.map(|pause| Planned {
                            due: self.0.clock.now().after(pause),
                            ..planned
                        })
                    }
                };
                agenda.put(name, planned);
            }
            drop(fired);
            for name in self.storage().changed_producers() {
                // What was written again may fail again as often as before.
                self.producer_written(&name).await;
                if producer::is_trigger(&name.1) {
                    // They are followed as long as schedules are fired.
                    let _ = triggers.send(name);
                } else {
                    self.plan(&mut agenda, name).await;
                }
            }
            tokio::select! {
                woken = alarm.until(agenda.next()) => if woken == Woken::SetBack {
                    for name in agenda.names() {
                        self.plan(&mut agenda, name).await;
                    }
                },
                () = self.storage().producers_changed() => {}
            }
        }
    }

    /// Takes out what is due and this process is to fire; what others are to fire is looked at again.
    /// Before that, records are read again that could not be.
    async fn leave_to_others(&self, agenda: &mut Agenda) -> Vec<(Name, Planned)> {
        let now = self.0.clock.now();
        for name in agenda.take_unread(now) {
            self.plan(agenda, name).await;
        }
        let due = agenda.take_due(now).into_iter();
        let (due, left): (Vec<_>, Vec<_>) = due.partition(|(name, _)| self.looks_after(name));
        for (name, planned) in left {
            if now.since(planned.instant) > LEFT_MAX {
                // Nobody has to fire it: its definition is disabled, for example.
                self.plan(agenda, name).await;
            } else {
                agenda.put(name, Some(planned.left(now)));
            }
        }
        due
    }

    /// Whether this process handles a producer: one of those that use the database does.
    pub(super) fn looks_after(&self, (tenant, key): &Name) -> bool {
        let name: [&str; 3] = [tenant.as_str(), &key.namespace, &key.name];
        self.storage().has_share_of(&name)
    }

    /// Plans all schedules that there are. What was missed while nobody looked is not made up for;
    /// what other processes leave to this one from now on, is.
    async fn read_schedules(&self, agenda: &mut Agenda) {
        let mut after = RecordRow::FIRST;
        let has_others = self.storage().sharing().len() > 1;
        loop {
            match self.storage().producers(after, PAGE).await {
                Ok(page) => {
                    let Some(last) = page.last() else { return };
                    after = last.row;
                    let now = self.0.clock.now();
                    for stored in page {
                        let name = (stored.tenant, stored.record.key.clone());
                        match Producer::read(&stored.record) {
                            // An operator has it looked at again.
                            _ if self.has_stopped(&name) => {}
                            Ok(Producer::Schedule(schedule)) if has_others => {
                                agenda.plan_left(name, &schedule, now);
                            }
                            Ok(Producer::Schedule(schedule)) => agenda.plan(name, &schedule, now),
                            Ok(Producer::Trigger(_)) => {}
                            // It fails when it is fired, and that is counted.
                            Err(_) if producer::is_trigger(&name.1) => {}
                            Err(_) => agenda.put(name, Some(Planned::at(now))),
                        }
                    }
                }
                Err(error) => {
                    warn!(%error, "the schedules could not be read; retrying");
                    tokio::time::sleep(AFTER_TROUBLE).await;
                }
            }
        }
    }

    /// Plans a schedule that was committed.
    async fn plan(&self, agenda: &mut Agenda, name: Name) {
        let (tenant, key) = &name;
        match self.storage().record(tenant, key).await {
            Ok(None) => agenda.put(name, None),
            Ok(Some(record)) => match Producer::read(&record) {
                Ok(Producer::Schedule(schedule)) => {
                    agenda.plan(name, &schedule, self.0.clock.now());
                }
                Ok(Producer::Trigger(_)) => {}
                // It fails when it is fired, and that is counted.
                Err(_) => agenda.put(name, Some(Planned::at(self.0.clock.now()))),
            },
            Err(error) => {
                warn!(%error, "a schedule could not be read; retrying");
                agenda.put_unread(name, self.0.clock.now());
            }
        }
    }

    /// Does what a planned instant asks for and returns the next one.
    async fn fire_schedule(
        &self,
        name: &Name,
        planned: Planned,
    ) -> Result<Option<Timestamp>, Failure> {
        again(|| self.try_fire(name, planned)).await
    }

    async fn try_fire(
        &self,
        (tenant, key): &Name,
        planned: Planned,
    ) -> Result<Option<Timestamp>, Failure> {
        let Planned {
            instant, is_left, ..
        } = planned;
        let by = Initiator::system(tenant);
        self.storage().refresh().await?;
        let mut session = self.session_for(&by, by.attribution());
        let unit = session.unit()?;
        let Some(mut schedule) = producer::stored::<Schedule>(unit, key).await? else {
            return Ok(None);
        };
        if schedule.paused {
            return Ok(None);
        }
        let (namespace, definition) = (&key.namespace, producer::definition_of(key));
        let registry = &self.0.registry;
        match registry
            .definition_in(unit, namespace, definition, None)
            .await
        {
            Ok(definition) if definition.is_disabled() => {
                return Ok(schedule.next(self.0.clock.now()));
            }
            Ok(_) => {}
            Err(error) if error.code() == Code::RunDefinitionNotFound => return Ok(None),
            Err(error) => return Err(error.into()),
        }
        let now = self.0.clock.now();
        // Of instants that were left none is left out, nor of those that have passed while this process
        // was frozen: another one leaves them to it until it counts as gone.
        let is_kept = self.storage().is_shared() && now.since(instant) <= LEFT_MAX;
        let after = if is_left || is_kept { instant } else { now };
        if !schedule.awaits(instant, now) {
            return Ok(schedule.next_after(after, now));
        }
        schedule.live = self.still_live(tenant, &schedule.live).await?;
        let fire = if schedule.has_room() && self.may_store_more(tenant) {
            let name = RunName {
                namespace: Arc::clone(namespace),
                name: definition.into(),
            };
            let input = Arc::from(&*schedule.input);
            let start = StartRun {
                steps_at_once: true,
                ..StartRun::new(name, input, StartedBy::Schedule)
            };
            let started = self.start_run(&mut session, &by, start).await?;
            schedule.fire(instant, now, started.run.number());
            Fire::Started
        } else {
            schedule.skip(instant, now);
            Fire::Skipped
        };
        let body = producer::write(&schedule);
        session.unit()?.put_record(key.clone(), body)?;
        session.unit()?.settle(&Work::producer(key))?;
        session.finish(&by.cancel).await?;
        fire.count();
        Ok(schedule.next_after(after, now))
    }

    /// Notes that a producer failed; the pause before it is tried again, if it is.
    pub(super) async fn producer_failed(
        &self,
        (tenant, key): &Name,
        fault: &Fault,
    ) -> Option<Duration> {
        let about = About {
            name: Some(producer::definition_of(key).into()),
            ..About::new(Work::producer(key))
        };
        match self.work_failed(tenant, about, fault).await {
            Verdict::Again(pause) => Some(pause),
            Verdict::Stopped => None,
        }
    }

    /// Whether a producer waits for an operator.
    pub(super) fn has_stopped(&self, (tenant, key): &Name) -> bool {
        self.held(tenant, &Work::producer(key)) == Held::Stopped
    }

    /// Forgets the failures of a producer that was written.
    async fn producer_written(&self, (tenant, key): &Name) {
        if let Err(failure) = self.settle(tenant, &Work::producer(key)).await {
            warn!(failure = %failure.in_full(), producer = %key.name, "the failure count of a producer could not be reset");
        }
    }

    /// Those of the runs that have not ended.
    pub async fn still_live(&self, tenant: &Tenant, runs: &[i64]) -> Result<Vec<i64>, Failure> {
        let mut live = Vec::with_capacity(runs.len());
        for number in runs {
            let run = self.storage().run(tenant, RunId::new(*number)).await?;
            if run.is_some_and(|run| run.ended.is_none()) {
                live.push(*number);
            }
        }
        Ok(live)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_micros(seconds * 1_000_000)
    }

    fn named(definition: &str) -> Name {
        ("t".into(), producer::schedule_key("default", definition))
    }

    #[test]
    fn a_schedule_that_could_not_be_read_is_read_again_before_it_fires() {
        let mut agenda = Agenda::default();
        let (known, new) = (named("known"), named("new"));
        agenda.put(known.clone(), Some(Planned::at(at(10))));
        agenda.put_unread(known.clone(), at(9));
        agenda.put_unread(new.clone(), at(9));
        assert_eq!(agenda.next(), Some(at(10)));
        assert!(agenda.take_due(at(10)).is_empty());
        assert!(agenda.names().contains(&new));
        // The instant that was reached meanwhile is not left out.
        assert_eq!(agenda.of[&known].instant, at(10));
        assert_eq!(agenda.take_unread(at(10)), [known.clone(), new].into());
        assert!(agenda.take_unread(at(100)).is_empty());
        agenda.put(known.clone(), Some(Planned::at(at(10))));
        let due = agenda.take_due(at(10)).into_iter();
        assert_eq!(due.map(|(name, _)| name).collect::<Vec<_>>(), [known]);
        assert_eq!(agenda.next(), None);
    }
}
