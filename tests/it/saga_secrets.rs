//! A secret that `env()` names is nowhere in the clear: not in the log, in an answer, in the table
//! of the runs, or in a file of the database (`runs.md` §7, *Secrets*).

use std::{fs, path::Path, process::Command};

use aho_corasick::AhoCorasick;
use base64::{Engine as _, prelude::BASE64_STANDARD};
use serde_json::{Value, json};

use crate::support::{
    Connection, PATIENCE, Rest, Server,
    outside::{Behaviour, Identity, MailServer, Outside, Security},
};

/// What `env()` is given. Texts with signs that JSON, URLs and forms write otherwise.
const SECRETS: &[(&str, &str)] = &[
    ("BEARER_KEY", "sk_live_7Jq\"x/9+Za=="),
    ("HEADER_KEY", "hdr-5f8e2c/71b0"),
    ("BASIC_KEY", "pa55&word%of bob"),
    ("API_KEY", "ak_9d0c41f7aa"),
    ("DB_KEY", "db-pass-2b77f1"),
    ("MAIL_KEY", "mail-pass-66ab0"),
    ("HIDDEN_HOST", "hidden-host-81c4.invalid"),
];

const FILES: &str = r#"
connector "api" { type = "rest" }
connector "bearer" {
  type     = "http"
  base_url = "OUTSIDE"
  headers  = { x-other = env("HEADER_KEY") }
  auth {
    type  = "bearer"
    token = env("BEARER_KEY")
  }
}
connector "basic" {
  type     = "http"
  base_url = "OUTSIDE"
  auth {
    type     = "basic"
    username = "bob"
    password = env("BASIC_KEY")
  }
}
connector "keyed" {
  type     = "http"
  base_url = "OUTSIDE"
  auth {
    type   = "api_key"
    key    = env("API_KEY")
    header = "x-key"
  }
}
connector "gone" {
  type     = "database"
  driver   = "postgres"
  host     = "127.0.0.1"
  port     = 1
  database = "shop"
  user     = "shop"
  password = env("DB_KEY")
  timeout  = "1s"
}
connector "hidden" {
  type     = "database"
  driver   = "postgres"
  host     = env("HIDDEN_HOST")
  database = "shop"
  user     = "shop"
  password = env("DB_KEY")
  timeout  = "1s"
}
connector "mail" {
  type     = "email"
  host     = "localhost"
  port     = MAILPORT
  tls      = "none"
  username = "ann"
  password = env("MAIL_KEY")
  from     = "shop@example.org"
}
connector "shown" {
  type     = "database"
  driver   = "sqlite"
  database = "SHOWN"
}
service {
  name = "shop"
  workflow { storage = "shown" }
}
saga "echo" {
  from {
    connector = "api"
    operation = "POST /echo"
  }
  step "bearer" {
    action {
      connector = "bearer"
      operation = "POST /echo"
      body      = { amount = 1 }
    }
    compensate {
      connector = "bearer"
      operation = "POST /refuse"
    }
  }
  step "basic" {
    action {
      connector = "basic"
      operation = "POST /echo"
    }
  }
  step "keyed" {
    action {
      connector = "keyed"
      operation = "POST /echo"
    }
  }
  step "mail" {
    action {
      connector = "mail"
      operation = "send"
      data      = { to = "bob@example.org", subject = "x", textBody = "y" }
    }
  }
  step "end" {
    on_error = "skip"
    action {
      connector = "input.end"
      operation = "SELECT"
      target    = "orders"
    }
  }
}
saga "refused" {
  step "bearer" {
    action {
      connector = "bearer"
      operation = "POST /echo"
    }
    compensate {
      connector = "keyed"
      operation = "POST /refuse"
    }
  }
  step "last" {
    action {
      connector = "LAST"
      operation = "OPERATION"
      target    = "orders"
    }
  }
  on_failure {
    connector = "basic"
    operation = "POST /refuse"
    body      = { reason = "error.message" }
  }
}
"#;

/// Steps that fail: a connector and its operation.
const LASTS: &[(&str, &str)] = &[
    ("bearer", "POST /refuse"),
    ("basic", "POST /refuse-text"),
    ("keyed", "POST /redirect"),
    ("bearer", "POST /garbage"),
    ("gone", "INSERT"),
    ("hidden", "INSERT"),
    ("mail", "send"),
];

/// A secret as it is, and as JSON, URLs, forms and Basic write it.
fn forms() -> Vec<String> {
    let mut all = Vec::new();
    for (name, secret) in SECRETS {
        let json = serde_json::to_string(secret).expect("JSON");
        let json = json.trim_matches('"').to_owned();
        all.push((*secret).to_owned());
        all.push(json.replace('/', "\\/"));
        all.push(
            serde_json::to_string(&json)
                .expect("JSON")
                .trim_matches('"')
                .to_owned(),
        );
        all.push(json);
        all.push(
            percent_encoding::utf8_percent_encode(secret, percent_encoding::NON_ALPHANUMERIC)
                .to_string(),
        );
        all.push(form_urlencoded::byte_serialize(secret.as_bytes()).collect());
        all.push(BASE64_STANDARD.encode(secret));
        if *name == "BASIC_KEY" {
            all.push(BASE64_STANDARD.encode(format!("bob:{secret}")));
        }
        if *name == "MAIL_KEY" {
            all.push(BASE64_STANDARD.encode(format!("\0ann\0{secret}")));
        }
    }
    all
}

/// Fails if a form of a secret is in what was said.
fn check(forms: &AhoCorasick, place: &str, said: &[u8]) {
    if let Some(found) = forms.find(said) {
        let form = String::from_utf8_lossy(&said[found.range()]);
        let around = said[found.start().saturating_sub(200)..].iter().take(500);
        let around: Vec<u8> = around.copied().collect();
        panic!("{form} is in {place}: {}", String::from_utf8_lossy(&around));
    }
}

fn check_files(forms: &AhoCorasick, folder: &Path) -> usize {
    let mut count = 0;
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("a file").path();
        if path.is_dir() {
            count += check_files(forms, &path);
            continue;
        }
        // One that was removed meanwhile has nothing any more.
        if let Ok(bytes) = fs::read(&path) {
            check(forms, &path.display().to_string(), &bytes);
            count += 1;
        }
    }
    count
}

struct World {
    forms: AhoCorasick,
    _mail: MailServer,
    outside: Outside,
    shown: tempfile::TempDir,
    texts: Vec<String>,
}

impl World {
    async fn begin() -> Self {
        let outside = Outside::start().await;
        let reported: Vec<_> = SECRETS.iter().map(|(_, secret)| *secret).collect();
        let reported = reported.join(" ");
        outside.on("POST /echo", Behaviour::Echo);
        let refusal = json!({"you sent": reported, "also": {"escaped": reported}});
        outside.on("POST /refuse", Behaviour::Json(402, refusal));
        outside.on("POST /refuse-text", Behaviour::Text(500, reported.clone()));
        outside.on("POST /garbage", Behaviour::Garbage);
        let elsewhere = format!("{}/?key={}", outside.url(), SECRETS[3].1);
        outside.on("POST /redirect", Behaviour::Redirect(elsewhere));
        let mail = MailServer::start(
            Security::None,
            &Identity::new(),
            Some(("ann", SECRETS[5].1)),
        )
        .await;
        mail.refuse("nobody@example.org");
        let shown = tempfile::tempdir().expect("a folder");
        let path = shown.path().join("shown.db");
        let texts = LASTS.iter().map(|(connector, operation)| {
            FILES
                .replace("OUTSIDE", &outside.url())
                .replace("MAILPORT", &mail.port.to_string())
                .replace("SHOWN", path.to_str().expect("UTF-8"))
                .replace("\"input.end\"", "\"gone\"")
                .replace("LAST", connector)
                .replace("OPERATION", operation)
        });
        Self {
            forms: AhoCorasick::new(forms()).expect("patterns"),
            texts: texts.collect(),
            _mail: mail,
            outside,
            shown,
        }
    }

    fn heard(&self, place: &str, said: &str) {
        check(&self.forms, place, said.as_bytes());
    }

    async fn ask(&self, connection: &Connection, kind: &str, payload: Value) -> Value {
        let answer = connection.call(kind, payload).await;
        self.heard(kind, &answer.to_string());
        answer
    }

    async fn get(&self, rest: &Rest, path: &str) {
        let said = rest.get(path).await;
        self.heard(path, &said.text);
    }

    /// Starts each saga, and asks for everything there is about their runs.
    async fn run(&self, server: &Server, bundle: &str) {
        let connection = server.connect().await;
        let rest = server.rest();
        for path in ["/echo", "/api/sagas/echo", "/api/sagas/refused"] {
            let said = rest.post(path, "{}").await;
            self.heard(path, &said.text);
            // What the server repeats was cut out.
            assert!(said.text.contains("Bearer ***"), "{path}: {}", said.text);
            let run = said.json()["instance_id"].clone();
            let run = run.as_str().unwrap_or_else(|| panic!("{}", said.text));
            let of = json!({"runId": run});
            self.ask(&connection, "RunGetRequest", of.clone()).await;
            self.ask(&connection, "RunHistoryGetRequest", of.clone())
                .await;
            self.ask(&connection, "RunCancelRequest", of.clone()).await;
            self.ask(&connection, "TasksGetRequest", of).await;
            for path in ["", "/history"] {
                self.get(&rest, &format!("/api/runs/{run}{path}")).await;
            }
            self.get(&rest, &format!("/workflows/{run}")).await;
        }
        for (kind, payload) in [
            ("RunsGetRequest", json!({})),
            ("BundlesGetRequest", json!({})),
            ("BundleGetRequest", json!({"bundle": bundle})),
            ("RunDefinitionsGetRequest", json!({})),
            ("RunDefinitionGetRequest", json!({"name": "echo"})),
            ("IncidentsGetRequest", json!({})),
        ] {
            self.ask(&connection, kind, payload).await;
        }
        for path in ["/api/bundles", "/api/runs", "/api/definitions/refused"] {
            self.get(&rest, path).await;
        }
        let bearer = format!("Bearer {}", SECRETS[0].1);
        let seen = self.outside.seen();
        assert!(
            seen.iter()
                .any(|seen| seen.headers.get("authorization") == Some(&bearer)),
            "the secret is used"
        );
        let metrics = Rest::new(server.admin).get("/metrics").await;
        self.heard("the metrics", &metrics.text);
    }

    /// Waits until the table of the runs has as many.
    async fn mirrored(&self, count: i64) {
        let path = self.shown.path().join("shown.db");
        let database = rusqlite::Connection::open(path).expect("opens");
        let counted = || {
            let select = "SELECT count(*) FROM mycel_workflows WHERE status <> 'running'";
            database.query_row(select, [], |row| row.get::<_, i64>(0))
        };
        let waited = tokio::time::timeout(PATIENCE, async {
            while counted() != Ok(count) {
                tokio::time::sleep(std::time::Duration::from_millis(20)).await;
            }
        });
        assert!(waited.await.is_ok(), "{:?} of {count}", counted());
        check_files(&self.forms, self.shown.path());
    }

    fn check_server(&self, server: &Server) {
        let log = server.logged();
        check(&self.forms, "the log", log.as_bytes());
        assert!(check_files(&self.forms, &server.stored_files()) > 0);
    }
}

const DEBUG: &[(&str, &str)] = &[
    ("CYODA_LOG_LEVEL", "debug"),
    ("CYODA_ERROR_RESPONSE_MODE", "verbose"),
];

#[tokio::test]
async fn a_secret_of_the_command_line_is_found_nowhere() {
    let world = World::begin().await;
    let mut server = Server::on_disk(DEBUG);
    let folder = tempfile::tempdir().expect("a folder");
    for text in &world.texts {
        fs::write(folder.path().join("shop.hcl"), text).expect("writes");
        for more in [&["--dry-run"][..], &["--format", "json"]] {
            let mut command = Command::new(env!("CARGO_BIN_EXE_interlock"));
            command
                .args(["apply", "-f", "shop.hcl"])
                .args(more)
                .current_dir(folder.path())
                .env_clear()
                .envs(SECRETS.iter().copied())
                .env("HOME", folder.path())
                .env("CYODA_GRPC_PORT", server.grpc.port().to_string());
            let output = tokio::task::spawn_blocking(move || command.output()).await;
            let output = output.expect("joined").expect("starts");
            for (place, bytes) in [("stdout", &output.stdout), ("stderr", &output.stderr)] {
                check(&world.forms, place, bytes);
            }
            assert!(output.status.success(), "{output:?}");
        }
        world.run(&server, "shop").await;
    }
    // A value where a word of the language belongs is not repeated by the finding.
    let connection = server.connect().await;
    for line in [
        "type = env(\"API_KEY\")",
        "type = \"database\"\n driver = env(\"API_KEY\")\n database = \"x\"",
        "type = \"http\"\n base_url = env(\"API_KEY\")",
        "type = \"http\"\n base_url = \"http://127.0.0.1:1\"\n timeout = env(\"API_KEY\")",
        "type = \"http\"\n base_url = \"http://127.0.0.1:1\"\n tls_ca = env(\"API_KEY\")",
        "type = \"email\"\n host = \"x\"\n port = env(\"API_KEY\")",
        "type = \"email\"\n host = \"x\"\n tls = env(\"API_KEY\")\n from = env(\"API_KEY\")",
    ] {
        let text = format!("connector \"c\" {{\n {line}\n}}\n");
        let apply = json!({"bundle": "wrong", "files": [{"path": "a.hcl", "text": text}], "variables": {"API_KEY": SECRETS[3].1}});
        world.ask(&connection, "BundleApplyRequest", apply).await;
    }
    world
        .mirrored(3 * i64::try_from(LASTS.len()).expect("few"))
        .await;
    world.check_server(&server);
    server.kill();
    world.check_server(&server);
    server.restart();
    world.run(&server, "shop").await;
    assert_eq!(server.stop().await, Some(0));
    world.check_server(&server);
}

#[tokio::test]
async fn a_secret_of_the_operator_is_found_nowhere() {
    let world = World::begin().await;
    let folder = tempfile::tempdir().expect("a folder");
    let place = folder.path().to_str().expect("UTF-8").to_owned();
    fs::write(folder.path().join("shop.hcl"), &world.texts[0]).expect("writes");
    let definitions = [("INTERLOCK_DEFINITIONS", &*place)];
    let mut server = Server::on_disk(&[DEBUG, SECRETS, &definitions].concat());
    world.run(&server, "shop").await;
    for text in &world.texts[1..3] {
        fs::write(folder.path().join("shop.hcl"), text).expect("writes");
        server.kill();
        world.check_server(&server);
        server.restart();
        world.run(&server, "shop").await;
    }
    world.mirrored(9).await;
    world.check_server(&server);
    assert_eq!(server.stop().await, Some(0));
    world.check_server(&server);
}
