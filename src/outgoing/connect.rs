//! Connects to a host, at an address that may be contacted.

use std::{
    net::{IpAddr, SocketAddr},
    time::Duration,
};

use futures_util::{FutureExt as _, future::select_ok};
use tokio::{
    net::{TcpStream, lookup_host},
    time::sleep,
};
use tokio_rustls::{client::TlsStream, rustls::pki_types::ServerName};
use tokio_util::either::Either;
use url::Host;

use super::{
    Reach, Tls, Unreachable,
    address::{is_local_name, is_public},
};

/// How many addresses of a name are tried, and the delay between them (RFC 8305).
const ADDRESSES_MAX: usize = 8;
const NEXT_ADDRESS_AFTER: Duration = Duration::from_millis(250);

/// A connection, with TLS or without.
pub type Connection = Either<TcpStream, Box<TlsStream<TcpStream>>>;

/// The addresses to connect to. If one of them is not allowed, none is: a name with public and
/// internal addresses is suspicious.
///
/// # Errors
/// No address, or one that may not be contacted.
pub async fn addresses(
    host: &Host<&str>,
    port: u16,
    reach: Reach,
) -> Result<Vec<SocketAddr>, Unreachable> {
    let is_limited = reach == Reach::PublicInternet;
    if is_limited && is_local_name(host) {
        return Err(Unreachable::Local(host.to_string()));
    }
    let mut found: Vec<SocketAddr> = match host {
        Host::Ipv4(address) => vec![(*address, port).into()],
        Host::Ipv6(address) => vec![(*address, port).into()],
        Host::Domain(name) => lookup_host((*name, port))
            .await
            .map_err(|_| Unreachable::Unresolved((*name).to_owned()))?
            .collect(),
    };
    let host = host.to_string();
    if is_limited && found.iter().any(|found| !is_public(found.ip())) {
        return Err(Unreachable::Blocked(host));
    }
    found.truncate(ADDRESSES_MAX);
    if found.is_empty() {
        return Err(Unreachable::Unresolved(host));
    }
    Ok(found)
}

/// Connects to the first address that accepts.
///
/// # Errors
/// None of them did.
pub async fn connect(addresses: Vec<SocketAddr>) -> Result<TcpStream, Unreachable> {
    let attempts = addresses.into_iter().zip(0..).map(|(address, nth)| {
        async move {
            sleep(NEXT_ADDRESS_AFTER * nth).await;
            TcpStream::connect(address).await
        }
        .boxed()
    });
    let (stream, _) = select_ok(attempts).await.map_err(unconnected)?;
    // An exchange is one message in each direction, which must not wait for an acknowledgement.
    stream.set_nodelay(true).map_err(unconnected)?;
    Ok(stream)
}

/// Makes a connection secure; the certificate must be for the host.
///
/// # Errors
/// The handshake failed.
pub async fn secure(
    stream: TcpStream,
    host: &Host<&str>,
    tls: &Tls,
) -> Result<Connection, Unreachable> {
    let name = match host {
        Host::Ipv4(address) => ServerName::from(IpAddr::V4(*address)),
        Host::Ipv6(address) => ServerName::from(IpAddr::V6(*address)),
        Host::Domain(name) => ServerName::try_from((*name).to_owned())
            .map_err(|_| Unreachable::Unresolved((*name).to_owned()))?,
    };
    let stream = tls.connector().connect(name, stream).await;
    Ok(Either::Right(Box::new(stream.map_err(unconnected)?)))
}

#[expect(clippy::needless_pass_by_value, reason = "for map_err")]
fn unconnected(error: std::io::Error) -> Unreachable {
    Unreachable::Unconnected(error.to_string())
}
