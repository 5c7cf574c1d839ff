//! What a failing disk does to the service (issue 18, §5): nothing that was acknowledged is lost,
//! nobody waits for long, and what is wrong is said.

use std::{
    fs::{self, File},
    io::Write as _,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::{Duration, Instant, SystemTime},
};

use serde_json::{Value, json};

use crate::support::{
    Connection, Member, Reply, Rest, Server, code, create, governed_model, locked_model,
    new_entity, processed_by, sync_processor, wait::until,
};

/// Within which time a write is answered, whatever the disk does.
const BOUND: Duration = Duration::from_secs(5);

/// A small file system of its own, which goes with this.
struct SmallDisk(tempfile::TempDir);

impl SmallDisk {
    /// None where nobody may mount one.
    fn mount(mebibytes: usize) -> Option<Self> {
        let folder = tempfile::tempdir().expect("a folder");
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o"])
            .arg(format!("size={mebibytes}m"))
            .arg("tmpfs")
            .arg(folder.path())
            .stderr(Stdio::null())
            .status();
        if mounted.is_ok_and(|status| status.success()) {
            return Some(Self(folder));
        }
        let _ = writeln!(
            std::io::stderr(),
            "skipped: a tmpfs cannot be mounted here (it takes root); the file size limit is tried instead"
        );
        None
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    /// Fills it to the last byte.
    fn fill(&self) -> PathBuf {
        let filler = self.path().join("filler");
        let mut file = File::create(&filler).expect("a file");
        while file.write_all(&[1; 4_096]).is_ok() {}
        filler
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(self.path()).status();
    }
}

/// Creates an entity; its id, or the code of the refusal. It is answered in time.
async fn try_create(connection: &Connection, model: &Value, size: usize) -> Result<String, String> {
    let begun = Instant::now();
    let data = json!({"n": 1, "text": "x".repeat(size)});
    let answer = connection
        .call("EntityCreateRequest", new_entity(model, &data))
        .await;
    assert!(begun.elapsed() < BOUND, "{:?}: {answer}", begun.elapsed());
    if answer["success"] == true {
        let id = answer["transactionInfo"]["entityIds"][0].as_str();
        return Ok(id.expect("an id").to_owned());
    }
    Err(code(&answer))
}

async fn is_ready(server: &Server) -> bool {
    Rest::new(server.admin).get("/readyz").await.status == 200
}

fn says(server: &Server, text: &str) -> bool {
    let log = server.log.lock().expect("no panic");
    log.iter().any(|line| line.contains(text))
}

async fn read(connection: &Connection, id: &str) -> Value {
    connection
        .call("EntityGetRequest", json!({"entityId": id}))
        .await
}

/// All that were acknowledged are there, and none of those that were definitely refused.
async fn nothing_is_lost(connection: &Connection, model: &Value, made: &[String], refused: usize) {
    for id in made {
        let found = read(connection, id).await;
        assert_eq!(found["success"], true, "{id}: {found}");
    }
    let (entities, _) = connection
        .all(
            "EntityGetAllRequest",
            json!({"model": model, "pageSize": 10_000}),
        )
        .await;
    assert!(entities.len() <= made.len() + refused, "{}", entities.len());
}

/// Reads of now and of an instant are answered, although nothing can be written.
async fn reads_are_answered(connection: &Connection, model: &Value, id: &str) {
    let now = humantime::format_rfc3339_millis(SystemTime::now()).to_string();
    let reads = [
        (
            "EntityGetRequest",
            json!({"entityId": id, "pointInTime": now}),
        ),
        ("EntityStatsGetRequest", json!({})),
        ("EntityStatsGetRequest", json!({"pointInTime": now})),
        ("EntityGetAllRequest", json!({"model": model})),
        (
            "EntityGetAllRequest",
            json!({"model": model, "pointInTime": now}),
        ),
        (
            "EntityChangesMetadataGetRequest",
            json!({"entityId": id, "pointInTime": now}),
        ),
    ];
    for (kind, asked) in reads {
        let begun = Instant::now();
        let (_, end) = connection.all(kind, asked.clone()).await;
        assert_ne!(end["success"], false, "{kind} {asked}: {end}");
        assert!(
            begun.elapsed() < Duration::from_secs(1),
            "{kind} {asked}: {:?}",
            begun.elapsed()
        );
    }
}

fn database(server: &Server) -> PathBuf {
    server.folder().join(".local/share/interlock/interlock.db")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_disk_refuses_writes_at_once_and_they_resume_when_there_is_room() {
    let Some(disk) = SmallDisk::mount(16) else {
        return;
    };
    let path = disk.path().join("interlock.db");
    let mut server = Server::on_disk(&[
        ("CYODA_SQLITE_PATH", path.to_str().expect("text")),
        ("CYODA_SQLITE_BUSY_TIMEOUT", "10ms"),
    ]);
    let connection = server.connect().await;
    let model = locked_model(&connection, "doc", json!({"n": 1, "text": "x"})).await;
    let mut made = vec![try_create(&connection, &model, 10).await.expect("room")];
    // A backup reads for as long as it takes, and holds up no writes.
    let backup = rusqlite::Connection::open(&path).expect("opens");
    let reading = backup.execute_batch("begin; select 1 from version limit 1");
    reading.expect("reads");
    let filler = disk.fill();
    let (mut unknown, mut codes) = (0, Vec::new());
    while codes.is_empty() {
        match try_create(&connection, &model, 20_000).await {
            Ok(id) => made.push(id),
            Err(code) => codes.push(code),
        }
    }
    until("writes are refused at once", async || {
        let begun = Instant::now();
        let tried = try_create(&connection, &model, 20_000).await;
        codes.extend(tried.err());
        !is_ready(&server).await && begun.elapsed() < Duration::from_secs(1)
    })
    .await;
    assert_eq!(read(&connection, &made[0]).await["success"], true);
    reads_are_answered(&connection, &model, &made[0]).await;
    assert!(says(&server, "the disk is full; make room"));
    for code in &codes {
        let is_known = ["STORAGE_UNAVAILABLE", "OUTCOME_UNKNOWN"].contains(&code.as_str());
        assert!(is_known, "{code}");
        unknown += usize::from(code == "OUTCOME_UNKNOWN");
    }
    fs::remove_file(filler).expect("removes");
    until("writes are taken again", async || {
        let tried = try_create(&connection, &model, 10).await;
        made.extend(tried.clone().ok());
        tried.is_ok()
    })
    .await;
    until("it is ready", async || is_ready(&server).await).await;
    drop(backup);
    server.kill();
    server.restart();
    let connection = server.connect().await;
    nothing_is_lost(&connection, &model, &made, unknown).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_limit_on_the_size_of_files_refuses_writes_and_does_not_end_the_process() {
    let mut server = Server::on_disk(&[]);
    let connection = server.connect().await;
    let model = locked_model(&connection, "doc", json!({"n": 1, "text": "x"})).await;
    let mut made = vec![try_create(&connection, &model, 10).await.expect("made")];
    let limit = |bytes: &str| {
        let limited = Command::new("prlimit")
            .args([
                "--pid",
                &server.id().to_string(),
                &format!("--fsize={bytes}:"),
            ])
            .status();
        limited.is_ok_and(|status| status.success())
    };
    if !limit("600000") {
        let _ = writeln!(std::io::stderr(), "skipped: there is no prlimit here");
        return;
    }
    let mut refused = Vec::new();
    until("a write is refused", async || {
        match try_create(&connection, &model, 100_000).await {
            Ok(id) => made.push(id),
            Err(code) => refused.push(code),
        }
        refused.len() > 2
    })
    .await;
    assert_eq!(read(&connection, &made[0]).await["success"], true);
    assert!(limit("unlimited"));
    until("writes are taken again", async || {
        let tried = try_create(&connection, &model, 10).await;
        made.extend(tried.clone().ok());
        tried.is_ok() && is_ready(&server).await
    })
    .await;
    server.kill();
    server.restart();
    let connection = server.connect().await;
    nothing_is_lost(&connection, &model, &made, refused.len()).await;
}

/// What is done to the files of a running service.
async fn files_go(go: impl FnOnce(&Path), what: &str) -> (Server, Connection, Value, Vec<String>) {
    let server = Server::on_disk(&[]);
    let connection = server.connect().await;
    let model = locked_model(&connection, "doc", json!({"n": 1, "text": "x"})).await;
    let made = vec![create(&connection, &model, json!({"n": 1, "text": "x"})).await];
    assert!(is_ready(&server).await);
    go(&database(&server));
    let gone = Instant::now();
    // Nothing is acknowledged from here on, not even before it was noticed.
    let tried = try_create(&connection, &model, 10).await;
    let code = tried.expect_err(what);
    assert!(
        ["STORAGE_UNAVAILABLE", "OUTCOME_UNKNOWN"].contains(&code.as_str()),
        "{what}: {code}"
    );
    until(what, async || !is_ready(&server).await).await;
    assert!(gone.elapsed() < Duration::from_secs(2), "{what}");
    assert_eq!(
        try_create(&connection, &model, 10).await.expect_err(what),
        "STORAGE_UNAVAILABLE"
    );
    assert!(says(&server, "it was deleted, moved or replaced"), "{what}");
    // What was read from the open file is what was written to it.
    assert_eq!(read(&connection, &made[0]).await["success"], true);
    (server, connection, model, made)
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_acknowledged_once_the_database_is_deleted_or_replaced() {
    files_go(|path| fs::remove_file(path).expect("removes"), "deleted").await;
    files_go(
        |path| {
            fs::copy(path, path.with_extension("copy")).expect("copies");
            fs::rename(path.with_extension("copy"), path).expect("replaces");
        },
        "replaced",
    )
    .await;
    files_go(
        |path| fs::remove_file(path.with_extension("db-wal")).expect("removes"),
        "log deleted",
    )
    .await;
    let folder = |path: &Path| path.parent().expect("a folder").to_owned();
    files_go(
        |path| fs::remove_dir_all(folder(path)).expect("removes"),
        "folder deleted",
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_idle_service_notices_within_a_second_that_its_database_is_gone() {
    let server = Server::on_disk(&[]);
    assert!(is_ready(&server).await);
    fs::remove_file(database(&server)).expect("removes");
    let gone = Instant::now();
    until("noticed", async || !is_ready(&server).await).await;
    assert!(
        gone.elapsed() < Duration::from_millis(1_500),
        "{:?}",
        gone.elapsed()
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn who_watches_the_health_over_grpc_is_told_that_the_database_is_gone() {
    use tonic_health::pb::{
        HealthCheckRequest, health_check_response::ServingStatus, health_client::HealthClient,
    };
    let server = Server::on_disk(&[]);
    let channel = tonic::transport::Channel::from_shared(format!("http://{}", server.grpc));
    let channel = channel.expect("a URI").connect().await.expect("connects");
    let mut health = HealthClient::new(channel);
    let mut watched = Vec::new();
    for service in ["", "org.cyoda.cloud.api.grpc.CloudEventsService"] {
        let service = service.to_owned();
        let watching = health.watch(HealthCheckRequest { service }).await;
        watched.push(watching.expect("answered").into_inner());
    }
    for (round, status) in [ServingStatus::Serving, ServingStatus::NotServing]
        .into_iter()
        .enumerate()
    {
        if round == 1 {
            fs::remove_file(database(&server)).expect("removes");
        }
        for watched in &mut watched {
            let told = watched.message().await.expect("a status").expect("one");
            assert_eq!(told.status(), status);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn no_member_is_called_for_a_write_that_is_refused() {
    let server = Server::on_disk(&[]);
    let connection = server.connect().await;
    let member = Member::join(&server, &[]).await;
    let mut calls = member.record(|_| Reply::Nothing);
    let workflow = processed_by(json!([sync_processor("only", json!({}))]));
    let model = governed_model(&connection, "doc", json!({"n": 1, "text": "x"}), workflow).await;
    let made = try_create(&connection, &model, 10).await.expect("made");
    calls.recv().await.expect("a call");
    let folder = database(&server).parent().expect("a folder").to_owned();
    let away = folder.with_extension("away");
    fs::rename(&folder, &away).expect("moves");
    until("writes are refused", async || !is_ready(&server).await).await;
    let refused = try_create(&connection, &model, 10).await;
    assert_eq!(refused.expect_err("refused"), "STORAGE_UNAVAILABLE");
    assert_eq!(read(&connection, &made).await["success"], true);
    fs::rename(&away, &folder).expect("moves back");
    until("writes are taken again", async || {
        try_create(&connection, &model, 10).await.is_ok()
    })
    .await;
    calls.recv().await.expect("a call");
    assert!(calls.try_recv().is_err(), "called for what was refused");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_that_is_moved_back_is_written_again() {
    let folder = |path: &Path| path.parent().expect("a folder").to_owned();
    let away = |path: &Path| folder(path).with_extension("away");
    let (mut server, connection, model, mut made) = files_go(
        |path| fs::rename(folder(path), away(path)).expect("moves"),
        "folder moved",
    )
    .await;
    let path = database(&server);
    fs::rename(away(&path), folder(&path)).expect("moves back");
    until("writes are taken again", async || {
        let tried = try_create(&connection, &model, 10).await;
        made.extend(tried.clone().ok());
        tried.is_ok() && is_ready(&server).await
    })
    .await;
    server.kill();
    server.restart();
    let connection = server.connect().await;
    nothing_is_lost(&connection, &model, &made, 1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_service_that_stops_leaves_a_database_alone_that_replaced_its_own() {
    let (mut server, _connection, _model, _made) = files_go(
        |path| {
            fs::copy(path, path.with_extension("copy")).expect("copies");
            fs::rename(path.with_extension("copy"), path).expect("replaces");
        },
        "replaced",
    )
    .await;
    let log = database(&server).with_extension("db-wal");
    fs::remove_file(&log).expect("removes");
    fs::write(&log, "of another").expect("writes");
    assert_eq!(server.stop().await, Some(0));
    assert_eq!(fs::read_to_string(&log).expect("is there"), "of another");
}

/// Overwrites a page.
fn scribble(file: &File, page: i64) {
    let at = u64::try_from(page - 1).expect("a page") * 4_096;
    std::os::unix::fs::FileExt::write_all_at(file, &[0xaa; 4_096], at).expect("writes");
}

/// Overwrites pages of a table in a database that is at rest; how many.
fn damage(path: &Path, table: &str) -> usize {
    let pages: Vec<i64> = {
        let connection = rusqlite::Connection::open(path).expect("opens");
        let mut pages = connection
            .prepare("select pageno from dbstat where name = ?1 and pagetype = 'leaf'")
            .expect("a database with its statistics");
        let pages = pages.query_map([table], |row| row.get(0)).expect("pages");
        pages.collect::<Result<_, _>>().expect("numbers")
    };
    let file = File::options().write(true).open(path).expect("opens");
    for page in &pages {
        scribble(&file, *page);
    }
    pages.len()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_damaged_page_is_named_at_the_start_and_what_is_elsewhere_is_read() {
    let mut server = Server::on_disk(&[]);
    let connection = server.connect().await;
    let model = locked_model(&connection, "doc", json!({"n": 1, "text": "x"})).await;
    let id = create(&connection, &model, json!({"n": 1, "text": "x"})).await;
    assert_eq!(server.stop().await, Some(0));
    assert!(
        damage(&database(&server), "definition_hash_order") + damage(&database(&server), "actor")
            > 0
    );
    server.restart();
    let connection = server.connect().await;
    assert!(!is_ready(&server).await);
    assert!(says(&server, "a page of the database is damaged"));
    assert!(says(&server, "table=\"actor\""));
    assert_eq!(
        try_create(&connection, &model, 10).await,
        Err("STORAGE_UNAVAILABLE".to_owned())
    );
    let _ = read(&connection, &id).await;
    // It stops as ever.
    assert_eq!(server.stop().await, Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_that_lacks_its_last_byte_is_not_written() {
    let mut server = Server::on_disk(&[]);
    let connection = server.connect().await;
    let model = locked_model(&connection, "doc", json!({"n": 1, "text": "x"})).await;
    assert_eq!(server.stop().await, Some(0));
    let file = File::options().write(true).open(database(&server));
    let file = file.expect("opens");
    let bytes = file.metadata().expect("readable").len();
    file.set_len(bytes - 1).expect("cuts");
    server.restart();
    let connection = server.connect().await;
    assert!(!is_ready(&server).await);
    let found = format!("it has {} of {bytes} bytes", bytes - 1);
    assert!(says(&server, &found), "{}", server.logged());
    assert_eq!(
        try_create(&connection, &model, 10).await,
        Err("STORAGE_UNAVAILABLE".to_owned())
    );
    assert_eq!(server.stop().await, Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_damaged_page_that_is_read_fails_that_request_and_no_other() {
    let mut server = Server::on_disk(&[("INTERLOCK_START_CHECK_TIME", "0s")]);
    let connection = server.connect().await;
    let model = locked_model(&connection, "doc", json!({"n": 1, "text": "x"})).await;
    let mut made = Vec::new();
    for n in 0..200 {
        let data = json!({"n": n, "text": "x".repeat(500)});
        made.push(create(&connection, &model, data).await);
    }
    assert_eq!(server.stop().await, Some(0));
    let path = database(&server);
    let page: i64 = {
        let connection = rusqlite::Connection::open(&path).expect("opens");
        let first = "select min(pageno) from dbstat where name = 'version' and pagetype = 'leaf'";
        connection
            .query_row(first, [], |row| row.get(0))
            .expect("a page")
    };
    let file = File::options().write(true).open(&path).expect("opens");
    scribble(&file, page);
    server.restart();
    let connection = server.connect().await;
    assert!(is_ready(&server).await);
    let first = read(&connection, &made[0]).await;
    assert_eq!(code(&first), "STORAGE_DAMAGED", "{first}");
    assert!(!is_ready(&server).await);
    let last = made.last().expect("some");
    assert_eq!(read(&connection, last).await["success"], true);
    until("the page is named", async || {
        says(&server, "table=\"version\"")
    })
    .await;
    let log = server.logged();
    assert!(log.contains(&format!("page {page}")), "page {page}: {log}");
    let counted = Rest::new(server.admin).get("/metrics").await.text;
    assert!(
        counted.contains("interlock_storage_damage_total 1"),
        "{counted}"
    );
    // Writes that touch nothing of it are done.
    try_create(&connection, &model, 10).await.expect("made");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_dropped_of_a_log_is_said_at_the_start() {
    let mut server = Server::on_disk(&[]);
    let connection = server.connect().await;
    let model = locked_model(&connection, "doc", json!({"n": 1, "text": "x"})).await;
    let first = create(&connection, &model, json!({"n": 1, "text": "x"})).await;
    for n in 0..20 {
        create(&connection, &model, json!({"n": n, "text": "x"})).await;
    }
    server.kill();
    let log = database(&server).with_extension("db-wal");
    let size = fs::metadata(&log).expect("is there").len();
    let file = File::options().write(true).open(&log).expect("opens");
    std::os::unix::fs::FileExt::write_all_at(&file, &[0xaa; 100], size - 30_000).expect("writes");
    server.restart();
    assert!(says(
        &server,
        "the end of the log cannot be read and is dropped"
    ));
    assert!(says(&server, "dropped_commits="));
    let connection = server.connect().await;
    assert_eq!(read(&connection, &first).await["success"], true);
}
