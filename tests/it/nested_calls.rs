//! The limits of calls whose members write with their tokens, and so cause calls of their own.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use interlock::event::AttributeValue;
use serde_json::{Value, json};

use crate::support::{
    Connection, Member, Reply, Server, code, governed_model, locked_model, new_entity, payload_of,
    processed_by, request,
};

/// Longer than every limit here, and shorter than the limit of a call that is not given one.
const SOON: Duration = Duration::from_secs(20);

/// How deep calls may nest.
const NESTED_MAX: usize = 32;

struct Stage {
    server: Server,
    connection: Connection,
    member: Member,
    /// The processor of its entities is never answered.
    inner: Value,
}

async fn stage(settings: &[(&str, &str)]) -> Stage {
    let server = Server::with(settings);
    let connection = server.connect().await;
    let member = Member::join(&server, &[]).await;
    let processors = json!([{"name": "inner", "executionMode": "SYNC"}]);
    let inner = governed_model(
        &connection,
        "inner",
        json!({"n": 1}),
        processed_by(processors),
    )
    .await;
    Stage {
        server,
        connection,
        member,
        inner,
    }
}

impl Stage {
    /// A model whose entities are processed by `outer`.
    async fn outer(&self, name: &str, mode: &str, config: Value) -> Value {
        let processors = json!([{"name": "outer", "executionMode": mode, "config": config}]);
        let workflow = processed_by(processors);
        governed_model(&self.connection, name, json!({"n": 1}), workflow).await
    }

    /// A callback of `outer` that is at work: it waits for `inner`.
    async fn callback(
        &self,
        token: &str,
    ) -> tokio::sync::mpsc::UnboundedReceiver<interlock::event::Event> {
        let id = self.member.connection.fresh_id();
        let new = new_entity(&self.inner, &json!({"n": 1}));
        let event = request("EntityCreateRequest", &id, new);
        let event = event.with("cyodatxtoken", AttributeValue::String(token.into()));
        let answers = self.member.connection.begin(event).await;
        let call = self.member.next().await;
        assert_eq!(call.processor(), "inner");
        answers
    }

    async fn count(&self, model: &Value) -> usize {
        let all = json!({"model": model, "pageSize": 100});
        let (entities, _) = self.connection.all("EntityGetAllRequest", all).await;
        entities.len()
    }
}

#[tokio::test]
async fn a_call_ends_within_its_time_limit_though_a_callback_of_it_works() {
    let stage = stage(&[]).await;
    for (name, mode, expected) in [
        ("one", "SYNC", Some("WORKFLOW_FAILED")),
        ("two", "ASYNC_NEW_TX", None),
        ("three", "ASYNC_SAME_TX", Some("WORKFLOW_FAILED")),
    ] {
        let limit = json!({"responseTimeoutMs": 1_500});
        let model = stage.outer(name, mode, limit).await;
        let new = new_entity(&model, &json!({"n": 1}));
        let begun = Instant::now();
        let making = stage.connection.call("EntityCreateRequest", new);
        let serving = async {
            let call = stage.member.next().await;
            let mut answers = stage.callback(call.token()).await;
            payload_of(&answers.recv().await.expect("an answer"))
        };
        let (made, callback) = tokio::join!(making, serving);
        assert!(begun.elapsed() < SOON, "{mode}: {:?}", begun.elapsed());
        match expected {
            Some(expected) => assert_eq!(code(&made), expected, "{made}"),
            None => assert_eq!(made["success"], true, "{made}"),
        }
        assert_eq!(code(&callback), "TRANSACTION_NOT_FOUND", "{callback}");
        assert_eq!(stage.count(&stage.inner).await, 0, "{mode}");
    }
}

#[tokio::test]
async fn a_request_can_be_cancelled_while_it_waits_for_a_callback() {
    let stage = stage(&[]).await;
    let model = stage.outer("outer", "SYNC", json!({})).await;
    for answers_first in [false, true] {
        let new = new_entity(&model, &json!({"n": 1}));
        let id = stage.connection.fresh_id();
        let event = request("EntityCreateRequest", &id, new);
        let mut answers = stage.connection.begin(event).await;
        let call = stage.member.next().await;
        let mut callback = stage.callback(call.token()).await;
        if answers_first {
            stage.member.reply(&call, Reply::Nothing).await;
        }
        stage.connection.cancel(&id).await;
        let answer = payload_of(&answers.recv().await.expect("an answer"));
        assert_eq!(code(&answer), "CANCELLED", "{answer}");
        let answer = payload_of(&callback.recv().await.expect("an answer"));
        assert_eq!(code(&answer), "TRANSACTION_NOT_FOUND", "{answer}");
        assert_eq!(stage.count(&model).await, 0);
    }
}

#[tokio::test]
async fn a_callback_that_is_still_at_work_when_its_call_has_succeeded_is_waited_for() {
    let stage = stage(&[]).await;
    let model = stage.outer("outer", "SYNC", json!({})).await;
    let new = new_entity(&model, &json!({"n": 1}));
    let making = stage.connection.ok("EntityCreateRequest", new);
    let serving = async {
        let call = stage.member.next().await;
        let id = stage.member.connection.fresh_id();
        let new = new_entity(&stage.inner, &json!({"n": 1}));
        let event = request("EntityCreateRequest", &id, new);
        let event = event.with("cyodatxtoken", AttributeValue::String(call.token().into()));
        let mut answers = stage.member.connection.begin(event).await;
        let inner = stage.member.next().await;
        stage.member.reply(&call, Reply::Nothing).await;
        stage.member.reply(&inner, Reply::Nothing).await;
        payload_of(&answers.recv().await.expect("an answer"))
    };
    let (_, callback) = tokio::join!(making, serving);
    assert_eq!(callback["success"], true, "{callback}");
    assert_eq!(stage.count(&stage.inner).await, 1);
}

#[tokio::test]
async fn a_write_ends_within_its_time_limit_though_a_callback_of_it_works() {
    let stage = stage(&[("INTERLOCK_MAX_RUN_TIME", "3s")]).await;
    let model = stage.outer("outer", "SYNC", json!({})).await;
    let new = new_entity(&model, &json!({"n": 1}));
    let begun = Instant::now();
    let making = stage.connection.call("EntityCreateRequest", new);
    let serving = async {
        let call = stage.member.next().await;
        let mut answers = stage.callback(call.token()).await;
        stage.member.reply(&call, Reply::Nothing).await;
        payload_of(&answers.recv().await.expect("an answer"))
    };
    let (made, callback) = tokio::join!(making, serving);
    assert!(begun.elapsed() < SOON, "{:?}", begun.elapsed());
    assert_eq!(made["success"], false, "{made}");
    // Its own call may reach its limit in the same moment.
    assert_eq!(callback["success"], false, "{callback}");
    for model in [&model, &stage.inner] {
        assert_eq!(stage.count(model).await, 0);
    }
}

#[tokio::test]
async fn calls_do_not_nest_without_end() {
    let stage = stage(&[]).await;
    let model = stage.outer("endless", "SYNC", json!({})).await;
    let (calls, refused) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (again, made, failed) = (model.clone(), Arc::clone(&calls), Arc::clone(&refused));
    let serving = stage.member.serve(move |call, connection| {
        let (model, made, failed) = (again.clone(), Arc::clone(&made), Arc::clone(&failed));
        async move {
            made.fetch_add(1, Ordering::Relaxed);
            let new = new_entity(&model, &json!({"n": 1}));
            let token = [("cyodatxtoken", call.token())];
            let answer = connection
                .call_with("EntityCreateRequest", new, &token)
                .await;
            if answer["success"] != true {
                assert_eq!(code(&answer), "WORKFLOW_FAILED", "{answer}");
                let message = answer["error"]["message"].as_str().expect("a message");
                assert!(message.contains("nest too deeply"), "{message}");
                failed.fetch_add(1, Ordering::Relaxed);
            }
            Reply::Nothing
        }
    });
    let new = new_entity(&model, &json!({"n": 1}));
    stage.connection.ok("EntityCreateRequest", new).await;
    serving.abort();
    assert_eq!(calls.load(Ordering::Relaxed), NESTED_MAX);
    assert_eq!(refused.load(Ordering::Relaxed), 1);
    assert_eq!(stage.count(&model).await, NESTED_MAX);
}

#[tokio::test]
async fn a_token_that_is_no_text_or_empty_is_not_the_same_as_none() {
    let stage = stage(&[]).await;
    let note = locked_model(&stage.connection, "note", json!({"n": 1})).await;
    let model = stage.outer("outer", "SYNC", json!({})).await;
    let new = new_entity(&note, &json!({"n": 1}));
    let creation = |id: &str| request("EntityCreateRequest", id, new.clone());
    let outer = new_entity(&model, &json!({"n": 1}));
    let making = stage.connection.fails("EntityCreateRequest", outer);
    let serving = async {
        let call = stage.member.next().await;
        let bytes = bytes::Bytes::copy_from_slice(call.token().as_bytes());
        for token in [
            AttributeValue::Bytes(bytes),
            AttributeValue::Integer(1),
            AttributeValue::Boolean(true),
            AttributeValue::String("".into()),
        ] {
            let connection = &stage.member.connection;
            let event = creation(&connection.fresh_id()).with("cyodatxtoken", token);
            let answers = connection.ask(event).await;
            assert_eq!(code(&payload_of(&answers[0])), "UNAUTHORIZED");
        }
        stage.member.reply(&call, Reply::Failure("no")).await;
    };
    let (failed, ()) = tokio::join!(making, serving);
    assert_eq!(failed, "WORKFLOW_FAILED");
    let empty = [("tx-token", "")];
    let answered = stage
        .connection
        .unary("entityManage", creation("1"), &empty)
        .await
        .expect("in-band");
    assert_eq!(code(&payload_of(&answered)), "UNAUTHORIZED");
    let rest = stage.server.rest().with("x-tx-token", "");
    let made = rest.post("/api/entity/JSON/note/1", "{\"n\":1}").await;
    made.refused(401, "UNAUTHORIZED");
    assert_eq!(stage.count(&note).await, 0);
}
