//! Bad input of runs: each its documented code or outcome, nothing lost, the next run unhurt.

use std::fmt::Write as _;

use serde_json::{Value, json};

use crate::support::{
    Connection, Server, code,
    flow::{Flow, workflow},
};

const GOOD: &str = "kind: Workflow\nname: w\nversion: 1\nstart:\n  run: \"@actions/echo\"\n  transitions: {success: flo.Completed}\n";

/// The codes of the errors in a document.
async fn errors(connection: &Connection, document: &Value) -> Vec<String> {
    let payload = json!({"document": document});
    let validated = connection.ok("RunDefinitionValidateRequest", payload).await;
    let findings = validated["findings"].as_array().expect("a list").iter();
    let errors = findings.filter(|finding| finding["severity"] == "error");
    let codes = errors.map(|finding| finding["code"].as_str().expect("a code").to_owned());
    codes.collect()
}

#[tokio::test]
async fn hostile_documents_are_refused_with_their_codes() {
    let server = Server::start();
    let connection = server.connect().await;
    let deep = |open: &str, close: &str| {
        format!("{GOOD}x: {}1{}", open.repeat(10_000), close.repeat(10_000))
    };
    let mut bomb = "a0: &a0 [x]\n".to_owned();
    for n in 1..30 {
        let before = format!("*a{}", n - 1);
        let _ = writeln!(bomb, "a{n}: &a{n} [{before}, {before}]");
    }
    let block: String = (0..10_000).map(|_| "- ").collect();
    let with = |from: &str, to: &str| json!(GOOD.replace(from, to));
    let step = |step: &str| with("run: \"@actions/echo\"", step);
    for (what, document, expected) in [
        ("deep lists", json!(deep("[", "]")), "E100"),
        ("deep maps", json!(deep("{a: ", "}")), "E100"),
        (
            "deep blocks",
            json!(format!("{GOOD}x:\n  {block}1")),
            "E100",
        ),
        (
            "an explosion of aliases",
            json!(format!("{bomb}{GOOD}")),
            "E100",
        ),
        (
            "an alias within itself",
            json!(format!("a: &a [*a]\n{GOOD}")),
            "E100",
        ),
        ("no YAML", json!("kind: [Workflow"), "E100"),
        ("a list", json!([GOOD]), "E100"),
        ("nothing", json!(""), "E100"),
        (
            "a document of 1 MiB and a byte",
            json!(format!("{GOOD}#{}", "x".repeat((1 << 20) - GOOD.len()))),
            "E100",
        ),
        ("another kind", with("Workflow", "Saga"), "E100"),
        ("no name", with("name: w", "title: w"), "E101"),
        ("an empty name", with("name: w", "name: \"\""), "E101"),
        ("no version", with("version: 1", "edition: 1"), "E102"),
        ("no start", with("start:", "begin:"), "E103"),
        ("neither", step("retry: {}"), "E103"),
        (
            "both",
            step("run: \"@actions/a\"\n  waitForSignal: {type: t}"),
            "E103",
        ),
        (
            "a wait without a type",
            step("waitForSignal: {timeoutMs: 5}"),
            "E103",
        ),
        ("a key twice", json!(format!("{GOOD}name: v\n")), "E109"),
        (
            "a step twice",
            json!(format!(
                "{GOOD}steps:\n  a: {{run: \"@actions/a\"}}\n  a: {{run: \"@actions/b\"}}\n"
            )),
            "E105",
        ),
        (
            "both spellings",
            step("run: \"@actions/a\"\n  inputMapping: {}\n  input_mapping: {}"),
            "E109",
        ),
        (
            "a long name",
            with("name: w", &format!("name: {}", "n".repeat(257))),
            "E109",
        ),
        (
            "another namespace",
            json!(format!("{GOOD}namespace: elsewhere\n")),
            "E109",
        ),
        (
            "a number as a target",
            with("success: flo.Completed", "success: 7"),
            "E109",
        ),
        (
            "a list as a target",
            with("success: flo.Completed", "success: [flo.Completed]"),
            "E109",
        ),
        (
            "an unknown target",
            with("flo.Completed", "flo.Finished"),
            "E201",
        ),
        (
            "an empty target",
            with("success: flo.Completed", "success: \"\""),
            "E201",
        ),
        ("a number to run", step("run: 7"), "E109"),
        ("an unknown prefix", step("run: \"@tasks/echo\""), "E202"),
        ("no prefix", step("run: echo"), "E202"),
        ("an empty action", step("run: \"@actions/\""), "E202"),
        (
            "an unknown entity operation",
            step("run: \"@entity/drop\""),
            "E202",
        ),
        ("an unknown plan", step("run: \"@plan/none\""), "E203"),
        (
            "no attempts",
            step("run: \"@actions/a\"\n  retry: {max_attempts: 0}"),
            "E401",
        ),
        (
            "a retry that is a list",
            step("run: \"@actions/a\"\n  retry: [1]"),
            "E109",
        ),
        (
            "an unknown backoff",
            step("run: \"@actions/a\"\n  retry: {backoff: slower}"),
            "E109",
        ),
        (
            "a negative number",
            step("run: \"@actions/a\"\n  poll: {maxAttempts: -1}"),
            "E109",
        ),
        (
            "an unknown mode",
            json!(format!("{GOOD}idempotency: sometimes\n")),
            "E109",
        ),
        (
            "an unknown status",
            json!(format!("{GOOD}terminals:\n  T: {{status: lost}}\n")),
            "E501",
        ),
        (
            "cron and interval",
            json!(format!(
                "{GOOD}schedule: {{cron: \"* * * * *\", interval: 5}}\n"
            )),
            "E504",
        ),
        (
            "four fields",
            json!(format!("{GOOD}schedule: {{cron: \"* * * *\"}}\n")),
            "E506",
        ),
        (
            "minute 60",
            json!(format!("{GOOD}schedule: {{cron: \"60 * * * *\"}}\n")),
            "E506",
        ),
        (
            "a trigger without a topic",
            json!(format!("{GOOD}trigger: {{mode: shared}}\n")),
            "E508",
        ),
        (
            "no batch",
            json!(format!("{GOOD}trigger: {{stream: s, batch_size: 0}}\n")),
            "E508",
        ),
    ] {
        let found = errors(&connection, &document).await;
        assert!(
            found.iter().any(|code| code == expected),
            "{what}: {expected} and not {found:?}"
        );
        let refused = connection
            .call("RunDefinitionCreateRequest", json!({"document": document}))
            .await;
        assert_eq!(code(&refused), "VALIDATION_FAILED", "{what}");
        assert!(
            refused["error"]["properties"]["findings"].is_array(),
            "{what}"
        );
    }
    let page = connection.ok("RunDefinitionsGetRequest", json!({})).await;
    assert_eq!(page["items"], json!([]), "nothing is stored");
    assert_eq!(
        errors(&connection, &json!(GOOD)).await,
        Vec::<String>::new()
    );
}

#[tokio::test]
async fn what_belongs_to_another_tenant_is_not_there() {
    let server = Server::with(&[("INTERLOCK_IAM_MOCK_CALLER", "true")]);
    let ours = server.connect_as(&[("x-mock-tenant", "ours")]).await;
    let theirs = server.connect_as(&[("x-mock-tenant", "theirs")]).await;
    let document = json!({"document": GOOD});
    ours.ok("RunDefinitionCreateRequest", document).await;
    ours.ok("ActionRegisterRequest", json!({"name": "echo"}))
        .await;
    let worker = json!({"workerId": "w", "actions": ["echo"]});
    ours.ok("WorkerRegisterRequest", worker).await;
    let started = ours.ok("RunStartRequest", json!({"definition": "w"})).await;
    let run = started["runId"].clone();
    let events = json!({"topic": "t", "events": [{"payload": 1}]});
    ours.ok("TopicPublishRequest", events).await;
    let asked = json!({"workerId": "w", "actions": ["echo"]});
    let taken = ours.ok("TaskAwaitRequest", asked.clone()).await;
    let task = taken["tasks"][0]["taskId"].clone();
    let message = json!({"message": "no"});
    for (kind, payload, expected) in [
        ("RunGetRequest", json!({"runId": run}), "RUN_NOT_FOUND"),
        (
            "RunSignalRequest",
            json!({"runId": run, "type": "t"}),
            "RUN_NOT_FOUND",
        ),
        ("RunCancelRequest", json!({"runId": run}), "RUN_NOT_FOUND"),
        (
            "RunHistoryGetRequest",
            json!({"runId": run}),
            "RUN_NOT_FOUND",
        ),
        (
            "RunStartRequest",
            json!({"definition": "w"}),
            "RUN_DEFINITION_NOT_FOUND",
        ),
        (
            "RunDefinitionGetRequest",
            json!({"name": "w"}),
            "RUN_DEFINITION_NOT_FOUND",
        ),
        (
            "RunDefinitionDeleteRequest",
            json!({"name": "w"}),
            "RUN_DEFINITION_NOT_FOUND",
        ),
        (
            "RunDefinitionSetEnabledRequest",
            json!({"name": "w", "enabled": false}),
            "RUN_DEFINITION_NOT_FOUND",
        ),
        (
            "ActionGetRequest",
            json!({"name": "echo"}),
            "ACTION_NOT_FOUND",
        ),
        (
            "ActionDeleteRequest",
            json!({"name": "echo"}),
            "ACTION_NOT_FOUND",
        ),
        (
            "ActionInvokeRequest",
            json!({"name": "echo"}),
            "ACTION_NOT_FOUND",
        ),
        ("TaskGetRequest", json!({"taskId": task}), "TASK_NOT_FOUND"),
        (
            "TaskCompleteRequest",
            json!({"taskId": task}),
            "TASK_NOT_FOUND",
        ),
        (
            "TaskFailRequest",
            json!({"taskId": task, "error": message}),
            "TASK_NOT_FOUND",
        ),
        (
            "TaskTouchRequest",
            json!({"taskId": task}),
            "TASK_NOT_FOUND",
        ),
        ("TaskAwaitRequest", asked, "WORKER_NOT_FOUND"),
        (
            "WorkerGetRequest",
            json!({"workerId": "w"}),
            "WORKER_NOT_FOUND",
        ),
        (
            "WorkerDrainRequest",
            json!({"workerId": "w"}),
            "WORKER_NOT_FOUND",
        ),
        (
            "WorkerDeregisterRequest",
            json!({"workerId": "w"}),
            "WORKER_NOT_FOUND",
        ),
        ("TopicGetRequest", json!({"topic": "t"}), "TOPIC_NOT_FOUND"),
    ] {
        assert_eq!(
            theirs.fails(kind, payload.clone()).await,
            expected,
            "{kind} {payload}"
        );
    }
    for kind in [
        "RunsGetRequest",
        "RunDefinitionsGetRequest",
        "ActionsGetRequest",
        "TasksGetRequest",
        "WorkersGetRequest",
        "TopicsGetRequest",
    ] {
        assert_eq!(
            theirs.ok(kind, json!({})).await["items"],
            json!([]),
            "{kind}"
        );
    }
    let done = json!({"taskId": task, "workerId": "w"});
    assert_eq!(ours.ok("TaskCompleteRequest", done).await["applied"], true);
    let ended = json!({"runId": run, "fromSequence": 0});
    ours.all("RunHistorySubscribeRequest", ended).await;
    let shown = ours.ok("RunGetRequest", json!({"runId": run})).await;
    assert_eq!(shown["run"]["status"], "completed");
}

/// `orchestration.md` 1.15: an action says how large its input may be.
#[tokio::test]
async fn an_input_that_is_too_large_for_its_action_is_an_execution_failure() {
    let flow = Flow::new().await;
    let small = json!({"name": "echo", "maxInputBytes": 20, "maxRetries": 0});
    flow.connection.ok("ActionRegisterRequest", small).await;
    let ways = json!({"success": "flo.Completed", "execution_failure": "flo.Cancelled"});
    let start = json!({"run": "@actions/echo", "transitions": ways});
    for (input, status) in [
        (json!({"x": 1}), "completed"),
        (json!({"x": "y".repeat(20)}), "cancelled"),
    ] {
        let document = workflow("small", start.clone(), json!({}));
        let ended = flow.run(document, input).await;
        assert_eq!(ended.status(), status, "{:?}", ended.events());
        if status == "cancelled" {
            let output = &ended.run["steps"]["start"]["output"];
            assert_eq!(output["error_code"], "BAD_REQUEST", "{output}");
        }
    }
}

/// A member in another language could not read it.
#[tokio::test]
async fn what_nests_too_deep_is_refused() {
    let flow = Flow::new().await;
    let wait =
        json!({"waitForSignal": {"type": "go"}, "transitions": {"success": "flo.Completed"}});
    flow.define(workflow("waits", wait, json!({}))).await;
    let rest = flow.server.rest();
    let deep = |levels: usize| format!("{}1{}", "[".repeat(levels), "]".repeat(levels));
    let start = |levels| format!(r#"{{"definition":"waits","input":{}}}"#, deep(levels));
    let too_deep = rest.post("/api/runs", start(257)).await;
    too_deep.refused(400, "BAD_REQUEST");
    let run = rest.post("/api/runs", start(256)).await.ok();
    let run = run["runId"].as_str().expect("an identifier");
    let signal = |levels| format!(r#"{{"type":"go","payload":{}}}"#, deep(levels));
    let path = format!("/api/runs/{run}/signal");
    rest.post(&path, signal(100_000))
        .await
        .refused(400, "BAD_REQUEST");
    assert_eq!(rest.post(&path, signal(256)).await.ok()["matched"], true);
    let invoke = |levels| format!(r#"{{"input":{}}}"#, deep(levels));
    let invoked = rest.post("/api/actions/echo/invoke", invoke(257)).await;
    invoked.refused(400, "BAD_REQUEST");
}

/// `runs.md` §6: the input of entity steps.
#[tokio::test]
async fn malformed_input_of_an_entity_step_is_a_failure() {
    let flow = Flow::new().await;
    let id = "00000000-0000-0000-0000-000000000001";
    for (operation, input, expected) in [
        ("create", json!({}), "BAD_REQUEST"),
        ("create", json!([]), "BAD_REQUEST"),
        ("create", json!("text"), "BAD_REQUEST"),
        (
            "create",
            json!({"model": {"name": "none", "version": 1}, "data": {}}),
            "MODEL_NOT_FOUND",
        ),
        (
            "create",
            json!({"model": {"name": "none", "version": "1"}, "data": {}}),
            "BAD_REQUEST",
        ),
        ("update", json!({"entityId": id}), "BAD_REQUEST"),
        (
            "update",
            json!({"entityId": "7", "data": {}}),
            "BAD_REQUEST",
        ),
        (
            "update",
            json!({"entityId": id, "data": {}, "patch": {}}),
            "BAD_REQUEST",
        ),
        (
            "update",
            json!({"entityId": id, "data": {}}),
            "ENTITY_NOT_FOUND",
        ),
        ("transition", json!({"entityId": id}), "BAD_REQUEST"),
        (
            "transition",
            json!({"entityId": id, "transition": "T"}),
            "ENTITY_NOT_FOUND",
        ),
        ("get", json!({"entityId": id}), "ENTITY_NOT_FOUND"),
        (
            "get",
            json!({"entityId": id, "pointInTime": "yesterday"}),
            "BAD_REQUEST",
        ),
        ("await", json!({"entityId": id}), "BAD_REQUEST"),
        (
            "await",
            json!({"entityId": id, "states": "A"}),
            "BAD_REQUEST",
        ),
        (
            "await",
            json!({"entityId": id, "states": ["A"]}),
            "ENTITY_NOT_FOUND",
        ),
        (
            "search",
            json!({"model": {"name": "none", "version": 1}, "condition": {"type": "group", "operator": "AND", "conditions": []}}),
            "MODEL_NOT_FOUND",
        ),
    ] {
        for named in [false, true] {
            let outcome = expected.to_lowercase();
            let mut ways = json!({"success": "flo.Completed", "failure": "flo.Failed"});
            if named {
                ways[&outcome] = json!("flo.Cancelled");
            }
            let start = json!({"run": format!("@entity/{operation}"), "transitions": ways});
            let ended = flow
                .run(workflow("bad", start, json!({})), input.clone())
                .await;
            let step = &ended.run["steps"]["start"];
            let context = format!("{operation} {input}: {step}");
            // Without a transition of the code's name it is a failure.
            assert_eq!(
                step["outcome"],
                if named { outcome.as_str() } else { "failure" },
                "{context}"
            );
            assert_eq!(step["output"]["code"], expected, "{context}");
            assert!(step["output"]["message"].is_string(), "{context}");
            assert_eq!(step["output"]["retryable"], false, "{context}");
            let events = [
                "step_started start".to_owned(),
                format!(
                    "action_completed {}",
                    step["outcome"].as_str().expect("a text")
                ),
                "step_completed start".to_owned(),
            ];
            assert_eq!(ended.events()[..3], events, "{context}");
        }
    }
}
