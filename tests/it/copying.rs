//! `interlock copy`: everything from one kind of database into the other.

mod marks;

use std::{
    io::Write as _,
    path::Path,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use crate::support::{
    Connection, PATIENCE, Server, backend, command, create, database::Database, flow::workflow,
    get, governed_model, iam, locked_model, new_entity, payload_of, postgres, request, state,
    wait::until,
};

/// A key for what is encrypted: 32 bytes.
const KEY: (&str, &str) = (
    "INTERLOCK_KEY_ENCRYPTION_KEY",
    "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=",
);

/// No timer fires.
const STILL: (&str, &str) = ("CYODA_SCHEDULER_ENABLED", "false");

/// Runs the copy; whether it succeeded, and what it printed.
async fn copy(from: &str, to: &str) -> (bool, String) {
    let folder = tempfile::tempdir().expect("a folder");
    let mut copying = command(folder.path(), &[]);
    copying
        .args(["copy", "--from", from, "--to", to])
        .stdin(Stdio::null());
    let output = tokio::task::spawn_blocking(move || copying.output());
    let output = output.await.expect("no panic").expect("runs");
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8(text).expect("text");
    (output.status.success(), text)
}

async fn copied(from: &str, to: &str) -> String {
    let (done, said) = copy(from, to).await;
    assert!(done, "{said}");
    assert!(
        said.contains("both databases have the same content"),
        "{said}"
    );
    said
}

async fn refused(from: &str, to: &str, why: &str) {
    let (done, said) = copy(from, to).await;
    assert!(!done && said.contains(why), "{why}: {said}");
}

fn file(path: &Path) -> String {
    format!("sqlite:{}", path.display())
}

/// What a server over a database is started with.
fn settings<'a>(place: &'a str, more: &[(&'a str, &'a str)]) -> Vec<(&'a str, &'a str)> {
    let mut settings = vec![KEY];
    if let Some(path) = place.strip_prefix("sqlite:") {
        settings.push(("CYODA_SQLITE_PATH", path));
    } else {
        settings.push(("CYODA_STORAGE_BACKEND", "postgres"));
        settings.push(("CYODA_POSTGRES_URL", place));
    }
    settings.extend_from_slice(more);
    settings
}

/// A server over a database.
fn server(place: &str, more: &[(&str, &str)]) -> Server {
    Server::on_disk(&settings(place, more))
}

/// Fails unless a server over an unfinished copy does not start, and says why.
fn is_not_served(place: &str) {
    let folder = tempfile::tempdir().expect("a folder");
    let settings = settings(place, &[("CYODA_STARTUP_TIMEOUT", "2s")]);
    let mut started = command(folder.path(), &settings);
    let started = started.stdin(Stdio::null()).output().expect("runs");
    assert_eq!(started.status.code(), Some(1), "{started:?}");
    let said = [started.stdout, started.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    assert!(
        said.contains("finish it by the same `interlock copy`"),
        "{said}"
    );
}

/// Waits until a connection of that name waits for a lock.
async fn waits_for_a_lock(database: &Database, name: &str) {
    let waiting = format!(
        "select count(*) from pg_stat_activity where datname = current_database() and \
         application_name = '{name}' and wait_event_type = 'Lock'"
    );
    let waits = async || database.execute(&waiting) == "1";
    until(&format!("{name} waits for a lock"), waits).await;
}

/// Kills a copy once it waits for a lock in a database.
async fn kill_a_copy(from: &str, to: &str, database: &Database) {
    let folder = tempfile::tempdir().expect("a folder");
    let mut copying = command(folder.path(), &[])
        .args(["copy", "--from", from, "--to", to])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("starts");
    waits_for_a_lock(database, "interlock copy").await;
    copying.kill().expect("killed");
    copying.wait().expect("ends");
}

/// The next changes after a position.
async fn changes(connection: &Connection, after: i64, count: usize) -> Vec<Value> {
    let id = connection.fresh_id();
    let wanted = json!({"fromSequence": after});
    let follow = request("EntityChangesSubscribeRequest", &id, wanted);
    let mut answers = connection.begin(follow).await;
    let mut taken = Vec::new();
    while taken.len() < count {
        let next = tokio::time::timeout(PATIENCE, answers.recv()).await;
        let change = payload_of(&next.expect("a change in time").expect("a change"));
        taken.push(plain(change));
    }
    connection.cancel(&id).await;
    taken
}

/// What was made, and how to read it.
struct Content {
    model: Value,
    changed: String,
    deleted: String,
    timed: String,
    then: String,
    message: String,
    runs: Vec<String>,
    search: String,
    client: (String, String),
}

/// Makes something of everything.
async fn fill(place: &str) -> Content {
    let tokens = server(place, iam::SETTINGS);
    let rest = iam::admin(&tokens, iam::TENANT);
    let made = rest.post("/api/clients", "").await.ok();
    let client = (
        iam::text(&made["client_id"]),
        iam::text(&made["client_secret"]),
    );
    drop(tokens);

    let mut server = server(place, &[STILL]);
    let connection = server.connect().await;
    let model = json!({"name": "order", "version": 1});
    let sample = json!({"model": model, "dataFormat": "JSON", "converter": "SAMPLE_DATA", "payload": {"n": 1, "text": "t"}});
    connection.ok("EntityModelImportRequest", sample).await;
    let keys = json!({"model": model, "uniqueKeys": [{"id": "by-n", "fields": ["$.n"]}]});
    connection.ok("EntityModelSetUniqueKeysRequest", keys).await;
    let lock = json!({"model": model, "transition": "LOCK"});
    connection.ok("EntityModelTransitionRequest", lock).await;
    let indexes = json!({"model": model, "indexes": [{"path": "$.text"}]});
    connection.ok("EntityModelSetIndexesRequest", indexes).await;
    let odd = "tab\t, line\n, \\N, \\. and ä \u{0000}";
    let changed = create(&connection, &model, json!({"n": 1, "text": odd})).await;
    let deleted = create(&connection, &model, json!({"n": 2, "text": "b"})).await;
    let then = get(&connection, &deleted).await["meta"]["lastUpdateTime"].clone();
    let then = crate::support::exactly(&then);
    let update = json!({"dataFormat": "JSON", "payload": {"entityId": changed, "data": {"n": 3, "text": "c"}}});
    connection.ok("EntityUpdateRequest", update).await;
    connection
        .ok("EntityDeleteRequest", json!({"entityId": deleted}))
        .await;
    let once = new_entity(&model, &json!({"n": 4, "text": "once"}));
    let with = [("idempotencykey", "once")];
    connection
        .call_with("EntityCreateRequest", once, &with)
        .await;

    let timed = json!({"version": "1", "name": "timed", "initialState": "A", "states": {
        "A": {"transitions": [{"name": "GO", "next": "B", "manual": false, "schedule": {"delayMs": 1}}]},
        "B": {"transitions": []},
    }});
    let timed = governed_model(&connection, "timed", json!({"n": 1}), timed).await;
    let timed = create(&connection, &timed, json!({"n": 1})).await;

    let note = json!({"header": {"subject": "s"}, "payload": {"a": "b\nc"}});
    let message = connection.ok("MessageCreateRequest", note).await;
    let events = json!({"topic": "news", "events": [{"payload": 1}, {"payload": {"x": "y\t"}}]});
    connection.ok("TopicPublishRequest", events).await;
    let text = json!({"path": "/a/b.json", "content": {"k": "v"}});
    connection.ok("FilePutRequest", text).await;

    let waits = workflow(
        "waits",
        json!({"waitForSignal": {"type": "go", "timeoutMs": 3_600_000, "onTimeout": "flo.TimedOut"}, "transitions": {"success": "flo.Completed"}}),
        json!({}),
    );
    let mut document = json!({"document": waits});
    document["document"]["idempotency"] = json!("optional");
    connection.ok("RunDefinitionCreateRequest", document).await;
    let mut runs = Vec::new();
    for key in ["one", "two"] {
        let start = json!({"definition": "waits", "input": {"key": key}, "idempotencyKey": key});
        let started = connection.ok("RunStartRequest", start).await;
        runs.push(started["runId"].as_str().expect("an id").to_owned());
    }

    let condition =
        json!({"type": "simple", "jsonPath": "$.n", "operatorType": "GREATER_THAN", "value": 1});
    let asked = json!({"model": model, "condition": condition});
    let search = connection.ok("EntitySnapshotSearchRequest", asked).await;
    let search = search["status"]["snapshotId"]
        .as_str()
        .expect("an id")
        .to_owned();
    search_ends(&connection, &search).await;
    drop(connection);
    assert_eq!(server.stop().await, Some(0));
    Content {
        model,
        changed,
        deleted,
        timed,
        then,
        message: message["entityIds"][0].as_str().expect("an id").to_owned(),
        runs,
        search,
        client,
    }
}

async fn search_ends(connection: &Connection, search: &str) {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let status = json!({"snapshotId": search});
        let status = connection.ok("SnapshotGetStatusRequest", status).await;
        if status["status"]["status"] == "SUCCESSFUL" {
            return;
        }
        assert!(Instant::now() < deadline, "{status}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Answers without what is another at each request.
fn plain(mut answer: Value) -> Value {
    if let Some(members) = answer.as_object_mut() {
        for name in ["id", "requestId"] {
            members.remove(name);
        }
    }
    answer
}

impl Content {
    /// Everything that can be read of it.
    async fn read(&self, connection: &Connection) -> Vec<(&'static str, Value)> {
        let mut read = Vec::new();
        for (kind, payload) in [
            ("EntityGetRequest", json!({"entityId": self.changed})),
            (
                "EntityGetRequest",
                json!({"entityId": self.changed, "pointInTime": self.then}),
            ),
            (
                "EntityGetRequest",
                json!({"entityId": self.deleted, "pointInTime": self.then}),
            ),
            ("EntityModelGetAllRequest", json!({})),
            (
                "EntityModelExportRequest",
                json!({"model": self.model, "converter": "SIMPLE_VIEW"}),
            ),
            ("MessageGetRequest", json!({"messageId": self.message})),
            (
                "TopicGetRequest",
                json!({"topic": "news", "fromSequence": 0}),
            ),
            ("FileGetRequest", json!({"path": "/a/b.json"})),
            ("RunGetRequest", json!({"runId": self.runs[0]})),
            ("RunHistoryGetRequest", json!({"runId": self.runs[0]})),
            (
                "SnapshotGetStatusRequest",
                json!({"snapshotId": self.search}),
            ),
        ] {
            read.push((kind, plain(connection.ok(kind, payload).await)));
        }
        let found =
            json!({"type": "simple", "jsonPath": "$.text", "operatorType": "EQUALS", "value": "c"});
        for (kind, payload) in [
            (
                "EntityGetAllRequest",
                json!({"model": self.model, "pageSize": 100}),
            ),
            (
                "EntityGetAllRequest",
                json!({"model": self.model, "pageSize": 100, "pointInTime": self.then}),
            ),
            (
                "EntityChangesMetadataGetRequest",
                json!({"entityId": self.changed}),
            ),
            (
                "EntitySearchRequest",
                json!({"model": self.model, "condition": found}),
            ),
            (
                "SnapshotGetRequest",
                json!({"snapshotId": self.search, "pageNumber": 0, "pageSize": 10}),
            ),
        ] {
            let (items, end) = connection.all(kind, payload).await;
            assert_eq!(end["success"], true, "{kind}: {end}");
            let items = items.into_iter().map(plain).collect();
            read.push((kind, items));
        }
        read
    }
}

/// How many rows each table has, but those that only `PostgreSQL` has.
fn counts(database: &Database) -> Vec<(String, i64)> {
    let tables = "select table_name from information_schema.tables where table_schema = 'public' \
                  and table_name not in ('_sqlx_migrations', 'turn', 'node', 'member', 'task_offer') order by 1";
    let tables = database.execute(tables);
    let count = |table: &str| {
        let rows = database.execute(&format!("select count(*) from \"{table}\""));
        let rows: i64 = rows.parse().expect("a number");
        // The first commit is in each database.
        (table.to_owned(), rows - i64::from(table == "commit"))
    };
    tables.lines().map(count).collect()
}

fn count(path: &str, table: &str) -> i64 {
    let database = rusqlite::Connection::open(path).expect("opens");
    let text = format!("select count(*) from \"{table}\"");
    database
        .query_row(&text, [], |row| row.get(0))
        .expect(table)
}

#[tokio::test]
async fn everything_is_the_same_on_the_other_side_and_back() {
    let folder = tempfile::tempdir().expect("a folder");
    let (first, last) = (
        folder.path().join("first.db"),
        folder.path().join("last.db"),
    );
    let (first, last) = (file(&first), file(&last));
    let database = Database::new(backend::migrate);
    let url = database.url();
    let content = fill(&first).await;
    let mut before = server(&first, &[STILL]);
    let connection = before.connect().await;
    let read = content.read(&connection).await;
    let feed = changes(&connection, 0, 6).await;
    drop(connection);
    assert_eq!(before.stop().await, Some(0));

    let path = first.strip_prefix("sqlite:").expect("a file");
    // Only a timer that is too late makes one, and here none fires.
    rusqlite::Connection::open(path)
        .expect("opens")
        .execute_batch("insert into decision values (-1, 1, '{}')")
        .expect("a decision");
    copied(&first, &url).await;
    let mut empty = Vec::new();
    for (table, rows) in counts(&database) {
        assert_eq!(count(path, &table), rows, "{table}");
        if rows == 0 {
            empty.push(table);
        }
    }
    assert!(empty.is_empty(), "there is nothing in {empty:?}");
    let mut over = server(&url, &[STILL]);
    let connection = over.connect().await;
    assert_eq!(content.read(&connection).await, read);
    assert_eq!(changes(&connection, 0, 6).await, feed);
    let third = feed[2]["sequence"].as_i64().expect("a number");
    assert_eq!(changes(&connection, third, 3).await, feed[3..]);
    is_used_again(&content, &connection, 0).await;
    let newest = feed[5]["sequence"].as_i64().expect("a number");
    assert!(changes(&connection, newest, 1).await[0]["sequence"].as_i64() > Some(newest));
    drop(connection);
    assert_eq!(over.stop().await, Some(0));
    let mut tokens = server(&url, iam::SETTINGS);
    iam::token(&tokens.rest(), &content.client.0, &content.client.1).await;
    assert_eq!(tokens.stop().await, Some(0));

    let mut over = server(&url, &[STILL]);
    let connection = over.connect().await;
    let read = content.read(&connection).await;
    let feed = changes(&connection, 0, 7).await;
    drop(connection);
    assert_eq!(over.stop().await, Some(0));
    copied(&url, &last).await;
    let path = last.strip_prefix("sqlite:").expect("a file");
    for (table, rows) in counts(&database) {
        assert_eq!(count(path, &table), rows, "{table}");
    }
    // Here the timer fires.
    let after = server(&last, &[]);
    let connection = after.connect().await;
    assert_eq!(content.read(&connection).await, read);
    assert_eq!(changes(&connection, 0, 7).await, feed);
    let deadline = Instant::now() + PATIENCE;
    while state(&get(&connection, &content.timed).await) != "B" {
        assert!(Instant::now() < deadline, "the timer does not fire");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    is_used_again(&content, &connection, 1).await;
}

/// What was made is used, and new things of each kind are made; a run ends.
async fn is_used_again(content: &Content, connection: &Connection, run: usize) {
    let once = new_entity(&content.model, &json!({"n": 4, "text": "once"}));
    let with = [("idempotencykey", "once")];
    let again = connection
        .call_with("EntityCreateRequest", once, &with)
        .await;
    assert_eq!(again["success"], true, "{again}");
    let taken = new_entity(&content.model, &json!({"n": 3, "text": "d"}));
    assert_eq!(
        connection.fails("EntityCreateRequest", taken).await,
        "UNIQUE_VIOLATION"
    );
    let start = json!({"definition": "waits", "input": {"key": "one"}, "idempotencyKey": "one"});
    let started = connection.ok("RunStartRequest", start).await;
    assert_eq!(started["runId"], content.runs[0].as_str());

    let number = 100 + i64::try_from(run).expect("small");
    create(
        connection,
        &content.model,
        json!({"n": number, "text": "new"}),
    )
    .await;
    locked_model(connection, &format!("new{run}"), json!({"n": 1})).await;
    let note = json!({"header": {"subject": "s"}, "payload": "new"});
    connection.ok("MessageCreateRequest", note).await;
    let file = json!({"path": format!("/new/{run}.json"), "content": run});
    connection.ok("FilePutRequest", file).await;
    let events = json!({"topic": "news", "events": [{"payload": "new"}]});
    let published = connection.ok("TopicPublishRequest", events).await;
    assert_eq!(published["sequences"], json!([3 + run]));
    let condition =
        json!({"type": "simple", "jsonPath": "$.n", "operatorType": "GREATER_THAN", "value": 1});
    let asked = json!({"model": content.model, "condition": condition});
    let search = connection.ok("EntitySnapshotSearchRequest", asked).await;
    search_ends(
        connection,
        search["status"]["snapshotId"].as_str().expect("an id"),
    )
    .await;

    let signal = json!({"runId": content.runs[run], "type": "go", "payload": {}});
    connection.ok("RunSignalRequest", signal).await;
    let follow = json!({"runId": content.runs[run], "fromSequence": 0});
    connection.all("RunHistorySubscribeRequest", follow).await;
    let ended = json!({"runId": content.runs[run]});
    let ended = connection.ok("RunGetRequest", ended).await;
    assert_eq!(ended["run"]["status"], "completed", "{ended}");
}

/// Makes entities; many more than are copied at once.
async fn many(place: &str, count: usize) {
    let mut server = server(place, &[]);
    let connection = server.connect().await;
    let model = locked_model(&connection, "m", json!({"n": 1})).await;
    let numbers: Vec<usize> = (0..count).collect();
    for part in numbers.chunks(1_000) {
        let payloads: Vec<_> = part
            .iter()
            .map(|n| json!({"model": model, "data": {"n": n}}))
            .collect();
        let payload = json!({"dataFormat": "JSON", "payloads": payloads});
        connection
            .ok("EntityCreateCollectionRequest", payload)
            .await;
    }
    drop(connection);
    assert_eq!(server.stop().await, Some(0));
}

/// A transaction that stays open until its end.
struct Session(Child);

impl Session {
    fn open(url: &str, statements: &str) -> Self {
        let psql = postgres::programs().join("psql");
        let mut session = Command::new(psql)
            .args(["-qAt", "-v", "ON_ERROR_STOP=1", "-d", url])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("psql runs");
        let mut input = session.stdin.as_ref().expect("piped");
        writeln!(input, "begin; {statements}; select 'ready';").expect("written");
        let mut said = [0; 6];
        let output = session.stdout.as_mut().expect("piped");
        std::io::Read::read_exact(output, &mut said).expect("an answer");
        Self(session)
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[tokio::test]
async fn a_copy_that_was_killed_is_resumed_where_it_was() {
    let folder = tempfile::tempdir().expect("a folder");
    let place = file(&folder.path().join("many.db"));
    many(&place, 7_000).await;
    let database = Database::new(backend::migrate);
    let url = database.url();
    // The second page of entities waits for a row that someone else may commit.
    let id = "00000000-0000-0000-0000-000000000001";
    let row = format!("insert into entity values (6500, '{id}', 1, 1, '', false, 0, null)");
    let session = Session::open(&url, &row);
    kill_a_copy(&place, &url, &database).await;
    drop(session);
    assert_eq!(database.execute("select part from copying"), "entity");
    assert_eq!(database.execute("select count(*) from entity"), "5000");

    // Half a database is not served.
    is_not_served(&url);
    let other = file(&folder.path().join("other.db"));
    many(&other, 1).await;
    refused(
        &other,
        &url,
        "holds an interrupted copy of another database",
    )
    .await;
    refused(
        &url,
        &file(&folder.path().join("new.db")),
        "is itself an unfinished copy",
    )
    .await;

    let said = copied(&place, &url).await;
    assert!(said.contains("by the interrupted copy"), "{said}");
    assert_eq!(
        database.execute("select to_regclass('copying') is null"),
        "t"
    );
    assert_eq!(database.execute("select count(*) from entity"), "7000");
    assert_eq!(database.execute("select count(*) from version"), "7000");
    let links = "select count(*) from \"commit\" c where c.seq > 0 and c.prev is distinct from \
                 (select max(seq) from \"commit\" p where p.seq < c.seq)";
    assert_eq!(database.execute(links), "0");
}

#[tokio::test]
async fn what_cannot_be_copied_is_refused_with_a_reason() {
    let folder = tempfile::tempdir().expect("a folder");
    let place = file(&folder.path().join("a.db"));
    let database = Database::new(backend::migrate);
    let url = database.url();
    let mut used = server(&place, &[]);
    locked_model(&used.connect().await, "m", json!({"n": 1})).await;
    refused(&place, &url, "is in use; stop the service first").await;
    assert_eq!(used.stop().await, Some(0));
    let mut over = server(&url, &[]);
    drop(over.connect().await);
    refused(&place, &url, "stop every service that uses it first").await;
    let other = file(&folder.path().join("b.db"));
    refused(&url, &other, "stop every service that uses it first").await;
    locked_model(&over.connect().await, "m", json!({"n": 1})).await;
    assert_eq!(over.stop().await, Some(0));
    refused(&place, &url, "the target is not empty").await;
    refused(&url, &place, "the target is not empty").await;
    refused(&place, &other, "use `interlock backup`").await;
    refused(&url, &url, "use pg_dump").await;
    let absent = file(&folder.path().join("absent.db"));
    refused(&absent, &url, "there is no file").await;
    let words = folder.path().join("words.db");
    std::fs::write(&words, "not a database ".repeat(20)).expect("written");
    refused(&file(&words), &url, "is not a database of Interlock").await;
    refused(&url, &file(&words), "is not a database of Interlock").await;
    let notes = folder.path().join("notes.db");
    rusqlite::Connection::open(&notes)
        .expect("opens")
        .execute_batch("create table notes(text)")
        .expect("a table of another program");
    refused(&url, &file(&notes), "is not a database of Interlock").await;
    refused(
        "mysql://u:secret@h/n",
        &url,
        "`mysql` does not name a database",
    )
    .await;
    refused(&place, "sqlite:", "does not name a database").await;
    refused(&place, "postgres", "CYODA_POSTGRES_URL").await;
    let nobody = format!("postgres://postgres@127.0.0.1:{}/n", postgres::free_port());
    refused(&place, &nobody, "does not answer").await;
    refused(
        &place,
        &url.replace("/test_", "/absent_"),
        "no such database",
    )
    .await;
}

#[tokio::test]
async fn a_difference_is_found_and_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let place = file(&folder.path().join("a.db"));
    many(&place, 3).await;
    let database = Database::new(backend::migrate);
    let change = "create function change() returns trigger language plpgsql as \
                  'begin new.data = replace(new.data, ''1'', ''7''); return new; end'; \
                  create trigger change before insert on version for each row execute function change()";
    database.execute(change);
    let why = "`version` is not the same on both sides";
    refused(&place, &database.url(), why).await;
    assert_eq!(database.execute("select count(*) from copying"), "1");
}
