//! Connectors to HTTP servers.

use std::{sync::Arc, time::Duration};

use interlock::{
    connector::{CallFailed, Connectors, Settings, Trust, Wrong},
    id::Tenant,
};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpListener,
    task::JoinHandle,
};
use tokio_util::sync::CancellationToken;

use super::{
    connectors::{Caller, connector, json_of, of_trust, refused},
    support::{
        PATIENCE,
        outside::{Behaviour, Identity, Outside},
    },
};

fn charge() -> Value {
    json!({"operation": "POST /charges", "payload": {"amount": 99.99}})
}

fn config(outside: &Outside) -> Value {
    json!({"type": "http", "base_url": outside.url()})
}

fn unavailable(came: Result<String, CallFailed>) -> String {
    match came.expect_err("a failure") {
        CallFailed::Unavailable { message } | CallFailed::Lost { message } => message,
        other @ (CallFailed::Failed { .. }
        | CallFailed::Unusable { .. }
        | CallFailed::TimedOut(_)
        | CallFailed::NothingDone(_)
        | CallFailed::Cancelled
        | CallFailed::NotSent) => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_call_carries_its_payload_its_credentials_and_its_key() {
    let outside = Outside::start().await;
    outside.on(
        "POST /v1/charges",
        Behaviour::Json(200, json!({"charge_id": "c1"})),
    );
    outside.on("GET /v1/users/7", Behaviour::Json(200, json!([])));
    let caller = Caller::new();
    let mut config = config(&outside);
    config["base_url"] = json!(format!("{}/v1/", outside.url()));
    config["headers"] = json!({"X-Shop": "one"});
    config["auth"] = json!({"type": "bearer", "token": "sk_test_1"});
    let stripe = connector(config.clone());
    let text =
        r#"{"operation":"POST /charges","payload":{"amount":99.990,"n":12345678901234567890}}"#;
    let came = caller.call_text(&stripe, text).await;
    assert_eq!(came.as_deref(), Ok(r#"{"charge_id":"c1"}"#));
    let seen = outside.seen().remove(0);
    assert_eq!(seen.body, r#"{"amount":99.990,"n":12345678901234567890}"#);
    let header = |name: &str| seen.headers.get(name).map(String::as_str);
    assert_eq!(header("authorization"), Some("Bearer sk_test_1"));
    assert_eq!(header("idempotency-key"), Some("wf_1:step:action"));
    assert_eq!(header("content-type"), Some("application/json"));
    assert_eq!(header("x-shop"), Some("one"));
    let user = json!({"operation": "GET /users/:id", "params": {"id": 7}, "payload": {"q": "a&b"}});
    assert_eq!(json_of(caller.call(&stripe, user).await), json!([]));
    let seen = outside.seen();
    assert_eq!(seen[1].line, "GET /v1/users/7?q=a%26b");
    assert_eq!(
        seen[1].connection, seen[0].connection,
        "connections are kept"
    );
    config["auth"] = json!({"type": "basic", "username": "ann", "password": "hidden"});
    caller
        .call(&connector(config.clone()), charge())
        .await
        .expect("basic");
    config["auth"] = json!({"type": "api_key", "key": "k1"});
    caller
        .call(&connector(config), charge())
        .await
        .expect("a key");
    let seen = outside.seen();
    assert_eq!(seen[2].headers["authorization"], "Basic YW5uOmhpZGRlbg==");
    assert_eq!(seen[3].headers["x-api-key"], "k1");
}

#[tokio::test]
async fn an_answer_is_json_text_or_null_and_a_status_from_300_a_failure() {
    let outside = Outside::start().await;
    let (caller, stripe) = (Caller::new(), connector(config(&outside)));
    let line = "POST /charges";
    let digits = r#"{"a":1.50,"b":12345678901234567890}"#;
    outside.next(line, Behaviour::Text(200, format!(" {digits} ")));
    assert_eq!(caller.call(&stripe, charge()).await.as_deref(), Ok(digits));
    outside.next(line, Behaviour::Text(200, format!("\u{feff}{digits}")));
    let came = caller.call(&stripe, charge()).await;
    assert_eq!(came.as_deref(), Ok(digits), "after a byte order mark");
    outside.next(line, Behaviour::Text(201, "done \"it\"".to_owned()));
    assert_eq!(
        caller.call(&stripe, charge()).await.as_deref(),
        Ok(r#""done \"it\"""#)
    );
    outside.next(line, Behaviour::Empty(204));
    assert_eq!(caller.call(&stripe, charge()).await.as_deref(), Ok("null"));
    outside.next(
        line,
        Behaviour::Json(402, json!({"error": "card_declined"})),
    );
    let declined = caller.call(&stripe, charge()).await;
    assert_eq!(
        declined,
        Err(CallFailed::Failed {
            message: "POST /charges answered 402".to_owned(),
            output: Some(r#"{"error":"card_declined"}"#.into()),
        })
    );
    outside.next(
        line,
        Behaviour::Redirect(format!("{}/elsewhere", outside.url())),
    );
    assert_eq!(
        refused(caller.call(&stripe, charge()).await),
        "POST /charges answered 302; redirects are not followed"
    );
    assert!(outside.seen_at("POST /elsewhere").is_empty());
    assert!(outside.seen_at("GET /elsewhere").is_empty());
    outside.next(line, Behaviour::Text(400, "x".repeat(2 << 20)));
    assert!(refused(caller.call(&stripe, charge()).await).contains("more than 1048576 bytes"));
    outside.next(line, Behaviour::Text(200, "x".repeat(2 << 20)));
    let done = caller.call(&stripe, charge()).await;
    assert!(
        matches!(&done, Err(CallFailed::Unusable { message }) if message.contains("more than")),
        "{done:?}"
    );
    for operation in [
        "POST",
        "/charges",
        "charge",
        "POST http://other/",
        "GET /a b",
    ] {
        refused(caller.call(&stripe, json!({"operation": operation})).await);
    }
}

/// A server that takes one connection, and answers with these bytes once, or again and again.
async fn answering(bytes: &'static [u8], repeats: bool) -> (Value, JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    let task = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.expect("a connection");
        let mut request = [0; 4 << 10];
        let _ = stream.read(&mut request).await;
        while stream.write_all(bytes).await.is_ok() && repeats {}
        // Until the other end closes it.
        while stream.read(&mut request).await.is_ok_and(|read| read > 0) {}
    });
    let config = json!({"type": "http", "base_url": format!("http://{address}")});
    (config, task)
}

#[tokio::test]
async fn a_server_that_sends_interim_answers_without_end_is_left() {
    let (config, sending) = answering(b"HTTP/1.1 100 Continue\r\n\r\n", true).await;
    let came = Caller::new().call(&connector(config), charge()).await;
    assert!(
        matches!(&came, Err(CallFailed::Lost { message }) if message.contains("more than 262144")),
        "{came:?}"
    );
    let ended = tokio::time::timeout(PATIENCE, sending).await;
    ended.expect("it is left").expect("it ends");
}

#[tokio::test]
async fn text_in_latin_1_is_read_if_the_answer_says_so() {
    let head = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Type: text/plain";
    for (charset, expected) in [
        ("; charset=ISO-8859-1", Some("\"Grüße\"")),
        ("; charset=utf-8", None),
        ("", None),
    ] {
        let mut answer = format!("{head}{charset}\r\n\r\n").into_bytes();
        answer.extend(b"Gr\xfc\xdfe");
        let (config, _sending) = answering(answer.leak(), false).await;
        let came = Caller::new().call(&connector(config), charge()).await;
        match expected {
            Some(_) => assert_eq!(came.as_deref().ok(), expected, "{came:?}"),
            None => assert!(matches!(came, Err(CallFailed::Unusable { .. })), "{came:?}"),
        }
    }
}

#[tokio::test]
async fn a_result_that_has_the_text_of_a_header_stays_as_it_is() {
    let outside = Outside::start().await;
    let digits = r#"{"day":"2024-06-20","type":"application/json","n":20240620,"id":"hdr-5f8e2c"}"#;
    outside.on("GET /day", Behaviour::Text(200, digits.to_owned()));
    let mut config = config(&outside);
    config["headers"] = json!({"Accept": "application/json", "X-Version": "2024-06-20",
        "X-Number": "20240620", "X-Key": "hdr-5f8e2c"});
    let mut dated = connector(config);
    dated.values = vec!["hdr-5f8e2c".into()];
    let caller = Caller::new();
    let came = caller.call(&dated, json!({"operation": "GET /day"})).await;
    let shown = digits.replace("hdr-5f8e2c", "***");
    assert_eq!(came.as_deref(), Ok(&*shown), "what env() gave is cut");
}

#[tokio::test]
async fn servers_that_break_off_are_unavailable_and_retries_have_the_same_key() {
    let outside = Outside::start().await;
    outside.deduplicates();
    let line = "POST /charges";
    outside.on(line, Behaviour::Json(200, json!({"charge_id": "c1"})));
    let caller = Caller::new();
    let once = connector(config(&outside));
    for behaviour in [Behaviour::Garbage, Behaviour::CloseWithin, Behaviour::Close] {
        let fresh = Outside::start().await;
        fresh.on(line, behaviour.clone());
        let came = caller.call(&connector(config(&fresh)), charge()).await;
        let message = unavailable(came);
        assert!(
            message.starts_with("POST /charges: "),
            "{behaviour:?}: {message}"
        );
        assert_eq!(fresh.seen().len(), 1);
    }
    let mut config = config(&outside);
    config["retry"] = json!({"attempts": 3});
    let thrice = connector(config);
    // It acts, and breaks off: the repetition has no second effect.
    outside.next(line, Behaviour::Json(503, json!({})));
    outside.next(line, Behaviour::Close);
    assert_eq!(
        json_of(caller.call(&thrice, charge()).await),
        json!({"charge_id": "c1"})
    );
    assert_eq!((outside.seen().len(), outside.effects().len()), (3, 1));
    assert!(
        outside
            .seen()
            .iter()
            .all(|seen| seen.key() == "wf_1:step:action")
    );
    // What the server refuses is not sent again, and 5xx no more often than asked.
    let other = Outside::start().await;
    other.on(line, Behaviour::Json(409, json!({})));
    let mut config = json!({"type": "http", "base_url": other.url(), "retry": {"attempts": 3}});
    refused(caller.call(&connector(config.clone()), charge()).await);
    assert_eq!(other.seen().len(), 1);
    other.on(line, Behaviour::Json(500, json!({})));
    config["retry"] = json!({"attempts": 2});
    let message = refused(caller.call(&connector(config), charge()).await);
    assert_eq!(message, "POST /charges answered 500");
    assert_eq!(other.seen().len(), 3);
    drop(outside);
    unavailable(caller.call(&once, charge()).await);
}

/// What a server says that fails is no proof that an earlier attempt had no effect.
#[tokio::test]
async fn an_attempt_that_was_lost_is_not_settled_by_a_server_that_fails() {
    let outside = Outside::start().await;
    let mut config = config(&outside);
    config["retry"] = json!({"attempts": 2});
    let (caller, stripe) = (Caller::new(), connector(config));
    let line = "POST /charges";
    outside.next(line, Behaviour::Close);
    outside.next(line, Behaviour::Empty(503));
    let lost = caller.call(&stripe, charge()).await;
    assert!(matches!(lost, Err(CallFailed::Lost { .. })), "{lost:?}");
    outside.next(line, Behaviour::Close);
    outside.next(line, Behaviour::Empty(402));
    let declined = caller.call(&stripe, charge()).await;
    assert!(
        matches!(declined, Err(CallFailed::Failed { .. })),
        "{declined:?}"
    );
    // These are about the second attempt only.
    for status in [302, 401, 403, 404, 405, 421] {
        outside.next(line, Behaviour::Close);
        outside.next(line, Behaviour::Empty(status));
        let lost = caller.call(&stripe, charge()).await;
        assert!(
            matches!(&lost, Err(CallFailed::Lost { message }) if message.contains(&status.to_string())),
            "{lost:?}"
        );
    }
}

/// Such a server knows the key, and has not finished the first request with it.
#[tokio::test]
async fn a_server_that_is_at_work_on_an_attempt_that_was_lost_is_asked_again() {
    let outside = Outside::start().await;
    let mut config = config(&outside);
    config["retry"] = json!({"attempts": 2});
    let (caller, stripe) = (Caller::new(), connector(config));
    let line = "POST /charges";
    outside.on(line, Behaviour::Json(200, json!({"charge_id": "c1"})));
    for behaviour in [
        Behaviour::Close,
        Behaviour::Empty(409),
        Behaviour::Empty(425),
    ] {
        outside.next(line, behaviour);
    }
    let done = caller.call(&stripe, charge()).await;
    assert_eq!(json_of(done), json!({"charge_id": "c1"}));
    let seen = outside.seen();
    assert_eq!(seen.len(), 4);
    assert!(seen.iter().all(|seen| seen.key() == "wf_1:step:action"));
}

#[tokio::test]
async fn a_server_that_hangs_is_left_at_the_deadline_or_when_cancelled() {
    let outside = Outside::start().await;
    outside.on("POST /charges", Behaviour::Hang);
    let caller = Caller::new();
    let mut config = config(&outside);
    config["timeout"] = json!(500);
    let limit = Duration::from_millis(500);
    let late = caller.call(&connector(config.clone()), charge()).await;
    assert_eq!(late, Err(CallFailed::TimedOut(limit)));
    config["timeout"] = json!(60_000);
    let hanging = connector(config);
    let never = CancellationToken::new();
    let request = charge().to_string();
    let late = caller.bounded(&hanging, &request, limit, &never);
    assert_eq!(late.await, Err(CallFailed::TimedOut(limit)));
    let cancel = CancellationToken::new();
    let call = caller.bounded(&hanging, &request, PATIENCE, &cancel);
    let cancelling = async {
        outside.has_seen(3).await;
        cancel.cancel();
    };
    let (stopped, ()) = tokio::join!(call, cancelling);
    assert_eq!(stopped, Err(CallFailed::Cancelled));
}

#[tokio::test]
async fn an_attempt_that_is_not_answered_in_time_is_repeated() {
    let outside = Outside::start().await;
    outside.on("POST /charges", Behaviour::Json(200, json!({"n": 1})));
    outside.next("POST /charges", Behaviour::Hang);
    let mut config = config(&outside);
    config["timeout"] = json!(1_000);
    config["retry"] = json!({"attempts": 5});
    let done = Caller::new().call(&connector(config), charge()).await;
    assert_eq!(json_of(done), json!({"n": 1}));
    assert!(outside.seen().len() > 1);
}

#[tokio::test]
async fn a_connector_that_hangs_delays_no_other_and_has_few_calls_out() {
    let (slow, quick) = (Outside::start().await, Outside::start().await);
    slow.on("POST /charges", Behaviour::Hang);
    quick.on("POST /charges", Behaviour::Json(200, json!({})));
    let caller = Arc::new(Caller::new());
    let hanging = Arc::new(connector(config(&slow)));
    let stop = CancellationToken::new();
    let mut waiting = tokio::task::JoinSet::new();
    for _ in 0..100 {
        let (caller, hanging, stop) = (Arc::clone(&caller), Arc::clone(&hanging), stop.clone());
        waiting.spawn(async move {
            let request = charge().to_string();
            caller.bounded(&hanging, &request, PATIENCE, &stop).await
        });
    }
    slow.has_seen(5).await;
    let quick = connector(config(&quick));
    caller.call(&quick, charge()).await.expect("an answer");
    let other = Caller {
        connectors: caller.connectors.clone(),
        tenant: Tenant::from("other"),
    };
    other.call(&quick, charge()).await.expect("an answer");
    assert_eq!(slow.seen().len(), 5, "no more than its connections");
    stop.cancel();
    while let Some(stopped) = waiting.join_next().await {
        assert_eq!(stopped.expect("no panic"), Err(CallFailed::Cancelled));
    }
}

#[tokio::test]
async fn a_call_that_is_given_up_before_it_has_a_connection_is_not_sent() {
    let outside = Outside::start().await;
    outside.on("POST /charges", Behaviour::Hang);
    let caller = Caller::with(Settings {
        private_networks: true,
        connections_max: 1,
        ..Settings::default()
    });
    let hanging = connector(config(&outside));
    let (never, given_up) = (CancellationToken::new(), CancellationToken::new());
    let request = charge().to_string();
    let mut sent = std::pin::pin!(caller.until(&hanging, &request, PATIENCE, &never, &given_up));
    tokio::select! {
        came = &mut sent => panic!("{came:?}"),
        () = outside.has_seen(1) => {}
    }
    let waiting = caller.until(&hanging, &request, PATIENCE, &never, &given_up);
    let giving_up = async { given_up.cancel() };
    let (waiting, ()) = tokio::join!(waiting, giving_up);
    assert_eq!(waiting, Err(CallFailed::NotSent));
    // What was sent is still waited for.
    assert!(futures_util::poll!(&mut sent).is_pending());
    assert_eq!(outside.seen().len(), 1);
}

#[tokio::test]
async fn private_addresses_are_refused_to_uploads_however_they_are_written() {
    let outside = Outside::start().await;
    outside.on("POST /charges", Behaviour::Json(200, json!({})));
    let caller = Caller::with(Settings::default());
    let port = outside.address.port();
    for host in [
        "127.0.0.1",
        "localhost",
        "2130706433",
        "[::ffff:127.0.0.1]",
        "0x7f.1",
        "169.254.169.254",
    ] {
        let config = json!({"type": "http", "base_url": format!("http://{host}:{port}")});
        let uploaded = connector(config.clone());
        let message = unavailable(caller.call(&uploaded, charge()).await);
        assert!(
            message.contains("public internet") || message.contains("local network"),
            "{message}"
        );
        let settings = caller.connectors.settings();
        let checked =
            Connectors::check(&caller.tenant, &uploaded.config, Trust::Uploaded, settings);
        let wrong = checked.expect_err(host);
        assert!(
            matches!(&wrong[0], Wrong::Forbidden(why) if why.contains("PRIVATE_NETWORKS")),
            "{wrong:?}"
        );
    }
    assert!(outside.seen().is_empty());
    // A database server without a host is on this machine.
    for driver in ["postgres", "mysql"] {
        let config = json!({"type": "database", "driver": driver, "database": "d", "user": "u"});
        let nowhere = connector(config);
        let settings = caller.connectors.settings();
        let checked = Connectors::check(&caller.tenant, &nowhere.config, Trust::Uploaded, settings);
        let wrong = checked.expect_err(driver);
        assert!(
            matches!(&wrong[0], Wrong::Forbidden(why) if why.contains("`localhost`")),
            "{wrong:?}"
        );
    }
    let operators = of_trust(config(&outside), Trust::Operator);
    caller.call(&operators, charge()).await.expect("allowed");
}

#[tokio::test]
async fn a_certificate_must_be_of_a_trusted_authority() {
    let (own, strange) = (Identity::new(), Identity::new());
    let outside = Outside::secure(&own).await;
    outside.on("POST /charges", Behaviour::Json(200, json!({"ok": true})));
    let caller = Caller::new();
    let with = |authority: Option<&str>| {
        let mut config = config(&outside);
        config["tls_ca"] = json!(authority);
        connector(config)
    };
    let came = caller.call(&with(Some(&own.authority)), charge()).await;
    assert_eq!(json_of(came), json!({"ok": true}));
    unavailable(caller.call(&with(Some(&strange.authority)), charge()).await);
    unavailable(caller.call(&with(None), charge()).await);
    // The file of a path is read for operators alone.
    refused(caller.call(&with(Some("/etc/passwd")), charge()).await);
}

#[tokio::test]
async fn secrets_are_cut_out_of_what_is_answered_and_shown() {
    let outside = Outside::start().await;
    outside.on("POST /charges", Behaviour::Echo);
    outside.on(
        "POST /fail",
        Behaviour::Json(500, json!({"you sent": "Bearer sk_secret_1"})),
    );
    let caller = Caller::new();
    let mut config = config(&outside);
    config["auth"] = json!({"type": "bearer", "token": "sk_secret_1"});
    config["headers"] = json!({"x-other": "quo\"ted secret"});
    let mut stripe = connector(config);
    // What `env()` has given.
    stripe.values = vec!["quo\"ted secret".into()];
    let echoed = caller.call(&stripe, charge()).await.expect("an answer");
    assert!(echoed.contains("Bearer ***"), "{echoed}");
    assert!(
        !echoed.contains("sk_secret_1") && !echoed.contains("ted secret"),
        "{echoed}"
    );
    serde_json::from_str::<Value>(&echoed).expect("still JSON");
    let failed = caller
        .call(&stripe, json!({"operation": "POST /fail"}))
        .await;
    let shown = format!("{failed:?} {stripe:?} {:?}", caller.connectors);
    assert!(!shown.contains("sk_secret_1"), "{shown}");
}
