//! Tests against real servers.

mod client;
mod credentials;
mod examples;
mod feeds;
mod member;
mod readme;
mod support;
mod tls;
