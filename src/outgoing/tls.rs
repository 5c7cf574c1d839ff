//! How the certificates of other systems are verified.

use std::{
    fmt,
    sync::{Arc, OnceLock},
};

use tokio_rustls::{
    TlsConnector,
    rustls::{
        ClientConfig, RootCertStore,
        crypto::ring,
        pki_types::{CertificateDer, pem::PemObject as _},
    },
};

use super::Unreachable;

/// The authorities that are trusted. Cheap to clone.
#[derive(Clone)]
pub struct Tls(TlsConnector);

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Tls")
    }
}

/// Why a text does not name authorities.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("it is not a list of certificates in PEM form")]
pub struct BadAuthorities;

impl Tls {
    /// Trusts the authorities of the machine, or those of `SSL_CERT_FILE`. They are read once.
    ///
    /// # Errors
    /// There are none.
    pub fn of_this_machine() -> Result<Self, Unreachable> {
        static TLS: OnceLock<Option<Tls>> = OnceLock::new();
        let found = TLS.get_or_init(|| {
            let found = rustls_native_certs::load_native_certs();
            Self::of(found.certs)
        });
        found.clone().ok_or(Unreachable::NoRoots)
    }

    /// Trusts these authorities, and no others.
    ///
    /// # Errors
    /// The text is not a list of certificates.
    pub fn trusting(pem: &str) -> Result<Self, BadAuthorities> {
        let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem.as_bytes()).collect();
        Self::of(found.map_err(|_| BadAuthorities)?).ok_or(BadAuthorities)
    }

    fn of(authorities: Vec<CertificateDer<'static>>) -> Option<Self> {
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(authorities);
        if roots.is_empty() {
            return None;
        }
        let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .ok()?
            .with_root_certificates(roots)
            .with_no_client_auth();
        Some(Self(TlsConnector::from(Arc::new(config))))
    }

    pub(super) const fn connector(&self) -> &TlsConnector {
        &self.0
    }
}
