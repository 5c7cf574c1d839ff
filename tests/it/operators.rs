//! What operators see and change: health, readiness, measurements, log level (`rest.md` §8,
//! `config-and-cli.md` §11).

use serde_json::json;

use crate::support::{
    Member, Rest, Server, between_looks, code, create, governed_model, new_entity, processed_by,
    sync_processor,
};

fn admin(server: &Server) -> Rest {
    Rest::new(server.admin)
}

/// The value of a line of measurements.
fn value(text: &str, line: &str) -> f64 {
    let found = text.lines().find_map(|given| given.strip_prefix(line));
    let value = found.unwrap_or_else(|| panic!("{line} is not in\n{text}"));
    value.trim().parse().expect("a number")
}

#[tokio::test]
async fn an_operator_asks_whether_the_service_is_well() {
    let server = Server::start();
    let said = server.rest().get("/api/health").await;
    assert_eq!(
        (said.status.as_u16(), said.text.as_str()),
        (200, "{\"status\":\"UP\"}\n")
    );
    assert_eq!(said.headers["content-type"], "application/json");
    for (path, text) in [("/livez", "ok"), ("/readyz", "ready")] {
        let said = admin(&server).get(path).await;
        assert_eq!((said.status.as_u16(), said.text.as_str()), (200, text));
    }
    let refused = server.rest().get("/api/account/subscriptions").await;
    refused.refused(501, "NOT_IMPLEMENTED");
}

#[tokio::test]
async fn the_log_level_changes_while_the_process_runs() {
    let server = Server::with(&[("INTERLOCK_IAM_MOCK_CALLER", "true")]);
    let rest = server.rest();
    let path = "/api/admin/log-level";
    assert_eq!(rest.get(path).await.ok(), json!({"level": "info"}));
    let answer = rest.post(path, r#"{"level":"error"}"#).await.ok();
    assert_eq!(answer, json!({"level": "error", "previous": "info"}));
    assert_eq!(rest.get(path).await.ok(), json!({"level": "error"}));
    // A change that nobody receives, and one that is delivered.
    rest.post(path, r#"{"level":"warn"}"#).await.ok();
    let changes = || {
        let log = server.log.lock().expect("no panic");
        let reported = |line: &&String| line.contains("the log level has changed");
        log.iter().filter(reported).count()
    };
    while changes() < 1 {
        between_looks().await;
    }
    assert_eq!(changes(), 1, "only where it is logged");
    for body in ["", "{}", r#"{"level":"loud"}"#, r#"{"level":1}"#, "[]"] {
        rest.post(path, body).await.refused(400, "BAD_REQUEST");
    }
    let plain = rest.with("x-mock-roles", "ROLE_M2M");
    for said in [
        plain.get(path).await,
        plain.post(path, "no JSON").await,
        plain.get("/api/admin/trace-sampler").await,
        plain.post("/api/admin/trace-sampler", "{}").await,
    ] {
        said.refused(403, "FORBIDDEN");
    }
    let connection = server.connect_as(&[("x-mock-roles", "ROLE_M2M")]).await;
    for kind in ["LogLevelGetRequest", "TraceSamplerGetRequest"] {
        let refused = connection.call(kind, json!({})).await;
        assert_eq!(code(&refused), "FORBIDDEN", "{refused}");
    }
}

#[tokio::test]
async fn the_trace_sampler_is_what_it_was_set_to() {
    let server = Server::start();
    let rest = server.rest();
    let path = "/api/admin/trace-sampler";
    let default = json!({"sampler": "always", "parent_based": true});
    assert_eq!(rest.get(path).await.ok(), default);
    for (body, set) in [
        (
            json!({"sampler": "never"}),
            json!({"sampler": "never", "parent_based": true}),
        ),
        (
            json!({"sampler": "ratio", "ratio": 0.25, "parent_based": false}),
            json!({"sampler": "ratio", "ratio": 0.25, "parent_based": false}),
        ),
        (json!({"sampler": "always"}), default),
    ] {
        assert_eq!(rest.post(path, body.to_string()).await.ok(), set);
        assert_eq!(rest.get(path).await.ok(), set);
    }
    for body in [
        json!({}),
        json!({"sampler": "ratio"}),
        json!({"sampler": "ratio", "ratio": 0}),
        json!({"sampler": "ratio", "ratio": 1.5}),
        json!({"sampler": "ratio", "ratio": "x"}),
        json!({"sampler": "always", "ratio": 0.5}),
        json!({"sampler": "sometimes"}),
        json!({"sampler": "always", "parent_based": 1}),
    ] {
        let said = rest.post(path, body.to_string()).await;
        said.refused(400, "BAD_REQUEST");
    }
    let answer = server
        .connect()
        .await
        .ok(
            "TraceSamplerSetRequest",
            json!({"sampler": "never", "parentBased": false}),
        )
        .await;
    assert_eq!(
        (&answer["sampler"], &answer["parentBased"]),
        (&json!("never"), &json!(false))
    );
    assert!(answer["warnings"][0].is_string(), "{answer}");
}

#[tokio::test]
async fn what_is_measured_is_reported_without_naming_anyone() {
    let server = Server::start();
    let connection = server.connect().await;
    let member = Member::join(&server, &[]).await;
    member.serve(|_, _| async { crate::support::Reply::Nothing });
    let model = governed_model(
        &connection,
        "secret-model",
        json!({"n": 1}),
        processed_by(json!([sync_processor("p", json!({}))])),
    )
    .await;
    let before = admin(&server).get("/metrics").await.text;
    for n in 0..3 {
        create(&connection, &model, json!({"n": n})).await;
    }
    let wrong = new_entity(&model, &json!({"n": "x"}));
    connection.fails("EntityCreateRequest", wrong).await;
    let said = admin(&server).get("/metrics").await;
    assert_eq!(
        said.headers["content-type"],
        "text/plain; version=0.0.4; charset=utf-8"
    );
    let grown = |line: &str| {
        let earlier = before
            .lines()
            .find_map(|given| given.strip_prefix(line))
            .map_or(0.0, |value| value.trim().parse().expect("a number"));
        value(&said.text, line) - earlier
    };
    for (line, by) in [
        (r#"cyoda_tx_duration_seconds_count{op="commit"}"#, 3.0),
        (r#"cyoda_tx_duration_seconds_count{op="begin"}"#, 4.0),
        (r#"cyoda_tx_duration_seconds_count{op="rollback"}"#, 1.0),
        (
            r#"cyoda_dispatch_duration_seconds_count{type="processor"}"#,
            3.0,
        ),
        (r#"cyoda_dispatch_count_total{type="processor"}"#, 3.0),
        (r#"cyoda_dispatch_count_total{type="criteria"}"#, 0.0),
        (
            r#"interlock_operation_duration_seconds_count{type="EntityCreateRequest"}"#,
            4.0,
        ),
        (
            r#"interlock_operation_failures_total{type="EntityCreateRequest",code="INCOMPATIBLE_TYPE"}"#,
            1.0,
        ),
        ("cyoda_tx_active", 0.0),
        ("cyoda_tx_conflicts_total", 0.0),
        ("interlock_panics_total", 0.0),
        ("interlock_log_lines_dropped_total", 0.0),
        ("interlock_storage_damage_total", 0.0),
    ] {
        assert!((grown(line) - by).abs() < 0.1, "{line}: {}", grown(line));
    }
    for name in [
        "process_resident_memory_bytes",
        "process_open_fds",
        "process_start_time_seconds",
        "interlock_runtime_workers",
        "interlock_runtime_alive_tasks",
    ] {
        assert!(value(&said.text, name) > 0.0, "{name}");
    }
    assert!(!said.text.contains("secret-model") && !said.text.contains("mock-"));
    // Every line of a sample belongs to something that is described.
    for line in said.text.lines().filter(|line| line.starts_with("# TYPE")) {
        let name = line.split(' ').nth(2).expect("a name");
        assert!(said.text.contains(&format!("# HELP {name} ")), "{name}");
    }
}

#[tokio::test]
async fn measurements_may_be_behind_a_secret() {
    let server = Server::with(&[
        ("CYODA_METRICS_BEARER", "s3cret"),
        ("CYODA_METRICS_REQUIRE_AUTH", "true"),
    ]);
    let admin = admin(&server);
    for rest in [
        admin.clone(),
        admin.with("authorization", "Bearer s3cre"),
        admin.with("authorization", "Basic s3cret"),
    ] {
        let said = rest.get("/metrics").await;
        assert_eq!(said.status, 401, "{said:?}");
        assert_eq!(
            said.headers["www-authenticate"],
            r#"Bearer realm="cyoda metrics""#
        );
        assert!(!said.text.contains("cyoda_tx"));
    }
    let said = admin
        .with("authorization", "Bearer s3cret")
        .get("/metrics")
        .await;
    assert_eq!(said.status, 200);
    assert!(said.text.contains("cyoda_tx_active"));
    // The others are open to whoever reaches the port.
    assert_eq!(admin.get("/readyz").await.status, 200);
}
