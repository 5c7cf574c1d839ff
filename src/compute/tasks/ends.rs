//! How tasks end: by an answer, a deadline, a lost worker, or because nobody wants them any more.

use std::{sync::Arc, time::Duration};

use tokio::{sync::oneshot, time::Instant};

use super::{
    answer::{PENDING, Verdict, by_engine, failed, failure},
    desk::{Desk, Job},
    held::{Ending, NotYours, Out, Phase},
    lanes::Capability,
    pool::{Pool, YEAR},
    spec::{End, GivenUp, Reported, TaskKind},
    used::is_to_be_delivered,
    worker::{Channel, Sent, Worker},
};
use crate::backoff::nth;
use crate::clock::Timestamp;
use crate::id::CallId;
use crate::program::Answer;

/// How often a task is delivered again because of conflicts.
const CONFLICTS_MAX: u32 = 10;

/// The pause before a task is delivered again whose writes were lost, and the longest: the storage
/// may not take them then either.
const LOST_PAUSE: Duration = Duration::from_secs(1);
pub(super) const LOST_PAUSE_MAX: Duration = Duration::from_secs(32);

/// How long a touch extends that does not say it.
pub(super) const TOUCH: Duration = Duration::from_secs(30);

/// The code of a task that no member or worker can do.
pub const NO_MEMBER: &str = "NO_COMPUTE_MEMBER_FOR_TAG";

/// The code of a task whose members or workers were lost.
const DISCONNECTED: &str = "COMPUTE_MEMBER_DISCONNECTED";

impl Pool {
    /// Reports the end of a task.
    fn report(&mut self, desk: &mut Desk, id: &Arc<str>, answer: Answer, keeps_writes: bool) {
        let tenant = self.tenant();
        let Some(held) = self.tasks.get_mut(id) else {
            return;
        };
        held.phase = Phase::Reporting(None);
        let end = End {
            attempt: held.attempt,
            answer,
            keeps_writes,
            is_late: false,
        };
        self.set_timer(desk, id, None);
        desk.job(Job::Report {
            tenant,
            task: Arc::clone(id),
            end,
            asked: None,
        });
    }

    fn discard(&self, desk: &Desk, id: &Arc<str>) {
        if let Some(held) = self.tasks.get(id) {
            desk.job(Job::Discard {
                tenant: self.tenant(),
                task: Arc::clone(id),
                attempt: held.attempt,
            });
        }
    }

    /// Whether another delivery may follow a failed one, and after how many that count.
    fn may_retry(&self, id: &str) -> Option<u32> {
        let held = self.tasks.get(id)?;
        let counted = held.attempt - held.conflicts;
        let most = held.spec.as_ref()?.retries_max;
        (counted <= most).then_some(counted)
    }

    /// A delivery was lost with its worker.
    pub(super) fn lost(&mut self, desk: &mut Desk, id: &Arc<str>) {
        let Some(out) = self.take_back(id) else {
            return;
        };
        self.unanswered(desk, id, out);
        if let Some(held) = self.tasks.get_mut(id) {
            held.was_lost = true;
        }
        self.discard(desk, id);
        if self.may_retry(id).is_some() {
            self.keep(desk, id, None);
            self.place(desk, id);
        } else {
            let message = "the member or worker that had the task was lost";
            let answer = by_engine(DISCONNECTED, message);
            self.report(desk, id, answer, false);
        }
        self.refill(desk, out.worker);
    }

    /// A member has answered.
    pub(super) fn answered(&mut self, desk: &mut Desk, id: &Arc<str>, verdict: Verdict) {
        let Some(out) = self.take_back(id) else {
            return;
        };
        let is_pending =
            matches!(&verdict, Verdict::Outcome { outcome, .. } if &**outcome == PENDING);
        if let Some(held) = self.tasks.get_mut(id) {
            let is_task = held.required.capability != Capability::Processor;
            let by = out.call.map(|call| (out.worker, call));
            held.accepted = by.filter(|_| is_pending && is_task);
        }
        self.conclude(desk, id, verdict);
        self.refill(desk, out.worker);
    }

    /// A member that is about to leave has not begun a task. It gets no more of them, and the
    /// delivery uses up no retry.
    pub(super) fn declined(&mut self, desk: &mut Desk, id: &Arc<str>) {
        let Some(out) = self.take_back(id) else {
            return;
        };
        if let Some(worker) = self.workers.get_mut(out.worker) {
            worker.draining = true;
        }
        self.discard(desk, id);
        if let Some(held) = self.tasks.get_mut(id) {
            held.conflicts += 1;
            held.declined += 1;
        }
        self.keep(desk, id, None);
        self.place(desk, id);
        self.refill(desk, out.worker);
    }

    /// What an answer leads to.
    fn conclude(&mut self, desk: &mut Desk, id: &Arc<str>, verdict: Verdict) {
        if verdict.is_retryable() {
            if let Some(counted) = self.may_retry(id) {
                self.pause(desk, id, counted);
                return;
            }
            if self.may_be_done(id) {
                let message = "a member that had the call was lost, and others could not do it";
                self.report(desk, id, by_engine(DISCONNECTED, message), false);
                return;
            }
        }
        let keeps_writes = verdict.keeps_writes();
        self.report(desk, id, verdict.into(), keeps_writes);
    }

    /// Whether a call of a saga may have been done by a member that is gone.
    fn may_be_done(&self, id: &str) -> bool {
        let held = self.tasks.get(id);
        held.is_some_and(|held| held.was_lost && held.kind == TaskKind::Connector)
    }

    /// Delivers a task again after its pause.
    fn pause(&mut self, desk: &mut Desk, id: &Arc<str>, counted: u32) {
        let spec = self.tasks.get(id).and_then(|held| held.spec.as_ref());
        let delay = spec.map_or(Duration::ZERO, |spec| nth(spec.retry_delay, YEAR, counted));
        self.pause_for(desk, id, delay);
    }

    fn pause_for(&mut self, desk: &mut Desk, id: &Arc<str>, delay: Duration) {
        self.discard(desk, id);
        let Some(held) = self.tasks.get_mut(id) else {
            return;
        };
        held.phase = Phase::Paused;
        if delay.is_zero() {
            self.keep(desk, id, None);
            self.set_timer(desk, id, None);
            self.place(desk, id);
        } else {
            self.keep(desk, id, Some(desk.clock.now().after(delay)));
            self.set_timer(desk, id, Some(Instant::now() + delay));
        }
    }

    /// The time of a task is over.
    pub(super) fn due(&mut self, desk: &mut Desk, id: &Arc<str>) {
        let now = Instant::now();
        let Some(held) = self.tasks.get_mut(id) else {
            return;
        };
        held.timer = None;
        match held.phase {
            Phase::Waiting => self.waited(desk, id),
            Phase::Paused => self.place(desk, id),
            Phase::Loading => desk.job(Job::Load {
                tenant: self.tenant(),
                task: Arc::clone(id),
            }),
            Phase::Out(out) if out.limit.lease.is_some_and(|lease| lease <= now) => {
                self.lost(desk, id);
            }
            Phase::Out(out) => {
                // A late answer to a call of a saga counts; nothing waits for another any more.
                let is_over = held.kind != TaskKind::Connector;
                self.take_back(id);
                self.unanswered(desk, id, out);
                if is_over {
                    // Before the next task, which needs the place that this frees.
                    self.cancel_delivery(id, out, "its time is over");
                }
                self.report(desk, id, Answer::Deadline, false);
                self.refill(desk, out.worker);
            }
            Phase::Reporting(_) => {}
        }
    }

    /// Nobody has taken a task for as long as it may wait.
    fn waited(&mut self, desk: &mut Desk, id: &Arc<str>) {
        let now = desk.clock.now();
        let Some(held) = self.tasks.get_mut(id) else {
            return;
        };
        held.wait_ends();
        let Some(held) = self.tasks.get(id) else {
            return;
        };
        let has_taker = self.has_taker(held, now);
        if has_taker || held.waited < held.wait {
            if has_taker {
                self.wait_again(desk, id);
            } else {
                self.keep(desk, id, None);
            }
            self.wait_on(desk, id, has_taker);
            return;
        }
        let message = match &held.required.capability {
            Capability::Action(namespace, name) => format!(
                "no member or worker of namespace {namespace} took a task of the action {name}; start one that announces it"
            ),
            Capability::Processor | Capability::Tagged(_) => format!(
                "no member with the tags [{}] took the task; start one that declares them",
                held.required.tags
            ),
        };
        self.dequeue(id);
        self.report(desk, id, by_engine(NO_MEMBER, &message), false);
    }

    /// Nobody wants a task any more.
    pub(super) fn give_up(&mut self, desk: &mut Desk, task: &str, reason: &str) -> GivenUp {
        if let Some((worker, call)) = self.accepted.take(task) {
            self.send_cancel(&task.into(), worker, call, reason);
        }
        let Some((id, held)) = self.tasks.get_key_value(task) else {
            return GivenUp::Elsewhere;
        };
        let id = Arc::clone(id);
        let given_up = match held.phase {
            Phase::Waiting | Phase::Loading if held.attempt == 0 => GivenUp::Undelivered,
            Phase::Waiting | Phase::Loading | Phase::Paused => GivenUp::Idle,
            Phase::Out(_) | Phase::Reporting(_) => GivenUp::Elsewhere,
        };
        let out = self.take_back(&id);
        if let Some(out) = out {
            self.discard(desk, &id);
            self.unanswered(desk, &id, out);
            self.cancel_delivery(&id, out, reason);
        }
        self.forget(desk, &id);
        if let Some(out) = out {
            self.refill(desk, out.worker);
        }
        given_up
    }

    /// Sends a member that a task is cancelled, if it was sent as a task.
    fn cancel_delivery(&self, id: &Arc<str>, out: Out, reason: &str) {
        let is_task = self
            .tasks
            .get(id)
            .is_some_and(|held| held.required.capability != Capability::Processor);
        if let (true, Some(call)) = (is_task, out.call) {
            self.send_cancel(id, out.worker, call, reason);
        }
    }

    fn send_cancel(&self, task: &Arc<str>, worker: u64, call: CallId, reason: &str) {
        if let Some(Worker {
            channel: Channel::Stream(stream),
            ..
        }) = self.workers.get(&worker)
        {
            // A member that has left needs no notice.
            let _ = stream.outbox.send(Sent::Cancel {
                task: Arc::clone(task),
                call,
                reason: reason.into(),
            });
        }
    }

    pub(super) fn forget(&mut self, desk: &mut Desk, id: &Arc<str>) {
        self.dequeue(id);
        self.take_back(id);
        self.set_timer(desk, id, None);
        self.tasks.remove(id);
    }

    /// Whether a worker may act on a task now.
    fn check_lease(&self, task: &str, worker: Option<&str>) -> Result<Arc<str>, NotYours> {
        let (id, held) = self.tasks.get_key_value(task).ok_or(NotYours::NotHeld)?;
        let out = held.out();
        let holder = out.and_then(|out| self.workers.get(&out.worker));
        match (worker, holder) {
            (Some(worker), Some(holder)) if *holder.id != *worker => Err(NotYours::LeaseLost),
            _ => Ok(Arc::clone(id)),
        }
    }

    /// A worker, or any caller, ends a task; the answer is sent once it is stored. After a failure
    /// that may be repeated the task is delivered again. So is one that nobody has: the report is
    /// repeated since its answer was lost, or its worker has lost the task.
    pub(super) fn end(
        &mut self,
        desk: &mut Desk,
        task: &str,
        worker: Option<&str>,
        verdict: Verdict,
    ) -> Result<Ending, NotYours> {
        let id = self.check_lease(task, worker)?;
        let keeps_writes = verdict.keeps_writes();
        if verdict.is_retryable() && self.is_delivered_again(desk, &id) {
            return Ok(Ending::Again(self.when_kept(&id)));
        }
        let answer = verdict.into();
        let tenant = self.tenant();
        self.dequeue(&id);
        let Some(held) = self.tasks.get_mut(&id) else {
            return Err(NotYours::NotHeld);
        };
        let out = held.out();
        held.phase = Phase::Reporting(out);
        let end = End {
            attempt: held.attempt,
            keeps_writes,
            answer,
            is_late: false,
        };
        self.set_timer(desk, &id, None);
        let (asked, reported) = oneshot::channel();
        desk.job(Job::Report {
            tenant,
            task: id,
            end,
            asked: Some(asked),
        });
        Ok(Ending::Reported(reported))
    }

    /// Takes a task back from its worker that has failed and may be repeated, and has it delivered
    /// again, as one is anyway that nobody has. False if it ends.
    fn is_delivered_again(&mut self, desk: &mut Desk, id: &Arc<str>) -> bool {
        let Some(held) = self.tasks.get(id) else {
            return false;
        };
        let Phase::Out(out) = held.phase else {
            return is_to_be_delivered(&held.phase);
        };
        let Some(counted) = self.may_retry(id) else {
            return false;
        };
        self.take_back(id);
        if let Some(call) = out.call {
            self.answers(out.worker, call);
        }
        self.pause(desk, id, counted);
        self.refill(desk, out.worker);
        true
    }

    /// The end of a task was stored, or could not be.
    pub(super) fn settled(&mut self, desk: &mut Desk, id: &Arc<str>, reported: Option<Reported>) {
        let Some(held) = self.tasks.get_mut(id) else {
            return;
        };
        let Phase::Reporting(out) = held.phase else {
            return;
        };
        let held_last = held.last;
        match (reported, out) {
            // The worker that asked for it has the task as before.
            (None, Some(out)) => {
                held.phase = Phase::Out(out);
                self.set_timer(desk, id, Some(out.limit.first()));
                return;
            }
            (None, None) => self.place(desk, id),
            (Some(Reported::Conflict), _) => {
                held.conflicts += 1;
                let gives_up = held.conflicts - held.lost - held.declined > CONFLICTS_MAX;
                self.take_back(id);
                if gives_up {
                    let message = "the writes of the task conflicted with others too often";
                    self.report(desk, id, failure(failed(Some("CONFLICT"), message)), false);
                } else {
                    self.place(desk, id);
                }
            }
            (Some(Reported::Lost), _) => {
                held.conflicts += 1;
                held.lost += 1;
                let doubled = nth(LOST_PAUSE, LOST_PAUSE_MAX, held.lost);
                self.take_back(id);
                self.pause_for(desk, id, doubled);
            }
            (Some(reported), _) => {
                if reported == Reported::Applied
                    && let Some(by) = held.accepted
                {
                    self.accepted.add(id, by);
                }
                if let Some(Out {
                    call: Some(call),
                    worker,
                    ..
                }) = out
                    && let Some(Worker {
                        channel: Channel::Stream(stream),
                        ..
                    }) = self.workers.get_mut(worker)
                {
                    stream.calls.remove(&call);
                }
                // Its worker may have left while its end was being stored.
                let has_left = held_last.is_some_and(|last| !self.workers.contains_key(&last));
                self.forget(desk, id);
                if has_left {
                    self.report_left(desk, Arc::clone(id));
                }
            }
        }
        if let Some(out) = out {
            self.refill(desk, out.worker);
        }
    }

    /// Extends the lease or the deadline of a task; until when. A lease is extended within the
    /// deadline, unless the touch says for how long.
    pub(super) fn touch(
        &mut self,
        desk: &mut Desk,
        task: &str,
        worker: Option<&str>,
        extend: Option<Duration>,
        progress: Option<Arc<str>>,
    ) -> Result<Timestamp, NotYours> {
        let id = self.check_lease(task, worker)?;
        // A worker whose program hangs may touch for ever.
        let is_asked = extend.is_some();
        let extend = extend.unwrap_or(TOUCH);
        let until = desk.clock.now().after(extend);
        let at = Instant::now() + extend;
        let Some(held) = self.tasks.get_mut(&id) else {
            return Err(NotYours::NotHeld);
        };
        // What is being reported may be all that it needs.
        if let Phase::Reporting(Some(out)) = held.phase {
            return Ok(out.limit.until);
        }
        let Phase::Out(out) = &mut held.phase else {
            return Err(NotYours::LeaseLost);
        };
        // A touch never takes time away.
        let limit = &mut out.limit;
        if is_asked || limit.lease.is_none() {
            limit.deadline = limit.deadline.max(at);
            limit.ends = limit.ends.max(until);
        }
        if let Some(lease) = limit.lease {
            limit.lease = Some(lease.max(at));
        }
        limit.until = limit.until.max(until.min(limit.ends));
        let (first, until) = (limit.first(), limit.until);
        if progress.is_some() {
            held.progress = progress;
        }
        self.set_timer(desk, &id, Some(first));
        Ok(until)
    }
}
