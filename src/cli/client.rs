//! Calls a running service over gRPC.

use std::{error::Error as _, path::PathBuf};

use clap::Args;
use tonic::{
    Code, Request, Status,
    metadata::{AsciiMetadataKey, AsciiMetadataValue},
    transport::{Certificate, ClientTlsConfig, Endpoint, Identity},
};

use super::{Connected, with_the_reader};
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
    #[arg(long, value_name = "HOST:PORT")]
    address: Option<String>,
    /// Metadata to send, as name=value; may be repeated.
    #[arg(long, value_name = "NAME=VALUE")]
    metadata: Vec<String>,
    #[command(flatten)]
    trust: Trust,
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
    #[error("`{0}` is not NAME=VALUE")]
    Metadata(String),
    #[error("`{0}` is neither HOST:PORT nor https://HOST:PORT")]
    Address(String),
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
}

impl Target {
    /// Sends an event to the method that accepts it; `on_answer` receives the payload of each answer.
    pub(super) async fn ask(
        &self,
        config: &Config,
        route: &Route,
        event: Event,
        on_answer: &mut (dyn FnMut(&str) -> Result<(), Error> + Send),
    ) -> Result<(), Error> {
        let _connected = Connected::new();
        let mut request = Request::new(Frame::from(event));
        for pair in &self.metadata {
            let bad = || Error::Metadata(pair.clone());
            let (name, value) = pair.split_once('=').ok_or_else(bad)?;
            let name: AsciiMetadataKey = name.parse().map_err(|_| bad())?;
            let value: AsciiMetadataValue = value.parse().map_err(|_| bad())?;
            request.metadata_mut().insert(name, value);
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
                let mut answers = client
                    .entity_search_collection(request)
                    .await
                    .map_err(refused)?
                    .into_inner();
                while let Some(frame) = answers.message().await.map_err(refused)? {
                    forward(frame, on_answer)?;
                }
                return Ok(());
            }
        };
        forward(one.map_err(refused)?.into_inner(), on_answer)
    }

    /// The address of the service, and its TLS configuration if it uses TLS.
    fn place(&self, config: &Config) -> Result<(String, Option<ClientTlsConfig>), Error> {
        let given = self.address.as_deref();
        let (scheme, address) = match given.map(|given| (given, given.split_once("://"))) {
            Some((_, Some((scheme, address)))) => (Some(scheme), address.to_owned()),
            Some((address, None)) => (None, address.to_owned()),
            None => (None, Addresses::from_here(config.listen.grpc).to_string()),
        };
        let is_tls = match scheme {
            Some("https") => true,
            Some("http") => false,
            None => config.tls.is_some() || self.trust.is_given(),
            Some(_) => return Err(Error::Address(given.unwrap_or_default().to_owned())),
        };
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

/// What to do about a status.
fn hint(status: &Status, is_tls: bool, has_certificate: bool) -> &'static str {
    let has_ended = status.source().is_some();
    if status.code() == Code::Unauthenticated {
        "; send a token with --metadata authorization='Bearer TOKEN'"
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

fn forward(
    frame: Frame,
    on_answer: &mut dyn FnMut(&str) -> Result<(), Error>,
) -> Result<(), Error> {
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
