//! One HTTP request, over TLS if its URL says so.

use std::{sync::Arc, time::Duration};

use base64::{Engine as _, prelude::BASE64_STANDARD};
use http::{
    Request, StatusCode, Uri,
    header::{AUTHORIZATION, CONTENT_TYPE, HOST},
};
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::{body::Bytes, client::conn::http1};
use hyper_util::rt::TokioIo;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpStream,
    time::timeout,
};
use tokio_rustls::{
    TlsConnector,
    rustls::{
        ClientConfig, RootCertStore, crypto,
        pki_types::{CertificateDer, PrivateKeyDer, ServerName, pem::PemObject as _},
    },
};

use crate::{Code, Error, Result};

const TIMEOUT: Duration = Duration::from_secs(10);

const ANSWER_BYTES_MAX: usize = 1 << 20;

/// What a caller trusts and shows, all of it in PEM.
#[derive(Default)]
pub(super) struct Tls {
    /// An authority besides those that the system trusts.
    pub(super) authority: Option<Vec<u8>>,
    /// A certificate of the caller, and its key.
    pub(super) identity: Option<(Vec<u8>, Vec<u8>)>,
}

/// Sends a form with the name and the password of the caller; returns the answer.
pub(super) async fn post_form(
    url: &str,
    form: &'static str,
    caller: (&str, &str),
    tls: &Tls,
) -> Result<(StatusCode, Bytes)> {
    let invalid = || Error::new(Code::InvalidOptions, format!("`{url}` is not a valid URL"));
    let uri: Uri = url.parse().map_err(|_| invalid())?;
    let host = uri.host().ok_or_else(invalid)?;
    let is_tls = uri.scheme_str() == Some("https");
    let port = uri.port_u16().unwrap_or(if is_tls { 443 } else { 80 });
    let path = uri.path_and_query().map_or("/", |path| path.as_str());
    let encoded = |text: &str| utf8_percent_encode(text, NON_ALPHANUMERIC).to_string();
    let secret = format!("{}:{}", encoded(caller.0), encoded(caller.1));
    let request = Request::post(path)
        .header(HOST, uri.authority().map_or(host, |named| named.as_str()))
        .header(CONTENT_TYPE, "application/x-www-form-urlencoded")
        .header(
            AUTHORIZATION,
            format!("Basic {}", BASE64_STANDARD.encode(secret)),
        )
        .body(Full::new(Bytes::from_static(form.as_bytes())))
        .map_err(|_| invalid())?;
    let exchange = async {
        // An IPv6 address has brackets in a URL, but not here.
        let name = host.trim_matches(['[', ']']);
        let connection = TcpStream::connect((name, port)).await.map_err(lost)?;
        if !is_tls {
            return send(connection, request).await;
        }
        let server = ServerName::try_from(name.to_owned()).map_err(|_| invalid())?;
        let connector = TlsConnector::from(Arc::new(settings(tls)?));
        send(
            connector.connect(server, connection).await.map_err(lost)?,
            request,
        )
        .await
    };
    let waited = timeout(TIMEOUT, exchange).await;
    waited.unwrap_or_else(|_| Err(Error::lost(format!("no answer from {url}"))))
}

async fn send(
    connection: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    request: Request<Full<Bytes>>,
) -> Result<(StatusCode, Bytes)> {
    let (mut client, driver) = http1::handshake(TokioIo::new(connection))
        .await
        .map_err(lost)?;
    let exchange = async move {
        let answer = client.send_request(request).await.map_err(lost)?;
        let status = answer.status();
        let body = Limited::new(answer.into_body(), ANSWER_BYTES_MAX);
        let body = body
            .collect()
            .await
            .map_err(|source| Error::lost(format!("cannot read the token: {source}")))?;
        Ok((status, body.to_bytes()))
    };
    let mut exchange = std::pin::pin!(exchange);
    tokio::select! {
        biased;
        answered = &mut exchange => answered,
        ended = driver => {
            ended.map_err(lost)?;
            exchange.await
        }
    }
}

fn lost(source: impl std::error::Error) -> Error {
    Error::caused(Code::ConnectionLost, "cannot obtain a token", source)
}

fn settings(tls: &Tls) -> Result<ClientConfig> {
    let invalid = |what: &str, source: &dyn std::error::Error| {
        let message = format!("the {what} cannot be used: {source}");
        Error::new(Code::InvalidOptions, message)
    };
    let authority = |source: &dyn std::error::Error| invalid("certificate authority", source);
    let identity = |source: &dyn std::error::Error| invalid("client certificate", source);
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    for certificate in tls
        .authority
        .iter()
        .flat_map(|pem| CertificateDer::pem_slice_iter(pem))
    {
        let certificate = certificate.map_err(|source| authority(&source))?;
        roots
            .add(certificate)
            .map_err(|source| authority(&source))?;
    }
    let provider = Arc::new(crypto::ring::default_provider());
    let settings = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|source| authority(&source))?
        .with_root_certificates(roots);
    let Some((certificate, key)) = &tls.identity else {
        return Ok(settings.with_no_client_auth());
    };
    let chain = CertificateDer::pem_slice_iter(certificate).collect::<std::result::Result<_, _>>();
    let chain = chain.map_err(|source| identity(&source))?;
    let key = PrivateKeyDer::from_pem_slice(key).map_err(|source| identity(&source))?;
    settings
        .with_client_auth_cert(chain, key)
        .map_err(|source| identity(&source))
}
