use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use interlock_client::{ClientCredentials, Code, ErrorKind, TokenSource as _};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpListener,
};

/// A token endpoint that answers as it is asked to, and counts.
async fn endpoint(answer: &'static str) -> (String, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let url = format!(
        "http://{}/token",
        listener.local_addr().expect("its address")
    );
    let count = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&count);
    tokio::spawn(async move {
        while let Ok((mut connection, _)) = listener.accept().await {
            let mut request = vec![0; 4096];
            let length = connection.read(&mut request).await.expect("a request");
            let request = String::from_utf8_lossy(&request[..length]).to_lowercase();
            // "cl%25ient:a%20secret", since OAuth 2.0 encodes both.
            assert!(
                request.contains("authorization: basic y2wlmjvpzw50omelmjbzzwnyzxq="),
                "{request}"
            );
            counted.fetch_add(1, Ordering::SeqCst);
            connection
                .write_all(answer.as_bytes())
                .await
                .expect("an answer");
        }
    });
    (url, count)
}

const GRANTED: &str = "HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n\
    {\"access_token\": \"secret\", \"expires_in\": 60}";
const EXPIRED: &str = "HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n\
    {\"access_token\": \"secret\", \"expires_in\": 0}";
#[tokio::test]
async fn a_token_is_kept_until_it_expires_or_is_refused() {
    let (url, count) = endpoint(GRANTED).await;
    let credentials = ClientCredentials::new(url, "cl%ient", "a secret");
    for _ in 0..3 {
        assert_eq!(credentials.token().await.expect("a token"), "secret");
    }
    assert_eq!(count.load(Ordering::SeqCst), 1);
    assert!(credentials.forget("another").await);
    credentials.token().await.expect("the same token");
    assert_eq!(count.load(Ordering::SeqCst), 1);
    assert!(credentials.forget("secret").await);
    credentials.token().await.expect("another token");
    assert_eq!(count.load(Ordering::SeqCst), 2);

    let (url, count) = endpoint(EXPIRED).await;
    let credentials = ClientCredentials::new(url, "cl%ient", "a secret");
    for _ in 0..2 {
        credentials.token().await.expect("a token");
    }
    assert_eq!(count.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn a_lifetime_may_be_a_text_or_absent() {
    macro_rules! granted {
        ($lifetime:literal) => {
            concat!(
                "HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n",
                r#"{"access_token": "secret", "expires_in": "#,
                $lifetime,
                "}"
            )
        };
    }
    for answer in [
        granted!("3600"),
        granted!("3600.0"),
        granted!(r#""3599""#),
        granted!("null"),
        granted!(r#""soon""#),
        granted!("1e300"),
        "HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n{\"access_token\": \"secret\"}",
    ] {
        let (url, count) = endpoint(answer).await;
        let credentials = ClientCredentials::new(url, "cl%ient", "a secret");
        for _ in 0..2 {
            assert_eq!(credentials.token().await.expect(answer), "secret");
        }
        assert_eq!(count.load(Ordering::SeqCst), 1, "{answer}");
    }
}

#[tokio::test]
async fn only_the_refusal_of_a_token_endpoint_is_final() {
    macro_rules! answer {
        ($status:literal, $body:literal) => {
            concat!("HTTP/1.1 ", $status, "\r\nconnection: close\r\n\r\n", $body)
        };
    }
    const CUT_OFF: &str = "HTTP/1.1 200 OK\r\ncontent-length: 45\r\nconnection: close\r\n\r\n\
        {\"access_token\": \"secret\", ";
    let lost = Code::ConnectionLost;
    for (answer, code) in [
        (answer!("200 OK", "<html>starting</html>"), &lost),
        (answer!("200 OK", r#"{"hello": 1}"#), &lost),
        (CUT_OFF, &lost),
        ("what is this?\r\n\r\n", &lost),
        ("", &lost),
        (answer!("502 Bad Gateway", "<html></html>"), &lost),
        (
            answer!("503 Unavailable", r#"{"error": "temporarily_unavailable"}"#),
            &lost,
        ),
        (
            answer!("429 Too Many Requests", r#"{"error": "slow_down"}"#),
            &lost,
        ),
        (answer!("401 Unauthorized", "<html>proxy</html>"), &lost),
        (
            answer!("401 Unauthorized", r#"{"error": "invalid_client"}"#),
            &Code::Unauthorized,
        ),
        (
            answer!("400 Bad Request", r#"{"error": "unsupported_grant_type"}"#),
            &Code::Unauthorized,
        ),
        (
            answer!(
                "401 Unauthorized",
                r#"{"status": 401, "properties": {"errorCode": "UNAUTHORIZED"}}"#
            ),
            &Code::InvalidOptions,
        ),
        (
            answer!("404 Not Found", "<html></html>"),
            &Code::InvalidOptions,
        ),
    ] {
        let (url, _) = endpoint(answer).await;
        let credentials = ClientCredentials::new(url, "cl%ient", "a secret");
        let error = credentials.token().await.expect_err(answer);
        assert_eq!(error.code(), code, "{answer}: {error}");
    }
    let nowhere = ClientCredentials::new("http://127.0.0.1:1/token", "a", "b");
    let error = nowhere.token().await.expect_err("nobody listens");
    assert_eq!(error.kind(), ErrorKind::ConnectionLost);
    let error = ClientCredentials::new("no url", "a", "b")
        .token()
        .await
        .expect_err("no URL");
    assert_eq!(*error.code(), Code::InvalidOptions);
}
