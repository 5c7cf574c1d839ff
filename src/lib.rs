//! Interlock: every record is an entity in a workflow, and everything is a `CloudEvent`.
//!
//! The modules in reading order; each may use those above it that its own documentation names, and
//! `tests/architecture.rs` holds them to it.
//!
//! ```text
//! names and failures   id  text  clock  error  compat  json  random  backoff
//!                      telemetry  shares  pool
//! pure                 entity  dispatch  model  condition  expr  workflow  program  dialect
//!                      engine  explain
//! services             storage  audit  outgoing  auth  connector  registry  compute  cluster
//!                      wasm  search  runtime
//! protocol             event  operation  help
//! edges                grpc  rest
//! the process          app  cli
//! ```
//!
//! A request goes down on the left and its answer comes up on the right: an edge makes an event
//! of it, [`operation::dispatch`] finds its row, the operation opens a session on a unit of work,
//! [`runtime`] drives [`engine::step`] and calls members in between, and [`storage`] commits.

pub mod backoff;
pub mod clock;
pub mod compat;
pub mod error;
pub mod id;
pub mod json;
pub mod pool;
pub mod random;
pub mod shares;
pub mod telemetry;
pub mod text;

pub mod condition;
pub mod dialect;
pub mod dispatch;
pub mod engine;
pub mod entity;
pub mod explain;
pub mod expr;
pub mod model;
pub mod program;
pub mod workflow;

pub mod audit;
pub mod auth;
pub mod cluster;
pub mod compute;
pub mod connector;
pub mod outgoing;
pub mod registry;
pub mod runtime;
pub mod search;
pub mod storage;
pub mod wasm;

pub mod event;
pub mod help;
pub mod operation;

pub mod cli;
pub mod grpc;
pub mod rest;

pub mod app;
