//! The TLS configuration of listeners: files, read at the start and again when they change.

use std::{fmt, path::PathBuf, sync::Arc, time::Duration};

use tokio::{
    sync::watch,
    task::block_in_place,
    time::{self, MissedTickBehavior},
};
use tokio_rustls::rustls::{
    self, CertificateError, RootCertStore, ServerConfig,
    client::verify_server_cert_signed_by_trust_anchor,
    crypto::ring,
    pki_types::{
        CertificateDer, PrivateKeyDer, UnixTime,
        pem::{self, PemObject as _},
    },
    server::{ParsedCertificate, WebPkiClientVerifier},
};
use tokio_util::sync::CancellationToken;
use tonic::transport::{Certificate, ClientTlsConfig, Identity};
use tracing::{error, info, warn};

use super::config::{ConfigError, Sources};

/// How often the files are checked. Files that are being written are ignored until they have been
/// the same twice.
const INTERVAL: Duration = Duration::from_secs(1);

/// The configured files.
#[derive(Debug, Clone)]
pub struct Files {
    /// The certificate of the service, followed by its chain.
    pub certificate: File,
    key: File,
    /// The authorities of client certificates, which are required if this is set.
    authorities: Option<File>,
}

impl Files {
    /// How a node reaches the others: it presents the certificate of the service, and trusts the
    /// certificates in its file and the authorities of client certificates. Without such
    /// authorities it trusts those of the machine, too.
    pub(super) fn between_nodes(&self) -> Result<ClientTlsConfig, Error> {
        let certificate = self.certificate.read_certificates()?;
        let key = self.key.read_key()?;
        let tls = ClientTlsConfig::new()
            .ca_certificate(Certificate::from_pem(&certificate))
            .identity(Identity::from_pem(&certificate, key));
        Ok(match &self.authorities {
            Some(authorities) => {
                let authorities = authorities.read_certificates()?;
                tls.ca_certificate(Certificate::from_pem(authorities))
            }
            None => tls.with_native_roots(),
        })
    }
}

/// A file named by a setting.
#[derive(Debug, Clone)]
pub struct File {
    setting: String,
    path: PathBuf,
}

impl File {
    pub fn new(setting: impl Into<String>, path: impl Into<PathBuf>) -> Self {
        Self {
            setting: setting.into(),
            path: path.into(),
        }
    }

    fn read(&self) -> Result<Vec<u8>, Error> {
        std::fs::read(&self.path).map_err(|error| Error::Unreadable(self.to_string(), error))
    }

    /// The certificates in the file, for a client to trust.
    pub fn read_certificates(&self) -> Result<Vec<u8>, Error> {
        let text = self.read()?;
        certificates(&text, self).map(|_| text)
    }

    /// The private key in the file.
    pub fn read_key(&self) -> Result<Vec<u8>, Error> {
        let text = self.read()?;
        key(&text, self).map(|_| text)
    }
}

impl fmt::Display for File {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.setting, self.path.display())
    }
}

/// Why files cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("{0} cannot be read; name a file that this process may read")]
    Unreadable(String, #[source] std::io::Error),
    #[error("{0} is not a PEM file: {1:?}; name a file that begins with -----BEGIN")]
    NoPem(String, pem::Error),
    #[error(
        "{0} contains no certificate; it must be a PEM file with the certificate of the service first, then its chain"
    )]
    NoCertificate(String),
    #[error(
        "{0} contains no private key; it must be a PEM file (PKCS #8, PKCS #1 or SEC 1) without a passphrase"
    )]
    NoKey(String),
    #[error("{0} contains a certificate that cannot verify clients; create it again")]
    NoAuthority(String, #[source] rustls::Error),
    #[error(
        "{certificate} and {key} cannot be used together; the key must belong to the certificate"
    )]
    Unfit {
        certificate: String,
        key: String,
        #[source]
        source: rustls::Error,
    },
    #[error("TLS cannot be set up")]
    Setup(#[source] rustls::Error),
}

/// The TLS files; none if TLS is disabled.
pub(super) fn files(sources: &Sources) -> Result<Option<Files>, ConfigError> {
    let file = |name| -> Result<Option<File>, ConfigError> {
        let path = sources.string(name)?;
        Ok((!path.is_empty()).then(|| File::new(sources.given_as(name), path)))
    };
    let wanting = |given: &File, what| {
        Err(ConfigError::Together(format!(
            "{given} needs {what}; set both or neither"
        )))
    };
    let authorities = file("TLS_CLIENT_CA_FILE")?;
    match (file("TLS_CERT_FILE")?, file("TLS_KEY_FILE")?, authorities) {
        (Some(certificate), Some(key), authorities) => Ok(Some(Files {
            certificate,
            key,
            authorities,
        })),
        (Some(given), None, _) => wanting(
            &given,
            "INTERLOCK_TLS_KEY_FILE, the private key of that certificate",
        ),
        (None, Some(given), _) => wanting(
            &given,
            "INTERLOCK_TLS_CERT_FILE, the certificate of that private key",
        ),
        (None, None, Some(given)) => wanting(
            &given,
            "INTERLOCK_TLS_CERT_FILE and INTERLOCK_TLS_KEY_FILE, which enable TLS",
        ),
        (None, None, None) => Ok(None),
    }
}

/// The protocol inside TLS, which both sides negotiate in the handshake.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Protocol {
    Http1,
    Http2,
}

/// The present TLS configuration of the listeners.
#[derive(Debug, Clone)]
pub(super) struct Spoken {
    http1: Arc<ServerConfig>,
    http2: Arc<ServerConfig>,
}

impl Spoken {
    pub(super) fn with(&self, protocol: Protocol) -> Arc<ServerConfig> {
        Arc::clone(match protocol {
            Protocol::Http1 => &self.http1,
            Protocol::Http2 => &self.http2,
        })
    }
}

/// Reads the files, and rereads them.
pub(super) struct Tls {
    files: Files,
    /// What was read last, whether or not it could be used; none if it could not be read.
    tried: Option<Contents>,
    spoken: watch::Sender<Spoken>,
}

impl Tls {
    pub(super) fn load(files: Files) -> Result<Self, Error> {
        let contents = Contents::read(&files)?;
        let spoken = contents.spoken(&files)?;
        contents.check_times(&files);
        Ok(Self {
            files,
            tried: Some(contents),
            spoken: watch::Sender::new(spoken),
        })
    }

    pub(super) fn spoken(&self) -> watch::Receiver<Spoken> {
        self.spoken.subscribe()
    }

    /// Whether clients must have a certificate.
    pub(super) const fn asks_clients(&self) -> bool {
        self.files.authorities.is_some()
    }

    /// Checks the files regularly, and at once on SIGHUP. Open connections are not affected.
    pub(super) async fn keep_up(mut self, stop: CancellationToken) {
        use tokio::signal::unix::{SignalKind, signal};
        let mut hangup = signal(SignalKind::hangup()).ok();
        let mut hung_up = async || match &mut hangup {
            Some(hangup) => hangup.recv().await,
            None => std::future::pending().await,
        };
        let mut interval = time::interval(INTERVAL);
        interval.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut before = self.tried.clone();
        loop {
            let is_hung_up = tokio::select! {
                _ = interval.tick() => false,
                _ = hung_up() => true,
                () = stop.cancelled() => return,
            };
            // Three small files; a disk that does not respond blocks this worker only.
            let read = block_in_place(|| Contents::read(&self.files));
            let now = read.as_ref().ok().cloned();
            let is_settled = now == before;
            before.clone_from(&now);
            if is_hung_up || is_settled && now != self.tried {
                self.tried = now;
                self.replace(read);
            }
        }
    }

    fn replace(&self, read: Result<Contents, Error>) {
        let usable = read.and_then(|contents| Ok((contents.spoken(&self.files)?, contents)));
        match usable {
            Ok((spoken, contents)) => {
                self.spoken.send_replace(spoken);
                info!(certificate = %self.files.certificate, "the TLS files were reloaded");
                contents.check_times(&self.files);
            }
            Err(unfit) => error!(
                error = &unfit as &dyn std::error::Error,
                "the new TLS files cannot be used; the previous ones stay in use"
            ),
        }
    }
}

/// The contents of the files.
#[derive(Clone, PartialEq, Eq)]
struct Contents {
    certificate: Vec<u8>,
    key: Vec<u8>,
    authorities: Option<Vec<u8>>,
}

impl Contents {
    fn read(files: &Files) -> Result<Self, Error> {
        Ok(Self {
            certificate: files.certificate.read()?,
            key: files.key.read()?,
            authorities: files.authorities.as_ref().map(File::read).transpose()?,
        })
    }

    /// Logs a warning if the certificate of the service is not valid now. It is used in any case: a
    /// service that is restarted must not end because of it.
    fn check_times(&self, files: &Files) {
        let first = CertificateDer::pem_slice_iter(&self.certificate).next();
        let Some(Ok(certificate)) = first else { return };
        let Ok(parsed) = ParsedCertificate::try_from(&certificate) else {
            return;
        };
        // The times are checked first, so nothing is said of the issuer, who is not known here.
        let checked = verify_server_cert_signed_by_trust_anchor(
            &parsed,
            &RootCertStore::empty(),
            &[],
            UnixTime::now(),
            &[],
        );
        if let Err(rustls::Error::InvalidCertificate(
            error @ (CertificateError::Expired
            | CertificateError::ExpiredContext { .. }
            | CertificateError::NotValidYet
            | CertificateError::NotValidYetContext { .. }),
        )) = checked
        {
            warn!(
                certificate = %files.certificate,
                %error,
                "the certificate is not valid now, so clients refuse it; renew it"
            );
        }
    }

    fn spoken(&self, files: &Files) -> Result<Spoken, Error> {
        let chain = certificates(&self.certificate, &files.certificate)?;
        let key = key(&self.key, &files.key)?;
        let provider = Arc::new(ring::default_provider());
        let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .map_err(Error::Setup)?;
        let builder = match self.authorities.as_ref().zip(files.authorities.as_ref()) {
            Some((authorities, file)) => {
                let mut roots = RootCertStore::empty();
                for authority in certificates(authorities, file)? {
                    let unfit = |error| Error::NoAuthority(file.to_string(), error);
                    roots.add(authority).map_err(unfit)?;
                }
                let verifier = WebPkiClientVerifier::builder_with_provider(roots.into(), provider)
                    .build()
                    .map_err(|error| Error::Setup(rustls::Error::General(error.to_string())))?;
                builder.with_client_cert_verifier(verifier)
            }
            None => builder.with_no_client_auth(),
        };
        let config = builder
            .with_single_cert(chain, key)
            .map_err(|source| Error::Unfit {
                certificate: files.certificate.to_string(),
                key: files.key.to_string(),
                source,
            })?;
        let with = |protocol: &[u8]| {
            let mut config = config.clone();
            config.alpn_protocols = vec![protocol.to_vec()];
            Arc::new(config)
        };
        Ok(Spoken {
            http1: with(b"http/1.1"),
            http2: with(b"h2"),
        })
    }
}

fn certificates(text: &[u8], file: &File) -> Result<Vec<CertificateDer<'static>>, Error> {
    let all = CertificateDer::pem_slice_iter(text)
        .collect::<Result<Vec<_>, _>>()
        .map_err(|error| Error::NoPem(file.to_string(), error))?;
    if all.is_empty() {
        return Err(Error::NoCertificate(file.to_string()));
    }
    Ok(all)
}

fn key(text: &[u8], file: &File) -> Result<PrivateKeyDer<'static>, Error> {
    PrivateKeyDer::from_pem_slice(text).map_err(|error| {
        if matches!(error, pem::Error::NoItemsFound) {
            Error::NoKey(file.to_string())
        } else {
            Error::NoPem(file.to_string(), error)
        }
    })
}
