//! Calls a running service over gRPC.

use std::{error::Error as _, ops::ControlFlow, path::PathBuf};

use clap::Args;
use tonic::{
    Code, Request, Status,
    metadata::{AsciiMetadataKey, AsciiMetadataValue, MetadataMap},
    transport::{Certificate, ClientTlsConfig, Endpoint, Identity},
};

use super::{Connected, output, with_the_reader};
use crate::app::{Addresses, config::Config, tls};
use crate::event::{
    Event, frame::Frame, proto::service::cloud_events_service_client::CloudEventsServiceClient,
};
use crate::operation::{Answers, Family, Route};

/// The service to call, and what is sent beside the request.
#[derive(Args)]
pub(super) struct Target {
    /// The address of the service, with https:// if it uses TLS; by default this machine and the
    /// port of the settings.
    #[arg(long, value_name = "HOST:PORT", value_parser = address)]
    address: Option<Address>,
    /// Metadata to send, as name=value; may be repeated.
    #[arg(long, value_name = "NAME=VALUE", value_parser = metadata)]
    metadata: Vec<Metadata>,
    #[command(flatten)]
    trust: Trust,
}

/// The name of metadata, and its value.
type Metadata = (AsciiMetadataKey, AsciiMetadataValue);

fn metadata(text: &str) -> Result<Metadata, String> {
    let pair = text
        .split_once('=')
        .and_then(|(name, value)| Some((name.parse().ok()?, value.parse().ok()?)));
    pair.ok_or_else(|| "it is not NAME=VALUE".to_owned())
}

/// Where a service is.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Address {
    host_and_port: String,
    /// If the address says so.
    is_tls: Option<bool>,
}

fn address(text: &str) -> Result<Address, String> {
    let (is_tls, host_and_port) = match text.trim_end_matches('/').split_once("://") {
        Some(("https", rest)) => (Some(true), rest),
        Some(("http", rest)) => (Some(false), rest),
        Some(_) => return Err("it is neither HOST:PORT nor https://HOST:PORT".to_owned()),
        None => (None, text),
    };
    let (host, port) = host_and_port
        .rsplit_once(':')
        .filter(|(host, _)| !host.starts_with('[') || host.ends_with(']'))
        .unwrap_or((host_and_port, ""));
    if host.contains(':') && !host.starts_with('[') {
        return Err("put the brackets of an IPv6 address: [::1]:PORT".to_owned());
    }
    // Each scheme has a port of its own, which a proxy may use.
    let has_port = port.parse::<u16>().is_ok() || (port.is_empty() && is_tls.is_some());
    if host.is_empty() || !has_port {
        return Err("it is neither HOST:PORT nor https://HOST:PORT".to_owned());
    }
    Ok(Address {
        host_and_port: host_and_port.to_owned(),
        is_tls,
    })
}

/// Trusted authorities, and the client's certificate.
#[derive(Args)]
struct Trust {
    /// Trusted certificate authorities, in PEM; by default those of this machine.
    #[arg(id = "tls-ca", long = "tls-ca", value_name = "FILE")]
    ca: Option<PathBuf>,
    /// The name in the service's certificate, if it differs from the address.
    #[arg(id = "tls-name", long = "tls-name", value_name = "NAME")]
    name: Option<String>,
    /// The client certificate, in PEM, if the service requires one.
    #[arg(
        id = "tls-cert",
        long = "tls-cert",
        value_name = "FILE",
        requires = "tls-key"
    )]
    certificate: Option<PathBuf>,
    /// The private key of that certificate.
    #[arg(
        id = "tls-key",
        long = "tls-key",
        value_name = "FILE",
        requires = "tls-cert"
    )]
    key: Option<PathBuf>,
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub(super) enum Error {
    #[error(transparent)]
    File(#[from] tls::Error),
    #[error("cannot reach the service at {0}; is it running? (`interlock` starts it)")]
    Unreachable(String, #[source] tonic::transport::Error),
    #[error(
        "cannot reach the service at {0} over TLS; check that it is running, that --tls-ca names the authority of its certificate, and whether it requires --tls-cert"
    )]
    UnreachableOverTls(String, #[source] tonic::transport::Error),
    #[error("the service answered {:?}: {}{}{hint}", .status.code(), .status.message(), cause(.status))]
    Status { status: Status, hint: &'static str },
    #[error("an answer could not be read: {0}")]
    Answer(String),
    #[error(
        "the service is of version {0}; this program understands {version}: use the program of that version",
        version = understood(env!("CARGO_PKG_VERSION"))
    )]
    Version(String),
}

impl Error {
    /// Whether another attempt may help; a service that was never reached may not exist.
    pub(super) fn is_lost(&self, was_reached: bool) -> bool {
        match self {
            Self::Unreachable(..) | Self::UnreachableOverTls(..) => was_reached,
            Self::Status { status, .. } => matches!(
                status.code(),
                Code::Unavailable | Code::Unknown | Code::Cancelled | Code::Internal
            ),
            Self::File(_) | Self::Answer(_) | Self::Version(_) => false,
        }
    }

    /// Whether a service was there.
    pub(super) const fn has_reached(&self) -> bool {
        !matches!(self, Self::Unreachable(..) | Self::UnreachableOverTls(..))
    }
}

/// Receives the payload of an answer; the others are not wanted once it breaks.
pub(super) type OnAnswer<'a> = dyn FnMut(&str) -> Result<ControlFlow<()>, Error> + Send + 'a;

impl Target {
    /// Sends an event to the method that accepts it; `on_answer` receives the answers.
    pub(super) async fn ask(
        &self,
        config: &Config,
        route: &Route,
        event: Event,
        on_answer: &mut OnAnswer<'_>,
    ) -> Result<(), Error> {
        let _connected = Connected::new();
        let mut request = Request::new(Frame::from(event));
        if let Some(token) = &config.authorization {
            request
                .metadata_mut()
                .insert("authorization", token.clone());
        }
        for (name, value) in &self.metadata {
            request.metadata_mut().insert(name.clone(), value.clone());
        }
        let (address, tls) = self.place(config)?;
        let is_tls = tls.is_some();
        let unreachable = |error| {
            if is_tls {
                Error::UnreachableOverTls(address.clone(), error)
            } else {
                Error::Unreachable(address.clone(), error)
            }
        };
        let has_certificate = self.trust.certificate.is_some();
        let refused = |status: Status| Error::Status {
            hint: hint(&status, is_tls, has_certificate),
            status,
        };
        let endpoint = match tls {
            Some(tls) => Endpoint::from_shared(format!("https://{address}"))
                .and_then(|endpoint| endpoint.tls_config(tls)),
            None => Endpoint::from_shared(format!("http://{address}")),
        };
        let channel = endpoint.map_err(unreachable)?.connect().await;
        let mut client = CloudEventsServiceClient::new(channel.map_err(unreachable)?)
            .max_decoding_message_size(usize::MAX)
            .max_encoding_message_size(usize::MAX);
        let one = match (route.family, route.answers) {
            (Family::Model, _) => client.entity_model_manage(request).await,
            (Family::Entity, _) => client.entity_manage(request).await,
            (Family::Search, Answers::One) => client.entity_search(request).await,
            (Family::Search, Answers::Many | Answers::Live) => {
                let answers = client.entity_search_collection(request).await;
                let answers = answers.map_err(refused)?;
                check_version(answers.metadata())?;
                let mut answers = answers.into_inner();
                while let Some(frame) = answers.message().await.map_err(refused)? {
                    if forward(frame, on_answer)?.is_break() || !output::is_writable() {
                        break;
                    }
                }
                return Ok(());
            }
        };
        let one = one.map_err(refused)?;
        check_version(one.metadata())?;
        forward(one.into_inner(), on_answer).map(|_| ())
    }

    /// The address of the service, and its TLS configuration if it uses TLS.
    fn place(&self, config: &Config) -> Result<(String, Option<ClientTlsConfig>), Error> {
        let given = self.address.as_ref();
        let address = given.map_or_else(
            || Addresses::from_here(config.listen.grpc).to_string(),
            |given| given.host_and_port.clone(),
        );
        let is_tls = given
            .and_then(|given| given.is_tls)
            .unwrap_or_else(|| config.tls.is_some() || self.trust.is_given());
        let tls = is_tls.then(|| self.trust.config(config, given.is_none()));
        Ok((address, tls.transpose()?))
    }
}

impl Trust {
    const fn is_given(&self) -> bool {
        self.ca.is_some() || self.name.is_some() || self.certificate.is_some()
    }

    fn config(&self, config: &Config, is_here: bool) -> Result<ClientTlsConfig, Error> {
        let believed = |file: &tls::File| -> Result<_, tls::Error> {
            let text = file.read_certificates()?;
            Ok(ClientTlsConfig::new().ca_certificate(Certificate::from_pem(text)))
        };
        let ours = config.tls.as_ref().filter(|_| is_here);
        let mut trust = match (&self.ca, ours) {
            (Some(path), _) => believed(&tls::File::new("--tls-ca", path))?,
            // The service of this machine presents the certificate in its own file.
            (None, Some(files)) => believed(&files.certificate)?,
            (None, None) => ClientTlsConfig::new().with_native_roots(),
        };
        if let Some(name) = &self.name {
            trust = trust.domain_name(name);
        } else if is_here {
            trust = trust.domain_name("localhost");
        }
        if let Some((certificate, key)) = self.certificate.as_ref().zip(self.key.as_ref()) {
            let certificate = tls::File::new("--tls-cert", certificate).read_certificates()?;
            let key = tls::File::new("--tls-key", key).read_key()?;
            trust = trust.identity(Identity::from_pem(certificate, key));
        }
        Ok(trust)
    }
}

/// Refuses a service of a version that this program does not understand. One that does not say its
/// version is accepted.
fn check_version(metadata: &MetadataMap) -> Result<(), Error> {
    let version = metadata.get("interlock-version");
    let version = version.and_then(|version| version.to_str().ok());
    let other = version.filter(|it| understood(it) != understood(env!("CARGO_PKG_VERSION")));
    other.map_or(Ok(()), |other| Err(Error::Version(other.to_owned())))
}

/// The part of a version in which a client and its service must agree: the major number, and while
/// that is 0 the minor one, too.
fn understood(version: &str) -> String {
    let mut numbers = version.split('.');
    match (numbers.next(), numbers.next()) {
        (Some("0"), minor) => format!("0.{}", minor.unwrap_or("0")),
        (major, _) => major.unwrap_or_default().to_owned(),
    }
}

/// What to do about a status.
fn hint(status: &Status, is_tls: bool, has_certificate: bool) -> &'static str {
    let has_ended = status.source().is_some();
    if status.code() == Code::Unauthenticated {
        "; set INTERLOCK_TOKEN to a valid token, or INTERLOCK_TOKEN_FILE to a file with one"
    } else if has_ended && is_tls && !has_certificate {
        // With TLS 1.3 a client learns that it lacks a certificate when it sends a request.
        "; if the service requires a client certificate, set --tls-cert and --tls-key"
    } else if has_ended && !is_tls {
        "; check that the address is that of the gRPC port, and write https://HOST:PORT for TLS"
    } else {
        ""
    }
}

/// Why the connection ended, if the status is about that.
fn cause(status: &Status) -> String {
    let mut deepest = status.source();
    while let Some(source) = deepest.and_then(std::error::Error::source) {
        deepest = Some(source);
    }
    deepest.map_or_else(String::new, |cause| format!(": {cause}"))
}

fn forward(frame: Frame, on_answer: &mut OnAnswer<'_>) -> Result<ControlFlow<()>, Error> {
    let event = frame
        .event()
        .map_err(|rejected| Error::Answer(rejected.failure.to_string()))?;
    let text = event
        .text()
        .map_err(|failure| Error::Answer(failure.to_string()))?;
    with_the_reader(|| on_answer(text))
}

/// Parses the payload of an answer.
pub(super) fn read<'a, T: serde::Deserialize<'a>>(payload: &'a str) -> Result<T, Error> {
    serde_json::from_str(payload).map_err(|error| Error::Answer(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_service_that_was_reached_may_come_back() {
        let error = Endpoint::from_shared("http://[").expect_err("no address");
        let away = Error::Unreachable("here".to_owned(), error);
        let lost = Error::Status {
            status: Status::unavailable("the connection was lost"),
            hint: "",
        };
        assert!(lost.has_reached() && !away.has_reached());
        assert!(away.is_lost(true) && !away.is_lost(false));
    }

    #[test]
    fn an_address_has_a_host_and_a_port() {
        for (text, host_and_port, is_tls) in [
            ("localhost:9090", "localhost:9090", None),
            ("[::1]:9090", "[::1]:9090", None),
            ("http://10.0.0.1:9090", "10.0.0.1:9090", Some(false)),
            ("https://a.example:443", "a.example:443", Some(true)),
            ("https://a.example/", "a.example", Some(true)),
            ("https://[::1]", "[::1]", Some(true)),
        ] {
            let expected = Address {
                host_and_port: host_and_port.to_owned(),
                is_tls,
            };
            assert_eq!(address(text), Ok(expected), "{text}");
        }
        for text in [
            "",
            "localhost",
            "localhost:",
            "localhost:grpc",
            ":9090",
            "ftp://localhost:21",
        ] {
            let error = address(text).expect_err(text);
            assert!(error.contains("neither HOST:PORT"), "{text}: {error}");
        }
        for text in ["::1:9090", "::1", "https://fe80::1:9090"] {
            let error = address(text).expect_err(text);
            assert!(error.contains("[::1]:PORT"), "{text}: {error}");
        }
    }

    #[test]
    fn a_service_of_another_version_is_refused() {
        let mut metadata = MetadataMap::new();
        check_version(&metadata).expect("it does not say its version");
        for (version, is_understood) in [
            (env!("CARGO_PKG_VERSION"), true),
            ("99.0.0", false),
            ("0.99.0", false),
        ] {
            metadata.insert("interlock-version", version.parse().expect("text"));
            assert_eq!(check_version(&metadata).is_ok(), is_understood, "{version}");
        }
        for (version, part) in [("0.1.7", "0.1"), ("0", "0.0"), ("2.3.4", "2")] {
            assert_eq!(understood(version), part);
        }
    }

    #[test]
    fn metadata_has_a_name_and_a_value() {
        let (name, value) = metadata("authorization=Bearer a=b").expect("a pair");
        assert_eq!(name.as_str(), "authorization");
        assert_eq!(value.to_str().expect("text"), "Bearer a=b");
        for text in ["authorization", "=x", "a b=c", "a=\u{7}"] {
            assert!(metadata(text).is_err(), "{text}");
        }
    }
}
