//! Workers: registered, listed, drained, waiting for tasks, through REST and as events
//! (`runs.md` §5).

use std::time::{Duration, Instant};

use interlock::event::EventType;
use serde_json::{Value, json};

use crate::support::{
    Connection, Member, Reply, Server, code, command, create, governed_model, payload_of,
    processed_by, request, sync_processor,
};

async fn register(connection: &Connection, worker: &str) -> Value {
    let payload = json!({"workerId": worker, "actions": ["a"]});
    connection.ok("WorkerRegisterRequest", payload).await
}

#[tokio::test]
async fn a_worker_is_registered_listed_drained_and_removed() {
    let server = Server::start();
    let rest = server.rest();
    let registered = rest
        .put(
            "/api/workers/w1",
            json!({"actions": ["a", "b"], "maxConcurrency": 3, "labels": {"zone": "eu"},
                "machineId": "m7", "metadata": {"language": "rust"}})
            .to_string(),
        )
        .await;
    assert_eq!(
        registered.ok(),
        json!({"workerId": "w1", "heartbeatMs": 30_000})
    );
    let mut worker = rest.get("/api/workers/w1").await.ok();
    let seen = worker["lastSeen"].take();
    assert!(seen.as_str().expect("a time").ends_with('Z'), "{seen}");
    let expected = json!({"workerId": "w1", "namespace": "default", "actions": ["a", "b"],
        "maxConcurrency": 3, "labels": {"zone": "eu"}, "machineId": "m7",
        "metadata": {"language": "rust"}, "healthy": true, "draining": false, "running": 0,
        "lastSeen": null, "stream": false});
    assert_eq!(worker, expected);
    let beat = json!({"load": 0.25});
    let beat = rest
        .post("/api/workers/w1/heartbeat", beat.to_string())
        .await
        .ok();
    let standing = json!({"workerId": "w1", "draining": false, "healthy": true});
    assert_eq!(beat, standing);
    assert_eq!(rest.get("/api/workers/w1").await.ok()["load"], json!(0.25));
    let drained = rest
        .post("/api/workers/w1/drain", json!({}).to_string())
        .await
        .ok();
    assert_eq!(drained["draining"], true);
    let beat = rest
        .post("/api/workers/w1/heartbeat", json!({}).to_string())
        .await
        .ok();
    assert_eq!(beat["draining"], true);
    // A worker that registers again wants tasks again.
    rest.put("/api/workers/w1", json!({"actions": []}).to_string())
        .await
        .ok();
    let worker = rest.get("/api/workers/w1").await.ok();
    assert_eq!(
        (&worker["draining"], &worker["maxConcurrency"]),
        (&json!(false), &json!(10))
    );
    assert_eq!(rest.delete("/api/workers/w1").await.ok()["workerId"], "w1");
    for path in ["/api/workers/w1", "/api/workers/w2"] {
        rest.get(path).await.refused(404, "WORKER_NOT_FOUND");
        rest.delete(path).await.refused(404, "WORKER_NOT_FOUND");
    }
}

#[tokio::test]
async fn workers_are_listed_by_id_in_pages_of_their_namespace() {
    let server = Server::start();
    let connection = server.connect().await;
    for worker in ["w3", "w1", "w2"] {
        register(&connection, worker).await;
    }
    let elsewhere = json!({"workerId": "w0", "actions": ["a"], "namespace": "other"});
    connection.ok("WorkerRegisterRequest", elsewhere).await;
    let rest = server.rest();
    let mut names = Vec::new();
    let mut path = "/api/workers?limit=2".to_owned();
    loop {
        let page = rest.get(&path).await.ok();
        let items = page["items"].as_array().expect("a list").iter();
        names.extend(items.map(|item| item["workerId"].as_str().expect("an id").to_owned()));
        let Some(cursor) = page["pagination"]["nextCursor"].as_str() else {
            break;
        };
        path = format!("/api/workers?limit=2&cursor={cursor}");
    }
    assert_eq!(names, ["w1", "w2", "w3"]);
    let other = rest.get("/api/workers?namespace=other").await.ok();
    assert_eq!(other["items"][0]["workerId"], "w0");
    rest.get("/api/workers/w0")
        .await
        .refused(404, "WORKER_NOT_FOUND");
    rest.get("/api/workers/w0?namespace=other").await.ok();
}

#[tokio::test]
async fn a_member_is_listed_with_what_it_announced_and_may_be_drained() {
    let server = Server::start();
    let connection = server.connect().await;
    connection
        .send(request(
            "CalculationMemberJoinEvent",
            "j",
            json!({"tags": ["billing"], "namespace": "shop", "actions": ["charge", "*"],
                "maxConcurrency": 4, "labels": {"zone": "eu"}}),
        ))
        .await;
    let greeting = connection.unasked().await.expect("a greeting");
    let id = payload_of(&greeting)["memberId"].clone();
    let members = connection.ok("ComputeMembersGetRequest", json!({})).await;
    let member = &members["members"][0];
    assert_eq!(member["memberId"], id);
    assert_eq!(member["actions"], json!(["*", "charge"]));
    assert_eq!(
        (&member["namespace"], &member["maxConcurrency"]),
        (&json!("shop"), &json!(4))
    );
    assert_eq!(member["labels"], json!({"zone": "eu"}));
    let listing = command(&server.folder(), &[])
        .args(["members", "--address", &server.grpc.to_string()])
        .output();
    let listing = String::from_utf8(listing.expect("runs").stdout).expect("text");
    assert!(listing.ends_with("  billing  *,charge\n"), "{listing}");
    let named = json!({"workerId": id, "namespace": "shop"});
    let worker = connection.ok("WorkerGetRequest", named.clone()).await;
    assert_eq!(
        (&worker["stream"], &worker["tags"]),
        (&json!(true), &json!(["billing"]))
    );
    let drained = connection.ok("WorkerDrainRequest", named.clone()).await;
    assert_eq!(drained["draining"], true);
    let left = connection.fails("WorkerDeregisterRequest", named).await;
    assert_eq!(left, "BAD_REQUEST");

    // A member that announces nothing is listed as before.
    let quiet = Member::join(&server, &["x"]).await;
    let members = connection.ok("ComputeMembersGetRequest", json!({})).await;
    let all = members["members"].as_array().expect("a list");
    let quiet = all.iter().find(|one| one["memberId"] == *quiet.id);
    let quiet = quiet.expect("it is listed");
    for absent in ["namespace", "actions", "maxConcurrency", "labels"] {
        assert!(quiet.get(absent).is_none(), "{quiet}");
    }
}

#[tokio::test]
async fn a_join_that_announces_nonsense_ends_its_stream() {
    let server = Server::start();
    for announced in [
        json!({"namespace": "a b"}),
        json!({"actions": [""]}),
        json!({"actions": ["x".repeat(257)]}),
        json!({"maxConcurrency": 0}),
        json!({"labels": {"zone": 1}}),
    ] {
        let connection = server.connect().await;
        let join = request("CalculationMemberJoinEvent", "j", announced.clone());
        connection.send(join).await;
        let status = connection.end().await.expect_err("refused");
        assert_eq!(status.code(), tonic::Code::InvalidArgument, "{announced}");
    }
}

#[tokio::test]
async fn a_worker_waits_for_tasks_as_long_as_it_says() {
    let server = Server::start();
    let connection = server.connect().await;
    register(&connection, "w1").await;
    let begun = Instant::now();
    let payload = json!({"workerId": "w1", "actions": ["a"], "blockMs": 300});
    let taken = connection.ok("TaskAwaitRequest", payload).await;
    assert_eq!(taken["tasks"], json!([]));
    assert!(begun.elapsed() >= Duration::from_millis(300));
    let rest = server.rest();
    let payload = json!({"workerId": "w1", "actions": ["a"], "blockMs": 0});
    assert_eq!(
        rest.post("/api/tasks/await", payload.to_string())
            .await
            .ok(),
        json!({"tasks": []})
    );
    for (payload, expected) in [
        (
            json!({"workerId": "w2", "actions": ["a"]}),
            "WORKER_NOT_FOUND",
        ),
        (json!({"workerId": "w1", "actions": []}), "BAD_REQUEST"),
        (
            json!({"workerId": "w1", "actions": vec!["a"; 101]}),
            "BAD_REQUEST",
        ),
        (
            json!({"workerId": "w1", "actions": ["a"], "blockMs": 300_001}),
            "BAD_REQUEST",
        ),
        (
            json!({"workerId": "w1", "actions": ["a"], "blockMs": -1}),
            "BAD_REQUEST",
        ),
        (
            json!({"workerId": "w1", "actions": ["a"], "max": 0}),
            "BAD_REQUEST",
        ),
        (
            json!({"workerId": "w1", "actions": ["a"], "max": 101}),
            "BAD_REQUEST",
        ),
        (
            json!({"workerId": "w1", "actions": ["a"], "namespace": "a b"}),
            "BAD_REQUEST",
        ),
    ] {
        let code = connection.fails("TaskAwaitRequest", payload.clone()).await;
        assert_eq!(code, expected, "{payload}");
    }
}

#[tokio::test]
async fn a_request_for_tasks_may_be_cancelled() {
    let server = Server::start();
    let connection = server.connect().await;
    register(&connection, "w1").await;
    let begun = Instant::now();
    let payload = json!({"workerId": "w1", "actions": ["a"], "blockMs": 300_000});
    let mut answers = connection
        .begin(request("TaskAwaitRequest", "long", payload))
        .await;
    connection.cancel("long").await;
    let answer = answers.recv().await.expect("an answer");
    assert_eq!(answer.kind, EventType::TaskAwaitResponse);
    assert!(begun.elapsed() < Duration::from_mins(1));
}

#[tokio::test]
async fn a_service_that_stops_answers_requests_for_tasks() {
    let mut server = Server::start();
    let connection = server.connect().await;
    register(&connection, "w1").await;
    let payload = json!({"workerId": "w1", "actions": ["a"], "blockMs": 300_000});
    let mut answers = connection
        .begin(request("TaskAwaitRequest", "long", payload))
        .await;
    // Once this is answered, the one before it waits.
    connection.ok("WorkersGetRequest", json!({})).await;
    let begun = Instant::now();
    let (code, answer) = tokio::join!(server.stop(), answers.recv());
    assert_eq!(code, Some(0));
    assert_eq!(payload_of(&answer.expect("an answer"))["tasks"], json!([]));
    assert!(
        begun.elapsed() < Duration::from_secs(8),
        "no grace is used up"
    );
}

#[tokio::test]
async fn a_task_that_does_not_exist_is_not_found() {
    let server = Server::start();
    let connection = server.connect().await;
    for task in ["none", "wfrun-1.1", "wfrun-x.y", ""] {
        let fault = json!({"taskId": task, "error": {"message": "no"}});
        for (kind, payload) in [
            ("TaskCompleteRequest", json!({"taskId": task})),
            ("TaskFailRequest", fault),
            ("TaskTouchRequest", json!({"taskId": task})),
        ] {
            let code = connection.fails(kind, payload).await;
            assert_eq!(code, "TASK_NOT_FOUND", "{kind} {task}");
        }
    }
    for (kind, payload) in [
        (
            "TaskCompleteRequest",
            json!({"taskId": "t", "outcome": "_x"}),
        ),
        (
            "TaskCompleteRequest",
            json!({"taskId": "t", "outcome": "execution_failure"}),
        ),
        (
            "TaskCompleteRequest",
            json!({"taskId": "t", "output": "x".repeat(1 << 20)}),
        ),
        ("TaskFailRequest", json!({"taskId": "t"})),
        (
            "TaskTouchRequest",
            json!({"taskId": "t", "extendMs": 300_001}),
        ),
        ("TaskTouchRequest", json!({"taskId": "t", "extendMs": 0})),
        (
            "TaskTouchRequest",
            json!({"taskId": "t", "progress": "x".repeat(5_000)}),
        ),
    ] {
        assert_eq!(
            connection.fails(kind, payload).await,
            "BAD_REQUEST",
            "{kind}"
        );
    }
}

/// A task of an action, as a worker takes it.
async fn taken(connection: &Connection) -> Value {
    connection
        .ok("ActionInvokeRequest", json!({"name": "a"}))
        .await;
    let wait = json!({"workerId": "w1", "actions": ["a"]});
    let taken = connection.ok("TaskAwaitRequest", wait).await;
    taken["tasks"][0].clone()
}

#[tokio::test]
async fn a_task_says_the_same_time_of_its_creation_everywhere() {
    let server = Server::start();
    let connection = server.connect().await;
    server.rest().put("/api/actions/a", "{}").await.ok();
    register(&connection, "w1").await;
    let invoke = json!({"name": "a"});
    let invoked = connection.ok("ActionInvokeRequest", invoke).await;
    let wait = json!({"workerId": "w1", "actions": ["a"], "blockMs": 30_000});
    let taken = connection.ok("TaskAwaitRequest", wait).await;
    let named = json!({"taskId": invoked["task"]["taskId"]});
    let shown = connection.ok("TaskGetRequest", named).await;
    let created = &shown["task"]["createdAt"];
    assert!(created.is_string(), "{shown}");
    assert_eq!(invoked["task"]["createdAt"], *created);
    assert_eq!(taken["tasks"][0]["createdAt"], *created);
}

#[tokio::test]
async fn repeats_with_an_idempotency_key_are_answered_and_not_done_again() {
    let server = Server::start();
    let connection = server.connect().await;
    let rest = server.rest();
    rest.put("/api/actions/a", "{}").await.ok();
    let repeat = async |kind: &str, payload: Value, key: &str| {
        let keyed = [("idempotencykey", key)];
        let first = connection.call_with(kind, payload.clone(), &keyed).await;
        assert_eq!(first["success"], true, "{kind}: {first}");
        let mut again = connection.call_with(kind, payload, &keyed).await;
        again["id"] = first["id"].clone();
        assert_eq!(first, again, "{kind}");
        first
    };
    let register_it = json!({"workerId": "w1", "actions": ["a"]});
    repeat("WorkerRegisterRequest", register_it.clone(), "r").await;
    let named = json!({"workerId": "w1"});
    repeat("WorkerHeartbeatRequest", named.clone(), "h").await;
    let drained = repeat("WorkerDrainRequest", named.clone(), "d").await;
    assert_eq!(drained["draining"], true);
    // Registered again, it is not drained by another repeat.
    register(&connection, "w1").await;
    repeat("WorkerDrainRequest", named.clone(), "d").await;
    let worker = connection.ok("WorkerGetRequest", named.clone()).await;
    assert_eq!(worker["draining"], false);

    let task = taken(&connection).await;
    let id = task["taskId"].as_str().expect("an id");
    let touch = json!({"taskId": id, "workerId": "w1", "extendMs": 60_000});
    repeat("TaskTouchRequest", touch, "x").await;
    let complete = json!({"taskId": id, "workerId": "w1", "output": {"n": 1}});
    let completed = repeat("TaskCompleteRequest", complete.clone(), "c").await;
    assert_eq!(completed["applied"], true);
    let late = connection.ok("TaskCompleteRequest", complete).await;
    assert_eq!(late["applied"], false, "without its key it is late");
    let other = json!({"taskId": id, "workerId": "w1", "output": {"n": 2}});
    let other = connection.call_with("TaskCompleteRequest", other, &[("idempotencykey", "c")]);
    assert_eq!(code(&other.await), "IDEMPOTENCY_CONFLICT");

    let task = taken(&connection).await;
    let fail = json!({"taskId": task["taskId"], "error": {"message": "no"}});
    let failed = repeat("TaskFailRequest", fail, "f").await;
    assert_eq!(
        (&failed["applied"], &failed["willRetry"]),
        (&json!(true), &json!(false))
    );

    // The same over REST, from what is stored.
    let task = taken(&connection).await;
    let path = format!(
        "/api/tasks/{}/complete",
        task["taskId"].as_str().expect("an id")
    );
    let keyed = rest.with("idempotency-key", "c3");
    for _ in 0..2 {
        let completed = keyed.post(&path, "{}").await.ok();
        assert_eq!(
            completed,
            json!({"taskId": task["taskId"], "applied": true})
        );
    }
    let keyed = server.rest().with("idempotency-key", "g");
    for _ in 0..2 {
        let gone = keyed.delete("/api/workers/w1").await.ok();
        assert_eq!(gone["workerId"], "w1");
    }
}

#[tokio::test]
async fn a_drained_member_gets_no_more_calls_and_answers_those_that_it_has() {
    let workflow = processed_by(json!([sync_processor("p", json!({}))]));
    let server = Server::start();
    let connection = server.connect().await;
    let model = governed_model(&connection, "doc", json!({"n": 1}), workflow).await;
    let (leaving, staying) = (
        Member::join(&server, &[]).await,
        Member::join(&server, &[]).await,
    );
    // Each has one; the first of them has it still when it is drained.
    let creating = async || create(&connection, &model, json!({"n": 1})).await;
    let other = server.connect().await;
    let first = tokio::spawn({
        let model = model.clone();
        async move { create(&other, &model, json!({"n": 1})).await }
    });
    let kept = leaving.next().await;
    let drain = json!({"workerId": leaving.id});
    let drained = leaving.connection.ok("WorkerDrainRequest", drain).await;
    assert_eq!(drained["draining"], true);
    staying.serve(|_, _| async { Reply::Nothing });
    for _ in 0..3 {
        creating().await;
    }
    leaving.reply(&kept, Reply::Nothing).await;
    first.await.expect("created");
}

#[tokio::test]
async fn what_a_worker_or_member_says_of_itself_is_limited() {
    let server = Server::start();
    let connection = server.connect().await;
    let long = "x".repeat(70_000);
    for (name, value) in [("machineId", json!(long)), ("labels", json!({"a": long}))] {
        let mut worker = json!({"workerId": "w", "actions": ["a"]});
        worker[name] = value;
        let answer = connection.call("WorkerRegisterRequest", worker).await;
        assert_eq!(code(&answer), "BAD_REQUEST", "{name}");
    }
    connection
        .send(request(
            "CalculationMemberJoinEvent",
            "join",
            json!({"tags": [long]}),
        ))
        .await;
    assert!(connection.unasked_or_end().await.is_none());
}
