//! Tenants take turns at what is due: nobody's timers wait for those of another, or for their
//! members.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::{
    Connection, Member, Reply, Server, get, governed_model,
    scene::{automated, processor, states},
    state,
};

/// How late a timer may be here: tests run beside others on a slow machine. On a quiet one it is a
/// few milliseconds (row T7).
const ON_TIME: Duration = Duration::from_secs(5);

/// How long anything is waited for.
const PATIENCE: Duration = Duration::from_mins(1);

/// Lets callers say whose they are.
const CALLERS: (&str, &str) = ("INTERLOCK_IAM_MOCK_CALLER", "true");

/// A tenant of a server, with a model whose entities go from `A` to `B` after a while.
struct Side {
    name: &'static str,
    connection: Connection,
    model: Value,
}

impl Side {
    async fn on(server: &Server, name: &'static str, delay_ms: u64, mut more: Value) -> Self {
        let connection = server.connect_as(&[("x-mock-tenant", name)]).await;
        more["schedule"] = json!({"delayMs": delay_ms});
        let workflow = states(json!({"A": [automated("GO", "B", more)], "B": []}));
        let model = governed_model(&connection, "doc", json!({"n": 1}), workflow).await;
        Self {
            name,
            connection,
            model,
        }
    }

    async fn member(&self, server: &Server) -> Member {
        let connection = server.connect_as(&[("x-mock-tenant", self.name)]).await;
        Member::join_on(connection, &[]).await
    }

    /// Makes so many entities in one request; their ids.
    async fn create(&self, count: usize) -> Vec<String> {
        let one = json!({"model": self.model, "data": {"n": 1}});
        let request = json!({"dataFormat": "JSON", "payloads": vec![one; count]});
        let made = self
            .connection
            .ok("EntityCreateCollectionRequest", request)
            .await;
        let ids = made["transactionInfo"]["entityIds"].as_array();
        let ids = ids.expect("ids").iter();
        ids.map(|id| id.as_str().expect("an id").to_owned())
            .collect()
    }

    /// Waits until the entity is in `B`.
    async fn fires(&self, id: &str) {
        let waiting = async {
            while state(&get(&self.connection, id).await) != "B" {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        let fired = tokio::time::timeout(PATIENCE, waiting).await;
        fired.unwrap_or_else(|_| panic!("{id} has not fired"));
    }

    /// Makes an entity; its timer, which is due soon, is on time.
    async fn is_on_time(&self, delay: Duration) {
        let began = Instant::now();
        let ids = self.create(1).await;
        self.fires(&ids[0]).await;
        let took = began.elapsed();
        assert!(took >= delay, "early: {took:?}");
        assert!(took < delay + ON_TIME, "late: {took:?}");
    }
}

/// The next calls that a member was sent.
async fn calls(member: &Member, count: usize) -> Vec<crate::support::Call> {
    let mut calls = Vec::new();
    while calls.len() < count {
        calls.push(member.next().await);
    }
    calls
}

#[tokio::test]
async fn timers_on_a_silent_member_delay_no_timer_of_another_tenant() {
    let server = Server::with(&[CALLERS]);
    let config = json!({"responseTimeoutMs": 3_600_000});
    let slow = Side::on(&server, "slow", 20, processor("SYNC", config)).await;
    let other = Side::on(&server, "other", 100, json!({})).await;
    let silent = slow.member(&server).await;
    slow.create(400).await;
    // More than there are places: each was given back.
    let out = calls(&silent, 400).await;
    other.is_on_time(Duration::from_millis(100)).await;
    // Whoever gets an answer goes on.
    for call in &out {
        silent.reply(call, Reply::Nothing).await;
    }
    let id = out[399].payload["entityId"].as_str().expect("an id");
    slow.fires(id).await;
}

#[tokio::test]
async fn a_call_that_waits_outside_the_transaction_has_no_place_either() {
    let server = Server::with(&[CALLERS]);
    let after = processor(
        "COMMIT_BEFORE_DISPATCH",
        json!({"startNewTxOnDispatch": false}),
    );
    let slow = Side::on(&server, "slow", 20, after).await;
    let other = Side::on(&server, "other", 100, json!({})).await;
    let silent = slow.member(&server).await;
    slow.create(300).await;
    let out = calls(&silent, 300).await;
    other.is_on_time(Duration::from_millis(100)).await;
    silent.reply(&out[299], Reply::Nothing).await;
    let id = out[299].payload["entityId"].as_str().expect("an id");
    slow.fires(id).await;
}

#[tokio::test]
async fn a_tenant_has_so_many_timers_in_flight_and_the_others_wait() {
    let server = Server::with(&[CALLERS, ("INTERLOCK_MAX_CALLS_OUT", "20")]);
    let slow = Side::on(&server, "slow", 20, processor("SYNC", json!({}))).await;
    let other = Side::on(&server, "other", 50, json!({})).await;
    let member = slow.member(&server).await;
    let ids = slow.create(45).await;
    let out = calls(&member, 10).await;
    // What comes due meanwhile is not theirs.
    other.is_on_time(Duration::from_millis(50)).await;
    let more = tokio::time::timeout(Duration::from_millis(100), member.next()).await;
    assert!(more.is_err(), "half of its calls are left to its requests");
    for call in &out {
        member.reply(call, Reply::Nothing).await;
    }
    member.serve(|_, _| async { Reply::Nothing });
    for id in &ids {
        slow.fires(id).await;
    }
}

#[tokio::test]
async fn a_call_takes_no_longer_than_its_run_may() {
    let server = Server::with(&[
        CALLERS,
        ("INTERLOCK_MAX_RUN_TIME", "300ms"),
        ("CYODA_SCHEDULER_REDISPATCH_BACKOFF", "50ms"),
    ]);
    let config = json!({"responseTimeoutMs": 3_600_000});
    let slow = Side::on(&server, "slow", 20, processor("SYNC", config)).await;
    let member = slow.member(&server).await;
    let ids = slow.create(1).await;
    // The first was given up: it is tried again.
    let out = calls(&member, 2).await;
    member.reply(&out[0], Reply::Nothing).await;
    member.serve(|_, _| async { Reply::Nothing });
    member.reply(&out[1], Reply::Nothing).await;
    slow.fires(&ids[0]).await;
}

fn tasks_left(server: &Server) -> u32 {
    let count = server.stored("select count(*) from task");
    count.parse().expect("a number")
}

#[tokio::test]
async fn a_long_backlog_of_one_tenant_delays_neither_the_start_nor_another_tenant() {
    /// Timers of entities that are gone, all due at one instant: more than two pages of them.
    const BACKLOG: &str = "
        with recursive copy(i) as (select 1 union all select i + 1 from copy where i < 21000)
        insert into entity(e, id, m, n, state, live, created, workflow)
        select e + i, RANDOM_ID, m, n, state, false, created, workflow from copy, entity;
        with recursive copy(i) as (select 1 union all select i + 1 from copy where i < 21000)
        insert into task(k, due, t, e, kind, name, body, tries)
        select k + i, 7, t, e + i, kind, name, body, tries from copy, task;";
    let mut server = Server::on_disk(&[CALLERS]);
    let busy = Side::on(&server, "busy", 3_600_000, json!({})).await;
    let other = Side::on(&server, "other", 50, json!({})).await;
    busy.create(1).await;
    assert_eq!(server.stop().await, Some(0));
    server.change_stored(&BACKLOG.replace("RANDOM_ID", server.random_id()));
    assert_eq!(tasks_left(&server), 21_001);
    server.restart();
    let connection = server.connect_as(&[("x-mock-tenant", "other")]).await;
    let other = Side {
        connection,
        ..other
    };
    other.is_on_time(Duration::from_millis(50)).await;
    let left = tasks_left(&server);
    let waiting = async {
        while tasks_left(&server) > 1 {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    tokio::time::timeout(2 * PATIENCE, waiting)
        .await
        .expect("nothing of it is lost");
    assert!(left > 1, "the other tenant has not waited for all of it");
}
