//! `interlock health`: whether a running service is ready.

use std::{net::SocketAddr, process::ExitCode, time::Duration};

use http_body_util::Empty;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use tokio::{net::TcpStream, time::timeout};

use super::{block_on, failed};
use crate::app::{Addresses, config::Config};

/// How long to wait for the answer.
const PATIENCE: Duration = Duration::from_secs(2);

/// Why readiness is not known.
#[derive(Debug, thiserror::Error)]
enum Error {
    #[error("no service answers on {0}; check that it is running")]
    Unreachable(SocketAddr, #[source] std::io::Error),
    #[error("no answer within {PATIENCE:?}")]
    Timeout,
    #[error("the answer could not be read")]
    Http(#[from] hyper::Error),
    #[error("the request could not be sent")]
    Request(#[from] http::Error),
    #[error("not ready: {0}")]
    NotReady(http::StatusCode),
}

pub(super) fn run(config: &Config) -> ExitCode {
    let address = Addresses::from_here(config.listen.admin);
    let outcome = block_on(async {
        timeout(PATIENCE, ask(address))
            .await
            .unwrap_or(Err(Error::Timeout))
    });
    match outcome {
        Ok(Ok(())) => {
            show!("ready");
            ExitCode::SUCCESS
        }
        Ok(Err(error)) => failed(&error),
        Err(error) => failed(&error),
    }
}

async fn ask(address: SocketAddr) -> Result<(), Error> {
    let stream = TcpStream::connect(address)
        .await
        .map_err(|error| Error::Unreachable(address, error))?;
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
    let request = http::Request::get("/readyz")
        .header(http::header::HOST, "localhost")
        .body(Empty::<bytes::Bytes>::new())?;
    let response = tokio::select! {
        response = sender.send_request(request) => response?,
        ended = connection => {
            ended?;
            return Err(Error::Timeout);
        }
    };
    if response.status().is_success() {
        Ok(())
    } else {
        Err(Error::NotReady(response.status()))
    }
}
