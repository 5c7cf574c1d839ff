//! Conditions that mean harm, at every place that takes one: they are answered as documented, in
//! bounded time and memory.

use std::time::Duration;

use serde_json::{Value, json};

use crate::support::{Connection, Rest, Server, code, locked_model, payload_of, request};

/// How long one request may take, also where nothing is optimised.
const PATIENCE: Duration = Duration::from_secs(20);

/// How much memory the server may take in the end, in bytes.
const MEMORY: u64 = 600 << 20;

const NO_TIME: &str = "2000-01-01T00:00:00Z";

struct Stage {
    server: Server,
    connection: Connection,
    rest: Rest,
    model: Value,
}

impl Stage {
    async fn new() -> Self {
        let server = Server::start();
        let connection = server.connect().await;
        let sample = json!({"n": 1, "t": "x", "tags": ["x"], "day": "2024-01-01", "o": {"k": "x"}});
        let model = locked_model(&connection, "doc", sample).await;
        let payloads: Vec<_> = (0..40)
            .map(|n| json!({"model": model, "data": {"n": n, "t": "ab".repeat(n), "tags": ["x"], "day": "2024-01-01"}}))
            .collect();
        let many = json!({"dataFormat": "JSON", "payloads": payloads});
        connection.ok("EntityCreateCollectionRequest", many).await;
        let indexes = json!([{"path": "$.n"}, {"path": "$.t"}, {"path": "$.tags[*]"}]);
        let set = json!({"model": model, "indexes": indexes});
        connection.ok("EntityModelSetIndexesRequest", set).await;
        Self {
            rest: server.rest(),
            server,
            connection,
            model,
        }
    }

    /// What becomes of a condition, as text: searched for over gRPC and REST, on its own, in a
    /// deletion (of what was there long ago, which is nothing) and in grouped statistics.
    async fn everywhere(&self, condition: &str) -> [String; 5] {
        let model = &self.model;
        let timed =
            async |what: &str, asking: std::pin::Pin<Box<dyn Future<Output = String> + '_>>| {
                let answer = tokio::time::timeout(PATIENCE, asking).await;
                let shown: String = condition.chars().take(120).collect();
                answer.unwrap_or_else(|_| panic!("{what} took too long: {shown}"))
            };
        let event = |kind: &str, more: &str| {
            let mut event = request(kind, &self.connection.fresh_id(), json!({}));
            let id = &event.id;
            let text = format!(r#"{{"id":"{id}","model":{model},"condition":{condition}{more}}}"#);
            event.data = interlock::event::Data::Text(text.into());
            event
        };
        let grpc = async {
            let answers = self
                .connection
                .ask(event("EntitySearchRequest", r#","limit":1"#))
                .await;
            outcome(&payload_of(answers.last().expect("an answer")))
        };
        let rest = async {
            let said = self
                .rest
                .post("/api/search/direct/doc/1", condition.to_owned())
                .await;
            if said.status == 200 {
                "OK".to_owned()
            } else {
                said.problem()
            }
        };
        let job = async {
            let answers = self
                .connection
                .ask(event("EntitySnapshotSearchRequest", ""))
                .await;
            let begun = payload_of(&answers[0]);
            if begun["success"] != true {
                return outcome(&begun);
            }
            loop {
                let asked = json!({"snapshotId": begun["status"]["snapshotId"]});
                let reported = self.connection.ok("SnapshotGetStatusRequest", asked).await;
                match reported["status"]["status"].as_str() {
                    Some("RUNNING") => tokio::time::sleep(Duration::from_millis(10)).await,
                    Some("SUCCESSFUL") => return "OK".to_owned(),
                    other => return format!("{other:?}"),
                }
            }
        };
        let deletion = async {
            let path = format!("/api/entity/doc/1?pointInTime={NO_TIME}");
            let said = self.rest.send("DELETE", &path, condition.to_owned()).await;
            if said.status == 200 {
                "OK".to_owned()
            } else {
                said.problem()
            }
        };
        let groups = async {
            let body = format!(r#"{{"groupBy":["state"],"condition":{condition}}}"#);
            let said = self.rest.post("/api/entity/stats/doc/1/query", body).await;
            if said.status == 200 {
                "OK".to_owned()
            } else {
                said.problem()
            }
        };
        [
            timed("grpc", Box::pin(grpc)).await,
            timed("rest", Box::pin(rest)).await,
            timed("job", Box::pin(job)).await,
            timed("deletion", Box::pin(deletion)).await,
            timed("groups", Box::pin(groups)).await,
        ]
    }

    /// A condition that is answered so, and so where all that is wrong with one has one code.
    async fn check(&self, condition: impl std::fmt::Display, searched: &str, grouped: &str) {
        let condition = condition.to_string();
        let answers = self.everywhere(&condition).await;
        let shown: String = condition.chars().take(120).collect();
        let expected = [searched, searched, searched, grouped, grouped];
        assert_eq!(answers, expected, "{shown}");
    }

    async fn taken(&self, condition: impl std::fmt::Display) {
        self.check(condition, "OK", "OK").await;
    }
}

fn outcome(answer: &Value) -> String {
    if answer["success"] == true {
        "OK".to_owned()
    } else {
        code(answer)
    }
}

fn simple(path: &str, operator: &str, value: Value) -> Value {
    json!({"type": "simple", "jsonPath": path, "operatorType": operator, "value": value})
}

fn group(operator: &str, conditions: Vec<Value>) -> Value {
    json!({"type": "group", "operator": operator, "conditions": conditions})
}

#[tokio::test]
async fn fifty_levels_are_taken_and_one_more_is_refused() {
    let stage = Stage::new().await;
    let nested = |levels: usize, operator: &str| {
        format!(
            r"{}{}{}",
            format!(r#"{{"type":"group","operator":"{operator}","conditions":["#).repeat(levels),
            simple("$.n", "EQUALS", json!(1)),
            "]}".repeat(levels)
        )
    };
    for operator in ["AND", "OR", "NOT"] {
        stage.taken(nested(50, operator)).await;
        for levels in [51, 1_000, 10_000] {
            stage
                .check(nested(levels, operator), "BAD_REQUEST", "INVALID_CONDITION")
                .await;
        }
    }
    let value = format!("{}{}", "[".repeat(10_000), "]".repeat(10_000));
    let deep =
        format!(r#"{{"type":"simple","jsonPath":"$.n","operatorType":"EQUALS","value":{value}}}"#);
    stage.check(deep, "BAD_REQUEST", "INVALID_CONDITION").await;
    assert!(stage.server.resident_bytes() < MEMORY);
}

#[tokio::test]
async fn thousands_of_leaves_are_taken_whatever_they_are() {
    let stage = Stage::new().await;
    let leaves =
        |count: usize, leaf: &dyn Fn(usize) -> Value| (0..count).map(leaf).collect::<Vec<_>>();
    let equal = |n: usize| simple("$.n", "EQUALS", json!(n));
    let above = |n: usize| simple("$.n", "NOT_EQUAL", json!(n + 1_000));
    let like = |n: usize| simple("$.t", "LIKE", json!(format!("%x{n}_%")));
    let named = |n: usize| json!({"type": "lifecycle", "field": "state", "operatorType": "EQUALS", "value": format!("S{n}")});
    let many: [(usize, &dyn Fn(usize) -> Value); 4] = [
        (3_000, &equal),
        (3_000, &above),
        (300, &like),
        (3_000, &named),
    ];
    for ((count, leaf), operators) in
        many.into_iter()
            .zip([&["AND", "OR", "NOT"][..], &["AND"], &["OR"], &["NOT"]])
    {
        for operator in operators {
            stage.taken(group(operator, leaves(count, leaf))).await;
        }
    }
    // Ways into an index by the hundred, each of many ranges.
    let list = |n: usize| simple("$.n", "IN", json!((n..n + 50).collect::<Vec<_>>()));
    stage.taken(group("AND", leaves(200, &list))).await;
    let pairs = |n: usize| {
        group(
            "OR",
            vec![
                equal(n),
                simple("$.t", "STARTS_WITH", json!(format!("a{n}"))),
            ],
        )
    };
    stage.taken(group("AND", leaves(200, &pairs))).await;
    let tags = |n: usize| simple("$.tags[*]", "IN", json!([n.to_string(), "x"]));
    stage.taken(group("AND", leaves(200, &tags))).await;
    stage
        .taken(simple("$.n", "IN", json!((0..50_000).collect::<Vec<_>>())))
        .await;
    let values: Vec<_> = (0..5_000).map(|n| json!(n.to_string())).collect();
    stage
        .taken(json!({"type": "array", "jsonPath": "$.tags", "values": values}))
        .await;
    // There is an end to it.
    for condition in [
        simple("$.n", "IN", json!(vec![1; 150_000])),
        simple("$.n", "NOT_IN", json!(vec!["x"; 150_000])),
        group(
            "OR",
            leaves(
                100_001,
                &|_| json!({"type": "simple", "jsonPath": "n", "operator": "IS_NULL"}),
            ),
        ),
        json!({"type": "array", "jsonPath": "$.tags", "values": vec!["x"; 150_000]}),
    ] {
        stage
            .check(condition, "BAD_REQUEST", "INVALID_CONDITION")
            .await;
    }
    let resident = stage.server.resident_bytes();
    assert!(resident < MEMORY, "{resident}");
}

#[tokio::test]
async fn patterns_cost_neither_endless_time_nor_memory() {
    let stage = Stage::new().await;
    let pattern = |text: &str| simple("$.t", "MATCHES_PATTERN", json!(text));
    for text in [
        "(a+)+b",
        "(a*)*",
        "((a|b|ab)*)*c",
        "(a|a)*$",
        "(.*)(.*)(.*)(.*)x",
        "^(([a-z])+.)+[A-Z]([a-z])+$",
        r"(\w+\s?)*$",
    ] {
        stage.taken(pattern(text)).await;
    }
    for text in [
        "a{1000}{1000}{1000}",
        "(",
        "(?=x)",
        r"(a)\1",
        "[",
        "\\",
        "(?<n>a)(?<n>b)",
        "*",
        &"(".repeat(10_000),
        &"(a".repeat(1_000),
        r"\pL{1000}",
    ] {
        stage
            .check(pattern(text), "INVALID_CONDITION", "INVALID_CONDITION")
            .await;
    }
    // How many there may be together is tested where they are parsed.
    let many = |count: usize, text: &str| {
        group(
            "NOT",
            (0..count).map(|n| pattern(&format!("{text}{n}"))).collect(),
        )
    };
    stage.taken(many(20, r"\w{3}")).await;
    let resident = stage.server.resident_bytes();
    assert!(resident < MEMORY, "{resident}");
}

#[tokio::test]
async fn operands_and_paths_are_no_code() {
    let stage = Stage::new().await;
    let long = "x".repeat(1_000_000);
    let digits = "9".repeat(200_000);
    for operand in [
        json!("'; drop table entity; --"),
        json!("' or '1'='1"),
        json!("\") or 1=1 --"),
        json!("%_\\%"),
        json!("\u{0}"),
        json!("a\u{0}b"),
        json!("\u{202e}\u{feff}\u{10ffff}e\u{301}"),
        json!("\u{1F468}\u{200D}\u{1F469}"),
        json!(format!("1e{}", "9".repeat(30))),
        json!(""),
        json!(true),
        json!(-0.0),
    ] {
        for operator in [
            "EQUALS",
            "NOT_EQUAL",
            "GREATER_THAN",
            "LIKE",
            "ISTARTS_WITH",
            "NOT_CONTAINS",
        ] {
            stage.taken(simple("$.t", operator, operand.clone())).await;
        }
        for field in ["state", "id", "transactionId", "previousTransition"] {
            stage.taken(json!({"type": "lifecycle", "field": field, "operatorType": "EQUALS", "value": operand})).await;
        }
        stage
            .taken(simple("$.t", "IN", json!([operand, operand])))
            .await;
        stage.taken(simple("$.tags[*]", "EQUALS", operand)).await;
    }
    for operand in [json!(long), json!(digits)] {
        for operator in ["EQUALS", "ICONTAINS"] {
            stage.taken(simple("$.t", operator, operand.clone())).await;
        }
        let like = simple("$.t", "LIKE", operand);
        stage
            .check(like, "INVALID_CONDITION", "INVALID_CONDITION")
            .await;
    }
    for number in [
        "1e999999999",
        "-1e-999999999",
        "0.1e400",
        digits.as_str(),
        "123456789012345678901234567890.5",
    ] {
        let leaf = format!(
            r#"{{"type":"simple","jsonPath":"$.n","operatorType":"LESS_THAN","value":{number}}}"#
        );
        stage.taken(leaf).await;
    }
    // No text at all.
    for value in [
        r#""\ud800""#,
        r#""\udc00\ud800""#,
        "\"\u{1}\"",
        r#""\x""#,
        "01",
        "NaN",
        "1e",
    ] {
        let leaf = format!(
            r#"{{"type":"simple","jsonPath":"$.t","operatorType":"EQUALS","value":{value}}}"#
        );
        let answers = stage.everywhere_but_grpc(&leaf).await;
        for answer in answers {
            assert!(
                ["BAD_REQUEST", "MALFORMED_REQUEST", "INVALID_CONDITION"]
                    .contains(&answer.as_str()),
                "{value}: {answer}"
            );
        }
    }
    for path in [
        "$['a') from entity; --']",
        "$[\"x\\\"; drop table version; --\"]",
        "$['\u{0}']",
        "$.a'b",
        "$.\u{202e}",
        "$.%",
        "$.'; select 1",
        &"$.a".repeat(100_000),
        &format!("${}", ".a".repeat(100_000)),
        "$[",
        "$..a",
        "$[99999999999999999999]",
        "$['",
        "",
        "$.n[",
        "$.n]",
    ] {
        let leaf = simple(path, "EQUALS", json!(1));
        let answers = stage.everywhere(&leaf.to_string()).await;
        let shown: String = path.chars().take(30).collect();
        let [others @ .., grouped] = &answers;
        assert!(
            others.iter().all(|answer| answer == "INVALID_FIELD_PATH"),
            "{shown}: {answers:?}"
        );
        // Statistics take a field that there is not for a missing one (`search.md` §3).
        assert!(
            ["OK", "INVALID_FIELD_PATH"].contains(&grouped.as_str()),
            "{shown}: {grouped}"
        );
    }
    // Nothing was lost.
    let all = json!({"model": stage.model, "pageSize": 1_000});
    let (listed, _) = stage.connection.all("EntityGetAllRequest", all).await;
    assert_eq!(listed.len(), 40);
}

impl Stage {
    /// Where invalid JSON is distinguished from an invalid condition.
    async fn everywhere_but_grpc(&self, condition: &str) -> [String; 3] {
        let groups = format!(r#"{{"groupBy":["state"],"condition":{condition}}}"#);
        let rest = &self.rest;
        [
            rest.post("/api/search/direct/doc/1", condition.to_owned())
                .await
                .problem(),
            rest.post("/api/search/async/doc/1", condition.to_owned())
                .await
                .problem(),
            rest.post("/api/entity/stats/doc/1/query", groups)
                .await
                .problem(),
        ]
    }
}
