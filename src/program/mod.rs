//! Step workflows as they run: the compiled form.
//!
//! May use: nothing of this crate.
//! Must not: await, read a clock, draw a random number, touch storage.

mod form;

pub use form::{
    AttributeType, Backoff, Breaker, Cache, EntityStep, Errors, Executor, FORM, Fallback,
    FallbackOn, Health, Kind, Mapping, Name, Plan, Poll, Program, RateLimit, Retry, START,
    START_IN_PATHS, SearchAttribute, Selection, Step, Target, Terminal, TerminalStatus, Tracking,
    Wait,
};
