use std::{fs, path::Path, time::Duration};

use interlock_client::{
    Client, ClientCredentials, Code, ConnectOptions, ErrorKind, Member, TokenSource as _,
    api::{AccountGetRequest, ComputeMembersGetRequest},
};

use crate::support::Server;

const KEYS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/keys");

fn key(name: &str) -> Vec<u8> {
    fs::read(Path::new(KEYS).join(name)).expect("a file of keys")
}

async fn server(more: &[(&str, &str)]) -> Server {
    let (certificate, key) = (
        format!("{KEYS}/tls-server.pem"),
        format!("{KEYS}/tls-server.key"),
    );
    let mut settings = vec![
        ("INTERLOCK_TLS_CERT_FILE", certificate.as_str()),
        ("INTERLOCK_TLS_KEY_FILE", key.as_str()),
    ];
    settings.extend_from_slice(more);
    Server::start_with(&settings).await
}

/// Sends a request; the client gives up soon where it cannot connect.
async fn asked(options: ConnectOptions) -> interlock_client::Result<()> {
    let client = Client::new(options.connect_timeout(Duration::from_secs(2)))?;
    client
        .account_get(&AccountGetRequest::new())
        .await
        .map(drop)
}

#[tokio::test]
async fn client_and_member_speak_tls() {
    let server = server(&[]).await;
    let trusting = server
        .tenant("tls")
        .certificate_authority(key("tls-ca.pem"));
    let client = Client::connect(trusting.clone())
        .await
        .expect("it connects");
    let _member = Member::new(trusting.clone())
        .tag("tls")
        .join()
        .await
        .expect("it joins");
    let members = client
        .compute_members_get(&ComputeMembersGetRequest::new())
        .await;
    assert_eq!(members.expect("an answer").members.len(), 1);
    // Neither the authorities of this machine, which did not sign it, nor another name, nor plain
    // text will do.
    for wrong in [
        server.tenant("tls").tls(),
        trusting.server_name("example.com"),
        server.tenant("tls"),
    ] {
        let error = asked(wrong.clone()).await.expect_err("it is not trusted");
        assert_eq!(
            error.kind(),
            ErrorKind::ConnectionLost,
            "{error} with {wrong:?}"
        );
    }
}

#[tokio::test]
async fn where_clients_need_a_certificate_only_those_that_show_one_are_served() {
    let authority = format!("{KEYS}/tls-ca.pem");
    let server = server(&[("INTERLOCK_TLS_CLIENT_CA_FILE", authority.as_str())]).await;
    let trusting = server
        .tenant("mutual")
        .certificate_authority(key("tls-ca.pem"));
    let showing = trusting
        .clone()
        .client_certificate(key("tls-server.pem"), key("tls-server.key"));
    asked(showing).await.expect("an answer");
    let error = asked(trusting).await.expect_err("it shows none");
    assert_eq!(error.kind(), ErrorKind::ConnectionLost, "{error}");
    // So it is where tokens are obtained.
    let url = format!("{}/api/oauth/token", server.http.replace("http:", "https:"));
    let trusting = || {
        ClientCredentials::new(&url, "anybody", "secret").certificate_authority(key("tls-ca.pem"))
    };
    let showing = trusting().client_certificate(key("tls-server.pem"), key("tls-server.key"));
    assert!(!showing.token().await.expect("a token").is_empty());
    let error = trusting().token().await.expect_err("it shows none");
    assert_eq!(error.kind(), ErrorKind::ConnectionLost, "{error}");
    let unreadable = trusting().client_certificate("no certificate", "no key");
    let error = unreadable.token().await.expect_err("it cannot be read");
    assert_eq!(*error.code(), Code::InvalidOptions, "{error}");
}

#[tokio::test]
async fn tokens_are_obtained_over_tls() {
    let server = server(&[]).await;
    let url = format!("{}/api/oauth/token", server.http.replace("http:", "https:"));
    let credentials = ClientCredentials::new(&url, "anybody", "secret");
    let error = credentials
        .token()
        .await
        .expect_err("it does not trust the server");
    assert_eq!(error.kind(), ErrorKind::ConnectionLost, "{error}");
    let trusting = credentials.certificate_authority(key("tls-ca.pem"));
    assert!(!trusting.token().await.expect("a token").is_empty());
}
