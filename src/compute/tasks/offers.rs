//! What the members and workers of this process could do now, as it is reported to other processes
//! that have tasks which wait; and the tasks that wait here, for those.

use std::{collections::HashMap, sync::Arc};

use serde::{Deserialize, Serialize};

use super::{
    Channels,
    held::Phase,
    lanes::{Actions, Offer},
    pool::Pool,
    spec::Labels,
    worker::{Channel, Worker},
};
use crate::dispatch::Tags;
use crate::id::Tenant;

/// What one or more takers offer that have nothing to do.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Offered {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    namespace: Option<Arc<str>>,
    actions: Vec<Arc<str>>,
    tags: Box<str>,
    labels: Labels,
    is_member: bool,
    /// How many tasks they take at once.
    most: usize,
}

impl Offered {
    fn of(worker: &Worker, actions: &Actions, most: usize) -> Self {
        Self {
            namespace: worker.namespace.clone(),
            actions: actions.list(),
            tags: worker.tags.to_string().into(),
            labels: worker.labels.clone(),
            is_member: worker.is_member(),
            most,
        }
    }
}

impl Channels {
    /// What is offered by takers that have room and for which nothing waits, by tenant.
    pub fn offers(&self) -> HashMap<Tenant, Vec<Offered>> {
        let state = self.lock();
        let offers = state.pools.iter().map(|(tenant, pool)| {
            let offers = pool.offers();
            (tenant.clone(), offers)
        });
        offers.filter(|(_, offers)| !offers.is_empty()).collect()
    }

    /// The tenants of tasks that wait for a taker.
    pub fn tenants_waiting(&self) -> Vec<Tenant> {
        let state = self.lock();
        let waiting = state.pools.iter().filter(|(_, pool)| pool.has_waiting());
        waiting.map(|(tenant, _)| tenant.clone()).collect()
    }

    /// Takes out tasks that wait and that another process could do. Each is then let go or put back.
    pub fn take_waiting(&self, tenant: &Tenant, offered: &Offered) -> Vec<Arc<str>> {
        let actions: Actions = offered.actions.iter().map(AsRef::as_ref).collect();
        let tags = Tags::parse(&offered.tags);
        let offer = Offer {
            namespace: offered.namespace.as_ref(),
            actions: &actions,
            tags: &tags,
            labels: &offered.labels,
            is_member: offered.is_member,
        };
        self.with(tenant, |pool, desk| {
            let mut taken = Vec::new();
            while taken.len() < offered.most
                && let Some(id) = pool.first_waiting(&offer)
            {
                pool.dequeue(&id);
                pool.set_timer(desk, &id, None);
                taken.push(id);
            }
            taken
        })
    }

    /// A task stays here after all.
    pub fn put_back(&self, tenant: &Tenant, task: &Arc<str>) {
        self.with(tenant, |pool, desk| {
            let held = pool.tasks.get(task);
            if held.is_some_and(|held| matches!(held.phase, Phase::Paused)) {
                pool.place(desk, task);
            }
        });
    }

    /// A task is another process's now.
    pub fn let_go(&self, tenant: &Tenant, task: &Arc<str>) {
        self.with(tenant, |pool, desk| pool.forget(desk, task));
    }
}

impl Pool {
    fn offers(&self) -> Vec<Offered> {
        let mut offers = Vec::new();
        for worker in self.workers.values().filter(|worker| worker.has_room()) {
            let most = (worker.max as usize).saturating_sub(worker.running().len());
            let mut add = |actions: &Actions, most: usize| {
                if self.first_waiting(&worker.offer_of(actions)).is_none() {
                    offers.push(Offered::of(worker, actions, most));
                }
            };
            match &worker.channel {
                // The number does not follow each task: then the offer would change with each.
                Channel::Stream(_) => add(&worker.actions, worker.max as usize),
                Channel::Pull(parked) => {
                    for request in parked.iter().take(most) {
                        add(&request.actions, 1);
                    }
                }
            }
        }
        offers.sort_unstable();
        offers
    }
}
