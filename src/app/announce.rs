//! What the log says once the service is ready.

use tracing::{info, warn};

use super::{config::Config, listen::Listeners, tls::Tls};
use crate::auth::Authenticator;

pub(super) fn announce(config: &Config, listeners: &Listeners, tls: Option<&Tls>) {
    if let Some(tls) = tls {
        let clients = if tls.asks_clients() {
            "with certificates"
        } else {
            "any"
        };
        info!(clients, "REST and gRPC use TLS");
    }
    match &config.authenticator {
        Authenticator::Mock(_) if config.banner => {
            warn!(
                "authentication is mocked: all callers are the same user; do not expose this service"
            );
        }
        Authenticator::Mock(_) | Authenticator::Tokens(_) => {}
        Authenticator::MockChosen(_) => {
            warn!(
                "authentication is mocked: callers choose their identity (INTERLOCK_IAM_MOCK_CALLER); do not expose this service"
            );
        }
    }
    let is_address_set = config.connections.is_address_set;
    if !config.authenticator.is_mocked() && !is_address_set && tls.is_none() {
        warn!(
            "REST and gRPC listen on all addresses without TLS, so tokens and secrets cross the network in plain text; set INTERLOCK_TLS_CERT_FILE and INTERLOCK_TLS_KEY_FILE, or INTERLOCK_BIND_ADDRESS to the address that a proxy with TLS connects to"
        );
    }
    if config.authenticator.is_mocked() && !is_address_set {
        info!(
            address = %config.connections.address,
            "authentication is mocked, so REST and gRPC listen on this machine only; set INTERLOCK_BIND_ADDRESS to listen elsewhere"
        );
    }
    info!(
        http = %listeners.http_address(),
        grpc = %listeners.grpc_address(),
        admin = %listeners.admin_address(),
        context = %config.context_path,
        storage = %config.storage.place,
        version = env!("CARGO_PKG_VERSION"),
        "interlock is ready"
    );
}
