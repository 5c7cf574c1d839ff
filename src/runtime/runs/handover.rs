//! Handing runs over to processes whose members or workers can do their tasks.
//!
//! Each process says in the database what its members and workers offer that have nothing to do. One
//! that has tasks which wait hands their runs over to such a process: by a commit that names it as
//! the one that drives the run, and says what the task has used up; that process then sends it.
//!
//! An offer is used once. It is renewed when those it is of can take more after tasks were handed
//! over to them, so what is sent elsewhere follows what is taken there.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
    time::{Duration, Instant},
};

use futures_util::{StreamExt as _, stream};
use tokio_util::sync::CancellationToken;
use tracing::{debug, warn};

use super::{ReadRun, RunKind, send::parts};
use crate::compute::tasks::Offered;
use crate::error::{Code, Failure};
use crate::id::Tenant;
use crate::runtime::Runtime;
use crate::storage::NodeRow;

/// How often offers are written and read.
const PAUSE: Duration = Duration::from_millis(200);

/// The same while tasks are handed over.
const BRISK_PAUSE: Duration = Duration::from_millis(20);

/// How long an offer that was used is not used again unless it has changed.
const AGAIN: Duration = Duration::from_secs(1);

/// How many runs are handed over at once.
const AT_ONCE: usize = 64;

/// What the database has of this process's offers, and which offers of others were used.
#[derive(Default)]
struct KnownOffers {
    /// How often this process had entered the list of nodes.
    entered: u64,
    offers: HashMap<Tenant, Vec<Offered>>,
    /// The tenants to whose members or workers here tasks were handed over since their offers were
    /// written: those are written again, at the next turn.
    to_renew: HashSet<Tenant>,
    turn: u64,
    used: HashMap<(NodeRow, Tenant), (Arc<str>, Instant)>,
    /// When a task was handed over last, from here or to here.
    handed_over: Option<Instant>,
}

impl KnownOffers {
    fn pause(&self) -> Duration {
        let is_brisk = |at: Instant| at.elapsed() < AGAIN;
        if self.handed_over.is_some_and(is_brisk) {
            BRISK_PAUSE
        } else {
            PAUSE
        }
    }
}

impl Runtime {
    /// Offers what members and workers can do to other processes, and hands over to them what waits,
    /// until `stop` is cancelled.
    pub async fn share_tasks(self, stop: CancellationToken) {
        if !self.storage().is_shared() {
            return;
        }
        let mut known = KnownOffers::default();
        let pause = |known: &KnownOffers| tokio::time::sleep(known.pause());
        while stop.run_until_cancelled(pause(&known)).await.is_some() {
            let arrived: Vec<Tenant> = self.storage().handed_over_lately().collect();
            if let Err(error) = self.write_offers(&mut known).await {
                debug!(%error, "what members and workers offer could not be written; trying again");
            }
            if !arrived.is_empty() {
                known.handed_over = Some(Instant::now());
            }
            // Only now: what has just arrived may not be with who takes it yet.
            known.to_renew.extend(arrived);
            if let Err(failure) = self.use_offers(&mut known).await {
                debug!(failure = %failure.in_full(), "the offers of other processes could not be used; trying again");
            }
        }
    }

    async fn write_offers(&self, known: &mut KnownOffers) -> Result<(), crate::storage::Error> {
        let storage = self.storage();
        if storage.entered() != known.entered {
            // It was removed from the list of nodes, and its offers with it.
            known.entered = storage.entered();
            known.offers.clear();
        }
        let now = self.0.channels.offers();
        let gone: Vec<Tenant> = known.offers.keys().cloned().collect();
        for tenant in gone.into_iter().filter(|tenant| !now.contains_key(tenant)) {
            storage.offer(&tenant, None).await?;
            known.offers.remove(&tenant);
        }
        for (tenant, offers) in now {
            let is_renewed = known.to_renew.contains(&tenant);
            let before = known.offers.get(&tenant);
            if !is_renewed && before.is_some_and(|before| Offered::are_alike(before, &offers)) {
                continue;
            }
            known.turn += u64::from(is_renewed);
            let offers = offers.into_iter().map(|offer| offer.at_turn(known.turn));
            let offers: Vec<Offered> = offers.collect();
            let text = serde_json::to_string(&offers).unwrap_or_default();
            storage.offer(&tenant, Some(&text)).await?;
            known.to_renew.remove(&tenant);
            known.offers.insert(tenant, offers);
        }
        Ok(())
    }

    /// Hands over what waits here and is offered to be done elsewhere.
    async fn use_offers(&self, known: &mut KnownOffers) -> Result<(), Failure> {
        let channels = &self.0.channels;
        let waiting = channels.tenants_waiting();
        if waiting.is_empty() {
            return Ok(());
        }
        known.used.retain(|_, (_, at)| at.elapsed() < AGAIN);
        let mut given = Vec::new();
        for (node, tenant, text) in self.storage().offers().await? {
            let name = (node, tenant);
            let was_used = known.used.get(&name).is_some_and(|(used, _)| *used == text);
            if was_used || !waiting.contains(&name.1) {
                continue;
            }
            let offers: Vec<Offered> = serde_json::from_str(&text).unwrap_or_default();
            let before = given.len();
            for offered in &offers {
                let taken = channels.take_waiting(&name.1, offered).into_iter();
                given.extend(taken.map(|task| (node, name.1.clone(), task)));
            }
            if given.len() > before {
                known.used.insert(name, (text, Instant::now()));
            }
        }
        if given.is_empty() {
            return Ok(());
        }
        known.handed_over = Some(Instant::now());
        if let Err(error) = self.storage().refresh().await {
            for (_, tenant, task) in &given {
                channels.put_back(tenant, task);
            }
            return Err(error.into());
        }
        let mut handing = stream::iter(given)
            .map(|(node, tenant, task)| async move { self.hand_over(node, &tenant, &task).await })
            .buffer_unordered(AT_ONCE);
        while handing.next().await.is_some() {}
        Ok(())
    }

    async fn hand_over(&self, node: NodeRow, tenant: &Tenant, task: &Arc<str>) {
        match self.try_hand_over(node, tenant, task).await {
            Ok(true) => {
                self.0.channels.let_go(tenant, task);
                self.0.calls.end(tenant, task);
                return;
            }
            Ok(false) => {}
            Err(failure) if failure.code() == Code::Conflict => {}
            Err(failure) => {
                warn!(failure = %failure.in_full(), task.id = %task, "a run could not be handed over; trying again");
            }
        }
        self.0.channels.put_back(tenant, task);
    }

    /// False if this process does not drive the run, or has other work of it out.
    async fn try_hand_over(
        &self,
        node: NodeRow,
        tenant: &Tenant,
        task: &str,
    ) -> Result<bool, Failure> {
        let Some((run, ordinal)) = parts(task) else {
            return Ok(false);
        };
        let run = self.find_run(tenant, run).await?;
        let ReadRun { stored, state } = self.read_run(tenant, run).await?;
        let is_ours = self.storage().drives(&stored) && state.kind() != RunKind::Manager;
        if !is_ours || state.out() != [ordinal] {
            return Ok(false);
        }
        let (by, mut session) = self.own_session(tenant);
        let used = self.0.channels.used(tenant, task);
        let as_it_is = state.with_used(ordinal, used).stored(&[])?;
        session.unit()?.hand_run_over(&stored, as_it_is, node)?;
        session.finish(&by.cancel).await?;
        Ok(true)
    }
}
