//! The settings of a process among others: its name, where others reach it, and the cluster
//! (`config-and-cli.md` §2.6 and §12).

use std::sync::Arc;

use crate::cluster::{NAME_BYTES_MAX, Secret, Settings};
use crate::id;

use super::config::{ConfigError, Sources};

/// The minimum length of the secret of a cluster, in bytes.
const SECRET_BYTES: usize = 32;

/// This process among those that use one database.
#[derive(Debug, Clone)]
pub struct NodeSettings {
    pub name: Arc<str>,
    /// Where other nodes reach it by gRPC, without the port if that is the own one.
    address: String,
}

impl NodeSettings {
    /// Where other nodes reach this one by gRPC; `port` is its own.
    pub fn address(&self, port: u16) -> Arc<str> {
        let has_port = url::Url::parse(&self.address).is_ok_and(|url| url.port().is_some());
        if has_port {
            self.address.as_str().into()
        } else {
            format!("{}:{port}", self.address).into()
        }
    }
}

/// Reads them. `has_tls` says whether the gRPC port uses TLS.
pub(super) fn node(sources: &Sources, has_tls: bool) -> Result<NodeSettings, ConfigError> {
    let named = sources.string("NODE_ID")?;
    let name = if sources.truth("CLUSTER_ENABLED")? {
        named
    } else {
        made_up()
    };
    Ok(NodeSettings {
        name: name.into(),
        address: address(sources, has_tls)?,
    })
}

/// A name that no other process has: nobody is to stop because of it.
fn made_up() -> String {
    let host = hostname::get().unwrap_or_default();
    let chance = hex::encode(&id::secret()[..3]);
    format!("{}-{}-{chance}", host.to_string_lossy(), std::process::id())
}

/// `CYODA_GRPC_NODE_ADDR`, or the host of `CYODA_NODE_ADDR`.
fn address(sources: &Sources, has_tls: bool) -> Result<String, ConfigError> {
    let scheme = if has_tls { "https" } else { "http" };
    let given = sources.read("GRPC_NODE_ADDR", "an address like host:9090", |text| {
        let text = text.trim_end_matches('/');
        let is_address = text.is_empty()
            || url::Url::parse(&with_scheme(text, scheme)).is_ok_and(|url| url.port().is_some());
        is_address.then(|| text.to_owned())
    })?;
    if !given.is_empty() {
        return Ok(with_scheme(&given, scheme));
    }
    let expected = "an address that begins with http:// or https://";
    let host = sources.read("NODE_ADDR", expected, |text| {
        let url = url::Url::parse(text).ok()?;
        let is_web = ["http", "https"].contains(&url.scheme());
        is_web.then(|| url.host_str().map(str::to_owned)).flatten()
    })?;
    Ok(format!("{scheme}://{host}"))
}

fn with_scheme(address: &str, scheme: &str) -> String {
    if address.contains("://") {
        address.to_owned()
    } else {
        format!("{scheme}://{address}")
    }
}

/// The settings of the cluster, if this process is a node of one. Checks what that needs, so that
/// an error in a deployment is reported at once, and warns of an address that leads to each node
/// itself.
pub(super) fn settings(sources: &mut Sources) -> Result<Option<Settings>, ConfigError> {
    let forward_timeout = sources.positive_duration("DISPATCH_FORWARD_TIMEOUT")?;
    let proxy_timeout = sources.positive_duration("PROXY_TIMEOUT")?;
    let secret = secret(&sources.string("HMAC_SECRET")?);
    if !sources.truth("CLUSTER_ENABLED")? {
        return Ok(None);
    }
    let is_shared = sources.choice("STORAGE_BACKEND")? == "postgres";
    let name = sources.string("NODE_ID")?;
    let short = format!("a CYODA_NODE_ID of at most {NAME_BYTES_MAX} bytes");
    let wanting = [
        ("CYODA_NODE_ID, which names this node", name.is_empty()),
        (&short, name.len() > NAME_BYTES_MAX),
        (
            "a CYODA_HMAC_SECRET of 32 bytes or more, such as the 64 digits of `openssl rand -hex 32`",
            secret.len() < SECRET_BYTES,
        ),
        (
            "CYODA_STORAGE_BACKEND=postgres, because nodes share one database",
            !is_shared,
        ),
    ];
    if let Some((what, _)) = wanting.iter().find(|(_, is_wanting)| *is_wanting) {
        return Err(ConfigError::Together(format!(
            "{}=true needs {what}",
            sources.given_as("CLUSTER_ENABLED")
        )));
    }
    if sources.raw("NODE_ADDR").is_none() && sources.string("GRPC_NODE_ADDR")?.is_empty() {
        sources.warnings.push(
            "CYODA_NODE_ADDR is not set, so other nodes reach this one at localhost, which works on one machine only; set it to the address of this node"
                .to_owned(),
        );
    }
    Ok(Some(Settings {
        secret: Secret::new(&secret),
        forward_timeout,
        proxy_timeout,
    }))
}

/// The bytes of a secret: of its hexadecimal digits, or as it is.
fn secret(given: &str) -> Vec<u8> {
    hex::decode(given).unwrap_or_else(|_| given.as_bytes().to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_whose_address_is_not_set_is_warned_of() {
        let cluster = [
            ("CYODA_CLUSTER_ENABLED", "true"),
            ("CYODA_NODE_ID", "a"),
            ("CYODA_HMAC_SECRET", "a secret of at least 32 characters"),
            ("CYODA_STORAGE_BACKEND", "postgres"),
        ];
        for (more, count) in [
            (&[][..], 1),
            (&[("CYODA_NODE_ADDR", "http://a:8080")], 0),
            (&[("INTERLOCK_GRPC_NODE_ADDR", "a:9090")], 0),
            (&[("INTERLOCK_CLUSTER_ENABLED", "false")], 0),
        ] {
            let given = cluster.iter().chain(more);
            let given = given.map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
            let mut sources = Sources {
                sources: vec![given.collect()],
                warnings: Vec::new(),
            };
            settings(&mut sources).expect("valid");
            assert_eq!(sources.warnings.len(), count, "{:?}", sources.warnings);
        }
        for (name, fits) in [
            ("a".repeat(NAME_BYTES_MAX), true),
            ("a".repeat(NAME_BYTES_MAX + 1), false),
        ] {
            let given = cluster.map(|(name, value)| (name.to_owned(), value.to_owned()));
            let mut given: std::collections::HashMap<_, _> = given.into_iter().collect();
            given.insert("CYODA_NODE_ID".to_owned(), name);
            let mut sources = Sources {
                sources: vec![given.into_iter().collect()],
                warnings: Vec::new(),
            };
            assert_eq!(settings(&mut sources).is_ok(), fits);
        }
    }
}
