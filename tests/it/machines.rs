//! Events of state machines, for rows of tables (`orchestration.md` 2.6, `runs.md` §7).

use std::{collections::BTreeSet, fs, process::Command, time::Duration};

use serde_json::{Value, json};

use crate::support::{
    Connection, PATIENCE, Server, code,
    mariadb::Mariadb,
    outside::{Behaviour, Outside},
    payload_of,
    postgres::Postgres,
    request, token,
};

/// The machine and the flow of the guide, as they stand.
pub(crate) const ORDER_STATUS: &str = include_str!("fixtures/mycel/order_status.hcl");

/// Machines with every kind of action and guard.
const MACHINES: &str = r#"
state_machine "application" {
  initial = "open"
  state "open" {
    on "approve" {
      transition_to = "approved"
      guard         = "input.score >= 50"
    }
    on "odd" {
      transition_to = "approved"
      guard         = "input.score"
    }
    on "note" {
      transition_to = "open"
      action {
        connector = "db"
        operation = "INSERT"
        target    = "notes"
        data      = { text = "input.text" }
      }
    }
    on "break" {
      transition_to = "approved"
      action {
        connector = "db"
        operation = "INSERT"
        target    = "notes"
        data      = { no_such_column = 1 }
      }
    }
    on "pay" {
      transition_to = "paid"
      action {
        connector = "notifications"
        operation = "POST /send"
        body      = { amount = "input.amount" }
      }
    }
    on "hand" {
      transition_to = "paid"
      action {
        connector = "printer"
        operation = "print"
        data      = { page = "input.page" }
      }
    }
  }
  state "approved" {}
  state "paid" { final = true }
}
"#;

fn connectors(notifications: &str, database: &str) -> String {
    format!(
        "connector \"api\" {{\n type = \"rest\"\n}}\n\
         connector \"notifications\" {{\n type = \"http\"\n base_url = \"{notifications}\"\n timeout = \"2s\"\n}}\n\
         connector \"db\" {{\n type = \"database\"\n {database}\n}}\n"
    )
}

/// A server with both files, and a system that takes notifications.
pub(crate) struct Shop {
    pub(crate) server: Server,
    pub(crate) notifications: Outside,
}

impl Shop {
    /// The database is as its attributes say.
    pub(crate) async fn open(database: &str) -> Self {
        let (server, notifications) = (Server::on_disk(&[]), Outside::start().await);
        notifications.on("POST /send", Behaviour::Json(200, json!({"sent": true})));
        let shop = Self {
            server,
            notifications,
        };
        let applied = shop.apply(database, &[MACHINES, ORDER_STATUS]).await;
        assert_eq!(applied["machines"], json!(["application", "order_status"]));
        shop
    }

    pub(crate) async fn apply(&self, database: &str, texts: &[&str]) -> Value {
        let own = connectors(&self.notifications.url(), database);
        let texts = texts.iter().copied().chain([own.as_str()]);
        let files = texts
            .enumerate()
            .map(|(at, text)| json!({"path": format!("{at}.hcl"), "text": text}));
        let payload = json!({"bundle": "shop", "files": files.collect::<Vec<_>>()});
        self.connection()
            .await
            .ok("BundleApplyRequest", payload)
            .await
    }

    pub(crate) async fn connection(&self) -> Connection {
        self.server.connect().await
    }

    /// Sends an event to a row of `orders` through the route of the guide.
    pub(crate) async fn post(&self, id: &str, body: Value) -> (u16, Value) {
        let path = format!("/orders/{id}/events");
        let said = self.server.rest().post(&path, body.to_string()).await;
        (said.status.as_u16(), said.json())
    }

    /// Fires an event of the other machine; its answer or its error.
    async fn fire(&self, id: Value, event: &str, data: Value) -> Value {
        let payload = json!({"machine": "application", "entity": "orders", "entityId": id,
            "event": event, "data": data, "connector": "db"});
        self.connection()
            .await
            .call("MachineTransitionRequest", payload)
            .await
    }
}

/// A file, its connection, and what a connector says of it.
struct File {
    folder: tempfile::TempDir,
    database: rusqlite::Connection,
}

impl File {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let database = rusqlite::Connection::open(folder.path().join("shop.db")).expect("opens");
        database.execute_batch(TABLES).expect("tables");
        Self { folder, database }
    }

    fn attributes(&self) -> String {
        let path = self.folder.path().join("shop.db");
        format!("driver = \"sqlite\"\n database = \"{}\"", path.display())
    }

    fn text(&self, query: &str) -> Option<String> {
        let row = self.database.query_row(query, [], |row| row.get(0));
        row.expect("a row")
    }

    fn status(&self, id: i64) -> Option<String> {
        self.text(&format!("SELECT status FROM orders WHERE id = {id}"))
    }
}

const TABLES: &str = "CREATE TABLE orders (id INTEGER PRIMARY KEY, status TEXT);
    CREATE TABLE notes (id INTEGER PRIMARY KEY, text TEXT);
    INSERT INTO orders (id, status) VALUES (1, 'pending'), (2, NULL), (3, ''), (4, 'lost'), (5, 'open'), (6, 'open');";

/// The events of the guide until `delivered`, and once more.
pub(crate) async fn deliver(shop: &Shop, id: &str) {
    for (event, data, from, to) in [
        ("pay", None, "pending", "paid"),
        ("ship", Some("T1"), "paid", "shipped"),
        ("deliver", None, "shipped", "delivered"),
    ] {
        let mut body = json!({"event": event});
        if let Some(number) = data {
            body["data"] = json!({"tracking_number": number});
        }
        let mut expected = json!({"entity_id": id, "machine": "order_status",
            "previous_state": from, "current_state": to, "event": event});
        if event == "ship" {
            expected["action_result"] = json!({"sent": true});
        }
        let body = shop.post(id, body).await;
        assert_eq!(body, (200, expected), "{event}");
    }
    let (status, problem) = shop.post(id, json!({"event": "deliver"})).await;
    assert_eq!(status, 409, "{problem}");
    let properties = &problem["properties"];
    assert_eq!(
        (&properties["errorCode"], &properties["state"]),
        (&json!("FINAL_STATE"), &json!("delivered"))
    );
    let seen = shop.notifications.seen();
    assert_eq!(seen.len(), 1, "{seen:?}");
    assert_eq!(
        seen[0].json(),
        json!({"tracking": "T1", "template": "order_shipped"})
    );
    assert!(seen[0].key().starts_with("event:"), "{seen:?}");
}

#[tokio::test]
async fn the_guides_order_is_delivered_in_a_table_of_sqlite() {
    let file = File::new();
    let shop = Shop::open(&file.attributes()).await;
    deliver(&shop, "1").await;
    assert_eq!(file.status(1).as_deref(), Some("delivered"));
}

#[tokio::test]
async fn the_guides_order_is_delivered_in_a_table_of_postgresql() {
    let server = Postgres::start();
    server.execute("CREATE TABLE orders (id bigint PRIMARY KEY, status text)");
    server.execute("INSERT INTO orders VALUES (1, 'pending'), (2, NULL)");
    let attributes = format!(
        "driver = \"postgres\"\n host = \"127.0.0.1\"\n port = {}\n database = \"postgres\"\n user = \"postgres\"\n password = \"not asked for\"",
        server.port
    );
    let shop = Shop::open(&attributes).await;
    deliver(&shop, "1").await;
    let status = "SELECT status FROM orders WHERE id = 1";
    assert_eq!(server.execute(status), "delivered");
    let (status, moved) = shop.post("2", json!({"event": "cancel"})).await;
    assert_eq!((status, &moved["previous_state"]), (200, &json!("pending")));
    // An id that cannot be one of its column.
    let (status, problem) = shop.post("x", json!({"event": "pay"})).await;
    assert_eq!(status, 404, "{problem}");
    assert_eq!(problem["properties"]["errorCode"], "ENTITY_NOT_FOUND");
    let (status, problem) = shop
        .post("99999999999999999999", json!({"event": "pay"}))
        .await;
    assert_eq!(status, 404, "{problem}");
}

#[tokio::test]
async fn the_guides_order_is_delivered_in_a_table_of_mariadb() {
    let Some(server) = Mariadb::start() else {
        return;
    };
    server.execute("CREATE TABLE shop.orders (id bigint PRIMARY KEY, status text)");
    server.execute("INSERT INTO shop.orders VALUES (1, 'pending')");
    let attributes = format!(
        "driver = \"mysql\"\n host = \"127.0.0.1\"\n port = {}\n database = \"shop\"\n user = \"shop\"\n password = \"hidden\"",
        server.port
    );
    let shop = Shop::open(&attributes).await;
    deliver(&shop, "1").await;
}

#[tokio::test]
async fn a_row_without_a_status_is_in_the_initial_state() {
    let file = File::new();
    let shop = Shop::open(&file.attributes()).await;
    for id in ["2", "3"] {
        let (status, moved) = shop.post(id, json!({"event": "pay"})).await;
        assert_eq!(status, 200, "{moved}");
        assert_eq!(moved["previous_state"], "pending");
    }
    assert_eq!(file.status(2).as_deref(), Some("paid"));
    assert_eq!(file.status(3).as_deref(), Some("paid"));
}

#[tokio::test]
async fn each_refusal_has_its_code_and_changes_nothing() {
    let file = File::new();
    let shop = Shop::open(&file.attributes()).await;
    let connection = shop.connection().await;
    let event = |id: &str, event: &str| json!({"machine": "order_status", "entity": "orders", "entityId": id, "event": event});
    let with = |name: &str, value: Value| {
        let mut payload = event("1", "pay");
        payload[name] = value;
        payload
    };
    for (payload, expected) in [
        (with("machine", json!("none")), "MACHINE_NOT_FOUND"),
        (with("namespace", json!("other")), "MACHINE_NOT_FOUND"),
        (event("99", "pay"), "ENTITY_NOT_FOUND"),
        (event("1 OR 1=1", "pay"), "ENTITY_NOT_FOUND"),
        (event("'; DROP TABLE orders; --", "pay"), "ENTITY_NOT_FOUND"),
        (event("1", "ship"), "TRANSITION_NOT_FOUND"),
        (
            event("1", "'; DROP TABLE orders; --"),
            "TRANSITION_NOT_FOUND",
        ),
        (event("4", "pay"), "WORKFLOW_FAILED"),
        (with("entity", json!("nothing")), "WORKFLOW_FAILED"),
        (
            with("entity", json!("orders; DROP TABLE orders")),
            "WORKFLOW_FAILED",
        ),
        (
            with("entity", json!("orders` WHERE 1=1 --")),
            "WORKFLOW_FAILED",
        ),
        (with("data", json!([])), "BAD_REQUEST"),
        (with("data", json!("x")), "BAD_REQUEST"),
        (with("entityId", json!({"a": 1})), "BAD_REQUEST"),
        (with("entityId", json!(true)), "BAD_REQUEST"),
        (with("connector", json!("api")), "MODEL_NOT_FOUND"),
    ] {
        let found = connection
            .fails("MachineTransitionRequest", payload.clone())
            .await;
        assert_eq!(found, expected, "{payload}");
    }
    let answer = connection
        .call("MachineTransitionRequest", event("1", "ship"))
        .await;
    let properties = &answer["error"]["properties"];
    assert_eq!(
        properties["validEvents"],
        json!(["pay", "cancel"]),
        "{answer}"
    );
    assert_eq!(file.status(1).as_deref(), Some("pending"));
    assert!(shop.notifications.seen().is_empty());
    // Without `entityId`, `id` names the row; a number names it, too.
    let payload = json!({"id": "1", "machine": "order_status", "entity": "orders", "event": "pay"});
    let moved = connection.ok("MachineTransitionRequest", payload).await;
    assert_eq!(
        (
            &moved["entityId"],
            &moved["machine"],
            &moved["previousState"],
            &moved["currentState"],
            &moved["event"]
        ),
        (
            &json!("1"),
            &json!("order_status"),
            &json!("pending"),
            &json!("paid"),
            &json!("pay")
        )
    );
    let refund = with("event", json!("refund"));
    let mut refund = refund;
    refund["entityId"] = json!(1);
    let moved = connection.ok("MachineTransitionRequest", refund).await;
    assert_eq!(moved["currentState"], "refunded");
}

#[tokio::test]
async fn a_guard_reads_the_data_and_nothing_moves_unless_it_holds() {
    let file = File::new();
    let shop = Shop::open(&file.attributes()).await;
    for (event, data, expected) in [
        ("approve", json!({"score": 40}), "GUARD_REJECTED"),
        ("approve", json!({}), "GUARD_ERROR"),
        ("approve", json!({"score": "much"}), "GUARD_ERROR"),
        ("odd", json!({"score": 60}), "GUARD_ERROR"),
    ] {
        let answer = shop.fire(json!(5), event, data).await;
        assert_eq!(code(&answer), expected, "{answer}");
        assert_eq!(file.status(5).as_deref(), Some("open"));
    }
    let moved = shop.fire(json!(5), "approve", json!({"score": 60})).await;
    assert_eq!(
        (&moved["previousState"], &moved["currentState"]),
        (&json!("open"), &json!("approved")),
        "{moved}"
    );
    // A state without events that is not final.
    let answer = shop.fire(json!(5), "approve", json!({"score": 60})).await;
    assert_eq!(code(&answer), "TRANSITION_NOT_FOUND");
    assert_eq!(answer["error"]["properties"]["validEvents"], json!([]));
}

#[tokio::test]
async fn an_action_of_the_same_database_is_part_of_the_transaction() {
    let file = File::new();
    let shop = Shop::open(&file.attributes()).await;
    let text = "'); DROP TABLE orders; --";
    let moved = shop.fire(json!(5), "note", json!({"text": text})).await;
    assert_eq!(moved["currentState"], "open", "{moved}");
    assert_eq!(moved["actionResult"]["text"], text);
    assert_eq!(file.text("SELECT text FROM notes").as_deref(), Some(text));
    let answer = shop.fire(json!(5), "break", json!({})).await;
    assert_eq!(code(&answer), "WORKFLOW_FAILED", "{answer}");
    let count = "SELECT CAST(count(*) AS TEXT) FROM notes";
    assert_eq!(file.text(count).as_deref(), Some("1"));
    assert_eq!(file.status(5).as_deref(), Some("open"));
}

#[tokio::test]
async fn an_action_that_fails_leaves_the_row_as_it_was() {
    let file = File::new();
    let shop = Shop::open(&file.attributes()).await;
    shop.notifications
        .next("POST /send", Behaviour::Json(402, json!({"error": "no"})))
        .next("POST /send", Behaviour::Hang);
    for (expected, part) in [
        ("WORKFLOW_FAILED", "POST /send answered 402"),
        ("CONNECTOR_UNAVAILABLE", "no answer"),
        ("WORKFLOW_FAILED", "amount"),
    ] {
        let data = if part == "amount" {
            json!({})
        } else {
            json!({"amount": 7})
        };
        let answer = shop.fire(json!(5), "pay", data).await;
        assert_eq!(code(&answer), expected, "{answer}");
        let message = answer["error"]["message"].as_str().expect("a message");
        assert!(message.contains(part), "{answer}");
        assert_eq!(file.status(5).as_deref(), Some("open"));
    }
    let moved = shop.fire(json!(5), "pay", json!({"amount": 99.90})).await;
    assert_eq!(moved["actionResult"], json!({"sent": true}), "{moved}");
    assert_eq!(file.status(5).as_deref(), Some("paid"));
    let seen = shop.notifications.seen();
    let keys: BTreeSet<_> = seen.iter().map(|seen| seen.key().to_owned()).collect();
    assert_eq!(keys.len(), 3, "each event has a key of its own: {keys:?}");
}

#[tokio::test]
async fn a_database_that_cannot_be_reached_is_a_connector_that_is_unavailable() {
    let shop = Shop::open("driver = \"postgres\"\n host = \"127.0.0.1\"\n port = 1\n database = \"d\"\n user = \"u\"\n password = \"p\"").await;
    let answer = shop.fire(json!(1), "pay", json!({})).await;
    assert_eq!(code(&answer), "CONNECTOR_UNAVAILABLE", "{answer}");
    assert_eq!(answer["error"]["retryable"], true, "{answer}");
}

/// Of two events at the same time, the second sees what the first has left.
#[tokio::test]
async fn two_events_for_one_row_happen_one_after_the_other() {
    let file = File::new();
    let shop = Shop::open(&file.attributes()).await;
    let slow = Behaviour::Json(200, json!({"sent": true}));
    let slow = Behaviour::After(Duration::from_millis(200), Box::new(slow));
    shop.notifications.on("POST /send", slow);
    let send = || shop.fire(json!(6), "pay", json!({"amount": 1}));
    let (one, two, three) = tokio::join!(send(), send(), send());
    let mut ended: Vec<_> = [one, two, three]
        .iter()
        .map(|answer| match answer["currentState"].as_str() {
            Some(state) => state.to_owned(),
            None => code(answer),
        })
        .collect();
    ended.sort();
    assert_eq!(ended, ["FINAL_STATE", "FINAL_STATE", "paid"]);
    assert_eq!(shop.notifications.seen().len(), 1);
}

#[tokio::test]
async fn an_event_is_repeated_by_its_key_and_takes_no_transaction_token() {
    let file = File::new();
    let shop = Shop::open(&file.attributes()).await;
    let rest = shop.server.rest().with("idempotency-key", "once");
    let path = "/api/machines/order_status/orders/1/pay";
    let first = rest.post(path, "{}").await.ok();
    assert_eq!(first["currentState"], "paid");
    assert_eq!(rest.post(path, "{}").await.ok(), first);
    let path = "/api/machines/order_status/orders/2/pay";
    rest.post(path, "{}")
        .await
        .refused(409, "IDEMPOTENCY_CONFLICT");
    // The same where `id` names the row.
    let connection = shop.connection().await;
    let by_id = |id: &str| {
        let payload = json!({"machine": "order_status", "entity": "orders", "event": "pay"});
        request("MachineTransitionRequest", id, payload)
    };
    for (id, expected) in [("2", "paid"), ("2", "paid"), ("3", "IDEMPOTENCY_CONFLICT")] {
        let event = by_id(id).with(
            "idempotencykey",
            interlock::event::AttributeValue::String("twice".into()),
        );
        let answers = connection.unary("entityManage", event, &[]).await;
        let answer = payload_of(&answers.expect("an answer"));
        let found = match answer["currentState"].as_str() {
            Some(state) => state.to_owned(),
            None => code(&answer),
        };
        assert_eq!(found, expected, "{id}");
    }
    let rest = shop.server.rest().with("x-tx-token", "t");
    let said = rest
        .post("/api/machines/order_status/orders/3/pay", "")
        .await;
    assert!(said.status.is_client_error(), "{said:?}");
}

#[tokio::test]
async fn rest_takes_the_data_as_the_body_and_the_rest_from_the_path() {
    let file = File::new();
    let shop = Shop::open(&file.attributes()).await;
    let rest = shop.server.rest();
    let path = "/api/machines/application/orders/5/approve?connector=db";
    for body in ["[1]", "7", "{", "nothing"] {
        rest.post(path, body).await.refused(400, "BAD_REQUEST");
    }
    let problem = rest.post(path, "{\"score\":1}").await;
    problem.refused(400, "GUARD_REJECTED");
    let moved = rest.post(path, "{\"score\":50}").await.ok();
    assert_eq!(
        moved,
        json!({"entityId": "5", "machine": "application", "previousState": "open",
            "currentState": "approved", "event": "approve"})
    );
    let path = "/api/machines/none/orders/5/approve";
    rest.post(path, "").await.refused(404, "MACHINE_NOT_FOUND");
}

#[tokio::test]
async fn a_route_reads_entity_id_and_event_from_the_request() {
    let file = File::new();
    let shop = Shop::open(&file.attributes()).await;
    for (body, expected) in [
        (json!({}), "BAD_REQUEST"),
        (json!({"event": 7}), "BAD_REQUEST"),
        (json!({"event": "fly"}), "TRANSITION_NOT_FOUND"),
        (json!([]), "BAD_REQUEST"),
    ] {
        let (_, problem) = shop.post("1", body.clone()).await;
        assert_eq!(problem["properties"]["errorCode"], expected, "{body}");
    }
    let (_, paid) = shop.post("1", json!({"event": "pay"})).await;
    assert_eq!(paid["current_state"], "paid", "{paid}");
    // Without usable data, guards and actions read the whole input.
    let body = json!({"event": "ship", "tracking_number": "T9", "data": 7});
    let (status, shipped) = shop.post("1", body).await;
    assert_eq!(
        (status, &shipped["current_state"]),
        (200, &json!("shipped")),
        "{shipped}"
    );
}

#[tokio::test]
async fn another_tenants_machines_and_routes_do_not_exist() {
    let folder = tempfile::tempdir().expect("a folder");
    fs::create_dir(folder.path().join("one")).expect("a folder");
    let database = rusqlite::Connection::open(folder.path().join("one/shop.db")).expect("opens");
    database.execute_batch(TABLES).expect("tables");
    let path = folder.path().to_str().expect("UTF-8");
    let mut settings = token::TAKES_TOKENS.to_vec();
    settings.push(("INTERLOCK_CONNECTORS_PRIVATE_NETWORKS", "true"));
    settings.push(("INTERLOCK_CONNECTORS_SQLITE_DIR", path));
    let server = Server::with(&settings);
    let rest_of = |tenant: &str, roles: &[&str]| {
        let bearer = token::bearer(tenant, roles);
        server.rest().with("authorization", &bearer)
    };
    let own = connectors(
        "http://127.0.0.1:1",
        "driver = \"sqlite\"\n database = \"shop.db\"",
    );
    let files = json!([{"path": "a.hcl", "text": ORDER_STATUS}, {"path": "b.hcl", "text": own}]);
    let administrator = rest_of("one", &["ROLE_ADMIN"]);
    let body = json!({"files": files}).to_string();
    administrator.put("/api/bundles/shop", body).await.ok();
    let (path, event) = (
        "/api/machines/order_status/orders/1/pay",
        r#"{"event":"cancel"}"#,
    );
    let theirs = rest_of("two", &["ROLE_ADMIN"]);
    theirs
        .post(path, "")
        .await
        .refused(404, "MACHINE_NOT_FOUND");
    let said = theirs.post("/orders/1/events", event).await;
    assert_eq!(
        (said.status.as_u16(), &*said.text),
        (404, "404 page not found\n")
    );
    let machines = theirs.get("/api/machines").await.ok();
    assert_eq!(machines["items"], json!([]));
    // Any caller of the tenant may fire events.
    let moved = rest_of("one", &["ROLE_USER"]).post(path, "").await.ok();
    assert_eq!(moved["currentState"], "paid");
}

/// Runs a command beside a server.
async fn interlock(server: &Server, line: &[&str]) -> (Option<i32>, String, String) {
    let folder = tempfile::tempdir().expect("a folder");
    let mut command = Command::new(env!("CARGO_BIN_EXE_interlock"));
    command
        .arg("machine")
        .args(line)
        .current_dir(folder.path())
        .env_clear()
        .env("HOME", folder.path())
        .env("CYODA_GRPC_PORT", server.grpc.port().to_string());
    let output = tokio::task::spawn_blocking(move || command.output());
    let output = tokio::time::timeout(PATIENCE, output).await;
    let output = output
        .expect("it ends")
        .expect("it is joined")
        .expect("it starts");
    let text = |bytes| String::from_utf8(bytes).expect("text");
    (
        output.status.code(),
        text(output.stdout),
        text(output.stderr),
    )
}

#[tokio::test]
async fn the_command_lists_machines_and_fires_their_events() {
    let file = File::new();
    let shop = Shop::open(&file.attributes()).await;
    let (code, listed, refused) = interlock(&shop.server, &["list"]).await;
    assert_eq!(code, Some(0), "{refused}");
    for part in ["MACHINE", "order_status", "shop", "pending, paid, shipped"] {
        assert!(listed.contains(part), "{part}: {listed}");
    }
    let paid = ["fire", "order_status", "orders", "1", "pay"];
    let (code, fired, refused) = interlock(&shop.server, &paid).await;
    assert_eq!(
        (code, &*fired),
        (Some(0), "1: pending -> paid\n"),
        "{refused}"
    );
    let data = r#"{"tracking_number":"T1"}"#;
    let sent = [
        "fire",
        "order_status",
        "orders",
        "1",
        "ship",
        data,
        "--format",
        "json",
    ];
    let (code, fired, _) = interlock(&shop.server, &sent).await;
    assert_eq!(code, Some(0), "{fired}");
    let fired: Value = serde_json::from_str(&fired).expect("JSON");
    assert_eq!(fired["actionResult"], json!({"sent": true}));
    let (code, _, refused) = interlock(&shop.server, &sent).await;
    assert_eq!(code, Some(1));
    assert!(refused.contains("TRANSITION_NOT_FOUND"), "{refused}");
    let odd = ["fire", "order_status", "orders", "1", "deliver", "{"];
    let (code, _, refused) = interlock(&shop.server, &odd).await;
    assert_eq!(code, Some(2), "{refused}");
    assert!(refused.contains("not JSON"), "{refused}");
}
