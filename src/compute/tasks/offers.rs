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

/// Which tasks one or more takers take.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
struct Taking {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    namespace: Option<Arc<str>>,
    actions: Vec<Arc<str>>,
    tags: Box<str>,
    labels: Labels,
    is_member: bool,
}

/// What one or more takers offer that have nothing to do.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Offered {
    #[serde(flatten)]
    taking: Taking,
    /// How many tasks they take now.
    most: usize,
    /// Grows with each time that they can take more after tasks were handed over to them, so that
    /// what has been used differs from what is offered again. Older releases compare the whole text.
    #[serde(default)]
    turn: u64,
}

impl Offered {
    fn of(worker: &Worker, actions: &Actions, most: usize) -> Self {
        Self {
            taking: Taking {
                namespace: worker.namespace.clone(),
                actions: actions.list(),
                tags: worker.tags.to_string().into(),
                labels: worker.labels.clone(),
                is_member: worker.is_member(),
            },
            most,
            turn: 0,
        }
    }

    /// The same, offered again.
    #[must_use]
    pub fn at_turn(self, turn: u64) -> Self {
        Self { turn, ..self }
    }

    /// Whether two lists are of the same takers, however many tasks those take now.
    pub fn are_alike(some: &[Self], others: &[Self]) -> bool {
        some.iter()
            .map(|offered| &offered.taking)
            .eq(others.iter().map(|offered| &offered.taking))
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
        let taking = &offered.taking;
        let actions: Actions = taking.actions.iter().map(AsRef::as_ref).collect();
        let tags = Tags::parse(&taking.tags);
        let offer = Offer {
            namespace: taking.namespace.as_ref(),
            actions: &actions,
            tags: &tags,
            labels: &taking.labels,
            is_member: taking.is_member,
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
            let mut room = (worker.max as usize).saturating_sub(worker.running().len());
            let mut add = |actions: &Actions, most: usize| {
                if self.first_waiting(&worker.offer_of(actions)).is_none() {
                    offers.push(Offered::of(worker, actions, most));
                }
            };
            match &worker.channel {
                Channel::Stream(_) => add(&worker.actions, room),
                Channel::Pull(parked) => {
                    for request in parked {
                        let most = request.most.min(room);
                        room -= most;
                        if most > 0 {
                            add(&request.actions, most);
                        }
                    }
                }
            }
        }
        offers.sort_unstable();
        offers
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::clock::Clock;
    use crate::compute::tasks::{Announced, Asked, Settings};

    fn counts(channels: &Channels) -> Vec<usize> {
        let offers = channels.offers().into_values().flatten();
        offers.map(|offered| offered.most).collect()
    }

    #[test]
    fn a_worker_offers_as_many_places_as_its_requests_ask_for_and_it_has() {
        let settings = Settings {
            lease: Duration::from_secs(30),
            waiting_bytes_max: Settings::WAITING_BYTES,
        };
        let channels = Channels::new(Clock::System, settings);
        let tenant: Tenant = "t".into();
        let announced = Announced {
            max_concurrency: Some(10),
            ..Announced::default()
        };
        let registered = channels.register(&tenant, "w", announced);
        registered.expect("registered");
        let ask = |most| -> Asked {
            let asked = channels.ask(&tenant, "default", "w", &["a".to_owned()], most);
            asked.expect("registered")
        };
        assert_eq!(counts(&channels), [0; 0]);
        let first = ask(3);
        assert_eq!(counts(&channels), [3]);
        let _second = ask(100);
        assert_eq!(counts(&channels), [3, 7]);
        let _third = ask(1);
        assert_eq!(counts(&channels), [3, 7]);
        drop(first);
        assert_eq!(counts(&channels), [10]);
    }

    #[test]
    fn offers_of_older_processes_are_understood() {
        let text = r#"[{"actions":["a"],"tags":"","labels":{},"is_member":false,"most":1}]"#;
        let older: Vec<Offered> = serde_json::from_str(text).expect("offers");
        assert_eq!(older[0].most, 1);
        let renewed: Vec<Offered> = older.iter().cloned().map(|one| one.at_turn(2)).collect();
        assert_ne!(older, renewed);
        assert!(Offered::are_alike(&older, &renewed));
    }
}
