//! Where the server of a database is, and how it is connected to.

use std::time::Duration;

use super::link::Fault;
use crate::connector::{Database, DatabaseTls, Secret, Settings, Trust, check};
use crate::outgoing::{Reach, addresses};

/// A database server.
#[derive(Debug)]
pub(super) struct Server {
    host: Box<str>,
    pub(super) port: Option<u16>,
    pub(super) database: Box<str>,
    pub(super) user: Box<str>,
    pub(super) password: Option<Secret>,
    tls: DatabaseTls,
    authorities: Option<String>,
    reach: Reach,
    /// The time limit of one statement.
    pub(super) limit: Duration,
}

/// How a connection is secured.
#[derive(Debug, Clone, Copy)]
pub(super) enum Security<'a> {
    None,
    Prefer,
    Require,
    /// The certificate is of one of these authorities.
    VerifyAuthority(&'a str),
    /// The certificate is of one of these authorities, and for the name of the server.
    Verify(&'a str),
}

impl Security<'_> {
    pub(super) const fn authorities(&self) -> Option<&str> {
        match self {
            Self::None | Self::Prefer | Self::Require => None,
            Self::VerifyAuthority(text) | Self::Verify(text) => Some(text),
        }
    }
}

impl Server {
    pub(super) fn new(
        config: &Database,
        trust: Trust,
        settings: &Settings,
    ) -> Result<Self, String> {
        let host = config.host.as_deref().unwrap_or("localhost");
        check::parse_host(host)?;
        let authorities = config.tls_ca.as_deref();
        let authorities = authorities.map(|given| check::authorities_text(given, trust));
        let user = config.user.as_deref();
        Ok(Self {
            host: host.into(),
            port: config.port,
            database: config.database.clone(),
            user: user.ok_or("`user` is missing")?.into(),
            password: config.password.clone(),
            tls: config.tls,
            authorities: authorities.transpose()?,
            reach: settings.reach(trust),
            limit: config.timeout.unwrap_or(settings.timeout),
        })
    }

    /// The name of the server; where addresses are limited, one that was checked, which is not
    /// resolved again.
    pub(super) async fn place(&self) -> Result<String, Fault> {
        let gone = |reason: String| Fault::Gone(reason);
        if self.reach == Reach::Everything {
            return Ok(self.host.to_string());
        }
        let host = check::parse_host(&self.host).map_err(gone)?;
        let found = addresses(&host, self.port.unwrap_or(0), self.reach).await;
        let found = found.map_err(|error| gone(error.to_string()))?;
        let first = found.first().map(|address| address.ip().to_string());
        first.ok_or_else(|| gone(format!("`{}` has no address", self.host)))
    }

    pub(super) fn security(&self) -> Security<'_> {
        match (self.tls, &self.authorities) {
            (DatabaseTls::None, _) => Security::None,
            (DatabaseTls::Prefer, None) => Security::Prefer,
            (DatabaseTls::Require, None) => Security::Require,
            // By its address, the name cannot be compared.
            (_, Some(text)) if self.reach == Reach::PublicInternet => {
                Security::VerifyAuthority(text)
            }
            (_, Some(text)) => Security::Verify(text),
        }
    }
}
