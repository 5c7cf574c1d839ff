//! Bundles: HCL files applied, listed and deleted, through every API and the command line
//! (`runs.md` §7).

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use serde_json::{Value, json};

use crate::support::{Connection, Server, code, command, outside::Identity, token, wait::until};

const SHOP: &str = r#"connector "api" { type = "rest" }
connector "orders" {
  type     = "database"
  driver   = "sqlite"
  database = "shop.db"
}
connector "stripe" {
  type     = "http"
  base_url = "http://127.0.0.1:1"
  auth {
    type  = "bearer"
    token = env("STRIPE_KEY")
  }
}
saga "create_order" {
  from {
    connector = "api"
    operation = "POST /orders"
  }
  step "payment" {
    action {
      connector = "stripe"
      operation = "POST /charges"
      body      = { amount = "input.amount" }
    }
  }
}
state_machine "order_status" {
  initial = "pending"
  state "pending" {
    on "pay" { transition_to = "paid" }
  }
  state "paid" { final = true }
}
"#;

/// A saga that waits for a signal.
fn waiting(name: &str) -> String {
    format!("saga \"{name}\" {{\n step \"w\" {{\n await = \"go\"\n }}\n}}\n")
}

fn files(text: &str) -> Value {
    json!([{"path": "a.hcl", "text": text}])
}

fn shop() -> Value {
    json!({"bundle": "shop", "files": files(SHOP), "variables": {"STRIPE_KEY": "sk_test_1"}})
}

async fn apply(connection: &Connection, bundle: &str, text: &str) -> Value {
    let payload = json!({"bundle": bundle, "files": files(text)});
    connection.ok("BundleApplyRequest", payload).await
}

/// The codes and locations of a refusal.
async fn refused(connection: &Connection, payload: Value) -> Vec<String> {
    let answer = connection.call("BundleApplyRequest", payload).await;
    assert_eq!(code(&answer), "VALIDATION_FAILED", "{answer}");
    let findings = answer["error"]["properties"]["findings"].as_array();
    let findings = findings.expect("a list").iter();
    let errors = findings.filter(|one| one["severity"] == "error");
    errors
        .map(|one| format!("{} {}", one["code"], one["location"]).replace('"', ""))
        .collect()
}

fn files_below(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("a folder");
    let paths = entries.map(|entry| entry.expect("an entry").path());
    let below = paths.map(|path| {
        if path.is_dir() {
            files_below(&path)
        } else {
            vec![path]
        }
    });
    below.flatten().collect()
}

#[tokio::test]
async fn a_bundle_is_answered_as_it_was_sent_and_outlives_a_restart() {
    let mut server = Server::on_disk(&[]);
    let connection = server.connect().await;
    let applied = connection.ok("BundleApplyRequest", shop()).await;
    for (member, expected) in [
        ("bundle", json!("shop")),
        ("version", json!(1)),
        ("change", json!("created")),
        ("sagas", json!(["create_order"])),
        ("machines", json!(["order_status"])),
        ("routes", json!(["POST /orders"])),
        ("connectors", json!(["api", "orders", "stripe"])),
        ("findings", json!([])),
    ] {
        assert_eq!(applied[member], expected, "{member}");
    }
    for restarted in [false, true] {
        if restarted {
            server.kill();
            server.restart();
        }
        let connection = server.connect().await;
        let shown = connection.ok("BundleGetRequest", json!({"bundle": "shop"}));
        let shown = shown.await;
        assert_eq!(shown["files"], files(SHOP));
        assert!(!shown.to_string().contains("sk_test_1"), "{shown}");
        // The same again changes nothing, although its secrets are sealed.
        let again = connection.ok("BundleApplyRequest", shop()).await;
        assert_eq!(
            (&again["change"], &again["version"]),
            (&json!("unchanged"), &json!(1))
        );
        let saga = connection.ok("RunDefinitionGetRequest", json!({"name": "create_order"}));
        let saga = saga.await;
        assert_eq!(
            (&saga["kind"], &saga["version"], &saga["bundle"]),
            (&json!("saga"), &json!("1"), &json!("shop"))
        );
        let document = saga["document"].as_str().expect("a text");
        assert!(
            document.starts_with("saga \"create_order\" {"),
            "{document}"
        );
        let machines = connection.ok("MachinesGetRequest", json!({})).await;
        assert_eq!(
            machines["items"],
            json!([{"machine": "order_status", "bundle": "shop", "initial": "pending",
                "states": ["pending", "paid"]}])
        );
    }
    // Another value of a variable is another version.
    let mut other = shop();
    other["variables"]["STRIPE_KEY"] = json!("sk_test_2");
    let connection = server.connect().await;
    let replaced = connection.ok("BundleApplyRequest", other).await;
    assert_eq!(
        (&replaced["change"], &replaced["version"]),
        (&json!("replaced"), &json!(2))
    );
    // Nothing that is stored has either value in the clear.
    server.kill();
    for path in files_below(&server.stored_files()) {
        let bytes = fs::read(&path).expect("readable");
        let text = String::from_utf8_lossy(&bytes);
        assert!(!text.contains("sk_test_"), "{}", path.display());
    }
}

#[tokio::test]
async fn the_key_beside_a_database_file_is_readable_by_its_owner_only() {
    let mut server = Server::on_disk(&[]);
    let connection = server.connect().await;
    connection.ok("BundleApplyRequest", shop()).await;
    let names = files_below(&server.folder());
    let key = names
        .iter()
        .find(|path| path.extension().is_some_and(|it| it == "key"));
    let key = key.unwrap_or_else(|| panic!("no key beside the database: {names:?}"));
    let mode =
        std::os::unix::fs::PermissionsExt::mode(&fs::metadata(key).expect("a file").permissions());
    assert_eq!(mode & 0o777, 0o600);
    // Without it what was sealed is not readable, and another key would not help.
    server.kill();
    let kept = key.with_extension("kept");
    fs::rename(key, &kept).expect("moved");
    server.restart();
    let connection = server.connect().await;
    let start = json!({"definition": "create_order", "input": {"amount": 1}, "waitMs": 0});
    connection.ok("RunStartRequest", start).await;
    until("the missing file is named", async || {
        server.logged().contains("it is missing, copy it")
    })
    .await;
    assert!(!key.exists(), "another one was made");
}

#[tokio::test]
async fn a_bundle_with_errors_is_refused_with_every_finding_and_changes_nothing() {
    let server = Server::start();
    let connection = server.connect().await;
    apply(&connection, "b", &waiting("one")).await;
    let wrong = "saga \"one\" {\n step \"w\" {\n delay = \"7w\"\n colour = 1\n }\n}\nthing {}\n";
    let found = refused(&connection, json!({"bundle": "b", "files": files(wrong)})).await;
    assert_eq!(found, ["S107 a.hcl:3", "S102 a.hcl:4", "S102 a.hcl:7"]);
    let without = json!({"bundle": "b", "files": files(SHOP)});
    assert_eq!(refused(&connection, without).await, ["S201 a.hcl:12"]);
    let shown = connection
        .ok("BundleGetRequest", json!({"bundle": "b"}))
        .await;
    assert_eq!(
        (&shown["version"], &shown["files"]),
        (&json!(1), &files(&waiting("one")))
    );
}

#[tokio::test]
async fn a_number_may_be_given_by_a_variable() {
    let server = Server::start();
    let connection = server.connect().await;
    let text = "connector \"db\" {\n type = \"database\"\n driver = \"postgres\"\n database = \"d\"\n host = \"127.0.0.1\"\n user = \"u\"\n port = env(\"PORT\")\n}\n";
    let of = |port: &str| json!({"bundle": "b", "files": files(text), "variables": {"PORT": port}});
    for port in ["five", "0", "65536", ""] {
        let found = refused(&connection, of(port)).await;
        assert_eq!(found, ["S103 a.hcl:1"], "{port}");
    }
    connection.ok("BundleApplyRequest", of("5432")).await;
}

/// They would protect a connection in appearance only.
#[tokio::test]
async fn authorities_are_refused_where_nothing_is_encrypted() {
    let server = Server::start();
    let connection = server.connect().await;
    let authority = Identity::new().authority;
    let email = "type = \"email\"\n host = \"127.0.0.1\"\n from = \"a@b.example\"";
    let mysql = "type = \"database\"\n driver = \"mysql\"\n database = \"d\"\n user = \"u\"";
    let of = |attributes: &str| {
        let text =
            format!("connector \"c\" {{\n {attributes}\n tls_ca = <<EOT\n{authority}EOT\n}}\n");
        json!({"bundle": "b", "files": files(&text)})
    };
    for (attributes, plain, encrypted) in [
        (email, "tls = \"none\"", "tls = \"starttls\""),
        (mysql, "tls = \"none\"", "tls = \"prefer\""),
        (
            "type = \"http\"",
            "base_url = \"http://127.0.0.1\"",
            "base_url = \"https://127.0.0.1\"",
        ),
    ] {
        let found = refused(&connection, of(&format!("{attributes}\n {plain}"))).await;
        assert_eq!(found, ["S103 a.hcl:1"], "{attributes}");
        let applied = of(&format!("{attributes}\n {encrypted}"));
        connection.ok("BundleApplyRequest", applied).await;
    }
}

#[tokio::test]
async fn the_value_of_a_variable_is_not_shown_when_it_is_wrong() {
    let server = Server::start();
    let connection = server.connect().await;
    let text =
        "connector \"c\" {\n type = \"email\"\n host = \"h.example\"\n from = env(\"FROM\")\n}\n";
    for from in ["hidden one", "hidden\n", "hid\"den\t", "hid'den\u{e9}\n"] {
        let payload = json!({"bundle": "b", "files": files(text), "variables": {"FROM": from}});
        let answer = connection.call("BundleApplyRequest", payload).await;
        assert_eq!(code(&answer), "VALIDATION_FAILED", "{answer}");
        let shown = answer["error"].to_string();
        assert!(shown.contains("`***`") && !shown.contains("hid"), "{shown}");
    }
}

#[tokio::test]
async fn a_name_belongs_to_one_bundle_or_step_workflow() {
    let server = Server::start();
    let connection = server.connect().await;
    apply(&connection, "a", &waiting("mine")).await;
    let of = |bundle: &str, text: String| json!({"bundle": bundle, "files": files(&text)});
    assert_eq!(
        refused(&connection, of("b", waiting("mine"))).await,
        ["S104 a.hcl:1"]
    );
    let document = |name: &str| {
        format!(
            "kind: Workflow\nname: {name}\nversion: 1\nstart:\n  run: \"@actions/a\"\n  transitions: {{success: flo.Completed}}\n"
        )
    };
    let taken = json!({"document": document("mine")});
    let taken = connection.call("RunDefinitionCreateRequest", taken).await;
    assert_eq!(taken["error"]["properties"]["findings"][0]["code"], "E109");
    let flo = json!({"document": document("flo")});
    connection.ok("RunDefinitionCreateRequest", flo).await;
    assert_eq!(
        refused(&connection, of("b", waiting("flo"))).await,
        ["S104 a.hcl:1"]
    );
    let manager = waiting("com.finmars.standard-workflow:workflow-manager");
    assert_eq!(
        refused(&connection, of("b", manager)).await,
        ["S104 a.hcl:1"]
    );
    // Another namespace has names of its own, and the same name twice in one bundle is one error.
    let elsewhere = json!({"bundle": "a", "files": files(&waiting("mine")), "namespace": "n"});
    connection.ok("BundleApplyRequest", elsewhere).await;
    let twice = waiting("x") + &waiting("x");
    assert_eq!(refused(&connection, of("b", twice)).await, ["S104 a.hcl:6"]);
    // A machine is one of its bundle, too.
    let machine = "state_machine \"m\" {\n initial = \"a\"\n state \"a\" { final = true }\n}\n";
    apply(&connection, "c", machine).await;
    assert_eq!(
        refused(&connection, of("d", machine.to_owned())).await,
        ["S104 a.hcl:1"]
    );
    // Deleting the bundle frees its names.
    for (bundle, text) in [("c", machine.to_owned()), ("a", waiting("mine"))] {
        connection
            .ok("BundleDeleteRequest", json!({"bundle": bundle}))
            .await;
        apply(&connection, "z", &text).await;
    }
}

#[tokio::test]
async fn a_route_is_taken_once_and_never_from_the_service() {
    let server = Server::start();
    let connection = server.connect().await;
    let route = |saga: &str, operation: &str| {
        format!(
            "saga \"{saga}\" {{\n from {{\n connector = \"api\"\n operation = \"{operation}\"\n }}\n step \"w\" {{\n await = \"go\"\n }}\n}}\n"
        )
    };
    apply(&connection, "a", &route("one", "POST /orders/:id")).await;
    let of = |text: String| json!({"bundle": "b", "files": files(&text)});
    for (text, expected) in [
        (route("two", "POST /orders/new"), vec!["S203 a.hcl:2"]),
        (route("two", "POST /workflows/:id"), vec!["S203 a.hcl:2"]),
        (route("two", "GET /api/model"), vec!["S203 a.hcl:2"]),
        (route("two", "POST /docs"), vec!["S203 a.hcl:2"]),
        (route("two", "GET /console/x"), vec!["S203 a.hcl:2"]),
        (
            route("two", "POST /x") + &route("three", "POST /x"),
            vec!["S203 a.hcl:11"],
        ),
    ] {
        assert_eq!(
            refused(&connection, of(text.clone())).await,
            expected,
            "{text}"
        );
    }
    apply(&connection, "b", &route("two", "PUT /orders/new")).await;
    // A bundle that gives its route up leaves it to others.
    apply(&connection, "a", &route("one", "POST /others")).await;
    apply(&connection, "c", &route("three", "POST /orders/:id")).await;
}

#[tokio::test]
async fn a_dry_run_reports_and_stores_nothing() {
    let server = Server::start();
    let connection = server.connect().await;
    let mut dry = shop();
    dry["dryRun"] = json!(true);
    for _ in 0..2 {
        let answer = connection.ok("BundleApplyRequest", dry.clone()).await;
        assert_eq!(
            (&answer["change"], &answer["version"]),
            (&json!("created"), &json!(1))
        );
    }
    let failed = connection.fails("BundleGetRequest", json!({"bundle": "shop"}));
    assert_eq!(failed.await, "BUNDLE_NOT_FOUND");
    let page = connection.ok("BundlesGetRequest", json!({})).await;
    assert_eq!(page["items"], json!([]));
}

#[tokio::test]
async fn what_a_bundle_no_longer_declares_takes_no_starts() {
    let server = Server::start();
    let connection = server.connect().await;
    apply(&connection, "b", &(waiting("old") + &waiting("kept"))).await;
    let start = |name: &str| json!({"definition": name});
    let before = connection.ok("RunStartRequest", start("old")).await;
    let replaced = apply(&connection, "b", &waiting("kept")).await;
    assert_eq!(
        (&replaced["version"], &replaced["change"]),
        (&json!(2), &json!("replaced"))
    );
    assert_eq!(
        replaced["removed"],
        json!({"sagas": ["old"], "machines": [], "routes": [], "connectors": []})
    );
    // The bundle was named, so it is known what it replaces.
    assert!(replaced.get("warnings").is_none(), "{replaced}");
    let again = apply(&connection, "b", &waiting("kept")).await;
    assert!(again.get("removed").is_none(), "{again}");
    let failed = connection.fails("RunStartRequest", start("old")).await;
    assert_eq!(failed, "RUN_DEFINITION_NOT_FOUND");
    let kept = connection
        .ok("RunDefinitionGetRequest", json!({"name": "kept"}))
        .await;
    assert_eq!(
        (&kept["version"], &kept["versions"]),
        (&json!("2"), &json!(["2"]))
    );
    // A saga goes with its bundle only.
    let failed = connection.fails("RunDefinitionDeleteRequest", json!({"name": "kept"}));
    assert_eq!(failed.await, "BAD_REQUEST");
    connection
        .ok("BundleDeleteRequest", json!({"bundle": "b"}))
        .await;
    let failed = connection.fails("BundleDeleteRequest", json!({"bundle": "b"}));
    assert_eq!(failed.await, "BUNDLE_NOT_FOUND");
    let failed = connection.fails("RunStartRequest", start("kept")).await;
    assert_eq!(failed, "RUN_DEFINITION_NOT_FOUND");
    // The run that was started goes its way.
    let run = connection
        .ok("RunGetRequest", json!({"runId": before["runId"]}))
        .await;
    assert_eq!(
        (&run["run"]["kind"], &run["run"]["status"]),
        (&json!("saga"), &json!("waiting"))
    );
}

#[tokio::test]
async fn requests_that_cannot_be_bundles_are_refused() {
    let server = Server::start();
    let connection = server.connect().await;
    let large = "#".repeat((4 << 20) + 1);
    let many: Vec<_> = (0..201)
        .map(|n| json!({"path": format!("{n}.hcl"), "text": ""}))
        .collect();
    for payload in [
        json!({"files": []}),
        json!({"files": many}),
        json!({"files": files(&large)}),
        json!({"files": [{"path": "", "text": ""}]}),
        json!({"files": [{"path": "a", "text": ""}, {"path": "a", "text": ""}]}),
        json!({"files": files(""), "bundle": "a b"}),
        json!({"files": files(""), "bundle": ""}),
        json!({"files": files(""), "namespace": "a b"}),
        json!({"files": "x"}),
        json!({}),
    ] {
        let failed = connection
            .fails("BundleApplyRequest", payload.clone())
            .await;
        assert_eq!(failed, "BAD_REQUEST", "{payload}");
    }
    // No file has to declare anything, and a name comes from the files.
    let named = json!({"files": files("service {\n name = \"of-service\"\n}\n")});
    let named = connection.ok("BundleApplyRequest", named).await;
    assert_eq!(named["bundle"], "of-service");
    let unnamed = connection
        .ok("BundleApplyRequest", json!({"files": files("")}))
        .await;
    assert_eq!(unnamed["bundle"], "default");
}

#[tokio::test]
async fn bundles_are_for_administrators_of_their_tenant() {
    let server = Server::with(&token::TAKES_TOKENS);
    let as_of = async |tenant: &str, roles: &[&str]| {
        let bearer = token::bearer(tenant, roles);
        server.connect_as(&[("authorization", &bearer)]).await
    };
    let administrator = as_of("one", &["ROLE_ADMIN"]).await;
    // With real callers, neither private networks nor files of this machine are theirs.
    let found = refused(&administrator, shop()).await;
    assert_eq!(found, ["S202 a.hcl:2", "S202 a.hcl:7"]);
    let wrong = "connector \"c\" {\n type = \"http\"\n base_url = \"ftp://a.example\"\n}\n";
    let wrong = json!({"bundle": "b", "files": [{"path": "a.hcl", "text": wrong}]});
    assert_eq!(refused(&administrator, wrong).await, ["S103 a.hcl:1"]);
    apply(&administrator, "b", &waiting("s")).await;
    let other = as_of("two", &["ROLE_ADMIN"]).await;
    let failed = other
        .fails("BundleGetRequest", json!({"bundle": "b"}))
        .await;
    assert_eq!(failed, "BUNDLE_NOT_FOUND");
    let user = as_of("one", &["ROLE_USER"]).await;
    for (kind, payload) in [
        ("BundleApplyRequest", json!({"files": files("")})),
        ("BundlesGetRequest", json!({})),
        ("BundleGetRequest", json!({"bundle": "b"})),
        ("BundleDeleteRequest", json!({"bundle": "b"})),
    ] {
        assert_eq!(user.fails(kind, payload).await, "FORBIDDEN", "{kind}");
    }
    let machines = user.ok("MachinesGetRequest", json!({})).await;
    assert_eq!(machines["items"], json!([]));
}

#[tokio::test]
async fn rest_has_the_same_bundles() {
    let server = Server::start();
    let rest = server.rest();
    let body = json!({"files": files(&waiting("s")), "bundle": "ignored"}).to_string();
    let applied = rest.put("/api/bundles/b", body.clone()).await.ok();
    assert_eq!(
        (&applied["bundle"], &applied["version"]),
        (&json!("b"), &json!(1))
    );
    let there = rest.put("/api/bundles/b?namespace=n", body).await.ok();
    assert_eq!(there["change"], "created");
    let page = rest.get("/api/bundles").await.ok();
    assert_eq!(page["items"][0]["sagas"], json!(["s"]));
    let shown = rest.get("/api/bundles/b").await.ok();
    assert_eq!(shown["files"], files(&waiting("s")));
    let definitions = rest.get("/api/definitions?kind=saga").await.ok();
    assert_eq!(definitions["items"][0]["name"], "s");
    rest.get("/api/machines").await.ok();
    rest.delete("/api/bundles/b").await.ok();
    rest.get("/api/bundles/b")
        .await
        .refused(404, "BUNDLE_NOT_FOUND");
}

/// Runs a command beside a server.
async fn interlock(
    server: &Server,
    folder: &tempfile::TempDir,
    line: &[&str],
) -> (Option<i32>, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_interlock"));
    command
        .args(line)
        .current_dir(folder.path())
        .env_clear()
        .env("HOME", folder.path())
        .env("STRIPE_KEY", "sk_test_1")
        .env("CYODA_GRPC_PORT", server.grpc.port().to_string());
    let output = tokio::task::spawn_blocking(move || command.output());
    let output = tokio::time::timeout(Duration::from_secs(30), output).await;
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
async fn the_command_applies_files_with_its_own_environment() {
    let server = Server::start();
    let folder = tempfile::tempdir().expect("a folder");
    fs::create_dir(folder.path().join("shop")).expect("a folder");
    fs::write(folder.path().join("shop/shop.hcl"), SHOP).expect("writes");
    fs::write(folder.path().join("shop/mail.html"), "Hello {{.name}}").expect("writes");
    fs::write(folder.path().join("wrong.hcl"), "saga \"x\" {}\n").expect("writes");
    let run = async |line: &[&str]| interlock(&server, &folder, line).await;
    let (code, out, err) = run(&["apply", "-f", "shop", "--bundle", "shop", "--dry-run"]).await;
    assert_eq!((code, &*err), (Some(0), ""), "{out}");
    assert!(
        out.starts_with("Checked bundle: shop (version 1, created)\n"),
        "{out}"
    );
    let (code, out, _) = run(&["apply", "-f", "shop", "--bundle", "shop"]).await;
    assert_eq!(code, Some(0));
    assert!(out.contains("  routes: POST /orders\n"), "{out}");
    let (code, out, err) = run(&["apply", "-f", "wrong.hcl"]).await;
    assert_eq!((code, &*out), (Some(1), ""));
    assert!(
        err.contains("[S103] error: ") && err.contains("at 'wrong.hcl:1'"),
        "{err}"
    );
    let (code, _, err) = run(&["apply", "-f", "nowhere"]).await;
    assert_eq!(code, Some(1));
    assert!(err.contains("cannot read nowhere"), "{err}");
    // A template alone would replace the bundle `default`.
    fs::write(folder.path().join("order.yaml"), "workflow: {}\n").expect("writes");
    let (code, out, err) = run(&["apply", "-f", "order.yaml"]).await;
    assert_eq!((code, &*out), (Some(1), ""));
    assert!(err.contains("no HCL in order.yaml"), "{err}");
    fs::write(folder.path().join("empty.hcl"), "# later\n").expect("writes");
    let (code, _, err) = run(&["apply", "-f", "empty.hcl", "--dry-run"]).await;
    assert_eq!(code, Some(0));
    assert!(err.contains("the bundle declares nothing"), "{err}");
    assert_eq!(run(&["apply"]).await.0, Some(2));
    let (_, out, _) = run(&["bundle", "list"]).await;
    assert!(
        out.lines()
            .nth(1)
            .is_some_and(|line| line.starts_with("shop    1 ")),
        "{out}"
    );
    let (_, out, _) = run(&["bundle", "show", "shop"]).await;
    assert!(
        out.contains("# shop.hcl\n") && out.contains("env(\"STRIPE_KEY\")"),
        "{out}"
    );
    let (code, out, _) = run(&["bundle", "delete", "shop"]).await;
    assert_eq!((code, &*out), (Some(0), "Deleted bundle: shop\n"));
    assert_eq!(run(&["bundle", "show", "shop"]).await.0, Some(1));
}

#[tokio::test]
async fn the_command_says_what_an_application_removes() {
    let server = Server::start();
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("shop.hcl"), SHOP).expect("writes");
    fs::write(folder.path().join("other.hcl"), waiting("other")).expect("writes");
    let run = async |line: &[&str]| interlock(&server, &folder, line).await;
    let (code, out, err) = run(&["apply", "-f", "shop.hcl"]).await;
    assert_eq!((code, &*err), (Some(0), ""));
    assert!(!out.contains("removed"), "{out}");
    for line in [
        &["apply", "-f", "other.hcl", "--dry-run"][..],
        &["apply", "-f", "other.hcl"],
    ] {
        let (code, out, err) = run(line).await;
        assert_eq!(code, Some(0), "{err}");
        let removed = "saga create_order, state machine order_status, route POST /orders, \
                       connector api, connector orders, connector stripe";
        assert!(out.contains(&format!("  removed: {removed}\n")), "{out}");
        assert!(
            err.contains("warning: no bundle is named") && err.contains(removed),
            "{err}"
        );
    }
}

#[tokio::test]
async fn a_folder_without_definitions_is_a_warning() {
    let folder = tempfile::tempdir().expect("a folder");
    let definitions = folder.path().to_str().expect("UTF-8");
    let server = Server::with(&[("INTERLOCK_DEFINITIONS", definitions)]);
    let log = server.logged();
    assert!(
        log.contains("neither an HCL file nor a step workflow"),
        "{log}"
    );
}

#[tokio::test]
async fn definitions_of_the_operator_are_applied_at_the_start() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name);
    fs::create_dir(at("more")).expect("a folder");
    fs::write(at("shop.hcl"), SHOP).expect("writes");
    fs::write(at("more/saga.hcl"), waiting("second")).expect("writes");
    let workflow = "kind: Workflow\nname: flow\nversion: 1\nstart:\n  waitForSignal: {type: go, timeoutMs: 1000}\n  transitions: {success: flo.Completed}\n";
    fs::write(at("more/flow.yaml"), workflow).expect("writes");
    fs::write(at("more/other.json"), "{\"kind\": \"Other\"}").expect("writes");
    let definitions = folder.path().to_str().expect("UTF-8").to_owned();
    let settings = [
        ("INTERLOCK_DEFINITIONS", &*definitions),
        ("STRIPE_KEY", "sk_1"),
    ];
    let server = Server::with(&settings);
    let connection = server.connect().await;
    let page = connection.ok("RunDefinitionsGetRequest", json!({})).await;
    let names: Vec<_> = page["items"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|item| item["name"].as_str().expect("a name"))
        .collect();
    assert_eq!(names, ["create_order", "flow", "second"]);
    let shown = connection
        .ok("BundleGetRequest", json!({"bundle": "default"}))
        .await;
    assert_eq!(shown["files"][0]["path"], "more/saga.hcl");
    // Any error ends the start, with all findings.
    fs::write(at("more/saga.hcl"), "saga \"x\" {}\n").expect("writes");
    fs::write(at("more/flow.yaml"), workflow.replace("go", "''")).expect("writes");
    let home = tempfile::tempdir().expect("a folder");
    let mut command = command(home.path(), &[("CYODA_STORAGE_BACKEND", "memory")]);
    command.args(["serve", "--definitions", &definitions]);
    let output = tokio::task::spawn_blocking(move || command.output());
    let output = tokio::time::timeout(Duration::from_secs(30), output).await;
    let output = output
        .expect("it ends")
        .expect("it is joined")
        .expect("it starts");
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8_lossy(&output.stderr);
    for part in [
        "[S103] error: ",
        "at 'more/saga.hcl:1'",
        "[S201] error: ",
        "at 'shop.hcl:12'",
        "more/flow.yaml: [E103] error: ",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
}
