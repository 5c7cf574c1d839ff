//! What makes no sense, or breaks, is a documented code or outcome (issue of sagas, *Bad input*).

use std::time::Duration;

use serde_json::{Value, json};

use crate::support::{
    Connection, Server, code,
    outside::{Behaviour, Outside},
    token,
    wait::found,
};

fn files(text: &str) -> Value {
    json!([{"path": "a.hcl", "text": text}])
}

async fn apply(connection: &Connection, text: &str) -> Value {
    let payload = json!({"bundle": "b", "files": files(text)});
    connection.ok("BundleApplyRequest", payload).await
}

/// A saga of one step that does this, within a bundle with a route and an HTTP connector.
fn step(body: &str) -> String {
    format!(
        "connector \"api\" {{ type = \"rest\" }}\nconnector \"out\" {{\n type = \"http\"\n base_url \
         = \"http://127.0.0.1:1\"\n}}\nsaga \"s\" {{\n step \"a\" {{\n{body}\n }}\n}}\n"
    )
}

#[tokio::test]
async fn files_that_make_no_sense_have_a_finding_with_file_and_line() {
    let server = Server::start();
    let connection = server.connect().await;
    let action = |line: &str| {
        step(&format!(
            "action {{\n connector = \"out\"\n operation = \"POST /x\"\n {line}\n }}"
        ))
    };
    for (text, expected) in [
        ("saga \"s\" {\n step".to_owned(), "S101 a.hcl:2"),
        ("saga \"s\" { step \"a\" { delay = \"1s\" }".to_owned(), "S101 a.hcl:1"),
        ("\u{0}".to_owned(), "S101 a.hcl:1"),
        ("a".repeat(100_000), "S101 a.hcl:1"),
        ("[".repeat(10_000), "S101 a.hcl:1"),
        ("a {\n".repeat(5_000), "S101"),
        ("thing \"x\" {\n}\n".to_owned(), "S102 a.hcl:1"),
        (step("delay = \"1s\"\n colour = 1"), "S102 a.hcl:9"),
        (step("delay = \"7w\""), "S107 a.hcl:8"),
        (step("delay = \"\""), "S107 a.hcl:8"),
        (step("delay = \"-1s\""), "S107 a.hcl:8"),
        (step("delay = \"99999999999999999999d\""), "S107 a.hcl:8"),
        (action("body = { a = \"input.(\" }"), "S106 a.hcl:11"),
        (action("body = { a = \"input.a + other.b\" }"), "S106 a.hcl:11"),
        (action("body = { a = \"step.later.id\" }"), "S106 a.hcl:11"),
        (
            action(&format!("body = {{ a = \"input.a + '{}'\" }}", "x".repeat(5_000))),
            "S106 a.hcl:11",
        ),
        (step("await = \"go\"") + &step("await = \"go\""), "S104"),
        (
            step("await = \"go\"")
                + "connector \"z\" {\n type = \"http\"\n base_url = \"http://127.0.0.1:1\"\n timeout = \"0s\"\n}\n",
            "S103 a.hcl:14",
        ),
        (
            step("await = \"go\"").replace(
                " step",
                " from {\n connector = \"api\"\n operation = \"POST /workflows/:id\"\n }\n step",
            ),
            "S203 a.hcl:7",
        ),
        (
            step("await = \"go\"").replace(
                " step",
                " from {\n connector = \"api\"\n operation = \"POST /x\"\n filter = \"input.(\"\n }\n step",
            ),
            "S106 a.hcl:10",
        ),
        (
            step("await = \"go\"") + "service {\n workflow {\n storage = \"out\"\n }\n}\n",
            "S103",
        ),
        (
            step("await = \"go\"")
                + "connector \"d\" {\n type = \"database\"\n driver = \"sqlite\"\n database = \"x\"\n}\n\
                   service {\n workflow {\n storage = \"d\"\n table = \"a; DROP TABLE b\"\n }\n}\n",
            "S103",
        ),
    ] {
        let payload = json!({"bundle": "b", "files": files(&text)});
        let answer = connection.call("BundleApplyRequest", payload).await;
        let shown = &text[..text.len().min(300)];
        assert_eq!(code(&answer), "VALIDATION_FAILED", "{shown}: {answer}");
        let found = answer["error"]["properties"]["findings"].as_array();
        let found: Vec<_> = found
            .expect("a list")
            .iter()
            .filter(|one| one["severity"] == "error")
            .map(|one| format!("{} {}", one["code"], one["location"]).replace('"', ""))
            .collect();
        assert!(
            found.iter().any(|one| one.starts_with(expected)),
            "{shown}: {found:?}"
        );
    }
    let none = connection.ok("BundlesGetRequest", json!({})).await;
    assert_eq!(none["items"], json!([]));
}

#[tokio::test]
async fn a_filter_that_is_no_truth_refuses_the_request_and_starts_nothing() {
    let server = Server::start();
    let connection = server.connect().await;
    let text = step("await = \"go\"").replace(
        " step",
        " from {\n connector = \"api\"\n operation = \"POST /x\"\n filter = \"input.a\"\n }\n step",
    );
    apply(&connection, &text).await;
    let rest = server.rest();
    for body in ["{}", r#"{"a":1}"#, r#"{"a":"true"}"#, r#"{"a":null}"#] {
        rest.post("/x", body).await.refused(400, "BAD_REQUEST");
    }
    let large = format!("{{\"a\":true,\"b\":\"{}\"}}", "x".repeat(1 << 20));
    let refused = rest.post("/x", large).await;
    assert!(
        [400, 413].contains(&refused.status.as_u16()),
        "{}",
        refused.text
    );
    let runs = connection.ok("RunsGetRequest", json!({})).await;
    assert_eq!(runs["items"], json!([]));
    assert_eq!(rest.post("/x", r#"{"a":true}"#).await.status, 202);
}

#[tokio::test]
async fn values_of_another_type_fail_their_step() {
    let server = Server::start();
    let outside = Outside::start().await;
    outside.on("POST /x", Behaviour::Json(200, json!({})));
    let connection = server.connect().await;
    let text = step(
        "action {\n connector = \"out\"\n operation = \"POST /x\"\n body = { a = \"input.a + 1\", b = \"input.b.c\", d = \"input.list[7]\" }\n }",
    );
    apply(
        &connection,
        &text.replace("http://127.0.0.1:1", &outside.url()),
    )
    .await;
    for input in [
        json!({"a": "x", "b": {"c": 1}, "list": [0, 1, 2, 3, 4, 5, 6, 7]}),
        json!({"a": 1, "b": 7, "list": [0, 1, 2, 3, 4, 5, 6, 7]}),
        json!({"a": 1, "b": {"c": 1}, "list": []}),
        json!({"a": 1, "b": {"c": 1}, "list": "x"}),
        json!({}),
    ] {
        let said = server.rest().post("/api/sagas/s", input.to_string()).await;
        let ended = said.ok();
        assert_eq!(ended["status"], "compensated", "{input}: {ended}");
        let error = ended["error"].as_str().expect("a text");
        assert!(error.starts_with("step \"a\" failed: "), "{input}: {error}");
    }
    assert!(outside.seen().is_empty());
}

/// Waits until a run has this status at its endpoint.
async fn until(server: &Server, run: &str, status: &str) -> Value {
    let path = format!("/workflows/{run}");
    found(&format!("{run} is {status}"), async || {
        Some(server.rest().get(&path).await.ok()).filter(|shown| shown["status"] == status)
    })
    .await
}

#[tokio::test]
async fn signals_and_cancels_that_come_at_the_wrong_time_are_refused_with_their_codes() {
    let server = Server::start();
    let outside = Outside::start().await;
    let slow = Behaviour::After(
        Duration::from_millis(400),
        Box::new(Behaviour::Json(200, json!({}))),
    );
    outside.on("POST /slow", slow);
    let connection = server.connect().await;
    let call = "action {\n connector = \"out\"\n operation = \"POST /slow\"\n }";
    let text = step(call)
        .replace("http://127.0.0.1:1", &outside.url())
        .replace(
            "step \"a\"",
            &format!("step \"first\" {{\n {call}\n }}\n step \"wait\" {{\n await = \"go\"\n }}\n step \"a\""),
        );
    apply(&connection, &text).await;
    let rest = server.rest();
    let started = rest.post("/api/sagas/s", "{}").await;
    assert_eq!(started.status, 202);
    let run = started.json()["workflow_id"]
        .as_str()
        .expect("an id")
        .to_owned();
    let at = |path: &str| format!("/workflows/{run}/{path}");
    outside.has_seen(1).await;
    // Too early.
    let early = rest.post(&at("signal/go"), "{}").await;
    let early = early.refused(400, "SIGNAL_NOT_AWAITED");
    assert_eq!(early["properties"].get("awaited"), None, "{early}");
    until(&server, &run, "paused").await;
    // Another event, and bodies that are no object.
    let wrong = rest.post(&at("signal/other"), "{}").await;
    let wrong = wrong.refused(400, "SIGNAL_NOT_AWAITED");
    assert_eq!(wrong["properties"]["awaited"], "go");
    for body in ["[]", "1", "\"x\"", "{", "null", "{\"a\":1"] {
        let said = rest.post(&at("signal/go"), body).await;
        said.refused(400, "BAD_REQUEST");
    }
    rest.post(&at("signal/_go"), "{}")
        .await
        .refused(400, "BAD_REQUEST");
    until(&server, &run, "paused").await;
    rest.post(&at("signal/go"), "{}").await.ok();
    // Twice.
    rest.post(&at("signal/go"), "{}")
        .await
        .refused(400, "SIGNAL_NOT_AWAITED");
    until(&server, &run, "completed").await;
    for (path, body) in [("signal/go", "{}"), ("cancel", "")] {
        let late = rest.post(&at(path), body).await;
        let late = late.refused(400, "RUN_FINISHED");
        assert_eq!(late["properties"]["status"], "completed", "{path}");
    }
    let late = json!({"runId": run, "type": "go"});
    assert_eq!(
        connection.fails("RunSignalRequest", late).await,
        "RUN_FINISHED"
    );
    // What nobody knows.
    for id in [
        "wf_1",
        "wf_x",
        "wfrun-1",
        "x",
        "%00",
        "..%2F..",
        "wf_99999999999999999999",
    ] {
        for (path, is_get) in [("", true), ("/signal/go", false), ("/cancel", false)] {
            let path = format!("/workflows/{id}{path}");
            let said = if is_get {
                rest.get(&path).await
            } else {
                rest.post(&path, "{}").await
            };
            said.refused(404, "RUN_NOT_FOUND");
        }
    }
}

#[tokio::test]
async fn a_server_that_breaks_fails_its_step_and_nothing_else() {
    let server = Server::start();
    let (outside, inside) = (Outside::start().await, Outside::start().await);
    let done = |name: &str| Behaviour::Json(200, json!({"id": name}));
    outside
        .on("POST /first", done("first"))
        .on("POST /undo", done("undo"));
    inside.on("GET /", done("inside"));
    let connection = server.connect().await;
    let call = |path: &str| format!("{{\n connector = \"out\"\n operation = \"POST /{path}\"\n }}");
    let text = step(&format!("timeout = \"1s\"\n action {}", call("broken")))
        .replace("http://127.0.0.1:1", &outside.url())
        .replace(
            "step \"a\"",
            &format!(
                "step \"first\" {{\n action {}\n compensate {}\n }}\n step \"a\"",
                call("first"),
                call("undo")
            ),
        );
    apply(&connection, &text).await;
    let mut undone = 0;
    for behaviour in [
        Behaviour::Json(402, json!({"error": "declined"})),
        Behaviour::Json(503, json!({})),
        Behaviour::Empty(404),
        Behaviour::Garbage,
        Behaviour::Close,
        Behaviour::CloseWithin,
        Behaviour::Hang,
        Behaviour::Redirect(inside.url()),
        Behaviour::Redirect("http://169.254.169.254/latest/meta-data".to_owned()),
        Behaviour::Redirect("file:///etc/passwd".to_owned()),
        Behaviour::Text(200, "x".repeat(2 << 20)),
    ] {
        let shown = format!("{behaviour:?}");
        let shown = &shown[..shown.len().min(80)];
        outside.on("POST /broken", behaviour);
        let ended = server.rest().post("/api/sagas/s", "{}").await.ok();
        assert_eq!(ended["status"], "compensated", "{shown}: {ended}");
        let error = ended["error"].as_str().expect("a text");
        assert!(error.starts_with("step \"a\" failed: "), "{shown}: {error}");
        assert!(!error.contains("root:"), "{shown}: {error}");
        undone += 1;
        assert_eq!(outside.seen_at("POST /undo").len(), undone, "{shown}");
    }
    assert!(inside.seen().is_empty(), "a redirect was followed");
    // Nobody listens.
    let text = text.replace(&outside.url(), "http://127.0.0.1:1");
    apply(&connection, &text).await;
    let ended = server.rest().post("/api/sagas/s", "{}").await.ok();
    assert_eq!(ended["status"], "compensated");
}

const INJECTIONS: &[&str] = &[
    "x'); DROP TABLE orders; --",
    "\"; DROP TABLE orders; --",
    "orders; DROP TABLE orders",
    "`orders`; --",
    "1 OR 1=1",
    "' OR '1'='1",
    "\\'; DELETE FROM orders; --",
    "$1; ?1; :id",
    "a\u{0}b",
];

#[tokio::test]
async fn sql_in_values_and_names_stays_a_value_or_fails_the_step() {
    let server = Server::start();
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("orders.db");
    let database = rusqlite::Connection::open(&path).expect("opens");
    let create = "CREATE TABLE orders (id INTEGER PRIMARY KEY, name TEXT, kind TEXT); \
                  INSERT INTO orders (id, name) VALUES (1, 'kept')";
    database.execute_batch(create).expect("a table");
    let connection = server.connect().await;
    let orders = format!(
        "connector \"orders\" {{\n type = \"database\"\n driver = \"sqlite\"\n database = \"{}\"\n}}\n",
        path.display()
    );
    let saga = |name: &str, lines: &str| {
        format!(
            "saga \"{name}\" {{\n step \"a\" {{\n action {{\n connector = \"orders\"\n {lines}\n }}\n }}\n}}\n"
        )
    };
    let text = orders
        + &saga(
            "write",
            "operation = \"INSERT\"\n target = \"orders\"\n data = { name = \"input.value\" }",
        )
        + &saga("names", "operation = \"INSERT\"\n target = \"orders\"")
        + &saga(
            "where",
            "operation = \"DELETE\"\n target = \"orders\"\n where = { name = \"input.value\" }",
        )
        + &saga(
            "read",
            "operation = \"SELECT\"\n target = \"orders\"\n params = { name = \"input.value\" }",
        )
        + &saga(
            "query",
            "query = \"SELECT name FROM orders WHERE name = :value\"\n operation = \"SELECT\"\n params = { value = \"input.value\" }",
        )
        + &saga(
            "target",
            "operation = \"INSERT\"\n target = \"input.value\"\n data = { name = \"x\" }",
        );
    apply(&connection, &text).await;
    let count = |what: &str| {
        let select = format!("SELECT count(*) FROM orders WHERE {what}");
        let count = database.query_row(&select, [], |row| row.get::<_, i64>(0));
        count.expect("the table is there")
    };
    let run = async |saga: &str, input: Value| {
        let path = format!("/api/sagas/{saga}");
        server.rest().post(&path, input.to_string()).await.ok()
    };
    for (at, text) in (1..).zip(INJECTIONS) {
        let value = json!({"value": text});
        let written = run("write", value.clone()).await;
        assert_eq!(written["status"], "completed", "{text}: {written}");
        assert_eq!(written["steps"]["a"]["name"], **text);
        assert_eq!(count("true"), 2, "{at}");
        for saga in ["read", "query"] {
            let read = run(saga, value.clone()).await;
            assert_eq!(read["steps"]["a"]["name"], **text, "{saga}: {read}");
        }
        for (saga, input) in [("names", json!({*text: "x"})), ("target", value.clone())] {
            let refused = run(saga, input).await;
            assert_eq!(refused["status"], "compensated", "{saga} {text}: {refused}");
            assert_eq!(count("true"), 2, "{saga} {text}");
        }
        let deleted = run("where", value).await;
        assert_eq!(deleted["status"], "completed", "{text}: {deleted}");
        assert_eq!((count("true"), count("name = 'kept'")), (1, 1), "{text}");
    }
    // The names of members are columns only.
    let plain = run("names", json!({"name": "x", "kind": "y"})).await;
    assert_eq!(plain["status"], "completed");
}

#[tokio::test]
async fn names_of_sagas_signals_and_bundles_are_texts() {
    let server = Server::start();
    let connection = server.connect().await;
    for text in INJECTIONS {
        let start = json!({"definition": text});
        let failed = connection.fails("RunStartRequest", start).await;
        assert!(
            ["RUN_DEFINITION_NOT_FOUND", "BAD_REQUEST"].contains(&&*failed),
            "{text}: {failed}"
        );
        let show = json!({"bundle": text});
        let failed = connection.fails("BundleGetRequest", show).await;
        assert!(
            ["BUNDLE_NOT_FOUND", "BAD_REQUEST"].contains(&&*failed),
            "{text}: {failed}"
        );
        let signal = json!({"runId": text, "type": text});
        assert_eq!(
            connection.fails("RunSignalRequest", signal).await,
            "RUN_NOT_FOUND",
            "{text}"
        );
    }
}

#[tokio::test]
async fn routes_sagas_and_runs_of_another_tenant_are_not_there() {
    let server = Server::with(&token::TAKES_TOKENS);
    let roles = &["ROLE_ADMIN", "ROLE_USER"];
    let (mine, other) = (token::bearer("mine", roles), token::bearer("other", roles));
    let connection = server.connect_as(&[("authorization", &mine)]).await;
    let text = "connector \"api\" { type = \"rest\" }\nsaga \"s\" {\n from {\n connector = \"api\"\n \
                operation = \"POST /orders\"\n }\n step \"a\" {\n await = \"go\"\n }\n}\n";
    apply(&connection, text).await;
    let (mine, other) = (
        server.rest().with("authorization", &mine),
        server.rest().with("authorization", &other),
    );
    let started = mine.post("/orders", "{}").await;
    assert_eq!(started.status, 202);
    let run = started.json()["workflow_id"]
        .as_str()
        .expect("an id")
        .to_owned();
    assert_eq!(other.post("/orders", "{}").await.status, 404);
    other
        .post("/api/sagas/s", "{}")
        .await
        .refused(404, "RUN_DEFINITION_NOT_FOUND");
    for context in ["", "/api"] {
        let at = |path: &str| format!("{context}/workflows/{run}{path}");
        other.get(&at("")).await.refused(404, "RUN_NOT_FOUND");
        for path in ["/signal/go", "/cancel"] {
            other
                .post(&at(path), "{}")
                .await
                .refused(404, "RUN_NOT_FOUND");
        }
        assert_eq!(mine.get(&at("")).await.ok()["saga_name"], "s");
    }
    // Without a token nobody learns which routes there are.
    for path in ["/orders", "/nothing"] {
        assert_eq!(server.rest().post(path, "{}").await.status, 401, "{path}");
    }
    // The same route, name and bundle are free there.
    let bearer = token::bearer("other", roles);
    let connection = server.connect_as(&[("authorization", &bearer)]).await;
    apply(&connection, text).await;
    assert_eq!(other.post("/orders", "{}").await.status, 202);
    let runs = connection.ok("RunsGetRequest", json!({})).await;
    assert_eq!(runs["items"].as_array().map(Vec::len), Some(1));
}

/// A connector that hangs for one tenant, and the runs of another.
#[tokio::test]
async fn a_slow_connector_of_one_tenant_delays_no_run_of_another() {
    const RUNS: usize = 100;
    let mut settings = token::TAKES_TOKENS.to_vec();
    settings.push(("INTERLOCK_CONNECTORS_PRIVATE_NETWORKS", "true"));
    settings.push(("INTERLOCK_CONNECTORS_MAX_CONNECTIONS", "5"));
    let server = Server::with(&settings);
    let as_of = async |tenant: &str| {
        let bearer = token::bearer(tenant, &["ROLE_ADMIN", "ROLE_USER"]);
        server.connect_as(&[("authorization", &bearer)]).await
    };
    let (slow, quick) = (as_of("slow").await, as_of("quick").await);
    let (hangs, works) = (Outside::start().await, Outside::start().await);
    hangs.on("POST /x", Behaviour::Hang);
    works.on("POST /x", Behaviour::Json(200, json!({})));
    let text = |outside: &Outside| {
        step("action {\n connector = \"out\"\n operation = \"POST /x\"\n }")
            .replace("http://127.0.0.1:1", &outside.url())
    };
    // The tenant of the slow one has another connector, too.
    let both = text(&hangs)
        + &text(&works)
            .replace("\"out\"", "\"other\"")
            .replace("saga \"s\"", "saga \"other\"")
            .replace("connector \"api\" { type = \"rest\" }\n", "");
    apply(&slow, &both).await;
    apply(&quick, &text(&works)).await;
    for _ in 0..RUNS {
        let start = json!({"definition": "s", "waitMs": 0});
        slow.ok("RunStartRequest", start).await;
    }
    hangs.has_seen(5).await;
    for (connection, saga) in [(&quick, "s"), (&slow, "other")] {
        for _ in 0..20 {
            let start = json!({"definition": saga, "waitMs": 5_000});
            let done = connection.ok("RunStartRequest", start).await;
            assert_eq!(done["run"]["status"], "completed", "{saga}: {done}");
        }
    }
    // So many calls of a connector are out, and no more.
    assert_eq!(hangs.seen().len(), 5);
    let open = slow.ok("RunsGetRequest", json!({"definition": "s"})).await;
    let open = open["items"].as_array().expect("a list");
    assert_eq!(open.len(), RUNS);
    assert!(
        open.iter().all(|run| run["status"] == "waiting"),
        "{open:?}"
    );
}
