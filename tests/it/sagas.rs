//! Sagas, against a database file and HTTP servers (`orchestration.md` 2.4 and 2.5, `runs.md` §7).

use std::time::Duration;

use serde_json::{Value, json};

use crate::support::{
    Server,
    outside::{Behaviour, Outside},
};

/// A shop whose orders are rows of a file, whose payments and mails are HTTP.
struct Shop {
    server: Server,
    stripe: Outside,
    notifications: Outside,
    _folder: tempfile::TempDir,
    database: rusqlite::Connection,
}

const SAGA: &str = r#"
connector "api" {
  type = "rest"
}
connector "orders_db" {
  type     = "database"
  driver   = "sqlite"
  database = "DATABASE"
}
connector "stripe" {
  type     = "http"
  base_url = "STRIPE"
  auth {
    type  = "bearer"
    token = env("STRIPE_KEY")
  }
}
connector "notifications" {
  type     = "http"
  base_url = "NOTIFICATIONS"
}
saga "create_order" {
  from {
    connector = "api"
    operation = "POST /orders"
  }
  step "order" {
    action {
      connector = "orders_db"
      operation = "INSERT"
      target    = "orders"
      data      = { status = "pending", user_id = "input.user_id" }
    }
    compensate {
      connector = "orders_db"
      operation = "DELETE"
      target    = "orders"
      where     = { id = "step.order.id" }
    }
  }
  step "payment" {
    action {
      connector = "stripe"
      operation = "POST /charges"
      body      = { amount = "input.amount", currency = "input.currency" }
    }
    compensate {
      connector = "stripe"
      operation = "POST /refunds"
      body      = { charge = "step.payment.charge_id" }
    }
  }
  on_failure {
    connector = "notifications"
    operation = "POST /send"
    template  = "order_failed"
    data      = { user_id = "input.user_id", reason = "error.message" }
  }
}
saga "approve" {
  timeout = "7d"
  step "submit" {
    action {
      connector = "orders_db"
      operation = "INSERT"
      target    = "orders"
      data      = { status = "submitted", user_id = "input.user_id" }
    }
    compensate {
      connector = "orders_db"
      operation = "DELETE"
      target    = "orders"
      where     = { id = "step.submit.id" }
    }
  }
  step "wait_approval" {
    await   = "approved"
    timeout = "48h"
  }
  step "pay" {
    action {
      connector = "stripe"
      operation = "POST /charges"
      body      = { by = "input.signal.by", order = "step.submit.id" }
    }
  }
}
"#;

impl Shop {
    async fn open() -> Self {
        let server = Server::on_disk(&[]);
        let (stripe, notifications) = (Outside::start().await, Outside::start().await);
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("orders.db");
        let database = rusqlite::Connection::open(&path).expect("opens");
        database
            .execute_batch(
                "CREATE TABLE orders (id INTEGER PRIMARY KEY, status TEXT, user_id INTEGER)",
            )
            .expect("a table");
        let path = path.to_str().expect("UTF-8");
        let text = SAGA
            .replace("DATABASE", path)
            .replace("STRIPE\"\n", &format!("{}\"\n", stripe.url()))
            .replace("NOTIFICATIONS", &notifications.url());
        let shop = Self {
            server,
            stripe,
            notifications,
            _folder: folder,
            database,
        };
        let payload = json!({
            "bundle": "shop",
            "files": [{"path": "shop.hcl", "text": text}],
            "variables": {"STRIPE_KEY": "sk_test_1"},
        });
        let connection = shop.server.connect().await;
        connection.ok("BundleApplyRequest", payload).await;
        shop
    }

    fn rows(&self) -> i64 {
        let count = "SELECT count(*) FROM orders";
        let count = self.database.query_row(count, [], |row| row.get(0));
        count.expect("a count")
    }

    async fn post(&self, path: &str, body: &str) -> (u16, Value) {
        let said = self.server.rest().post(path, body.to_owned()).await;
        (said.status.as_u16(), said.json())
    }

    /// The kinds and details of a run's history.
    async fn history(&self, run: &str) -> Vec<String> {
        let connection = self.server.connect().await;
        let history = connection.ok("RunHistoryGetRequest", json!({"runId": run}));
        let items = history.await["items"].clone();
        let items = items.as_array().expect("a list").iter();
        items
            .map(|event| {
                let text = |name: &str| event[name].as_str().expect("a text").to_owned();
                format!("{} {}", text("eventType"), text("detail"))
            })
            .collect()
    }
}

const FAILURE: &str = r#"step "payment" failed: POST /charges answered 402"#;

/// The exchange of a saga that compensates, whole.
#[tokio::test]
async fn a_saga_that_fails_undoes_what_it_did_and_says_so() {
    let shop = Shop::open().await;
    let declined = json!({"error": "card_declined"});
    shop.stripe
        .on("POST /charges", Behaviour::Json(402, declined));
    shop.notifications
        .on("POST /send", Behaviour::Json(200, json!({})));
    let body = r#"{"user_id":7,"amount":99.99,"currency":"GBP"}"#;
    let (status, mut ended) = shop.post("/api/sagas/create_order", body).await;
    let run = ended["instance_id"].as_str().expect("an id").to_owned();
    assert!(run.starts_with("wf_"), "{run}");
    ended
        .as_object_mut()
        .expect("an object")
        .remove("instance_id");
    assert_eq!(status, 200);
    assert_eq!(
        ended,
        json!({
            "saga_name": "create_order",
            "status": "compensated",
            "steps": {"order": {"id": 1, "status": "pending", "user_id": 7}},
            "error": FAILURE,
        })
    );
    assert_eq!(shop.rows(), 0);
    let charges = shop.stripe.seen();
    assert_eq!(charges.len(), 1, "no refund of what failed");
    assert_eq!(charges[0].body, r#"{"amount":99.99,"currency":"GBP"}"#);
    assert_eq!(charges[0].headers["authorization"], "Bearer sk_test_1");
    assert_eq!(charges[0].key(), format!("{run}:payment:action"));
    assert_eq!(
        shop.notifications.seen()[0].json(),
        json!({"user_id": 7, "reason": FAILURE, "template": "order_failed"})
    );

    let shown = shop
        .server
        .rest()
        .get(&format!("/workflows/{run}"))
        .await
        .ok();
    let (created, updated) = (&shown["created_at"], &shown["updated_at"]);
    assert_eq!(
        shown,
        json!({
            "id": run, "saga_name": "create_order", "status": "failed", "compensated": true,
            "current_step": 1, "current_step_name": "payment",
            "input": {"user_id": 7, "amount": 99.99, "currency": "GBP"},
            "step_results": {"order": {"id": 1, "status": "pending", "user_id": 7}},
            "error": FAILURE, "created_at": created, "updated_at": updated,
        })
    );
    assert_eq!(
        shop.history(&run).await,
        [
            &format!("workflow_started {body}"),
            "step_started order",
            "action_completed success",
            "step_completed order",
            "step_started payment",
            "action_completed failure",
            "step_completed payment",
            "compensation_started order",
            "compensation_completed order",
            "callback_completed on_failure",
            &format!("workflow_failed {FAILURE}"),
        ]
    );
    let cancel = format!("/workflows/{run}/cancel");
    let again = shop.server.rest().post(&cancel, "").await;
    let problem = again.refused(400, "RUN_FINISHED");
    assert_eq!(problem["properties"]["status"], "failed");
}

#[tokio::test]
async fn a_saga_that_waits_is_answered_at_once_and_takes_its_signal_after_a_crash() {
    let mut shop = Shop::open().await;
    shop.stripe.on(
        "POST /charges",
        Behaviour::Json(200, json!({"charge_id": "c1"})),
    );
    let (status, started) = shop.post("/api/sagas/approve", r#"{"user_id":7}"#).await;
    assert_eq!((status, &started["status"]), (202, &json!("running")));
    assert_eq!(started["saga"], "approve");
    let run = started["workflow_id"].as_str().expect("an id").to_owned();
    let path = format!("/workflows/{run}");
    let paused = loop {
        let shown = shop.server.rest().get(&path).await.ok();
        if shown["status"] == "paused" {
            break shown;
        }
    };
    assert_eq!(paused["await_event"], "approved");
    assert_eq!(
        (&paused["current_step"], &paused["current_step_name"]),
        (&json!(1), &json!("wait_approval"))
    );
    assert!(
        paused["expires_at"].is_string() && paused["step_expires_at"].is_string(),
        "{paused}"
    );
    let wrong = shop
        .server
        .rest()
        .post(&format!("{path}/signal/denied"), "{}")
        .await;
    let wrong = wrong.refused(400, "SIGNAL_NOT_AWAITED");
    assert_eq!(wrong["properties"]["awaited"], "approved");
    shop.server
        .rest()
        .post(&format!("{path}/signal/approved"), "[]")
        .await
        .refused(400, "BAD_REQUEST");
    shop.server.kill();
    shop.server.restart();
    let (status, signalled) = shop
        .post(&format!("{path}/signal/approved"), r#"{"by":"me"}"#)
        .await;
    assert_eq!(
        (status, signalled),
        (
            200,
            json!({"status": "signaled", "id": run, "event": "approved"})
        )
    );
    let shown = loop {
        let shown = shop.server.rest().get(&path).await.ok();
        if shown["status"] == "completed" {
            break shown;
        }
    };
    assert_eq!(shown["signal_data"], json!({"by": "me"}));
    assert_eq!(shown["step_results"]["pay"], json!({"charge_id": "c1"}));
    assert_eq!(shop.stripe.seen()[0].body, r#"{"by":"me","order":1}"#);
    assert_eq!(shop.rows(), 1);
}

#[tokio::test]
async fn a_cancelled_saga_undoes_what_it_did_before_it_is_answered() {
    let shop = Shop::open().await;
    let (_, started) = shop.post("/api/sagas/approve", r#"{"user_id":7}"#).await;
    let run = started["workflow_id"].as_str().expect("an id").to_owned();
    let path = format!("/workflows/{run}");
    while shop.server.rest().get(&path).await.ok()["status"] != "paused" {}
    assert_eq!(shop.rows(), 1);
    let (status, cancelled) = shop.post(&format!("{path}/cancel"), "").await;
    assert_eq!(
        (status, cancelled),
        (200, json!({"status": "cancelled", "id": run}))
    );
    assert_eq!(shop.rows(), 0);
    let shown = shop.server.rest().get(&path).await.ok();
    assert_eq!(
        (&shown["status"], &shown["compensated"]),
        (&json!("cancelled"), &json!(true))
    );
    shop.server
        .rest()
        .get("/workflows/wf_1")
        .await
        .refused(404, "RUN_NOT_FOUND");
}

/// The call is out when the service is killed: it is repeated under the same key.
#[tokio::test]
async fn a_call_that_was_out_at_a_crash_is_repeated_under_its_key() {
    let mut shop = Shop::open().await;
    shop.stripe.deduplicates();
    shop.stripe.on(
        "POST /charges",
        Behaviour::Json(200, json!({"charge_id": "c1"})),
    );
    shop.stripe.next("POST /charges", Behaviour::Hang);
    let connection = shop.server.connect().await;
    let start = json!({"definition": "create_order", "input": {"user_id": 7, "amount": 1, "currency": "GBP"}, "waitMs": 0});
    let started = connection.ok("RunStartRequest", start).await;
    assert_eq!(
        (&started["kind"], &started["status"]),
        (&json!("saga"), &json!("pending"))
    );
    let run = started["runId"].as_str().expect("an id").to_owned();
    shop.stripe.has_seen(1).await;
    shop.server.kill();
    shop.server.restart();
    let path = format!("/workflows/{run}");
    while shop.server.rest().get(&path).await.ok()["status"] != "completed" {}
    let seen = shop.stripe.seen();
    assert_eq!(seen.len(), 2);
    assert_eq!(seen[0].key(), seen[1].key());
    assert_eq!(shop.stripe.effects().len(), 1);
    assert_eq!(shop.rows(), 1);
}

#[tokio::test]
async fn bodies_and_names_that_make_no_sense_are_refused() {
    let shop = Shop::open().await;
    let rest = shop.server.rest();
    rest.post("/api/sagas/nothing", "{}")
        .await
        .refused(404, "RUN_DEFINITION_NOT_FOUND");
    for body in ["[]", "1", "{", "\"x\""] {
        rest.post("/api/sagas/create_order", body)
            .await
            .refused(400, "BAD_REQUEST");
    }
    let elsewhere = rest
        .post("/api/sagas/create_order?namespace=other", "{}")
        .await;
    elsewhere.refused(404, "RUN_DEFINITION_NOT_FOUND");
    // A value that is not there fails its step, and nothing was called.
    shop.notifications
        .on("POST /send", Behaviour::Json(200, json!({})));
    let (status, ended) = shop.post("/api/sagas/create_order", "{}").await;
    assert_eq!((status, &ended["status"]), (200, &json!("compensated")));
    assert_eq!(shop.rows(), 0);
}

#[tokio::test]
async fn a_step_workflow_is_not_started_as_a_saga() {
    let server = Server::start();
    let connection = server.connect().await;
    let document = "kind: Workflow\nname: steps\nversion: \"1\"\nstart:\n  waitForSignal: {type: go}\n  transitions: {success: flo.Completed}\n";
    let document = json!({"document": document});
    connection.ok("RunDefinitionCreateRequest", document).await;
    let refused = server.rest().post("/api/sagas/steps", "{}").await;
    refused.refused(404, "RUN_DEFINITION_NOT_FOUND");
    let start = |kind: &str| json!({"definition": "steps", "kind": kind});
    let failed = connection.fails("RunStartRequest", start("saga")).await;
    assert_eq!(failed, "RUN_DEFINITION_NOT_FOUND");
    let runs = connection.ok("RunsGetRequest", json!({})).await;
    assert_eq!(runs["items"], json!([]));
    connection.ok("RunStartRequest", start("flo")).await;
}

#[tokio::test]
async fn a_cancel_waits_for_the_call_that_is_out_and_undoes_it() {
    let shop = Shop::open().await;
    let charged = Behaviour::Json(200, json!({"charge_id": "c1"}));
    let slow = Behaviour::After(Duration::from_millis(500), Box::new(charged));
    shop.stripe.on("POST /charges", slow);
    shop.stripe
        .on("POST /refunds", Behaviour::Json(200, json!({})));
    let connection = shop.server.connect().await;
    let input = json!({"user_id": 7, "amount": 1, "currency": "GBP"});
    let start = json!({"definition": "create_order", "input": input, "waitMs": 0});
    let started = connection.ok("RunStartRequest", start).await;
    shop.stripe.has_seen(1).await;
    let cancel = json!({"runId": started["runId"]});
    let cancelled = connection.ok("RunCancelRequest", cancel).await;
    assert_eq!(cancelled["status"], "cancelled");
    assert_eq!(shop.stripe.seen()[1].body, r#"{"charge":"c1"}"#);
    assert_eq!((shop.rows(), shop.notifications.seen().len()), (0, 0));
}

/// `runs.md` §7, *Routes*.
#[tokio::test]
async fn a_route_starts_its_saga_with_what_its_request_says() {
    let server = Server::start();
    let outside = Outside::start().await;
    outside.on("POST /echo", Behaviour::Json(200, json!({})));
    let text = r#"
connector "api" { type = "rest" }
connector "out" {
  type     = "http"
  base_url = "URL"
}
saga "ship" {
  from {
    connector = "api"
    operation = "POST /orders/:id/ship"
    filter    = "input.priority != 'none'"
  }
  step "tell" {
    action {
      connector = "out"
      operation = "POST /echo"
      body      = { id = "input.id", same = "input.params.id", by = "input.by", kind = "input.headers.x_kind", input = "input" }
    }
  }
}
"#;
    let text = text
        .replace("URL", &outside.url())
        .replace("input.headers.x_kind", "input.headers['x-kind']")
        .replace(", input = \"input\"", "");
    let connection = server.connect().await;
    let payload = json!({"bundle": "b", "files": [{"path": "a.hcl", "text": text}]});
    let applied = connection.ok("BundleApplyRequest", payload).await;
    assert_eq!(applied["routes"], json!(["POST /orders/:id/ship"]));
    let rest = server.rest().with("x-kind", "fast");
    let path = "/orders/a%20b/ship?by=query&priority=low&id=query";
    let said = rest.post(path, r#"{"by":"body","id":1}"#).await.ok();
    assert_eq!(
        (&said["saga_name"], &said["status"]),
        (&json!("ship"), &json!("completed"))
    );
    assert_eq!(
        outside.seen()[0].json(),
        json!({"id": "a b", "same": "a b", "by": "body", "kind": "fast"})
    );
    let run = said["instance_id"].as_str().expect("an id").to_owned();
    let secret = rest
        .with("authorization", "Bearer secret")
        .with("cookie", "secret")
        .with("X-API-Key", "secret")
        .with("x-forwarded-access-token", "another secret.")
        .with("x-amzn-oidc-data", "another secret.")
        .with("x-goog-iap-jwt-assertion", "another secret.")
        .with("x-user", "Token secret");
    let with_token = format!("{path}&own=secret");
    secret.post(&with_token, "").await.ok();
    let shown = connection
        .ok("RunsGetRequest", json!({"definition": "ship"}))
        .await;
    assert_eq!(shown["items"].as_array().map(Vec::len), Some(2));
    for (kind, count) in [("saga", 2), ("flo", 0), ("manager", 0)] {
        let listed = connection.ok("RunsGetRequest", json!({"kind": kind})).await;
        assert_eq!(listed["items"].as_array().map(Vec::len), Some(count));
    }
    for item in shown["items"].as_array().expect("a list") {
        let run = connection
            .ok("RunGetRequest", json!({"runId": item["runId"]}))
            .await;
        assert!(!run.to_string().contains("secret"), "{run}");
    }
    let filtered = rest.post("/orders/1/ship?priority=none", "").await.ok();
    assert_eq!(filtered, json!({"status": "filtered"}));
    rest.post("/orders/1/ship", "{}")
        .await
        .refused(400, "BAD_REQUEST");
    for body in ["[]", "{", "1"] {
        rest.post("/orders/1/ship?priority=low", body)
            .await
            .refused(400, "BAD_REQUEST");
    }
    assert_eq!(rest.get("/orders/1/ship").await.status, 404);
    assert_eq!(rest.post("/orders/1", "{}").await.status, 404);
    let repeated = rest.with("idempotency-key", "k1");
    let first = repeated.post(path, "{}").await.ok();
    // What is stored of a start does not have its end, which is waited for again.
    assert_eq!(repeated.post(path, "{}").await.ok(), first);
    assert_ne!(first["instance_id"], run);
    connection
        .ok("BundleDeleteRequest", json!({"bundle": "b"}))
        .await;
    assert_eq!(rest.post(path, "{}").await.status, 404);
}

#[tokio::test]
async fn a_cancel_of_a_saga_that_is_being_undone_says_how_it_ended() {
    let shop = Shop::open().await;
    shop.stripe.on("POST /charges", Behaviour::Empty(402));
    let done = Behaviour::Json(200, json!({}));
    let slow = Behaviour::After(Duration::from_millis(500), Box::new(done));
    shop.notifications.on("POST /send", slow);
    let connection = shop.server.connect().await;
    let input = json!({"user_id": 7, "amount": 1, "currency": "GBP"});
    let start = json!({"definition": "create_order", "input": input, "waitMs": 0});
    let started = connection.ok("RunStartRequest", start).await;
    shop.notifications.has_seen(1).await;
    let cancel = json!({"runId": started["runId"]});
    let cancelled = connection.ok("RunCancelRequest", cancel).await;
    assert_eq!(cancelled["status"], "failed");
}
