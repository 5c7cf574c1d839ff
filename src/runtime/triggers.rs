//! Starts runs by the events of topics (`orchestration.md` 1.11).
//!
//! A trigger is a record that says how far it has read its topic. It is replaced in the unit that
//! starts the runs, so that an event starts one run, whatever happens in between. Runs are started
//! in the order of the topic, one unit after another, which keeps what each mode promises.
//!
//! Where several processes use one database, one of them handles each trigger.

use std::{
    collections::{BTreeSet, HashMap, HashSet},
    sync::Arc,
    time::Duration,
};

use futures_util::{
    FutureExt as _, StreamExt as _,
    stream::{self, FuturesUnordered},
};
use tokio::sync::mpsc;
use tracing::warn;

use super::{
    Initiator, Runtime, Session,
    incidents::{Fault, contained},
    producers::Name,
    runs::StartRun,
};
use crate::clock::{Timestamp, Woken};
use crate::error::{Code, Coded as _, Failure};
use crate::id::{RunId, Tenant};
use crate::program::StartedBy;
use crate::registry::producer::{self, Batch, Event, Trigger};
use crate::storage::{RecordKey, RecordRow, RunEnd, RunName, TopicEvent, TopicKey, Work};

/// How many producers are read at once.
const PAGE: usize = 1_000;

/// How many triggers are looked at at once.
const AT_ONCE: usize = 16;

/// How many runs a unit starts at most.
const STARTS_MAX: usize = 200;

/// The pause after a conflict with another process.
const AFTER_CONFLICT: Duration = Duration::from_millis(50);

/// The pause after a failure.
const AFTER_TROUBLE: Duration = Duration::from_secs(1);

/// After which pause a trigger is looked at again whose tenant may not store more.
const WITHOUT_ROOM: Duration = Duration::from_mins(1);

/// How long the ends of runs are collected before a trigger continues that had no room.
const COLLECTING: Duration = Duration::from_millis(100);

/// The name of a topic, and whose it is.
type TopicName = (Tenant, TopicKey);

/// What a trigger waits for.
enum Next {
    /// There is more to be started at once.
    Again,
    /// The next event.
    News,
    /// The time at which a batch is complete, or the next event.
    At(Timestamp),
    /// The end of one of its runs.
    Room(Vec<RunEnd>),
    /// Its record being written again.
    Record,
}

/// What the triggers wait for.
#[derive(Default)]
struct Following {
    /// The triggers that read a topic.
    readers: HashMap<TopicName, HashSet<RecordKey>>,
    /// The topics that triggers read.
    topics: HashMap<Name, TopicKey>,
    due: BTreeSet<(Timestamp, Name)>,
    due_of: HashMap<Name, Timestamp>,
    /// Those that wait for a run to end: events make no difference to them.
    full: HashSet<Name>,
}

impl Following {
    /// A trigger is about to be looked at, or is gone.
    fn forget(&mut self, name: &Name) {
        self.full.remove(name);
        if let Some(due) = self.due_of.remove(name) {
            self.due.remove(&(due, name.clone()));
        }
        if let Some(topic) = self.topics.remove(name) {
            let topic = (name.0.clone(), topic);
            if let Some(readers) = self.readers.get_mut(&topic) {
                readers.remove(&name.1);
                if readers.is_empty() {
                    self.readers.remove(&topic);
                }
            }
        }
    }

    /// A trigger waits for events of a topic.
    fn follow(&mut self, name: &Name, topic: TopicKey) {
        let of = (name.0.clone(), topic.clone());
        self.readers.entry(of).or_default().insert(name.1.clone());
        self.topics.insert(name.clone(), topic);
    }

    /// A trigger is to be looked at at that time.
    fn plan(&mut self, name: Name, due: Timestamp) {
        self.due_of.insert(name.clone(), due);
        self.due.insert((due, name));
    }

    /// The triggers that have waited for events of that topic.
    fn readers(&self, topic: &TopicName) -> Vec<Name> {
        let readers = self.readers.get(topic).into_iter().flatten();
        let names = readers.map(|key| (topic.0.clone(), key.clone()));
        names.filter(|name| !self.full.contains(name)).collect()
    }

    fn take_due(&mut self, now: Timestamp) -> Vec<Name> {
        let mut taken = Vec::new();
        while let Some((due, _)) = self.due.first()
            && *due <= now
            && let Some((_, name)) = self.due.pop_first()
        {
            self.due_of.remove(&name);
            taken.push(name);
        }
        taken
    }

    /// Those that wait for a time.
    fn waiting(&self) -> Vec<Name> {
        self.due_of.keys().cloned().collect()
    }

    fn next(&self) -> Option<Timestamp> {
        self.due.first().map(|(due, _)| *due)
    }
}

/// Returns once a trigger may have room again.
async fn room(name: Name, mut ends: Vec<RunEnd>) -> Name {
    let mut reached: FuturesUnordered<_> = ends.iter_mut().map(RunEnd::reached).collect();
    reached.next().await;
    tokio::time::sleep(COLLECTING).await;
    name
}

impl Runtime {
    /// Starts runs by the events of topics. Triggers that were committed come from `changed`.
    pub(super) async fn follow_topics(&self, mut changed: mpsc::UnboundedReceiver<Name>) {
        // From here on the topics with new events are collected.
        let _ = self.storage().changed_topics();
        let mut following = Following::default();
        let mut rooms = FuturesUnordered::new();
        let mut nodes = self.storage().sharing();
        let mut alarm = self.0.clock.alarm();
        let mut looked_at = self.all_triggers().await;
        loop {
            looked_at.extend(following.take_due(self.0.clock.now()));
            let names = std::mem::take(&mut looked_at);
            let mut looking = stream::iter(names)
                .map(|name| async move { (self.look_at_trigger(&name).await, name) })
                .buffer_unordered(AT_ONCE);
            while let Some(((topic, next), name)) = looking.next().await {
                following.forget(&name);
                if let Some(topic) = topic {
                    following.follow(&name, topic);
                }
                match next {
                    Next::Again => {
                        looked_at.insert(name);
                    }
                    Next::At(due) => following.plan(name, due),
                    Next::Room(ends) => {
                        following.full.insert(name.clone());
                        rooms.push(room(name, ends));
                    }
                    Next::News | Next::Record => {}
                }
            }
            drop(looking);
            // It is woken by all that is published, so what that outdates is not collected for long.
            self.forget_outdated();
            while let Ok(name) = changed.try_recv() {
                looked_at.insert(name);
            }
            for topic in self.storage().changed_topics() {
                looked_at.extend(following.readers(&topic));
            }
            if !looked_at.is_empty() {
                // A trigger with a long backlog keeps this loop here; the others do not wait for
                // its end.
                while let Some(Some(name)) = rooms.next().now_or_never() {
                    looked_at.insert(name);
                }
                if alarm.until(following.next()).now_or_never() == Some(Woken::SetBack) {
                    looked_at.extend(following.waiting());
                }
                if let Some(now) = self.nodes_changed(&nodes).now_or_never() {
                    nodes = now;
                    looked_at.extend(self.all_triggers().await);
                }
                continue;
            }
            tokio::select! {
                woken = alarm.until(following.next()) => if woken == Woken::SetBack {
                    looked_at.extend(following.waiting());
                },
                now = self.nodes_changed(&nodes) => {
                    // Some may be this process's from now on.
                    nodes = now;
                    looked_at = self.all_triggers().await;
                }
                () = self.storage().topics_changed() => {
                    for topic in self.storage().changed_topics() {
                        looked_at.extend(following.readers(&topic));
                    }
                }
                Some(name) = rooms.next(), if !rooms.is_empty() => {
                    looked_at.insert(name);
                }
                Some(name) = changed.recv() => {
                    looked_at.insert(name);
                }
            }
        }
    }

    /// The triggers that there are.
    async fn all_triggers(&self) -> HashSet<Name> {
        let (mut found, mut after) = (HashSet::new(), RecordRow::FIRST);
        loop {
            match self.storage().producers(after, PAGE).await {
                Ok(page) => {
                    let Some(last) = page.last() else {
                        return found;
                    };
                    after = last.row;
                    let names = page.into_iter();
                    let names = names.map(|stored| (stored.tenant, stored.record.key.clone()));
                    found.extend(names.filter(|(_, key)| producer::is_trigger(key)));
                }
                Err(error) => {
                    warn!(%error, "the triggers could not be read; retrying");
                    tokio::time::sleep(AFTER_TROUBLE).await;
                }
            }
        }
    }

    /// Starts what is to be started by a trigger, a unit at most. With what it waits for next comes
    /// the topic that it reads.
    async fn look_at_trigger(&self, name: &Name) -> (Option<TopicKey>, Next) {
        let mut topic = None;
        if self.has_stopped(name) || !self.looks_after(name) {
            return (None, Next::Record);
        }
        let next = match contained(self.start_by_events(name, &mut topic)).await {
            Ok(next) => next,
            Err(Fault::Failed(failure)) if failure.code() == Code::Conflict => {
                Next::At(self.0.clock.now().after(AFTER_CONFLICT))
            }
            Err(fault) => match self.producer_failed(name, &fault).await {
                Some(pause) => {
                    // News do not shorten the pause.
                    topic = None;
                    Next::At(self.0.clock.now().after(pause))
                }
                None => Next::Record,
            },
        };
        (topic, next)
    }

    async fn start_by_events(
        &self,
        (tenant, key): &Name,
        topic: &mut Option<TopicKey>,
    ) -> Result<Next, Failure> {
        let by = Initiator::system(tenant);
        self.storage().refresh().await?;
        let mut session = self.session_for(&by, by.attribution());
        let unit = session.unit()?;
        let Some(mut trigger) = producer::stored::<Trigger>(unit, key).await? else {
            return Ok(Next::Record);
        };
        if trigger.paused {
            return Ok(Next::Record);
        }
        let (namespace, definition) = (&key.namespace, producer::definition_of(key));
        let registry = &self.0.registry;
        match registry
            .definition_in(unit, namespace, definition, None)
            .await
        {
            Ok(definition) if definition.is_disabled() => return Ok(Next::Record),
            Ok(_) => {}
            Err(error) if error.code() == Code::RunDefinitionNotFound => return Ok(Next::Record),
            Err(error) => return Err(error.into()),
        }
        if !self.may_store_more(tenant) {
            // News do not shorten the pause.
            return Ok(Next::At(self.0.clock.now().after(WITHOUT_ROOM)));
        }
        let source = topic.insert(trigger.topic());
        let limit = trigger.size().max(STARTS_MAX);
        let read = self
            .storage()
            .topic(tenant, source, trigger.position, limit)
            .await?;
        let Some((head, events)) = read.filter(|(_, events)| !events.is_empty()) else {
            return Ok(Next::News);
        };
        if trigger.is_to_be_checked() {
            trigger.checked(self.still_live(tenant, &trigger.live).await?);
        }
        if trigger.room() == 0 {
            return self.wait_for_room(tenant, &trigger).await;
        }
        let before = trigger.position;
        let missed = events.first().map_or(0, |it| trigger.skip_to(&event(it)));
        let next = self
            .start_each(&mut session, &by, key, &mut trigger, &events, head.last)
            .await?;
        if trigger.position > before {
            let body = producer::write(&trigger);
            session.unit()?.put_record(key.clone(), body)?;
            session.unit()?.settle(&Work::producer(key))?;
            session.finish(&by.cancel).await?;
            if missed > 0 {
                warn!(
                    missed, producer = %key.name, topic = %trigger.topic,
                    "events of a topic were removed before they could start a run; keep events longer \
                     (INTERLOCK_TOPICS_RETENTION)"
                );
            }
        }
        Ok(next)
    }

    /// Starts the runs of the next events of a topic, of which there are more up to `last`.
    async fn start_each(
        &self,
        session: &mut Session,
        by: &Initiator,
        key: &RecordKey,
        trigger: &mut Trigger,
        events: &[TopicEvent],
        last: i64,
    ) -> Result<Next, Failure> {
        let events: Vec<_> = events.iter().map(event).collect();
        let (mut rest, mut started) = (&*events, 0);
        while started < STARTS_MAX && trigger.room() > 0 {
            let is_cut = events.last().is_some_and(|event| event.sequence < last);
            if started > 0 && rest.len() < trigger.size() && is_cut {
                // What makes the batch complete is not read yet.
                return Ok(Next::Again);
            }
            let count = match trigger.batch(rest, self.0.clock.now()) {
                Batch::Start(count) => count,
                Batch::Wait(until) => return Ok(Next::At(until)),
                Batch::Nothing => return Ok(Next::News),
            };
            let (batch, after) = rest.split_at(count);
            let Some(newest) = batch.last() else {
                return Ok(Next::News);
            };
            let name = RunName {
                namespace: Arc::clone(&key.namespace),
                name: producer::definition_of(key).into(),
            };
            let input = trigger.input(batch).into();
            let start = StartRun {
                key: Some(trigger.key(newest).into()),
                key_since: trigger.since,
                steps_at_once: true,
                ..StartRun::new(name, input, StartedBy::Trigger)
            };
            let run = self.start_run(session, by, start).await?.run;
            trigger.start(newest, run.number());
            (rest, started) = (after, started + 1);
        }
        Ok(Next::Again)
    }

    /// Waits for one of the runs of a trigger, unless one has ended meanwhile.
    async fn wait_for_room(&self, tenant: &Tenant, trigger: &Trigger) -> Result<Next, Failure> {
        let runs = trigger.live.iter().map(|run| RunId::new(*run));
        let ends: Vec<_> = runs.map(|run| self.storage().run_end(run)).collect();
        let live = self.still_live(tenant, &trigger.live).await?;
        if live.len() < ends.len() {
            return Ok(Next::Again);
        }
        Ok(Next::Room(ends))
    }
}

fn event(event: &TopicEvent) -> Event<'_> {
    Event {
        sequence: event.sequence,
        payload: &event.payload,
        time: event.at,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{json, value::to_raw_value};
    use tokio_util::sync::CancellationToken;

    use super::*;
    use crate::clock::ManualClock;
    use crate::registry::NewDefinition;
    use crate::runtime::{RunSettings, testing::runtime_with};
    use crate::storage::{NewTopicEvent, RunsWanted};

    const NAMESPACE: &str = "default";

    #[tokio::test]
    async fn a_trigger_starts_nothing_while_its_tenant_has_stored_its_limit() {
        for (limit, expected) in [(1, 0), (1 << 30, 1)] {
            let settings = RunSettings {
                stored_bytes_max: Some(limit),
                ..RunSettings::DEFAULT
            };
            let runtime = runtime_with(&ManualClock::default(), settings).await;
            let counting = runtime.storage().count_usage(CancellationToken::new());
            counting.await;
            let by = Initiator::system(&"t".into());
            let document = json!({"kind": "Workflow", "name": "ship", "version": "1",
                "trigger": {"stream": "orders"},
                "start": {"waitForSignal": {"type": "go"},
                    "transitions": {"success": "flo.Completed"}}});
            let sent = to_raw_value(&document).expect("JSON");
            let (new, findings) = NewDefinition::read(NAMESPACE, &sent);
            let new = new.unwrap_or_else(|| panic!("{findings}"));
            let mut session = runtime.session(&by, None).await.expect("a session");
            let unit = session.unit().expect("a unit");
            let now = runtime.storage().now();
            new.create(unit, NAMESPACE, now).await.expect("creates");
            let event = NewTopicEvent {
                payload: "{}".into(),
                kind: None,
                key: None,
                id: None,
            };
            let topic = TopicKey::new(NAMESPACE, "orders");
            unit.publish(topic, vec![event]).expect("publishes");
            session.finish(&by.cancel).await.expect("commits");
            let key = producer::trigger_key(NAMESPACE, "ship");
            let (topic, next) = runtime.look_at_trigger(&(by.tenant.clone(), key)).await;
            // News would not shorten the pause.
            assert_eq!(topic.is_none(), expected == 0);
            assert_eq!(matches!(next, Next::At(_)), expected == 0);
            let wanted = RunsWanted::default();
            let runs = runtime.storage().runs(&by.tenant, &wanted, 10).await;
            assert_eq!(runs.expect("reads").len(), expected);
        }
    }
}
