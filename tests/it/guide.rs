//! The files of Mycel's guide as they stand, with the connectors they name: orders, loans and
//! accounts are rows of an `SQLite` file, what is paid, transferred and notified goes to HTTP
//! servers, and mails to a mail server.
//!
//! `cargo test --test it guide:: -- --nocapture` prints what each saga has changed.

use std::{path::Path, process::Stdio};

use serde_json::{Value, json};

use crate::support::{
    PATIENCE, Server, command,
    outside::{Behaviour, Identity, MailServer, Outside, Security},
};

/// The files, which are applied together.
const FILES: [(&str, &str); 7] = [
    (
        "connectors.hcl",
        include_str!("fixtures/mycel/connectors.hcl"),
    ),
    (
        "create_order.hcl",
        include_str!("fixtures/mycel/create_order.hcl"),
    ),
    (
        "loan_approval.hcl",
        include_str!("fixtures/mycel/loan_approval.hcl"),
    ),
    (
        "onboarding.hcl",
        include_str!("fixtures/mycel/onboarding.hcl"),
    ),
    (
        "order_status.hcl",
        include_str!("fixtures/mycel/order_status.hcl"),
    ),
    ("service.hcl", include_str!("fixtures/mycel/service.hcl")),
    (
        "mails/welcome.txt",
        "Subject: Welcome\n\nWelcome, account {{.user_id}}.\n",
    ),
];

const TABLES: &str = "
    CREATE TABLE orders (id INTEGER PRIMARY KEY, status TEXT, user_id INTEGER);
    CREATE TABLE inventory (product_id TEXT PRIMARY KEY, stock INTEGER, reserved INTEGER,
        CHECK (reserved <= stock));
    CREATE TABLE loans (id INTEGER PRIMARY KEY, applicant TEXT, amount REAL);
    CREATE TABLE accounts (id INTEGER PRIMARY KEY, name TEXT);
    INSERT INTO inventory VALUES ('lamp', 10, 4)";

/// A duration of the files, and the one that a test can wait for.
type Shorter = (&'static str, &'static str);

struct Shop {
    server: Server,
    stripe: Outside,
    banking: Outside,
    notifications: Outside,
    mails: MailServer,
    database: rusqlite::Connection,
    _folder: tempfile::TempDir,
}

impl Shop {
    async fn open(shorter: &[Shorter]) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("shop.db");
        let database = rusqlite::Connection::open(&path).expect("opens");
        database.execute_batch(TABLES).expect("tables");
        let identity = Identity::new();
        let user = Some(("shop", "smtp_secret_1"));
        let mails = MailServer::start(Security::None, &identity, user);
        let shop = Self {
            server: Server::on_disk(&[]),
            stripe: Outside::start().await,
            banking: Outside::start().await,
            notifications: Outside::start().await,
            mails: mails.await,
            database,
            _folder: folder,
        };
        let done = || Behaviour::Json(200, json!({}));
        let charged = Behaviour::Json(200, json!({"charge_id": "ch_1"}));
        shop.stripe.on("POST /charges", charged);
        shop.stripe.on("POST /refunds", done());
        shop.banking.on("POST /transfers", done());
        shop.notifications.on("POST /send", done());
        shop.apply(&path, shorter).await;
        shop
    }

    /// Applies the files from a shell whose environment has the secrets.
    async fn apply(&self, database: &Path, shorter: &[Shorter]) {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::create_dir(folder.path().join("mails")).expect("a folder");
        let places = [
            ("shop.db", database.display().to_string()),
            ("http://127.0.0.1:7001", self.stripe.url()),
            ("http://127.0.0.1:7003", self.banking.url()),
            ("http://127.0.0.1:7002", self.notifications.url()),
            ("2525", self.mails.port.to_string()),
        ];
        for (name, text) in FILES {
            let mut text = text.to_owned();
            if name == "connectors.hcl" {
                for (from, to) in &places {
                    assert!(text.contains(from), "{from}");
                    text = text.replace(from, to);
                }
            }
            for (from, to) in shorter {
                text = text.replace(from, to);
            }
            std::fs::write(folder.path().join(name), text).expect("writes");
        }
        let port = self.server.grpc.port().to_string();
        let mut command = command(folder.path(), &[("CYODA_GRPC_PORT", &port)]);
        command
            .args(["apply", "-f", "."])
            .env("STRIPE_KEY", "sk_test_1")
            .env("SMTP_PASSWORD", "smtp_secret_1")
            .stdin(Stdio::null());
        let applied = tokio::task::spawn_blocking(move || command.output());
        let applied = tokio::time::timeout(PATIENCE, applied).await;
        let applied = applied.expect("in time").expect("joined").expect("runs");
        let said = String::from_utf8_lossy(&applied.stdout);
        let complaints = String::from_utf8_lossy(&applied.stderr);
        assert!(applied.status.success(), "{said}{complaints}");
        for part in [
            "bundle: order-service",
            "create_order",
            "loan_approval",
            "POST /orders",
        ] {
            assert!(said.contains(part), "{part}: {said}");
        }
    }

    /// What the other systems have.
    fn books(&self) -> Value {
        let rows = |query: &str| {
            let mut statement = self.database.prepare(query).expect("a query");
            let rows = statement.query_map([], |row| row.get::<_, String>(0));
            let rows = rows.expect("rows").map(|row| row.expect("a text"));
            rows.map(|row| serde_json::from_str::<Value>(&row).expect("JSON"))
                .collect::<Vec<_>>()
        };
        let effects = |server: &Outside, line: &str| {
            let effects = server.effects().into_iter();
            let bodies = effects.filter(|(of, _)| of == line).map(|(_, body)| body);
            bodies
                .map(|body| serde_json::from_str::<Value>(&body).unwrap_or(Value::Null))
                .collect::<Vec<_>>()
        };
        json!({
            "orders": rows("SELECT json_object('status', status, 'user_id', user_id) FROM orders"),
            "reserved": rows("SELECT json(reserved) FROM inventory"),
            "loans": rows("SELECT json_object('applicant', applicant) FROM loans"),
            "charges": effects(&self.stripe, "POST /charges"),
            "refunds": effects(&self.stripe, "POST /refunds"),
            "transfers": effects(&self.banking, "POST /transfers"),
            "notifications": effects(&self.notifications, "POST /send"),
        })
    }

    async fn post(&self, path: &str, body: &Value) -> (u16, Value) {
        let said = self.server.rest().post(path, body.to_string()).await;
        (said.status.as_u16(), said.json())
    }

    /// Starts a saga that waits; the path of its run.
    async fn begin(&self, path: &str, body: &Value) -> String {
        let (status, begun) = self.post(path, body).await;
        assert_eq!(
            (status, &begun["status"]),
            (202, &json!("running")),
            "{begun}"
        );
        assert!(begun["started_at"].is_string(), "{begun}");
        format!(
            "/workflows/{}",
            begun["workflow_id"].as_str().expect("an id")
        )
    }

    /// The run, once it has that status.
    async fn reached(&self, path: &str, status: &str) -> Value {
        let rest = self.server.rest();
        let reached = async {
            loop {
                let shown = rest.get(path).await.ok();
                if shown["status"] == status {
                    return shown;
                }
            }
        };
        let reached = tokio::time::timeout(PATIENCE, reached).await;
        reached.unwrap_or_else(|_| panic!("{path} is not {status}"))
    }
}

/// What has changed between two states of the other systems, as `[before, after]`.
#[expect(clippy::print_stdout, reason = "what a saga changes can be looked at")]
fn changes(what: &str, before: &Value, after: &Value) -> Value {
    let mut changed = serde_json::Map::new();
    println!("{what}");
    for (name, after) in after.as_object().expect("an object") {
        println!("  {name:<14} {} -> {after}", before[name]);
        if before[name] != *after {
            changed.insert(name.clone(), json!([before[name], after]));
        }
    }
    changed.into()
}

fn order(quantity: u32) -> Value {
    json!({"user_id": 7, "amount": 99.99, "currency": "GBP", "product_id": "lamp", "quantity": quantity})
}

#[tokio::test]
async fn an_order_is_charged_reserved_and_confirmed() {
    let shop = Shop::open(&[]).await;
    let before = shop.books();
    let (status, ended) = shop.post("/orders", &order(2)).await;
    assert_eq!(
        (status, &ended["status"]),
        (200, &json!("completed")),
        "{ended}"
    );
    assert_eq!(ended["steps"]["payment"], json!({"charge_id": "ch_1"}));
    assert_eq!(
        changes("create_order, completed", &before, &shop.books()),
        json!({
            "orders": [[], [{"status": "confirmed", "user_id": 7}]],
            "reserved": [[4], [6]],
            "charges": [[], [{"amount": 99.99, "currency": "GBP"}]],
        })
    );
    let charge = shop.stripe.seen().remove(0);
    assert_eq!(charge.headers["authorization"], "Bearer sk_test_1");
    assert_eq!(charge.headers["x-shop"], "one");
}

#[tokio::test]
async fn an_order_whose_payment_is_refused_leaves_nothing_but_a_notification() {
    let shop = Shop::open(&[]).await;
    let declined = Behaviour::Json(402, json!({"error": "card_declined"}));
    shop.stripe.on("POST /charges", declined);
    let before = shop.books();
    let (status, ended) = shop.post("/orders", &order(2)).await;
    assert_eq!(
        (status, &ended["status"]),
        (200, &json!("compensated")),
        "{ended}"
    );
    let reason = r#"step "payment" failed: POST /charges answered 402"#;
    assert_eq!(ended["error"], reason);
    let notified = json!({"template": "order_failed", "user_id": 7, "reason": reason});
    assert_eq!(
        changes("create_order, failed at payment", &before, &shop.books()),
        json!({"notifications": [[], [notified]]})
    );
    assert_eq!(shop.stripe.seen().len(), 1, "nothing is refunded");
}

#[tokio::test]
async fn an_order_that_cannot_be_reserved_is_refunded() {
    let shop = Shop::open(&[]).await;
    let before = shop.books();
    let (status, ended) = shop.post("/orders", &order(7)).await;
    assert_eq!(
        (status, &ended["status"]),
        (200, &json!("compensated")),
        "{ended}"
    );
    let reason = ended["error"].as_str().expect("a reason");
    assert!(
        reason.starts_with(r#"step "inventory" failed: "#),
        "{reason}"
    );
    let notified = json!({"template": "order_failed", "user_id": 7, "reason": reason});
    assert_eq!(
        changes("create_order, failed at inventory", &before, &shop.books()),
        json!({
            "charges": [[], [{"amount": 99.99, "currency": "GBP"}]],
            "refunds": [[], [{"charge": "ch_1"}]],
            "notifications": [[], [notified]],
        })
    );
}

#[tokio::test]
async fn a_loan_is_disbursed_once_it_is_approved() {
    let shop = Shop::open(&[]).await;
    let before = shop.books();
    let path = shop
        .begin("/loans", &json!({"applicant": "Ada", "amount": 5000}))
        .await;
    let paused = shop.reached(&path, "paused").await;
    assert_eq!(paused["await_event"], "loan_approved");
    assert_eq!(shop.books()["transfers"], json!([]));
    let signal = format!("{path}/signal/loan_approved");
    let (status, signaled) = shop.post(&signal, &json!({"by": "Bo"})).await;
    assert_eq!(
        (status, &signaled["status"]),
        (200, &json!("signaled")),
        "{signaled}"
    );
    let ended = shop.reached(&path, "completed").await;
    assert_eq!(ended["signal_data"], json!({"by": "Bo"}));
    assert_eq!(
        changes("loan_approval, approved", &before, &shop.books()),
        json!({"loans": [[], [{"applicant": "Ada"}]], "transfers": [[], [null]]})
    );
}

#[tokio::test]
async fn a_loan_that_nobody_approves_in_time_is_rejected() {
    let shop = Shop::open(&[("48h", "1s")]).await;
    let before = shop.books();
    let path = shop
        .begin("/loans", &json!({"applicant": "Ada", "amount": 5000}))
        .await;
    let ended = shop.reached(&path, "timeout").await;
    assert_eq!(ended["error"], "await step timeout (event: loan_approved)");
    assert_eq!(
        changes("loan_approval, timed out", &before, &shop.books()),
        json!({
            "loans": [[], [{"applicant": "Ada"}]],
            "notifications": [[], [{"template": "loan_rejected"}]],
        })
    );
    let late = shop.server.rest();
    let late = late
        .post(&format!("{path}/signal/loan_approved"), "{}")
        .await;
    late.refused(400, "RUN_FINISHED");
}

#[tokio::test]
async fn an_account_is_welcomed_after_its_delay_although_the_service_was_killed() {
    let mut shop = Shop::open(&[("24h", "2s")]).await;
    let path = shop.begin("/onboard", &json!({"name": "Ada"})).await;
    let paused = shop.reached(&path, "paused").await;
    let due = paused["resume_at"].as_str().expect("a time").to_owned();
    assert!(shop.mails.mails().is_empty());
    shop.server.kill();
    shop.server.restart();
    let ended = shop.reached(&path, "completed").await;
    assert!(ended["updated_at"].as_str() >= Some(&due), "{due}: {ended}");
    let mails = shop.mails.mails();
    assert_eq!(mails.len(), 1);
    assert_eq!(mails[0].to, ["desk@example.com"]);
    assert_eq!(mails[0].header("Subject"), Some("Welcome"));
    assert!(
        mails[0].text.contains("Welcome, account 1."),
        "{}",
        mails[0].text
    );
    let count = "SELECT count(*) FROM accounts";
    let count = shop
        .database
        .query_row(count, [], |row| row.get::<_, i64>(0));
    assert_eq!(count.expect("a count"), 1);
}
