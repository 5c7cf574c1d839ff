//! Differences between the compatibility profiles (`stream.md` §5), one test for each row: import,
//! messages, help, search and other shapes. A test's name begins with its group and row.

use serde_json::{Value, json};

use crate::support::{
    Connection, Member, Reply, Rest, Server, code, command, create, get, governed_model,
    locked_model, new_entity, state, sync_processor,
};

const CYODA: (&str, &str) = ("INTERLOCK_COMPAT", "cyoda-0.8");

/// A server of each profile, and whether it is that of cyoda 0.8.
fn both() -> [(Server, bool); 2] {
    [(Server::start(), false), (Server::with(&[CYODA]), true)]
}

/// A workflow `flow`, whose state `NEW` has these transitions.
fn flow(transitions: Value) -> Value {
    json!({"version": "1.1", "name": "flow", "initialState": "NEW", "states": {
        "NEW": {"transitions": transitions}, "DONE": {}}})
}

/// A manual transition `GO` with one processor `work`.
fn with_processor(members: Value) -> Value {
    let mut processor = sync_processor("work", json!({}));
    for (name, value) in members.as_object().expect("members") {
        processor[name] = value.clone();
    }
    flow(json!([{"name": "GO", "next": "DONE", "manual": true, "processors": [processor]}]))
}

async fn import(connection: &Connection, model: &Value, workflow: &Value) -> Value {
    let import = json!({"model": model, "importMode": "REPLACE", "workflows": [workflow]});
    connection.call("EntityWorkflowImportRequest", import).await
}

/// Expects an import to be refused with a code, and all these texts.
async fn is_refused(
    connection: &Connection,
    model: &Value,
    workflow: &Value,
    expected: &str,
    texts: &[&str],
) {
    let answer = import(connection, model, workflow).await;
    assert_eq!(answer["success"], false, "{workflow}: {answer}");
    assert_eq!(code(&answer), expected, "{answer}");
    let message = answer["error"]["message"].as_str().expect("a text");
    for text in texts {
        assert!(message.contains(text), "`{text}` is not in: {message}");
    }
}

/// Expects an import to be taken; its warnings.
async fn is_taken(connection: &Connection, model: &Value, workflow: &Value) -> String {
    let answer = import(connection, model, workflow).await;
    assert_eq!(answer["success"], true, "{workflow}: {answer}");
    answer["warnings"].to_string()
}

const PLACE: [&str; 4] = [
    "workflow \"flow\"",
    "state \"NEW\"",
    "transition \"GO\"",
    "processor \"work\"",
];

/// §7, row 1.
#[tokio::test]
async fn row_7_1_async_result_is_refused_in_cyoda() {
    for (server, is_cyoda) in both() {
        let connection = server.connect().await;
        let model = locked_model(&connection, "doc", json!({"n": 1})).await;
        let with = |config: Value| with_processor(json!({ "config": config }));
        let given = with(json!({"asyncResult": true, "crossoverToAsyncMs": 100}));
        if is_cyoda {
            let mut texts = PLACE.to_vec();
            texts.push("asyncResult=true is not supported");
            is_refused(&connection, &model, &given, "VALIDATION_FAILED", &texts).await;
            // Also of a processor that is a timer, and of one of any mode.
            for members in [
                json!({"type": "scheduled", "config": {"delayMs": 5, "transition": "GO", "asyncResult": true}}),
                json!({"executionMode": "ASYNC_NEW_TX", "config": {"asyncResult": true}}),
            ] {
                let given = with_processor(members);
                is_refused(&connection, &model, &given, "VALIDATION_FAILED", &texts).await;
            }
        } else {
            is_taken(&connection, &model, &given).await;
        }
        // False is fine, and exported as it was given.
        is_taken(&connection, &model, &with(json!({"asyncResult": false}))).await;
        let export = connection
            .ok("EntityWorkflowExportRequest", json!({"model": model}))
            .await;
        let processor = &export["workflows"][0]["states"]["NEW"]["transitions"][0]["processors"][0];
        assert_eq!(processor["config"]["asyncResult"], false, "{export}");
    }
}

/// §7, row 2.
#[tokio::test]
async fn row_7_2_crossover_is_refused_in_cyoda() {
    for (server, is_cyoda) in both() {
        let connection = server.connect().await;
        let model = locked_model(&connection, "doc", json!({"n": 1})).await;
        let with = |config: Value| with_processor(json!({ "config": config }));
        for config in [
            json!({"crossoverToAsyncMs": 0}),
            json!({"crossoverToAsyncMs": 100, "asyncResult": false}),
        ] {
            if is_cyoda {
                let mut texts = PLACE.to_vec();
                texts.push("crossoverToAsyncMs is not supported");
                is_refused(
                    &connection,
                    &model,
                    &with(config),
                    "VALIDATION_FAILED",
                    &texts,
                )
                .await;
            } else {
                is_taken(&connection, &model, &with(config)).await;
            }
        }
        is_taken(
            &connection,
            &model,
            &with(json!({"crossoverToAsyncMs": null})),
        )
        .await;
        // `asyncResult` is looked at first.
        let given = with(json!({"asyncResult": true, "crossoverToAsyncMs": 5}));
        let answer = import(&connection, &model, &given).await.to_string();
        assert!(
            !answer.contains("crossoverToAsyncMs is not supported"),
            "{answer}"
        );
    }
}

/// §7, row 3.
#[tokio::test]
async fn row_7_3_a_retry_policy_is_one_of_two_in_cyoda() {
    for (server, is_cyoda) in both() {
        let connection = server.connect().await;
        let model = locked_model(&connection, "doc", json!({"n": 1})).await;
        let with = |policy: &str| with_processor(json!({"config": {"retryPolicy": policy}}));
        for policy in ["", "NONE", "FIXED"] {
            is_taken(&connection, &model, &with(policy)).await;
        }
        for policy in ["EXPONENTIAL", "fixed"] {
            if is_cyoda {
                let mut texts = PLACE.to_vec();
                texts.push(policy);
                is_refused(
                    &connection,
                    &model,
                    &with(policy),
                    "VALIDATION_FAILED",
                    &texts,
                )
                .await;
            } else {
                let warnings = is_taken(&connection, &model, &with(policy)).await;
                assert!(warnings.contains(policy), "{warnings}");
            }
        }
        // Of the function of a criterion it is not checked.
        let criterion = json!({"type": "function", "function": {"name": "ask", "config": {"retryPolicy": "EXPONENTIAL"}}});
        let given =
            flow(json!([{"name": "GO", "next": "DONE", "manual": true, "criterion": criterion}]));
        is_taken(&connection, &model, &given).await;
    }
}

/// §7, row 4.
#[tokio::test]
async fn row_7_4_an_internalized_processor_fails_when_it_would_run_in_cyoda() {
    for (server, is_cyoda) in both() {
        let connection = server.connect().await;
        let model = locked_model(&connection, "doc", json!({"n": 1})).await;
        let member = Member::join(&server, &[]).await;
        let mut calls = member.record(|_| Reply::Nothing);
        for kind in ["internalized", "INTERNALIZED"] {
            let given = with_processor(json!({ "type": kind }));
            if !is_cyoda {
                let texts = ["internalized"];
                let answer = import(&connection, &model, &given).await.to_string();
                assert!(answer.to_lowercase().contains(texts[0]), "{answer}");
                is_refused(&connection, &model, &given, "VALIDATION_FAILED", &[]).await;
                continue;
            }
            is_taken(&connection, &model, &given).await;
            let id = create(&connection, &model, json!({"n": 1})).await;
            let go = json!({"entityId": id, "transition": "GO"});
            let answer = connection.call("EntityTransitionRequest", go).await;
            assert_eq!(code(&answer), "WORKFLOW_FAILED");
            let text = "execution type \"internalized\" is not yet implemented";
            let message = answer["error"]["message"].as_str().expect("a text");
            assert!(message.contains(text), "{message}");
            let said = server
                .rest()
                .put(&format!("/api/entity/JSON/{id}/GO"), r#"{"n":2}"#)
                .await;
            let problem = said.refused(400, "WORKFLOW_FAILED");
            assert!(problem["detail"].as_str().expect("a text").contains(text));
            let entity = get(&connection, &id).await;
            assert_eq!(state(&entity), "NEW");
            assert_eq!(entity["data"], json!({"n": 1}));
            assert!(calls.try_recv().is_err(), "no member is called");
        }
    }
}

/// The definition of one profile is good under the other, however it was taken.
#[tokio::test]
async fn row_7_4_such_a_definition_outlives_its_profile() {
    let mut server = Server::on_disk(&[CYODA]);
    let connection = server.connect().await;
    let odd = json!({"type": "simple", "jsonPath": "$.n", "operatorType": "RESEMBLES", "value": 1});
    let workflow = json!({"version": "1.1", "name": "flow", "initialState": "NEW", "states": {
        "NEW": {"transitions": [
            {"name": "GO", "next": "DONE", "manual": true, "processors": [{"name": "work", "type": "internalized"}]},
            {"name": "ODD", "next": "DONE", "manual": true, "criterion": odd}]},
        "DONE": {}}});
    let model = governed_model(&connection, "doc", json!({"n": 1}), workflow).await;
    server.kill();
    server.restart_with(&[]);
    let connection = server.connect().await;
    let id = create(&connection, &model, json!({"n": 1})).await;
    for transition in ["GO", "ODD"] {
        let go = json!({"entityId": id, "transition": transition});
        let failed = connection.fails("EntityTransitionRequest", go).await;
        assert_eq!(failed, "WORKFLOW_FAILED");
    }
}

/// §7, row 5.
#[tokio::test]
async fn row_7_5_a_criterion_that_is_not_known_fails_the_run_in_cyoda() {
    let simple = |operator: &str, value: Value| json!({"type": "simple", "jsonPath": "$.n", "operatorType": operator, "value": value});
    let odd = [
        (
            "OCCASIONAL",
            json!({"type": "OCCASIONAL", "jsonPath": "$.n"}),
        ),
        ("RESEMBLES", simple("RESEMBLES", json!(1))),
        (
            "XOR",
            json!({"type": "group", "operator": "XOR", "conditions": [simple("EQUALS", json!(1))]}),
        ),
        (
            "RESEMBLES",
            json!({"type": "group", "operator": "AND", "conditions": [
                simple("EQUALS", json!(1)), simple("RESEMBLES", json!(1))]}),
        ),
    ];
    for (server, is_cyoda) in both() {
        let connection = server.connect().await;
        let model = locked_model(&connection, "doc", json!({"n": 1})).await;
        for (name, criterion) in &odd {
            let given = flow(
                json!([{"name": "GO", "next": "DONE", "manual": true, "criterion": criterion}]),
            );
            if !is_cyoda {
                is_refused(&connection, &model, &given, "VALIDATION_FAILED", &[name]).await;
                continue;
            }
            let warnings = is_taken(&connection, &model, &given).await;
            assert!(warnings.contains(name), "{warnings}");
            let id = create(&connection, &model, json!({"n": 1})).await;
            let go = json!({"entityId": id, "transition": "GO"});
            let answer = connection.call("EntityTransitionRequest", go).await;
            assert_eq!(code(&answer), "WORKFLOW_FAILED");
            assert!(
                answer["error"]["message"]
                    .as_str()
                    .expect("a text")
                    .contains(name)
            );
            assert_eq!(state(&get(&connection, &id).await), "NEW");
        }
        if is_cyoda {
            // What decides before it is looked at is what counts.
            let criterion = json!({"type": "group", "operator": "AND", "conditions": [
                simple("EQUALS", json!(2)), simple("RESEMBLES", json!(1))]});
            let given = flow(
                json!([{"name": "GO", "next": "DONE", "manual": false, "criterion": criterion}]),
            );
            is_taken(&connection, &model, &given).await;
            let id = create(&connection, &model, json!({"n": 1})).await;
            assert_eq!(state(&get(&connection, &id).await), "NEW");
            let made = connection
                .call("EntityCreateRequest", new_entity(&model, &json!({"n": 2})))
                .await;
            assert_eq!(code(&made), "WORKFLOW_FAILED");
        }
    }
}

/// §8, row 1.
#[tokio::test]
async fn row_8_1_manual_and_scheduled_exclude_each_other_in_known_words() {
    for (server, _) in both() {
        let connection = server.connect().await;
        let model = locked_model(&connection, "doc", json!({"n": 1})).await;
        let given = flow(
            json!([{"name": "GO", "next": "DONE", "manual": true, "schedule": {"delayMs": 5}}]),
        );
        let mut texts = PLACE[..3].to_vec();
        texts.push("manual and scheduled are mutually exclusive");
        is_refused(&connection, &model, &given, "VALIDATION_FAILED", &texts).await;
    }
}

/// §8, row 2.
#[tokio::test]
async fn row_8_2_a_schedule_has_one_of_two_in_known_words() {
    let function = json!({"name": "when", "resultKind": "Schedule", "calculationNodesTags": "t"});
    for (server, _) in both() {
        let connection = server.connect().await;
        let model = locked_model(&connection, "doc", json!({"n": 1})).await;
        for schedule in [
            json!({}),
            json!({"delayMs": 0}),
            json!({"delayMs": 5, "function": function}),
        ] {
            let given = flow(
                json!([{"name": "GO", "next": "DONE", "manual": false, "schedule": schedule}]),
            );
            let mut texts = PLACE[..3].to_vec();
            texts.push("exactly one of schedule.delayMs or schedule.function is required");
            is_refused(&connection, &model, &given, "VALIDATION_FAILED", &texts).await;
        }
    }
}

/// §8, row 3.
#[tokio::test]
async fn row_8_3_a_scheduled_transition_by_name_is_refused_in_known_words() {
    for (server, is_cyoda) in both() {
        let connection = server.connect().await;
        let workflow = flow(json!([
            {"name": "LATER", "next": "DONE", "manual": false, "schedule": {"delayMs": 3_600_000}},
            {"name": "GO", "next": "DONE", "manual": true}]));
        let model = governed_model(&connection, "doc", json!({"n": 1}), workflow).await;
        let id = create(&connection, &model, json!({"n": 1})).await;
        let said = server
            .rest()
            .put(&format!("/api/entity/JSON/{id}/LATER"), r#"{"n":2}"#)
            .await;
        let status = if is_cyoda { 400 } else { 404 };
        let problem = said.refused(status, "TRANSITION_NOT_FOUND");
        let detail = problem["detail"].as_str().expect("a text");
        for text in [
            "is scheduled and fires automatically; it is not manually fireable",
            "`LATER`",
            "`NEW`",
            "GO",
        ] {
            assert!(detail.contains(text), "{detail}");
        }
    }
}

/// §8, row 4.
#[tokio::test]
async fn row_8_4_a_version_that_is_not_taken_says_why_in_cyoda() {
    let server = Server::with(&[CYODA]);
    let connection = server.connect().await;
    let model = locked_model(&connection, "doc", json!({"n": 1})).await;
    let with = |version: Value| {
        let mut given = flow(json!([]));
        given["version"] = version;
        given
    };
    for version in ["1.1", "1.2", "1.3"] {
        is_taken(&connection, &model, &with(json!(version))).await;
    }
    let code = "WORKFLOW_SCHEMA_VERSION_UNSUPPORTED";
    for version in [
        "1", "1.0.0", "x", "01.1", "1.01", "", "1.", ".1", "1.x", "-1.1", "+1.1",
    ] {
        let texts = ["MAJOR.MINOR", "workflow \"flow\""];
        is_refused(&connection, &model, &with(json!(version)), code, &texts).await;
    }
    let mut absent = with(json!(""));
    absent.as_object_mut().expect("an object").remove("version");
    is_refused(&connection, &model, &absent, code, &["MAJOR.MINOR"]).await;
    for (version, why) in [
        ("1.0", "minor version 0 is below"),
        ("1.4", "minor version 4 is above"),
        ("1.99999999999999999999999", "is above"),
        ("2.1", "major version 2 is not supported"),
        ("0.1", "major version 0 is not supported"),
    ] {
        let texts = ["workflow \"flow\"", why];
        is_refused(&connection, &model, &with(json!(version)), code, &texts).await;
    }
}

/// §10.
#[tokio::test]
async fn row_10_help_says_the_current_schema_version() {
    let expected = json!({"schema": 1, "versions": ["1.1", "1.2", "1.3"],
        "current": "1.3", "supported": [{"major": 1, "minMinor": 1, "maxMinor": 3}]});
    for (server, _) in both() {
        let path = "/api/help/workflows/schema-version/versions";
        assert_eq!(server.rest().get(path).await.ok(), expected);
    }
    let output = command(std::path::Path::new("."), &[])
        .args(["help", "workflows", "schema-version", "versions"])
        .output()
        .expect("runs");
    let printed: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(printed, expected);
}

const EVERYTHING: &str = r#"{"type":"group","operator":"AND","conditions":[]}"#;

/// Sends a search that is sorted, in each way that sorts.
async fn sorted(rest: &Rest, connection: &Connection, by: &str) -> Vec<(u16, String)> {
    let mut answers = Vec::new();
    for path in ["direct", "async"] {
        let escaped = by
            .replace('[', "%5B")
            .replace(']', "%5D")
            .replace('*', "%2A");
        let path = format!("/api/search/{path}/doc/1?sort={escaped}");
        let said = rest.post(&path, EVERYTHING).await;
        let status = said.status.as_u16();
        answers.push((
            status,
            if status == 200 {
                String::new()
            } else {
                said.problem()
            },
        ));
    }
    let model = json!({"name": "doc", "version": 1});
    let everything: Value = serde_json::from_str(EVERYTHING).expect("JSON");
    for order in [json!(by), json!({"path": by})] {
        let search = json!({"model": model, "condition": everything, "orderBy": [order]});
        let answer = connection.call("EntitySnapshotSearchRequest", search).await;
        let refused = answer["success"] == false;
        answers.push(if refused {
            (400, code(&answer))
        } else {
            (200, String::new())
        });
    }
    answers
}

/// §11, row 1.
#[tokio::test]
async fn row_11_1_a_sort_below_an_array_is_refused() {
    for (server, is_cyoda) in both() {
        let (rest, connection) = (server.rest(), server.connect().await);
        let sample = json!({"n": 1, "tags": ["a"], "lines": [{"sku": "a"}]});
        let model = locked_model(&connection, "doc", sample.clone()).await;
        create(&connection, &model, sample).await;
        for (by, taken) in [
            ("lines[*].sku", false),
            ("$.lines[*].sku", false),
            ("tags[*]", false),
            ("lines[0].sku", !is_cyoda),
            ("$.lines[0].sku", !is_cyoda),
            ("n", true),
        ] {
            let expected = if taken {
                (200, String::new())
            } else {
                (400, "INVALID_FIELD_PATH".to_owned())
            };
            for answer in sorted(&rest, &connection, by).await {
                assert_eq!(answer, expected, "{by} {is_cyoda}");
            }
        }
    }
}

/// §11, row 2.
#[tokio::test]
async fn row_11_2_a_date_alone_is_its_midnight() {
    for (server, _) in both() {
        let (rest, connection) = (server.rest(), server.connect().await);
        let model = locked_model(&connection, "doc", json!({"n": 1})).await;
        let id = create(&connection, &model, json!({"n": 1})).await;
        let (past, future) = ("2024-01-01", "2999-01-01");
        for (date, there) in [(past, false), (future, true)] {
            let status = if there { 200 } else { 404 };
            let said = rest
                .get(&format!("/api/entity/{id}?pointInTime={date}"))
                .await;
            assert_eq!(said.status.as_u16(), status, "{}", said.text);
            let said = rest
                .get(&format!("/api/entity/doc/1?pointInTime={date}"))
                .await;
            assert_eq!(
                said.ok().as_array().expect("a list").len(),
                usize::from(there)
            );
            let path = format!("/api/search/doc/1?pointInTime={date}");
            let found = rest.post(&path, EVERYTHING).await.ok();
            assert_eq!(found.as_array().expect("a list").len(), usize::from(there));
            let said = rest
                .get(&format!("/api/entity/{id}/changes?pointInTime={date}"))
                .await;
            if there {
                assert_eq!(said.ok().as_array().expect("a list").len(), 1);
            } else {
                assert_ne!(said.status, 400, "{}", said.text);
            }
            let get = json!({"entityId": id, "pointInTime": date});
            let answer = connection.call("EntityGetRequest", get).await;
            assert_eq!(answer["success"], there, "{answer}");
        }
        for (query, count) in [
            (format!("fromUtcTime={past}"), true),
            (format!("fromUtcTime={future}"), false),
            (format!("toUtcTime={future}"), true),
            (format!("toUtcTime={past}"), false),
        ] {
            let page = rest
                .get(&format!("/api/audit/entity/{id}?{query}"))
                .await
                .ok();
            let items = page["items"].as_array().expect("a list");
            assert_eq!(!items.is_empty(), count, "{query}");
        }
        for wrong in [
            "2024-13-01",
            "2024-1-1",
            "2024-01-32",
            "20240101",
            "2024-01",
            "yesterday",
            "+2024-01-01",
        ] {
            let wrong = wrong.replace('+', "%2B");
            let said = rest
                .get(&format!("/api/entity/{id}?pointInTime={wrong}"))
                .await;
            said.refused(400, "BAD_REQUEST");
            let said = rest
                .get(&format!("/api/audit/entity/{id}?fromUtcTime={wrong}"))
                .await;
            said.refused(400, "BAD_REQUEST");
        }
    }
}

/// §11, row 3, in searches.
#[tokio::test]
async fn row_11_3_is_null_below_an_absent_array_holds_in_cyoda() {
    for (server, is_cyoda) in both() {
        let connection = server.connect().await;
        let sample = json!({"n": 1, "lines": [{"sku": "a", "w": 1}], "tags": ["a"]});
        let model = locked_model(&connection, "doc", sample).await;
        for document in [
            json!({"n": 1}),
            json!({"n": 2, "lines": []}),
            json!({"n": 3, "lines": [{"sku": "a"}]}),
            json!({"n": 4, "lines": [{"w": 1}]}),
        ] {
            create(&connection, &model, document).await;
        }
        let leaf = |path: &str, operator: &str| json!({"type": "simple", "jsonPath": path, "operatorType": operator, "value": null});
        let mut expected = vec![4];
        if is_cyoda {
            expected.insert(0, 1);
        }
        let numbers = async |condition: Value| {
            let search = json!({"model": model, "condition": condition});
            let (found, _) = connection.all("EntitySearchRequest", search).await;
            let numbers = found.iter().map(|found| &found["payload"]["data"]["n"]);
            let mut numbers: Vec<i64> = numbers.map(|n| n.as_i64().expect("a number")).collect();
            numbers.sort_unstable();
            numbers
        };
        let is_null = || leaf("$.lines[*].sku", "IS_NULL");
        assert_eq!(numbers(is_null()).await, expected, "{is_cyoda}");
        let not = json!({"type": "group", "operator": "NOT", "conditions": [is_null()]});
        let others: Vec<i64> = (1..5).filter(|n| !expected.contains(n)).collect();
        assert_eq!(numbers(not).await, others);
        let tags = if is_cyoda { vec![1, 2, 3, 4] } else { vec![] };
        assert_eq!(numbers(leaf("$.tags[*]", "IS_NULL")).await, tags);
        assert_eq!(numbers(leaf("$.lines[*].sku", "NOT_NULL")).await, [3]);
        // With an index by that path, too.
        let indexes = json!({"model": model, "paths": ["$.lines[*].sku"]});
        crate::index::declare(&connection, &indexes["model"], &["$.lines[*].sku"]).await;
        crate::index::ready(&connection, &model).await;
        assert_eq!(
            numbers(is_null()).await,
            expected,
            "{is_cyoda}, by an index"
        );
    }
}

/// §11, row 3, in criteria.
#[tokio::test]
async fn row_11_3_is_null_below_an_absent_array_opens_a_guard_in_cyoda() {
    for (server, is_cyoda) in both() {
        let connection = server.connect().await;
        let criterion = json!({"type": "simple", "jsonPath": "$.lines[*].sku", "operatorType": "IS_NULL", "value": null});
        let workflow =
            flow(json!([{"name": "GO", "next": "DONE", "manual": false, "criterion": criterion}]));
        let sample = json!({"n": 1, "lines": [{"sku": "a"}]});
        let model = governed_model(&connection, "doc", sample, workflow).await;
        for (document, opens) in [
            (json!({"n": 1}), is_cyoda),
            (json!({"n": 1, "lines": []}), false),
            (json!({"n": 1, "lines": [{"sku": "a"}]}), false),
        ] {
            let id = create(&connection, &model, document.clone()).await;
            let expected = if opens { "DONE" } else { "NEW" };
            assert_eq!(
                state(&get(&connection, &id).await),
                expected,
                "{document} {is_cyoda}"
            );
        }
    }
}

/// §12, row 1.
#[tokio::test]
async fn row_12_1_disabled_transitions_are_listed_in_cyoda() {
    for (server, is_cyoda) in both() {
        let (rest, connection) = (server.rest(), server.connect().await);
        let never =
            json!({"type": "simple", "jsonPath": "$.n", "operatorType": "EQUALS", "value": 7});
        let workflow = flow(json!([
            {"name": "OFF", "next": "DONE", "manual": true, "disabled": true},
            {"name": "HAND", "next": "DONE", "manual": true},
            {"name": "SELF", "next": "DONE", "manual": false, "criterion": never},
            {"name": "OUT", "next": "DONE", "manual": false, "disabled": true},
            {"name": "LATE", "next": "DONE", "manual": false, "schedule": {"delayMs": 3_600_000}}]));
        let model = governed_model(&connection, "doc", json!({"n": 1}), workflow).await;
        let id = create(&connection, &model, json!({"n": 1})).await;
        let expected = if is_cyoda {
            json!(["OFF", "HAND", "SELF", "OUT", "LATE"])
        } else {
            json!(["HAND", "SELF", "LATE"])
        };
        for path in [
            format!("/api/entity/{id}/transitions"),
            format!("/api/platform-api/entity/fetch/transitions?entityClass=doc.1&entityId={id}"),
        ] {
            assert_eq!(rest.get(&path).await.ok(), expected, "{path}");
        }
        let listed = connection
            .ok("EntityTransitionsGetRequest", json!({"entityId": id}))
            .await;
        assert_eq!(listed["transitions"], expected, "{listed}");
    }
}

/// §12, row 2.
#[tokio::test]
async fn row_12_2_previous_transition_is_the_requested_one_in_cyoda() {
    let criterion = |name: &str| json!({"type": "lifecycle", "field": "previousTransition", "operatorType": "EQUALS", "value": name});
    let way = |name: &str, next: &str, criterion: Value| json!({"name": name, "next": next, "manual": false, "criterion": criterion});
    let workflow = json!({"version": "1.1", "name": "flow", "initialState": "NEW", "states": {
        "NEW": {"transitions": [
            way("M", "MADE", criterion("")),
            way("N", "NEVER", criterion("loopback")),
        ]},
        "MADE": {"transitions": [
            {"name": "GO", "next": "GONE", "manual": true},
            {"name": "EDIT", "next": "MADE", "manual": true},
        ]},
        "GONE": {"transitions": [
            way("A", "BY_GO", criterion("GO")),
            way("B", "BY_EDIT", criterion("EDIT")),
            {"name": "STAY", "next": "REST", "manual": false},
        ]},
        "REST": {"transitions": []},
        "BY_GO": {"transitions": [
            {"name": "SAVED", "next": "EMPTY", "manual": false, "criterion": {"type": "group", "operator": "AND", "conditions": [
                criterion(""), {"type": "simple", "jsonPath": "$.n", "operatorType": "EQUALS", "value": 2}]}},
        ]},
        "BY_EDIT": {"transitions": []},
        "EMPTY": {"transitions": []},
        "NEVER": {"transitions": []}}});
    for (server, is_cyoda) in both() {
        let connection = server.connect().await;
        let model = governed_model(&connection, "doc", json!({"n": 1}), workflow.clone()).await;
        let id = create(&connection, &model, json!({"n": 1})).await;
        assert_eq!(state(&get(&connection, &id).await), "MADE");
        for transition in ["EDIT", "GO"] {
            let go = json!({"entityId": id, "transition": transition});
            connection.ok("EntityTransitionRequest", go).await;
        }
        let expected = if is_cyoda { "BY_GO" } else { "BY_EDIT" };
        assert_eq!(state(&get(&connection, &id).await), expected);
        // A plain update has none.
        let update = json!({"dataFormat": "JSON", "payload": {"entityId": id, "data": {"n": 2}}});
        connection.ok("EntityUpdateRequest", update).await;
        let expected = if is_cyoda { "EMPTY" } else { "BY_EDIT" };
        assert_eq!(state(&get(&connection, &id).await), expected);
    }
}

/// §12, row 3.
#[tokio::test]
async fn row_12_3_json_patch_is_refused_before_its_body_in_cyoda() {
    for (server, is_cyoda) in both() {
        let connection = server.connect().await;
        let model = locked_model(&connection, "doc", json!({"n": 1})).await;
        let id = create(&connection, &model, json!({"n": 1})).await;
        let rest = server
            .rest()
            .with("content-type", "application/json-patch+json")
            .with("if-match", "*");
        for body in [r#"{"n":2}"#, "5", "no JSON", "", "[", r#"[{"op":"frob"}]"#] {
            let said = rest
                .send("PATCH", &format!("/api/entity/JSON/{id}"), body)
                .await;
            let (status, code) = if is_cyoda {
                (501, "NOT_IMPLEMENTED")
            } else {
                (400, "BAD_REQUEST")
            };
            said.refused(status, code);
        }
        let patch = json!({"patchFormat": "JSON_PATCH", "payload": {"entityId": id, "patch": {"n": 2}, "ifMatch": "*"}});
        let failed = connection.fails("EntityPatchRequest", patch).await;
        assert_eq!(
            failed,
            if is_cyoda {
                "NOT_IMPLEMENTED"
            } else {
                "BAD_REQUEST"
            }
        );
        // A version to be based on comes first, as does the body of a merge.
        let said = server
            .rest()
            .with("content-type", "application/json-patch+json")
            .send("PATCH", &format!("/api/entity/JSON/{id}"), "5")
            .await;
        assert_eq!(said.status, 428);
        assert_eq!(get(&connection, &id).await["data"], json!({"n": 1}));
    }
}
