//! What can be said about a configuration without contacting anything.

use url::Host;

use super::{Config, Settings, Trust, database, email, http};
use crate::id::Tenant;
use crate::outgoing::{Reach, Tls, is_local_name, is_public};

/// The setting that allows more, as a hint.
const PRIVATE: &str = "INTERLOCK_CONNECTORS_PRIVATE_NETWORKS=true allows it";

pub(super) fn check(
    tenant: &Tenant,
    config: &Config,
    trust: Trust,
    settings: &Settings,
) -> Result<(), Vec<String>> {
    let mut wrong = Vec::new();
    let mut note = |result: Result<(), String>| wrong.extend(result.err());
    let reach = settings.reach(trust);
    match config {
        Config::Http(config) => {
            let url = http::base_url(&config.base_url);
            note(url.and_then(|url| match url.host() {
                Some(host) => host_allowed(&host, reach),
                None => Ok(()),
            }));
            note(http::headers(config).map(|_| ()));
            note(authorities(config.tls_ca.as_deref(), trust).map(|_| ()));
        }
        Config::Database(config) => {
            if let Some(host) = &config.host {
                note(parse_host(host).and_then(|host| host_allowed(&host, reach)));
            }
            note(authorities(config.tls_ca.as_deref(), trust).map(|_| ()));
            note(database::check(tenant, config, trust, settings));
        }
        Config::Email(config) => {
            note(parse_host(&config.host).and_then(|host| host_allowed(&host, reach)));
            note(authorities(config.tls_ca.as_deref(), trust).map(|_| ()));
            note(email::check(config));
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

/// Whether a host may be contacted, as far as its text shows.
fn host_allowed(host: &Host<&str>, reach: Reach) -> Result<(), String> {
    if reach == Reach::Everything {
        return Ok(());
    }
    let is_private = match host {
        Host::Domain(_) => is_local_name(host),
        Host::Ipv4(address) => !is_public((*address).into()),
        Host::Ipv6(address) => !is_public((*address).into()),
    };
    if is_private {
        return Err(format!(
            "`{host}` is on this machine or on a private network ({PRIVATE})"
        ));
    }
    Ok(())
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

/// The same as text.
pub(super) fn authorities_text(given: &str, trust: Trust) -> Result<String, String> {
    if given.contains("-----BEGIN") {
        return Ok(given.to_owned());
    }
    if trust == Trust::Uploaded {
        return Err("`tls_ca` must be certificates in PEM form".to_owned());
    }
    std::fs::read_to_string(given).map_err(|error| format!("`tls_ca`: {given}: {error}"))
}
