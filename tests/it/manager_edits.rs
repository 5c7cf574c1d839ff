//! People edit managers between ticks and during one, with the files in the store and in a folder:
//! what they write is kept, and nothing is started twice (`orchestration.md` 3.2).

use std::{fs, path::PathBuf, time::Duration};

use serde_json::{Value, json};
use tokio::time::timeout;

use crate::support::{Connection, Server};

const PATIENCE: Duration = Duration::from_secs(30);

/// Where the files are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    Store,
    Folder,
}

/// A person, who opens files and saves them.
struct Person {
    mode: Mode,
    connection: Connection,
    folder: PathBuf,
}

impl Person {
    fn path(name: &str) -> String {
        format!("/states/managers/{name}")
    }

    fn on_disk(&self, name: &str) -> PathBuf {
        self.folder.join(format!("files{}", Self::path(name)))
    }

    async fn open(&self, name: &str) -> (Value, Value) {
        if self.mode == Mode::Folder {
            let text = fs::read_to_string(self.on_disk(name)).expect("there");
            return (serde_json::from_str(&text).expect("JSON"), Value::Null);
        }
        let path = json!({"path": Self::path(name)});
        let mut found = self.connection.ok("FileGetRequest", path).await;
        (found["content"].take(), found["version"].take())
    }

    /// Whether it was saved: an editor of a folder does not ask whether somebody was faster.
    async fn save(&self, name: &str, content: &Value, version: &Value) -> bool {
        if self.mode == Mode::Folder {
            let path = self.on_disk(name);
            fs::create_dir_all(path.parent().expect("a folder")).expect("makes");
            let beside = path.with_extension("editing");
            fs::write(&beside, content.to_string()).expect("writes");
            fs::rename(&beside, &path).expect("renames");
            return true;
        }
        let mut payload = json!({"path": Self::path(name), "content": content});
        if version.is_string() {
            payload["ifMatch"] = version.clone();
        }
        let answer = self.connection.call("FilePutRequest", payload).await;
        answer["success"] == true
    }

    async fn edit(&self, name: &str, edit: impl Fn(&mut Value)) {
        let editing = async {
            loop {
                let (mut content, version) = self.open(name).await;
                edit(&mut content);
                if self.save(name, &content, &version).await {
                    return;
                }
            }
        };
        timeout(PATIENCE, editing).await.expect("it is saved");
    }
}

async fn tick(connection: &Connection) -> Value {
    connection.ok("ManagerTickRequest", json!({})).await
}

fn manager(name: &str, count: usize) -> Value {
    let item = |n| json!({"status": "to-do", "state_path": format!("/s/{name}/{n}")});
    json!({"status": "in-progress", "note": 1.5, "workers": [{"order": 1, "status": "in-progress",
        "configuration_code": "org.acme", "user_code": "a",
        "items": (0..count).map(item).collect::<Vec<_>>()}]})
}

#[expect(clippy::print_stderr, reason = "it shows what is kept")]
fn print(moment: &str, manager: &Value) {
    let items = manager["workers"][0]["items"].as_array().expect("a list");
    let items: Vec<_> = items.iter().map(|item| item["status"].as_str()).collect();
    eprintln!("{moment}: {} {items:?}", manager["status"]);
}

/// The ids of all runs that were started.
async fn started(connection: &Connection) -> Vec<String> {
    let found = connection
        .ok("RunsGetRequest", json!({"limit": 1000}))
        .await;
    let items = found["items"].as_array().expect("a list").iter();
    let ids = items.map(|run| run["runId"].as_str().expect("an id").to_owned());
    ids.collect()
}

/// The ids that the items of managers name.
fn named(managers: &[Value]) -> Vec<String> {
    let items = managers
        .iter()
        .flat_map(|manager| manager["workers"][0]["items"].as_array().expect("a list"));
    let ids = items.filter_map(|item| item["workflow_id"].as_str());
    ids.map(ToOwned::to_owned).collect()
}

async fn edits_are_kept(mode: Mode) {
    let mut settings = vec![("INTERLOCK_MANAGER_INTERVAL", "0")];
    if mode == Mode::Folder {
        settings.push(("INTERLOCK_MANAGER_DIR", "files"));
    }
    let server = Server::on_disk(&settings);
    let connection = server.connect().await;
    let document = json!({"kind": "Workflow", "name": "org.acme:a", "version": "1", "start": {
        "waitForSignal": {"type": "go"}, "transitions": {"success": "flo.Completed"}}});
    connection
        .ok("RunDefinitionCreateRequest", json!({"document": document}))
        .await;
    let person = Person {
        mode,
        connection: server.connect().await,
        folder: server.folder(),
    };

    // Between two ticks.
    for name in ["a.json", "b.json"] {
        assert!(person.save(name, &manager(name, 3), &Value::Null).await);
    }
    person
        .edit("a.json", |content| {
            content["workers"][0]["items"][1]["status"] = json!("skip");
        })
        .await;
    person
        .edit("b.json", |content| content["status"] = json!("paused"))
        .await;
    let ticked = tick(&connection).await;
    assert_eq!(ticked["registry"]["paused"], json!(["b.json"]));
    let (a, _) = person.open("a.json").await;
    let (b, _) = person.open("b.json").await;
    print("between ticks, one skipped", &a);
    print("between ticks, one paused", &b);
    assert_eq!(a["workers"][0]["items"][1]["status"], "skip");
    assert_eq!((named(&[a]).len(), named(&[b]).len()), (2, 0));

    // During ticks.
    let names: Vec<String> = (0..10).map(|n| format!("m{n}.json")).collect();
    for name in &names {
        assert!(person.save(name, &manager(name, 10), &Value::Null).await);
        let editing = async {
            person
                .edit(name, |content| {
                    content["workers"][0]["items"][4]["status"] = json!("skip");
                })
                .await;
            person
                .edit(name, |content| {
                    content["status"] = json!("paused");
                    content["note"] = json!(name);
                })
                .await;
        };
        tokio::join!(tick(&connection), tick(&connection), editing);
    }
    let ticked = tick(&connection).await;
    let mut paused = names.clone();
    paused.insert(0, "b.json".to_owned());
    let list = ticked["registry"]["paused"].as_array().expect("a list");
    let mut listed: Vec<_> = list.iter().filter_map(Value::as_str).collect();
    listed.sort_unstable();
    assert_eq!(listed, paused);
    for name in &names {
        let (now, _) = person.open(name).await;
        print("during ticks", &now);
        assert_eq!(
            (&now["status"], &now["note"]),
            (&json!("paused"), &json!(name))
        );
        assert_eq!(now["workers"][0]["items"][4]["status"], "skip", "{now}");
        person
            .edit(name, |content| content["status"] = json!("in-progress"))
            .await;
    }
    tick(&connection).await;
    tick(&connection).await;
    let mut all = Vec::new();
    for name in names.iter().map(String::as_str).chain(["a.json"]) {
        let (now, _) = person.open(name).await;
        let items = now["workers"][0]["items"].as_array().expect("a list");
        let done = |item: &&Value| item["status"] == "in-progress" || item["status"] == "skip";
        assert_eq!(items.iter().filter(done).count(), items.len(), "{now}");
        all.push(now);
    }
    let (mut started, mut held) = (started(&connection).await, named(&all));
    started.sort();
    held.sort();
    if mode == Mode::Store {
        assert_eq!(started, held, "each is started once");
        return;
    }
    // A file that is saved from a copy loses the id of an item that is skipped by then.
    let inputs = started.len() - held.len();
    assert!(inputs <= names.len(), "{started:?} {held:?}");
    assert!(
        held.iter().all(|id| started.contains(id)),
        "each is started once"
    );
}

#[tokio::test]
async fn what_people_write_into_the_store_between_and_during_ticks_is_kept() {
    edits_are_kept(Mode::Store).await;
}

#[tokio::test]
async fn what_people_write_into_a_folder_between_and_during_ticks_is_kept() {
    edits_are_kept(Mode::Folder).await;
}
