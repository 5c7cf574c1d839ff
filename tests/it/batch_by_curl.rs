//! A batch in the store with nothing but `curl`: earthquakes, a file for each day, and step
//! workflows that import them, count them and report. One file is broken, and repaired on the way.
//!
//! `cargo test --test it batch_by_curl -- --nocapture` prints every command.
#![expect(clippy::print_stdout, reason = "what is called can be looked at")]

use std::{collections::BTreeMap, fmt::Write as _, fs, process::Command};

use serde_json::{Value, json};

use crate::support::Server;

/// What the days are cut from.
const EARTHQUAKES: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/clients/python/examples/earthquakes/data/earthquakes.json"
);

/// How many ticks and looks are enough.
const TRIES: usize = 2_000;

const IMPORT: &str = r#"{"kind": "Workflow", "name": "org.acme.quakes:import-day", "version": "1",
  "start": {"run": "@entity/create",
    "inputMapping": "{\"model\": {\"name\": \"day\", \"version\": 1}, \"data\": \"$.input.content\"}",
    "transitions": {"success": "flo.Completed", "failure": "flo.Failed"}}}"#;

const STATISTICS: &str = r#"{"kind": "Workflow", "name": "org.acme.quakes:statistics",
  "version": "1",
  "start": {"run": "@entity/search",
    "inputMapping": "{\"model\": {\"name\": \"day\", \"version\": 1}, \"condition\": \"$.input.strong\"}",
    "transitions": {"success": "keep", "failure": "flo.Failed"}},
  "steps": {"keep": {"run": "@entity/create",
    "inputMapping": "{\"model\": {\"name\": \"statistic\", \"version\": 1}, \"data\": {\"strong\": \"$.steps._start.output.count\"}}",
    "transitions": {"success": "flo.Completed", "failure": "flo.Failed"}}}}"#;

const REPORT: &str = r#"{"kind": "Workflow", "name": "org.acme.quakes:report", "version": "1",
  "output": "{\"days\": \"$.steps._start.output.count\", \"strong\": \"$.steps.statistics.output.entities[0].data.strong\"}",
  "start": {"run": "@entity/search",
    "inputMapping": "{\"model\": {\"name\": \"day\", \"version\": 1}, \"condition\": {\"type\": \"group\", \"operator\": \"AND\", \"conditions\": []}}",
    "transitions": {"success": "statistics", "failure": "flo.Failed"}},
  "steps": {"statistics": {"run": "@entity/search",
    "inputMapping": "{\"model\": {\"name\": \"statistic\", \"version\": 1}, \"condition\": {\"type\": \"group\", \"operator\": \"AND\", \"conditions\": []}}",
    "transitions": {"success": "flo.Completed", "failure": "flo.Failed"}}}}"#;

/// Calls `curl`, and prints what it was called with.
struct Curl {
    base: String,
    folder: std::path::PathBuf,
}

impl Curl {
    fn run(&self, method: &str, path: &str, headers: &[String], body: Option<&Value>) -> String {
        let mut command = Command::new("curl");
        command.args(["-sS", "--fail-with-body", "-X", method]);
        let mut shown = format!("curl -X {method} {path}");
        for header in headers {
            command.args(["-H", header]);
            let _ = write!(shown, " -H '{header}'");
        }
        if let Some(body) = body {
            let file = self.folder.join("body.json");
            fs::write(&file, body.to_string()).expect("written");
            command
                .arg("--data-binary")
                .arg(format!("@{}", file.display()));
            let body: String = body.to_string().chars().take(100).collect();
            let _ = write!(shown, " --data '{body}'");
        }
        println!("{shown}");
        let done = command
            .arg(format!("{}{path}", self.base))
            .output()
            .expect("it runs");
        let answer = String::from_utf8(done.stdout).expect("text");
        let error = String::from_utf8_lossy(&done.stderr);
        assert!(done.status.success(), "{shown}: {answer} {error}");
        answer
    }

    fn get(&self, path: &str) -> Value {
        let answer = self.run("GET", path, &[], None);
        serde_json::from_str(&answer).expect("JSON")
    }

    fn send(&self, method: &str, path: &str, body: &Value) -> Value {
        let answer = self.run(method, path, &[], Some(body));
        serde_json::from_str(&answer).unwrap_or_default()
    }
}

/// The earthquakes of each day, with the strongest.
fn days() -> BTreeMap<String, Value> {
    let all = fs::read_to_string(EARTHQUAKES).expect("it is part of the repository");
    let all: Value = serde_json::from_str(&all).expect("JSON");
    let mut days: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    for quake in all["features"].as_array().expect("a list") {
        let of = &quake["properties"];
        let day = of["time"].as_i64().expect("a time") / 86_400_000;
        let quake = json!({"id": quake["id"], "mag": of["mag"], "place": of["place"]});
        days.entry(format!("day-{day}")).or_default().push(quake);
    }
    let day = |(name, quakes): (String, Vec<Value>)| {
        let strongest = quakes.iter().filter_map(|quake| quake["mag"].as_f64());
        let strongest = strongest.fold(0.0, f64::max);
        let count = quakes.len();
        let text = json!({"day": name, "count": count, "strongest": strongest, "quakes": quakes});
        (name, text)
    };
    days.into_iter().map(day).collect()
}

/// The manager: one item for each day, then the statistics, then the report.
fn batch(days: &BTreeMap<String, Value>) -> Value {
    let days = days.iter().map(|(name, content)| {
        json!({"name": name, "status": "to-do", "state_path": format!("/states/{name}.json"),
            "payload": {"file": format!("/data/{name}.json"), "content": content}})
    });
    let worker = |order: i64, user: &str, items: Vec<Value>| {
        json!({"order": order, "configuration_code": "org.acme.quakes", "user_code": user,
            "status": "to-do", "items": items})
    };
    let one = |name: &str, payload: Value| {
        vec![json!({"name": name, "status": "to-do", "payload": payload,
            "state_path": format!("/states/{name}.json")})]
    };
    let strong = json!({"strong": {"type": "simple", "jsonPath": "$.strongest",
        "operatorType": "GREATER_OR_EQUAL", "value": 5}});
    json!({"configuration_code": "org.acme.quakes", "user_code": "batch", "name": "Earthquakes",
        "status": "to-do", "workers": [worker(1, "import-day", days.collect()),
            worker(2, "statistics", one("statistics", strong)), worker(3, "report", one("report", json!({})))]})
}

/// Ticks until the manager stands so, or a worker of it failed.
fn tick_until_rest(curl: &Curl, manager: &str) -> Value {
    for _ in 0..TRIES {
        curl.send("POST", "/api/managers/tick", &json!({}));
        let now = curl.get(&format!("/api/managers/{manager}"))["document"].take();
        let workers = now["workers"].as_array().expect("a list");
        let failed = workers.iter().any(|worker| worker["status"] == "error");
        if failed || now["status"] != "in-progress" {
            return now;
        }
    }
    panic!("the batch does not come to rest");
}

fn statuses(now: &Value) -> Vec<&str> {
    let workers = now["workers"].as_array().expect("a list").iter();
    workers
        .map(|worker| worker["status"].as_str().expect("a text"))
        .collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_batch_is_run_repaired_and_finished_with_curl_alone() {
    if Command::new("curl").arg("--version").output().is_err() {
        println!("curl is not installed; this test is skipped");
        return;
    }
    let mut server = Server::on_disk(&[("INTERLOCK_MANAGER_INTERVAL", "0s")]);
    let mut curl = Curl {
        base: format!("http://{}", server.http),
        folder: server.folder(),
    };
    let days = days();
    assert!(days.len() > 5, "{}", days.len());
    let (first, sample) = days.iter().next().expect("a day");
    for (model, sample) in [("day", sample.clone()), ("statistic", json!({"strong": 1}))] {
        let import = format!("/api/model/import/JSON/SAMPLE_DATA/{model}/1");
        curl.send("POST", &import, &sample);
        curl.run("PUT", &format!("/api/model/{model}/1/lock"), &[], None);
    }
    for document in [IMPORT, STATISTICS, REPORT] {
        let document = serde_json::from_str(document).expect("JSON");
        curl.send("POST", "/api/definitions", &document);
    }
    // One day is broken on purpose.
    let mut broken = days.clone();
    broken.get_mut(first).expect("a day")["strongest"] = json!("very");
    for (name, content) in &broken {
        curl.send("PUT", &format!("/api/files/data/{name}.json"), content);
    }
    let created = curl.send(
        "POST",
        "/api/managers",
        &json!({"document": batch(&broken)}),
    );
    let manager = created["manager"].as_str().expect("a name").to_owned();
    let now = tick_until_rest(&curl, &manager);
    assert_eq!(
        statuses(&now),
        ["error", "to-do", "to-do"],
        "later workers wait"
    );
    let items = now["workers"][0]["items"].as_array().expect("a list");
    for item in items {
        let expected = if item["name"] == **first {
            "error"
        } else {
            "success"
        };
        assert_eq!(item["status"], expected, "{}", item["name"]);
    }
    let why = items[0]["error"].as_str().expect("a reason");
    println!("{first}: {why}");
    assert!(why.contains("strongest"), "{why}");

    server.kill();
    server.restart();
    curl.base = format!("http://{}", server.http);
    // The file is repaired, based on the version that was read, and the item reset.
    let file = format!("/api/files/states/managers/{manager}");
    let version = curl.get(&format!("/api/managers/{manager}"))["version"].take();
    let mut document = curl.get(&file);
    document["workers"][0]["items"][0]["payload"]["content"] = days[first].clone();
    let etag = format!("If-Match: \"{}\"", version.as_str().expect("a version"));
    curl.run("PUT", &file, &[etag], Some(&document));
    let reset = json!({"worker": 1, "item": first});
    let reset = curl.send("POST", &format!("/api/managers/{manager}/reset"), &reset);
    assert_eq!(reset["changed"].as_array().map(Vec::len), Some(1));
    let now = tick_until_rest(&curl, &manager);
    assert_eq!(statuses(&now), ["success"; 3], "{}", now["workers"][1]);
    assert_eq!(now["status"], "done");

    // As many entities as the report says, and as there are days.
    let run = now["workers"][2]["items"][0]["workflow_id"]
        .as_str()
        .expect("a run");
    let report = curl.get(&format!("/api/runs/{run}"))["output"].take();
    curl.send("PUT", "/api/files/reports/earthquakes.json", &report);
    let report = curl.get("/api/files/reports/earthquakes.json");
    println!("{report}");
    let strong = days
        .values()
        .filter(|day| day["strongest"].as_f64() >= Some(5.0));
    assert_eq!(
        report,
        json!({"days": days.len(), "strong": strong.count()})
    );
    let entities = curl.get("/api/entity/day/1?pageSize=100");
    assert_eq!(entities.as_array().map(Vec::len), Some(days.len()));
    let runs = curl.get("/api/runs?definition=org.acme.quakes:import-day&limit=1000");
    let runs = runs["items"].as_array().map(Vec::len);
    assert_eq!(runs, Some(days.len() + 1), "one was run again");
}
