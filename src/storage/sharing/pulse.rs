//! How this process learns what others have committed to the database that they share.
//!
//! Everything in memory is as of the commit that was applied last. A request that begins asks for a
//! pulse ([`Storage::refresh`]): the newest commit, and what has moved since the one that was
//! applied, which is then forgotten. So what any process has acknowledged is seen by the next
//! request at every one. At most one pulse is under way; who asks meanwhile shares the next one.
//! A request that only creates entities assumes instead that nothing it needs has moved
//! (`assumption`).
//!
//! Where no other process can write, nothing is asked.

use std::{collections::HashMap, time::Duration};

use tokio::{
    task::JoinHandle,
    time::{Instant, MissedTickBehavior, interval, sleep, sleep_until, timeout},
};
use tokio_util::task::AbortOnDropHandle;
use tracing::{error, info, warn};

use crate::clock::Clock;
use crate::entity::Sequence;
use crate::id::Tenant;
use crate::storage::{
    Error, Storage,
    backend::Pulser,
    memory::{known_runs::AwaitingRun, trouble::Work},
    port::{Newest, Pulse, Record, RecordKey},
};
use crate::telemetry::{measure, nodes};

/// How often the newest commit is asked for while nobody wants to know.
const INTERVAL: Duration = Duration::from_secs(1);

/// How much time is at least between two notifications of other processes.
const BETWEEN_NOTICES: Duration = Duration::from_millis(3);

/// How long a pulse waits for an answer of the connections that read.
const PATIENCE: Duration = Duration::from_secs(2);

/// By how much the clock of this machine may differ from that of the server, in microseconds, until
/// it is reported.
const OFF_MICROS: u64 = 1_000_000;

impl Storage {
    /// Learns what was committed by any process before this was called: what is read from here on
    /// includes it. Where no other process can write, it is there already.
    pub async fn refresh(&self) -> Result<(), Error> {
        if !self.0.database.is_shared() {
            return Ok(());
        }
        self.0.pulses.next().await
    }

    /// Has other processes look at what this one has committed.
    pub(in crate::storage) fn notify_others(&self) {
        if self.0.database.is_shared() {
            self.0.pulses.committed();
        }
    }

    /// Asks for pulses from now on, where other processes can write.
    pub(in crate::storage) fn keep_pulse(&self) -> Option<KeepPulse> {
        let (pulser, mut listener) = self.0.database.pulser()?;
        let storage = self.clone();
        let heard = tokio::spawn(async move {
            loop {
                listener.notified().await;
                storage.0.pulses.want();
            }
        });
        let pulse = PulseLoop {
            storage: self.clone(),
            pulser,
            is_well: true,
            is_off: false,
            runs_moved: false,
            counting: None,
            closed: Vec::new(),
            forgets_all: false,
        };
        Some(KeepPulse {
            storage: self.clone(),
            tasks: [heard, tokio::spawn(pulse.run())],
        })
    }

    /// What is stored of work that failed, and that nothing is of what else is known here.
    async fn all_troubles(&self) -> Result<NamedTroubles, Error> {
        let stored = self.0.database.troubles().await?;
        let stored = stored.into_iter();
        let stored = stored.map(|(tenant, record)| ((tenant, record.key.clone()), Some(record)));
        let known = self.0.troubles.keys().into_iter();
        let known = known.map(|key| (key, None));
        // Of one that is known and stored, what is stored comes last.
        let all: HashMap<(Tenant, RecordKey), Option<Record>> = known.chain(stored).collect();
        let all = all.into_iter();
        Ok(all
            .map(|((tenant, key), record)| (tenant, key, record))
            .collect())
    }

    /// Takes over what a pulse has brought. With it comes which runs wait for entities, if many were
    /// advanced, and whether nothing in memory is to be trusted. Returns the work of incidents that
    /// were closed: an operator may have asked another process for that.
    fn apply(
        &self,
        pulse: Pulse,
        awaiting: Option<Vec<AwaitingRun>>,
        forgets_all: bool,
    ) -> Vec<(Tenant, Work)> {
        let inner = &self.0;
        let mut applying = inner.applied.begin();
        let (newest, own) = (pulse.newest, self.node());
        let mut closed = Vec::new();
        if !applying.is_news(newest.sequence) {
            return closed;
        }
        let woken = if let Some(moved) = pulse.moved {
            for id in &moved {
                inner.cache.forget(*id);
            }
            moved
        } else {
            inner.cache.clear();
            // Any of those that runs wait for may have moved.
            inner.runs.awaited()
        };
        match (pulse.runs, awaiting) {
            (Some(runs), _) => {
                for moved in &runs {
                    inner.runs.advanced(moved, &inner.watched, own);
                }
            }
            (None, awaiting) => {
                let awaiting = awaiting.unwrap_or_default();
                inner.runs.clear(awaiting, &inner.watched);
            }
        }
        // Those of commits that were applied meanwhile are counted already.
        let stored = pulse.stored.iter();
        for (of, tenant, bytes) in stored.filter(|(of, ..)| applying.is_news(*of)) {
            inner.usage.add_at(*of, tenant, *bytes);
        }
        for (tenant, key, record) in &pulse.troubles {
            let incident = inner.troubles.get(tenant, &key.name);
            inner.troubles.put(tenant, key, record.as_ref());
            let incident = incident.filter(|trouble| trouble.is_incident() && record.is_none());
            closed.extend(incident.map(|trouble| (tenant.clone(), trouble.work.clone())));
        }
        for (tenant, key) in &pulse.records {
            inner.mirrors.note(tenant, key);
            inner.records.put(tenant, key, None, false);
            inner.watched.record_changed(tenant, key);
        }
        if forgets_all {
            inner.past.clear();
            inner.records.clear();
            inner.names.clear();
        }
        if newest.revision != applying.revision() || forgets_all {
            inner.catalog.clear();
        }
        inner.instants.raise(newest.at);
        if pulse.identities {
            // Before the sequence: what is judged by that commit is not to miss them.
            inner.identities.send_modify(|changes| *changes += 1);
        }
        applying.finish(newest);
        // Before a later batch of this process is published: readers would not look in the table for
        // what came before it.
        inner.recent.skip(newest.sequence);
        drop(applying);
        inner.runs.moved(woken.into_iter());
        for (tenant, namespace, kind) in &pulse.published {
            inner.topic_news.note_type(tenant, namespace, kind);
        }
        for (tenant, topic) in pulse.topics {
            inner.topic_news.note(&tenant, topic);
        }
        closed
    }
}

/// Records of troubles, whose they are, and what they say; nothing of those that there are no more.
type NamedTroubles = Vec<(Tenant, RecordKey, Option<Record>)>;

/// What a pulse asks the connections that read: everybody waits for a pulse, so none waits for long.
async fn in_time<T, E: Into<Error>>(read: impl Future<Output = Result<T, E>>) -> Result<T, Error> {
    let read = timeout(PATIENCE, read).await;
    read.map_err(|_| Error::Unavailable)?.map_err(Into::into)
}

/// Says which commits are gone.
fn say_lost(last: Sequence, known: Sequence) {
    error!(
        from = last.0 + 1,
        until = known.0,
        "the database server lacks commits that were acknowledged before; compare the data outside \
         that depends on these positions, and use a synchronous standby"
    );
    measure::positions_lost(known.0.saturating_sub(last.0).unsigned_abs());
}

/// Asks for pulses until it is dropped.
pub(in crate::storage) struct KeepPulse {
    storage: Storage,
    tasks: [JoinHandle<()>; 2],
}

impl Drop for KeepPulse {
    fn drop(&mut self) {
        for task in &self.tasks {
            task.abort();
        }
        self.storage.0.pulses.stop();
    }
}

/// What asks for pulses, one after the other.
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is about something else"
)]
struct PulseLoop {
    storage: Storage,
    pulser: Pulser,
    /// Whether the last one was answered.
    is_well: bool,
    /// Whether the clock of this machine differs from that of the server.
    is_off: bool,
    /// Whether runs were advanced since they were counted.
    runs_moved: bool,
    counting: Option<AbortOnDropHandle<()>>,
    /// The work of incidents that were closed, until it is looked at.
    closed: Vec<(Tenant, Work)>,
    /// Whether everything in memory is to be forgotten, since commits were lost.
    forgets_all: bool,
}

impl PulseLoop {
    async fn run(mut self) {
        let storage = self.storage.clone();
        let pulses = &storage.0.pulses;
        let mut idle = interval(INTERVAL);
        idle.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut noticed = Instant::now();
        let mut notice = None;
        loop {
            let is_due = async {
                match notice {
                    Some(due) => sleep_until(due).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                () = pulses.wanted() => self.pulse().await,
                () = is_due => {
                    notice = None;
                    noticed = Instant::now();
                    if let Err(error) = self.pulser.notify().await {
                        // They ask once a second anyway.
                        info!(%error, "other processes were not notified of commits");
                    }
                }
                () = pulses.has_committed(), if notice.is_none() => {
                    // One that has just started asks once a second until it is known here.
                    let has_others = storage.sharing().len() > 1;
                    notice = has_others.then(|| noticed + BETWEEN_NOTICES);
                }
                _ = idle.tick() => {
                    self.pulse().await;
                    self.count_runs();
                }
            }
        }
    }

    /// Counts the runs that have not ended, if other processes may have changed which those are. No
    /// pulse waits for it.
    fn count_runs(&mut self) {
        let is_counting = self
            .counting
            .as_ref()
            .is_some_and(|task| !task.is_finished());
        if is_counting || !std::mem::take(&mut self.runs_moved) {
            return;
        }
        let storage = self.storage.clone();
        self.counting = Some(AbortOnDropHandle::new(tokio::spawn(async move {
            let inner = &storage.0;
            loop {
                match inner.database.live_runs().await {
                    Ok(stored) => {
                        let _applying = inner.applied.begin();
                        return inner.live_runs.replace(stored);
                    }
                    Err(error) => info!(%error, "the runs that have not ended were not counted"),
                }
                sleep(INTERVAL).await;
            }
        })));
    }

    async fn pulse(&mut self) {
        let pulses = &self.storage.0.pulses;
        let number = pulses.begin();
        let begun = std::time::Instant::now();
        let outcome = self.try_pulse().await;
        let failed = outcome.is_err();
        nodes::pulse(begun, failed);
        match outcome {
            Err(error) if self.is_well => {
                let error = &error as &dyn std::error::Error;
                warn!(
                    error,
                    "the database does not answer; reads are refused until it does"
                );
            }
            Ok(()) if !self.is_well => info!("the database answers again"),
            Ok(()) | Err(_) => {}
        }
        self.is_well = !failed;
        self.storage.0.pulses.end(number, failed);
    }

    /// A pulse, by which the clock of this process is corrected.
    async fn timed_pulse(&mut self, known: Newest) -> Result<Pulse, Error> {
        let inner = &self.storage.0;
        let own = async |newest| inner.pulses.await_own(newest, &inner.applied).await;
        let Clock::Corrected(correction) = &inner.clock else {
            return Ok(self.pulser.pulse(known, own).await?);
        };
        let asked = correction.uncorrected();
        let pulse = self.pulser.pulse(known, own).await?;
        correction.learn(asked, pulse.now, correction.uncorrected());
        nodes::clock_difference(correction.micros());
        let is_off = correction.micros().unsigned_abs() > OFF_MICROS;
        if is_off && !self.is_off {
            warn!(
                difference_ms = correction.micros() / 1_000,
                "the clock of this machine is not that of the database server, which is used for all times"
            );
        }
        self.is_off = is_off;
        Ok(pulse)
    }

    /// A process that was away for long catches up in parts.
    async fn try_pulse(&mut self) -> Result<(), Error> {
        while self.try_part().await? {}
        Ok(())
    }

    /// Whether there is more than what this has brought.
    async fn try_part(&mut self) -> Result<bool, Error> {
        let known = self.storage.0.applied.newest();
        let mut pulse = self.timed_pulse(known).await?;
        let has_more = pulse.has_more;
        if let Some(last) = pulse.lost
            && !std::mem::replace(&mut self.forgets_all, true)
        {
            say_lost(last, known.sequence);
        }
        if self.forgets_all {
            pulse.moved = None;
            pulse.runs = None;
            pulse.identities = true;
            pulse.troubles = in_time(self.storage.all_troubles()).await?;
        }
        if pulse.newest.sequence > known.sequence {
            if pulse.newest.revision != known.revision || self.forgets_all {
                in_time(self.storage.reload_indexes()).await?;
            }
            self.runs_moved |= pulse.runs.as_ref().is_none_or(|runs| !runs.is_empty());
            let awaiting = match pulse.runs {
                Some(_) => None,
                None => Some(in_time(self.storage.0.database.runs_that_await()).await?),
            };
            let closed = self.storage.apply(pulse, awaiting, self.forgets_all);
            self.closed.extend(closed);
            self.forgets_all = false;
        }
        while let Some((tenant, work)) = self.closed.last() {
            in_time(self.storage.wake_work(tenant, work)).await?;
            self.closed.pop();
        }
        Ok(has_more)
    }
}
