//! A folder that has the files of a namespace: people edit it while managers in it are ticked
//! (`runs.md` §8, `INTERLOCK_MANAGER_DIR`).

use std::{
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use tokio::time::timeout;

use crate::support::{
    Connection, Member, Reply, Server, between_looks, code, create, governed_model, new_entity,
    processed_by, sync_processor,
};

const PATIENCE: Duration = Duration::from_secs(30);

/// The file of the documented manager.
const FILE: &str = "com.finmars.standard-workflow:workflow-manager-20240821095322.json";

/// A server whose files are in a folder.
fn server(settings: &[(&str, &str)]) -> Server {
    let given = [
        ("INTERLOCK_MANAGER_DIR", "files"),
        ("INTERLOCK_MANAGER_INTERVAL", "0"),
    ];
    Server::on_disk(&[&given, settings].concat())
}

fn at(server: &Server, path: &str) -> PathBuf {
    server.folder().join(format!("files{path}"))
}

fn manager_at(server: &Server, name: &str) -> PathBuf {
    at(server, &format!("/states/managers/{name}"))
}

/// Writes a file as an editor does: beside it, and then in its place.
fn save(path: &Path, content: &str) {
    fs::create_dir_all(path.parent().expect("a folder")).expect("makes");
    let beside = path.with_extension("editing");
    fs::write(&beside, content).expect("writes");
    fs::rename(&beside, path).expect("renames");
}

fn read(path: &Path) -> Value {
    let text = fs::read_to_string(path).expect("there");
    serde_json::from_str(&text).expect("JSON")
}

async fn tick(connection: &Connection) -> Value {
    connection.ok("ManagerTickRequest", json!({})).await
}

/// A step workflow that ends when it is signalled.
async fn waits_for_a_signal(connection: &Connection, name: &str) {
    let document = json!({"kind": "Workflow", "name": name, "version": "1", "start": {
        "waitForSignal": {"type": "go"}, "transitions": {"success": "flo.Completed"}
    }});
    let payload = json!({"document": document});
    connection.ok("RunDefinitionCreateRequest", payload).await;
}

async fn signal(connection: &Connection, run: &Value) {
    let payload = json!({"runId": run, "type": "go"});
    connection.ok("RunSignalRequest", payload).await;
    let follow = json!({"runId": run, "fromSequence": 0});
    let ended = connection.all("RunHistorySubscribeRequest", follow);
    timeout(PATIENCE, ended).await.expect("it ends");
}

/// The ids of all runs of a definition.
async fn runs(connection: &Connection, name: &str) -> Vec<String> {
    let of = json!({"definition": name, "limit": 1000});
    let found = connection.ok("RunsGetRequest", of).await;
    let items = found["items"].as_array().expect("a list").iter();
    let ids = items.map(|run| run["runId"].as_str().expect("an id").to_owned());
    let mut ids: Vec<String> = ids.collect();
    ids.sort();
    ids
}

/// The ids that a manager's items name.
fn named(manager: &Value) -> Vec<String> {
    let items = manager["workers"][0]["items"].as_array().expect("a list");
    let ids = items.iter().filter_map(|item| item["workflow_id"].as_str());
    let mut ids: Vec<String> = ids.map(ToOwned::to_owned).collect();
    ids.sort();
    ids
}

/// A manager with one worker, which is at work.
fn of_items(target: &str, items: &Value) -> String {
    json!({"status": "in-progress", "workers": [{
        "order": 1, "configuration_code": "org.acme", "user_code": target, "status": "in-progress",
        "items": items
    }]})
    .to_string()
}

fn items(count: usize) -> Value {
    let item = |n| json!({"status": "to-do", "state_path": format!("/s/{n}")});
    (0..count).map(item).collect()
}

#[tokio::test]
async fn a_folder_that_is_not_there_is_made_with_a_warning() {
    let mut server = server(&[]);
    for is_made in [true, false] {
        let log = server.logged();
        let is_said = log.contains("the folder of INTERLOCK_MANAGER_DIR was created");
        assert_eq!(is_said, is_made, "{log}");
        server.kill();
        server.restart();
    }
    assert!(at(&server, "").is_dir());
}

#[tokio::test]
async fn the_files_of_a_folder_are_read_written_listed_and_deleted() {
    let server = server(&[]);
    let rest = server.rest();
    let content = "{\"z\": 1.500,\n  \"a\": [12345678901234567890, 1e2 ]}";
    let written = rest.put("/api/files/states/a%20b.json", content).await;
    let version = written.ok()["version"].clone();
    let path = at(&server, "/states/a b.json");
    let bytes = fs::read(&path).expect("there");
    assert_eq!(bytes, content.as_bytes(), "byte for byte");
    assert_eq!(version, hex::encode(Sha256::digest(&bytes)));
    let tag = format!("\"{}\"", version.as_str().expect("a text"));
    assert_eq!(written.headers["etag"], tag);

    // What people write is what is read.
    save(&path, "{\"by\": \"hand\"}\n");
    let found = rest.get("/api/files/states/a%20b.json").await;
    assert_eq!(found.text, "{\"by\": \"hand\"}\n");
    assert_ne!(found.headers["etag"], tag);
    let stale = rest.with("if-match", &tag);
    let refused = stale.put("/api/files/states/a%20b.json", "1").await;
    refused.refused(412, "ENTITY_MODIFIED");
    let new = rest.with("if-none-match", "*");
    let refused = new.put("/api/files/states/a%20b.json", "1").await;
    refused.refused(412, "ENTITY_MODIFIED");
    let now = found.headers["etag"].to_str().expect("a text");
    let fresh = rest.with("if-match", now);
    fresh.put("/api/files/states/a%20b.json", "2").await.ok();
    save(&at(&server, "/states/c.json"), "3");
    let connection = server.connect().await;
    let listed = json!({"prefix": "/states/", "limit": 1});
    let page = connection.ok("FilesGetRequest", listed).await;
    assert_eq!(page["items"][0]["path"], "/states/a b.json");
    assert_eq!(page["pagination"]["hasNext"], true);
    let next = json!({"prefix": "/states/", "cursor": page["pagination"]["nextCursor"]});
    let page = connection.ok("FilesGetRequest", next).await;
    let item = &page["items"][0];
    assert_eq!(
        (&item["path"], &item["size"]),
        (&json!("/states/c.json"), &json!(1))
    );
    let got = json!({"path": "/states/c.json"});
    let got = connection.ok("FileGetRequest", got).await;
    assert_eq!(
        (&got["version"], &got["updatedAt"]),
        (&item["version"], &item["updatedAt"])
    );
    assert_eq!(
        (&got["content"], &got["updatedBy"]),
        (&json!(3), &json!("folder"))
    );
    let stale = json!({"path": "/states/c.json", "ifMatch": version});
    let stale = connection.fails("FileDeleteRequest", stale).await;
    assert_eq!(stale, "ENTITY_MODIFIED");
    let gone = json!({"path": "/states/c.json"});
    connection.ok("FileDeleteRequest", gone.clone()).await;
    assert!(!at(&server, "/states/c.json").exists());
    for kind in ["FileGetRequest", "FileDeleteRequest"] {
        let missing = connection.fails(kind, gone.clone()).await;
        assert_eq!(missing, "FILE_NOT_FOUND");
    }
}

#[tokio::test]
async fn only_the_namespace_of_the_folder_is_in_it() {
    let server = server(&[
        ("INTERLOCK_MANAGER_NAMESPACE", "shared"),
        ("INTERLOCK_MANAGER_TENANT", "acme"),
        ("INTERLOCK_IAM_MOCK_CALLER", "true"),
    ]);
    let ours = server.connect_as(&[("x-mock-tenant", "acme")]).await;
    let theirs = server.connect_as(&[("x-mock-tenant", "other")]).await;
    let put = async |connection: &Connection, namespace: &str| {
        let payload = json!({"path": "/a.json", "content": 1, "namespace": namespace});
        connection.ok("FilePutRequest", payload).await
    };
    put(&theirs, "shared").await;
    put(&ours, "default").await;
    assert!(!at(&server, "/a.json").exists());
    put(&ours, "shared").await;
    assert_eq!(read(&at(&server, "/a.json")), 1);
    save(&at(&server, "/b.json"), "2");
    let path = json!({"path": "/b.json", "namespace": "shared"});
    assert_eq!(
        theirs.fails("FileGetRequest", path.clone()).await,
        "FILE_NOT_FOUND"
    );
    assert_eq!(ours.ok("FileGetRequest", path).await["content"], 2);
}

#[tokio::test]
async fn no_path_and_no_link_leads_out_of_the_folder() {
    let server = server(&[]);
    let rest = server.rest();
    let secret = server.folder().join("secret.json");
    fs::write(&secret, "{\"secret\": 1}").expect("writes");
    symlink(&secret, at(&server, "/link.json")).expect("links");
    symlink(server.folder(), at(&server, "/away")).expect("links");
    for path in [
        "%2e%2e/secret.json",
        "a/%2E%2E/%2E%2E/secret.json",
        "%2Fetc",
        "a%00",
    ] {
        let refused = rest.get(&format!("/api/files/{path}")).await;
        refused.refused(400, "BAD_REQUEST");
        let refused = rest.put(&format!("/api/files/{path}"), "1").await;
        refused.refused(400, "BAD_REQUEST");
    }
    for path in ["link.json", "away/secret.json", ".hidden", ".git/config"] {
        let missing = rest.get(&format!("/api/files/{path}")).await;
        missing.refused(404, "FILE_NOT_FOUND");
        let refused = rest.put(&format!("/api/files/{path}"), "1").await;
        refused.refused(400, "BAD_REQUEST");
        rest.send("DELETE", &format!("/api/files/{path}"), "")
            .await
            .problem();
    }
    assert_eq!(read(&secret), json!({"secret": 1}));
    let listed = rest.get("/api/files").await.ok();
    assert_eq!(listed["items"], json!([]));
    // Neither is what a manager names read there.
    let connection = server.connect().await;
    waits_for_a_signal(&connection, "org.acme:a").await;
    fs::write(&secret, "{\"status\": \"success\"}").expect("writes");
    let item = json!([{"status": "in-progress", "state_path": "/link.json"}]);
    save(&manager_at(&server, "m.json"), &of_items("a", &item));
    tick(&connection).await;
    let item = &read(&manager_at(&server, "m.json"))["workers"][0]["items"][0];
    assert_eq!(item["status"], "error", "{item}");
    assert!(
        item["error"]
            .as_str()
            .is_some_and(|why| why.contains("link")),
        "{item}"
    );
}

#[tokio::test]
async fn files_that_cannot_be_read_are_reported_and_every_other_manager_goes_on() {
    let server = server(&[]);
    let connection = server.connect().await;
    let rest = server.rest();
    waits_for_a_signal(&connection, "org.acme:a").await;
    let large = format!("\"{}\"", "x".repeat(16 << 20));
    let broken = [
        ("broken.json", "{\"status\": "),
        ("empty.json", ""),
        ("large.json", &*large),
        ("other.json", "[1]"),
    ];
    for (name, content) in broken {
        save(&manager_at(&server, name), content);
    }
    fs::write(manager_at(&server, "bytes.json"), [0xff, 0xfe]).expect("writes");
    fs::create_dir(manager_at(&server, "folder.json")).expect("makes");
    save(&manager_at(&server, "z.json"), &of_items("a", &items(1)));
    for (name, content) in broken.iter().filter(|(name, _)| *name != "other.json") {
        let found = rest
            .get(&format!("/api/files/states/managers/{name}"))
            .await;
        found.refused(400, "VALIDATION_FAILED");
        let shown = rest.get(&format!("/api/managers/{name}")).await;
        shown.refused(400, "VALIDATION_FAILED");
        let paused = rest.post(&format!("/api/managers/{name}/pause"), "").await;
        paused.refused(400, "VALIDATION_FAILED");
        let now = fs::read_to_string(manager_at(&server, name)).expect("there");
        assert_eq!(now, *content, "it is left untouched");
    }
    let ticked = tick(&connection).await;
    let processed = ticked["processed"].as_array().expect("a list");
    let names: Vec<_> = processed.iter().map(|one| one["manager"].clone()).collect();
    let bad = [
        "broken.json",
        "bytes.json",
        "empty.json",
        "large.json",
        "other.json",
    ];
    assert_eq!(names, [&bad[..], &["z.json"]].concat());
    for one in &processed[..bad.len()] {
        assert!(one["error"].is_string(), "{one}");
    }
    assert_eq!(
        processed[bad.len()]["started"].as_array().map(Vec::len),
        Some(1)
    );
    let listed = rest.get("/api/managers").await.ok();
    let with_errors = listed["items"].as_array().expect("a list").iter();
    let with_errors = with_errors.filter(|item| item["error"].is_string());
    assert_eq!(with_errors.count(), bad.len());

    // What an editor had half written is whole at the next tick.
    save(
        &manager_at(&server, "broken.json"),
        &of_items("a", &items(1)),
    );
    // One vanishes, and one gets another name.
    fs::remove_file(manager_at(&server, "empty.json")).expect("removes");
    fs::rename(manager_at(&server, "z.json"), manager_at(&server, "y.json")).expect("renames");
    let ticked = tick(&connection).await;
    assert_eq!(
        ticked["registry"]["in-progress"],
        json!(["broken.json", "y.json"])
    );
    let of_y = read(&manager_at(&server, "y.json"));
    let run = json!(named(&of_y)[0]);
    signal(&connection, &run).await;
    tick(&connection).await;
    assert_eq!(read(&manager_at(&server, "y.json"))["status"], "done");
    assert_eq!(runs(&connection, "org.acme:a").await.len(), 2);
}

#[tokio::test]
async fn state_files_that_cannot_be_read_are_errors_of_their_items() {
    let server = server(&[]);
    let connection = server.connect().await;
    waits_for_a_signal(&connection, "org.acme:a").await;
    let in_progress = |path: &str| json!({"status": "in-progress", "state_path": path});
    let all = json!([
        in_progress("/s/large"), in_progress("/s/half"), in_progress("/s/folder"),
        in_progress("/s/a/b/c"), {"status": "to-do", "state_path": "/s/good"}
    ]);
    save(&at(&server, "/s/large"), &" ".repeat((16 << 20) + 1));
    save(&at(&server, "/s/half"), "{\"status\": \"succ");
    fs::create_dir(at(&server, "/s/folder")).expect("makes");
    save(&at(&server, "/s/a"), "{}");
    save(&manager_at(&server, "m.json"), &of_items("a", &all));
    let ticked = tick(&connection).await;
    assert_eq!(ticked["processed"][0]["started"][0]["item"], 4);
    let now = read(&manager_at(&server, "m.json"));
    let found = now["workers"][0]["items"].as_array().expect("a list");
    for item in &found[..4] {
        assert_eq!(item["status"], "error", "{item}");
        assert!(
            item["error"].as_str().is_some_and(|why| !why.is_empty()),
            "{item}"
        );
    }
}

#[tokio::test]
async fn no_work_begins_while_its_state_file_cannot_be_read() {
    let server = server(&[]);
    let connection = server.connect().await;
    waits_for_a_signal(&connection, "org.acme:a").await;
    // The file system refuses to look for such a name, as it does without permissions.
    let path = format!("/s/{}", "x".repeat(300));
    fs::create_dir(at(&server, "/s")).expect("makes");
    let item = json!([{"status": "to-do", "state_path": path}]);
    save(&manager_at(&server, "m.json"), &of_items("a", &item));
    let ticked = tick(&connection).await;
    assert!(ticked["processed"][0]["error"].is_string(), "{ticked}");
    let begun = runs(&connection, "org.acme:a").await;
    assert!(begun.is_empty(), "{begun:?}");
}

#[tokio::test]
async fn the_documented_batch_is_done_tick_by_tick_in_a_folder() {
    let mut server = server(&[]);
    let connection = server.connect().await;
    waits_for_a_signal(&connection, "org.acme.flows:import-file").await;
    waits_for_a_signal(&connection, "org.acme.flows:calculate").await;
    let manager = include_str!("fixtures/finmars/manager.json");
    let registry = include_str!("fixtures/finmars/registry.json");
    save(&at(&server, "/states/global_state_manager.json"), registry);
    save(&manager_at(&server, FILE), manager);
    let first = tick(&connection).await;
    let lists = json!({"to-do": [], "in-progress": [FILE], "done": [], "paused": []});
    assert_eq!(first["registry"], lists);
    assert_eq!(
        read(&at(&server, "/states/global_state_manager.json")),
        lists
    );
    let started = &first["processed"][0]["started"][0];
    let now = read(&manager_at(&server, FILE));
    let first_item = &now["workers"][0]["items"][0];
    assert_eq!(first_item["workflow_id"], started["runId"]);
    let run = json!({"runId": started["runId"]});
    let run = connection.ok("RunGetRequest", run).await["run"].take();
    assert_eq!(
        (&run["startedBy"], &run["input"]["item"]),
        (&json!("manager"), &json!(0))
    );
    let second = tick(&connection).await;
    let other = second["processed"][0]["started"][0]["runId"].clone();
    // Nothing is written where nothing changes.
    let before = fs::read_to_string(manager_at(&server, FILE)).expect("there");
    assert_eq!(tick(&connection).await["processed"][0]["changed"], false);
    assert_eq!(
        fs::read_to_string(manager_at(&server, FILE)).expect("there"),
        before
    );

    // One says itself how it ended, of the other the end of its run counts.
    save(
        &at(&server, "/states/items/import-20240820.json"),
        "{\"status\": \"success\"}",
    );
    assert_ne!(other, started["runId"]);
    signal(&connection, &started["runId"]).await;
    let fourth = tick(&connection).await;
    let last = fourth["processed"][0]["started"][0]["runId"].clone();
    server.kill();
    server.restart();
    let connection = server.connect().await;
    signal(&connection, &last).await;
    let done = tick(&connection).await;
    assert_eq!(done["registry"]["done"], json!([FILE]));
    let now = read(&manager_at(&server, FILE));
    assert_eq!(now["status"], "done", "{now}");
    assert_eq!(tick(&connection).await["processed"], json!([]));
}

#[tokio::test]
async fn what_a_person_writes_between_two_ticks_is_kept() {
    let server = server(&[]);
    let connection = server.connect().await;
    waits_for_a_signal(&connection, "org.acme:a").await;
    for name in ["a.json", "b.json"] {
        save(&manager_at(&server, name), &of_items("a", &items(2)));
    }
    // An item set to `skip`, another manager set to `paused`, notes and white space.
    let mut edited =
        of_items("a", &items(3)).replace("\"items\"", "\n \"note\" : 1.50 ,\n\"items\"");
    edited = edited.replacen("\"to-do\"", "\"skip\"", 1);
    save(&manager_at(&server, "a.json"), &edited);
    let paused = of_items("a", &items(2)).replacen("\"in-progress\"", "\"paused\"", 1);
    let is_paused = read(&manager_at(&server, "b.json"))["status"] == "in-progress";
    assert!(is_paused);
    let paused = serde_json::from_str::<Value>(&paused).map(|mut manager| {
        manager["status"] = json!("paused");
        manager.to_string()
    });
    save(&manager_at(&server, "b.json"), &paused.expect("JSON"));
    let ticked = tick(&connection).await;
    assert_eq!(ticked["registry"]["paused"], json!(["b.json"]));
    assert_eq!(ticked["processed"].as_array().map(Vec::len), Some(1));
    let started = ticked["processed"][0]["started"]
        .as_array()
        .expect("a list");
    assert_eq!(started.len(), 2);
    let text = fs::read_to_string(manager_at(&server, "a.json")).expect("there");
    assert!(text.contains("\n \"note\" : 1.50 ,\n"), "{text}");
    let now = read(&manager_at(&server, "a.json"));
    assert_eq!(now["workers"][0]["items"][0]["status"], "skip");
    assert_eq!(named(&now), runs(&connection, "org.acme:a").await);
    // Put back to `to-do` by hand, it is done again.
    let run = json!(named(&now)[0]);
    connection
        .ok("RunCancelRequest", json!({"runId": run}))
        .await;
    tick(&connection).await;
    let mut now = read(&manager_at(&server, "a.json"));
    let failed = now["workers"][0]["items"].as_array_mut().expect("a list");
    let failed = failed.iter_mut().find(|item| item["status"] == "error");
    failed.expect("an error")["status"] = json!("to-do");
    now["workers"][0]["status"] = json!("in-progress");
    save(&manager_at(&server, "a.json"), &now.to_string());
    let again = tick(&connection).await;
    assert_eq!(
        again["processed"][0]["started"].as_array().map(Vec::len),
        Some(1)
    );
    assert_eq!(runs(&connection, "org.acme:a").await.len(), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_person_writes_during_ticks_is_kept_and_nothing_is_started_twice() {
    let server = server(&[]);
    let connection = server.connect().await;
    waits_for_a_signal(&connection, "org.acme:a").await;
    for round in 0..10 {
        let path = manager_at(&server, &format!("m{round}.json"));
        let state = |n| json!({"status": "to-do", "state_path": format!("/s/{round}/{n}")});
        let all: Value = (0..20).map(state).collect();
        save(&path, &of_items("a", &all));
        // A person's editor, which reads the file, and some time later replaces it.
        let edited = path.clone();
        let person = tokio::task::spawn_blocking(move || {
            for note in 0..20 {
                let mut content = read(&edited);
                content["note"] = json!(note);
                save(&edited, &content.to_string());
            }
        });
        let (_, _, edited) = tokio::join!(tick(&connection), tick(&connection), person);
        edited.expect("no panic");
        let settled = async {
            while named(&read(&path)).len() < 20 {
                tick(&connection).await;
            }
        };
        timeout(PATIENCE, settled).await.expect("all are started");
        tick(&connection).await;
        let now = read(&path);
        assert_eq!(now["note"], 19, "{now}");
    }
    let mut all: Vec<String> = (0..10)
        .flat_map(|round| named(&read(&manager_at(&server, &format!("m{round}.json")))))
        .collect();
    all.sort();
    assert_eq!(
        runs(&connection, "org.acme:a").await,
        all,
        "each item is started once"
    );
}

#[tokio::test]
async fn a_file_saved_from_an_older_copy_starts_nothing_again() {
    let server = server(&[]);
    let connection = server.connect().await;
    waits_for_a_signal(&connection, "org.acme:a").await;
    let path = manager_at(&server, "m.json");
    let older = of_items("a", &items(2));
    save(&path, &older);
    tick(&connection).await;
    let first = named(&read(&path));
    assert_eq!(first.len(), 2);
    // An editor had it open meanwhile.
    save(&path, &older.replace("\"order\"", "\"note\": 1, \"order\""));
    let ticked = tick(&connection).await;
    assert_eq!(ticked["processed"][0]["started"], json!([]));
    let now = read(&path);
    assert_eq!(named(&now), first, "the items get their work back");
    assert_eq!(now["workers"][0]["note"], 1);
    for run in &first {
        signal(&connection, &json!(run)).await;
    }
    tick(&connection).await;
    assert_eq!(read(&path)["status"], "done");
    assert_eq!(runs(&connection, "org.acme:a").await, first);
    // Once that is over, the same file is a batch to be done again.
    save(&path, &older);
    tick(&connection).await;
    assert_eq!(runs(&connection, "org.acme:a").await.len(), 4);
}

#[tokio::test]
async fn two_ticks_at_once_start_nothing_twice_in_a_folder() {
    let server = server(&[("INTERLOCK_MANAGER_INTERVAL", "5ms")]);
    let connection = server.connect().await;
    waits_for_a_signal(&connection, "org.acme:a").await;
    let path = manager_at(&server, "m.json");
    save(&path, &of_items("a", &items(50)));
    let ticking = (0..8).map(|_| tick(&connection));
    let all = futures_util::future::join_all(ticking).await;
    assert_eq!(all.len(), 8);
    let now = read(&path);
    assert_eq!(named(&now).len(), 50);
    assert_eq!(named(&now), runs(&connection, "org.acme:a").await);
}

#[tokio::test]
async fn two_processes_do_not_use_one_folder() {
    let first = server(&[]);
    let folder = first.folder().join("files");
    let mut second = Command::new(env!("CARGO_BIN_EXE_interlock"));
    second
        .env_clear()
        .env("HOME", first.folder())
        .env("CYODA_STORAGE_BACKEND", "memory")
        .env("INTERLOCK_MANAGER_DIR", &folder);
    for port in ["CYODA_HTTP_PORT", "CYODA_GRPC_PORT", "CYODA_ADMIN_PORT"] {
        second.env(port, "0");
    }
    let output = tokio::task::spawn_blocking(move || second.output());
    let output = timeout(PATIENCE, output).await.expect("it ends");
    let output = output.expect("no panic").expect("it starts");
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8_lossy(&output.stderr) + String::from_utf8_lossy(&output.stdout);
    assert!(said.contains("is used by another process"), "{said}");
}

#[tokio::test]
async fn what_cannot_be_started_is_an_error_of_its_item_in_a_folder() {
    let server = server(&[]);
    let connection = server.connect().await;
    waits_for_a_signal(&connection, "org.acme:off").await;
    let off = json!({"name": "org.acme:off", "enabled": false});
    connection.ok("RunDefinitionSetEnabledRequest", off).await;
    save(
        &manager_at(&server, "off.json"),
        &of_items("off", &items(1)),
    );
    let own = json!({"status": "in-progress", "workers": [{
        "configuration_code": "com.finmars.standard-workflow", "user_code": "workflow-manager",
        "items": items(1)
    }]});
    save(&manager_at(&server, "own.json"), &own.to_string());
    save(
        &manager_at(&server, "task.json"),
        &of_items("nobody", &items(1)),
    );
    let ticked = tick(&connection).await;
    for (name, why) in [
        ("off.json", "RUN_DEFINITION_DISABLED"),
        ("own.json", "cannot start managers"),
    ] {
        let now = read(&manager_at(&server, name));
        assert_eq!(now["status"], "error", "{now}");
        let said = now["workers"][0]["items"][0]["error"].as_str();
        assert!(said.is_some_and(|said| said.contains(why)), "{now}");
    }
    assert_eq!(ticked["registry"]["done"], json!(["off.json", "own.json"]));
    // What no definition has the name of is a task for a member.
    let task = &processed(&ticked, "task.json")["started"][0]["taskId"];
    let named = &read(&manager_at(&server, "task.json"))["workers"][0]["items"][0]["workflow_id"];
    assert_eq!(named, task);
    let shown = connection
        .ok("TaskGetRequest", json!({"taskId": task}))
        .await;
    assert_eq!(shown["task"]["kind"], "item");
    let on = json!({"name": "org.acme:off", "enabled": true});
    connection.ok("RunDefinitionSetEnabledRequest", on).await;
    let reset = json!({"manager": "off.json", "do": "reset"});
    connection.ok("ManagerControlRequest", reset).await;
    let ticked = tick(&connection).await;
    let off = processed(&ticked, "off.json");
    assert_eq!(off["started"].as_array().map(Vec::len), Some(1));
}

/// What a tick did with a manager.
fn processed<'a>(ticked: &'a Value, manager: &str) -> &'a Value {
    let all = ticked["processed"].as_array().expect("managers");
    let found = all.iter().find(|one| one["manager"] == manager);
    found.unwrap_or_else(|| panic!("{manager} was not processed: {ticked}"))
}

#[tokio::test]
async fn what_editors_leave_beside_a_manager_is_not_one() {
    let server = server(&[]);
    let connection = server.connect().await;
    waits_for_a_signal(&connection, "org.acme:a").await;
    for name in [
        "m.json",
        "m.json~",
        ".m.json.swp",
        "m.json.bak",
        "4913",
        "#m.json#",
    ] {
        let path = manager_at(&server, name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("makes");
        fs::write(path, of_items("a", &items(1))).expect("writes");
    }
    let ticked = tick(&connection).await;
    assert_eq!(ticked["processed"].as_array().map(Vec::len), Some(1));
    assert_eq!(ticked["registry"]["in-progress"], json!(["m.json"]));
    assert_eq!(runs(&connection, "org.acme:a").await.len(), 1);
    let backup = json!({"payload": {"managers": ["m.json.bak"]}});
    let failed = connection.fails("ManagerTickRequest", backup).await;
    assert_eq!(failed, "MANAGER_NOT_FOUND");
    let listed = connection.ok("ManagersGetRequest", json!({})).await;
    assert_eq!(listed["items"].as_array().map(Vec::len), Some(1));
}

#[tokio::test]
async fn managers_that_people_put_into_a_folder_are_ticked_on_schedule() {
    let server = server(&[("INTERLOCK_MANAGER_INTERVAL", "20ms")]);
    let connection = server.connect().await;
    waits_for_a_signal(&connection, "org.acme:a").await;
    for name in ["a.json", "b.json"] {
        let path = manager_at(&server, name);
        save(&path, &of_items("a", &items(1)));
        let look = async {
            while named(&read(&path)).is_empty() {
                between_looks().await;
            }
        };
        timeout(PATIENCE, look).await.expect("it is started");
        // A folder without managers is looked at again.
        fs::remove_file(&path).expect("removes");
    }
}

#[tokio::test]
async fn a_manager_is_made_listed_shown_paused_and_resumed_in_a_folder() {
    let server = server(&[]);
    let rest = server.rest();
    let document = json!({"configuration_code": "org.acme", "user_code": "batch", "name": "A batch",
        "workers": []});
    let body = json!({"document": document}).to_string();
    let mut made = Vec::new();
    for _ in 0..2 {
        let created = rest.post("/api/managers", body.clone()).await.ok();
        made.push(created["manager"].as_str().expect("a name").to_owned());
    }
    assert_ne!(made[0], made[1], "each has a stamp of its own");
    let path = manager_at(&server, &made[0]);
    assert_eq!(read(&path), document);
    save(&path, "{ \"workers\" : [ ],\n\"note\": 1.50 }\n");
    let pause = format!("/api/managers/{}/pause", made[0]);
    assert_eq!(rest.post(&pause, "").await.ok()["status"], "paused");
    let text = fs::read_to_string(&path).expect("there");
    assert!(
        text.starts_with("{ \"workers\" : [ ],\n\"note\": 1.50"),
        "{text}"
    );
    assert!(text.ends_with('\n'), "{text}");
    let paused = rest.get("/api/managers?status=paused").await.ok();
    assert_eq!(paused["items"][0]["manager"], made[0]);
    let shown = rest.get(&format!("/api/managers/{}", made[0])).await;
    assert_eq!(shown.ok()["document"]["status"], "paused");
    let resume = format!("/api/managers/{}/resume", made[0]);
    assert_eq!(rest.post(&resume, "").await.ok()["status"], "in-progress");
}

#[tokio::test]
async fn a_broken_registry_in_a_folder_is_written_again() {
    let server = server(&[]);
    let connection = server.connect().await;
    assert_eq!(tick(&connection).await["processed"], json!([]));
    let registry = at(&server, "/states/global_state_manager.json");
    assert!(!registry.exists(), "a folder without managers has none");
    save(
        &manager_at(&server, "a.json"),
        r#"{"status": "done", "workers": []}"#,
    );
    let lists = json!({"to-do": [], "in-progress": [], "done": ["a.json"], "paused": []});
    for broken in [
        "null",
        "{\"to-do\": [",
        "",
        r#"{"done": ["a.json", "gone.json"], "more": 1}"#,
    ] {
        save(&registry, broken);
        tick(&connection).await;
        assert_eq!(read(&registry), lists, "{broken}");
    }
    let is_large = " ".repeat((16 << 20) + 1);
    save(&registry, &is_large);
    tick(&connection).await;
    assert_eq!(read(&registry), lists);
}

#[tokio::test]
async fn a_file_of_a_folder_is_not_written_in_a_transaction() {
    let server = server(&[]);
    let connection = server.connect().await;
    let member = Member::join(&server, &[]).await;
    let workflow = processed_by(json!([sync_processor("p", json!({}))]));
    let model = governed_model(&connection, "doc", json!({"n": 1}), workflow).await;
    save(&at(&server, "/b.json"), "{\"n\": 7}");
    member.serve(move |call, connection| async move {
        let with = [("cyodatxtoken", call.token())];
        let payload = json!({"path": "/a.json", "content": 1});
        let answer = connection
            .call_with("FilePutRequest", payload.clone(), &with)
            .await;
        assert_eq!(code(&answer), "BAD_REQUEST");
        let own = json!({"path": "/b.json"});
        let seen = connection.call_with("FileGetRequest", own, &with).await;
        assert_eq!(seen["content"]["n"], 7, "it can be read");
        connection.ok("FilePutRequest", payload).await;
        Reply::Nothing
    });
    connection
        .ok("EntityCreateRequest", new_entity(&model, &json!({"n": 1})))
        .await;
    create(&connection, &model, json!({"n": 2})).await;
    assert_eq!(read(&at(&server, "/a.json")), 1);
}

/// The error of a state file that items share is not written as often as there are items: the
/// file could not be read afterwards.
#[tokio::test]
async fn a_tick_writes_no_manager_that_the_next_cannot_read() {
    let server = server(&[]);
    let connection = server.connect().await;
    let state = json!({"status": "error", "error": "E".repeat(900_000)});
    save(&at(&server, "/e.json"), &state.to_string());
    let items = vec![json!({"status": "in-progress", "state_path": "/e.json"}); 30];
    let path = manager_at(&server, "m.json");
    save(&path, &of_items("a", &json!(items)));
    tick(&connection).await;
    let found = read(&path);
    assert_eq!(found["status"], "error");
    let error = found["workers"][0]["items"][29]["error"].as_str();
    let error = error.expect("a text");
    assert!(error.starts_with("EEE") && error.len() < 5_000, "{error}");
    let reset = json!({"manager": "m.json", "do": "reset"});
    connection.ok("ManagerControlRequest", reset).await;
}
