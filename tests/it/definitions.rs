//! Definitions of runs: created, listed, disabled, deleted, through REST and as events
//! (`runs.md` §4).

use serde_json::{Value, json};

use crate::support::{
    Connection, Member, Reply, Rest, Server, code, create as create_entity, governed_model,
    processed_by, sync_processor,
};

/// A document of that name and version, whose first step runs that action.
fn document(name: &str, version: &str, action: &str) -> String {
    format!(
        "kind: Workflow\nname: {name}\nversion: \"{version}\"\ndescription: by {action}\nstart:\n  run: \"@actions/{action}\"\n  transitions:\n    success: flo.Completed\n"
    )
}

async fn create(connection: &Connection, document: &str) -> Value {
    let payload = json!({"document": document});
    connection.ok("RunDefinitionCreateRequest", payload).await
}

/// The codes of the findings of an answer.
fn codes(answer: &Value) -> Vec<String> {
    let findings = answer["findings"].as_array().expect("a list").iter();
    let codes = findings.map(|one| one["code"].as_str().expect("a code").to_owned());
    codes.collect()
}

async fn described(connection: &Connection, payload: Value) -> Value {
    connection.ok("RunDefinitionGetRequest", payload).await
}

async fn names(connection: &Connection, payload: Value) -> Vec<String> {
    let page = connection.ok("RunDefinitionsGetRequest", payload).await;
    let items = page["items"].as_array().expect("a list").iter();
    items
        .map(|item| item["name"].as_str().expect("a name").to_owned())
        .collect()
}

#[tokio::test]
async fn a_definition_is_answered_as_it_was_sent_and_outlives_a_restart() {
    let mut server = Server::on_disk(&[]);
    let connection = server.connect().await;
    let yaml = document("order", "1.10", "charge");
    let created = create(&connection, &yaml).await;
    assert_eq!(
        (&created["name"], &created["version"], &created["change"]),
        (&json!("order"), &json!("1.10"), &json!("created"))
    );
    assert_eq!(created["digest"].as_str().expect("a digest").len(), 64);
    assert_eq!(codes(&created), ["E509"]);
    assert!(created.get("requestId").is_none(), "{created}");
    let object = json!({"kind": "Workflow", "name": "object", "version": "1", "plans": {
        "fast": {"executors": [{"name": "a", "action": "@actions/a"}]}},
        "start": {"run": "@plan/fast", "transitions": {"success": "flo.Completed"}}});
    connection
        .ok("RunDefinitionCreateRequest", json!({"document": object}))
        .await;
    for restarted in [false, true] {
        if restarted {
            server.kill();
            server.restart();
        }
        let connection = server.connect().await;
        let order = described(&connection, json!({"name": "order"})).await;
        assert_eq!(order["document"], json!(yaml));
        assert_eq!(order["digest"], created["digest"]);
        assert_eq!(order["description"], "by charge");
        assert_eq!(
            (&order["kind"], &order["enabled"]),
            (&json!("flo"), &json!(true))
        );
        assert!(order["createdAt"].as_str().expect("a time").ends_with('Z'));
        let of_object = described(&connection, json!({"name": "object"})).await;
        assert_eq!(of_object["document"], object);
        assert_eq!(of_object["plans"], json!(["fast"]));
    }
}

#[tokio::test]
async fn a_document_with_errors_is_refused_with_every_finding_and_changes_nothing() {
    let server = Server::start();
    let connection = server.connect().await;
    create(&connection, &document("w", "1", "a")).await;
    let wrong = "kind: Workflow\nname: w\nversion: 1\nstart:\n  run: charge\n  transitions:\n    success: nowhere\n  colour: red\n";
    let refused = connection
        .call("RunDefinitionCreateRequest", json!({"document": wrong}))
        .await;
    assert_eq!(code(&refused), "VALIDATION_FAILED");
    let findings = &refused["error"]["properties"]["findings"];
    let codes = findings.as_array().expect("a list").iter();
    let codes: Vec<_> = codes
        .map(|one| one["code"].as_str().expect("a code"))
        .collect();
    for expected in ["E202", "E201", "E108"] {
        assert!(codes.contains(&expected), "{findings}");
    }
    let validated = json!({"document": wrong});
    let validated = connection
        .ok("RunDefinitionValidateRequest", validated)
        .await;
    assert_eq!(validated["valid"], false);
    assert_eq!(&validated["findings"], findings);
    let stored = described(&connection, json!({"name": "w"})).await;
    assert_eq!(stored["document"], json!(document("w", "1", "a")));
    // What is no document at all is an error of the document, too.
    for nonsense in [
        json!("{"),
        json!([1]),
        json!(7),
        json!("x".repeat((1 << 20) + 1)),
    ] {
        let payload = json!({"document": nonsense});
        let failed = connection
            .fails("RunDefinitionCreateRequest", payload)
            .await;
        assert_eq!(failed, "VALIDATION_FAILED");
    }
}

#[tokio::test]
async fn warnings_are_answered_and_kept() {
    let server = Server::start();
    let connection = server.connect().await;
    let odd = document("w", "1", "a") + "colour: red\n";
    let created = create(&connection, &odd).await;
    assert_eq!(created["findings"][0]["code"], "E108");
    assert_eq!(created["findings"][0]["severity"], "warning");
    let stored = described(&connection, json!({"name": "w"})).await;
    // Whether an action is registered is not kept: it may change.
    assert_eq!(codes(&created), ["E108", "E509"]);
    assert_eq!(stored["findings"], json!([created["findings"][0]]));
}

#[tokio::test]
async fn an_action_that_is_not_registered_is_a_warning_and_a_run_says_what_to_do() {
    let server = Server::start();
    let connection = server.connect().await;
    let plans = "plans:\n  p:\n    executors:\n      - {name: a, action: \"@actions/pack\"}\n      - {name: b, action: \"@actions/ship\"}\n";
    let fails = "    failure: flo.Failed\n";
    let document = document("w", "1", "pack") + fails + plans;
    let validated = json!({"document": document});
    let validated = connection.ok("RunDefinitionValidateRequest", validated);
    let created = create(&connection, &document).await;
    assert_eq!(created["findings"], validated.await["findings"]);
    let findings = created["findings"].as_array().expect("a list").iter();
    let places: Vec<_> = findings
        .filter(|one| one["code"] == "E509")
        .map(|one| (one["location"].as_str(), one["severity"].as_str()))
        .collect();
    assert_eq!(
        places,
        [
            (Some("start.run"), Some("warning")),
            (Some("plans.p.executors[1].action"), Some("warning"))
        ]
    );
    let start = json!({"definition": "w", "waitMs": 10_000});
    let failed = connection.ok("RunStartRequest", start).await;
    assert_eq!(failed["run"]["status"], "failed", "{failed}");
    let message = failed["run"]["error"]["message"].as_str();
    let message = message.unwrap_or_else(|| panic!("{failed}"));
    assert!(message.ends_with("flo action register pack"), "{message}");
    for name in ["pack", "ship"] {
        let register = json!({"name": name});
        connection.ok("ActionRegisterRequest", register).await;
    }
    let again = create(&connection, &document).await;
    assert!(!codes(&again).contains(&"E509".to_owned()), "{again}");
}

#[tokio::test]
async fn versions_are_kept_and_the_latest_is_the_one_that_was_created_last() {
    let server = Server::start();
    let connection = server.connect().await;
    let first = create(&connection, &document("w", "2", "a")).await;
    let second = create(&connection, &document("w", "1", "b")).await;
    assert_ne!(first["digest"], second["digest"]);
    let latest = described(&connection, json!({"name": "w"})).await;
    assert_eq!(
        (&latest["version"], &latest["versions"]),
        (&json!("1"), &json!(["2", "1"]))
    );
    assert_eq!(latest["document"], json!(document("w", "1", "b")));
    let other = described(&connection, json!({"name": "w", "version": "2"})).await;
    assert_eq!(
        (&other["version"], &other["digest"]),
        (&json!("2"), &first["digest"])
    );
    // The same document again is no change, another one replaces it in its place.
    for (action, change) in [("a", "unchanged"), ("c", "replaced"), ("c", "unchanged")] {
        let again = create(&connection, &document("w", "2", action)).await;
        assert_eq!(again["change"], change);
    }
    let latest = described(&connection, json!({"name": "w"})).await;
    assert_eq!(latest["version"], "1");
    let replaced = described(&connection, json!({"name": "w", "version": "2"})).await;
    assert_eq!(replaced["document"], json!(document("w", "2", "c")));
    let missing = json!({"name": "w", "version": "3"});
    let missing = connection.fails("RunDefinitionGetRequest", missing).await;
    assert_eq!(missing, "RUN_DEFINITION_NOT_FOUND");
}

#[tokio::test]
async fn a_name_and_its_versions_are_disabled_each_by_themselves() {
    let mut server = Server::on_disk(&[]);
    let connection = server.connect().await;
    for version in ["1", "2"] {
        create(&connection, &document("w", version, "a")).await;
    }
    let set = async |version: Option<&str>, enabled: bool| {
        let mut payload = json!({"name": "w", "enabled": enabled});
        if let Some(version) = version {
            payload["version"] = json!(version);
        }
        let set = connection
            .ok("RunDefinitionSetEnabledRequest", payload)
            .await;
        (set["enabled"].clone(), set["disabledVersions"].clone())
    };
    assert_eq!(set(Some("1"), false).await, (json!(true), json!(["1"])));
    assert_eq!(set(None, false).await, (json!(false), json!(["1"])));
    assert_eq!(
        set(None, false).await,
        (json!(false), json!(["1"])),
        "again"
    );
    assert_eq!(set(Some("1"), true).await, (json!(false), json!([])));
    assert_eq!(set(Some("2"), false).await, (json!(false), json!(["2"])));
    // A new version changes neither.
    create(&connection, &document("w", "3", "a")).await;
    server.kill();
    server.restart();
    let connection = server.connect().await;
    let stored = described(&connection, json!({"name": "w"})).await;
    assert_eq!(
        (&stored["enabled"], &stored["disabledVersions"]),
        (&json!(false), &json!(["2"]))
    );
    for payload in [
        json!({"name": "none", "enabled": true}),
        json!({"name": "w", "version": "9", "enabled": true}),
    ] {
        let failed = connection
            .fails("RunDefinitionSetEnabledRequest", payload)
            .await;
        assert_eq!(failed, "RUN_DEFINITION_NOT_FOUND");
    }
}

#[tokio::test]
async fn one_version_is_deleted_or_all_of_them() {
    let server = Server::start();
    let connection = server.connect().await;
    for version in ["1", "2", "3"] {
        create(&connection, &document("w", version, version)).await;
    }
    let delete = async |payload: Value| {
        let deleted = connection.ok("RunDefinitionDeleteRequest", payload).await;
        deleted["deleted"].clone()
    };
    assert_eq!(delete(json!({"name": "w", "version": "3"})).await, 1);
    let left = described(&connection, json!({"name": "w"})).await;
    assert_eq!(
        (&left["version"], &left["versions"]),
        (&json!("2"), &json!(["1", "2"]))
    );
    assert_eq!(left["description"], "by 2");
    let page = connection.ok("RunDefinitionsGetRequest", json!({})).await;
    assert_eq!(page["items"][0]["description"], "by 2");
    let failed = json!({"name": "w", "version": "3"});
    let failed = connection.fails("RunDefinitionDeleteRequest", failed).await;
    assert_eq!(failed, "RUN_DEFINITION_NOT_FOUND");
    assert_eq!(delete(json!({"name": "w"})).await, 2);
    assert_eq!(names(&connection, json!({})).await, [""; 0]);
    let gone = connection
        .fails("RunDefinitionGetRequest", json!({"name": "w"}))
        .await;
    assert_eq!(gone, "RUN_DEFINITION_NOT_FOUND");
    // A name that was deleted is free, and remembers nothing.
    let again = create(&connection, &document("w", "3", "x")).await;
    assert_eq!(again["change"], "created");
}

#[tokio::test]
async fn definitions_are_listed_by_name_in_pages() {
    let server = Server::start();
    let connection = server.connect().await;
    for name in ["c", "a", "ü", "b"] {
        create(&connection, &document(name, "1", "a")).await;
    }
    assert_eq!(names(&connection, json!({})).await, ["a", "b", "c", "ü"]);
    assert_eq!(names(&connection, json!({"kind": "flo"})).await.len(), 4);
    assert_eq!(names(&connection, json!({"kind": "saga"})).await.len(), 0);
    let mut found = Vec::new();
    let mut payload = json!({"limit": 1});
    loop {
        let page = connection
            .ok("RunDefinitionsGetRequest", payload.clone())
            .await;
        let items = page["items"].as_array().expect("a list");
        assert_eq!(items.len(), 1, "{page}");
        found.push(items[0]["name"].as_str().expect("a name").to_owned());
        let pagination = &page["pagination"];
        if pagination["hasNext"] == false {
            assert!(pagination.get("nextCursor").is_none(), "{page}");
            break;
        }
        payload["cursor"] = pagination["nextCursor"].clone();
    }
    assert_eq!(found, ["a", "b", "c", "ü"]);
    for payload in [
        json!({"cursor": "no cursor"}),
        json!({"limit": 0}),
        json!({"limit": 1_001}),
        json!({"kind": "manager"}),
        json!({"namespace": "a b"}),
    ] {
        let failed = connection.fails("RunDefinitionsGetRequest", payload).await;
        assert_eq!(failed, "BAD_REQUEST");
    }
}

#[tokio::test]
async fn namespaces_have_definitions_of_their_own() {
    let server = Server::start();
    let connection = server.connect().await;
    create(&connection, &document("w", "1", "a")).await;
    let elsewhere = json!({"document": document("w", "1", "b"), "namespace": "billing"});
    connection.ok("RunDefinitionCreateRequest", elsewhere).await;
    let of_default = described(&connection, json!({"name": "w"})).await;
    let of_billing = json!({"name": "w", "namespace": "billing"});
    let of_billing = described(&connection, of_billing).await;
    assert_ne!(of_default["digest"], of_billing["digest"]);
    let delete = json!({"name": "w", "namespace": "billing"});
    connection.ok("RunDefinitionDeleteRequest", delete).await;
    assert_eq!(names(&connection, json!({})).await, ["w"]);
    assert_eq!(
        names(&connection, json!({"namespace": "billing"})).await,
        [""; 0]
    );
    // A document that names another namespace than the request is refused.
    let other = document("w", "1", "a") + "namespace: billing\n";
    let failed = connection
        .call("RunDefinitionCreateRequest", json!({"document": other}))
        .await;
    assert_eq!(failed["error"]["properties"]["findings"][0]["code"], "E109");
}

#[tokio::test]
async fn a_validation_says_when_a_schedule_would_start_runs() {
    let server = Server::start();
    let connection = server.connect().await;
    let validate = async |schedule: &str| {
        let document = document("w", "1", "a") + schedule;
        let payload = json!({"document": document});
        connection.ok("RunDefinitionValidateRequest", payload).await
    };
    let none = validate("").await;
    assert!(
        none["valid"] == true && none.get("nextFires").is_none(),
        "{none}"
    );
    let cron = validate("schedule: {cron: \"30 6 * * *\"}\n").await;
    let fires = cron["nextFires"].as_array().expect("a list");
    assert_eq!(fires.len(), 5);
    for fire in fires {
        assert!(
            fire.as_str().expect("a time").contains("T06:30:00"),
            "{cron}"
        );
    }
    let interval = validate("schedule: {interval: 60000}\n").await;
    assert_eq!(interval["nextFires"].as_array().map(Vec::len), Some(5));
    let never = validate("schedule: {cron: \"0 0 30 2 *\"}\n").await;
    assert_eq!(
        (&never["valid"], &never["nextFires"]),
        (&json!(true), &json!([])),
        "{never}"
    );
    let findings = never["findings"].as_array().expect("a list");
    let of_cron = findings.iter().find(|finding| finding["code"] == "E506");
    assert_eq!(of_cron.expect("a finding")["severity"], "warning");
    assert_eq!(
        names(&connection, json!({})).await,
        [""; 0],
        "nothing is stored"
    );
}

#[tokio::test]
async fn a_creation_is_done_once_for_an_idempotency_key() {
    let server = Server::start();
    let connection = server.connect().await;
    let create = async |version: &str, attribute: (&str, &str)| {
        let payload = json!({"document": document("w", version, "a")});
        let kind = "RunDefinitionCreateRequest";
        connection.call_with(kind, payload, &[attribute]).await
    };
    for _ in 0..2 {
        let answer = create("1", ("idempotencykey", "k")).await;
        assert_eq!(answer["change"], "created", "{answer}");
    }
    let other = create("2", ("idempotencykey", "k")).await;
    assert_eq!(code(&other), "IDEMPOTENCY_CONFLICT");
}

#[tokio::test]
async fn a_change_of_a_definition_joins_no_transaction() {
    let server = Server::start();
    let connection = server.connect().await;
    create(&connection, &document("w", "1", "a")).await;
    let member = Member::join(&server, &[]).await;
    let workflow = processed_by(json!([sync_processor("p", json!({}))]));
    let model = governed_model(&connection, "doc", json!({"n": 1}), workflow).await;
    let (reported, mut said) = tokio::sync::mpsc::unbounded_channel();
    member.serve(move |call, connection| {
        let reported = reported.clone();
        async move {
            let with = [("cyodatxtoken", call.token())];
            for (kind, payload) in [
                (
                    "RunDefinitionCreateRequest",
                    json!({"document": document("w", "2", "a")}),
                ),
                (
                    "RunDefinitionSetEnabledRequest",
                    json!({"name": "w", "enabled": false}),
                ),
                ("RunDefinitionDeleteRequest", json!({"name": "w"})),
            ] {
                let answer = connection.call_with(kind, payload, &with).await;
                reported.send(code(&answer)).expect("the test waits");
            }
            Reply::Nothing
        }
    });
    create_entity(&connection, &model, json!({"n": 1})).await;
    for _ in 0..3 {
        assert_eq!(said.recv().await.as_deref(), Some("BAD_REQUEST"));
    }
    let stored = described(&connection, json!({"name": "w"})).await;
    assert_eq!(stored["versions"], json!(["1"]));
}

#[tokio::test]
async fn of_definitions_that_are_created_at_once_each_is_there() {
    let server = Server::start();
    let connection = server.connect().await;
    let creating = (0..16).map(async |version: u32| {
        let payload = json!({"document": document("w", &version.to_string(), "a")});
        loop {
            let kind = "RunDefinitionCreateRequest";
            let answer = connection.call(kind, payload.clone()).await;
            if answer["success"] == true {
                break;
            }
            assert_eq!(code(&answer), "CONFLICT");
        }
    });
    futures_util::future::join_all(creating).await;
    let stored = described(&connection, json!({"name": "w"})).await;
    assert_eq!(stored["versions"].as_array().map(Vec::len), Some(16));
}

#[tokio::test]
async fn rest_takes_the_document_as_the_body() {
    let server = Server::start();
    let rest: Rest = server.rest();
    let yaml = document("w", "1", "a");
    let created = rest.post("/api/definitions", yaml.clone()).await.ok();
    assert_eq!(
        (&created["name"], &created["change"]),
        (&json!("w"), &json!("created"))
    );
    assert!(created.get("id").is_none() && created.get("success").is_none());
    let object = r#"{"kind": "Workflow", "name": "o", "version": "1", "start": {"run": "@actions/a", "transitions": {"success": "flo.Completed"}}}"#;
    rest.post("/api/definitions?namespace=n", object).await.ok();
    let stored = rest.get("/api/definitions/o?namespace=n").await.ok();
    let expected: Value = serde_json::from_str(object).expect("JSON");
    assert_eq!(stored["document"], expected);
    let stored = rest.get("/api/definitions/w?version=1").await.ok();
    assert_eq!(stored["document"], json!(yaml));
    let problem = rest.post("/api/definitions", "kind: Workflow\n").await;
    let problem = problem.refused(400, "VALIDATION_FAILED");
    assert!(
        problem["properties"]["findings"]
            .as_array()
            .is_some_and(|found| found.len() > 1)
    );
    let validated = rest
        .post("/api/definitions/validate", "kind: Workflow\n")
        .await
        .ok();
    assert_eq!(validated["valid"], false);
    let listed = rest.get("/api/definitions?limit=1").await.ok();
    assert_eq!(listed["items"][0]["name"], "w");
    assert_eq!(listed["pagination"], json!({"hasNext": false}));
    let disabled = rest.put("/api/definitions/w/disable", "").await.ok();
    assert_eq!(
        disabled,
        json!({"name": "w", "enabled": false, "disabledVersions": []})
    );
    let body = r#"{"version": "1", "name": "not this"}"#;
    let disabled = rest.put("/api/definitions/w/disable", body).await.ok();
    assert_eq!(disabled["disabledVersions"], json!(["1"]));
    let enabled = rest
        .put("/api/definitions/w/enable?version=1", "")
        .await
        .ok();
    assert_eq!(
        enabled,
        json!({"name": "w", "enabled": false, "disabledVersions": []})
    );
    let deleted = rest.delete("/api/definitions/w").await.ok();
    assert_eq!(deleted, json!({"name": "w", "deleted": 1}));
    let gone = rest.get("/api/definitions/w").await;
    let gone = gone.refused(404, "RUN_DEFINITION_NOT_FOUND");
    assert_eq!(gone["properties"]["name"], "w");
}
