//! Connectors to mail servers.

use interlock::connector::CallFailed;
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _, copy},
    net::{TcpListener, TcpStream},
};

use super::{
    connectors::{Caller, connector, json_of, refused},
    support::{
        PATIENCE,
        outside::{Identity, MailServer, Security},
    },
};

fn config(server: &MailServer, tls: &str, authority: &str) -> Value {
    json!({"type": "email", "driver": "smtp", "host": "localhost", "port": server.port, "tls": tls,
        "tls_ca": authority, "from": "Shop <shop@example.org>", "username": "ann",
        "password": "correct horse",
        "templates": {"mails/welcome.txt": "Subject: Welcome {{.name}}\n\nHello {{.name}}!\n"}})
}

fn message() -> Value {
    json!({"operation": "send", "payload": {"to": ["ann@b.example", "Bob <bob@b.example>"],
        "cc": "eve@b.example", "subject": "Grüße", "textBody": "line\n.\nend", "htmlBody": "<p>x</p>"}})
}

#[tokio::test]
async fn mail_is_sent_plainly_with_starttls_and_with_tls() {
    let identity = Identity::new();
    let caller = Caller::new();
    for (security, tls) in [
        (Security::None, "none"),
        (Security::StartTls, "starttls"),
        (Security::Tls, "tls"),
    ] {
        let server = MailServer::start(security, &identity, Some(("ann", "correct horse"))).await;
        let shop = connector(config(&server, tls, &identity.authority));
        let sent = json_of(caller.call(&shop, message()).await);
        assert_eq!(
            sent["recipients"].as_array().expect("a list").len(),
            3,
            "{sent}"
        );
        let mail = server.mails().remove(0);
        assert_eq!(mail.from, "shop@example.org");
        assert_eq!(mail.to, ["ann@b.example", "bob@b.example", "eve@b.example"]);
        assert_eq!(mail.was_secure, security != Security::None, "{tls}");
        assert!(mail.text.contains("<p>x</p>"), "{}", mail.text);
        assert!(mail.text.contains("\r\n.\r\nend"), "{}", mail.text);
        let id = mail.header("Message-ID").expect("an identifier").to_owned();
        caller.call(&shop, message()).await.expect("sent again");
        assert_eq!(
            server.mails()[1].header("Message-ID"),
            Some(&*id),
            "it is the same call"
        );
    }
}

#[tokio::test]
async fn a_template_of_the_bundle_has_the_fields_of_the_payload() {
    let identity = Identity::new();
    let server = MailServer::start(Security::None, &identity, None).await;
    let mut config = config(&server, "none", &identity.authority);
    config["to"] = json!("desk@b.example");
    config["username"] = Value::Null;
    let (caller, shop) = (Caller::new(), connector(config));
    let welcome = json!({"operation": "send", "payload": {"template": "welcome", "name": "Ann\r\nBcc: x@y.example"}});
    caller.call(&shop, welcome).await.expect("sent");
    let mail = server.mails().remove(0);
    assert_eq!(mail.to, ["desk@b.example"]);
    let (head, _) = mail.text.split_once("\r\n\r\n").expect("a body");
    assert!(!head.lines().any(|line| line.starts_with("Bcc")), "{head}");
    let missing = json!({"operation": "send", "payload": {"template": "farewell"}});
    assert!(refused(caller.call(&shop, missing).await).contains("farewell"));
}

#[tokio::test]
async fn a_subject_is_one_line_also_where_it_is_decoded() {
    let identity = Identity::new();
    let server = MailServer::start(Security::None, &identity, None).await;
    let mut config = config(&server, "none", &identity.authority);
    config["username"] = Value::Null;
    let (caller, shop) = (Caller::new(), connector(config));
    let lines = json!({"operation": "send", "payload": {"to": "ann@b.example",
        "subject": "plain\r\nBcc: evil@x.example\r\n\r\nbody", "textBody": "x"}});
    caller.call(&shop, lines).await.expect("sent");
    let mail = server.mails().remove(0);
    assert_eq!(
        mail.header("Subject"),
        Some("plain Bcc: evil@x.example body"),
        "{}",
        mail.text
    );
}

#[tokio::test]
async fn what_the_mail_server_refuses_is_a_failure_and_no_secret_is_shown() {
    let identity = Identity::new();
    let user = Some(("ann", "correct horse"));
    let server = MailServer::start(Security::StartTls, &identity, user).await;
    let caller = Caller::new();
    let usual = config(&server, "starttls", &identity.authority);
    server.refuse("nobody@b.example");
    let refused_one = json!({"operation": "send", "payload": {"to": "nobody@b.example"}});
    let message = refused(caller.call(&connector(usual.clone()), refused_one).await);
    assert!(message.contains("550"), "{message}");
    let none = json!({"operation": "send", "payload": {"textBody": "x"}});
    let message = refused(caller.call(&connector(usual.clone()), none).await);
    assert!(message.contains("no recipient"), "{message}");
    let other = json!({"operation": "receive", "payload": {}});
    refused(caller.call(&connector(usual.clone()), other).await);
    let mut wrong = usual.clone();
    wrong["password"] = json!("wrong horse battery");
    let wrong = connector(wrong);
    let message = refused(caller.call(&wrong, message_to_ann()).await);
    assert!(
        message.contains("535") && !message.contains("battery"),
        "{message}"
    );
    assert!(!format!("{wrong:?} {:?}", caller.connectors).contains("battery"));
    // A certificate that nobody trusts, and a server without TLS where it is required.
    let mut strange = usual.clone();
    strange["tls_ca"] = json!(Identity::new().authority);
    let came = caller.call(&connector(strange), message_to_ann()).await;
    assert!(
        matches!(came, Err(CallFailed::Unavailable { .. })),
        "{came:?}"
    );
    let plain = MailServer::start(Security::None, &identity, None).await;
    let plainly = connector(config(&plain, "starttls", &identity.authority));
    let came = caller.call(&plainly, message_to_ann()).await;
    assert!(came.is_err(), "STARTTLS is required");
    assert!(plain.mails().is_empty() && server.mails().is_empty());
}

/// Relays one connection to a mail server, and adds to its answer to `STARTTLS`.
async fn adding(to: u16, added: &'static [u8]) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let port = listener.local_addr().expect("an address").port();
    tokio::spawn(async move {
        let (client, _) = listener.accept().await.expect("a connection");
        let server = TcpStream::connect(("127.0.0.1", to)).await;
        let (mut from_client, mut to_client) = client.into_split();
        let (mut from_server, mut to_server) = server.expect("a server").into_split();
        let down = async {
            let mut chunk = [0; 4096];
            loop {
                let count = from_server.read(&mut chunk).await?;
                if count == 0 {
                    return Ok(());
                }
                let mut sent = chunk[..count].to_vec();
                if sent == *b"220 go ahead\r\n" {
                    sent.extend(added);
                }
                to_client.write_all(&sent).await?;
            }
        };
        // It fails once the connection is left.
        let _ = tokio::try_join!(down, copy(&mut from_client, &mut to_server));
    });
    port
}

/// An attacker on the connection can add to what is not encrypted yet: none of it is an answer of the
/// server.
#[tokio::test]
async fn answers_from_before_tls_are_no_answers_of_the_server() {
    let identity = Identity::new();
    let user = Some(("ann", "correct horse"));
    for added in [
        &b"250-real\r\n250 AUTH PLAIN LOGIN\r\n"[..],
        b"250-real\r\n250 AUTH PLAIN LOGIN\r\n235 ok\r\n250 ok\r\n250 ok\r\n354 go\r\n250 queued\r\n",
    ] {
        let server = MailServer::start(Security::StartTls, &identity, user).await;
        let mut config = config(&server, "starttls", &identity.authority);
        config["port"] = json!(adding(server.port, added).await);
        let came = Caller::new().call(&connector(config), message_to_ann()).await;
        assert!(
            matches!(came, Err(CallFailed::Unavailable { .. })),
            "{came:?}"
        );
        assert!(server.mails().is_empty());
    }
}

#[tokio::test]
async fn a_server_that_never_ends_its_line_is_left() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let sending = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.expect("a connection");
        while stream.write_all(&[b'2'; 8 << 10]).await.is_ok() {}
    });
    let server = connector(json!({
        "type": "email", "host": "127.0.0.1", "port": port, "tls": "none",
        "from": "shop@a.example",
    }));
    let came = Caller::new().call(&server, message_to_ann()).await;
    assert!(
        matches!(&came, Err(CallFailed::Unavailable { message }) if message.contains("more than 65536 bytes")),
        "{came:?}"
    );
    let ended = tokio::time::timeout(PATIENCE, sending).await;
    ended.expect("it is left").expect("it ends");
}

/// The message was accepted: to wait for more would have it sent again.
#[tokio::test]
async fn a_server_that_does_not_answer_the_goodbye_has_the_message() {
    let identity = Identity::new();
    let server = MailServer::start(Security::None, &identity, None).await;
    server.ignore_quit();
    let mut config = config(&server, "none", &identity.authority);
    config["username"] = Value::Null;
    config["timeout"] = json!(5_000);
    let connector = connector(config);
    let caller = Caller::new();
    let sent = json_of(caller.call(&connector, message_to_ann()).await);
    assert_eq!(sent["recipients"], json!(["ann@b.example"]), "{sent}");
    assert_eq!(server.mails().len(), 1);
}

fn message_to_ann() -> Value {
    json!({"operation": "send", "payload": {"to": "ann@b.example", "textBody": "x"}})
}
