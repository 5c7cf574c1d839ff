//! Messages: kept, read, deleted, through REST and as events (`rest.md` §6).

use serde_json::{Value, json};

use crate::support::{
    Connection, Member, Reply, Rest, Server, code, governed_model, new_entity, processed_by,
    sync_processor,
};

const NIL: &str = "00000000-0000-0000-0000-000000000000";

fn sender(server: &Server) -> Rest {
    server.rest().with("content-type", "application/json")
}

async fn send(rest: &Rest, body: &str) -> String {
    let made = rest
        .post("/api/message/new/orders", body.to_owned())
        .await
        .ok();
    assert!(
        made[0]["transactionId"].is_string() && made.as_array().map(Vec::len) == Some(1),
        "{made}"
    );
    made[0]["entityIds"][0].as_str().expect("an id").to_owned()
}

#[tokio::test]
async fn a_message_is_kept_as_it_was_sent() {
    let server = Server::start();
    let rest = sender(&server)
        .with("x-message-id", "m-1")
        .with("x-user-id", "ann")
        .with("x-recipient", "bob")
        .with("x-reply-to", "ann's desk")
        .with("x-correlation-id", "c-1");
    let body = "{\"payload\": {\"b\": 9007199254740993, \"a\": [1.50, 1e2,\n12345678901234567890.123456789], \"ü\": null}, \"metaData\": {\"k\": 1.0}}";
    let id = send(&rest, body).await;
    let said = rest.get(&format!("/api/message/{id}")).await;
    let content =
        r#"{"b":9007199254740993,"a":[1.50,1e2,12345678901234567890.123456789],"ü":null}"#;
    assert_eq!(
        said.text,
        format!(
            concat!(
                r#"{{"header":{{"subject":"orders","contentType":"application/json","contentLength":{},"contentEncoding":"UTF-8","#,
                r#""messageId":"m-1","userId":"ann","recipient":"bob","replyTo":"ann's desk","correlationId":"c-1"}},"#,
                r#""metaData":{{"k":1.0}},"content":{}}}"#,
                "\n"
            ),
            body.len(),
            content
        )
    );
    let old = rest.get(&format!("/api/message/get/{id}")).await.ok();
    assert_eq!(
        (&old["content"], &old["metaData"]),
        (
            &json!(content),
            &json!({"values": {"k": 1.0}, "indexedValues": {}})
        )
    );
    let deleted = rest.delete(&format!("/api/message/{id}")).await.ok();
    assert_eq!(deleted, json!({"entityIds": [id]}));
    for path in [
        format!("/api/message/{id}"),
        format!("/api/message/get/{id}"),
    ] {
        let problem = rest.get(&path).await.refused(404, "ENTITY_NOT_FOUND");
        assert_eq!(problem["properties"]["messageId"], json!(id));
    }
    let again = rest.delete(&format!("/api/message/{id}")).await;
    again.refused(404, "ENTITY_NOT_FOUND");
}

#[tokio::test]
async fn what_is_missing_or_wrong_is_reported() {
    let server = Server::start();
    let rest = sender(&server);
    let plain = server.rest();
    let without_type = plain.post("/api/message/new/s", r#"{"payload":1}"#).await;
    let problem = without_type.refused(400, "BAD_REQUEST");
    assert_eq!(problem["properties"]["parameter"], "Content-Type");
    for body in [
        "",
        "[]",
        "{}",
        r#"{"content":1}"#,
        r#"{"payload":1"#,
        r#"{"payload":1,"metaData":[]}"#,
    ] {
        rest.post("/api/message/new/s", body)
            .await
            .refused(400, "BAD_REQUEST");
    }
    let deep = format!("{{\"payload\":{}{}}}", "[".repeat(300), "]".repeat(300));
    for (body, reported) in [
        (deep.as_str(), "invalid payload: nested deeper"),
        (
            r#"{"payload":{"a":1,"a":2}}"#,
            "invalid payload: the member `a`",
        ),
        (r#"{"payload":1,"metaData":{},"meta-data":{}}"#, "duplicate"),
        (r#"{"payload":"\ud800"}"#, "invalid payload"),
    ] {
        let said = rest.post("/api/message/new/s", body.to_owned()).await;
        let problem = said.refused(400, "BAD_REQUEST");
        let detail = problem["detail"].as_str().expect("a detail");
        assert!(detail.contains(reported), "{detail}");
    }
    let problem = rest.get("/api/message/x").await.refused(400, "BAD_REQUEST");
    assert_eq!(problem["properties"]["parameter"], "messageId");
    rest.delete("/api/message/x")
        .await
        .refused(400, "BAD_REQUEST");
    for ids in ["", "{}", "[1]", r#"["x"]"#] {
        rest.send("DELETE", "/api/message", ids)
            .await
            .refused(400, "BAD_REQUEST");
    }
    let large = vec![b' '; (10 << 20) + 1];
    rest.post("/api/message/new/s", large.clone())
        .await
        .refused(413, "BAD_REQUEST");
    rest.send("DELETE", "/api/message", large)
        .await
        .refused(413, "BAD_REQUEST");
    // As much as fits is kept.
    let text = "x".repeat((10 << 20) - 14);
    let id = send(&rest, &format!("{{\"payload\":\"{text}\"}}")).await;
    let kept = rest.get(&format!("/api/message/{id}")).await.ok();
    assert!(kept["content"] == json!(text));
}

#[tokio::test]
async fn a_body_without_a_length_is_refused() {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    let server = Server::start();
    let mut socket = tokio::net::TcpStream::connect(server.http)
        .await
        .expect("connects");
    socket
        .write_all(b"POST /api/message/new/s HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-type: a/b\r\ntransfer-encoding: chunked\r\n\r\nd\r\n{\"payload\":1}\r\n0\r\n\r\n")
        .await
        .expect("sent");
    let mut answer = String::new();
    socket.read_to_string(&mut answer).await.expect("text");
    assert!(
        answer.starts_with("HTTP/1.1 400") && answer.contains("content-length"),
        "{answer}"
    );
}

#[tokio::test]
async fn both_spellings_of_metadata_are_taken_and_null_is_a_content() {
    let server = Server::start();
    let rest = sender(&server);
    for (body, metadata) in [
        (r#"{"payload":null}"#, json!({})),
        (r#"{"payload":null,"metaData":null}"#, json!({})),
        (r#"{"payload":null,"meta-data":{"a":1}}"#, json!({"a": 1})),
    ] {
        let id = send(&rest, body).await;
        let message = rest.get(&format!("/api/message/{id}")).await.ok();
        assert_eq!(
            (&message["content"], &message["metaData"]),
            (&Value::Null, &metadata)
        );
    }
}

#[tokio::test]
async fn many_are_deleted_at_once_and_unknown_ones_are_no_error() {
    let server = Server::start();
    let rest = sender(&server);
    let mut ids = Vec::new();
    for n in 0..3 {
        ids.push(send(&rest, &format!("{{\"payload\":{n}}}")).await);
    }
    let kept = ids.pop().expect("one");
    ids.push(NIL.to_owned());
    let answer = rest
        .send(
            "DELETE",
            "/api/message?transactionSize=1",
            json!(ids).to_string(),
        )
        .await
        .ok();
    assert_eq!(answer, json!([{"entityIds": ids, "success": true}]));
    for id in &ids {
        rest.get(&format!("/api/message/{id}"))
            .await
            .refused(404, "ENTITY_NOT_FOUND");
    }
    rest.get(&format!("/api/message/{kept}")).await.ok();
    let none = rest.send("DELETE", "/api/message", "[]").await.ok();
    assert_eq!(none, json!([{"entityIds": [], "success": true}]));
    // More than one text of the database takes.
    let many: Vec<_> = (0..3_000).map(|_| NIL).chain([kept.as_str()]).collect();
    rest.send("DELETE", "/api/message", json!(many).to_string())
        .await
        .ok();
    rest.get(&format!("/api/message/{kept}"))
        .await
        .refused(404, "ENTITY_NOT_FOUND");
}

async fn say(connection: &Connection, content: Value) -> String {
    let answer = connection
        .ok(
            "MessageCreateRequest",
            json!({"header": {"subject": "s"}, "payload": content}),
        )
        .await;
    answer["entityIds"][0].as_str().expect("an id").to_owned()
}

#[tokio::test]
async fn events_say_the_same_and_tenants_do_not_see_each_other() {
    let server = Server::with(&[("INTERLOCK_IAM_MOCK_CALLER", "true")]);
    let ours = server.connect_as(&[("x-mock-tenant", "a")]).await;
    let theirs = server.connect_as(&[("x-mock-tenant", "b")]).await;
    let id = say(&ours, json!({"n": 1})).await;
    let message = ours.ok("MessageGetRequest", json!({"messageId": id})).await;
    assert_eq!(
        message["header"],
        json!({"subject": "s", "contentType": "application/json", "contentLength": 7, "contentEncoding": "UTF-8"})
    );
    assert_eq!(
        (&message["content"], &message["metaData"]),
        (&json!({"n": 1}), &json!({}))
    );
    for (kind, payload) in [
        ("MessageGetRequest", json!({"messageId": id})),
        ("MessageDeleteRequest", json!({"messageId": id})),
        ("MessageGetRequest", json!({"messageId": "x"})),
    ] {
        let refused = theirs.call(kind, payload).await;
        assert_eq!(code(&refused), "ENTITY_NOT_FOUND", "{refused}");
        assert!(refused["error"]["properties"]["messageId"].is_string());
    }
    theirs
        .ok("MessageDeleteRequest", json!({"messageIds": [id]}))
        .await;
    ours.ok("MessageGetRequest", json!({"messageId": id})).await;
    ours.ok("MessageDeleteRequest", json!({"messageId": id}))
        .await;
    for payload in [json!({}), json!({"messageId": id, "messageIds": []})] {
        let refused = ours.call("MessageDeleteRequest", payload).await;
        assert_eq!(code(&refused), "BAD_REQUEST", "{refused}");
    }
}

#[tokio::test]
async fn messages_outlive_the_process() {
    let mut server = Server::on_disk(&[]);
    let (kept, gone) = {
        let connection = server.connect().await;
        let kept = say(&connection, json!("kept")).await;
        let gone = say(&connection, json!("gone")).await;
        connection
            .ok("MessageDeleteRequest", json!({"messageId": gone}))
            .await;
        (kept, gone)
    };
    server.kill();
    server.restart();
    let rest = server.rest();
    let message = rest.get(&format!("/api/message/{kept}")).await.ok();
    assert_eq!(message["content"], "kept");
    rest.get(&format!("/api/message/{gone}"))
        .await
        .refused(404, "ENTITY_NOT_FOUND");
}

#[tokio::test]
async fn a_message_of_a_transaction_is_there_when_and_only_if_that_commits() {
    let server = Server::start();
    let connection = server.connect().await;
    let member = Member::join(&server, &[]).await;
    let model = governed_model(
        &connection,
        "doc",
        json!({"fail": true, "id": "x"}),
        processed_by(json!([sync_processor("p", json!({}))])),
    )
    .await;
    let (reported, mut made) = tokio::sync::mpsc::unbounded_channel();
    member.serve(move |call, connection| {
        let reported = reported.clone();
        async move {
            let token = call.token().to_owned();
            let with = [("cyodatxtoken", token.as_str())];
            let payload = json!({"header": {"subject": "s"}, "payload": 1});
            let answer = connection
                .call_with("MessageCreateRequest", payload, &with)
                .await;
            assert_eq!(answer["transactionId"], call.payload["transactionId"]);
            let id = answer["entityIds"][0].as_str().expect("an id").to_owned();
            let get = json!({"messageId": id});
            let inside = connection
                .call_with("MessageGetRequest", get.clone(), &with)
                .await;
            assert_eq!(inside["content"], 1, "{inside}");
            let outside = connection.fails("MessageGetRequest", get.clone()).await;
            assert_eq!(outside, "ENTITY_NOT_FOUND");
            // Another one is taken back before anyone could see it.
            let payload = json!({"header": {"subject": "s"}, "payload": 2});
            let other = connection
                .call_with("MessageCreateRequest", payload, &with)
                .await;
            let other = json!({"messageId": other["entityIds"][0]});
            for success in [true, false] {
                let answer = connection
                    .call_with("MessageDeleteRequest", other.clone(), &with)
                    .await;
                assert_eq!(answer["success"], success, "{answer}");
            }
            reported.send((id, other)).expect("someone waits");
            if call.data()["fail"] == true {
                Reply::Failure("no")
            } else {
                Reply::Nothing
            }
        }
    });
    for fails in [true, false] {
        let create = new_entity(&model, &json!({"fail": fails}));
        let answer = connection.call("EntityCreateRequest", create).await;
        assert_eq!(answer["success"], !fails, "{answer}");
        let (id, other) = made.recv().await.expect("a message");
        let message = connection
            .call("MessageGetRequest", json!({"messageId": id}))
            .await;
        assert_eq!(message["success"], !fails, "{message}");
        let gone = connection.fails("MessageGetRequest", other).await;
        assert_eq!(gone, "ENTITY_NOT_FOUND");
    }
}
