//! Black-box tests: a real server process, real sockets, a real member.
#![expect(
    clippy::needless_pass_by_value,
    clippy::too_many_lines,
    reason = "what is sent reads best as a literal, and a story is told whole"
)]

mod account;
mod adaptive;
mod attack;
mod audit;
mod callback;
mod change_level;
mod clients;
mod compat;
mod conformance;
mod conventions;
mod cors;
mod deletion;
mod diagram;
mod durability;
mod entity;
mod events_over_http;
mod execution;
mod expensive;
mod explain;
mod feed;
mod help;
mod history;
mod hostile;
mod idempotency;
mod index;
mod key_pairs;
mod limits;
mod live;
mod matrix;
mod member;
mod message;
mod method;
mod model;
mod moves;
mod oidc;
mod openapi;
mod operators;
mod parity;
mod patch;
mod process;
mod processor;
mod requests;
mod rest;
mod search;
mod secrets;
mod segments;
mod snapshots;
mod sorting;
mod statistics;
mod stream;
mod support;
mod tenancy;
mod timers;
mod tls;
mod tokens;
mod trusted_keys;
mod unique_keys;
mod workflow;
mod xml;
