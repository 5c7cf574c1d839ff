//! How the certificates of other systems are verified.

use std::{
    fmt,
    sync::{Arc, OnceLock},
};

use tokio_rustls::{
    TlsConnector,
    rustls::{
        ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme,
        client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
        crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature},
        pki_types::{CertificateDer, ServerName, UnixTime, pem::PemObject as _},
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

    /// Trusts every certificate: what is sent is encrypted, for whoever answers. None if the library
    /// has no version of TLS.
    pub fn unverified() -> Option<Self> {
        static TLS: OnceLock<Option<Tls>> = OnceLock::new();
        let made = TLS.get_or_init(|| {
            let provider = Arc::new(ring::default_provider());
            let config = ClientConfig::builder_with_provider(Arc::clone(&provider))
                .with_safe_default_protocol_versions()
                .ok()?
                .dangerous()
                .with_custom_certificate_verifier(Arc::new(Unverified(provider)))
                .with_no_client_auth();
            Some(Self(TlsConnector::from(Arc::new(config))))
        });
        made.clone()
    }

    pub(super) const fn connector(&self) -> &TlsConnector {
        &self.0
    }
}

/// Verifies no certificate, only that the server has its key.
#[derive(Debug)]
struct Unverified(Arc<CryptoProvider>);

impl ServerCertVerifier for Unverified {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signed, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signed, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
