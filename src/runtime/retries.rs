//! Runs that are to be looked at again after a pause.

use std::{
    collections::{BTreeSet, HashMap},
    time::Duration,
};

use parking_lot::{Mutex, MutexGuard};
use tokio::{sync::Notify, time::Instant};

use crate::id::{RunId, Tenant};

/// A mutex, not a task: changed once for each failure of a run.
#[derive(Debug, Default)]
pub(super) struct Retries {
    planned: Mutex<Planned>,
    changed: Notify,
}

#[derive(Debug, Default)]
struct Planned {
    due: BTreeSet<(Instant, RunId)>,
    of: HashMap<RunId, (Instant, Tenant)>,
}

impl Retries {
    fn lock(&self) -> MutexGuard<'_, Planned> {
        self.planned.lock()
    }

    /// Plans a run; one that is planned already stays where it is, unless this is earlier.
    pub(super) fn put(&self, tenant: &Tenant, run: RunId, pause: Duration) {
        let due = Instant::now() + pause;
        let mut planned = self.lock();
        if let Some((before, _)) = planned.of.get(&run).cloned() {
            if before <= due {
                return;
            }
            planned.due.remove(&(before, run));
        }
        planned.due.insert((due, run));
        planned.of.insert(run, (due, tenant.clone()));
        drop(planned);
        self.changed.notify_one();
    }

    /// Returns those whose pause is over, once there are some.
    pub(super) async fn due(&self) -> Vec<(Tenant, RunId)> {
        loop {
            let (taken, next) = self.lock().take(Instant::now());
            if !taken.is_empty() {
                return taken;
            }
            match next {
                Some(next) => {
                    tokio::select! {
                        () = tokio::time::sleep_until(next) => {}
                        () = self.changed.notified() => {}
                    }
                }
                None => self.changed.notified().await,
            }
        }
    }
}

impl Planned {
    /// Takes out what is due; with it, when the next one is.
    fn take(&mut self, now: Instant) -> (Vec<(Tenant, RunId)>, Option<Instant>) {
        let mut taken = Vec::new();
        while let Some((due, run)) = self.due.first().copied()
            && due <= now
        {
            self.due.pop_first();
            if let Some((_, tenant)) = self.of.remove(&run) {
                taken.push((tenant, run));
            }
        }
        (taken, self.due.first().map(|(due, _)| *due))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_run_is_due_once_at_the_earliest_time_it_was_planned_for() {
        let (retries, tenant): (_, Tenant) = (Retries::default(), "t".into());
        let (one, other) = (RunId::new(1), RunId::new(2));
        retries.put(&tenant, one, Duration::from_secs(9));
        retries.put(&tenant, other, Duration::from_secs(2));
        retries.put(&tenant, one, Duration::from_secs(1));
        retries.put(&tenant, one, Duration::from_secs(5));
        let begun = Instant::now();
        assert_eq!(retries.due().await, [(tenant.clone(), one)]);
        assert_eq!(begun.elapsed(), Duration::from_secs(1));
        assert_eq!(retries.due().await, [(tenant, other)]);
        assert_eq!(begun.elapsed(), Duration::from_secs(2));
        assert!(retries.lock().of.is_empty());
    }
}
