//! One tenant's workers and tasks: who gets which task. Nothing here waits.

use std::{
    collections::{BTreeSet, HashMap},
    sync::Arc,
    time::Duration,
};

use tokio::{sync::oneshot, time::Instant};

use super::{
    desk::{Desk, Job},
    held::{Accepted, Held, Out, Phase, TaskView},
    lanes::{Actions, Lanes, Offer},
    spec::{TaskKind, TaskSpec},
    worker::{Channel, Delivery, Leased, Limit, Parked, Sent, Worker},
    workers::Workers,
};
use crate::clock::Timestamp;
use crate::error::Failure;
use crate::id::{CallId, Tenant};

/// The pause before a kept task is loaded again after an error.
pub(super) const LOAD_AGAIN: Duration = Duration::from_secs(1);

/// Longer than any pause that matters.
pub(super) const YEAR: Duration = Duration::from_hours(24 * 365);

#[derive(Debug, Default)]
pub(super) struct Pool {
    tenant: Option<Tenant>,
    pub(super) workers: Workers,
    /// Members, and workers with requests that wait.
    takers: BTreeSet<u64>,
    pub(super) tasks: HashMap<Arc<str>, Held>,
    lanes: Lanes,
    waiting_bytes: usize,
    pub(super) accepted: Accepted,
}

impl Pool {
    pub(super) fn of(tenant: &Tenant) -> Self {
        Self {
            tenant: Some(tenant.clone()),
            ..Self::default()
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.workers.is_empty() && self.tasks.is_empty()
    }

    pub(super) fn tenant(&self) -> Tenant {
        self.tenant.clone().unwrap_or_else(|| "".into())
    }

    /// How many tasks wait, and how many are with a worker.
    pub(super) fn counts(&self) -> (usize, usize) {
        let running = self.workers.values().map(|worker| worker.running().len());
        let running = running.sum();
        (self.tasks.len().saturating_sub(running), running)
    }

    /// How many tasks wait, and how many are with a worker, by namespace and name of the action.
    pub(super) fn counts_by_action(&self) -> HashMap<(Arc<str>, Arc<str>), (usize, usize)> {
        let mut counts = HashMap::new();
        for held in self.tasks.values() {
            let name = (Arc::clone(&held.namespace), Arc::clone(&held.name));
            let (pending, running) = counts.entry(name).or_insert((0, 0));
            *(if held.runs() { running } else { pending }) += 1;
        }
        counts
    }

    pub(super) fn view(&self, task: &str) -> Option<TaskView> {
        let held = self.tasks.get(task)?;
        let out = held.out();
        let worker = out.and_then(|out| self.workers.get(&out.worker));
        Some(TaskView {
            running: out.is_some(),
            attempt: held.attempt,
            taken_by: worker.map(|worker| Arc::clone(&worker.id)),
            progress: held.progress.clone(),
            until: out.map(|out| out.limit.until),
        })
    }

    /// Takes over a task.
    pub(super) fn accept(&mut self, desk: &mut Desk, spec: TaskSpec) {
        let id = Arc::clone(&spec.id);
        if self.tasks.contains_key(&id) {
            return;
        }
        let pause = spec.used.pause(desk.clock.now(), spec.retry_delay);
        let held = Held::new(spec, desk.number());
        self.tasks.insert(Arc::clone(&id), held);
        match pause {
            Some(pause) => self.set_timer(desk, &id, Some(Instant::now() + pause)),
            None => self.place(desk, &id),
        }
    }

    /// Hands a task to a taker, or lets it wait. One that is not in memory is loaded first.
    pub(super) fn place(&mut self, desk: &mut Desk, id: &Arc<str>) {
        if self.tasks.get(id).is_some_and(|held| held.spec.is_none()) {
            self.load(desk, id);
            return;
        }
        while let Some(worker) = self.taker(id) {
            if self.deliver(desk, id, worker) {
                return;
            }
        }
        self.enqueue(desk, id);
    }

    /// The taker with the fewest tasks; the last one only if there is no other.
    pub(super) fn taker(&self, id: &str) -> Option<u64> {
        let held = self.tasks.get(id)?;
        let fits = |number: &&u64| {
            let Some(worker) = self.workers.get(number) else {
                return false;
            };
            worker.has_room()
                && match &worker.channel {
                    Channel::Stream(_) => worker.offer().fits(&held.required),
                    Channel::Pull(parked) => parked
                        .iter()
                        .any(|parked| worker.offer_of(&parked.actions).fits(&held.required)),
                }
        };
        let rank = |number: &&u64| {
            let worker = &self.workers[number];
            let had_it = held.last == Some(**number);
            (had_it, worker.running().len(), worker.last_turn)
        };
        self.takers.iter().filter(fits).min_by_key(rank).copied()
    }

    /// Whether somebody could do the task, though not now.
    pub(super) fn has_taker(&self, held: &Held, now: Timestamp) -> bool {
        self.workers.values().any(|worker| {
            !worker.draining && worker.is_healthy(now) && worker.offer().fits(&held.required)
        })
    }

    /// Gives a task to a worker; false if the worker is gone.
    fn deliver(&mut self, desk: &mut Desk, id: &Arc<str>, number: u64) -> bool {
        let turn = desk.number();
        let Some(worker) = self.workers.get_mut(number) else {
            return false;
        };
        let Some(held) = self.tasks.get_mut(id) else {
            return true;
        };
        let Some(spec) = held.spec.clone() else {
            return false;
        };
        worker.last_turn = turn;
        let attempt = held.attempt + 1;
        let (wall, now) = (desk.clock.now(), Instant::now());
        let deadline = wall.after(spec.timeout);
        let at = now + spec.timeout;
        let (call, limit) = match &mut worker.channel {
            Channel::Stream(stream) => {
                let call = CallId::fresh();
                let delivery = Delivery {
                    spec,
                    call,
                    attempt,
                    deadline,
                };
                if stream.outbox.send(Sent::Task(delivery)).is_err() {
                    self.takers.remove(&number);
                    return false;
                }
                stream.calls.insert(call, Arc::clone(id));
                let limit = Limit {
                    deadline: at,
                    lease: None,
                    until: deadline,
                    ends: deadline,
                };
                (Some(call), limit)
            }
            Channel::Pull(parked) => {
                let offer = |parked: &Parked| parked.actions.contain(&spec.name);
                let Some(place) = parked.iter().position(offer) else {
                    return false;
                };
                let limit = Limit {
                    deadline: at,
                    lease: Some(now + desk.lease),
                    until: wall.after(desk.lease.min(spec.timeout)),
                    ends: deadline,
                };
                let leased = Leased {
                    spec,
                    attempt,
                    taken_by: Arc::clone(&worker.id),
                    until: limit.until,
                };
                let parked_one = parked.remove(place);
                if parked.is_empty() {
                    self.takers.remove(&number);
                }
                let Some(Parked { hand, .. }) = parked_one else {
                    return false;
                };
                if hand.send(vec![leased]).is_err() {
                    return false;
                }
                (None, limit)
            }
        };
        worker.begin(id);
        self.wait_again(desk, id);
        let Some(held) = self.tasks.get_mut(id) else {
            return true;
        };
        held.attempt = attempt;
        held.last = Some(number);
        held.progress = None;
        held.phase = Phase::Out(Out {
            worker: number,
            call,
            limit,
        });
        self.set_timer(desk, id, Some(limit.first()));
        true
    }

    fn enqueue(&mut self, desk: &mut Desk, id: &Arc<str>) {
        let Some(held) = self.tasks.get_mut(id) else {
            return;
        };
        held.phase = Phase::Waiting;
        held.wait_begins();
        let bytes = held.bytes();
        if self.waiting_bytes + bytes > desk.waiting_bytes_max {
            held.spec = None;
        } else {
            self.waiting_bytes += bytes;
        }
        let (place, look) = (held.place(), held.next_look());
        self.lanes.push(&held.required, place, Arc::clone(id));
        self.set_timer(desk, id, Some(Instant::now() + look));
    }

    /// Whether tasks wait for a taker.
    pub(super) fn has_waiting(&self) -> bool {
        !self.lanes.is_empty()
    }

    /// The first task of each kind that waits.
    pub(super) fn first_of_lanes(&self) -> impl Iterator<Item = &Arc<str>> {
        self.lanes.firsts()
    }

    /// The first task that waits for what is offered.
    pub(super) fn first_waiting(&self, offer: &Offer<'_>) -> Option<Arc<str>> {
        self.lanes.first(offer).cloned()
    }

    /// Takes a task out of its lane.
    pub(super) fn dequeue(&mut self, id: &str) {
        let Some(held) = self.tasks.get_mut(id) else {
            return;
        };
        if matches!(held.phase, Phase::Waiting) {
            held.phase = Phase::Paused;
            held.wait_ends();
            self.lanes.remove(&held.required, held.place());
            self.waiting_bytes -= held.bytes();
        }
    }

    pub(super) fn set_timer(&mut self, desk: &mut Desk, id: &Arc<str>, at: Option<Instant>) {
        let tenant = self.tenant();
        let Some(held) = self.tasks.get_mut(id) else {
            return;
        };
        if let Some(timer) = held.timer.take() {
            desk.unset(timer);
        }
        if let Some(at) = at {
            held.timer = Some(desk.set(at, tenant, Arc::clone(id)));
        }
    }

    /// Gives a worker that has room what waits for it.
    pub(super) fn refill(&mut self, desk: &mut Desk, number: u64) {
        if self.is_done_with(number) {
            self.workers.remove(number);
            return;
        }
        let mut loading = 0;
        loop {
            let Some(worker) = self.workers.get(&number) else {
                return;
            };
            if !worker.has_room() || worker.running().len() + loading >= worker.max as usize {
                return;
            }
            let first = match &worker.channel {
                Channel::Stream(_) => self.lanes.first(&worker.offer()),
                Channel::Pull(parked) => parked
                    .iter()
                    .find_map(|parked| self.lanes.first(&worker.offer_of(&parked.actions))),
            };
            let Some(id) = first.cloned() else { return };
            if !self.take(desk, &id) {
                loading += 1;
            } else if !self.deliver(desk, &id, number) {
                self.place(desk, &id);
                return;
            }
        }
    }

    /// Takes a task that waits; false if it has to be loaded first.
    fn take(&mut self, desk: &mut Desk, id: &Arc<str>) -> bool {
        self.dequeue(id);
        let Some(held) = self.tasks.get_mut(id) else {
            return true;
        };
        if held.spec.is_some() {
            return true;
        }
        self.load(desk, id);
        false
    }

    fn load(&mut self, desk: &mut Desk, id: &Arc<str>) {
        if let Some(held) = self.tasks.get_mut(id) {
            held.phase = Phase::Loading;
        }
        self.set_timer(desk, id, None);
        desk.job(Job::Load {
            tenant: self.tenant(),
            task: Arc::clone(id),
        });
    }

    /// A task was loaded. Meanwhile it may have ended, or been sent again.
    pub(super) fn loaded(
        &mut self,
        desk: &mut Desk,
        id: &Arc<str>,
        loaded: Result<Option<TaskSpec>, Failure>,
    ) {
        let held = self.tasks.get_mut(id);
        match (
            held.filter(|held| matches!(held.phase, Phase::Loading)),
            loaded,
        ) {
            (Some(held), Ok(Some(spec))) => {
                held.spec = Some(Arc::new(spec));
                self.place(desk, id);
                return;
            }
            (Some(_), Ok(None)) => self.forget(desk, id),
            (Some(_), Err(_)) => self.set_timer(desk, id, Some(Instant::now() + LOAD_AGAIN)),
            (None, _) => {}
        }
        // The worker that would have got it has room for another.
        for taker in self.takers.iter().copied().collect::<Vec<_>>() {
            self.refill(desk, taker);
        }
    }

    /// Hands over as many tasks as wait, up to a number, to a request.
    pub(super) fn take_now(
        &mut self,
        desk: &mut Desk,
        number: u64,
        actions: &Actions,
        most: usize,
    ) -> Vec<Leased> {
        let mut taken = Vec::new();
        while taken.len() < most {
            let Some(worker) = self.workers.get(&number) else {
                break;
            };
            if !worker.has_room() {
                break;
            }
            let first = self.lanes.first(&worker.offer_of(actions)).cloned();
            let Some(id) = first else { break };
            if !self.take(desk, &id) {
                // It is handed to the request once it is loaded.
                break;
            }
            let (hand, mut given) = oneshot::channel();
            let parked = Parked {
                number: 0,
                actions: actions.clone(),
                most,
                hand,
            };
            if let Some(Worker {
                channel: Channel::Pull(waiting),
                ..
            }) = self.workers.get_mut(number)
            {
                waiting.push_front(parked);
            }
            if !self.deliver(desk, &id, number) {
                self.place(desk, &id);
                break;
            }
            taken.extend(given.try_recv().into_iter().flatten());
        }
        self.note_takers(number);
        taken
    }

    /// Whether a worker is a taker: a member is, and a worker with requests that wait.
    pub(super) fn note_takers(&mut self, number: u64) {
        let takes = match self.workers.get(&number).map(|worker| &worker.channel) {
            Some(Channel::Stream(_)) => true,
            Some(Channel::Pull(parked)) => !parked.is_empty(),
            None => false,
        };
        if takes {
            self.takers.insert(number);
        } else {
            self.takers.remove(&number);
        }
    }

    pub(super) fn out(&self, id: &str) -> Option<Out> {
        self.tasks.get(id)?.out()
    }

    /// Takes a delivery back from its worker; the one that it was.
    pub(super) fn take_back(&mut self, id: &Arc<str>) -> Option<Out> {
        let out = self.out(id)?;
        if let Some(worker) = self.workers.get_mut(out.worker) {
            worker.end(id);
        }
        Some(out)
    }

    /// Remembers that a delivery to a member ended without an answer.
    pub(super) fn unanswered(&mut self, desk: &Desk, id: &Arc<str>, out: Out) {
        let attempt = self.tasks.get(id).map_or(0, |held| held.attempt);
        if let (Some(call), Some(worker)) = (out.call, self.workers.get_mut(out.worker))
            && let Channel::Stream(stream) = &mut worker.channel
            && let Some(forgotten) = stream.end(call, id, attempt)
            && !self.tasks.contains_key(&forgotten)
        {
            self.report_left(desk, forgotten);
        }
    }

    /// Says that nobody who had a task will answer for it.
    pub(super) fn report_left(&self, desk: &Desk, task: Arc<str>) {
        let tenant = self.tenant();
        desk.job(Job::Left { tenant, task });
    }

    /// Adds a worker.
    pub(super) fn join(&mut self, desk: &mut Desk, worker: Worker) -> u64 {
        let number = desk.number();
        self.workers.insert(number, worker);
        self.note_takers(number);
        self.refill(desk, number);
        number
    }

    /// Removes a worker; what it had is lost.
    pub(super) fn leave(&mut self, desk: &mut Desk, number: u64) {
        self.takers.remove(&number);
        let Some(worker) = self.workers.get_mut(number) else {
            return;
        };
        // Nothing is sent to it any more.
        worker.draining = true;
        if desk.stop.is_cancelled() {
            // The node that takes its runs over sends what it had again.
            self.workers.remove(number);
            self.accepted.leave(number);
            return;
        }
        let mut had: Vec<_> = worker.running().iter().cloned().collect();
        had.sort_by_key(|id| self.tasks.get(id).map(|held| held.number));
        for id in &had {
            if self.tasks.get(id).is_some_and(Held::is_out) {
                self.lost(desk, id);
            }
        }
        if let Some(Worker {
            channel: Channel::Stream(stream),
            ..
        }) = self.workers.remove(number)
        {
            let tasks = stream.unanswered();
            for task in tasks.filter(|task| !self.tasks.contains_key(*task)) {
                self.report_left(desk, Arc::clone(task));
            }
        }
        self.accepted.leave(number);
    }

    /// The worker of that id in a namespace, else a member of that id.
    pub(super) fn find(&self, namespace: &str, id: &str) -> Option<u64> {
        let found = self.find_any(namespace, id)?;
        let worker = self.workers.get(&found)?;
        worker.is_known.then_some(found)
    }

    /// The worker of that id in a namespace, even if it is only known by a lease.
    pub(super) fn find_any(&self, namespace: &str, id: &str) -> Option<u64> {
        self.workers.find(namespace, id)
    }

    /// Gives back tasks that were handed out to a worker and not received.
    pub(super) fn give_back(&mut self, desk: &mut Desk, worker: u64, unread: &[Leased]) {
        for Leased { spec, attempt, .. } in unread {
            let id = &spec.id;
            let Some(held) = self.tasks.get_mut(id) else {
                continue;
            };
            // Its lease may have ended meanwhile, and the task may be delivered again.
            let has_it = matches!(&held.phase, Phase::Out(out) if out.worker == worker);
            if has_it && held.attempt == *attempt {
                held.attempt -= 1;
                self.take_back(id);
                self.place(desk, id);
            }
        }
    }

    /// The task of a delivery to a member, which is answered with this.
    pub(super) fn answers(&mut self, number: u64, call: CallId) -> Option<Arc<str>> {
        let worker = self.workers.get_mut(number)?;
        let Channel::Stream(stream) = &mut worker.channel else {
            return None;
        };
        stream.calls.remove(&call)
    }

    /// Notes that a worker lives, which names itself and has the task.
    pub(super) fn saw(&mut self, desk: &Desk, task: &str, id: Option<&str>) {
        let out = self.tasks.get(task).and_then(Held::out);
        if let Some(worker) = out.and_then(|out| self.workers.get_mut(out.worker))
            && id == Some(&*worker.id)
        {
            worker.seen = desk.clock.now();
        }
    }

    pub(super) fn kind(&self, task: &str) -> Option<TaskKind> {
        self.tasks.get(task).map(|held| held.kind)
    }

    /// Whether the end of a task is being stored.
    pub(super) fn is_reporting(&self, task: &str) -> bool {
        let held = self.tasks.get(task);
        held.is_some_and(|held| matches!(held.phase, Phase::Reporting(_)))
    }

    /// The specification of a task.
    pub(super) fn spec(&self, task: &str) -> Option<Arc<TaskSpec>> {
        self.tasks.get(task)?.spec.clone()
    }
}
