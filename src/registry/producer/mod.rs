//! What starts runs without a caller: the schedules and triggers of definitions
//! (`orchestration.md` 1.11).
//!
//! Each is a record, which says what the document says and how far it has come. It is replaced in
//! the unit that starts the runs, so that an instant or an event starts them once.

mod schedule;
mod trigger;

use std::sync::Arc;

use super::Error;
use crate::clock::Timestamp;
use crate::dialect::flo;
use crate::storage::{Record, RecordKey, RecordKind, UnitOfWork};

pub use schedule::Schedule;
pub use trigger::{Batch, Event, Trigger};

const SCHEDULE: &str = "schedule";
const TRIGGER: &str = "trigger";

/// What a record of a producer is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Producer {
    Schedule(Schedule),
    Trigger(Trigger),
}

impl Producer {
    /// Reads a record.
    pub fn read(record: &Record) -> Result<Self, Error> {
        let read = match record.key.name.split_once(':') {
            Some((SCHEDULE, _)) => serde_json::from_str(&record.body).map(Self::Schedule),
            _ => serde_json::from_str(&record.body).map(Self::Trigger),
        };
        read.map_err(|_| unreadable(&record.key))
    }
}

fn unreadable(key: &RecordKey) -> Error {
    Error::Unreadable {
        what: "producer",
        name: Arc::clone(&key.name),
    }
}

/// The definition that a producer belongs to.
pub fn definition_of(key: &RecordKey) -> &str {
    let name = key.name.split_once(':');
    name.map_or(&key.name, |(_, definition)| definition)
}

/// Whether it is a trigger.
pub fn is_trigger(key: &RecordKey) -> bool {
    let kind = key.name.split_once(':');
    kind.is_some_and(|(kind, _)| kind == TRIGGER)
}

/// The record of the schedule of a definition.
pub fn schedule_key(namespace: &str, definition: &str) -> RecordKey {
    let name = format!("{SCHEDULE}:{definition}");
    RecordKey::new(RecordKind::Producer, namespace, name)
}

/// The record of the trigger of a definition.
pub fn trigger_key(namespace: &str, definition: &str) -> RecordKey {
    let name = format!("{TRIGGER}:{definition}");
    RecordKey::new(RecordKind::Producer, namespace, name)
}

/// Why a definition says what starts its runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Defines {
    /// Its document is new or changed.
    Anew,
    /// Its document is the latest, and something else may have replaced what it says: what was
    /// paused or resumed since stays so.
    Again,
}

/// Replaces what starts runs of a definition by what its document says. What stays the same keeps
/// its place.
pub(super) async fn define(
    unit: &mut UnitOfWork,
    namespace: &str,
    document: &flo::Document,
    why: Defines,
    now: Timestamp,
) -> Result<(), Error> {
    let key = schedule_key(namespace, &document.name);
    let before: Option<Schedule> = stored(unit, &key).await?;
    match &document.schedule {
        Some(schedule) => {
            let mut after = Schedule::of(schedule, before.as_ref(), now);
            if let (Defines::Again, Some(before)) = (why, &before) {
                after.paused = before.paused;
            }
            if before.as_ref() != Some(&after) {
                unit.put_record(key, write(&after))?;
            }
        }
        None if before.is_some() => unit.drop_record(key)?,
        None => {}
    }
    let key = trigger_key(namespace, &document.name);
    let before: Option<Trigger> = stored(unit, &key).await?;
    match &document.trigger {
        Some(trigger) => {
            let mut after = defined(unit, trigger, namespace, before.as_ref(), now).await?;
            if why == Defines::Again {
                after.paused = before.as_ref().is_some_and(|it| it.paused);
            }
            // A new one is written also if it is the same, so that it is looked at: the version
            // before may have been disabled.
            if why == Defines::Anew || before.as_ref() != Some(&after) {
                unit.put_record(key, write(&after))?;
            }
        }
        None if before.is_some() => unit.drop_record(key)?,
        None => {}
    }
    Ok(())
}

/// The trigger that a document says, which on the same topic continues where it was.
async fn defined(
    unit: &UnitOfWork,
    trigger: &flo::Trigger,
    namespace: &str,
    before: Option<&Trigger>,
    now: Timestamp,
) -> Result<Trigger, Error> {
    let mut defined = Trigger::of(trigger, namespace, before, now);
    if defined.is_new() {
        defined.begin_at(unit.topic_first(&defined.topic()).await?);
    }
    Ok(defined)
}

/// Removes what starts runs of a definition.
pub(super) async fn remove(
    unit: &mut UnitOfWork,
    namespace: &str,
    definition: &str,
) -> Result<(), Error> {
    for key in [
        schedule_key(namespace, definition),
        trigger_key(namespace, definition),
    ] {
        if unit.read_record(&key).await?.is_some() {
            unit.drop_record(key)?;
        }
    }
    Ok(())
}

/// Lets what starts runs of an enabled definition begin again, and counts an interval from now on;
/// if it was enabled already, only an initial pause ends.
pub(super) async fn resume(
    unit: &mut UnitOfWork,
    namespace: &str,
    definition: &str,
    was_enabled: bool,
    now: Timestamp,
) -> Result<(), Error> {
    let key = schedule_key(namespace, definition);
    if let Some(schedule) = stored::<Schedule>(unit, &key).await?
        && (schedule.paused || !was_enabled)
    {
        unit.put_record(key, write(&schedule.resumed(now)))?;
    }
    let key = trigger_key(namespace, definition);
    // Written again, so that it is looked at.
    if let Some(mut trigger) = stored::<Trigger>(unit, &key).await?
        && (trigger.paused || !was_enabled)
    {
        trigger.paused = false;
        unit.put_record(key, write(&trigger))?;
    }
    Ok(())
}

/// Stops a producer that failed too often, until its definition is created or enabled again. One
/// that cannot be read is removed, as nothing else can be done with it.
pub async fn stop(
    unit: &mut UnitOfWork,
    namespace: &Arc<str>,
    name: &Arc<str>,
) -> Result<(), Error> {
    let key = RecordKey::new(
        RecordKind::Producer,
        Arc::clone(namespace),
        Arc::clone(name),
    );
    let Some(record) = unit.read_record(&key).await? else {
        return Ok(());
    };
    match Producer::read(&record) {
        Ok(Producer::Schedule(mut schedule)) => {
            schedule.paused = true;
            unit.put_record(key, write(&schedule))?;
        }
        Ok(Producer::Trigger(mut trigger)) => {
            trigger.paused = true;
            unit.put_record(key, write(&trigger))?;
        }
        Err(_) => unit.drop_record(key)?,
    }
    Ok(())
}

/// The producer as a unit sees it.
pub async fn stored<T: serde::de::DeserializeOwned>(
    unit: &mut UnitOfWork,
    key: &RecordKey,
) -> Result<Option<T>, Error> {
    let record = unit.read_record(key).await?;
    let read = record.map(|record| serde_json::from_str(&record.body));
    read.transpose().map_err(|_| unreadable(key))
}

/// The body of a producer's record.
pub fn write(producer: &impl serde::Serialize) -> Arc<str> {
    serde_json::to_string(producer).unwrap_or_default().into()
}
