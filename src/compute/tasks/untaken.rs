//! Warnings about tasks that nobody takes: a run that waits for a member that nobody has started
//! would wait without a sign of it.

use std::{collections::BTreeMap, fmt, time::Duration};

use tokio::time::Instant;
use tracing::warn;

use super::{
    Channels,
    held::Held,
    lanes::{Capability, Requirement},
    pool::Pool,
};
use crate::clock::Timestamp;
use crate::dispatch::Tags;
use crate::id::Tenant;

/// How long a task has waited before there is a warning, and the time until the next one about
/// tasks of its kind.
const WAITED: Duration = Duration::from_secs(10);
const AGAIN_AFTER: Duration = Duration::from_mins(10);

/// How many kinds of tasks a look warns about.
const WARNINGS_MAX: usize = 20;

/// What was warned about, and when.
#[derive(Debug, Default)]
pub(super) struct Warned(BTreeMap<(Tenant, Capability, Tags), Instant>);

impl Warned {
    /// Whether it is time for a warning; then it is noted as given.
    fn is_due(&mut self, tenant: &Tenant, required: &Requirement, now: Instant) -> bool {
        let (capability, tags) = (required.capability.clone(), required.tags.clone());
        let key = (tenant.clone(), capability, tags);
        if self.0.contains_key(&key) {
            return false;
        }
        self.0.insert(key, now);
        true
    }

    fn forget_old(&mut self, now: Instant) {
        self.0
            .retain(|_, since| now.duration_since(*since) < AGAIN_AFTER);
    }
}

impl Pool {
    /// What tasks require that have waited for a while, and that no worker offers.
    fn untaken(&self, now: Timestamp) -> impl Iterator<Item = &Requirement> {
        let first = self.first_of_lanes();
        first.filter_map(move |id| {
            let held = self.tasks.get(id)?;
            let has_waited = held
                .waits_since
                .is_some_and(|since| since.elapsed() >= WAITED);
            let is_untaken = has_waited && held.is_of_run() && !self.has_taker(held, now);
            is_untaken.then_some(&held.required)
        })
    }
}

impl Held {
    /// Processors have an error of their own if there is no member.
    fn is_of_run(&self) -> bool {
        self.required.capability != Capability::Processor
    }
}

impl Channels {
    /// Warns about tasks that nobody takes.
    pub(super) fn warn_of_untaken(&self, warned: &mut Warned) {
        for (tenant, required) in self.untaken(warned) {
            warn!(%tenant, "tasks wait, and {}", Missing(&required));
        }
    }

    /// What there is to warn about.
    pub(super) fn untaken(&self, warned: &mut Warned) -> Vec<(Tenant, Requirement)> {
        let now = Instant::now();
        warned.forget_old(now);
        let mut found = Vec::new();
        let state = self.lock();
        let wall = state.desk.clock.now();
        for (tenant, pool) in &state.pools {
            let untaken = pool.untaken(wall);
            let fresh = untaken.filter(|required| warned.is_due(tenant, required, now));
            let fresh = fresh.take(WARNINGS_MAX - found.len());
            found.extend(fresh.map(|required| (tenant.clone(), required.clone())));
        }
        found
    }
}

/// What a worker would need in order to take it.
struct Missing<'a>(&'a Requirement);

impl fmt::Display for Missing<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0.capability {
            Capability::Action(namespace, name) => write!(
                f,
                "no member or worker of namespace {namespace} takes the action {name}; start one that announces it"
            ),
            Capability::Processor | Capability::Tagged(_) => write!(
                f,
                "no member has the tags [{}]; start one that declares them",
                self.0.tags
            ),
        }
    }
}
