//! Members: they are sent tasks on their stream, and answer there.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use tokio::sync::mpsc;

use super::{
    Channels, Verdict,
    answer::{Answered, of_processor},
    desk::Job,
    spec::{Dispatch, End},
    worker::{Announced, Channel, Delivery, Sent, Stream, Worker},
};
use crate::id::{CallId, MemberId, Tenant};
use crate::program::Answer;

/// How many tasks a member has at a time that announces no number.
const CONCURRENCY: u32 = 256;

/// The part of a member that does tasks; dropping it loses what it had in flight.
#[derive(Debug)]
pub struct TaskMembership {
    channels: Channels,
    tenant: Tenant,
    number: u64,
    busy: Arc<AtomicUsize>,
}

/// An answer of a member, by the type of its event.
#[derive(Debug)]
pub enum Form<'a> {
    /// To a task.
    Task(Answered<'a>),
    /// To a call of a processor; its output is what the processor returned.
    Processor(Answered<'a>),
    /// It could not be read.
    Unreadable(String),
}

impl Channels {
    /// Adds a member, which receives its tasks from the other end of `outbox`.
    pub fn join(
        &self,
        tenant: &Tenant,
        id: MemberId,
        announced: Announced,
        outbox: mpsc::UnboundedSender<Sent>,
    ) -> TaskMembership {
        let (number, busy) = self.with(tenant, |pool, desk| {
            let channel = Channel::Stream(Stream::new(outbox));
            let (id, now) = (id.to_string().into(), desk.clock.now());
            let worker = Worker::new(id, announced, CONCURRENCY, now, channel);
            let busy = Arc::clone(&worker.busy);
            (pool.join(desk, worker), busy)
        });
        TaskMembership {
            channels: self.clone(),
            tenant: tenant.clone(),
            number,
            busy,
        }
    }

    /// The transaction token for a delivery, which is about to be sent.
    pub fn token(&self, delivery: &Delivery) -> Option<Arc<str>> {
        self.ends()?.token(&delivery.spec, delivery.attempt)
    }
}

impl TaskMembership {
    /// Whether a task was delivered under that id, and its answer has not been seen.
    pub fn knows(&self, call: CallId) -> bool {
        let state = self.channels.lock();
        let pool = state.pools.get(&self.tenant);
        let worker = pool.and_then(|pool| pool.workers.get(&self.number));
        worker.is_some_and(|worker| match &worker.channel {
            Channel::Stream(stream) => stream.knows(call),
            Channel::Pull(_) => false,
        })
    }

    /// Whether the member has tasks to answer.
    pub fn has_tasks_out(&self) -> bool {
        self.busy.load(Ordering::Relaxed) > 0
    }

    /// No more tasks are sent.
    pub fn drain(&self) {
        self.channels.with(&self.tenant, |pool, _| {
            if let Some(worker) = pool.workers.get_mut(self.number) {
                worker.draining = true;
            }
        });
    }

    /// Takes an answer; false if it is to nothing that was sent on this stream, or the second one.
    pub fn answered(&self, call: CallId, form: &Form<'_>) -> bool {
        self.channels.with(&self.tenant, |pool, desk| {
            if let Some(task) = pool.answers(self.number, call) {
                let Some(spec) = pool.spec(&task) else {
                    return false;
                };
                if form.is_declined() {
                    pool.declined(desk, &task);
                    return true;
                }
                let verdict = form.verdict(spec.dispatch, spec.output_max);
                pool.answered(desk, &task, verdict);
                return true;
            }
            let late =
                pool.workers
                    .get_mut(self.number)
                    .and_then(|worker| match &mut worker.channel {
                        Channel::Stream(stream) => stream.late(call),
                        Channel::Pull(_) => None,
                    });
            let Some((task, attempt)) = late else {
                return false;
            };
            desk.job(Job::Late {
                tenant: self.tenant.clone(),
                task,
                end: End {
                    attempt,
                    answer: form.late(),
                    keeps_writes: false,
                    is_late: true,
                },
            });
            true
        })
    }
}

impl Drop for TaskMembership {
    fn drop(&mut self) {
        let number = self.number;
        self.channels
            .with(&self.tenant, |pool, desk| pool.leave(desk, number));
    }
}

impl Form<'_> {
    /// Whether the member has not begun the task, because it is about to leave.
    fn is_declined(&self) -> bool {
        match self {
            Self::Task(answered) | Self::Processor(answered) => answered.is_declined(),
            Self::Unreadable(_) => false,
        }
    }

    /// What it means for a task that was sent in that form.
    fn verdict(&self, sent: Dispatch, output_max: usize) -> Verdict {
        match (self, sent) {
            (Self::Task(answered), Dispatch::Task) => answered.verdict(output_max),
            (Self::Processor(answered), Dispatch::Processor) => {
                let Some(data) = answered.output.filter(|_| !answered.failed) else {
                    return answered.verdict(output_max);
                };
                let (outcome, output) = of_processor(data);
                let named = Answered {
                    outcome: outcome.as_deref(),
                    output: Some(output),
                    ..Answered::default()
                };
                named.verdict(output_max)
            }
            (Self::Unreadable(message), _) => Verdict::unreadable(message),
            (Self::Task(_), Dispatch::Processor) => Verdict::unreadable(
                "the call of a processor was answered with a TaskCalculationResponse",
            ),
            (Self::Processor(_), Dispatch::Task) => Verdict::unreadable(
                "a task was answered with an EntityProcessorCalculationResponse; answer with a TaskCalculationResponse",
            ),
        }
    }

    /// The end that is recorded for one that came too late.
    fn late(&self) -> Answer {
        let sent = match self {
            Self::Processor(_) => Dispatch::Processor,
            Self::Task(_) | Self::Unreadable(_) => Dispatch::Task,
        };
        self.verdict(sent, usize::MAX).into()
    }
}
