//! Step workflows as they run: the compiled form, the state of a run, and its machine.
//!
//! May use: [`crate::backoff`], [`crate::clock`], [`crate::expr`], [`crate::text`].
//! Must not: await, read a clock, draw a random number, touch storage. Time and chance are
//! arguments.
//!
//! [`Run::advance`] takes what has arrived, a due time, an answer, a signal, and returns a
//! [`Turn`]: the run as it is now, the events of its history, and the effects that follow its
//! commit. A turn that ends with [`Next::Ask`] stays in its unit of work and is continued with
//! [`Arrival::Replied`]; the others are committed. What is committed is the run without its history:
//! a run holds where it stands, the latest results and what it waits for, never what it has done,
//! and large values only by the number of the event that has them.

mod advance;
mod arrival;
mod attempt;
mod backoff;
mod deferral;
mod entity;
mod executors;
mod forced;
mod form;
mod history;
mod input;
mod machine;
mod reason;
mod run;
mod saga;
mod saga_steps;
mod step;
mod unwinding;

pub use advance::{Limits, Refusal, World};
pub use arrival::{
    Answer, Arrival, Ask, Availability, Chosen, Effect, EntityAnswer, Next, Permit, Problem, Reach,
    Reply, Sample, Since, StartedChild, Task, Turn, Wanted,
};
pub use executors::{BreakerView, ExecutorView, PlanState};
pub use form::{
    AttributeType, Backoff, Breaker, Cache, EntityStep, Errors, Executor, FORM, Fallback,
    FallbackOn, Health, Kind, Mapping, Name, Plan, Poll, Program, RateLimit, Retry, START,
    START_IN_PATHS, SearchAttribute, Selection, Step, TICK, Target, Terminal, TerminalStatus,
    Tracking, Wait,
};
pub use history::{EventKind, HistoryEvent};
pub use input::ATTRIBUTES_MAX;
pub use run::{
    Begin, Payload, Position, Run, RunError, Signal, StartedBy, Status, StepResult, Then, Waiting,
};

pub use saga::{Call, Pause, Purpose, Saga, SagaStep};
pub use saga_steps::{ANSWER_LOST, ANSWER_UNUSABLE, NOT_CALLED, may_be_at_work};
pub use unwinding::{CompensationError, SagaState};

#[cfg(test)]
mod tests;
