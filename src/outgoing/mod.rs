//! Connections to other systems, the rules about the addresses they may have, and the HTTP client.
//!
//! May use: nothing of this crate.
//! Addresses are checked when a name has been resolved, and the connection goes to one of the
//! checked addresses: a name is never resolved a second time. Redirects are not followed, and no
//! proxy is taken from the environment.

mod address;
mod client;
mod connect;
mod limited;
mod tls;

pub use address::{is_local_name, is_public};
pub use client::{Answer, Client, Fault};
pub use connect::{Connection, addresses, connect, secure};
pub use tls::{BadAuthorities, Tls};

/// Which addresses may be contacted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    Everything,
    /// Neither this machine nor private networks.
    PublicInternet,
}

/// Why there is no connection.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unreachable {
    /// Without its address, which would show tenants how a private network is arranged.
    #[error("`{0}` is not on the public internet")]
    Blocked(String),
    #[error("`{0}` is a name of this machine or of a local network")]
    Local(String),
    #[error("`{0}` has no address")]
    Unresolved(String),
    #[error("no connection could be made: {0}")]
    Unconnected(String),
    #[error("this machine has no root certificates; set SSL_CERT_FILE")]
    NoRoots,
}
