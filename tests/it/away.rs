//! When the `PostgreSQL` database breaks: what is answered meanwhile, and that the service is well
//! again by itself. What is wrong at the start is in [`crate::storing`], what becomes of nodes in
//! [`crate::killed_nodes`], and what a standby takes over in [`crate::failover`].

use std::{
    io::{BufRead as _, BufReader},
    path::Path,
    process::{Command, Stdio},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use interlock::event::EventType;
use serde_json::{Value, json};
use tokio::time::sleep;

use crate::support::{
    Connection, Rest, Server, backend, between_looks, code, command, create, get, locked_model,
    new_entity, payload_of,
    pooler::Pooler,
    postgres::{Postgres, is_super_user},
    relay::{Passage, Relay, Trick},
    request,
    wait::until,
};

fn url(port: u16) -> String {
    format!("postgres://postgres@127.0.0.1:{port}/postgres?sslmode=disable")
}

fn service(port: u16) -> Server {
    let url = url(port);
    Server::on_disk(&[
        ("CYODA_STORAGE_BACKEND", "postgres"),
        ("CYODA_POSTGRES_URL", url.as_str()),
    ])
}

/// A service that reaches its database by a relay, with an entity.
struct Scene {
    postgres: Postgres,
    relay: Relay,
    server: Server,
    connection: Connection,
    model: Value,
    entity: String,
}

impl Scene {
    async fn start() -> Self {
        Self::over(Postgres::start()).await
    }

    async fn over(postgres: Postgres) -> Self {
        let relay = Relay::to(Some(postgres.port)).await;
        let port = relay.port;
        let server = tokio::task::block_in_place(|| service(port));
        let connection = server.connect().await;
        let model = locked_model(&connection, "m", json!({"n": 1})).await;
        let entity = create(&connection, &model, json!({"n": 1})).await;
        Self {
            postgres,
            relay,
            server,
            connection,
            model,
            entity,
        }
    }

    async fn read(&self) -> Value {
        let asked = json!({"entityId": self.entity});
        self.connection.call("EntityGetRequest", asked).await
    }

    async fn create(&self, n: i64) -> Value {
        let made = new_entity(&self.model, &json!({"n": n}));
        self.connection.call("EntityCreateRequest", made).await
    }

    /// How many entities with this number the database has.
    fn stored(&self, n: i64) -> String {
        let text = format!(
            "select count(*) from version v join entity en using (e) where v.data = '{{\"n\":{n}}}'"
        );
        self.postgres.execute(&text)
    }

    async fn is_ready(&self) -> bool {
        Rest::new(self.server.admin).get("/readyz").await.status == 200
    }

    /// Waits until all works; how long that took.
    async fn is_well_again(&self) -> Duration {
        let begun = Instant::now();
        until("the service is well again", async || {
            self.read().await["success"] == true
                && self.create(0).await["success"] == true
                && self.is_ready().await
        })
        .await;
        begun.elapsed()
    }
}

fn assert_unavailable(answer: &Value) {
    assert_eq!(answer["success"], false, "{answer}");
    assert_eq!(code(answer), "STORAGE_UNAVAILABLE", "{answer}");
}

#[tokio::test(flavor = "multi_thread")]
#[expect(clippy::print_stdout, reason = "the time it takes can be looked at")]
async fn nothing_is_read_or_written_while_the_database_is_away() {
    let scene = Scene::start().await;
    for passage in [Passage::Cut, Passage::Silent] {
        scene.is_well_again().await;
        // It is in the cache.
        assert_eq!(scene.read().await["success"], true);
        scene.relay.set(passage);
        for _ in 0..3 {
            assert_unavailable(&scene.read().await);
        }
        let made = scene.create(7).await;
        assert_eq!(made["success"], false, "{made}");
        let is_known = code(&made) == "STORAGE_UNAVAILABLE";
        assert!(is_known || code(&made) == "OUTCOME_UNKNOWN", "{made}");
        until("writes are refused", async || {
            let refused = scene.create(8).await;
            assert_eq!(refused["success"], false, "{refused}");
            code(&refused) == "STORAGE_UNAVAILABLE"
        })
        .await;
        assert!(!scene.is_ready().await, "{passage:?}");
        for level in ["debug", "info"] {
            let set = json!({"level": level});
            scene.connection.ok("LogLevelSetRequest", set).await;
        }
        scene.relay.set(Passage::Open);
        let well = scene.is_well_again().await;
        println!("well again {well:.1?} after {passage:?}");
        if is_known {
            assert_eq!(scene.stored(7), "0", "{passage:?}");
        }
    }
    // What was changed by others meanwhile is seen.
    scene.relay.set(Passage::Cut);
    assert_unavailable(&scene.read().await);
    let port = scene.postgres.port;
    let other = tokio::task::block_in_place(|| service(port));
    let change =
        json!({"dataFormat": "JSON", "payload": {"entityId": scene.entity, "data": {"n": 2}}});
    let other = other.connect().await;
    other.ok("EntityUpdateRequest", change).await;
    assert_unavailable(&scene.read().await);
    scene.relay.set(Passage::Open);
    scene.is_well_again().await;
    assert_eq!(scene.read().await["payload"]["data"]["n"], 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_create_whose_answer_is_lost_is_answered_as_it_was() {
    let scene = Scene::start().await;
    for n in 10..20 {
        scene.relay.play(Trick::LoseAnswer);
        let made = scene.create(n).await;
        // Whatever it was whose answer was lost: the create, or something before or after it.
        let expected = if made["success"] == true {
            "1"
        } else {
            assert_unavailable(&made);
            "0"
        };
        scene.is_well_again().await;
        assert_eq!(scene.stored(n), expected, "{made}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_create_that_arrives_after_its_connection_was_lost_is_never_written() {
    let scene = Scene::start().await;
    for n in 10_i64..14 {
        let delay = Duration::from_millis(200 * (n.unsigned_abs() - 9));
        scene.relay.play(Trick::DelayRequest(delay));
        let made = scene.create(n).await;
        let expected = if made["success"] == true {
            "1"
        } else {
            assert_unavailable(&made);
            "0"
        };
        // The late request has been looked at by the server.
        sleep(delay).await;
        scene.is_well_again().await;
        assert_eq!(scene.stored(n), expected, "{made}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_outcome_is_unknown_only_while_the_database_cannot_be_asked() {
    let scene = Scene::start().await;
    scene.is_well_again().await;
    let made = new_entity(&scene.model, &json!({"n": 30}));
    scene.relay.play(Trick::LoseAnswer);
    let connection = &scene.connection;
    let made = request("EntityCreateRequest", &connection.fresh_id(), made);
    let mut answers = connection.begin(made).await;
    until("the answer is lost", async || !scene.relay.is_waiting()).await;
    scene.relay.set(Passage::Cut);
    let made = answers.recv().await.expect("an answer");
    let made = payload_of(&made);
    scene.relay.set(Passage::Open);
    scene.is_well_again().await;
    // It may have been settled before the cut, or may not have been sent.
    let stored = scene.stored(30);
    if made["success"] == true {
        assert_eq!(stored, "1");
    } else if code(&made) == "STORAGE_UNAVAILABLE" {
        assert_eq!(stored, "0");
    } else {
        assert_eq!(code(&made), "OUTCOME_UNKNOWN", "{made}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_process_that_was_frozen_reads_what_is_new_and_its_late_write_is_refused() {
    let scene = Scene::start().await;
    let port = scene.postgres.port;
    let other = tokio::task::block_in_place(|| service(port));
    let other = other.connect().await;
    for n in 2..8 {
        let seen = scene.read().await;
        let before = &seen["payload"]["meta"]["transactionId"];
        scene.server.freeze();
        let connection = &scene.connection;
        let read = json!({"entityId": scene.entity});
        let read = request("EntityGetRequest", &connection.fresh_id(), read);
        let late = json!({"patchFormat": "MERGE_PATCH", "payload":
            {"entityId": scene.entity, "patch": {"n": -1}, "ifMatch": before}});
        let late = request("EntityPatchRequest", &connection.fresh_id(), late);
        let (mut read, mut late) = (connection.begin(read).await, connection.begin(late).await);
        let change = json!({"dataFormat": "JSON", "payload":
            {"entityId": scene.entity, "data": {"n": n}}});
        other.ok("EntityUpdateRequest", change).await;
        scene.server.signal("-CONT");
        let read = payload_of(&read.recv().await.expect("an answer"));
        assert_eq!(read["payload"]["data"]["n"], n, "{read}");
        let late = payload_of(&late.recv().await.expect("an answer"));
        let refused = ["ENTITY_MODIFIED", "CONFLICT"].contains(&code(&late).as_str());
        assert!(refused, "{late}");
        assert_eq!(get(&other, &scene.entity).await["data"]["n"], n);
    }
}

/// A small file system, which is unmounted in the end.
struct Small<'a>(&'a Path);

impl<'a> Small<'a> {
    fn mount(at: &'a Path) -> Option<Self> {
        let mount = Command::new("mount")
            .args([
                "-t",
                "tmpfs",
                "-o",
                "size=12m,uid=65534,gid=65534,mode=700",
                "tmpfs",
            ])
            .arg(at)
            .stderr(Stdio::null())
            .status();
        mount
            .is_ok_and(|status| status.success())
            .then_some(Self(at))
    }
}

impl Drop for Small<'_> {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(self.0).status();
    }
}

#[tokio::test(flavor = "multi_thread")]
#[expect(clippy::print_stdout, reason = "a test that is skipped says why")]
async fn writes_are_refused_while_the_disk_of_the_database_is_full_and_reads_are_answered() {
    let folder = tempfile::tempdir().expect("a folder");
    let small = is_super_user()
        .then(|| Small::mount(folder.path()))
        .flatten();
    if small.is_none() {
        println!("SKIPPED: no file system can be mounted here");
        return;
    }
    let postgres = Postgres::start();
    backend::migrate(&url(postgres.port));
    // The tables are on a small disk, the log of the database is not.
    let place = folder.path().display();
    postgres.execute(&format!("create tablespace small location '{place}'"));
    for table in ["version", "entity"] {
        postgres.execute(&format!("alter table {table} set tablespace small"));
    }
    let scene = Scene::over(postgres).await;
    // What does not compress, so that it takes the room that it has.
    let text = |n: usize| {
        let mut state = u64::try_from(n).expect("small") + 1;
        let letter = |_| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            char::from(b'!' + u8::try_from((state >> 33) % 90).expect("small"))
        };
        let text: String = (0..400_000).map(letter).collect();
        text.replace(['"', '\\'], "x")
    };
    let wide = locked_model(&scene.connection, "wide", json!({"text": "x"})).await;
    let mut made = Vec::new();
    let refused = loop {
        let payload = new_entity(&wide, &json!({"text": text(made.len())}));
        let answer = scene.connection.call("EntityCreateRequest", payload).await;
        if answer["success"] == false {
            break answer;
        }
        made.push(answer["transactionInfo"]["entityIds"][0].clone());
        assert!(made.len() < 100, "the disk is never full");
    };
    assert_unavailable(&refused);
    assert_eq!(scene.read().await["success"], true, "reads are answered");
    for id in &made {
        get(&scene.connection, id.as_str().expect("an id")).await;
    }
    // There is room again.
    let moved = "alter table version set tablespace pg_default";
    scene.postgres.execute(moved);
    scene.is_well_again().await;
    drop(scene);
    drop(small);
}

/// Does tasks: creates an entity with the token of each, and answers. How many it has done.
fn does_tasks(member: Connection, model: Value) -> Arc<AtomicUsize> {
    let done = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&done);
    tokio::spawn(async move {
        let join = json!({"actions": ["charge"]});
        member
            .send(request("CalculationMemberJoinEvent", "join", join))
            .await;
        while let Some(event) = member.unasked().await {
            if event.kind != EventType::TaskCalculationRequest {
                continue;
            }
            counted.fetch_add(1, Ordering::SeqCst);
            let token = event.attribute("cyodatxtoken").expect("a token").to_owned();
            let quoted = [("cyodatxtoken", token.as_str())];
            let made = new_entity(&model, &json!({"n": 77}));
            member.call_with("EntityCreateRequest", made, &quoted).await;
            let answer = json!({"requestId": payload_of(&event)["requestId"], "success": true});
            let answer = request("TaskCalculationResponse", &member.fresh_id(), answer);
            member.send(answer).await;
        }
    });
    done
}

#[tokio::test(flavor = "multi_thread")]
async fn a_task_whose_writes_the_database_refuses_is_done_again_when_it_takes_them() {
    let scene = Scene::start().await;
    let action = json!({"name": "charge", "maxRetries": 0});
    scene.connection.ok("ActionRegisterRequest", action).await;
    let document = "kind: Workflow\nname: charges\nversion: \"1\"\nstart:\n  run: \"@actions/charge\"\n  transitions: {success: flo.Completed, failure: flo.Failed}\n";
    let document = json!({"document": document});
    scene
        .connection
        .ok("RunDefinitionCreateRequest", document)
        .await;
    scene.postgres.execute(
        "create function refuse() returns trigger language plpgsql as \
         $$ begin raise exception 'no room' using errcode = '53100'; end $$",
    );
    let started = json!({"definition": "charges"});
    let started = scene.connection.ok("RunStartRequest", started).await;
    scene.postgres.execute(
        "create trigger refuse before insert on version for each row execute function refuse()",
    );
    let done = does_tasks(scene.server.connect().await, scene.model.clone());
    until("a commit was refused", async || !scene.is_ready().await).await;
    for _ in 0..200 {
        assert_eq!(scene.create(8).await["success"], false);
        between_looks().await;
    }
    scene.postgres.execute("drop trigger refuse on version");
    let asked = json!({"runId": started["runId"]});
    until("the run has ended", async || {
        let run = scene.connection.ok("RunGetRequest", asked.clone()).await;
        let status = run["run"]["status"].clone();
        assert_ne!(status, "failed", "{run}");
        status == "completed"
    })
    .await;
    assert_eq!(scene.stored(77), "1");
    assert!(done.load(Ordering::SeqCst) <= 4, "{done:?}");
}

/// What a service says that does not start.
fn refusal(url: &str) -> String {
    let folder = tempfile::tempdir().expect("a folder");
    let settings = [
        ("CYODA_STORAGE_BACKEND", "postgres"),
        ("CYODA_POSTGRES_URL", url),
    ];
    let done = command(folder.path(), &settings)
        .env("CYODA_STARTUP_TIMEOUT", "2s")
        .stdin(Stdio::null())
        .output()
        .expect("runs");
    assert_eq!(done.status.code(), Some(1), "{done:?}");
    let said = [done.stdout, done.stderr].concat();
    String::from_utf8_lossy(&said).into_owned()
}

#[test]
fn a_wrong_password_and_a_server_that_is_too_old_are_named_at_the_start() {
    let server = Postgres::start();
    let port = server.port;
    server.execute("create role guest login superuser password 'right'");
    let rules = server.execute("show hba_file");
    server.execute(&format!(
        "copy (values ('host all guest 127.0.0.1/32 scram-sha-256'),
         ('host all all 127.0.0.1/32 trust')) to '{rules}'"
    ));
    server.execute("select pg_reload_conf()");
    let said = refusal(&format!("postgres://guest:wrong@127.0.0.1:{port}/postgres"));
    assert!(said.contains("rejected the user or the password"), "{said}");
    assert!(!said.contains("wrong"), "{said}");
    // What its settings say comes from a function of the same name.
    server.execute(
        "create schema older;
         create function older.current_setting(name text) returns text language sql as $$
           select case name when 'server_version_num' then '130099'
             when 'server_version' then '13.99' else pg_catalog.current_setting(name) end $$;
         alter database postgres set search_path = older, pg_catalog, public",
    );
    let said = refusal(&url(port));
    assert!(said.contains("has version 13.99; use version 14"), "{said}");
}

#[test]
fn a_server_without_tls_or_without_a_free_connection_is_named_at_the_start() {
    let server = Postgres::start();
    let port = server.port;
    let said = refusal(&url(port).replace("=disable", "=require"));
    assert!(said.contains("no TLS connection to the"), "{said}");
    let guest = guest(&server);
    for limit in 0..3 {
        limit_guest(&server, limit);
        let said = refusal(&guest);
        assert!(
            said.contains("takes no more connections"),
            "{limit}: {said}"
        );
        assert!(said.contains("needs at least 6"), "{limit}: {said}");
    }
}

/// The database, as a user of whom connections can be limited.
fn guest(server: &Postgres) -> String {
    server.execute("create role guest login; grant create on schema public to guest");
    format!("postgres://guest@127.0.0.1:{}/postgres", server.port)
}

fn limit_guest(server: &Postgres, limit: u32) {
    server.execute(&format!("alter role guest connection limit {limit}"));
}

#[test]
fn a_start_waits_until_the_server_gives_enough_connections() {
    let server = Postgres::start();
    let guest = guest(&server);
    limit_guest(&server, 2);
    let folder = tempfile::tempdir().expect("a folder");
    let settings = [
        ("CYODA_STORAGE_BACKEND", "postgres"),
        ("CYODA_POSTGRES_URL", guest.as_str()),
    ];
    let mut starting = command(folder.path(), &settings)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .expect("starts");
    let mut lines = BufReader::new(starting.stdout.take().expect("piped")).lines();
    let mut says =
        |part: &str| lines.any(|line| line.is_ok_and(|line: String| line.contains(part)));
    let has_named_it = says("takes no more connections");
    limit_guest(&server, 20);
    let is_ready = says("interlock is ready");
    let _ = (starting.kill(), starting.wait());
    assert!(has_named_it && is_ready, "{has_named_it}, {is_ready}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pooler_that_does_not_keep_sessions_is_named_at_the_start() {
    let server = Postgres::start();
    let pooler = Pooler::before(server.port).await;
    let said = tokio::task::block_in_place(|| refusal(&url(pooler.port)));
    assert!(said.contains("does not keep sessions"), "{said}");
    assert!(said.contains("session mode"), "{said}");
}
