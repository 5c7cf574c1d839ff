//! Actions: registered, listed, disabled, deleted, through REST and as events (`runs.md` §5).

use base64::{Engine as _, prelude::BASE64_STANDARD};
use serde_json::{Value, json};

use crate::support::{Connection, Server, code};

async fn register(connection: &Connection, payload: Value) -> Value {
    connection.ok("ActionRegisterRequest", payload).await
}

async fn get(connection: &Connection, name: &str) -> Value {
    let mut action = connection
        .ok("ActionGetRequest", json!({"name": name}))
        .await;
    for member in ["id", "success"] {
        action.as_object_mut().expect("an object").remove(member);
    }
    action
}

#[tokio::test]
async fn an_action_has_the_documented_defaults_and_outlives_a_restart() {
    let mut server = Server::on_disk(&[]);
    let connection = server.connect().await;
    let registered = register(&connection, json!({"name": "charge"})).await;
    assert_eq!(
        (&registered["version"], &registered["created"]),
        (&json!(1), &json!(true))
    );
    assert!(registered.get("requestId").is_none(), "{registered}");
    server.kill();
    server.restart();
    let connection = server.connect().await;
    assert_eq!(
        get(&connection, "charge").await,
        json!({"name": "charge", "type": "user", "dispatch": "task", "tags": [],
            "timeoutMs": 30_000, "maxRetries": 3, "retryDelayMs": 1_000,
            "maxOutputBytes": 1_048_576, "enabled": true, "version": 1, "pending": 0,
            "running": 0})
    );
}

#[tokio::test]
async fn a_registration_replaces_the_whole_action_and_counts_its_versions() {
    let server = Server::start();
    let connection = server.connect().await;
    let whole = json!({"name": "charge", "type": "user", "dispatch": "processor",
        "tags": ["billing", "eu"], "owner": "payments", "description": "Charges.",
        "context": "{\"mode\": 1}", "timeoutMs": 86_400_000, "maxRetries": 100, "retryDelayMs": 0,
        "waitMs": 60_000, "maxInputBytes": 1_024, "maxOutputBytes": 2_048, "enabled": false});
    register(&connection, whole.clone()).await;
    let mut expected = whole;
    expected["version"] = json!(1);
    for none in ["pending", "running"] {
        expected[none] = json!(0);
    }
    assert_eq!(get(&connection, "charge").await, expected);
    let again = register(&connection, json!({"name": "charge"})).await;
    assert_eq!(
        (&again["version"], &again["created"]),
        (&json!(2), &json!(false))
    );
    let replaced = get(&connection, "charge").await;
    assert_eq!(
        (
            &replaced["dispatch"],
            &replaced["tags"],
            &replaced["enabled"]
        ),
        (&json!("task"), &json!([]), &json!(true))
    );
    assert!(replaced.get("owner").is_none(), "{replaced}");
}

#[tokio::test]
async fn a_registration_out_of_bounds_is_refused_and_names_the_member() {
    let server = Server::start();
    let connection = server.connect().await;
    let long = "x".repeat(257);
    for (payload, member) in [
        (json!({"name": ""}), "name"),
        (json!({"name": long}), "name"),
        (json!({"type": "lambda"}), "type"),
        (json!({"dispatch": "mail"}), "dispatch"),
        (json!({"tags": ["a,b"]}), "tags"),
        (json!({"tags": [""]}), "tags"),
        (json!({"tags": vec!["t"; 101]}), "tags"),
        (json!({"owner": long}), "owner"),
        (json!({"timeoutMs": 0}), "timeoutMs"),
        (json!({"timeoutMs": 86_400_001}), "timeoutMs"),
        (json!({"maxRetries": -1}), "maxRetries"),
        (json!({"maxRetries": 101}), "maxRetries"),
        (json!({"retryDelayMs": -1}), "retryDelayMs"),
        (json!({"waitMs": -1}), "waitMs"),
        (json!({"maxInputBytes": 0}), "maxInputBytes"),
        (json!({"maxOutputBytes": 0}), "maxOutputBytes"),
        (json!({"namespace": "a b"}), "namespace"),
    ] {
        let mut request = json!({"name": "a"});
        for (name, value) in payload.as_object().expect("an object") {
            request[name] = value.clone();
        }
        let refused = connection.call("ActionRegisterRequest", request).await;
        assert_eq!(code(&refused), "BAD_REQUEST", "{payload}");
        let named = &refused["error"]["properties"]["parameter"];
        assert_eq!(named, member, "{payload}");
    }
    let none = connection.ok("ActionsGetRequest", json!({})).await;
    assert_eq!(none["items"], json!([]));
    // The bounds themselves are accepted.
    let name = "x".repeat(256);
    register(
        &connection,
        json!({"name": name, "timeoutMs": 1, "maxRetries": 0}),
    )
    .await;
}

#[tokio::test]
async fn an_action_is_disabled_and_enabled_and_deleted() {
    let server = Server::start();
    let connection = server.connect().await;
    register(&connection, json!({"name": "charge", "owner": "payments"})).await;
    for enabled in [false, false, true] {
        let set = json!({"name": "charge", "enabled": enabled});
        let set = connection.ok("ActionSetEnabledRequest", set).await;
        assert_eq!(
            (&set["name"], &set["enabled"]),
            (&json!("charge"), &json!(enabled))
        );
        let action = get(&connection, "charge").await;
        assert_eq!(
            (&action["enabled"], &action["owner"], &action["version"]),
            (&json!(enabled), &json!("payments"), &json!(1))
        );
    }
    let name = json!({"name": "charge"});
    let deleted = connection.ok("ActionDeleteRequest", name.clone()).await;
    assert_eq!(deleted["name"], "charge");
    let mut set = name.clone();
    set["enabled"] = json!(true);
    for (kind, payload) in [
        ("ActionGetRequest", &name),
        ("ActionDeleteRequest", &name),
        ("ActionSetEnabledRequest", &set),
    ] {
        let failed = connection.fails(kind, payload.clone()).await;
        assert_eq!(failed, "ACTION_NOT_FOUND", "{kind}");
    }
    let again = register(&connection, name).await;
    assert_eq!(
        (&again["version"], &again["created"]),
        (&json!(1), &json!(true))
    );
}

#[tokio::test]
async fn actions_are_listed_by_name_in_pages_of_their_namespace() {
    let server = Server::start();
    let connection = server.connect().await;
    for name in ["c", "a", "b"] {
        register(&connection, json!({"name": name})).await;
    }
    register(&connection, json!({"name": "d", "namespace": "other"})).await;
    let mut found = Vec::new();
    let mut request = json!({"limit": 2});
    loop {
        let page = connection.ok("ActionsGetRequest", request.clone()).await;
        let items = page["items"].as_array().expect("a list").iter();
        found.extend(items.map(|item| item["name"].as_str().expect("a name").to_owned()));
        match page["pagination"].get("nextCursor") {
            Some(cursor) => request["cursor"] = cursor.clone(),
            None => break,
        }
    }
    assert_eq!(found, ["a", "b", "c"]);
    let other = json!({"namespace": "other"});
    let other = connection.ok("ActionsGetRequest", other).await;
    assert_eq!(other["items"][0]["name"], "d");
    let elsewhere = json!({"name": "a", "namespace": "other"});
    let elsewhere = connection.fails("ActionGetRequest", elsewhere).await;
    assert_eq!(elsewhere, "ACTION_NOT_FOUND");
}

#[tokio::test]
async fn rest_registers_by_path_with_the_members_as_the_body() {
    let server = Server::start();
    let rest = server.rest();
    let body = r#"{"timeoutMs": 10000, "name": "not this", "namespace": "not this either"}"#;
    let registered = rest.put("/api/actions/charge?namespace=n", body).await.ok();
    assert_eq!(
        registered,
        json!({"name": "charge", "version": 1, "created": true})
    );
    let action = rest.get("/api/actions/charge?namespace=n").await.ok();
    assert_eq!(
        (&action["name"], &action["timeoutMs"]),
        (&json!("charge"), &json!(10_000))
    );
    rest.get("/api/actions/charge")
        .await
        .refused(404, "ACTION_NOT_FOUND");
    // All members have defaults.
    rest.put("/api/actions/plain", "").await.ok();
    let listed = rest.get("/api/actions?limit=10").await.ok();
    assert_eq!(listed["items"][0]["name"], "plain");
    for (path, enabled) in [("disable", false), ("enable", true)] {
        let path = format!("/api/actions/plain/{path}");
        let set = rest.put(&path, "").await.ok();
        assert_eq!(set, json!({"name": "plain", "enabled": enabled}));
    }
    let deleted = rest.delete("/api/actions/plain").await.ok();
    assert_eq!(deleted, json!({"name": "plain"}));
    let refused = rest.put("/api/actions/a", r#"{"timeoutMs": "x"}"#).await;
    refused.refused(400, "BAD_REQUEST");
}

/// A module in the text format, as it is registered.
fn wasm(text: &str) -> Value {
    json!({"module": BASE64_STANDARD.encode(text)})
}

const MODULE: &str = r#"(module (memory (export "memory") 1)
    (func (export "alloc") (param i32) (result i32) (i32.const 1024))
    (func (export "dealloc") (param i32 i32))
    (func (export "handle") (param i32 i32) (result i64) (i64.const 0))
    (func (export "other") (param i32 i32) (result i64) (i64.const -1)))"#;

#[tokio::test]
async fn a_module_is_registered_with_its_entrypoint_and_its_memory() {
    let server = Server::start();
    let connection = server.connect().await;
    register(
        &connection,
        json!({"name": "plain", "type": "wasm", "wasm": wasm(MODULE)}),
    )
    .await;
    let plain = get(&connection, "plain").await;
    assert_eq!(plain["type"], "wasm");
    assert_eq!(
        plain["wasm"],
        json!({"entrypoint": "handle", "memoryLimitBytes": 16_777_216})
    );
    let mut other = wasm(MODULE);
    other["entrypoint"] = json!("other");
    other["memoryLimitBytes"] = json!(65_536);
    register(
        &connection,
        json!({"name": "other", "type": "wasm", "wasm": other}),
    )
    .await;
    assert_eq!(
        get(&connection, "other").await["wasm"],
        json!({"entrypoint": "other", "memoryLimitBytes": 65_536})
    );
}

#[tokio::test]
async fn a_module_that_cannot_be_called_is_refused_with_its_findings() {
    let server = Server::start();
    let connection = server.connect().await;
    let foreign = MODULE.replace("(module", r#"(module (import "env" "abort" (func))"#);
    let large = MODULE.replace("\"memory\") 1", "\"memory\") 257");
    let mut small = wasm(MODULE);
    small["memoryLimitBytes"] = json!(65_535);
    let mut unknown = wasm(MODULE);
    unknown["entrypoint"] = json!("unknown");
    for (module, codes) in [
        (wasm("(module)"), json!(["W102", "W102", "W102"])),
        (wasm("not a module"), json!(["W101"])),
        (wasm(""), json!(["W101"])),
        (wasm(&foreign), json!(["W104"])),
        (wasm(&large), json!(["W106"])),
        (small, json!(["W106"])),
        (unknown, json!(["W102"])),
    ] {
        let payload = json!({"name": "bad", "type": "wasm", "wasm": module});
        let refused = connection.call("ActionRegisterRequest", payload).await;
        assert_eq!(code(&refused), "VALIDATION_FAILED", "{refused:?}");
        let findings = &refused["error"]["properties"]["findings"];
        let found = findings.as_array().expect("a list").iter();
        let found: Vec<_> = found.map(|one| one["code"].clone()).collect();
        assert_eq!(json!(found), codes, "{refused:?}");
    }
    for payload in [
        json!({"name": "bad", "type": "wasm"}),
        json!({"name": "bad", "wasm": wasm(MODULE)}),
        json!({"name": "bad", "type": "wasm", "wasm": {"module": "?"}}),
        json!({"name": "bad", "type": "wasm",
            "wasm": {"module": BASE64_STANDARD.encode(MODULE), "memoryLimitBytes": 16_777_217}}),
    ] {
        let refused = connection
            .call("ActionRegisterRequest", payload.clone())
            .await;
        assert_eq!(code(&refused), "BAD_REQUEST", "{payload}");
    }
}

#[tokio::test]
async fn only_an_administrator_registers_modules() {
    let server = Server::with(&[("INTERLOCK_IAM_MOCK_ROLES", "ROLE_M2M")]);
    let connection = server.connect().await;
    let payload = json!({"name": "plain", "type": "wasm", "wasm": wasm(MODULE)});
    let refused = connection.call("ActionRegisterRequest", payload).await;
    assert_eq!(code(&refused), "FORBIDDEN", "{refused:?}");
    register(&connection, json!({"name": "user"})).await;
}
