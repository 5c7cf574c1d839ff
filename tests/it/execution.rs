//! How calls stand to the transaction, and what happens by time (`workflow-engine.md` §6 and §9).

use serde_json::{Value, json};

use crate::support::{
    Connection, Member, Reply, Server, create, get, governed_model, new_entity, request, state,
    wait::found,
};

/// A workflow in which a new entity goes from `NEW` to `DONE` by an automated transition.
fn new_to_done(transition: Value) -> Value {
    let mut way = json!({"name": "GO", "next": "DONE", "manual": false});
    for (name, value) in transition.as_object().expect("members") {
        way[name] = value.clone();
    }
    json!({"version": "1", "name": "w", "initialState": "NEW", "states": {
        "NEW": {"transitions": [way]}, "DONE": {}}})
}

fn processor(mode: &str, config: Value) -> Value {
    json!({"processors": [{"type": "EXTERNAL", "name": "p", "executionMode": mode, "config": config}]})
}

async fn wait_for_state(connection: &Connection, id: &str, wanted: &str) -> Value {
    found(&format!("{id} is in {wanted}"), async || {
        Some(get(connection, id).await).filter(|entity| state(entity) == wanted)
    })
    .await
}

#[tokio::test]
async fn a_function_decides_whether_a_transition_is_taken() {
    let server = Server::start();
    let connection = server.connect().await;
    let member = Member::join(&server, &["judge"]).await;
    let mut calls = member.record(|call| Reply::Matches(call.data()["n"] == 1));
    let function = json!({"type": "function", "function": {"name": "is-one", "config": {"calculationNodesTags": "judge", "context": "c"}}});
    let small =
        json!({"type": "simple", "jsonPath": "$.n", "operatorType": "LESS_THAN", "value": 10});
    let criterion = json!({"type": "group", "operator": "AND", "conditions": [small, function]});
    let workflow = new_to_done(json!({"criterion": criterion}));
    let model = governed_model(&connection, "doc", json!({"n": 1}), workflow).await;
    for (n, wanted) in [(1, "DONE"), (2, "NEW"), (11, "NEW")] {
        let id = create(&connection, &model, json!({"n": n})).await;
        assert_eq!(state(&get(&connection, &id).await), wanted, "{n}");
    }
    for _ in 0..2 {
        let call = calls.recv().await.expect("a call");
        assert_eq!(call.criterion(), Some("is-one"));
        assert_eq!(call.payload["target"], "TRANSITION");
        assert_eq!(call.payload["parameters"], "c");
        assert_eq!(call.payload["transition"]["stateTo"], "DONE");
        assert!(call.event.attribute("cyodatxtoken").is_some());
    }
    assert!(calls.try_recv().is_err(), "11 is not asked about");
}

#[tokio::test]
async fn a_detached_processor_changes_nothing_but_what_it_wrote_itself() {
    let server = Server::start();
    let connection = server.connect().await;
    let member = Member::join(&server, &[]).await;
    let workflow = new_to_done(processor("ASYNC_NEW_TX", json!({})));
    let model = governed_model(&connection, "doc", json!({"n": 1}), workflow).await;
    let other = crate::support::locked_model(&connection, "note", json!({"n": 1})).await;
    let note = other.clone();
    let _serving = member.serve(move |call, connection| {
        let note = note.clone();
        async move {
            let mut event = request(
                "EntityCreateRequest",
                &connection.fresh_id(),
                new_entity(&note, &json!({"n": call.data()["n"]})),
            );
            event = event.with(
                "cyodatxtoken",
                interlock::event::AttributeValue::String(call.token().into()),
            );
            let written = connection.ask(event).await;
            assert!(!written.is_empty());
            if call.data()["n"] == 1 {
                Reply::Data(json!({"n": 100}))
            } else {
                Reply::Failure("no")
            }
        }
    });
    let mut ids = Vec::new();
    for n in [1, 2] {
        let answer = connection
            .ok("EntityCreateRequest", new_entity(&model, &json!({"n": n})))
            .await;
        let id = answer["transactionInfo"]["entityIds"][0]
            .as_str()
            .expect("an id")
            .to_owned();
        let entity = get(&connection, &id).await;
        assert_eq!(
            (&entity["data"], state(&entity)),
            (&json!({"n": n}), "DONE")
        );
        ids.push(id);
    }
    let (notes, _) = connection
        .all("EntityGetAllRequest", json!({"model": other}))
        .await;
    assert_eq!(notes.len(), 1, "what the failing one wrote is undone");
    assert_eq!(notes[0]["payload"]["data"], json!({"n": 1}));
}

#[tokio::test]
async fn what_was_done_so_far_is_committed_before_the_call() {
    let server = Server::start();
    let connection = server.connect().await;
    let member = Member::join(&server, &[]).await;
    for (name, joins) in [("one", false), ("two", true)] {
        let workflow = new_to_done(processor(
            "COMMIT_BEFORE_DISPATCH",
            json!({"startNewTxOnDispatch": joins}),
        ));
        let model = governed_model(&connection, name, json!({"n": 1}), workflow).await;
        let making = connection.ok("EntityCreateRequest", new_entity(&model, &json!({"n": 1})));
        let serving = async {
            let call = member.next().await;
            let id = call.payload["entityId"].as_str().expect("an id").to_owned();
            let entity = get(&connection, &id).await;
            assert_eq!((&entity["data"], state(&entity)), (&json!({"n": 1}), "NEW"));
            assert_eq!(call.event.attribute("cyodatxtoken").is_some(), joins);
            assert_eq!(call.payload["transactionId"] == "", !joins);
            member.reply(&call, Reply::Data(json!({"n": 2}))).await;
            id
        };
        let (answer, id) = tokio::join!(making, serving);
        assert_eq!(answer["transactionInfo"]["entityIds"][0], id.as_str());
        let entity = get(&connection, &id).await;
        assert_eq!(
            (&entity["data"], state(&entity)),
            (&json!({"n": 2}), "DONE")
        );
        assert_ne!(
            entity["meta"]["transactionId"],
            answer["transactionInfo"]["transactionId"]
        );

        // Someone else is faster.
        let making = connection.call("EntityCreateRequest", new_entity(&model, &json!({"n": 5})));
        let serving = async {
            let call = member.next().await;
            let id = call.payload["entityId"].as_str().expect("an id").to_owned();
            let update = json!({"dataFormat": "JSON", "payload": {"entityId": id, "data": {"n": 6}, "transition": "GO"}});
            let updating = connection.call("EntityUpdateRequest", update);
            let answering = async {
                let other = member.next().await;
                member.reply(&other, Reply::Nothing).await;
            };
            let (updated, ()) = tokio::join!(updating, answering);
            assert_eq!(updated["success"], true);
            member.reply(&call, Reply::Data(json!({"n": 7}))).await;
            id
        };
        let (answer, id) = tokio::join!(making, serving);
        assert_eq!(crate::support::code(&answer), "CONFLICT", "{answer}");
        assert_eq!(get(&connection, &id).await["data"], json!({"n": 6}));

        // The processor says no: what was committed stays.
        let making = connection.call("EntityCreateRequest", new_entity(&model, &json!({"n": 8})));
        let serving = async {
            let call = member.next().await;
            member.reply(&call, Reply::Failure("no")).await;
            call.payload["entityId"].as_str().expect("an id").to_owned()
        };
        let (answer, id) = tokio::join!(making, serving);
        assert_eq!(crate::support::code(&answer), "WORKFLOW_FAILED");
        let entity = get(&connection, &id).await;
        assert_eq!((&entity["data"], state(&entity)), (&json!({"n": 8}), "NEW"));
    }
}

#[tokio::test]
async fn a_run_that_was_killed_after_its_commit_goes_on_by_itself() {
    for joins in [false, true] {
        let mut server = Server::on_disk(&[("CYODA_SCHEDULER_REDISPATCH_BACKOFF", "100ms")]);
        let connection = server.connect().await;
        let member = Member::join(&server, &[]).await;
        let workflow = new_to_done(processor(
            "COMMIT_BEFORE_DISPATCH",
            json!({"startNewTxOnDispatch": joins}),
        ));
        let model = governed_model(&connection, "doc", json!({"n": 1}), workflow).await;
        let _made = connection
            .begin(request(
                "EntityCreateRequest",
                "1",
                new_entity(&model, &json!({"n": 1})),
            ))
            .await;
        let first = member.next().await;
        let id = first.payload["entityId"]
            .as_str()
            .expect("an id")
            .to_owned();
        server.kill();
        server.restart();
        let connection = server.connect().await;
        assert_eq!(state(&get(&connection, &id).await), "NEW");
        let member = Member::join(&server, &[]).await;
        let again = member.next().await;
        assert_eq!(
            again.event.attribute("dispatchkey"),
            first.event.attribute("dispatchkey"),
            "the member can tell that it is the same call"
        );
        member.reply(&again, Reply::Data(json!({"n": 2}))).await;
        let entity = wait_for_state(&connection, &id, "DONE").await;
        assert_eq!(entity["data"], json!({"n": 2}));
    }
}

#[tokio::test]
async fn a_function_says_when_a_transition_is_due() {
    let server = Server::start();
    let connection = server.connect().await;
    let member = Member::join(&server, &["clock"]).await;
    let _calls = member.record(|call| match call.data()["n"].as_i64() {
        Some(1) => Reply::Schedule(json!({"fireAfterMs": 50})),
        Some(2) => Reply::Schedule(json!({"fireAfterMs": 50, "expireAfterMs": 0})),
        _ => Reply::Schedule(json!({"when": "soon"})),
    });
    let function =
        json!({"name": "when", "resultKind": "Schedule", "calculationNodesTags": "clock"});
    let workflow = new_to_done(json!({"schedule": {"function": function}}));
    let model = governed_model(&connection, "doc", json!({"n": 1}), workflow).await;
    let id = create(&connection, &model, json!({"n": 1})).await;
    wait_for_state(&connection, &id, "DONE").await;
    let id = create(&connection, &model, json!({"n": 2})).await;
    assert_eq!(state(&get(&connection, &id).await), "NEW");
    let answer = connection
        .call("EntityCreateRequest", new_entity(&model, &json!({"n": 3})))
        .await;
    assert!(
        answer["error"]["message"]
            .as_str()
            .expect("a message")
            .contains("SCHEDULE_FUNCTION_INVALID_RESULT"),
        "{answer}"
    );
    assert_eq!(answer["error"]["code"], "SERVER_ERROR");
}

#[tokio::test]
async fn an_asynchronous_result_is_waited_for_inside_the_transaction_first() {
    let server = Server::start();
    let connection = server.connect().await;
    let member = Member::join(&server, &[]).await;
    let workflow = new_to_done(processor(
        "SYNC",
        json!({"asyncResult": true, "crossoverToAsyncMs": 150}),
    ));
    let model = governed_model(&connection, "doc", json!({"n": 1}), workflow).await;
    // In time: nothing is seen of it before.
    let making = connection.ok("EntityCreateRequest", new_entity(&model, &json!({"n": 1})));
    let serving = async {
        let call = member.next().await;
        let id = call.payload["entityId"].as_str().expect("an id").to_owned();
        let seen = connection
            .call("EntityGetRequest", json!({"entityId": id}))
            .await;
        assert_eq!(crate::support::code(&seen), "ENTITY_NOT_FOUND");
        member.reply(&call, Reply::Data(json!({"n": 2}))).await;
        id
    };
    let (_, id) = tokio::join!(making, serving);
    assert_eq!(get(&connection, &id).await["data"], json!({"n": 2}));
    // Later: it is there before the answer, and the same call is still good.
    let making = connection.ok("EntityCreateRequest", new_entity(&model, &json!({"n": 1})));
    let serving = async {
        let call = member.next().await;
        let id = call.payload["entityId"].as_str().expect("an id").to_owned();
        loop {
            let seen = connection
                .call("EntityGetRequest", json!({"entityId": id}))
                .await;
            if seen["success"] == true {
                break;
            }
        }
        member.reply(&call, Reply::Data(json!({"n": 3}))).await;
        id
    };
    let (_, id) = tokio::join!(making, serving);
    let entity = get(&connection, &id).await;
    assert_eq!(
        (&entity["data"], state(&entity)),
        (&json!({"n": 3}), "DONE")
    );
}
