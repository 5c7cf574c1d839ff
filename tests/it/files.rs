//! Files: written, read, listed and deleted, through REST, as events and by the command line
//! (`runs.md` §8).

use std::{fs, process::Command, time::Duration};

use serde_json::{Value, json};

use crate::support::{
    Connection, Member, Reply, Server, code, create, governed_model, new_entity, processed_by,
    sync_processor,
};

async fn put(connection: &Connection, path: &str, content: Value) -> Value {
    let payload = json!({"path": path, "content": content});
    let written = connection.ok("FilePutRequest", payload).await;
    written["version"].clone()
}

async fn get(connection: &Connection, path: &str) -> Value {
    connection.ok("FileGetRequest", json!({"path": path})).await
}

async fn paths(connection: &Connection, prefix: &str) -> Vec<String> {
    let listed = connection
        .ok("FilesGetRequest", json!({"prefix": prefix}))
        .await;
    let items = listed["items"].as_array().expect("a list");
    let path = |item: &Value| item["path"].as_str().expect("a path").to_owned();
    items.iter().map(path).collect()
}

#[tokio::test]
async fn a_file_is_read_as_it_was_written_and_outlives_a_restart() {
    let mut server = Server::on_disk(&[]);
    let rest = server.rest();
    let content = "{\"z\": 1.500,\n  \"a\": [12345678901234567890, 1e2 ],\"text\": \"\\u00fc\"}";
    let path = "/api/files/states/managers/org.acme.flows:a%20b-20240821095322.json";
    let written = rest.put(path, content).await;
    let version = written.ok()["version"].clone();
    let tag = format!("\"{}\"", version.as_str().expect("a version"));
    assert_eq!(written.headers["etag"], tag);
    assert_eq!(
        written.ok()["path"],
        "/states/managers/org.acme.flows:a b-20240821095322.json"
    );
    server.kill();
    server.restart();
    let rest = server.rest();
    let read = rest.get(path).await;
    assert_eq!(read.status, 200);
    assert_eq!(read.text, format!("{content}\n"));
    assert_eq!(read.headers["etag"], tag);
    assert_eq!(read.headers["content-type"], "application/json");
    let connection = server.connect().await;
    let file = get(
        &connection,
        "/states/managers/org.acme.flows:a b-20240821095322.json",
    )
    .await;
    assert_eq!(file["version"], version);
    assert_eq!(file["updatedBy"], "mock-user-001");
    assert!(
        file["updatedAt"]
            .as_str()
            .is_some_and(|at| at.ends_with('Z'))
    );
}

#[tokio::test]
async fn any_json_is_a_content_and_a_file_is_replaced_as_a_whole() {
    let server = Server::start();
    let connection = server.connect().await;
    for content in [json!(null), json!([]), json!("text"), json!(1), json!({})] {
        put(&connection, "/a", content.clone()).await;
        assert_eq!(get(&connection, "/a").await["content"], content);
    }
    let missing = json!({"path": "/a"});
    let missing = connection.fails("FilePutRequest", missing).await;
    assert_eq!(missing, "BAD_REQUEST", "a content of null is not none");
}

#[tokio::test]
async fn a_change_based_on_another_version_is_refused_and_nothing_is_written() {
    let server = Server::start();
    let connection = server.connect().await;
    let change = async |if_match: &str, content: i32| {
        let payload = json!({"path": "/a", "content": content, "ifMatch": if_match});
        connection.call("FilePutRequest", payload).await
    };
    for absent in ["*", "01a1feaf-9657-73d8-8cc5-0f937d08e621"] {
        assert_eq!(code(&change(absent, 1).await), "ENTITY_MODIFIED");
    }
    let first = change("", 1).await;
    assert_eq!(first["success"], true, "{first}");
    let first = first["version"].as_str().expect("a version");
    let again = change("", 2).await;
    assert_eq!(code(&again), "ENTITY_MODIFIED");
    assert_eq!(again["error"]["properties"]["version"], *first);
    let second = change(first, 2).await;
    assert_eq!(second["success"], true, "{second}");
    assert_eq!(code(&change(first, 3).await), "ENTITY_MODIFIED");
    assert_eq!(change("*", 4).await["success"], true);
    assert_eq!(get(&connection, "/a").await["content"], 4);

    let delete = async |payload: Value| connection.call("FileDeleteRequest", payload).await;
    let stale = delete(json!({"path": "/a", "ifMatch": first})).await;
    assert_eq!(code(&stale), "ENTITY_MODIFIED");
    let deleted = delete(json!({"path": "/a"})).await;
    assert_eq!(deleted["path"], "/a");
    for kind in ["FileGetRequest", "FileDeleteRequest"] {
        let missing = connection.fails(kind, json!({"path": "/a"})).await;
        assert_eq!(missing, "FILE_NOT_FOUND");
    }
}

#[tokio::test]
async fn rest_names_the_version_by_headers() {
    let server = Server::start();
    let rest = server.rest();
    let path = "/api/files/a/b.json";
    let new = rest.with("if-none-match", "*");
    let first = new.put(path, "1").await;
    first.ok();
    new.put(path, "2").await.refused(412, "ENTITY_MODIFIED");
    let tag = first.headers["etag"].to_str().expect("text").to_owned();
    let second = rest.with("if-match", &tag).put(path, "2").await;
    second.ok();
    let stale = rest.with("if-match", &tag);
    stale.put(path, "3").await.refused(412, "ENTITY_MODIFIED");
    let stale = stale.send("DELETE", path, "").await;
    stale.refused(412, "ENTITY_MODIFIED");
    rest.with("if-match", "*").put(path, "4").await.ok();
    for (name, value) in [("if-match", "\"\""), ("if-none-match", "\"x\"")] {
        let odd = rest.with(name, value).put(path, "5").await;
        odd.refused(400, "BAD_REQUEST");
    }
    let both = rest.with("if-match", "*").with("if-none-match", "*");
    both.put(path, "5").await.refused(400, "BAD_REQUEST");
    assert_eq!(rest.get(path).await.text, "4\n");
    let deleted = rest.send("DELETE", path, "").await.ok();
    assert_eq!(deleted, json!({"path": "/a/b.json"}));
    rest.get(path).await.refused(404, "FILE_NOT_FOUND");
}

#[tokio::test]
async fn paths_that_lead_elsewhere_and_contents_that_are_too_large_are_refused() {
    let server = Server::start();
    let connection = server.connect().await;
    let long = format!("/{}", "x".repeat(512));
    for path in [
        "", "/", "a", "/../a", "/a/..", "/./a", "//a", "/a/", "/a\\b", "/a\u{0}", "/ü", "/a?b",
        &long,
    ] {
        for kind in ["FilePutRequest", "FileGetRequest", "FileDeleteRequest"] {
            let payload = json!({"path": path, "content": 1});
            let failed = connection.fails(kind, payload).await;
            assert_eq!(failed, "BAD_REQUEST", "{kind} {path}");
        }
    }
    let rest = server.rest();
    for path in ["%2e%2e/a", "a/%2E%2E/b", "a//b", "a/", "%00", "a%5Cb"] {
        let said = rest.put(&format!("/api/files/{path}"), "1").await;
        said.refused(400, "BAD_REQUEST");
    }
    for prefix in ["", "a", "/ü", &long] {
        let payload = json!({"prefix": prefix});
        let failed = connection.fails("FilesGetRequest", payload).await;
        assert_eq!(failed, "BAD_REQUEST", "{prefix}");
    }
    // A text has two quotes.
    let largest = format!("\"{}\"", "x".repeat((1 << 20) - 2));
    rest.put("/api/files/large", largest.clone()).await.ok();
    assert_eq!(rest.get("/api/files/large").await.text.len(), (1 << 20) + 1);
    let larger = format!("\"x{}", &largest[1..]);
    let refused = rest.put("/api/files/larger", larger).await;
    let refused = refused.refused(400, "BAD_REQUEST");
    assert_eq!(refused["properties"]["parameter"], "content");
    for body in ["", "{", "{\"a\":1,\"a\":2}", "1 2", "\"\\ud800\""] {
        let said = rest.put("/api/files/odd", body).await;
        said.refused(400, "BAD_REQUEST");
    }
    let bad = json!({"path": "/a", "content": 1, "namespace": "a b"});
    assert_eq!(connection.fails("FilePutRequest", bad).await, "BAD_REQUEST");
    assert_eq!(paths(&connection, "/").await, ["/large"]);
}

#[tokio::test]
async fn files_are_listed_by_path_in_pages_of_their_namespace() {
    let server = Server::start();
    let connection = server.connect().await;
    for path in ["/b/2", "/a", "/b/1", "/b", "/ba", "/b/10"] {
        put(&connection, path, json!("abc")).await;
    }
    let other = json!({"path": "/a", "content": 1, "namespace": "other"});
    connection.ok("FilePutRequest", other).await;
    let all = ["/a", "/b", "/b/1", "/b/10", "/b/2", "/ba"];
    assert_eq!(paths(&connection, "/").await, all);
    assert_eq!(paths(&connection, "/b/").await, ["/b/1", "/b/10", "/b/2"]);
    assert_eq!(paths(&connection, "/b/1").await, ["/b/1", "/b/10"]);
    assert!(paths(&connection, "/c").await.is_empty());
    let (mut found, mut cursor) = (Vec::new(), Value::Null);
    loop {
        let mut payload = json!({"prefix": "/b", "limit": 2});
        if cursor.is_string() {
            payload["cursor"] = cursor;
        }
        let page = connection.ok("FilesGetRequest", payload).await;
        for item in page["items"].as_array().expect("a list") {
            assert_eq!(item["size"], 5);
            let read = get(&connection, item["path"].as_str().expect("a path")).await;
            assert_eq!(item["version"], read["version"]);
            assert_eq!(item["updatedAt"], read["updatedAt"]);
            found.push(item["path"].clone());
        }
        cursor = page["pagination"]["nextCursor"].clone();
        if page["pagination"]["hasNext"] == false {
            break;
        }
    }
    assert_eq!(found, ["/b", "/b/1", "/b/10", "/b/2", "/ba"]);
    let listed = server.rest().get("/api/files?namespace=other").await.ok();
    assert_eq!(listed["items"][0]["path"], "/a");
    assert_eq!(listed["items"].as_array().map(Vec::len), Some(1));
}

#[tokio::test]
async fn files_of_another_tenant_do_not_exist() {
    let server = Server::with(&[("INTERLOCK_IAM_MOCK_CALLER", "true")]);
    let (ours, theirs) = (
        server.connect().await,
        server.connect_as(&[("x-mock-tenant", "other")]).await,
    );
    let version = put(&ours, "/a", json!("ours")).await;
    for kind in ["FileGetRequest", "FileDeleteRequest"] {
        let missing = theirs.fails(kind, json!({"path": "/a"})).await;
        assert_eq!(missing, "FILE_NOT_FOUND");
    }
    let stale = json!({"path": "/a", "content": 1, "ifMatch": version});
    let stale = theirs.fails("FilePutRequest", stale).await;
    assert_eq!(stale, "ENTITY_MODIFIED");
    assert!(paths(&theirs, "/").await.is_empty());
    put(&theirs, "/a", json!("theirs")).await;
    assert_eq!(get(&ours, "/a").await["content"], "ours");
}

#[tokio::test]
async fn of_many_at_once_one_creates_a_file_and_all_may_replace_it() {
    let server = Server::start();
    let connection = server.connect().await;
    let creating = (0..50).map(|n| {
        let payload = json!({"path": "/a", "content": n, "ifMatch": ""});
        connection.call("FilePutRequest", payload)
    });
    let all = futures_util::future::join_all(creating).await;
    let (done, refused): (Vec<_>, Vec<_>) =
        all.iter().partition(|answer| answer["success"] == true);
    assert_eq!(done.len(), 1);
    for refused in refused {
        assert_eq!(code(refused), "ENTITY_MODIFIED");
    }
    let replacing = (0..50).map(|n| put(&connection, "/a", json!(n)));
    let versions = futures_util::future::join_all(replacing).await;
    let last = get(&connection, "/a").await;
    let content = usize::try_from(last["content"].as_u64().expect("a number")).expect("small");
    assert_eq!(last["version"], versions[content]);
}

#[tokio::test]
async fn a_file_of_a_transaction_is_written_when_and_only_if_it_commits() {
    let server = Server::start();
    let connection = server.connect().await;
    let member = Member::join(&server, &[]).await;
    let workflow = processed_by(json!([sync_processor("p", json!({}))]));
    let model = governed_model(&connection, "doc", json!({"fail": true}), workflow).await;
    member.serve(move |call, connection| async move {
        let with = [("cyodatxtoken", call.token())];
        let fails = call.data()["fail"] == true;
        let payload = json!({"path": "/a", "content": {"fails": fails}, "ifMatch": ""});
        let answer = connection.call_with("FilePutRequest", payload, &with).await;
        assert_eq!(answer["success"], true, "{answer}");
        let own = json!({"path": "/a"});
        let seen = connection
            .call_with("FileGetRequest", own.clone(), &with)
            .await;
        assert_eq!(seen["content"], json!({"fails": fails}), "{seen}");
        assert_eq!(seen["version"], answer["version"]);
        let outside = connection.call("FileGetRequest", own.clone()).await;
        assert_eq!(code(&outside), "FILE_NOT_FOUND");
        let refused = connection.call_with("FileDeleteRequest", own, &with).await;
        assert_eq!(code(&refused), "BAD_REQUEST");
        if fails {
            Reply::Failure("no")
        } else {
            Reply::Nothing
        }
    });
    let failing = new_entity(&model, &json!({"fail": true}));
    let refused = connection.call("EntityCreateRequest", failing).await;
    assert_eq!(code(&refused), "WORKFLOW_FAILED");
    let missing = connection
        .fails("FileGetRequest", json!({"path": "/a"}))
        .await;
    assert_eq!(missing, "FILE_NOT_FOUND");
    create(&connection, &model, json!({"fail": false})).await;
    let file = get(&connection, "/a").await;
    assert_eq!(file["content"], json!({"fails": false}));
}

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
async fn files_are_copied_to_a_folder_and_back_unless_others_changed_them() {
    let server = Server::on_disk(&[]);
    let connection = server.connect().await;
    let folder = tempfile::tempdir().expect("a folder");
    let run = async |line: &[&str]| interlock(&server, &folder, line).await;
    for path in ["/states/a.json", "/states/b.json", "/c.json"] {
        put(&connection, path, json!({"n": 1})).await;
    }
    let (code, out, err) = run(&["files", "pull", "copy"]).await;
    assert_eq!((code, &*err), (Some(0), ""), "{out}");
    assert!(out.ends_with("3 pulled\n"), "{out}");
    let copy = folder.path().join("copy");
    let text = fs::read_to_string(copy.join("states/a.json")).expect("pulled");
    assert_eq!(text, "{\"n\":1}\n");

    fs::write(copy.join("states/a.json"), "{\"n\": 1.50}\n").expect("writes");
    fs::write(copy.join("states/b.json"), "{\"n\": 2}\n").expect("writes");
    fs::write(copy.join("new.json"), "[]").expect("writes");
    fs::remove_file(copy.join("c.json")).expect("removes");
    put(&connection, "/states/b.json", json!("changed meanwhile")).await;
    let (code, out, err) = run(&["files", "push", "copy", "--delete"]).await;
    assert_eq!(code, Some(1), "{out} {err}");
    assert!(
        err.contains("refused: /states/b.json: ENTITY_MODIFIED"),
        "{err}"
    );
    let pushed = server.rest().get("/api/files/states/a.json").await;
    assert_eq!(pushed.text, "{\"n\": 1.50}\n");
    assert_eq!(
        paths(&connection, "/").await,
        ["/new.json", "/states/a.json", "/states/b.json"]
    );
    let kept = get(&connection, "/states/b.json").await;
    assert_eq!(kept["content"], "changed meanwhile");
    // Neither is what was edited overwritten.
    let (code, _, err) = run(&["files", "pull", "copy"]).await;
    assert_eq!(code, Some(1));
    assert!(err.contains("refused: /states/b.json was edited"), "{err}");
    fs::remove_file(copy.join("states/b.json")).expect("removes");
    let (code, out, err) = run(&["files", "pull", "copy"]).await;
    assert_eq!((code, &*err), (Some(0), ""), "{out}");
    let (code, out, _) = run(&["files", "push", "copy"]).await;
    assert_eq!((code, &*out), (Some(0), "0 pushed\n"));
    fs::remove_file(copy.join("new.json")).expect("removes");
    let (code, out, _) = run(&["files", "push", "copy", "--delete"]).await;
    assert_eq!(code, Some(0));
    assert!(out.ends_with("0 pushed, 1 deleted\n"), "{out}");
    fs::write(copy.join("bad.json"), "{").expect("writes");
    let (code, _, err) = run(&["files", "push", "copy"]).await;
    assert_eq!(code, Some(1));
    assert!(err.contains("bad.json is not JSON"), "{err}");
    let (_, out, _) = run(&["files", "list", "/states/", "--format", "json"]).await;
    assert_eq!(out.lines().count(), 2, "{out}");
    // A path that was mistyped is no folder without files.
    let (code, out, err) = run(&["files", "push", "cpoy"]).await;
    assert_eq!((code, &*out), (Some(1), ""), "{err}");
    assert!(err.contains("cannot use cpoy"), "{err}");
    assert!(!folder.path().join("cpoy").exists());
}

/// An interrupted pull has left files and no notes of them.
#[tokio::test]
async fn what_an_interrupted_pull_has_written_is_no_edit() {
    let server = Server::on_disk(&[]);
    let connection = server.connect().await;
    let folder = tempfile::tempdir().expect("a folder");
    let run = async |line: &[&str]| interlock(&server, &folder, line).await;
    for path in ["/a.json", "/b.json"] {
        put(&connection, path, json!({"n": 1})).await;
    }
    let copy = folder.path().join("copy");
    fs::create_dir(&copy).expect("makes");
    fs::write(copy.join("a.json"), "{\"n\":1}\n").expect("writes");
    let (code, out, err) = run(&["files", "pull", "copy"]).await;
    assert_eq!((code, &*err), (Some(0), ""), "{out}");
    let (code, out, err) = run(&["files", "push", "copy"]).await;
    assert_eq!((code, &*out, &*err), (Some(0), "0 pushed\n", ""));
}

#[tokio::test]
async fn a_manager_may_be_as_large_as_ticks_make_it() {
    let server = Server::on_disk(&[]);
    let connection = server.connect().await;
    let content = json!({"workers": [], "note": "x".repeat(1 << 20)});
    for (path, is_manager) in [("/states/managers/m.json", true), ("/m.json", false)] {
        let payload = json!({"path": path, "content": content});
        if is_manager {
            connection.ok("FilePutRequest", payload).await;
            continue;
        }
        let refused = connection.fails("FilePutRequest", payload).await;
        assert_eq!(refused, "BAD_REQUEST");
    }
}

#[tokio::test]
async fn a_tick_that_cannot_read_a_manager_fails_the_command() {
    let server = Server::on_disk(&[]);
    let connection = server.connect().await;
    let folder = tempfile::tempdir().expect("a folder");
    put(&connection, "/states/managers/bad.json", json!([])).await;
    let named = r#"{"managers": ["bad.json"]}"#;
    for format in [&[][..], &["--format", "json"]] {
        let line = [&["manager", "tick", named][..], format].concat();
        let (code, out, err) = interlock(&server, &folder, &line).await;
        assert_eq!(code, Some(1), "{out}");
        assert!(err.starts_with("interlock: 1 of the managers"), "{err}");
        assert!(out.contains("bad.json"), "{out}");
    }
}

#[tokio::test]
async fn what_editors_leave_is_not_pushed_and_a_folder_is_of_one_namespace() {
    let server = Server::on_disk(&[]);
    let connection = server.connect().await;
    let folder = tempfile::tempdir().expect("a folder");
    let run = async |line: &[&str]| interlock(&server, &folder, line).await;
    for path in ["/s/a.json", "/.own/b.json"] {
        put(&connection, path, json!(1)).await;
    }
    let (code, out, err) = run(&["files", "pull", "copy"]).await;
    assert_eq!(code, Some(0), "{out} {err}");
    let copy = folder.path().join("copy");
    fs::create_dir_all(copy.join(".git/refs")).expect("makes");
    for left in [
        "s/a.json~",
        "s/.a.json.swp",
        ".DS_Store",
        ".git/HEAD",
        "s/#a.json#",
    ] {
        fs::write(copy.join(left), "not JSON").expect("writes");
    }
    for path in ["s/a.json", ".own/b.json"] {
        fs::write(copy.join(path), "2").expect("writes");
    }
    let (code, out, err) = run(&["files", "push", "copy"]).await;
    assert_eq!(code, Some(0), "{out} {err}");
    assert!(out.ends_with("2 pushed\n"), "{out}");
    assert_eq!(paths(&connection, "/").await, ["/.own/b.json", "/s/a.json"]);

    for line in [["files", "pull"], ["files", "push"]] {
        let (code, out, err) = run(&[&line[..], &["-n", "other", "copy"]].concat()).await;
        assert_eq!((code, &*out), (Some(1), ""), "{err}");
        assert!(err.contains("has files of the namespace default"), "{err}");
    }
    assert!(copy.join("s/a.json").exists());
    // The notes of an earlier version name no namespace.
    let notes = copy.join(".interlock-files.json");
    let text = fs::read_to_string(&notes).expect("the notes");
    let mut known: Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(known["namespace"], "default");
    known
        .as_object_mut()
        .expect("an object")
        .remove("namespace");
    fs::write(&notes, known.to_string()).expect("writes");
    let (code, out, err) = run(&["files", "pull", "copy"]).await;
    assert_eq!((code, &*out, &*err), (Some(0), "0 pulled\n", ""));
}

#[tokio::test]
async fn what_a_folder_cannot_have_is_refused_and_the_rest_is_pulled() {
    let server = Server::on_disk(&[]);
    let connection = server.connect().await;
    let folder = tempfile::tempdir().expect("a folder");
    let notes = ".interlock-files.json";
    for path in ["/a", "/a/b.json", "/z.json", &format!("/{notes}")] {
        put(&connection, path, json!({"n": 1})).await;
    }
    let (code, out, err) = interlock(&server, &folder, &["files", "pull", "copy"]).await;
    assert_eq!(code, Some(1), "{out} {err}");
    assert!(
        err.contains("refused: /.interlock-files.json is reserved"),
        "{err}"
    );
    assert!(err.contains("refused: /a/b.json needs a folder"), "{err}");
    assert!(out.contains("pulled /z.json"), "{out}");
    let kept = fs::read_to_string(folder.path().join("copy").join(notes)).expect("the notes");
    assert!(kept.contains("/z.json"), "{kept}");
}
