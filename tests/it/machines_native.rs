//! Events of state machines, for entities (`orchestration.md` 2.6 and 4.6, `runs.md` §7).

use std::time::Duration;

use serde_json::{Value, json};

use crate::{
    machines::{ORDER_STATUS, deliver},
    support::{
        Connection, Member, Reply, Server, code, create, get, governed_model, locked_model,
        outside::{Behaviour, Outside},
        scene::{automated, processor, states},
        state,
    },
};

/// A machine whose actions are those of every connector, and its flow.
const REVIEW: &str = r#"
state_machine "review" {
  initial = "open"
  state "open" {
    on "approve" {
      transition_to = "approved"
      guard         = "input.score >= 50"
    }
    on "log" {
      transition_to = "open"
      action {
        connector = "entity"
        operation = "INSERT"
        target    = "notes/1"
        data      = { text = "input.text" }
      }
    }
    on "send" {
      transition_to = "sent"
      action {
        connector = "notifications"
        operation = "POST /send"
        body      = { text = "input.text" }
      }
    }
    on "print" {
      transition_to = "sent"
      action {
        connector = "printer"
        operation = "POST /print"
        data      = { page = "input.page" }
      }
    }
    on "plain" { transition_to = "approved" }
  }
  state "approved" {
    on "reopen" { transition_to = "open" }
  }
  state "sent" { final = true }
}
flow "review_events" {
  from {
    connector = "api"
    operation = "POST /documents/:id/events"
  }
  state_transition {
    machine = "review"
    entity  = "documents/2"
    id      = "input.params.id"
    event   = "input.event"
  }
}
"#;

/// The guide's flow names a connector `db`, which is no database here.
fn connectors(notifications: &str) -> String {
    format!(
        "connector \"api\" {{\n type = \"rest\"\n}}\n\
         connector \"entity\" {{\n type = \"entity\"\n}}\n\
         connector \"db\" {{\n type = \"entity\"\n}}\n\
         connector \"notifications\" {{\n type = \"http\"\n base_url = \"{notifications}\"\n timeout = \"2s\"\n}}\n"
    )
}

struct Desk {
    server: Server,
    connection: Connection,
    notifications: Outside,
}

impl Desk {
    async fn open() -> Self {
        let (server, notifications) = (Server::on_disk(&[]), Outside::start().await);
        notifications.on("POST /send", Behaviour::Json(200, json!({"sent": true})));
        let connection = server.connect().await;
        Self {
            server,
            connection,
            notifications,
        }
    }

    async fn apply(&self, text: &str) -> Value {
        let own = connectors(&self.notifications.url());
        let files =
            json!([{"path": "machine.hcl", "text": text}, {"path": "own.hcl", "text": own}]);
        let payload = json!({"bundle": "desk", "files": files});
        self.connection.ok("BundleApplyRequest", payload).await
    }

    /// A model `documents` of version 2 with its machine.
    async fn with_documents() -> (Self, Value) {
        let desk = Self::open().await;
        let model = json!({"name": "documents", "version": 2});
        desk.lock(&model, json!({"title": "x", "status": "x"}))
            .await;
        let applied = desk.apply(REVIEW).await;
        // There are no notes yet.
        let expected = ["S303 machine.hcl:29", "S304 machine.hcl:11"];
        assert_eq!(errors_and_warnings(&applied), expected);
        (desk, model)
    }

    async fn lock(&self, model: &Value, sample: Value) {
        let import = json!({"model": model, "dataFormat": "JSON", "converter": "SAMPLE_DATA",
            "payload": sample});
        self.connection.ok("EntityModelImportRequest", import).await;
        let lock = json!({"model": model, "transition": "LOCK"});
        self.connection
            .ok("EntityModelTransitionRequest", lock)
            .await;
    }

    async fn fire(&self, id: &str, event: &str, data: Value) -> Value {
        let payload = json!({"machine": "review", "entity": "documents/2", "entityId": id,
            "event": event, "data": data});
        self.connection
            .call("MachineTransitionRequest", payload)
            .await
    }

    async fn workflows(&self, model: &Value) -> Value {
        let asked = json!({"model": model});
        // Without any it is refused, with an empty list.
        let exported = self
            .connection
            .call("EntityWorkflowExportRequest", asked)
            .await;
        exported["workflows"].clone()
    }
}

fn errors_and_warnings(applied: &Value) -> Vec<String> {
    let findings = applied["findings"].as_array().expect("a list").iter();
    findings
        .map(|one| format!("{} {}", one["code"], one["location"]).replace('"', ""))
        .collect()
}

/// What an event led to: its state or its code.
fn ended(answer: &Value) -> String {
    match answer["currentState"].as_str() {
        Some(state) => state.to_owned(),
        None => code(answer),
    }
}

#[tokio::test]
async fn the_guides_order_is_delivered_as_an_entity_with_its_diagram() {
    let desk = Desk::open().await;
    let model = locked_model(
        &desk.connection,
        "orders",
        json!({"total": 1, "status": "new"}),
    )
    .await;
    desk.apply(ORDER_STATUS).await;
    let id = create(&desk.connection, &model, json!({"total": 1, "status": "?"})).await;
    let created = get(&desk.connection, &id).await;
    assert_eq!(
        (state(&created), &created["data"]["status"]),
        ("pending", &json!("pending"))
    );
    let shop = crate::machines::Shop {
        server: desk.server,
        notifications: desk.notifications,
    };
    deliver(&shop, &id).await;
    let delivered = get(&desk.connection, &id).await;
    assert_eq!(state(&delivered), "delivered");
    assert_eq!(
        delivered["data"],
        json!({"total": 1, "status": "delivered"})
    );
    // Its diagram, audit and history are those of any entity.
    let drawn = shop
        .server
        .rest()
        .get("/api/model/orders/1/workflow/diagram")
        .await;
    for part in ["pending", "paid", "ship", "delivered", "refunded"] {
        assert!(drawn.text.contains(part), "{part}: {}", drawn.text);
    }
    let explained = desk
        .connection
        .ok("WorkflowExplainRequest", json!({"entityId": id}))
        .await;
    assert_eq!(
        (&explained["state"], &explained["transitions"]),
        (&json!("delivered"), &json!([]))
    );
    let path = format!("/api/entity/{id}/changes");
    let changes = shop.server.rest().get(&path).await.ok();
    assert_eq!(changes.as_array().map(Vec::len), Some(4), "{changes}");
    let path = format!("/api/audit/entity/{id}");
    let audited = shop.server.rest().get(&path).await.ok().to_string();
    for part in [
        "transition ship moves the entity from paid to shipped",
        "processor notifications succeeded",
    ] {
        assert!(audited.contains(part), "{part}: {audited}");
    }
}

#[tokio::test]
async fn a_machine_is_a_workflow_of_its_model_when_the_bundle_is_applied() {
    let (desk, model) = Desk::with_documents().await;
    let workflows = desk.workflows(&model).await;
    let workflow = &workflows[0];
    for (member, expected) in [
        ("name", json!("review")),
        ("version", json!("1")),
        ("active", json!(true)),
        ("initialState", json!("open")),
        ("machine", json!({"name": "review", "namespace": "default"})),
    ] {
        assert_eq!(workflow[member], expected, "{member}");
    }
    assert_eq!(
        workflow["states"]["sent"]["annotations"],
        json!({"final": true})
    );
    let transitions = &workflow["states"]["open"]["transitions"];
    assert_eq!(
        transitions[0],
        json!({"name": "approve", "next": "approved", "manual": true, "criterion":
            {"type": "function", "function": {"name": "cel", "config":
                {"attachEntity": false, "context": "input.score >= 50"}}}})
    );
    let processor = &transitions[2]["processors"][0];
    assert_eq!(
        processor["config"]["calculationNodesTags"],
        "connector:notifications"
    );
    assert_eq!(processor["executionMode"], "SYNC");
    let context = processor["config"]["context"].as_str().expect("a text");
    let context: Value = serde_json::from_str(context).expect("JSON");
    assert_eq!(
        context,
        json!({"operation": "POST /send", "payload": {"text": "input.text"}})
    );
    // A bundle that is applied again replaces it, in place.
    desk.apply(&REVIEW.replace("score >= 50", "score >= 60"))
        .await;
    let workflows = desk.workflows(&model).await;
    assert_eq!(workflows.as_array().map(Vec::len), Some(1));
    assert!(workflows.to_string().contains("score >= 60"), "{workflows}");
    let id = create(&desk.connection, &model, json!({"title": "t"})).await;
    let answer = desk.fire(&id, "approve", json!({"score": 55})).await;
    assert_eq!(ended(&answer), "GUARD_REJECTED");
}

#[tokio::test]
async fn each_refusal_has_its_code_and_changes_nothing() {
    let (desk, model) = Desk::with_documents().await;
    let id = create(&desk.connection, &model, json!({"title": "t"})).await;
    let nil = "00000000-0000-0000-0000-000000000000";
    for (id, event, data, expected) in [
        (&*id, "approve", json!({"score": 40}), "GUARD_REJECTED"),
        (&id, "approve", json!({}), "GUARD_ERROR"),
        (&id, "fly", json!({}), "TRANSITION_NOT_FOUND"),
        (
            &id,
            "'; DROP TABLE entity; --",
            json!({}),
            "TRANSITION_NOT_FOUND",
        ),
        (nil, "approve", json!({"score": 60}), "ENTITY_NOT_FOUND"),
        ("1", "approve", json!({"score": 60}), "ENTITY_NOT_FOUND"),
        (
            "' OR 1=1 --",
            "approve",
            json!({"score": 60}),
            "ENTITY_NOT_FOUND",
        ),
        (&id, "send", json!({}), "WORKFLOW_FAILED"),
        (
            &id,
            "log",
            json!({"text": "no such model"}),
            "WORKFLOW_FAILED",
        ),
    ] {
        let answer = desk.fire(id, event, data).await;
        assert_eq!(code(&answer), expected, "{event}: {answer}");
    }
    let answer = desk.fire(&id, "fly", json!({})).await;
    let valid = &answer["error"]["properties"]["validEvents"];
    assert_eq!(*valid, json!(["approve", "log", "send", "print", "plain"]));
    for entity in [
        "none",
        "documents",
        "documents/x",
        "",
        "documents/2; DROP TABLE entity",
    ] {
        let payload =
            json!({"machine": "review", "entity": entity, "entityId": id, "event": "approve"});
        let found = desk
            .connection
            .fails("MachineTransitionRequest", payload)
            .await;
        assert_eq!(found, "MODEL_NOT_FOUND", "{entity}");
    }
    // An entity of another model is none of this one.
    let other = locked_model(&desk.connection, "other", json!({"n": 1})).await;
    let other = create(&desk.connection, &other, json!({"n": 1})).await;
    let answer = desk.fire(&other, "plain", json!({})).await;
    assert_eq!(code(&answer), "ENTITY_NOT_FOUND");
    assert_eq!(
        desk.workflows(&json!({"name": "other", "version": 1}))
            .await,
        json!([])
    );
    desk.notifications
        .next("POST /send", Behaviour::Json(402, json!({})));
    let answer = desk.fire(&id, "send", json!({"text": "x"})).await;
    assert_eq!(code(&answer), "WORKFLOW_FAILED", "{answer}");
    desk.notifications.next("POST /send", Behaviour::Hang);
    let answer = desk.fire(&id, "send", json!({"text": "x"})).await;
    assert_eq!(code(&answer), "CONNECTOR_UNAVAILABLE", "{answer}");
    let entity = get(&desk.connection, &id).await;
    assert_eq!(
        (state(&entity), &entity["data"]["status"]),
        ("open", &json!("open"))
    );
    let path = format!("/api/entity/{id}/changes");
    let changes = desk.server.rest().get(&path).await.ok();
    assert_eq!(changes.as_array().map(Vec::len), Some(1), "{changes}");
    let answer = desk.fire(&id, "send", json!({"text": "x"})).await;
    assert_eq!(answer["actionResult"], json!({"sent": true}), "{answer}");
    let answer = desk.fire(&id, "send", json!({"text": "x"})).await;
    assert_eq!(code(&answer), "FINAL_STATE");
}

#[tokio::test]
async fn a_model_that_comes_later_gets_its_machine_with_the_first_event() {
    let desk = Desk::open().await;
    let applied = desk.apply(REVIEW).await;
    let expected = [
        "S303 machine.hcl:29",
        "S304 machine.hcl:41",
        "S304 machine.hcl:11",
    ];
    assert_eq!(errors_and_warnings(&applied), expected);
    let nil = "00000000-0000-0000-0000-000000000000";
    let answer = desk.fire(nil, "plain", json!({})).await;
    assert_eq!(code(&answer), "MODEL_NOT_FOUND");
    let model = json!({"name": "documents", "version": 2});
    desk.lock(&model, json!({"title": "x", "status": "x"}))
        .await;
    let new = create(&desk.connection, &model, json!({"title": "t"})).await;
    let known = create(
        &desk.connection,
        &model,
        json!({"title": "t", "status": "approved"}),
    )
    .await;
    let odd = create(
        &desk.connection,
        &model,
        json!({"title": "t", "status": "lost"}),
    )
    .await;
    assert_eq!(state(&get(&desk.connection, &new).await), "CREATED");
    // An event that is refused gives the model nothing.
    let answer = desk.fire(&new, "fly", json!({})).await;
    assert_eq!(code(&answer), "TRANSITION_NOT_FOUND");
    assert_eq!(desk.workflows(&model).await, json!([]));
    let answer = desk.fire(&new, "plain", json!({})).await;
    assert_eq!(
        (&answer["previousState"], &answer["currentState"]),
        (&json!("open"), &json!("approved")),
        "{answer}"
    );
    assert_eq!(desk.workflows(&model).await[0]["name"], "review");
    // Entities of the built-in workflow are in the state that their `$.status` names.
    let answer = desk.fire(&known, "reopen", json!({})).await;
    assert_eq!(answer["previousState"], "approved", "{answer}");
    let answer = desk.fire(&odd, "plain", json!({})).await;
    assert_eq!(code(&answer), "WORKFLOW_FAILED", "{answer}");
}

#[tokio::test]
async fn a_workflow_that_was_changed_by_hand_is_the_machine_again_with_the_next_event() {
    let (desk, model) = Desk::with_documents().await;
    let id = create(&desk.connection, &model, json!({"title": "t"})).await;
    let other = json!({"version": "1", "name": "review", "initialState": "open", "states": {
        "open": {"transitions": [{"name": "plain", "next": "gone", "manual": true}]}, "gone": {}}});
    let import = json!({"model": model, "workflows": [other]});
    desk.connection
        .ok("EntityWorkflowImportRequest", import)
        .await;
    let answer = desk.fire(&id, "plain", json!({})).await;
    assert_eq!(ended(&answer), "approved", "{answer}");
    assert!(desk.workflows(&model).await.to_string().contains("reopen"));
}

#[tokio::test]
async fn an_imported_guard_that_no_event_could_evaluate_is_refused() {
    let (desk, model) = Desk::with_documents().await;
    let mut workflow = desk.workflows(&model).await[0].clone();
    let guard = &mut workflow["states"]["open"]["transitions"][0]["criterion"]["function"];
    guard["config"]["context"] = json!("input.score >=");
    let import = json!({"model": model, "workflows": [workflow]});
    let refused = desk
        .connection
        .call("EntityWorkflowImportRequest", import)
        .await;
    let message = refused["error"]["message"].as_str().unwrap_or_default();
    let expected = "workflow \"review\", state \"open\", transition \"approve\": the guard";
    assert!(message.contains(expected), "{refused}");
}

/// Any caller may import a workflow, and only an administrator may say when a connector is called.
#[tokio::test]
async fn a_guard_that_was_taken_out_of_the_workflow_still_guards_the_action() {
    let (desk, model) = Desk::with_documents().await;
    let send = "on \"send\" {";
    let guarded = REVIEW
        .replace(send, &format!("{send}\n guard = \"size(input) > 0\""))
        .replace(
            "{ text = \"input.text\" }\n      }\n    }\n    on \"print\"",
            "{ text = \"x\" }\n      }\n    }\n    on \"print\"",
        );
    desk.apply(&guarded).await;
    let id = create(&desk.connection, &model, json!({"title": "t"})).await;
    let mut workflow = desk.workflows(&model).await[0].clone();
    let transition = workflow["states"]["open"]["transitions"][2].as_object_mut();
    let taken_out = transition.expect("a transition").remove("criterion");
    assert!(taken_out.is_some(), "{workflow}");
    let import = json!({"model": model, "importMode": "REPLACE", "workflows": [workflow]});
    desk.connection
        .ok("EntityWorkflowImportRequest", import)
        .await;
    let by_name = json!({"entityId": id, "transition": "send"});
    let request = "EntityTransitionRequest";
    let found = desk.connection.fails(request, by_name).await;
    assert_eq!(found, "GUARD_REJECTED");
    assert_eq!(state(&get(&desk.connection, &id).await), "open");
    assert!(desk.notifications.seen().is_empty());
    let answer = desk.fire(&id, "send", json!({"text": "x"})).await;
    assert_eq!(ended(&answer), "sent", "{answer}");
}

#[tokio::test]
async fn an_action_on_entities_is_part_of_the_commit() {
    let (desk, model) = Desk::with_documents().await;
    let notes = locked_model(&desk.connection, "notes", json!({"text": "x"})).await;
    let id = create(&desk.connection, &model, json!({"title": "t"})).await;
    let answer = desk.fire(&id, "log", json!({"text": "seen"})).await;
    let note = answer["actionResult"]["id"].as_str().expect("an id");
    let note = get(&desk.connection, note).await;
    let entity = get(&desk.connection, &id).await;
    assert_eq!(note["data"], json!({"text": "seen"}));
    assert_eq!(
        note["meta"]["transactionId"], entity["meta"]["transactionId"],
        "{note} {entity}"
    );
    let failed = desk.fire(&id, "log", json!({"text": 7})).await;
    assert_eq!(code(&failed), "WORKFLOW_FAILED", "{failed}");
    let (all, _) = desk
        .connection
        .all("EntityGetAllRequest", json!({"model": notes}))
        .await;
    assert_eq!(all.len(), 1);
}

#[tokio::test]
async fn a_member_stands_in_for_a_connector_that_is_not_declared() {
    let (desk, model) = Desk::with_documents().await;
    let id = create(&desk.connection, &model, json!({"title": "t"})).await;
    let member = Member::join(&desk.server, &["connector:printer"]).await;
    let (answer, ()) = tokio::join!(desk.fire(&id, "print", json!({"page": 7})), async {
        let call = member.next().await;
        let parameters = call.payload["parameters"].as_str().expect("a text");
        let parameters: Value = serde_json::from_str(parameters).expect("JSON");
        assert_eq!(parameters["payload"], json!({"page": 7}), "{parameters}");
        member
            .reply(&call, Reply::Data(json!({"printed": 1})))
            .await;
    });
    assert_eq!(answer["actionResult"], json!({"printed": 1}), "{answer}");
    assert_eq!(state(&get(&desk.connection, &id).await), "sent");
}

/// By its name, without an event, a transition is taken with no data.
#[tokio::test]
async fn an_ordinary_transition_is_an_event_without_data() {
    let (desk, model) = Desk::with_documents().await;
    let id = create(&desk.connection, &model, json!({"title": "t"})).await;
    let by_name = |transition: &str| json!({"entityId": id, "transition": transition});
    let request = "EntityTransitionRequest";
    let guarded = desk.connection.fails(request, by_name("approve")).await;
    assert_eq!(guarded, "GUARD_ERROR");
    let without = desk.connection.fails(request, by_name("send")).await;
    assert_eq!(without, "WORKFLOW_FAILED");
    desk.connection.ok(request, by_name("plain")).await;
    let entity = get(&desk.connection, &id).await;
    assert_eq!(
        (state(&entity), &entity["data"]["status"]),
        ("approved", &json!("approved"))
    );
    // A client that writes another status does not change what is shown.
    let update = json!({"dataFormat": "JSON", "payload":
        {"entityId": id, "data": {"title": "u", "status": "sent"}}});
    desk.connection.ok("EntityUpdateRequest", update).await;
    let entity = get(&desk.connection, &id).await;
    assert_eq!(entity["data"], json!({"title": "u", "status": "approved"}));
}

#[tokio::test]
async fn two_events_for_one_entity_happen_one_after_the_other_and_act_once() {
    let (desk, model) = Desk::with_documents().await;
    let id = create(&desk.connection, &model, json!({"title": "t"})).await;
    let slow = Behaviour::Json(200, json!({"sent": true}));
    let slow = Behaviour::After(Duration::from_millis(200), Box::new(slow));
    desk.notifications.on("POST /send", slow);
    let fire = || desk.fire(&id, "send", json!({"text": "x"}));
    let (one, two, three) = tokio::join!(fire(), fire(), fire());
    let mut found = [ended(&one), ended(&two), ended(&three)];
    found.sort();
    assert_eq!(found, ["FINAL_STATE", "FINAL_STATE", "sent"]);
    assert_eq!(desk.notifications.seen().len(), 1);
}

/// A write of another client in between is met by another try, for which the action is not done
/// again.
#[tokio::test]
async fn an_event_that_meets_another_write_is_tried_again_without_its_action() {
    let (desk, model) = Desk::with_documents().await;
    let id = create(&desk.connection, &model, json!({"title": "t"})).await;
    let slow = Behaviour::Json(200, json!({"sent": true}));
    let slow = Behaviour::After(Duration::from_millis(500), Box::new(slow));
    desk.notifications.on("POST /send", slow);
    let (answer, ()) = tokio::join!(desk.fire(&id, "send", json!({"text": "x"})), async {
        desk.notifications.has_seen(1).await;
        let update = json!({"dataFormat": "JSON", "payload":
            {"entityId": id, "data": {"title": "meanwhile"}}});
        let connection = desk.server.connect().await;
        connection.ok("EntityUpdateRequest", update).await;
    });
    assert_eq!(answer["actionResult"], json!({"sent": true}), "{answer}");
    let entity = get(&desk.connection, &id).await;
    assert_eq!(state(&entity), "sent");
    assert_eq!(
        entity["data"],
        json!({"title": "meanwhile", "status": "sent"})
    );
    assert_eq!(desk.notifications.seen().len(), 1);
}

/// What an action writes on entities is rolled back with its try, and so it is part of the next.
#[tokio::test]
async fn an_event_that_meets_another_write_does_its_action_on_entities_again() {
    let (desk, model) = Desk::with_documents().await;
    // A member is called while the note is written.
    let called = automated("go", "B", processor("SYNC", json!({})));
    let workflow = states(json!({"A": [called], "B": []}));
    let notes = governed_model(&desk.connection, "notes", json!({"text": "x"}), workflow).await;
    let id = create(&desk.connection, &model, json!({"title": "t"})).await;
    let member = Member::join(&desk.server, &[]).await;
    let other = desk.server.connect().await;
    let (answer, ()) = tokio::join!(desk.fire(&id, "log", json!({"text": "seen"})), async {
        let call = member.next().await;
        let update = json!({"dataFormat": "JSON", "payload":
            {"entityId": id, "data": {"title": "meanwhile"}}});
        other.ok("EntityUpdateRequest", update).await;
        member.reply(&call, Reply::Nothing).await;
        let call = member.next().await;
        member.reply(&call, Reply::Nothing).await;
    });
    let note = answer["actionResult"]["id"].as_str().expect("an id");
    let note = get(&desk.connection, note).await;
    assert_eq!(note["data"], json!({"text": "seen"}), "{answer}");
    let all = json!({"model": notes});
    let (all, _) = desk.connection.all("EntityGetAllRequest", all).await;
    assert_eq!(all.len(), 1, "{all:?}");
}

/// A saga that takes a transition of a machine.
const SHIPPING: &str = r#"
saga "shipping" {
  step "ship" {
    action {
      connector = "entity"
      operation = "TRANSITION send"
      target    = "documents/2"
      where     = { id = "input.id" }
    }
  }
}
"#;

#[tokio::test]
async fn a_step_that_meets_another_write_is_tried_again_without_the_action_of_its_transition() {
    let (desk, model) = Desk::with_documents().await;
    // A transition without an event has no data.
    let review = REVIEW.replace("body      = { text = \"input.text\" }", "body = { n = 7 }");
    desk.apply(&(review + SHIPPING)).await;
    let id = create(&desk.connection, &model, json!({"title": "t"})).await;
    let slow = Behaviour::Json(200, json!({"sent": true}));
    let slow = Behaviour::After(Duration::from_millis(500), Box::new(slow));
    desk.notifications.on("POST /send", slow);
    let start = json!({"definition": "shipping", "input": {"id": id}, "waitMs": 30_000});
    let other = desk.server.connect().await;
    let (started, ()) = tokio::join!(desk.connection.ok("RunStartRequest", start), async {
        desk.notifications.has_seen(1).await;
        let update = json!({"dataFormat": "JSON", "payload":
            {"entityId": id, "data": {"title": "meanwhile"}}});
        other.ok("EntityUpdateRequest", update).await;
    });
    assert_eq!(started["run"]["status"], "completed", "{started}");
    let entity = get(&desk.connection, &id).await;
    assert_eq!(state(&entity), "sent");
    assert_eq!(entity["data"]["title"], "meanwhile");
    let seen = desk.notifications.seen();
    assert_eq!(seen.len(), 1, "{seen:?}");
    let key = seen[0].key();
    let run = started["runId"].as_str().expect("an id");
    assert!(key.starts_with(&format!("{run}:ship:action:")), "{key}");
}

#[tokio::test]
async fn guards_read_only_the_data_that_a_flow_composes() {
    let (desk, model) = Desk::with_documents().await;
    let event = "event   = \"input.event\"";
    let with_data = format!("{event}\n    data    = {{ score = \"input.points\" }}");
    desk.apply(&REVIEW.replace(event, &with_data)).await;
    let id = create(&desk.connection, &model, json!({"title": "t"})).await;
    let rest = desk.server.rest();
    let path = format!("/documents/{id}/events");
    // The guard must not see the caller's own `score`.
    let body = json!({"event": "approve", "score": 99}).to_string();
    rest.post(&path, body).await.refused(400, "BAD_REQUEST");
    assert_eq!(state(&get(&desk.connection, &id).await), "open");
    let body = json!({"event": "approve", "points": 51}).to_string();
    let moved = rest.post(&path, body).await.ok();
    assert_eq!(moved["current_state"], "approved");
}

#[tokio::test]
async fn a_route_and_a_key_work_for_entities_too() {
    let (desk, model) = Desk::with_documents().await;
    let id = create(&desk.connection, &model, json!({"title": "t"})).await;
    let rest = desk.server.rest().with("idempotency-key", "once");
    let path = format!("/documents/{id}/events");
    let body = json!({"event": "approve", "score": 51}).to_string();
    let moved = rest.post(&path, body.clone()).await.ok();
    assert_eq!(
        moved,
        json!({"entity_id": id, "machine": "review", "previous_state": "open",
            "current_state": "approved", "event": "approve"})
    );
    assert_eq!(rest.post(&path, body).await.ok(), moved);
    // Without its bundle there is no machine; its workflow stays.
    desk.connection
        .ok("BundleDeleteRequest", json!({"bundle": "desk"}))
        .await;
    let answer = desk.fire(&id, "reopen", json!({})).await;
    assert_eq!(code(&answer), "MACHINE_NOT_FOUND");
    let by_name = json!({"entityId": id, "transition": "reopen"});
    desk.connection.ok("EntityTransitionRequest", by_name).await;
    let send = json!({"entityId": id, "transition": "send"});
    let found = desk.connection.fails("EntityTransitionRequest", send).await;
    assert_eq!(found, "WORKFLOW_FAILED");
}
