//! What happened to an entity, through both APIs (`workflow-engine.md` §11, `rest.md` §5).

use serde_json::{Value, json};

use crate::support::{
    Connection, Member, Reply, Server, create, governed_model, locked_model, new_entity,
    processed_by, sync_processor,
};

async fn kinds(connection: &Connection, id: &str) -> Vec<String> {
    let trail = connection
        .ok(
            "EntityAuditGetRequest",
            json!({"entityId": id, "limit": 1000}),
        )
        .await;
    names(&trail["items"])
}

/// Oldest first.
fn names(items: &Value) -> Vec<String> {
    let items = items.as_array().expect("a list").iter().rev();
    items
        .map(|item| {
            let name = if item["auditEventType"] == "EntityChange" {
                &item["changeType"]
            } else {
                &item["eventType"]
            };
            name.as_str().expect("a name").to_owned()
        })
        .collect()
}

#[tokio::test]
async fn a_create_with_a_processor_is_reported_step_by_step() {
    let server = Server::start();
    let connection = server.connect().await;
    let member = Member::join(&server, &[]).await;
    let _calls = member.record(|_| Reply::Nothing);
    let workflow = processed_by(json!([sync_processor("p", json!({}))]));
    let model = governed_model(&connection, "doc", json!({"n": 1}), workflow).await;
    let made = connection
        .ok("EntityCreateRequest", new_entity(&model, &json!({"n": 1})))
        .await;
    let id = made["transactionInfo"]["entityIds"][0]
        .as_str()
        .expect("an id");
    let transaction = made["transactionInfo"]["transactionId"]
        .as_str()
        .expect("an id");
    assert_eq!(
        kinds(&connection, id).await,
        [
            "STATE_MACHINE_START",
            "WORKFLOW_FOUND",
            "PAUSE_FOR_PROCESSING",
            "STATE_PROCESS_RESULT",
            "TRANSITION_MAKE",
            "STATE_MACHINE_FINISH",
            "CREATE"
        ]
    );
    let rest = server.rest();
    let page = rest
        .get(&format!("/api/audit/entity/{id}?limit=2"))
        .await
        .ok();
    assert_eq!(names(&page["items"]), ["STATE_MACHINE_FINISH", "CREATE"]);
    assert_eq!(
        page["pagination"],
        json!({"hasNext": true, "nextCursor": "2"})
    );
    assert_eq!(page["items"][1]["state"], "DONE");
    assert_eq!(page["items"][1]["data"], json!({"success": true}));
    assert_eq!(page["items"][0]["transactionId"], transaction);
    let rest_of_it = rest
        .get(&format!("/api/audit/entity/{id}?cursor=2"))
        .await
        .ok();
    assert_eq!(rest_of_it["items"].as_array().expect("a list").len(), 5);
    assert_eq!(rest_of_it["pagination"], json!({"hasNext": false}));
    assert_eq!(
        rest_of_it["items"][1]["data"],
        json!({"success": true, "mode": "SYNC"})
    );
    let changes = rest
        .get(&format!(
            "/api/audit/entity/{id}?eventType=EntityChange&transactionId={transaction}"
        ))
        .await
        .ok();
    assert_eq!(names(&changes["items"]), ["CREATE"]);
    let finished = rest
        .get(&format!(
            "/api/audit/entity/{id}/workflow/{transaction}/finished"
        ))
        .await
        .ok();
    assert_eq!(finished["eventType"], "STATE_MACHINE_FINISH");
    for (query, items) in [
        ("severity=WARN", 0),
        ("eventType=System", 0),
        ("eventType=Nonsense", 0),
        ("fromUtcTime=2000-01-01T00:00:00Z", 7),
        ("toUtcTime=2000-01-01T00:00:00Z", 0),
        ("limit=100000", 7),
        ("cursor=rubbish", 7),
    ] {
        let page = rest
            .get(&format!("/api/audit/entity/{id}?{query}"))
            .await
            .ok();
        assert_eq!(
            page["items"].as_array().expect("a list").len(),
            items,
            "{query}"
        );
    }
    for query in [
        "limit=0",
        "limit=x",
        "fromUtcTime=soon",
        "severity=LOUD",
        "transactionId=x",
    ] {
        let said = rest.get(&format!("/api/audit/entity/{id}?{query}")).await;
        assert_eq!(
            (said.status.as_u16(), said.problem().as_str()),
            (400, "BAD_REQUEST"),
            "{query}"
        );
    }
}

#[tokio::test]
async fn what_was_rolled_back_leaves_no_event_and_others_see_none() {
    let server = Server::with(&[("INTERLOCK_IAM_MOCK_CALLER", "true")]);
    let connection = server.connect().await;
    let model = locked_model(&connection, "doc", json!({"n": 1})).await;
    let id = create(&connection, &model, json!({"n": 1})).await;
    let before = kinds(&connection, &id).await;
    let refused = connection
        .call(
            "EntityTransitionRequest",
            json!({"entityId": id, "transition": "NOWHERE"}),
        )
        .await;
    assert_eq!(refused["success"], false);
    assert_eq!(kinds(&connection, &id).await, before);
    let stranger = server.connect_as(&[("x-mock-tenant", "other")]).await;
    let answer = stranger
        .fails("EntityAuditGetRequest", json!({"entityId": id}))
        .await;
    assert_eq!(answer, "ENTITY_NOT_FOUND");
    connection
        .ok("EntityDeleteRequest", json!({"entityId": id}))
        .await;
    assert_eq!(
        kinds(&connection, &id).await.last().map(String::as_str),
        Some("DELETE")
    );
}

#[tokio::test]
async fn guards_and_timers_say_why_and_when() {
    let server = Server::start();
    let connection = server.connect().await;
    let member = Member::join(&server, &["judge"]).await;
    let _calls = member
        .record(|_| Reply::Raw(json!({"success": true, "matches": false, "reason": "too small"})));
    let asked = json!({"type": "function", "function": {"name": "is-big", "config": {"calculationNodesTags": "judge"}}});
    let workflow = json!({"version": "1", "name": "w", "initialState": "NEW", "states": {
        "NEW": {"transitions": [
            {"name": "grow", "next": "DONE", "manual": false, "criterion": asked},
            {"name": "late", "next": "DONE", "manual": false, "schedule": {"delayMs": 100_000}},
            {"name": "off", "next": "DONE", "manual": true}]},
        "DONE": {}}});
    let model = governed_model(&connection, "doc", json!({"n": 1}), workflow).await;
    let id = create(&connection, &model, json!({"n": 1})).await;
    connection
        .ok(
            "EntityTransitionRequest",
            json!({"entityId": id, "transition": "off"}),
        )
        .await;
    let trail = connection
        .ok(
            "EntityAuditGetRequest",
            json!({"entityId": id, "eventTypes": ["StateMachine"]}),
        )
        .await;
    let reported = names(&trail["items"]);
    assert_eq!(
        reported,
        [
            "STATE_MACHINE_START",
            "WORKFLOW_FOUND",
            "TRANSITION_NOT_MATCH_CRITERION",
            "SCHEDULED_TRANSITION_ARM",
            "STATE_MACHINE_FINISH",
            "STATE_MACHINE_START",
            "TRANSITION_MAKE",
            "SCHEDULED_TRANSITION_CANCEL",
            "STATE_MACHINE_FINISH"
        ]
    );
    let items = trail["items"].as_array().expect("a list");
    assert_eq!(
        items[items.len() - 3]["data"],
        json!({"workflowName": "w", "transition": "grow", "criterion": "is-big", "reason": "too small"})
    );
    assert_eq!(
        items[1]["data"],
        json!({"transition": "late", "sourceState": "NEW"})
    );
}

#[tokio::test]
async fn a_record_of_many_transitions_is_cut_and_says_so() {
    let server = Server::start();
    let connection = server.connect().await;
    let never = json!({"type": "simple", "jsonPath": "$.n", "operatorType": "EQUALS", "value": -1});
    let workflow = |count: usize| {
        let considered = |n: usize| {
            let name = format!("{n}{}", "x".repeat(200));
            json!({"name": name, "next": "B", "manual": false, "criterion": never})
        };
        let transitions: Vec<_> = (0..count).map(considered).collect();
        json!({"version": "1", "name": "wide", "initialState": "A", "states": {
            "A": {"transitions": transitions},
            "B": {},
        }})
    };
    let model = governed_model(&connection, "doc", json!({"n": 1}), workflow(1_000)).await;
    let id = create(&connection, &model, json!({"n": 1})).await;
    let asked = json!({"entityId": id, "limit": 2_000});
    let trail = connection.ok("EntityAuditGetRequest", asked).await;
    let events = names(&trail["items"]);
    let considered = events
        .iter()
        .filter(|name| *name == "TRANSITION_NOT_MATCH_CRITERION");
    let considered = considered.count();
    assert!((100..500).contains(&considered), "{considered}");
    assert_eq!(events[1], "WORKFLOW_FOUND");
    assert_eq!(
        events[events.len() - 2..],
        ["STATE_MACHINE_FINISH", "CREATE"]
    );
    let said = trail["items"].to_string();
    let left_out = format!("so {} decisions and", 1_000 - considered);
    assert!(said.contains(&left_out), "{left_out}");
    let import = json!({"model": model, "workflows": [workflow(1_001)]});
    let refused = connection
        .fails("EntityWorkflowImportRequest", import)
        .await;
    assert_eq!(refused, "VALIDATION_FAILED");
}

/// A time in a form that sorts.
fn sortable(item: &Value) -> String {
    let time = item["utcTime"].as_str().expect("a time");
    let time = time.trim_end_matches('Z');
    let (seconds, fraction) = time.split_once('.').unwrap_or((time, ""));
    format!("{seconds}.{fraction:0<6}")
}

#[tokio::test]
async fn the_parts_of_a_run_are_reported_in_order_and_with_their_own_times() {
    let server = Server::start();
    let connection = server.connect().await;
    let member = Member::join(&server, &[]).await;
    drop(member.record(|call| match call.processor() {
        "one" => Reply::Data(json!({"n": 2})),
        _ => Reply::Data(json!({"n": 3})),
    }));
    let part = |name: &str| {
        let mut processor = sync_processor(name, json!({}));
        processor["executionMode"] = json!("COMMIT_BEFORE_DISPATCH");
        processor
    };
    let workflow = processed_by(json!([part("one"), part("two")]));
    let model = governed_model(&connection, "doc", json!({"n": 1}), workflow).await;
    let id = create(&connection, &model, json!({"n": 1})).await;
    let rest = server.rest();
    let path = format!("/api/audit/entity/{id}?limit=1000");
    let page = rest.get(&path).await.ok();
    assert_eq!(
        names(&page["items"]),
        [
            "STATE_MACHINE_START",
            "WORKFLOW_FOUND",
            "PAUSE_FOR_PROCESSING",
            "CREATE",
            "STATE_PROCESS_RESULT",
            "UPDATE",
            "STATE_PROCESS_RESULT",
            "TRANSITION_MAKE",
            "STATE_MACHINE_FINISH",
            "UPDATE"
        ]
    );
    let items = page["items"].as_array().expect("a list");
    assert!(
        items.is_sorted_by(|newer, older| sortable(newer) >= sortable(older)),
        "{items:?}"
    );
    let mut machine: Vec<_> = items
        .iter()
        .filter(|item| item["auditEventType"] == "StateMachine")
        .map(sortable)
        .collect();
    let count = machine.len();
    machine.dedup();
    assert_eq!(machine.len(), count, "{items:?}");
    let created = items.iter().find(|item| item["changeType"] == "CREATE");
    let created = created.expect("it was made")["utcTime"].as_str();
    let created = created.expect("a time");
    let later = rest.get(&format!("{path}&fromUtcTime={created}")).await;
    let later = later.ok();
    assert_eq!(
        names(&later["items"])[..2],
        ["CREATE", "STATE_PROCESS_RESULT"]
    );
    assert_eq!(later["items"].as_array().expect("a list").len(), 7);
}
