//! TLS on the two APIs: what is spoken, with whom, and from which files.

use std::{net::SocketAddr, path::Path, sync::Arc, time::Duration};

use bytes::Bytes;
use http::{Request, StatusCode};
use http_body_util::{BodyExt as _, Empty};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use interlock::event::proto::service::cloud_events_service_client::CloudEventsServiceClient;
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};
use tokio_rustls::{
    TlsConnector,
    client::TlsStream,
    rustls::{
        self, ClientConfig, RootCertStore,
        pki_types::{CertificateDer, PrivateKeyDer, ServerName, pem::PemObject as _},
    },
};
use tonic::transport::{Certificate, Channel, ClientTlsConfig, Identity};

use crate::support::{
    Connection, Member, Reply, Server, backend, command, database::Database, governed_model,
    new_entity, processed_by, sync_processor, wait::until,
};

/// How long a test waits for anything.
const PATIENCE: Duration = Duration::from_secs(30);

/// Who makes certificates.
struct Authority {
    pem: String,
    issuer: Issuer<'static, KeyPair>,
}

/// A certificate and its key, in PEM.
struct Pair {
    certificate: String,
    key: String,
}

impl Authority {
    fn new(name: &str) -> Self {
        let mut params = CertificateParams::new(Vec::new()).expect("no names");
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().expect("a key");
        let pem = params.self_signed(&key).expect("a certificate").pem();
        Self {
            pem,
            issuer: Issuer::new(params, key),
        }
    }

    /// A certificate for this name.
    fn certifies(&self, name: &str) -> Pair {
        self.certified(name, |_| {})
    }

    fn certified(&self, name: &str, change: impl FnOnce(&mut CertificateParams)) -> Pair {
        let mut params = CertificateParams::new(vec![name.to_owned()]).expect("a name");
        change(&mut params);
        let key = KeyPair::generate().expect("a key");
        let certificate = params.signed_by(&key, &self.issuer).expect("signed");
        Pair {
            certificate: certificate.pem(),
            key: key.serialize_pem(),
        }
    }
}

/// Files as the settings name them.
struct Files {
    folder: tempfile::TempDir,
    authority: Authority,
}

impl Files {
    fn new() -> Self {
        let files = Self {
            folder: tempfile::tempdir().expect("a folder"),
            authority: Authority::new("of services"),
        };
        files.put(&files.authority.certifies("localhost"));
        files.write("ca.pem", &files.authority.pem);
        files
    }

    /// Replaces a file, as a tool that renews certificates does.
    fn write(&self, name: &str, text: &str) {
        let fresh = self.folder.path().join(format!("{name}.fresh"));
        std::fs::write(&fresh, text).expect("writable");
        std::fs::rename(fresh, self.folder.path().join(name)).expect("replaced");
    }

    fn put(&self, pair: &Pair) {
        self.write("server.pem", &pair.certificate);
        self.write("server.key", &pair.key);
    }

    fn path(&self, name: &str) -> String {
        let path = self.folder.path().join(name);
        path.to_str().expect("text").to_owned()
    }

    fn settings(&self) -> Vec<(&'static str, String)> {
        vec![
            ("CYODA_STORAGE_BACKEND", "memory".to_owned()),
            ("INTERLOCK_TLS_CERT_FILE", self.path("server.pem")),
            ("INTERLOCK_TLS_KEY_FILE", self.path("server.key")),
        ]
    }

    fn server(&self) -> Server {
        self.server_with(&[])
    }

    fn server_with(&self, more: &[(&'static str, &str)]) -> Server {
        let settings = self.settings();
        let settings = settings.iter().map(|(name, value)| (*name, value.as_str()));
        Server::with(&settings.chain(more.iter().copied()).collect::<Vec<_>>())
    }

    /// A client that believes the authority, and shows a certificate if it has one.
    fn client(&self, shows: Option<&Pair>) -> ClientConfig {
        let mut roots = RootCertStore::empty();
        roots
            .add(CertificateDer::from_pem_slice(self.authority.pem.as_bytes()).expect("PEM"))
            .expect("an authority");
        let builder =
            ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
                .with_safe_default_protocol_versions()
                .expect("versions")
                .with_root_certificates(roots);
        match shows {
            Some(pair) => builder
                .with_client_auth_cert(
                    vec![CertificateDer::from_pem_slice(pair.certificate.as_bytes()).expect("PEM")],
                    PrivateKeyDer::from_pem_slice(pair.key.as_bytes()).expect("PEM"),
                )
                .expect("a pair"),
            None => builder.with_no_client_auth(),
        }
    }

    async fn grpc(
        &self,
        server: &Server,
        shows: Option<&Pair>,
    ) -> Result<CloudEventsServiceClient<Channel>, tonic::transport::Error> {
        let tls = ClientTlsConfig::new()
            .ca_certificate(Certificate::from_pem(&self.authority.pem))
            .domain_name("localhost");
        let tls = match shows {
            Some(pair) => tls.identity(Identity::from_pem(&pair.certificate, &pair.key)),
            None => tls,
        };
        let channel = Channel::from_shared(format!("https://{}", server.grpc)).expect("a URI");
        let channel = channel.tls_config(tls)?.connect().await?;
        Ok(CloudEventsServiceClient::new(channel))
    }
}

/// A connection that has been agreed on, speaking one of these protocols.
async fn handshake(
    address: SocketAddr,
    mut config: ClientConfig,
    protocols: &[&str],
) -> std::io::Result<TlsStream<TcpStream>> {
    config.alpn_protocols = protocols
        .iter()
        .map(|name| name.as_bytes().to_vec())
        .collect();
    let stream = TcpStream::connect(address).await?;
    let name = ServerName::try_from("localhost").expect("a name");
    let connect = TlsConnector::from(Arc::new(config)).connect(name, stream);
    tokio::time::timeout(PATIENCE, connect)
        .await
        .expect("in time")
}

/// The certificate that an API shows.
async fn shown(address: SocketAddr, files: &Files) -> CertificateDer<'static> {
    let stream = handshake(address, files.client(None), &[])
        .await
        .expect("TLS");
    let shown = stream.get_ref().1.peer_certificates().expect("some");
    shown.first().expect("one").clone().into_owned()
}

/// REST answers who the caller of a connection is.
async fn account<S>(stream: S) -> Result<(StatusCode, Value), hyper::Error>
where
    S: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin + Send + 'static,
{
    get(stream, "/api/account").await
}

async fn get<S>(stream: S, path: &str) -> Result<(StatusCode, Value), hyper::Error>
where
    S: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin + Send + 'static,
{
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
    let connection = tokio::spawn(connection);
    let request = Request::get(path).header("host", "localhost");
    let request = request.body(Empty::<Bytes>::new()).expect("a request");
    let answer = sender.send_request(request).await?;
    let status = answer.status();
    let body = answer.into_body().collect().await?.to_bytes();
    drop(sender);
    let _ = connection.await;
    Ok((status, serde_json::from_slice(&body).unwrap_or_default()))
}

async fn whoami(connection: &Connection) -> Value {
    connection.ok("AccountGetRequest", json!({})).await["userAccountInfo"]["userId"].clone()
}

/// Runs a command in the folder of the files; its exit code and what it said.
fn run(
    folder: &Path,
    settings: &[(&'static str, String)],
    arguments: &[&str],
) -> (Option<i32>, String) {
    let settings: Vec<_> = settings
        .iter()
        .map(|(name, value)| (*name, value.as_str()))
        .collect();
    let output = command(folder, &settings)
        .args(arguments)
        .output()
        .expect("runs");
    let text = [output.stdout, output.stderr].concat();
    (output.status.code(), String::from_utf8(text).expect("text"))
}

#[tokio::test]
async fn both_doors_speak_tls_and_nothing_else() {
    let files = Files::new();
    let server = files.server();
    let connection = Connection::on(files.grpc(&server, None).await.expect("TLS"), &[]).await;
    let reported = whoami(&connection).await;
    let stream = handshake(server.http, files.client(None), &["h2", "http/1.1"])
        .await
        .expect("TLS");
    assert_eq!(stream.get_ref().1.alpn_protocol(), Some(&b"http/1.1"[..]));
    let (status, reported_by_rest) = account(stream).await.expect("an answer");
    assert_eq!(
        (status, &reported_by_rest["userAccountInfo"]["userId"]),
        (StatusCode::OK, &reported)
    );
    let stream = handshake(server.http, files.client(None), &["http/1.1"]);
    let stream = stream.await.expect("TLS");
    let (_, document) = get(stream, "/openapi.json").await.expect("an answer");
    assert_eq!(document["servers"][0]["url"], "https://localhost/api");
    // Neither speaks the other's protocol, and no client is kept that speaks neither.
    for (address, protocol) in [(server.http, "h2"), (server.grpc, "http/1.1")] {
        let refused = handshake(address, files.client(None), &[protocol])
            .await
            .expect_err(protocol);
        assert!(
            refused.to_string().contains("NoApplicationProtocol"),
            "{refused}"
        );
    }
    for address in [server.http, server.grpc] {
        let plain = TcpStream::connect(address).await.expect("a socket");
        account(plain).await.expect_err("no answer in plain text");
    }
    let plain = Channel::from_shared(format!("http://{}", server.grpc)).expect("a URI");
    let call = async {
        let mut client = CloudEventsServiceClient::new(plain.connect().await.map_err(drop)?);
        let event = crate::support::request("AccountGetRequest", "1", json!({}));
        client
            .entity_search(tonic::Request::new(event.into()))
            .await
            .map_err(drop)
    };
    call.await.expect_err("no answer in plain text");
    // What is for this machine is not encrypted.
    assert_eq!(
        crate::support::Rest::new(server.admin)
            .get("/readyz")
            .await
            .status,
        StatusCode::OK
    );
}

#[tokio::test]
async fn new_files_are_used_from_then_on_and_open_connections_stay() {
    let files = Files::new();
    let server = files.server();
    let connection = Connection::on(files.grpc(&server, None).await.expect("TLS"), &[]).await;
    let first = shown(server.http, &files).await;
    let renewed = files.authority.certifies("localhost");
    files.put(&renewed);
    let expected = CertificateDer::from_pem_slice(renewed.certificate.as_bytes()).expect("PEM");
    assert_ne!(first, expected);
    for address in [server.http, server.grpc] {
        let seen = async { while shown(address, &files).await != expected {} };
        tokio::time::timeout(PATIENCE, seen)
            .await
            .expect("the new certificate in time");
    }
    whoami(&connection).await;

    // A key that belongs to another certificate is reported, and changes nothing.
    files.write("server.key", &files.authority.certifies("localhost").key);
    server.signal("-HUP");
    logged(&server, "the previous ones stay in use").await;
    // With its cause, after what cannot be used.
    logged(&server, "the key must belong to the certificate: ").await;
    assert_eq!(shown(server.grpc, &files).await, expected);
    whoami(&connection).await;

    // Reported to look, it looks at once.
    let third = files.authority.certifies("localhost");
    files.put(&third);
    server.signal("-HUP");
    let expected = CertificateDer::from_pem_slice(third.certificate.as_bytes()).expect("PEM");
    let seen = async { while shown(server.grpc, &files).await != expected {} };
    tokio::time::timeout(PATIENCE, seen)
        .await
        .expect("the new certificate in time");
    whoami(&connection).await;
}

#[tokio::test]
async fn an_expired_certificate_is_reported_and_used() {
    let files = Files::new();
    let server = files.server();
    let expired = files.authority.certified("localhost", |params| {
        params.not_after = rcgen::date_time_ymd(2020, 1, 1);
    });
    files.put(&expired);
    // A signal before its handler is there would be lost.
    until("the certificate is reported", async || {
        server.signal("-HUP");
        server.logged().contains("the certificate is not valid now")
    })
    .await;
    drop(server);
    let log = files.server().logged();
    assert!(log.contains("the certificate is not valid now"), "{log}");
}

async fn logged(server: &Server, text: &str) {
    let found = async {
        while !server
            .log
            .lock()
            .expect("no panic")
            .iter()
            .any(|line| line.contains(text))
        {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(PATIENCE, found)
        .await
        .expect("a line in time");
}

#[tokio::test]
async fn where_clients_need_a_certificate_only_that_of_their_authority_will_do() {
    let files = Files::new();
    let (authority, stranger) = (Authority::new("of clients"), Authority::new("of strangers"));
    files.write("clients.pem", &authority.pem);
    let path = files.path("clients.pem");
    let server = files.server_with(&[("INTERLOCK_TLS_CLIENT_CA_FILE", &path)]);
    let known = authority.certifies("billing");
    let client = files.grpc(&server, Some(&known)).await.expect("TLS");
    whoami(&Connection::on(client, &[]).await).await;
    let stream = handshake(server.http, files.client(Some(&known)), &["http/1.1"])
        .await
        .expect("TLS");
    assert_eq!(account(stream).await.expect("an answer").0, StatusCode::OK);

    for shows in [
        None,
        Some(stranger.certifies("billing")),
        Some(files.authority.certifies("billing")),
    ] {
        for (address, protocol) in [(server.http, "http/1.1"), (server.grpc, "h2")] {
            // With TLS 1.3 a client is done first, and learns of the refusal when it reads.
            let stream = handshake(address, files.client(shows.as_ref()), &[protocol]).await;
            let refused = match stream {
                Ok(mut stream) => stream.read_u8().await.map(|_| ()),
                Err(error) => Err(error),
            };
            let reported = refused.expect_err("no connection").to_string();
            let expected = if shows.is_none() {
                "CertificateRequired"
            } else {
                "UnknownCA"
            };
            assert!(reported.contains(expected), "{reported}");
        }
        let called = async {
            let mut client = files.grpc(&server, shows.as_ref()).await.map_err(drop)?;
            let event = crate::support::request("AccountGetRequest", "1", json!({}));
            client
                .entity_search(tonic::Request::new(event.into()))
                .await
                .map_err(drop)
        };
        called.await.expect_err("no answer");
    }

    // Another authority of clients counts from the next connection on, for known clients, too.
    files.write("clients.pem", &stranger.pem);
    server.signal("-HUP");
    let refused = async {
        loop {
            let stream = handshake(server.http, files.client(Some(&known)), &["http/1.1"]).await;
            let Ok(stream) = stream else { return };
            if account(stream).await.is_err() {
                return;
            }
        }
    };
    tokio::time::timeout(PATIENCE, refused)
        .await
        .expect("refused in time");
}

#[tokio::test]
async fn handshakes_that_do_not_go_on_hold_up_nobody_and_are_given_up() {
    let files = Files::new();
    let server = files.server();
    let mut silent = Vec::new();
    for index in 0..400 {
        let address = [server.http, server.grpc][index % 2];
        let mut stream = TcpStream::connect(address).await.expect("a socket");
        if index % 3 == 0 {
            // The beginning of a ClientHello.
            stream
                .write_all(&[0x16, 0x03, 0x01])
                .await
                .expect("written");
        }
        silent.push(stream);
    }
    // Among those that wait, others come through.
    for address in [server.http, server.grpc] {
        handshake(address, files.client(None), &[])
            .await
            .expect("TLS");
    }
    // Nothing is sent, and the connections are ended.
    for mut stream in silent {
        let ended = tokio::time::timeout(PATIENCE, stream.read(&mut [0; 64])).await;
        assert!(matches!(ended.expect("an end in time"), Ok(0) | Err(_)));
    }
    let admin = crate::support::Rest::new(server.admin);
    // The last one is counted after it has ended.
    let counted = async {
        loop {
            let metrics = admin.get("/metrics").await.text;
            let slow = metrics.lines().find_map(|line| {
                line.strip_prefix("interlock_tls_handshakes_total{outcome=\"too_slow\"} ")
            });
            if slow.expect("a line") == "400" {
                break;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(PATIENCE, counted)
        .await
        .expect("all are counted");
}

#[test]
fn files_that_are_of_no_use_end_the_start_with_what_to_do() {
    let files = Files::new();
    files.write("empty.pem", "");
    files.write(
        "broken.pem",
        "-----BEGIN CERTIFICATE-----\n???\n-----END CERTIFICATE-----\n",
    );
    files.write(
        "no-certificate.pem",
        "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
    );
    files.write("other.key", &files.authority.certifies("localhost").key);
    let (cert, key, clients) = (
        "INTERLOCK_TLS_CERT_FILE",
        "INTERLOCK_TLS_KEY_FILE",
        "INTERLOCK_TLS_CLIENT_CA_FILE",
    );
    for (setting, name, advice) in [
        (
            cert,
            "nowhere.pem",
            "name a file that this process may read: No such file",
        ),
        (
            cert,
            "empty.pem",
            "contains no certificate; it must be a PEM file",
        ),
        (
            cert,
            "server.key",
            "contains no certificate; it must be a PEM file",
        ),
        (cert, "broken.pem", "is not a PEM file"),
        (
            cert,
            "no-certificate.pem",
            "the key must belong to the certificate",
        ),
        (
            key,
            "nowhere.key",
            "name a file that this process may read: No such file",
        ),
        (
            key,
            "server.pem",
            "contains no private key; it must be a PEM file",
        ),
        (key, "other.key", "the key must belong to the certificate"),
        (
            clients,
            "nowhere.pem",
            "name a file that this process may read: No such file",
        ),
        (
            clients,
            "empty.pem",
            "contains no certificate; it must be a PEM file",
        ),
        (clients, "no-certificate.pem", "create it again"),
        (cert, "", "needs INTERLOCK_TLS_CERT_FILE"),
        (key, "", "needs INTERLOCK_TLS_KEY_FILE"),
    ] {
        let mut settings = files.settings();
        settings.retain(|(name, _)| *name != setting);
        if !name.is_empty() {
            settings.push((setting, files.path(name)));
        }
        let (code, reported) = run(files.folder.path(), &settings, &[]);
        assert_eq!(code, Some(1), "{setting} {name}: {reported}");
        assert!(reported.contains(advice), "{setting} {name}: {reported}");
        assert!(
            name.is_empty() || reported.contains(&format!("{setting}={}", files.path(name))),
            "{reported}"
        );
    }
    let alone = [(clients, files.path("ca.pem"))];
    let (code, reported) = run(files.folder.path(), &alone, &[]);
    assert!(
        code == Some(1) && reported.contains(&format!("needs {cert} and {key}")),
        "{reported}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn commands_speak_tls_with_a_service_that_does() {
    let files = Files::new();
    let authority = Authority::new("of clients");
    files.write("clients.pem", &authority.pem);
    let known = authority.certifies("ops");
    files.write("ops.pem", &known.certificate);
    files.write("ops.key", &known.key);
    let server = files.server();
    let strict = files.server_with(&[("INTERLOCK_TLS_CLIENT_CA_FILE", &files.path("clients.pem"))]);
    let folder = files.folder.path();
    let ask = |address: &str, more: &[&str]| {
        let arguments = [&["call", "AccountGetRequest", "--address", address], more].concat();
        run(folder, &[], &arguments)
    };
    let open = format!("https://localhost:{}", server.grpc.port());
    let number = format!("https://{}", server.grpc);
    let closed = format!("localhost:{}", strict.grpc.port());
    let shown = [
        "--tls-ca",
        "ca.pem",
        "--tls-cert",
        "ops.pem",
        "--tls-key",
        "ops.key",
    ];
    for (address, more) in [
        (&open, &["--tls-ca", "ca.pem"][..]),
        (&number, &["--tls-ca", "ca.pem", "--tls-name", "localhost"]),
        (&closed, &shown),
    ] {
        let (code, reported) = ask(address, more);
        assert!(
            code == Some(0) && reported.contains("userAccountInfo"),
            "{address} {more:?}: {reported}"
        );
    }
    for (address, more, advice) in [
        (&number, &["--tls-ca", "ca.pem"][..], "not valid for name"),
        (&open, &["--tls-ca", "clients.pem"], "UnknownIssuer"),
        (
            &open,
            &["--tls-ca", "nowhere.pem"],
            "--tls-ca=nowhere.pem cannot be read",
        ),
        (
            &open,
            &["--tls-ca", "ops.key"],
            "--tls-ca=ops.key contains no certificate",
        ),
        (
            &closed,
            &["--tls-ca", "ca.pem"],
            "if the service requires a client certificate, set --tls-cert",
        ),
    ] {
        let (code, reported) = ask(address, more);
        assert!(
            code == Some(1) && reported.contains(advice),
            "{address} {more:?}: {reported}"
        );
    }
    // On the machine of the service its own settings are enough.
    let mut settings = files.settings();
    settings.push(("CYODA_GRPC_PORT", server.grpc.port().to_string()));
    files.write(
        "server.pem",
        &format!("{}{}", read(folder, "server.pem"), files.authority.pem),
    );
    let (code, reported) = run(folder, &settings, &["members"]);
    assert_eq!(code, Some(0), "{reported}");
    settings.push(("CYODA_ADMIN_PORT", server.admin.port().to_string()));
    let (code, reported) = run(folder, &settings, &["health"]);
    assert!(code == Some(0) && reported.contains("ready"), "{reported}");
}

fn read(folder: &Path, name: &str) -> String {
    std::fs::read_to_string(folder.join(name)).expect("readable")
}

#[tokio::test]
async fn nodes_that_ask_clients_for_certificates_reach_each_other() {
    let files = Files::new();
    let database = Database::new(backend::migrate);
    let url = database.url();
    let secret = "5a".repeat(32);
    let authority = files.path("ca.pem");
    let node = |name| {
        let mut settings = files.settings();
        settings.retain(|(name, _)| *name != "CYODA_STORAGE_BACKEND");
        let settings = settings.iter().map(|(name, value)| (*name, value.as_str()));
        let more = [
            ("INTERLOCK_TLS_CLIENT_CA_FILE", authority.as_str()),
            ("CYODA_STORAGE_BACKEND", "postgres"),
            ("CYODA_POSTGRES_URL", url.as_str()),
            ("CYODA_CLUSTER_ENABLED", "true"),
            ("CYODA_NODE_ID", name),
            ("CYODA_HMAC_SECRET", secret.as_str()),
        ];
        Server::on_disk(&settings.chain(more).collect::<Vec<_>>())
    };
    let (one, other) = (node("one"), node("other"));
    let shown = files.authority.certifies("someone");
    let connect = async |server: &Server| {
        let client = files.grpc(server, Some(&shown)).await.expect("TLS");
        Connection::on(client, &[]).await
    };
    let member = Member::join_on(connect(&other).await, &["red"]).await;
    let _served = member.serve(|_, _| async { Reply::Data(json!({"n": 2})) });
    let connection = connect(&one).await;
    let processor = sync_processor("p", json!({"calculationNodesTags": "red"}));
    let workflow = processed_by(json!([processor]));
    let model = governed_model(&connection, "doc", json!({"n": 1}), workflow).await;
    // The certificate was renewed; the next stream presents the new one.
    files.put(&files.authority.certifies("localhost"));
    let made = new_entity(&model, &json!({"n": 1}));
    connection.ok("EntityCreateRequest", made).await;
}
