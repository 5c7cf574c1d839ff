//! Where the server of a database is, and how it is connected to.

use std::time::Duration;

use tokio::net::TcpStream;

use super::{frames::Broken, link::Fault};
use crate::connector::{Database, DatabaseTls, Secret, Settings, Trust, check};
use crate::outgoing::{Connection, Reach, Tls, addresses, connect, secure};

/// A database server.
#[derive(Debug)]
pub(super) struct Server {
    host: Box<str>,
    port: u16,
    pub(super) database: Box<str>,
    pub(super) user: Box<str>,
    pub(super) password: Option<Secret>,
    tls: DatabaseTls,
    authorities: Option<Tls>,
    reach: Reach,
    /// The time limit of one statement.
    pub(super) limit: Duration,
}

/// How a connection is secured.
#[derive(Debug)]
pub(super) struct Security<'a> {
    /// Whether there is no connection without TLS.
    pub(super) is_required: bool,
    /// Whose certificates are trusted, for the name of the server; without them it is not verified.
    authorities: Option<&'a Tls>,
}

impl Security<'_> {
    /// Whether the server has to have a certificate of its name.
    pub(super) const fn is_verified(&self) -> bool {
        self.authorities.is_some()
    }
}

#[cfg(test)]
impl<'a> Security<'a> {
    pub(super) const fn required(authorities: Option<&'a Tls>) -> Self {
        Self {
            is_required: true,
            authorities,
        }
    }
}

impl Server {
    pub(super) fn new(
        config: &Database,
        usual_port: u16,
        trust: Trust,
        settings: &Settings,
    ) -> Result<Self, String> {
        let host = config.host.as_deref().unwrap_or(check::HOST);
        check::parse_host(host)?;
        let user = config.user.as_deref();
        Ok(Self {
            host: host.into(),
            port: config.port.unwrap_or(usual_port),
            database: config.database.clone(),
            user: user.ok_or("`user` is missing")?.into(),
            password: config.password.clone(),
            tls: config.tls,
            authorities: check::authorities(config.tls_ca.as_deref(), trust)?,
            reach: settings.reach(trust),
            limit: config.timeout.unwrap_or(settings.timeout),
        })
    }

    /// A connection to it, at an address that was checked where addresses are limited.
    pub(super) async fn connected(&self) -> Result<TcpStream, Fault> {
        let host = check::parse_host(&self.host).map_err(Fault::Gone)?;
        let connected = async { connect(addresses(&host, self.port, self.reach).await?).await };
        connected
            .await
            .map_err(|error| Fault::Gone(error.to_string()))
    }

    /// How connections to it are secured; none if they are not.
    pub(super) const fn security(&self) -> Option<Security<'_>> {
        let is_required = match self.tls {
            DatabaseTls::None => return None,
            DatabaseTls::Prefer => self.authorities.is_some(),
            DatabaseTls::Require => true,
        };
        Some(Security {
            is_required,
            authorities: self.authorities.as_ref(),
        })
    }

    /// Makes a connection to it secure.
    pub(super) async fn secured(
        &self,
        stream: TcpStream,
        security: Security<'_>,
    ) -> Result<Connection, Broken> {
        let host = check::parse_host(&self.host).map_err(Broken::Other)?;
        let tls = security.authorities.cloned().or_else(Tls::unverified);
        let tls = tls.ok_or_else(|| Broken::Other("there is no TLS".to_owned()))?;
        let secured = secure(stream, &host, &tls).await;
        secured.map_err(|error| Broken::Other(error.to_string()))
    }
}
