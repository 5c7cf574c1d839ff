//! Limits of connections.

use std::{
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
    time::Duration,
};

use crate::app::config::{ConfigError, Sources};

/// Settings of connections.
#[derive(Debug, Clone, Copy)]
pub struct Connections {
    /// The address of REST and gRPC.
    pub address: IpAddr,
    /// Whether that address was set.
    pub is_address_set: bool,
    /// How many there may be; 0 for what the file limit allows.
    pub max: usize,
    /// How many of one address; 0 for no limit.
    pub per_address: usize,
    pub times: Times,
    /// How many bytes of requests are held at once; 0 for a part of the memory.
    pub receiving_bytes: usize,
}

/// Time limits for clients.
#[derive(Debug, Clone, Copy)]
pub struct Times {
    /// For the head of a request, or the HTTP/2 preface.
    pub head: Duration,
    /// For keeping the server waiting for a body, beside what the body earns by its rate.
    pub body: Duration,
    /// The minimum rate of a body; 0 for any.
    pub bytes_per_second: u32,
    /// For having no open request.
    pub idle: Duration,
    /// For leaving an answer unread.
    pub write: Duration,
}

pub(in crate::app) fn settings(
    sources: &Sources,
    is_mocked: bool,
) -> Result<Connections, ConfigError> {
    let given = sources.read("BIND_ADDRESS", "an IP address", |text| match text {
        "" => Some(None),
        text => text.parse().ok().map(Some),
    })?;
    let otherwise = if is_mocked {
        IpAddr::V4(Ipv4Addr::LOCALHOST)
    } else {
        IpAddr::V6(Ipv6Addr::UNSPECIFIED)
    };
    let time = |name| sources.positive_duration(name);
    Ok(Connections {
        address: given.unwrap_or(otherwise),
        is_address_set: given.is_some(),
        max: sources.count_or_none("CONNECTIONS_MAX")?,
        per_address: sources.count_or_none("CONNECTIONS_PER_ADDRESS")?,
        times: Times {
            head: time("HEADER_TIMEOUT")?,
            body: time("BODY_TIMEOUT")?,
            bytes_per_second: sources.number("BODY_MIN_BYTES_PER_SECOND")?,
            idle: time("IDLE_TIMEOUT")?,
            write: time("WRITE_TIMEOUT")?,
        },
        receiving_bytes: sources.count_or_none("RECEIVING_BYTES")?,
    })
}
