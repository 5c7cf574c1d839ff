//! Sagas and state machines: the HCL files of a bundle (`orchestration.md` chapter 2).
//!
//! [`read()`] takes all files of a bundle and returns what they say together with everything there is
//! to say about them, each finding with its file and line; with an error among the findings there
//! is not a bundle.

mod call;
mod codes;
mod connector;
mod duration;
mod fields;
mod hcl;
mod machine;
mod model;
mod read;
mod route;
mod saga_block;
mod syntax;
mod typo;

pub use codes::RULES;
pub use model::{
    Bundle, Call, Connector, Event, Flow, Machine, Mirror, Route, Saga, Service, State, Step,
    Transition,
};
pub use read::{File, is_bundle, read, variables};
pub use route::overlap;
pub use syntax::SourcePosition;

/// How many files a bundle may have (`runs.md` §7).
pub const FILES_MAX: usize = 200;

/// How many bytes all files of a bundle may have together.
pub const BYTES_MAX: usize = 4 << 20;

#[cfg(test)]
mod tests;
