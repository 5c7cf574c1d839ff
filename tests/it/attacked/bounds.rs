//! The attacks of `tests/attack` that need the bounds of issue 18, in small.

use std::{path::Path, time::Duration};

use futures_util::future::join_all;
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    time::timeout,
};

use super::{
    ATTACKER, INNOCENT, Innocent, connect, connection_of, group, needles, patterns, rest_of,
    server, silent_timer, text_of,
};
use crate::support::{Member, PATIENCE, Rest, Server, iam, scene::simple, wait::until};

async fn import(rest: &Rest, workflow: Value) {
    let import = json!({"workflows": [workflow]}).to_string();
    rest.post("/api/model/doc/1/workflow/import", import)
        .await
        .ok();
}

#[tokio::test]
async fn readiness_is_answered_while_a_long_text_is_searched() {
    let server = server();
    let innocent = Innocent::begin(&server).await;
    let attacker = rest_of(&server, ATTACKER);
    attacker.lock_model("doc", r#"{"t":"x"}"#).await;
    let document = json!({"t": text_of(9_000_000)}).to_string();
    attacker.create("doc", &document).await;
    let condition = needles(1_500).to_string();
    let searches: Vec<_> = (0..4)
        .map(|_| {
            let (attacker, condition) = (attacker.clone(), condition.clone());
            tokio::spawn(async move { attacker.post("/api/search/direct/doc/1", condition).await })
        })
        .collect();
    // Several rounds of the innocent client begin and end meanwhile.
    for _ in 0..20 {
        let asked = timeout(PATIENCE, Rest::new(server.admin).get("/readyz")).await;
        assert_eq!(asked.expect("it is answered").status, 200);
    }
    for search in searches {
        search.abort();
    }
    innocent.end().await;
}

#[tokio::test]
async fn a_hundred_patterns_are_refused_beside_an_innocent_client() {
    let server = server();
    let innocent = Innocent::begin(&server).await;
    let attacker = rest_of(&server, ATTACKER);
    attacker.lock_model("doc", r#"{"t":"x"}"#).await;
    let condition = patterns(100).to_string();
    let searches = (0..2).map(|_| attacker.post("/api/search/direct/doc/1", condition.clone()));
    for said in join_all(searches).await {
        said.refused(400, "INVALID_CONDITION");
    }
    innocent.end().await;
}

#[tokio::test]
async fn nothing_burns_on_once_the_client_of_a_long_search_has_left() {
    let server = server();
    let attacker = rest_of(&server, ATTACKER);
    attacker.lock_model("doc", r#"{"t":"x"}"#).await;
    let document = json!({"t": text_of(9_000_000)}).to_string();
    attacker.create("doc", &document).await;
    let condition = needles(1_500).to_string();
    let before = server.worked();
    let leaving = rest_of(&server, ATTACKER);
    let search =
        tokio::spawn(async move { leaving.post("/api/search/direct/doc/1", condition).await });
    until("it works, or has answered", async || {
        search.is_finished() || server.worked() > before + 100
    })
    .await;
    search.abort();
    until("it rests", async || {
        let before = server.worked();
        tokio::time::sleep(Duration::from_millis(500)).await;
        server.worked() < before + 15
    })
    .await;
}

#[tokio::test]
async fn a_timer_fires_beside_hundreds_that_wait_for_a_silent_member() {
    let server = server();
    let innocent = rest_of(&server, INNOCENT);
    innocent.lock_model("doc", r#"{"n":1}"#).await;
    let plain = json!({"version": "1.1", "name": "timed", "initialState": "NEW", "states": {
        "NEW": {"transitions": [{"name": "FIRE", "next": "DONE", "manual": false, "schedule": {"delayMs": 1}}]},
        "DONE": {}}});
    import(&innocent, plain).await;
    let fires = async || {
        let id = innocent.create("doc", r#"{"n":1}"#).await;
        until("the timer fires", async || {
            let entity = innocent.get(&format!("/api/entity/{id}")).await.ok();
            entity["meta"]["state"] == "DONE"
        })
        .await;
    };
    fires().await;
    let silent = Member::join_on(connection_of(&server, ATTACKER).await, &["silent"]).await;
    let attacker = rest_of(&server, ATTACKER);
    attacker.lock_model("doc", r#"{"n":1}"#).await;
    import(&attacker, silent_timer(1)).await;
    let items: Value = (0..120)
        .map(|_| json!({"model": {"name": "doc", "version": 1}, "payload": r#"{"n":1}"#}))
        .collect();
    // Each of them is due at an instant of its own.
    for _ in 0..3 {
        attacker
            .post("/api/entity/JSON", items.to_string())
            .await
            .ok();
    }
    // As many of them are called for as the server lets be.
    silent.next().await;
    while timeout(Duration::from_secs(1), silent.next()).await.is_ok() {}
    for _ in 0..3 {
        fires().await;
    }
}

#[tokio::test]
async fn wrong_guesses_do_not_lock_out_the_client_they_are_about() {
    let server = server();
    let mut guessing = Vec::new();
    for n in 0..40 {
        let pair = iam::basic(iam::FIRST.0, &format!("guess-{n}"));
        guessing.push(format!(
            "POST /api/oauth/token HTTP/1.1\r\nhost: x\r\nconnection: close\r\nauthorization: {pair}\r\ncontent-type: application/x-www-form-urlencoded\r\ncontent-length: 29\r\n\r\ngrant_type=client_credentials"
        ));
    }
    // Of another address than the client's own.
    for guess in guessing {
        let mut connection = connect(server.http).await;
        connection.write_all(guess.as_bytes()).await.expect("sent");
        let mut answer = String::new();
        connection
            .read_to_string(&mut answer)
            .await
            .expect("an answer");
        let refused = ["401", "429"].iter().any(|status| answer.contains(status));
        assert!(refused, "{answer}");
    }
    iam::token(&server.rest(), iam::FIRST.0, iam::FIRST.1).await;
}

#[tokio::test]
async fn the_token_endpoint_refuses_a_large_body_before_it_has_come() {
    let server = server();
    let mut connection = connect(server.http).await;
    let head = "POST /api/oauth/token HTTP/1.1\r\nhost: x\r\ncontent-type: application/x-www-form-urlencoded\r\ncontent-length: 1000000\r\n\r\n";
    connection.write_all(head.as_bytes()).await.expect("sent");
    let body = "x".repeat(100_000);
    let _ = connection.write_all(body.as_bytes()).await;
    let mut answer = [0; 12];
    let read = timeout(PATIENCE, connection.read_exact(&mut answer)).await;
    read.expect("an answer in time").expect("an answer");
    let status = String::from_utf8_lossy(&answer[9..]).into_owned();
    assert!(status.starts_with('4'), "{status}");
}

#[tokio::test]
async fn half_sent_bodies_before_authentication_take_little_memory() {
    let server = server();
    let innocent = Innocent::begin(&server).await;
    let before = server.resident_bytes();
    let head = "POST /api/oauth/token HTTP/1.1\r\nhost: x\r\ncontent-type: application/x-www-form-urlencoded\r\ncontent-length: 1048576\r\n\r\n";
    let request = [head.as_bytes(), &vec![b'x'; 1_000_000]].concat();
    let begun = join_all((0..100).map(|_| async {
        let mut connection = connect(server.http).await;
        // Refused, the rest is not taken in.
        let _ = timeout(Duration::from_secs(5), connection.write_all(&request)).await;
        connection
    }))
    .await;
    let grown = server.resident_bytes().saturating_sub(before);
    assert!(grown < 50 << 20, "{} MB", grown >> 20);
    innocent.end().await;
    drop(begun);
}

#[tokio::test]
async fn clients_get_in_beside_more_idle_connections_than_there_are_files() {
    let limit = ["/bin/sh", "-c", "ulimit -n 256 && exec \"$0\""];
    let server = Server::under(&limit, iam::SETTINGS);
    let mut held = Vec::new();
    for _ in 0..300 {
        held.push(connect(server.http).await);
    }
    for _ in 0..5 {
        // On a connection of its own.
        let fresh = rest_of(&server, INNOCENT);
        let said = timeout(PATIENCE, fresh.get("/api/account")).await;
        said.expect("it gets in").ok();
        let ready = timeout(PATIENCE, Rest::new(server.admin).get("/readyz")).await;
        assert_eq!(ready.expect("it gets in").status, 200);
    }
    drop(held);
}

#[tokio::test]
async fn many_transitions_leave_small_decision_records() {
    let server = Server::on_disk(iam::SETTINGS);
    let attacker = rest_of(&server, ATTACKER);
    attacker.lock_model("doc", r#"{"n":1}"#).await;
    let mut taken = 0;
    for count in [5_000, 1_000, 200] {
        let transitions: Value = (0..count)
            .map(|n| {
                json!({"name": format!("t{n}"), "next": "NEW", "manual": false,
                    "criterion": simple("$.n", "EQUALS", json!(-1))})
            })
            .collect();
        let workflow = json!({"version": "1.1", "name": "wide", "initialState": "NEW",
            "states": {"NEW": {"transitions": transitions}}});
        let import = json!({"workflows": [workflow]}).to_string();
        let said = attacker
            .post("/api/model/doc/1/workflow/import", import)
            .await;
        if said.status == 200 {
            taken = count;
            break;
        }
        said.refused(400, "VALIDATION_FAILED");
    }
    assert!(taken > 0, "some number of transitions is taken");
    let before = server.stored_bytes();
    for _ in 0..20 {
        attacker.create("doc", r#"{"n":1}"#).await;
    }
    // A fifth of 20 MB.
    let grown = server.stored_bytes().saturating_sub(before);
    assert!(
        grown < 4 << 20,
        "{} kB with {taken} transitions",
        grown >> 10
    );
}

#[tokio::test]
async fn little_memory_refuses_large_documents_and_ends_nothing() {
    let limit = ["/usr/bin/prlimit", "--as=400000000"];
    if !Path::new(limit[0]).exists() {
        // Not every system has it; `tests/attack` needs it.
        return;
    }
    let server = Server::under(&limit, iam::SETTINGS);
    let attacker = rest_of(&server, ATTACKER);
    attacker.lock_model("doc", r#"{"t":"x"}"#).await;
    let document = json!({"t": "x".repeat(9_000_000)}).to_string();
    let head = format!(
        "POST /api/entity/JSON/doc/1 HTTP/1.1\r\nhost: x\r\nconnection: close\r\nauthorization: {}\r\ncontent-length: {}\r\n\r\n",
        crate::support::token::bearer(ATTACKER, &["ROLE_ADMIN", "ROLE_M2M"]),
        document.len()
    );
    // A connection that is closed before the body is whole is an answer, too.
    join_all((0..24).map(|_| async {
        let mut connection = connect(server.http).await;
        let _ = connection.write_all(head.as_bytes()).await;
        let _ = timeout(PATIENCE, connection.write_all(document.as_bytes())).await;
        let mut answer = Vec::new();
        let _ = timeout(PATIENCE, connection.read_to_end(&mut answer)).await;
    }))
    .await;
    let innocent = Innocent::begin(&server).await;
    innocent.end().await;
}

#[tokio::test]
async fn a_list_of_a_hundred_thousand_ends_in_an_answer() {
    let server = server();
    let innocent = Innocent::begin(&server).await;
    let attacker = rest_of(&server, ATTACKER);
    attacker.lock_model("doc", r#"{"n":1}"#).await;
    for _ in 0..4 {
        let items: Value = (0..500)
            .map(|n| json!({"model": {"name": "doc", "version": 1}, "payload": json!({"n": n}).to_string()}))
            .collect();
        attacker
            .post("/api/entity/JSON", items.to_string())
            .await
            .ok();
    }
    let numbers: Vec<i64> = (0..99_990).map(|n| 1_000_000 + 7 * n).collect();
    let leaves = std::iter::once(simple("$.n", "IN", json!(numbers)));
    let condition = group("AND", leaves).to_string();
    let searched = attacker.post("/api/search/direct/doc/1", condition);
    let said = timeout(PATIENCE, searched)
        .await
        .expect("an answer in time");
    // Found nothing, or refused with its documented error.
    if said.status != 200 {
        said.problem();
    }
    innocent.end().await;
}
