//! What can be said about a configuration without contacting anything.

use url::Host;

use super::{Config, DatabaseTls, Driver, Settings, SmtpTls, Trust, database, email, http};
use crate::id::Tenant;
use crate::outgoing::{Reach, Tls, is_local_name, is_public};

/// The setting that allows more, as a hint.
const PRIVATE: &str = "INTERLOCK_CONNECTORS_PRIVATE_NETWORKS=true allows it";

/// Where a database server is whose configuration has no host.
pub(super) const HOST: &str = "localhost";

/// What is wrong with a configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wrong {
    /// A value makes no sense.
    Value(String),
    /// The settings do not allow it.
    Forbidden(String),
}

pub(super) fn check(
    tenant: &Tenant,
    config: &Config,
    trust: Trust,
    settings: &Settings,
) -> Result<(), Vec<Wrong>> {
    let mut wrong = Vec::new();
    let mut note = |result: Result<(), Wrong>| wrong.extend(result.err());
    let reach = settings.reach(trust);
    match config {
        Config::Http(config) => {
            let url = http::base_url(&config.base_url).map_err(Wrong::Value);
            let is_encrypted = url.as_ref().map_or(true, |url| url.scheme() == "https");
            note(url.and_then(|url| match url.host() {
                Some(host) => host_allowed(&host, reach),
                None => Ok(()),
            }));
            note(http::headers(config).map(|_| ()).map_err(Wrong::Value));
            let given = config.tls_ca.as_deref();
            note(authorities_allowed(given, is_encrypted, trust));
        }
        Config::Database(config) => {
            match (&config.host, config.driver) {
                (Some(host), _) => note(named_host_allowed(host, reach)),
                (None, Driver::Postgres | Driver::Mysql) => {
                    note(named_host_allowed(HOST, reach));
                }
                (None, Driver::Sqlite) => {}
            }
            let (given, is_encrypted) = (config.tls_ca.as_deref(), config.tls != DatabaseTls::None);
            note(authorities_allowed(given, is_encrypted, trust));
            let found = database::check(tenant, config, trust, settings);
            note(found.map_err(match config.driver {
                Driver::Sqlite => Wrong::Forbidden,
                Driver::Postgres | Driver::Mysql => Wrong::Value,
            }));
        }
        Config::Email(config) => {
            note(named_host_allowed(&config.host, reach));
            let (given, is_encrypted) = (config.tls_ca.as_deref(), config.tls != SmtpTls::None);
            note(authorities_allowed(given, is_encrypted, trust));
            note(email::check(config).map_err(Wrong::Value));
        }
        Config::Rest | Config::Entity | Config::Member => {}
    }
    if wrong.is_empty() { Ok(()) } else { Err(wrong) }
}

/// A name or an address, however it is written.
pub(super) fn parse_host(text: &str) -> Result<Host<&str>, String> {
    let invalid = || format!("`{text}` is not a valid host");
    if let Ok(address) = text.parse::<std::net::IpAddr>() {
        return Ok(match address {
            std::net::IpAddr::V4(address) => Host::Ipv4(address),
            std::net::IpAddr::V6(address) => Host::Ipv6(address),
        });
    }
    match Host::parse(text).map_err(|_| invalid())? {
        Host::Domain(name) if name.is_empty() => Err(invalid()),
        Host::Domain(_) => Ok(Host::Domain(text)),
        Host::Ipv4(address) => Ok(Host::Ipv4(address)),
        Host::Ipv6(address) => Ok(Host::Ipv6(address)),
    }
}

fn named_host_allowed(text: &str, reach: Reach) -> Result<(), Wrong> {
    let host = parse_host(text).map_err(Wrong::Value)?;
    host_allowed(&host, reach)
}

/// Whether a host may be contacted, as far as its text shows.
fn host_allowed(host: &Host<&str>, reach: Reach) -> Result<(), Wrong> {
    if reach == Reach::Everything {
        return Ok(());
    }
    let is_private = match host {
        Host::Domain(_) => is_local_name(host),
        Host::Ipv4(address) => !is_public((*address).into()),
        Host::Ipv6(address) => !is_public((*address).into()),
    };
    if is_private {
        return Err(Wrong::Forbidden(format!(
            "`{host}` is on this machine or on a private network ({PRIVATE})"
        )));
    }
    Ok(())
}

/// Authorities of a connection that is not encrypted would protect it in appearance only.
fn authorities_allowed(given: Option<&str>, is_encrypted: bool, trust: Trust) -> Result<(), Wrong> {
    if given.is_some() && !is_encrypted {
        let message = "`tls_ca` has no effect, because connections are not encrypted; use TLS, or \
                       remove it";
        return Err(Wrong::Value(message.to_owned()));
    }
    authorities(given, trust).map(|_| ()).map_err(Wrong::Value)
}

/// The authorities of `tls_ca`: certificates, or a file of the operator's.
pub(super) fn authorities(given: Option<&str>, trust: Trust) -> Result<Option<Tls>, String> {
    let Some(given) = given else {
        return Ok(None);
    };
    let text = authorities_text(given, trust)?;
    let tls = Tls::trusting(&text).map_err(|error| format!("`tls_ca`: {error}"))?;
    Ok(Some(tls))
}

/// The text of the authorities that `tls_ca` names, in PEM form.
pub(super) fn authorities_text(given: &str, trust: Trust) -> Result<String, String> {
    if given.contains("-----BEGIN") {
        return Ok(given.to_owned());
    }
    if trust == Trust::Uploaded {
        return Err("`tls_ca` must be certificates in PEM form".to_owned());
    }
    std::fs::read_to_string(given).map_err(|error| format!("`tls_ca`: {given}: {error}"))
}
