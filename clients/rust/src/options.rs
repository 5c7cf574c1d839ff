//! How a server is reached.

use std::{collections::BTreeMap, fmt, sync::Arc, time::Duration};

use tokio_rustls::rustls::pki_types::{CertificateDer, pem::PemObject as _};
use tonic::transport::{Certificate, ClientTlsConfig, Endpoint, Identity};

use crate::{Code, Error, Result, credentials::TokenSource};

/// How a server is reached, and how a caller authenticates.
///
/// ```
/// use interlock_client::{Client, ConnectOptions};
///
/// # async fn connect() -> interlock_client::Result<()> {
/// let options = ConnectOptions::new("interlock.example.com:443")
///     .tls()
///     .token("…")
///     .in_flight(64);
/// let client = Client::new(options)?;
/// # Ok(())
/// # }
/// ```
///
/// Where only the address matters, a text will do: `Client::new("localhost:9090")`.
#[derive(Clone)]
pub struct ConnectOptions {
    pub(crate) target: String,
    pub(crate) in_flight: usize,
    pub(crate) message_bytes_max: usize,
    pub(crate) connect_timeout: Duration,
    pub(crate) metadata: BTreeMap<String, String>,
    pub(crate) tokens: Option<Arc<dyn TokenSource>>,
    tls: Option<ClientTlsConfig>,
    /// What cannot be used of the options.
    problem: Option<&'static str>,
}

impl ConnectOptions {
    /// The server whose gRPC port is at the target, `host:port`.
    pub fn new(target: impl Into<String>) -> Self {
        Self {
            target: target.into(),
            in_flight: 256,
            message_bytes_max: 16 << 20,
            connect_timeout: Duration::from_secs(10),
            metadata: BTreeMap::new(),
            tokens: None,
            tls: None,
            problem: None,
        }
    }

    /// How many requests may be unanswered; further ones wait. 256, if it is not set, which is how
    /// many of one stream a server works on at once. Requests in the transaction of a call are not
    /// counted. With 0, the client or the member is refused with `INVALID_OPTIONS`.
    #[must_use]
    pub fn in_flight(mut self, requests: usize) -> Self {
        self.in_flight = requests;
        self.check(requests > 0, "in_flight is 0; use 1 or more");
        self
    }

    /// Takes note of what cannot be used.
    pub(crate) fn check(&mut self, holds: bool, problem: &'static str) {
        if !holds {
            self.problem = Some(problem);
        }
    }

    /// The size of the largest message that is sent at all: 16 MiB, if it is not set. A server
    /// ends the whole stream for one that is too large for it.
    #[must_use]
    pub fn message_bytes_max(mut self, bytes: usize) -> Self {
        self.message_bytes_max = bytes;
        self
    }

    /// How long a request waits for a connection: 10 s, if it is not set.
    #[must_use]
    pub fn connect_timeout(mut self, timeout: Duration) -> Self {
        self.connect_timeout = timeout;
        self
    }

    /// Adds gRPC metadata that is sent when a stream is opened.
    #[must_use]
    pub fn metadata(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.metadata.insert(key.into(), value.into());
        self
    }

    /// Authenticates with a token that does not change.
    #[must_use]
    pub fn token(self, token: impl Into<String>) -> Self {
        self.token_source(token.into())
    }

    /// Authenticates with the token of the source, which is asked for every stream that is opened.
    /// [`ClientCredentials`](crate::ClientCredentials) is one that obtains tokens by itself.
    #[must_use]
    pub fn token_source(mut self, tokens: impl TokenSource) -> Self {
        self.tokens = Some(Arc::new(tokens));
        self
    }

    /// Encrypts the connection, and trusts the authorities that the system trusts.
    #[must_use]
    pub fn tls(mut self) -> Self {
        let tls = self.tls.take().unwrap_or_default();
        self.tls = Some(tls.with_native_roots());
        self
    }

    /// Encrypts the connection, and trusts this authority, a certificate in PEM.
    #[must_use]
    pub fn certificate_authority(mut self, pem: impl AsRef<[u8]>) -> Self {
        let mut found = CertificateDer::pem_slice_iter(pem.as_ref()).peekable();
        if found.peek().is_none_or(std::result::Result::is_err) {
            self.problem = Some("the certificate authority is not a certificate in PEM");
        }
        let tls = self.tls.take().unwrap_or_default();
        self.tls = Some(tls.ca_certificate(Certificate::from_pem(pem)));
        self
    }

    /// Encrypts the connection, and authenticates with a certificate and its key, both in PEM.
    #[must_use]
    pub fn client_certificate(
        mut self,
        certificate: impl AsRef<[u8]>,
        key: impl AsRef<[u8]>,
    ) -> Self {
        let tls = self.tls.take().unwrap_or_default();
        self.tls = Some(tls.identity(Identity::from_pem(certificate, key)));
        self
    }

    /// Encrypts the connection, and expects the certificate of the server to be for this name
    /// rather than for that of the target.
    #[must_use]
    pub fn server_name(mut self, name: impl Into<String>) -> Self {
        let tls = self.tls.take().unwrap_or_default();
        self.tls = Some(tls.domain_name(name));
        self
    }

    pub(crate) fn endpoint(&self) -> Result<Endpoint> {
        if let Some(problem) = self.problem {
            return Err(Error::new(Code::InvalidOptions, problem));
        }
        // Otherwise the scheme would become the name of the host, which nobody finds.
        if self.target.contains("://") {
            let message = format!(
                "`{}` is a URL; the target is host:port of the gRPC port, such as localhost:9090, and \
                 TLS is enabled by `tls`",
                self.target
            );
            return Err(Error::new(Code::InvalidOptions, message));
        }
        if !has_host_and_port(&self.target) {
            let message = format!(
                "`{}` is not host:port of the gRPC port, such as localhost:9090 or [::1]:9090",
                self.target
            );
            return Err(Error::new(Code::InvalidOptions, message));
        }
        let invalid = |source: tonic::transport::Error| {
            let message = format!("cannot connect to `{}`", self.target);
            Error::caused(Code::InvalidOptions, message, source)
        };
        let scheme = if self.tls.is_some() { "https" } else { "http" };
        let endpoint = Endpoint::from_shared(format!("{scheme}://{}", self.target))
            .map_err(invalid)?
            .connect_timeout(Duration::from_secs(5))
            // A server that has vanished is noticed within 30 s.
            .http2_keep_alive_interval(Duration::from_secs(20))
            .keep_alive_timeout(Duration::from_secs(10))
            .keep_alive_while_idle(true)
            .initial_stream_window_size(1 << 20)
            .initial_connection_window_size(2 << 20)
            .user_agent(concat!("interlock-rust/", env!("CARGO_PKG_VERSION")))
            .map_err(invalid)?;
        match &self.tls {
            Some(tls) => endpoint.tls_config(tls.clone()).map_err(invalid),
            None => Ok(endpoint),
        }
    }
}

fn has_host_and_port(target: &str) -> bool {
    let Some((host, port)) = target.rsplit_once(':') else {
        return false;
    };
    let is_host = !host.is_empty() && (!host.contains(':') || host.starts_with('['));
    is_host && port.parse::<u16>().is_ok_and(|port| port > 0)
}

impl From<&str> for ConnectOptions {
    fn from(target: &str) -> Self {
        Self::new(target)
    }
}

impl From<String> for ConnectOptions {
    fn from(target: String) -> Self {
        Self::new(target)
    }
}

impl From<&String> for ConnectOptions {
    fn from(target: &String) -> Self {
        Self::new(target)
    }
}

impl fmt::Debug for ConnectOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Neither tokens nor keys, nor metadata, which may contain them.
        f.debug_struct("ConnectOptions")
            .field("target", &self.target)
            .field("in_flight", &self.in_flight)
            .field("message_bytes_max", &self.message_bytes_max)
            .field("connect_timeout", &self.connect_timeout)
            .field("tls", &self.tls.is_some())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_used_is_refused() {
        for target in [
            "",
            "localhost",
            "localhost:",
            ":9090",
            "localhost:0",
            "localhost:99999",
            "::1:9090",
        ] {
            let error = ConnectOptions::new(target).endpoint().expect_err(target);
            assert_eq!(*error.code(), Code::InvalidOptions, "{error}");
        }
        for target in ["localhost:9090", "[::1]:9090"] {
            ConnectOptions::new(target).endpoint().expect(target);
        }
        let none = ConnectOptions::new("localhost:9090").in_flight(0);
        let error = none.endpoint().expect_err("no room");
        assert_eq!(*error.code(), Code::InvalidOptions, "{error}");
    }
}
