//! `interlock backup` and `interlock restore`.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Stdio,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use serde_json::{Value, json};

use crate::support::{
    Connection, PATIENCE, Server, command, create, locked_model, payload_of, request, wait::until,
};

const DATABASE: &str = ".local/share/interlock/interlock.db";

/// Runs a command; whether it succeeded, and what it printed.
async fn run(folder: &Path, settings: &[(&str, &str)], arguments: &[&str]) -> (bool, String) {
    let mut command = command(folder, settings);
    command.args(arguments).stdin(Stdio::null());
    let output = tokio::task::spawn_blocking(move || command.output());
    let output = output.await.expect("no panic").expect("runs");
    let text = [output.stdout, output.stderr].concat();
    (
        output.status.success(),
        String::from_utf8(text).expect("text"),
    )
}

/// A path as an argument.
fn text(path: &Path) -> &str {
    path.to_str().expect("a path")
}

/// The numbers of all entities of the model.
async fn numbers(connection: &Connection, model: &Value) -> Vec<i64> {
    let all = json!({"model": model, "pageSize": 10_000});
    let (entities, _) = connection.all("EntityGetAllRequest", all).await;
    let mut numbers: Vec<i64> = entities
        .iter()
        .map(|entity| entity["payload"]["data"]["n"].as_i64().expect("a number"))
        .collect();
    numbers.sort_unstable();
    numbers
}

/// The next changes after a position.
async fn changes(connection: &Connection, after: i64, count: usize) -> Vec<i64> {
    let id = connection.fresh_id();
    let wanted = json!({"fromSequence": after});
    let mut answers = connection
        .begin(request("EntityChangesSubscribeRequest", &id, wanted))
        .await;
    let mut taken = Vec::new();
    while taken.len() < count {
        let next = tokio::time::timeout(PATIENCE, answers.recv()).await;
        let change = payload_of(&next.expect("a change in time").expect("a change"));
        taken.push(
            change["sequence"]
                .as_i64()
                .unwrap_or_else(|| panic!("{change}")),
        );
    }
    connection.cancel(&id).await;
    taken
}

#[tokio::test]
async fn a_backup_beside_writers_is_the_database_as_of_one_instant() {
    let mut server = Server::on_disk(&[]);
    let connection = server.connect().await;
    let model = locked_model(&connection, "order", json!({"n": 1})).await;
    let acknowledged = Arc::new(AtomicUsize::new(0));
    // Each transaction makes two entities.
    let writing = {
        let (writer, model) = (server.connect().await, model.clone());
        let acknowledged = Arc::clone(&acknowledged);
        tokio::spawn(async move {
            for n in 0.. {
                let entity = |n| json!({"model": model, "data": {"n": n}});
                let both = json!({"dataFormat": "JSON", "payloads": [entity(n), entity(n)]});
                writer.ok("EntityCreateCollectionRequest", both).await;
                acknowledged.fetch_add(1, Ordering::SeqCst);
            }
        })
    };
    while acknowledged.load(Ordering::SeqCst) < 20 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let copy = server.folder().join("copy.db");
    let before = acknowledged.load(Ordering::SeqCst);
    let (done, reported) = run(&server.folder(), &[], &["backup", text(&copy)]).await;
    let after = acknowledged.load(Ordering::SeqCst) + 1;
    assert!(done && reported.contains("up to position"), "{reported}");
    writing.abort();
    server.kill();

    let other = tempfile::tempdir().expect("a folder");
    let place = other.path().join("data/my.db");
    let settings = [("CYODA_SQLITE_PATH", text(&place))];
    let restore = ["restore", text(&copy)];
    let (done, reported) = run(other.path(), &settings, &restore).await;
    assert!(done && reported.contains("restored"), "{reported}");
    let restored = Server::on_disk(&settings);
    let connection = restored.connect().await;
    let numbers = numbers(&connection, &model).await;
    let halves: Vec<i64> = numbers.iter().step_by(2).copied().collect();
    let expected: Vec<i64> = (0..).take(halves.len()).collect();
    assert_eq!(
        halves, expected,
        "each transaction is there whole, none is left out"
    );
    assert_eq!(numbers.len(), halves.len() * 2);
    assert!(
        (before..=after).contains(&halves.len()),
        "{before} ≤ {} ≤ {after}",
        halves.len()
    );
    create(&connection, &model, json!({"n": -1})).await;
}

#[tokio::test]
async fn a_backup_names_the_key_that_is_not_part_of_it() {
    let server = Server::on_disk(&[]);
    let folder = server.folder();
    let (first, second) = (folder.join("first.db"), folder.join("second.db"));
    let (done, reported) = run(&folder, &[], &["backup", text(&first)]).await;
    assert!(done && !reported.contains(".key"), "{reported}");
    fs::write(folder.join(format!("{DATABASE}.key")), "a key").expect("writes");
    let (done, reported) = run(&folder, &[], &["backup", text(&second)]).await;
    let note = "interlock.db.key, which is not part of the backup";
    assert!(done && reported.contains(note), "{reported}");
}

#[tokio::test]
async fn after_a_restore_no_position_is_given_again() {
    let mut server = Server::on_disk(&[]);
    let connection = server.connect().await;
    let model = locked_model(&connection, "order", json!({"n": 1})).await;
    for n in 0..3 {
        create(&connection, &model, json!({"n": n})).await;
    }
    let folder = server.folder();
    let copy = folder.join("copy.db");
    let (done, reported) = run(&folder, &[], &["backup", text(&copy)]).await;
    assert!(done, "{reported}");
    for n in 3..6 {
        create(&connection, &model, json!({"n": n})).await;
    }
    let seen = changes(&connection, 0, 6).await;
    drop(connection);

    let (done, reported) = run(&folder, &[], &["restore", text(&copy)]).await;
    assert!(
        !done && reported.contains("stop the service first"),
        "{reported}"
    );
    server.kill();
    let (done, reported) = run(&folder, &[], &["restore", text(&copy)]).await;
    assert!(!done && reported.contains("--replace"), "{reported}");
    let replace = ["restore", text(&copy), "--replace"];
    let (done, reported) = run(&folder, &[], &replace).await;
    assert!(
        done && reported.contains("the database that was there is now"),
        "{reported}"
    );
    server.restart();

    let connection = server.connect().await;
    assert_eq!(numbers(&connection, &model).await, [0, 1, 2]);
    create(&connection, &model, json!({"n": 7})).await;
    // A reader that knows a position that was lost finds what is new; so does one that knows none.
    let new = changes(&connection, seen[5], 1).await;
    assert!(new[0] > seen[5] + 1_000_000, "{new:?} after {seen:?}");
    assert_eq!(
        changes(&connection, 0, 4).await,
        [&seen[..3], &new].concat()
    );
    drop(connection);
    server.kill();

    // What was replaced is whole, too, in one file: its log was copied back into it.
    let kept: Vec<PathBuf> = fs::read_dir(folder.join(".local/share/interlock"))
        .expect("readable")
        .map(|file| file.expect("a file").path())
        .filter(|path| text(path).contains(".replaced-"))
        .collect();
    let [kept] = &kept[..] else {
        panic!("{kept:?}");
    };
    server.restart_with(&[("CYODA_SQLITE_PATH", text(kept))]);
    let connection = server.connect().await;
    assert_eq!(numbers(&connection, &model).await, [0, 1, 2, 3, 4, 5]);
}

#[tokio::test]
async fn however_often_a_backup_is_restored_no_position_is_given_again() {
    // What is counted is not looked for at each position that was left out.
    let limit = ("INTERLOCK_TENANT_STORED_BYTES", "1000000");
    let mut server = Server::on_disk(&[limit]);
    let connection = server.connect().await;
    let model = locked_model(&connection, "order", json!({"n": 1})).await;
    create(&connection, &model, json!({"n": 0})).await;
    let folder = server.folder();
    let copy = folder.join("copy.db");
    let (done, reported) = run(&folder, &[], &["backup", text(&copy)]).await;
    assert!(done, "{reported}");
    drop(connection);
    let mut last = 0;
    for time in 1..=3 {
        server.kill();
        let replace = ["restore", text(&copy), "--replace"];
        let (done, reported) = run(&folder, &[], &replace).await;
        assert!(done, "{reported}");
        server.restart();
        let connection = server.connect().await;
        for n in [1, 2] {
            create(&connection, &model, json!({"n": 10 * time + n})).await;
        }
        // A reader continues where it was before.
        let new = changes(&connection, last, if last == 0 { 3 } else { 2 }).await;
        assert!(new.iter().all(|new| *new > last), "{new:?} after {last}");
        assert!(new.is_sorted(), "{new:?}");
        last = new[new.len() - 1];
        // All of them are exact in the numbers of every language.
        assert!(last < 1 << 53, "{last}");
        until("the bytes are counted", async || {
            let said = server.logged();
            said.contains("what tenants have stored is counted")
        })
        .await;
    }
}

#[tokio::test]
async fn what_is_no_backup_replaces_nothing() {
    let mut server = Server::on_disk(&[]);
    let connection = server.connect().await;
    let model = locked_model(&connection, "order", json!({"n": 1, "text": "x"})).await;
    for n in 0..200 {
        create(
            &connection,
            &model,
            json!({"n": n, "text": "x".repeat(500)}),
        )
        .await;
    }
    drop(connection);
    server.stop().await;
    let folder = server.folder();
    let good = folder.join("good.db");
    // A service that is stopped can be copied as well.
    let (done, reported) = run(&folder, &[], &["backup", text(&good)]).await;
    assert!(done, "{reported}");
    let (done, reported) = run(&folder, &[], &["backup", text(&good)]).await;
    assert!(!done && reported.contains("exists already"), "{reported}");
    let nowhere = folder.join("none/of/these.db");
    let (done, reported) = run(&folder, &[], &["backup", text(&nowhere)]).await;
    let missing = folder.join("none/of");
    let expected = format!("{} cannot be used: No such", text(&missing));
    assert!(!done && reported.contains(&expected), "{reported}");
    let (done, reported) = run(&folder, &[], &["backup", text(&folder)]).await;
    assert!(!done && reported.contains("is a directory"), "{reported}");
    let in_place = [("CYODA_SQLITE_PATH", text(&folder))];
    let restore = ["restore", text(&good), "--replace"];
    let (done, reported) = run(&folder, &in_place, &restore).await;
    assert!(!done && reported.contains("is a directory"), "{reported}");

    let damaged = folder.join("damaged.db");
    let mut bytes = fs::read(&good).expect("readable");
    for page in bytes.chunks_mut(4_096).skip(8).step_by(3) {
        page[..200].fill(0xff);
    }
    fs::write(&damaged, &bytes).expect("writable");
    let words = folder.join("words.db");
    fs::write(&words, "not a database, but long enough to have a header of one hundred bytes, which is what one has, at least").expect("writable");
    let cut = folder.join("cut.db");
    fs::write(&cut, &bytes[..bytes.len() / 2]).expect("writable");
    let good_bytes = fs::read(&good).expect("readable");
    let shortened = folder.join("shortened.db");
    fs::write(&shortened, &good_bytes[..good_bytes.len() - 1]).expect("writable");
    let empty = folder.join("empty.db");
    fs::write(&empty, "").expect("writable");
    let absent = folder.join("absent.db");
    let database = folder.join(DATABASE);
    for (file, expected) in [
        (&damaged, "damaged"),
        // What is missing may be the list of tables itself.
        (&cut, "cut.db"),
        (&shortened, "it is cut off"),
        (&words, "is not a database of Interlock"),
        (&empty, "is not a database of Interlock"),
        (&absent, "there is no file"),
        (&database, "is the database itself"),
    ] {
        let restore = ["restore", text(file), "--replace"];
        let (done, reported) = run(&folder, &[], &restore).await;
        assert!(!done && reported.contains(expected), "{file:?}: {reported}");
    }
    let memory = [("CYODA_STORAGE_BACKEND", "memory")];
    for command in ["backup", "restore"] {
        let (done, reported) = run(&folder, &memory, &[command, text(&good)]).await;
        assert!(!done && reported.contains("in memory"), "{reported}");
    }
    let log = folder.join(format!("{DATABASE}-wal"));
    let (done, reported) = run(&folder, &[], &["backup", text(&log)]).await;
    assert!(
        !done && reported.contains("beside the database"),
        "{reported}"
    );
    let newer = folder.join("newer.db");
    fs::copy(&good, &newer).expect("copied");
    rusqlite::Connection::open(&newer)
        .expect("opens")
        .execute_batch("insert into _sqlx_migrations values (9999, 'later', '', true, x'', 0)")
        .expect("a later migration");
    let changed = folder.join("changed.db");
    fs::copy(&good, &changed).expect("copied");
    rusqlite::Connection::open(&changed)
        .expect("opens")
        .execute_batch("update _sqlx_migrations set checksum = x'00'")
        .expect("changed migrations");
    for (file, is_newer) in [(&newer, true), (&changed, false)] {
        let restore = ["restore", text(file), "--replace"];
        let (done, reported) = run(&folder, &[], &restore).await;
        assert!(!done, "{file:?}: {reported}");
        let says_newer = reported.contains("was written by a newer version; use that version");
        assert_eq!(says_newer, is_newer, "{file:?}: {reported}");
    }
    let left: Vec<_> = fs::read_dir(folder.join(".local/share/interlock"))
        .expect("readable")
        .map(|file| file.expect("a file").file_name())
        .filter(|name| text(Path::new(name)).contains("partial"))
        .collect();
    assert!(left.is_empty(), "{left:?}");
    server.restart();
    let connection = server.connect().await;
    assert_eq!(numbers(&connection, &model).await.len(), 200);
}

#[tokio::test]
async fn a_second_backup_to_one_name_is_refused_and_what_an_interrupted_one_left_is_not() {
    let folder = tempfile::tempdir().expect("a folder");
    let (done, reported) = run(folder.path(), &[], &["migrate"]).await;
    assert!(done, "{reported}");
    let copy = folder.path().join("copy.db");
    let (partial, lock) = (
        folder.path().join("copy.db.partial"),
        folder.path().join("copy.db.partial.lock"),
    );
    fs::write(&partial, "the half of a copy").expect("writable");
    // As the first one holds it.
    let first = fs::File::create(&lock).expect("a file");
    first.lock().expect("locked");
    let backup = ["backup", text(&copy)];
    let (done, reported) = run(folder.path(), &[], &backup).await;
    let is_said = reported.contains("copy.db is being written by another process");
    assert!(!done && is_said, "{reported}");
    let half = fs::read_to_string(&partial).expect("it was not touched");
    assert_eq!(half, "the half of a copy");
    drop(first);
    let (done, reported) = run(folder.path(), &[], &backup).await;
    assert!(done, "{reported}");
    assert!(copy.exists() && !partial.exists() && !lock.exists());
}
