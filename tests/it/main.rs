//! Black-box tests: a real server process, real sockets, a real member.
#![expect(
    clippy::needless_pass_by_value,
    clippy::too_many_lines,
    reason = "what is sent reads best as a literal, and a story is told whole"
)]

mod account;
mod adaptive;
mod attack;
mod attacked;
mod audit;
mod callback;
mod change_level;
mod clients;
mod compat;
mod conformance;
mod connections;
mod conventions;
mod cors;
mod deletion;
mod diagram;
mod durability;
mod entity;
mod events_over_http;
mod execution;
mod executors;
mod explain;
mod faults;
mod feed;
mod guesses;
mod help;
mod history;
mod hostile;
mod idempotency;
mod identity;
mod index;
mod key_pairs;
mod large;
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
mod refused_writes;
mod requests;
mod rest;
mod rows;
mod revocation;
mod search;
mod secrets;
mod segments;
mod snapshots;
mod sorting;
mod statistics;
mod stream;
mod support;
mod tenancy;
mod timer_trail;
mod timers;
mod tls;
mod tokens;
mod trusted_keys;
mod turns;
mod unique_keys;
mod warnings;
mod workflow;
mod xml;
