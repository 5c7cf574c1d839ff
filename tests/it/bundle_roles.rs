//! What callers without `ROLE_ADMIN` cannot do with what administrators declare in bundles.

use std::fs;

use serde_json::json;

use crate::support::{Rest, Server, token};

const BUNDLE: &str = r#"
connector "api" { type = "rest" }
connector "db" {
  type     = "database"
  driver   = "sqlite"
  database = "shop.db"
}
connector "other" {
  type     = "database"
  driver   = "sqlite"
  database = "other.db"
}
state_machine "order" {
  initial = "open"
  state "open" {
    on "pay" { transition_to = "paid" }
  }
  state "paid" { final = true }
}
state_machine "free" {
  initial = "open"
  state "open" {
    on "pay" { transition_to = "paid" }
  }
  state "paid" { final = true }
}
flow "pay_order" {
  from {
    connector = "api"
    operation = "POST /orders/:id/pay"
  }
  state_transition {
    machine = "order"
    entity  = "orders"
    id      = "input.params.id"
    event   = "pay"
  }
  to { connector = "db" }
}
saga "greet" {
  step "wait" { await = "go" }
}
"#;

const TABLES: &str = "CREATE TABLE orders (id INTEGER PRIMARY KEY, status TEXT);
    CREATE TABLE accounts (id INTEGER PRIMARY KEY, status TEXT);
    INSERT INTO orders VALUES (1, 'open'), (2, 'open');
    INSERT INTO accounts VALUES (1, 'open'), (2, 'open');";

#[tokio::test]
async fn only_administrators_fire_for_other_tables_and_turn_sagas_off() {
    let folder = tempfile::tempdir().expect("a folder");
    fs::create_dir(folder.path().join("one")).expect("a folder");
    for name in ["shop", "other"] {
        let path = folder.path().join(format!("one/{name}.db"));
        let database = rusqlite::Connection::open(path).expect("opens");
        database.execute_batch(TABLES).expect("tables");
    }
    let path = folder.path().to_str().expect("UTF-8");
    let mut settings = token::TAKES_TOKENS.to_vec();
    settings.push(("INTERLOCK_CONNECTORS_SQLITE_DIR", path));
    let server = Server::with(&settings);
    let rest_of = |role: &str| {
        let bearer = token::bearer("one", &[role]);
        server.rest().with("authorization", &bearer)
    };
    let (administrator, user) = (rest_of("ROLE_ADMIN"), rest_of("ROLE_USER"));
    let files = json!({"files": [{"path": "a.hcl", "text": BUNDLE}]}).to_string();
    administrator.put("/api/bundles/shop", files).await.ok();
    let own = "/api/machines/order/accounts/1/pay";
    for path in [
        own,
        "/api/machines/order/accounts/1/pay?connector=db",
        "/api/machines/order/orders/1/pay?connector=other",
        "/api/machines/order/ORDERS/1/pay",
    ] {
        user.post(path, "").await.refused(403, "FORBIDDEN");
    }
    administrator.post(own, "").await.ok();
    // What a flow names, and a machine that has none, are for everybody.
    for path in [
        "/api/machines/order/orders/1/pay",
        "/orders/2/pay",
        "/api/machines/free/accounts/2/pay?connector=db",
    ] {
        user.post(path, "").await.ok();
    }
    let disable = "/api/definitions/greet/disable";
    user.put(disable, "").await.refused(403, "FORBIDDEN");
    let started = user.post("/api/sagas/greet", "{}").await;
    assert_eq!(started.status.as_u16(), 202, "{}", started.text);
    let keyed = |rest: &Rest| rest.with("idempotency-key", "k");
    keyed(&administrator).put(disable, "").await.ok();
    keyed(&administrator).put(disable, "").await.ok();
    // A repeat is not the way around a role.
    let repeated = keyed(&user).put(disable, "").await;
    assert!(repeated.status.is_client_error(), "{}", repeated.text);
    user.post("/api/sagas/greet", "{}")
        .await
        .refused(409, "RUN_DEFINITION_DISABLED");
}
