//! The process: starting, stopping, its command line and its listeners.

use std::{
    ffi::OsStr,
    io::{BufRead as _, BufReader},
    os::unix::{ffi::OsStrExt as _, fs::PermissionsExt as _},
    path::Path,
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use tokio_stream::StreamExt as _;

use crate::support::{Rest, Server, between_looks, command, token::KEY, wait::until};

fn run(
    folder: &Path,
    settings: &[(&str, &str)],
    arguments: &[&str],
) -> (Option<i32>, String, String) {
    let output = command(folder, settings)
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .expect("runs");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("text");
    (
        output.status.code(),
        text(output.stdout),
        text(output.stderr),
    )
}

#[test]
fn the_command_line_explains_itself() {
    let folder = tempfile::tempdir().expect("a folder");
    let (code, help, _) = run(folder.path(), &[], &["--help"]);
    assert_eq!(code, Some(0));
    for reported in [
        "serve",
        "call",
        "events",
        "workflow",
        "init",
        "health",
        "migrate",
        "backup",
        "restore",
        "copy",
        "version",
        "Examples:",
    ] {
        assert!(help.contains(reported), "{help}");
    }
    for command in [
        &["serve"][..],
        &["call"],
        &["events"],
        &["workflow", "draw"],
        &["workflow"],
        &["flo", "workflow"],
        &["flo", "action"],
        &["flo", "worker"],
        &["flo", "stream"],
        &["flo", "validate"],
        &["version"],
        &["init"],
        &["health"],
        &["migrate"],
        &["backup"],
        &["restore"],
        &["copy"],
    ] {
        let (code, help, _) = run(folder.path(), &[], &[command, &["--help"]].concat());
        assert!(
            code == Some(0) && help.contains("Example"),
            "{command:?}: {help}"
        );
    }
    for arguments in [&["version"][..], &["--version"], &["-V"], &["-v"]] {
        let (code, version, _) = run(folder.path(), &[], arguments);
        assert!(
            code == Some(0) && version.starts_with("interlock 0.") && version.contains("(commit "),
            "{version}"
        );
    }
    let (code, _, error) = run(folder.path(), &[], &["migrat"]);
    assert!(code == Some(2) && error.contains("'migrate'"), "{error}");
    let (code, table, _) = run(folder.path(), &[], &["events"]);
    assert!(
        code == Some(0)
            && table.contains("EntityCreateRequest")
            && table.contains("entitySearchCollection")
    );
}

#[test]
fn a_bad_setting_ends_the_start_with_its_name() {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, value) in [
        ("CYODA_HTTP_PORT", "many"),
        ("CYODA_STORAGE_BACKEND", "postgres"),
        ("INTERLOCK_STREAM_SEND_TIMEOUT", "soon"),
        ("CYODA_SQLITE_PATH", "/proc/no/such/folder/x.db"),
        ("CYODA_CORS_ALLOWED_ORIGINS", "https://a.example/path"),
        ("INTERLOCK_CORS_ALLOWED_ORIGINS", "null"),
        ("CYODA_METRICS_REQUIRE_AUTH", "true"),
        ("CYODA_JWT_SIGNING_KEY_FILE", "/etc/no/such/key.pem"),
        ("CYODA_CONTEXT_PATH", "/{*x}"),
        ("INTERLOCK_ROUTES_PREFIX", "/{x}/a b"),
        ("CYODA_SQLITE_PATH", "/proc"),
    ] {
        let (code, _, error) = run(folder.path(), &[(name, value)], &[]);
        assert_eq!(code, Some(1), "{name}");
        assert!(
            error.contains(name) && error.contains(value) || error.contains("storage"),
            "{error}"
        );
    }
}

#[tokio::test]
async fn a_port_that_is_taken_ends_the_start() {
    let server = Server::start();
    let port = server.http.port().to_string();
    let (code, said, error) = run(
        &server.folder(),
        &[
            ("CYODA_STORAGE_BACKEND", "memory"),
            ("CYODA_HTTP_PORT", &port),
        ],
        &[],
    );
    assert!(
        code == Some(1) && error.contains("CYODA_HTTP_PORT"),
        "{error}"
    );
    assert!(!said.contains("committer"), "{said}");
    // An address of documentation, which no machine has.
    let elsewhere = [
        ("CYODA_STORAGE_BACKEND", "memory"),
        ("INTERLOCK_BIND_ADDRESS", "192.0.2.1"),
    ];
    let (code, _, error) = run(&server.folder(), &elsewhere, &[]);
    let remedy = "set INTERLOCK_BIND_ADDRESS to an address of this machine";
    assert!(code == Some(1) && error.contains(remedy), "{error}");
}

#[tokio::test]
async fn a_second_process_on_one_file_is_refused() {
    let server = Server::on_disk(&[]);
    let (code, _, error) = run(&server.folder(), &[], &[]);
    assert!(
        code == Some(1) && error.contains("in use by another process"),
        "{error}"
    );
    assert!(error.contains("stop that process"), "{error}");
    let (code, _, error) = run(&server.folder(), &[], &["migrate"]);
    assert!(code == Some(1) && error.contains("in use"), "{error}");
}

#[tokio::test]
async fn a_second_process_is_refused_by_whatever_name_it_knows_the_database() {
    let server = Server::on_disk(&[]);
    let database = server.folder().join(".local/share/interlock/interlock.db");
    let other = tempfile::tempdir().expect("a folder");
    let soft = other.path().join("soft.db");
    std::os::unix::fs::symlink(&database, &soft).expect("a link");
    let hard = other.path().join("hard.db");
    std::fs::hard_link(&database, &hard).expect("a link");
    let is_refused = |path: &Path| {
        let settings = [("CYODA_SQLITE_PATH", path.to_str().expect("a path"))];
        for command in [&[][..], &["migrate"]] {
            let (code, _, error) = run(other.path(), &settings, command);
            let is_said = error.contains("in use by another process");
            assert!(code == Some(1) && is_said, "{path:?} {command:?}: {error}");
        }
    };
    is_refused(&soft);
    is_refused(&hard);
    std::fs::remove_file(database.with_file_name("interlock.db.lock")).expect("removable");
    is_refused(&database);
}

#[test]
fn a_start_without_room_beside_the_database_says_so() {
    let folder = tempfile::tempdir().expect("a folder");
    let (code, _, error) = run(folder.path(), &[], &["migrate"]);
    assert_eq!(code, Some(0), "{error}");
    let plain = command(folder.path(), &[]);
    let settings = plain.get_envs();
    let settings: Vec<_> = settings
        .filter_map(|(name, value)| Some((name, value?)))
        .collect();
    for given in [&[][..], &["migrate"]] {
        // The memory that connections share is a file of 32 KiB.
        let output = Command::new("/bin/sh")
            .args(["-c", "ulimit -f 16; exec \"$0\" \"$@\""])
            .arg(plain.get_program())
            .args(given)
            .current_dir(folder.path())
            .env_clear()
            .envs(settings.clone())
            .stdin(Stdio::null())
            .output()
            .expect("runs");
        let error = String::from_utf8_lossy(&output.stderr);
        let is_said = error.contains("interlock.db cannot be used: no storage space");
        assert!(
            output.status.code() == Some(1) && is_said,
            "{given:?}: {error}"
        );
    }
}

#[test]
fn the_database_is_where_it_is_said_to_be() {
    let folder = tempfile::tempdir().expect("a folder");
    let (code, reported, error) = run(folder.path(), &[], &["migrate"]);
    assert!(
        code == Some(0) && reported.contains("migrations were applied"),
        "{reported}{error}"
    );
    let (code, reported, error) = run(folder.path(), &[], &["migrate"]);
    assert!(
        code == Some(0) && reported.contains("was up to date already"),
        "{reported}{error}"
    );
    assert!(
        folder
            .path()
            .join(".local/share/interlock/interlock.db")
            .exists()
    );
    let elsewhere = folder.path().join("data");
    let (code, ..) = run(
        folder.path(),
        &[("XDG_DATA_HOME", elsewhere.to_str().expect("a path"))],
        &["migrate"],
    );
    assert!(code == Some(0) && elsewhere.join("interlock/interlock.db").exists());
}

#[test]
fn a_command_that_only_connects_needs_no_home() {
    let folder = tempfile::tempdir().expect("a folder");
    let arguments = ["call", "AccountGetRequest", "--address", "127.0.0.1:1"];
    for settings in [&[("HOME", "")], &[("CYODA_STORAGE_BACKEND", "postgres")]] {
        let (code, _, error) = run(folder.path(), settings, &arguments);
        assert_eq!(code, Some(1));
        assert!(error.contains("cannot reach the service"), "{error}");
    }
    let (_, _, error) = run(folder.path(), &[("HOME", "")], &["migrate"]);
    assert!(error.contains("CYODA_SQLITE_PATH"), "{error}");
}

#[tokio::test]
async fn settings_come_from_files_too() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::create_dir_all(folder.path().join(".config/interlock")).expect("a folder");
    std::fs::write(
        folder.path().join(".config/interlock/interlock.env"),
        "CYODA_ADMIN_PORT=1\nCYODA_LOG_LEVEL=debug\n",
    )
    .expect("writable");
    std::fs::write(folder.path().join(".env"), "CYODA_ADMIN_PORT=65000\n").expect("writable");
    let mut health = command(folder.path(), &[]);
    health.env_remove("CYODA_ADMIN_PORT").arg("health");
    let output = health.output().expect("runs");
    assert_eq!(output.status.code(), Some(1));
    assert!(
        String::from_utf8_lossy(&output.stderr).contains("127.0.0.1:65000"),
        "{output:?}"
    );
}

#[test]
fn settings_that_cannot_be_read_end_the_start() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join(".env");
    for text in ["CYODA_IAM_MODE: jwt\n", "CYODA_IAM_MODE=s3cr et\n"] {
        std::fs::write(&file, text).expect("writable");
        let (code, _, error) = run(folder.path(), &[], &[]);
        assert!(code == Some(1) && error.contains(".env, line 1"), "{error}");
        assert!(!error.contains("s3cr"), "{error}");
    }
    std::fs::write(&file, b"# \xff\n").expect("writable");
    let (code, _, error) = run(folder.path(), &[], &[]);
    let is_named = error.contains(".env cannot be read");
    assert!(code == Some(1) && is_named, "{error}");
    std::fs::remove_file(&file).expect("removable");
    let output = command(folder.path(), &[])
        .env("CYODA_SQLITE_PATH", OsStr::from_bytes(b"/tmp/\xff.db"))
        .output()
        .expect("runs");
    let error = String::from_utf8_lossy(&output.stderr);
    let is_named = error.contains("CYODA_SQLITE_PATH is not UTF-8");
    assert!(output.status.code() == Some(1) && is_named, "{error}");
    let jwt = [
        ("CYODA_IAM_MODE", "jwt"),
        ("CYODA_JWT_SIGNING_KEY", KEY),
        ("CYODA_BOOTSTRAP_CLIENT_ID", "first"),
        ("CYODA_BOOTSTRAP_CLIENT_SECRET", "secret"),
        ("CYODA_BOOTSTRAP_TENANT_ID", ""),
    ];
    let (code, _, error) = run(folder.path(), &jwt, &[]);
    let is_named = error.contains("CYODA_BOOTSTRAP_TENANT_ID must not be empty");
    assert!(code == Some(1) && is_named, "{error}");
}

#[test]
fn commands_warn_of_settings_that_they_do_not_know() {
    let folder = tempfile::tempdir().expect("a folder");
    let misspelled = [("INTERLOCK_SQLITE_PTH", "/nowhere/x.db")];
    let (code, _, error) = run(folder.path(), &misspelled, &["migrate"]);
    let warned = error.contains("did you mean INTERLOCK_SQLITE_PATH?");
    assert!(code == Some(0) && warned, "{error}");
    let misspelled = [("CYODA_IAM_MOD", "jwt"), ("CYODA_ELSEWHERE", "x")];
    let (code, _, error) = run(folder.path(), &misspelled, &["migrate"]);
    let warned = error.contains("CYODA_IAM_MOD is not a setting; did you mean CYODA_IAM_MODE?");
    assert!(code == Some(0) && warned, "{error}");
    assert!(!error.contains("CYODA_ELSEWHERE"), "{error}");
}

#[test]
fn what_is_not_a_database_is_named_and_left_as_it_is() {
    let folder = tempfile::tempdir().expect("a folder");
    let words = folder.path().join("words");
    std::fs::write(&words, "some words").expect("writable");
    let inside = folder.path().join("a-folder");
    std::fs::create_dir(&inside).expect("a folder");
    let notes = folder.path().join("notes.db");
    rusqlite::Connection::open(&notes)
        .expect("opens")
        .execute_batch("create table notes(text)")
        .expect("a table of another program");
    let before = std::fs::read(&notes).expect("readable");
    let pipe = folder.path().join("pipe");
    let made = Command::new("mkfifo").arg(&pipe).status();
    assert!(made.expect("mkfifo runs").success());
    for (path, expected) in [
        (&words, "not an SQLite database"),
        (&inside, "s a directory"),
        (
            &notes,
            "not a database of Interlock, but of another program",
        ),
        (&pipe, "not a regular file"),
    ] {
        let path = path.to_str().expect("text");
        for command in [&[][..], &["migrate"]] {
            let (code, _, error) = run(folder.path(), &[("CYODA_SQLITE_PATH", path)], command);
            let is_named = error.contains(path) && error.contains(expected);
            assert!(code == Some(1) && is_named, "{error}");
        }
    }
    let names = std::fs::read_dir(folder.path()).expect("readable");
    let names: Vec<_> = names
        .map(|file| file.expect("a file").file_name())
        .collect();
    assert_eq!(names.len(), 4, "{names:?}");
    assert!(std::fs::read(&notes).expect("readable") == before);
}

#[test]
fn a_database_of_a_newer_release_is_refused_with_a_remedy() {
    let folder = tempfile::tempdir().expect("a folder");
    let database = folder.path().join("new.db");
    let settings = [("CYODA_SQLITE_PATH", database.to_str().expect("text"))];
    let (code, ..) = run(folder.path(), &settings, &["migrate"]);
    assert_eq!(code, Some(0));
    rusqlite::Connection::open(&database)
        .expect("opens")
        .execute_batch("insert into _sqlx_migrations values (9999, 'later', '', true, x'', 0)")
        .expect("a later migration");
    for command in [&[][..], &["migrate"]] {
        let (code, _, error) = run(folder.path(), &settings, command);
        let is_said = error.contains("was migrated by a newer release; run that release");
        assert!(code == Some(1) && is_said, "{error}");
    }
}

#[test]
fn a_database_is_readable_by_its_owner_only() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("some.db");
    let settings = [("CYODA_SQLITE_PATH", path.to_str().expect("text"))];
    let (code, _, error) = run(folder.path(), &settings, &["migrate"]);
    assert_eq!(code, Some(0), "{error}");
    let copy = folder.path().join("copy.db");
    let (code, _, error) = run(
        folder.path(),
        &settings,
        &["backup", copy.to_str().expect("text")],
    );
    assert_eq!(code, Some(0), "{error}");
    for file in [path, copy] {
        let mode = std::fs::metadata(&file)
            .expect("there")
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o600, "{}", file.display());
    }
}

#[tokio::test]
async fn readiness_and_health_tell_the_truth() {
    let server = Server::start();
    let admin = Rest::new(server.admin);
    for (path, text) in [("/livez", "ok"), ("/readyz", "ready")] {
        let said = admin.get(path).await;
        assert_eq!((said.status.as_u16(), said.text.as_str()), (200, text));
    }
    let port = server.admin.port().to_string();
    let (code, reported, _) = run(
        &server.folder(),
        &[("CYODA_ADMIN_PORT", &port)],
        &["health"],
    );
    assert_eq!((code, reported.as_str()), (Some(0), "ready\n"));
    let channel = tonic::transport::Channel::from_shared(format!("http://{}", server.grpc))
        .expect("a URI")
        .connect()
        .await
        .expect("connects");
    let mut health = tonic_health::pb::health_client::HealthClient::new(channel);
    for service in ["", "org.cyoda.cloud.api.grpc.CloudEventsService"] {
        let request = tonic_health::pb::HealthCheckRequest {
            service: service.to_owned(),
        };
        let status = health
            .check(request)
            .await
            .expect("answered")
            .into_inner()
            .status;
        assert_eq!(
            status,
            tonic_health::pb::health_check_response::ServingStatus::Serving as i32,
            "{service}"
        );
    }
}

#[tokio::test]
async fn reflection_describes_the_service_in_both_versions() {
    use tonic_reflection::pb::{v1, v1alpha};
    let server = Server::start();
    let channel = tonic::transport::Channel::from_shared(format!("http://{}", server.grpc))
        .expect("a URI")
        .connect()
        .await
        .expect("connects");
    let name = "org.cyoda.cloud.api.grpc.CloudEventsService";
    let list = v1::ServerReflectionRequest {
        host: String::new(),
        message_request: Some(v1::server_reflection_request::MessageRequest::ListServices(
            String::new(),
        )),
    };
    let mut client = v1::server_reflection_client::ServerReflectionClient::new(channel.clone());
    let mut answers = client
        .server_reflection_info(tokio_stream::once(list))
        .await
        .expect("answered")
        .into_inner();
    let answer = answers
        .next()
        .await
        .expect("an answer")
        .expect("well")
        .message_response;
    let Some(v1::server_reflection_response::MessageResponse::ListServicesResponse(listed)) =
        answer
    else {
        panic!("{answer:?}")
    };
    let listed: Vec<_> = listed
        .service
        .iter()
        .map(|service| service.name.as_str())
        .collect();
    for expected in [name, "grpc.health.v1.Health"] {
        assert!(listed.contains(&expected), "{listed:?}");
    }
    let describe = v1alpha::ServerReflectionRequest {
        host: String::new(),
        message_request: Some(
            v1alpha::server_reflection_request::MessageRequest::FileContainingSymbol(
                name.to_owned(),
            ),
        ),
    };
    let mut client = v1alpha::server_reflection_client::ServerReflectionClient::new(channel);
    let mut answers = client
        .server_reflection_info(tokio_stream::once(describe))
        .await
        .expect("answered")
        .into_inner();
    let answer = answers
        .next()
        .await
        .expect("an answer")
        .expect("well")
        .message_response;
    let Some(v1alpha::server_reflection_response::MessageResponse::FileDescriptorResponse(files)) =
        answer
    else {
        panic!("{answer:?}")
    };
    let text = String::from_utf8_lossy(&files.file_descriptor_proto[0]).into_owned();
    for method in [
        "startStreaming",
        "entityModelManage",
        "entityManageCollection",
    ] {
        assert!(text.contains(method));
    }
}

#[tokio::test]
async fn operations_can_be_called_from_the_command_line() {
    let server = Server::with(&[("INTERLOCK_IAM_MOCK_CALLER", "true")]);
    let folder = server.folder();
    let port = server.grpc.port().to_string();
    let call = |arguments: &[&str]| {
        let (code, reported, error) = run(
            &folder,
            &[("CYODA_GRPC_PORT", &port)],
            &[&["call"], arguments].concat(),
        );
        (
            code,
            reported
                .lines()
                .map(|line| serde_json::from_str(line).expect("JSON"))
                .collect::<Vec<Value>>(),
            error,
        )
    };
    let model = r#"{"name":"doc","version":1}"#;
    let import = format!(
        r#"{{"model":{model},"dataFormat":"JSON","converter":"SAMPLE_DATA","payload":{{"n":1}}}}"#
    );
    assert_eq!(call(&["EntityModelImportRequest", &import]).0, Some(0));
    std::fs::write(
        folder.join("lock.json"),
        format!(r#"{{"model":{model},"transition":"LOCK"}}"#),
    )
    .expect("writable");
    assert_eq!(
        call(&["EntityModelTransitionRequest", "@lock.json"]).0,
        Some(0)
    );
    for n in 0..2 {
        let new =
            format!(r#"{{"dataFormat":"JSON","payload":{{"model":{model},"data":{{"n":{n}}}}}}}"#);
        assert_eq!(call(&["EntityCreateRequest", &new]).0, Some(0));
    }
    let (code, answers, _) = call(&["EntityGetAllRequest", &format!(r#"{{"model":{model}}}"#)]);
    assert_eq!((code, answers.len()), (Some(0), 2));
    assert_eq!(answers[1]["payload"]["data"], json!({"n": 1}));
    let (code, answers, _) = call(&[
        "EntityModelGetAllRequest",
        "--metadata",
        "x-mock-tenant=other",
    ]);
    assert_eq!((code, &answers[0]["models"]), (Some(0), &json!([])));
    let (code, answers, _) = call(&["EntityGetRequest", r#"{"entityId":"none"}"#]);
    assert_eq!((code, &answers[0]["success"]), (Some(1), &json!(false)));
    for (arguments, reported) in [
        (
            &["EntityGetRequest", "@nowhere.json"][..],
            "cannot be read from nowhere.json",
        ),
        (&["EntityGetRequest", "{}"], "InvalidArgument"),
        (
            &["EntityGetRequest", "{}", "--address", "127.0.0.1:1"],
            "cannot reach the service",
        ),
    ] {
        let (code, _, error) = call(arguments);
        assert!(
            code == Some(1) && (error.contains(reported) || error.contains("invalid")),
            "{arguments:?}: {error}"
        );
    }
}

#[test]
fn arguments_that_cannot_be_right_are_exit_code_2_and_say_what_is_expected() {
    let folder = tempfile::tempdir().expect("a folder");
    let address = "it is neither HOST:PORT nor https://HOST:PORT";
    for (arguments, expected) in [
        (&["call", "EntityGet"][..], "did you mean EntityGetRequest"),
        (&["call", "EntityGetRequest", "{"], "not a JSON object"),
        (
            &["copy", "--from", "a", "--to", "b"],
            "`a` does not name a database",
        ),
        (
            &["call", "EntityGetRequset"],
            "did you mean EntityGetRequest",
        ),
        (&["events", "--schema", "Nonsense"], "is not an event type"),
        (&["members", "--metadata", "foo"], "it is not NAME=VALUE"),
        (&["members", "--address", "localhost"], address),
        (&["members", "--address", "ftp://localhost:21"], address),
        (&["members", "--address", "::1:9090"], "[::1]:PORT"),
        (&["migrate", "--timeout", "x"], "not a duration like `5m`"),
        (&["workflow", "draw"], "<FILE|--model <NAME/VERSION>>"),
        (&["--port", "80"], "CYODA_HTTP_PORT=8081"),
        (&["serve", "--http-port=80"], "CYODA_HTTP_PORT=8081"),
        (&["help", "nonsense"], "`interlock help` lists all topics"),
        (&["help", "metrics"], "did you mean `reference.metrics`?"),
    ] {
        let (code, _, error) = run(folder.path(), &[], arguments);
        assert_eq!(code, Some(2), "{arguments:?}: {error}");
        assert!(error.contains(expected), "{arguments:?}: {error}");
    }
}

/// Every command writes through the same function, so a few are enough.
#[tokio::test]
async fn output_that_cannot_be_written_is_a_failure_and_no_panic() {
    let server = Server::start();
    let folder = server.folder();
    let ports = [
        ("CYODA_GRPC_PORT", server.grpc.port().to_string()),
        ("CYODA_ADMIN_PORT", server.admin.port().to_string()),
    ];
    let settings: Vec<_> = ports.iter().map(|(name, port)| (*name, &**port)).collect();
    for arguments in [
        &["version"][..],
        &["events"],
        &["events", "--format", "json"],
        &["help"],
        &["help", "cli", "--format", "text"],
        &["help", "openapi", "yaml"],
        &["health"],
        &["members"],
        &["call", "EntityModelGetAllRequest"],
    ] {
        let full = std::fs::File::create("/dev/full").expect("opens");
        let output = command(&folder, &settings)
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(full)
            .output()
            .expect("runs");
        let error = String::from_utf8(output.stderr).expect("text");
        assert_eq!(output.status.code(), Some(1), "{arguments:?}: {error}");
        assert!(
            error.contains("the output cannot be written: ") && !error.contains("panicked"),
            "{arguments:?}: {error}"
        );
    }
}

#[test]
fn a_second_signal_stops_at_once() {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    runtime.block_on(async {
        let mut server = Server::start();
        // A stream that asks for something nobody answers keeps the server from stopping.
        let connection = server.connect().await;
        let workflow =
            crate::support::processed_by(json!([crate::support::sync_processor("p", json!({}))]));
        let model =
            crate::support::governed_model(&connection, "doc", json!({"n": 1}), workflow).await;
        let member = crate::support::Member::join(&server, &[]).await;
        let _answers = connection
            .begin(crate::support::request(
                "EntityCreateRequest",
                "r",
                crate::support::new_entity(&model, &json!({"n": 1})),
            ))
            .await;
        member.next().await;
        server.signal("-TERM");
        while !server
            .log
            .lock()
            .expect("no panic")
            .iter()
            .any(|line| line.contains("stopping"))
        {
            between_looks().await;
        }
        let begun = Instant::now();
        server.signal("-INT");
        assert_eq!(server.wait().await, Some(2));
        assert!(begun.elapsed() < Duration::from_secs(5));
    });
}

#[tokio::test]
async fn a_closed_terminal_stops_the_service_unless_it_was_started_to_outlive_that() {
    // The tests themselves may have been started by `nohup`, which is inherited.
    let mut server = Server::under(&["env", "--default-signal=HUP"], &[]);
    server.signal("-HUP");
    assert_eq!(server.wait().await, Some(0));
    until("it says why", async || server.logged().contains("SIGHUP")).await;
    let mut server = Server::under(&["nohup"], &[]);
    server.signal("-HUP");
    assert_eq!(server.stop().await, Some(0));
    until("it says why", async || server.logged().contains("SIGTERM")).await;
    assert!(!server.logged().contains("SIGHUP"));
}

#[test]
fn a_signal_during_the_start_ends_the_process_well() {
    let folder = tempfile::tempdir().expect("a folder");
    // Nothing listens there, so the start goes on for as long as it may.
    let settings = [
        ("CYODA_STORAGE_BACKEND", "postgres"),
        ("CYODA_POSTGRES_URL", "postgres://127.0.0.1:1/nothing"),
        ("CYODA_STARTUP_TIMEOUT", "60s"),
    ];
    let mut child = command(folder.path(), &settings)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("starts");
    let said = BufReader::new(child.stdout.take().expect("piped")).lines();
    let mut stopped = false;
    for line in said.map_while(Result::ok) {
        if line.contains("does not answer") && !stopped {
            stopped = true;
            let kill = Command::new("kill").arg(child.id().to_string()).status();
            assert!(kill.expect("kill runs").success());
        }
    }
    assert!(stopped, "it did not say that it waits");
    assert_eq!(child.wait().expect("ends").code(), Some(0));
}

#[test]
fn a_file_of_settings_is_written_once() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join(".config/interlock/interlock.env");
    let mode = |path: &Path| {
        let metadata = std::fs::metadata(path).expect("there");
        metadata.permissions().mode() & 0o777
    };
    let (code, said, _) = run(folder.path(), &[], &["init"]);
    assert!(
        code == Some(0) && said.contains("interlock.env was written"),
        "{said}"
    );
    let text = std::fs::read_to_string(&path).expect("readable");
    assert!(text.contains("\nCYODA_STORAGE_BACKEND=sqlite\n"), "{text}");
    assert!(
        text.contains("# port of REST\n#CYODA_HTTP_PORT=8080\n"),
        "{text}"
    );
    assert_eq!(
        (mode(&path), mode(path.parent().expect("a folder"))),
        (0o600, 0o700)
    );
    std::fs::write(&path, "CYODA_LOG_LEVEL=warn\n").expect("writable");
    let (code, said, _) = run(folder.path(), &[], &["init"]);
    assert!(code == Some(0) && said.contains("already exists"), "{said}");
    let kept = std::fs::read_to_string(&path).expect("readable");
    assert_eq!(kept, "CYODA_LOG_LEVEL=warn\n");
    let (code, _, _) = run(folder.path(), &[], &["init", "--force"]);
    assert_eq!(code, Some(0));
    assert_eq!(std::fs::read_to_string(&path).expect("readable"), text);
    let (code, _, _) = run(folder.path(), &[], &["init", "--loudly"]);
    assert_eq!(code, Some(2));
    let place = folder.path().join("other");
    std::fs::write(&place, "no folder").expect("writable");
    let place = place.to_str().expect("text");
    let (code, _, error) = run(folder.path(), &[("XDG_CONFIG_HOME", place)], &["init"]);
    assert!(
        code == Some(1) && error.contains("could not be written"),
        "{error}"
    );
    let (code, _, error) = run(folder.path(), &[("HOME", "")], &["init"]);
    assert!(code == Some(1) && error.contains("no place"), "{error}");
}

#[test]
fn a_command_whose_reader_has_gone_ends_without_a_word() {
    let folder = tempfile::tempdir().expect("a folder");
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    let output = command(folder.path(), &[])
        .arg("events")
        .stdout(writer)
        .stderr(Stdio::piped())
        .spawn()
        .expect("starts")
        .wait_with_output()
        .expect("ends");
    assert!(!output.status.success());
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
}
