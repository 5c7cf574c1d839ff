//! A client of Interlock, a service in which every record is an entity in a workflow.
//!
//! A [`Client`] sends requests. A [`Member`] executes what workflows call by name: processors,
//! criteria, schedule functions, and the actions of step workflows. Both use `CloudEvents` over one
//! multiplexed gRPC stream.
//!
//! ```no_run
//! use interlock_client::{Call, HandlerResult, Member};
//! use serde_json::{Value, json};
//!
//! async fn add_tax(call: Call) -> HandlerResult<Value> {
//!     let mut order: Value = call.document()?;
//!     order["tax"] = json!(50);
//!     Ok(order)
//! }
//!
//! #[tokio::main]
//! async fn main() -> interlock_client::Result<()> {
//!     let member = Member::new("localhost:9090").tag("billing");
//!     member.processor("add-tax", add_tax).run().await
//! }
//! ```
//!
//! The types of requests and answers are in [`api`], which is generated from the protocol of the
//! server, and every client has a method for every operation.
//!
//! Documents are [`Json`], raw text. With the feature `exact-numbers`, which is on by default,
//! numbers keep all their digits in a [`serde_json::Value`], too. It is a switch of `serde_json`
//! for the whole program; where it is unwanted, `default-features = false` turns it off.
//!
//! Logs and spans are those of [`tracing`]. With the feature `opentelemetry` the spans of handlers
//! continue the traces of their calls, and requests carry the trace of the current span.

#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod ahead;
mod client;
mod conditions;
mod connection;
mod credentials;
mod entities;
mod envelope;
mod error;
mod feeds;
mod generated;
mod json;
mod member;
mod models;
mod options;
mod request;
mod runs;
mod stream;
mod sync;
mod text;
mod trace;
mod version;

/// Requests, answers and operations, generated from the protocol of the server.
///
/// Required members are arguments of `new`; the others are set by functions of their names:
///
/// ```
/// use interlock_client::api::ActionInvokeRequest;
/// use serde_json::json;
///
/// let request = ActionInvokeRequest::new("charge-payment")
///     .input(json!({"amount": 12}))
///     .wait_ms(10_000);
/// ```
pub mod api {
    pub use crate::generated::{operations::EntitySearchSubscribeAnswer, types::*};
}

pub use self::{
    client::Client,
    credentials::{ClientCredentials, TokenSource},
    entities::{Entities, Entity, Model, Written},
    envelope::Event,
    error::{Code, Error, ErrorKind, Result},
    feeds::{Change, Changes, Live, Match},
    json::Json,
    member::{
        Call, Caller, Failure, HandlerResult, IntoOutcome, Member, Membership, Outcome, Schedule,
        Task, Transition, Verdict, reject, retry,
    },
    models::Models,
    options::ConnectOptions,
    request::{Answer, Answers, Request},
    runs::{AllRuns, Runs},
    version::VERSION,
};

/// The programs of the README compile.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
pub struct Readme;
