//! Conditions that take much work: others are served meanwhile, and when nobody waits for the
//! result any more, the work ends.

use std::time::{Duration, Instant};

use futures_util::future::join_all;
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use crate::support::{Connection, Rest, Server, locked_model, payload_of, request};

const CALLERS: (&str, &str) = ("INTERLOCK_IAM_MOCK_CALLER", "true");

/// How long a test waits for anything.
const PATIENCE: Duration = Duration::from_secs(30);

/// How soon work ends that nobody waits for, also where nothing is optimised.
const SOON: Duration = Duration::from_secs(5);

fn leaf(path: &str, operator: &str, value: impl Into<Value>) -> Value {
    json!({"type": "simple", "jsonPath": path, "operatorType": operator, "value": value.into()})
}

fn group(operator: &str, conditions: Vec<Value>) -> Value {
    json!({"type": "group", "operator": operator, "conditions": conditions})
}

/// A condition that takes minutes to be judged by, of a text of some megabytes.
fn endless() -> Value {
    let patterns = (0..400).map(|n| leaf("$.text", "MATCHES_PATTERN", format!("(?:[a-z]|x)*{n}")));
    group("OR", patterns.collect())
}

fn large_text() -> Value {
    json!({"text": "lorem ipsum dolor ".replace(' ', "x").repeat(200_000)})
}

/// How many pieces of expensive work are being done.
async fn running(server: &Server) -> u64 {
    let text = Rest::new(server.admin).get("/metrics").await.text;
    let name = r#"interlock_expensive_work_running{kind="evaluating"}"#;
    let line = text.lines().find(|line| line.starts_with(name));
    let number = line.and_then(|line| line.rsplit(' ').next());
    number.expect("it is measured").parse().expect("a number")
}

/// A server with an entity that has a large text, and another tenant with a small one.
struct Stage {
    server: Server,
    rest: Rest,
    other: Rest,
    small: String,
}

impl Stage {
    async fn new(settings: &[(&str, &str)]) -> Self {
        let server = Server::with(&[&[CALLERS], settings].concat());
        let rest = server.rest().with("x-mock-tenant", "one");
        rest.lock_model("doc", r#"{"text":"x"}"#).await;
        rest.create("doc", &large_text().to_string()).await;
        let other = server.rest().with("x-mock-tenant", "other");
        other.lock_model("doc", r#"{"text":"x"}"#).await;
        let small = other.create("doc", r#"{"text":"x"}"#).await;
        Self {
            server,
            rest,
            other,
            small,
        }
    }

    async fn running(&self) -> u64 {
        running(&self.server).await
    }

    async fn until_running(&self, count: u64, within: Duration) {
        let began = Instant::now();
        while self.running().await != count {
            assert!(began.elapsed() < within, "not {count} in time");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Others are served while something runs, and when its client leaves, it ends.
    async fn ends_with_its_client<T>(&self, client: JoinHandle<T>) {
        self.until_running(1, PATIENCE).await;
        for _ in 0..20 {
            let path = format!("/api/entity/{}", self.small);
            self.other.get(&path).await.ok();
            self.other.create("doc", r#"{"text":"y"}"#).await;
        }
        assert_eq!(self.running().await, 1, "it was not over before");
        client.abort();
        self.until_running(0, SOON).await;
    }

    fn post(&self, path: &'static str, body: &Value) -> JoinHandle<()> {
        let (rest, body) = (self.rest.clone(), body.to_string());
        tokio::spawn(async move {
            rest.post(path, body).await;
        })
    }
}

#[tokio::test]
async fn a_search_in_a_long_text_ends_when_its_client_leaves() {
    let stage = Stage::new(&[]).await;
    for (path, body) in [
        ("/api/search/direct/doc/1", endless()),
        (
            "/api/entity/stats/doc/1/query",
            json!({"groupBy": ["state"], "condition": endless()}),
        ),
    ] {
        stage.ends_with_its_client(stage.post(path, &body)).await;
    }
    let (rest, body) = (stage.rest.clone(), endless().to_string());
    let deletion =
        tokio::spawn(async move { rest.send("DELETE", "/api/entity/doc/1", body).await });
    stage.ends_with_its_client(deletion).await;
}

/// A connection that ends when it is dropped.
struct Leaving(Connection);

impl Drop for Leaving {
    fn drop(&mut self) {
        self.0.abort();
    }
}

#[tokio::test]
async fn a_live_search_ends_when_its_client_leaves() {
    let stage = Stage::new(&[]).await;
    let connection = stage.server.connect_as(&[("x-mock-tenant", "one")]).await;
    let following = tokio::spawn(async move {
        let connection = Leaving(connection);
        let connection = &connection.0;
        let payload = json!({"model": {"name": "doc", "version": 1}, "condition": endless()});
        let event = request(
            "EntitySearchSubscribeRequest",
            &connection.fresh_id(),
            payload,
        );
        connection.ask(event).await
    });
    stage.ends_with_its_client(following).await;
}

#[tokio::test]
async fn a_criterion_over_a_long_text_is_given_up_when_its_client_leaves() {
    let stage = Stage::new(&[]).await;
    stage.rest.lock_model("flow", r#"{"text":"x"}"#).await;
    let workflow = json!({
        "version": "1", "name": "flow", "initialState": "NEW",
        "states": {
            "NEW": {"transitions": [
                {"name": "go", "next": "DONE", "manual": false, "criterion": endless()},
            ]},
            "DONE": {},
        },
    });
    let import = json!({"importMode": "REPLACE", "workflows": [workflow]}).to_string();
    let imported = stage.rest.post("/api/model/flow/1/workflow/import", import);
    imported.await.ok();
    stage
        .ends_with_its_client(stage.post("/api/entity/JSON/flow/1", &large_text()))
        .await;
    let search = json!({"type": "group", "operator": "AND", "conditions": []}).to_string();
    let found = stage.rest.post("/api/search/direct/flow/1", search).await;
    assert_eq!(found.text, "", "nothing was stored");
    // What is small is judged as ever.
    stage.rest.create("flow", r#"{"text":"a7"}"#).await;
}

#[tokio::test]
async fn a_search_that_takes_too_long_says_so() {
    let stage = Stage::new(&[("INTERLOCK_SEARCH_TIMEOUT", "300ms")]).await;
    let stats = json!({"groupBy": ["state"], "condition": endless()}).to_string();
    for (method, path, body) in [
        ("POST", "/api/search/direct/doc/1", endless().to_string()),
        ("POST", "/api/entity/stats/doc/1/query", stats),
        ("DELETE", "/api/entity/doc/1", endless().to_string()),
    ] {
        let said = stage.rest.send(method, path, body).await;
        let problem = said.refused(503, "SEARCH_TIMEOUT");
        assert_eq!(problem["properties"]["retryable"], true, "{problem}");
        assert!(said.text.contains("INTERLOCK_SEARCH_TIMEOUT"), "{problem}");
        stage.until_running(0, SOON).await;
    }
}

#[tokio::test]
async fn many_leaves_over_one_long_text_are_judged_in_one_pass() {
    let stage = Stage::new(&[]).await;
    let leaves = |last: &str| {
        let absent = (0..1_500).map(|n| leaf("$.text", "ICONTAINS", format!("Absent{n}")));
        let last = leaf("$.text", "ICONTAINS", last);
        group("OR", absent.chain([last]).collect()).to_string()
    };
    for (last, found) in [("DOLORX", 1), ("missing", 0)] {
        let said = stage
            .rest
            .post("/api/search/direct/doc/1", leaves(last))
            .await;
        assert_eq!(said.status, 200, "{}", said.text);
        assert_eq!(said.text.lines().count(), found, "{last}");
    }
}

#[tokio::test]
async fn evaluating_an_entity_has_a_limit_of_work() {
    let stage = Stage::new(&[]).await;
    stage.rest.lock_model("list", r#"{"l":[0]}"#).await;
    let zeros = vec!["0"; 500_000].join(",");
    let list = format!(r#"{{"l":[{zeros}]}}"#);
    stage.rest.create("list", &list).await;
    let leaves = (0..17_000).map(|_| leaf("$.l[0]", "EQUALS", 0));
    let body = group("AND", leaves.collect()).to_string();
    let said = stage.rest.post("/api/search/direct/list/1", body).await;
    said.refused(400, "EVALUATION_LIMIT");
    assert!(
        said.text.contains("fewer or shorter fields"),
        "{}",
        said.text
    );
}

#[tokio::test]
async fn patterns_that_are_too_large_are_refused_with_their_limit() {
    let stage = Stage::new(&[]).await;
    let patterns = |count: usize, times: usize| {
        let pattern = |n| leaf("$.text", "MATCHES_PATTERN", format!(r"\pL{{{times}}}x{n}"));
        group("AND", (0..count).map(pattern).collect())
    };
    for (condition, why) in [
        (patterns(100, 20), "together with the other patterns"),
        (patterns(1, 500), "it is too large"),
    ] {
        let stats = json!({"groupBy": ["state"], "condition": condition});
        for (method, path, body) in [
            ("POST", "/api/search/direct/doc/1", &condition),
            ("POST", "/api/search/async/doc/1", &condition),
            ("POST", "/api/entity/stats/doc/1/query", &stats),
            ("DELETE", "/api/entity/doc/1", &condition),
        ] {
            let said = stage.rest.send(method, path, body.to_string()).await;
            said.refused(400, "INVALID_CONDITION");
            assert!(said.text.contains(why), "{path}: {}", said.text);
        }
        let workflow = json!({
            "version": "1", "name": "w", "initialState": "NEW", "criterion": condition,
            "states": {"NEW": {}},
        });
        let import = json!({"workflows": [workflow]}).to_string();
        let path = "/api/model/doc/1/workflow/import";
        let said = stage.rest.post(path, import).await;
        said.refused(400, "VALIDATION_FAILED");
        assert!(said.text.contains(why), "{}", said.text);
    }
    let connection = stage.server.connect_as(&[("x-mock-tenant", "one")]).await;
    let payload = json!({"model": {"name": "doc", "version": 1}, "condition": patterns(100, 20)});
    let answers = connection
        .ask(request(
            "EntitySearchSubscribeRequest",
            &connection.fresh_id(),
            payload,
        ))
        .await;
    let refused = payload_of(&answers[0]).to_string();
    assert!(refused.contains("INVALID_CONDITION"), "{refused}");
    // What people write is taken.
    let words: Vec<_> = (0..500).map(|n| format!("word{n}")).collect();
    let usual = group(
        "OR",
        vec![
            leaf("$.text", "MATCHES_PATTERN", words.join("|")),
            leaf(
                "$.text",
                "MATCHES_PATTERN",
                r"[\w.+-]{1,20}@[\w-]+\.\p{L}{2,6}",
            ),
            leaf("$.text", "MATCHES_PATTERN", r"lorem[a-z]*"),
        ],
    );
    let said = stage
        .rest
        .post("/api/search/direct/doc/1", usual.to_string())
        .await;
    assert_eq!(said.text.lines().count(), 1, "{}", said.status);
}

#[tokio::test]
async fn a_long_list_is_looked_up() {
    let server = Server::start();
    let connection = server.connect().await;
    let model = locked_model(&connection, "number", json!({"n": 1.5, "t": "x"})).await;
    let payloads: Vec<_> = (0..300)
        .map(|n| json!({"model": model, "data": {"n": n, "t": format!("t{n}")}}))
        .collect();
    let many = json!({"dataFormat": "JSON", "payloads": payloads});
    connection.ok("EntityCreateCollectionRequest", many).await;
    let even: Vec<_> = (0..99_990).map(|n| json!(format!("{}.0", 2 * n))).collect();
    let rest = server.rest();
    for (condition, found) in [
        (leaf("$.n", "IN", even.clone()), 150),
        (leaf("$.n", "NOT_IN", even), 150),
    ] {
        let path = "/api/search/direct/number/1";
        let said = rest.post(path, condition.to_string()).await;
        assert_eq!(said.status, 200, "{}", said.text);
        assert_eq!(said.text.lines().count(), found);
    }
}

#[tokio::test]
async fn a_run_that_reads_large_values_is_advanced_apart() {
    let stage = Stage::new(&[]).await;
    let one = stage.server.connect_as(&[("x-mock-tenant", "one")]).await;
    let paths = ["\"$.input.missing\""; 20].join(", ");
    let step = |next: &str| {
        format!(
            "{{run: \"@entity/get\", input: {{id: [{paths}]}}, transitions: {{success: {next}, failure: {next}}}}}"
        )
    };
    let document = format!(
        "kind: Workflow\nname: burn\nversion: \"1\"\nstart: {}\nsteps:\n  x: {}\n  y: {}\n",
        step("x"),
        step("y"),
        step("x"),
    );
    let document = json!({ "document": document });
    one.ok("RunDefinitionCreateRequest", document).await;
    let start = json!({"definition": "burn", "input": {"m": vec![1; 100_000]}});
    let starting =
        (0..4).map(|n| one.begin(request("RunStartRequest", &format!("s{n}"), start.clone())));
    let mut started = join_all(starting).await;
    stage.until_running(1, PATIENCE).await;
    for answers in &mut started {
        answers.recv().await.expect("it is answered");
    }
    // The runs go round until a run may do no more.
    stage.until_running(0, PATIENCE).await;
}

/// A filter, a guard and the body of a call that look at each pair of a list, and find none.
const PAIRS: &str = r#"
connector "api" {
  type = "rest"
}
connector "out" {
  type     = "http"
  base_url = "http://127.0.0.1:1"
}
saga "filtered" {
  from {
    connector = "api"
    operation = "POST /filtered"
    filter    = "PAIRS"
  }
  step "none" {
    action {
    }
  }
}
saga "computed" {
  from {
    connector = "api"
    operation = "POST /computed"
  }
  step "call" {
    action {
      connector = "out"
      operation = "POST /x"
      body      = { found = "PAIRS" }
    }
  }
}
state_machine "guarded" {
  initial = "open"
  state "open" {
    on "close" {
      transition_to = "closed"
      guard         = "PAIRS"
    }
  }
  state "closed" { final = true }
}
flow "events" {
  from {
    connector = "api"
    operation = "POST /papers/:id/events"
  }
  state_transition {
    machine = "guarded"
    entity  = "doc/1"
    id      = "input.params.id"
    event   = "input.event"
  }
}
"#;

#[tokio::test]
async fn a_small_request_with_nested_macros_is_evaluated_apart() {
    let server = Server::start();
    let (rest, connection) = (server.rest(), server.connect().await);
    rest.lock_model("doc", r#"{"text":"x"}"#).await;
    let entity = rest.create("doc", r#"{"text":"x"}"#).await;
    let pairs = "input.a.exists(x, input.a.exists(y, x + y < 0))";
    let files = json!([{"path": "a.hcl", "text": PAIRS.replace("PAIRS", pairs)}]);
    let bundle = json!({"bundle": "pairs", "files": files});
    connection.ok("BundleApplyRequest", bundle).await;
    let numbers: Vec<_> = (0..300).collect();
    let body = json!({"a": numbers, "event": "close"}).to_string();
    for path in [
        "/filtered".to_owned(),
        format!("/papers/{entity}/events"),
        "/computed".to_owned(),
    ] {
        let began = Instant::now();
        'seen: loop {
            assert!(began.elapsed() < PATIENCE, "{path} is not evaluated apart");
            let (rest, path, body) = (rest.clone(), path.clone(), body.clone());
            let asked = tokio::spawn(async move { rest.post(&path, body).await });
            loop {
                let was_answered = asked.is_finished();
                if running(&server).await > 0 {
                    asked.await.expect("it is answered");
                    break 'seen;
                }
                if was_answered {
                    break;
                }
            }
        }
    }
}
