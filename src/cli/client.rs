//! Asking a running service, over gRPC.

use clap::Args;
use tonic::{
    Request, Status,
    metadata::{AsciiMetadataKey, AsciiMetadataValue},
    transport::Endpoint,
};

use crate::app::config::Config;
use crate::event::{
    Event, frame::Frame, proto::service::cloud_events_service_client::CloudEventsServiceClient,
};
use crate::operation::{Answers, Family, Route};

/// Which service is asked, and with what beside the request.
#[derive(Args)]
pub(super) struct Target {
    /// Where the service listens; by default on this machine, at the configured port.
    #[arg(long, value_name = "HOST:PORT")]
    address: Option<String>,
    /// Metadata to send along, as name=value; may be repeated.
    #[arg(long, value_name = "NAME=VALUE")]
    metadata: Vec<String>,
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub(super) enum Error {
    #[error("`{0}` is not NAME=VALUE")]
    Metadata(String),
    #[error("cannot reach the service at {0}; is it running? (`interlock` starts it)")]
    Unreachable(String, #[source] tonic::transport::Error),
    #[error("the service answered {}: {}", .0.code(), .0.message())]
    Status(Status),
    #[error("an answer could not be read: {0}")]
    Answer(String),
}

impl Target {
    /// Sends an event to the method that takes it; `told` is given the payload of each answer.
    pub(super) async fn ask(
        &self,
        config: &Config,
        route: &Route,
        event: Event,
        told: &mut (dyn FnMut(&str) -> Result<(), Error> + Send),
    ) -> Result<(), Error> {
        let mut request = Request::new(Frame::from(event));
        for pair in &self.metadata {
            let bad = || Error::Metadata(pair.clone());
            let (name, value) = pair.split_once('=').ok_or_else(bad)?;
            let name: AsciiMetadataKey = name.parse().map_err(|_| bad())?;
            let value: AsciiMetadataValue = value.parse().map_err(|_| bad())?;
            request.metadata_mut().insert(name, value);
        }
        let address = self
            .address
            .clone()
            .unwrap_or_else(|| format!("127.0.0.1:{}", config.listen.grpc.port()));
        let unreachable = |error| Error::Unreachable(address.clone(), error);
        let channel = Endpoint::from_shared(format!("http://{address}"))
            .map_err(unreachable)?
            .connect()
            .await
            .map_err(unreachable)?;
        let mut client = CloudEventsServiceClient::new(channel)
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
                    .map_err(Error::Status)?
                    .into_inner();
                while let Some(frame) = answers.message().await.map_err(Error::Status)? {
                    tell(frame, told)?;
                }
                return Ok(());
            }
        };
        tell(one.map_err(Error::Status)?.into_inner(), told)
    }
}

fn tell(frame: Frame, told: &mut dyn FnMut(&str) -> Result<(), Error>) -> Result<(), Error> {
    let event = frame
        .event()
        .map_err(|rejected| Error::Answer(rejected.failure.to_string()))?;
    let text = event
        .text()
        .map_err(|failure| Error::Answer(failure.to_string()))?;
    told(text)
}

/// Reads the payload of an answer.
pub(super) fn read<'a, T: serde::Deserialize<'a>>(payload: &'a str) -> Result<T, Error> {
    serde_json::from_str(payload).map_err(|error| Error::Answer(error.to_string()))
}
