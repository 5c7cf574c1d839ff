//! Several processes over one database.
#![cfg(test)]

use tokio::time::Instant;

use super::*;
use crate::clock::Correction;
use crate::id::{JobId, RunId};
use crate::storage::port::{JobRow, NodeEntry, StoredRun, TaskKey, TaskLine, TaskRef, TenantRow};

/// The time of this machine, which is that of the database, in microseconds.
fn now() -> i64 {
    Clock::System.now().micros()
}

async fn opened(database: &database::Database, micros: i64) -> Bench {
    Bench::beside(database, Clock::Corrected(Correction::wrong_by(micros))).await
}

#[tokio::test]
async fn a_process_whose_clock_is_wrong_writes_the_times_of_the_server() {
    const HOUR: i64 = 3_600_000_000;
    let database = database::Database::new(|_| {});
    let mut last = now();
    for wrong in [HOUR, -HOUR, 0] {
        let bench = opened(&database, wrong).await;
        let key = ModelKey::new(&format!("m{}", wrong + HOUR), 1);
        let sample = Document::parse(r#"{"n":1}"#).expect("JSON");
        let change = ModelChange::Import(Schema::infer(&sample));
        let first = bench.change(&key, change).await.expect("imports");
        let second = bench.change(&key, ModelChange::Lock).await.expect("locks");
        let definitions = bench.definitions(&key).await;
        bench.create(&definitions, 1).await;
        let third = database.execute("select max(at) from \"commit\"");
        let third = third.parse().expect("a time");
        for at in [first.at.micros(), second.at.micros(), third] {
            assert!(at >= last, "{at} is before {last}");
            last = at;
        }
        // Trips to the server are short.
        assert!(last < now() + 1_000_000, "{last} is after {}", now());
        bench.stop().await;
    }
}

#[tokio::test]
async fn a_turn_that_is_held_for_long_is_not_waited_for() {
    const TURN: &str = include_str!("../postgres/sql/session_turn.sql");
    const HELD: &str = "from pg_locks where locktype = 'advisory' and granted
        and database = (select oid from pg_database where datname = current_database())";
    let database = Arc::new(database::Database::new(|_| {}));
    let bench = opened(&database, 0).await;
    let definitions = bench.locked_model("m").await;
    let holding = Arc::clone(&database);
    let holder = std::thread::spawn(move || {
        let sleep =
            "do $$ begin perform pg_sleep(60); exception when query_canceled then null; end $$";
        holding.execute(&format!("{TURN};\n{sleep}"));
    });
    let deadline = Instant::now() + Duration::from_secs(30);
    while database.execute(&format!("select count(*) {HELD}")) == "0" {
        assert!(Instant::now() < deadline, "the turn is taken");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    bench.create(&definitions, 1).await;
    assert!(!holder.is_finished(), "the turn is still held");
    database.execute(&format!("select pg_cancel_backend(pid) {HELD}"));
    holder.join().expect("ends");
    bench.create(&definitions, 2).await;
    bench.stop().await;
}

/// Creates one entity after the other until the time is over; how many.
async fn write(bench: &Bench, definitions: &Arc<Definitions>, until: Instant) -> u32 {
    let mut count = 0;
    while Instant::now() < until {
        bench.create(definitions, 1).await;
        count += 1;
    }
    count
}

#[expect(clippy::print_stdout, reason = "the shares can be looked at")]
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_three_processes_that_write_each_has_its_turns() {
    let database = database::Database::new(|_| {});
    let benches = [
        opened(&database, 0).await,
        opened(&database, 0).await,
        opened(&database, 0).await,
    ];
    let definitions = benches[0].locked_model("m").await;
    let alone = Duration::from_secs(1);
    let alone = write(&benches[0], &definitions, Instant::now() + alone).await;
    let until = Instant::now() + Duration::from_secs(3);
    // The first has much more to write, so whenever it may it has something.
    let busy = (0..8).map(|_| write(&benches[0], &definitions, until));
    let many = futures_util::future::join_all(busy);
    let (many, second, third) = tokio::join!(
        many,
        write(&benches[1], &definitions, until),
        write(&benches[2], &definitions, until),
    );
    let first: u32 = many.iter().sum();
    let links = "select count(*) from \"commit\" where prev is not null and t > 0";
    let links = database.execute(links);
    println!(
        "alone {alone} in a second; of three {first} {second} {third} in three, {links} links"
    );
    let links: u32 = links.parse().expect("a number");
    for slow in [second, third] {
        // About a sixth alone on a machine; beside other tests it may wait longer, but never starve.
        assert!(slow >= links / 30, "{slow} of {links}");
    }
    for bench in benches {
        bench.stop().await;
    }
}

#[tokio::test]
async fn what_the_database_has_lost_is_forgotten_and_its_positions_are_not_used_again() {
    let database = database::Database::new(|_| {});
    let bench = opened(&database, 0).await;
    let model = bench.locked_model("m").await;
    let id = bench.create(&model, 1).await;
    let kept = database.execute("select max(seq) from \"commit\"");
    let mut last = Vec::new();
    for n in [2, 3] {
        let mut unit = bench.unit();
        let version = unit.read(id).await.expect("reads").expect("there");
        let image = with(&version, n);
        unit.update(&model, &version, image, Vec::new(), None)
            .expect("fits");
        last.push(commit(unit).await.expect("commits"));
    }
    let then = PointInTime {
        until: last[0].at,
        text: "then".into(),
    };
    let read_then = async || {
        let then = bench.storage.entity_at(&tenant(), id, &then).await;
        document(then.expect("reads").as_ref()).map(str::to_owned)
    };
    assert_eq!(read_then().await.as_deref(), Some(r#"{"n":2}"#));
    // As on a server that was restored, or took over, without what came last.
    database.execute(&format!(
        "update entity e set n = (select max(v.n) from version v where v.e = e.e and v.n <= {kept});
        delete from version where n > {kept}; delete from \"commit\" where seq > {kept}"
    ));
    bench.storage.refresh().await.expect("answered");
    assert_eq!(read_then().await.as_deref(), Some(r#"{"n":1}"#));
    let mut unit = bench.unit();
    let version = unit.read(id).await.expect("reads").expect("there");
    assert_eq!(document(Some(&version)), Some(r#"{"n":1}"#));
    let image = with(&version, 4);
    unit.update(&model, &version, image, Vec::new(), None)
        .expect("fits");
    let next = tokio::time::timeout(Duration::from_secs(30), commit(unit)).await;
    let next = next.expect("answered").expect("commits");
    assert!(next.sequence > last[1].sequence, "{next:?} after {last:?}");
    bench.stop().await;
}

#[tokio::test]
async fn what_never_follows_the_newest_commit_is_refused() {
    let database = database::Database::new(|_| {});
    let bench = opened(&database, 0).await;
    let model = bench.locked_model("m").await;
    // It takes no commit but empty ones, and does not say so.
    database.execute(
        "create function leave_out() returns trigger language plpgsql as
            $$ begin if new.t > 0 then return null; end if; return new; end $$;
        create trigger leaves_out before insert on \"commit\"
            for each row execute function leave_out()",
    );
    let mut unit = bench.unit();
    let image = image(&unit, &model, 1);
    unit.create(&model, image, Vec::new(), None).expect("fits");
    let key = ModelKey::new("m", 1);
    let (created, changed) = tokio::join!(
        tokio::time::timeout(Duration::from_mins(1), commit(unit)),
        tokio::time::timeout(
            Duration::from_mins(1),
            bench.change(&key, ModelChange::Unlock)
        ),
    );
    for refused in [created, changed] {
        let refused = refused.expect("answered");
        assert!(matches!(refused, Err(Error::Unavailable)), "{refused:?}");
    }
    database.execute("drop trigger leaves_out on \"commit\"");
    bench.create(&model, 2).await;
    bench.stop().await;
}

async fn entered(database: &database::Database, name: &str) -> Bench {
    let bench = opened(database, 0).await;
    let entry = NodeEntry {
        name: name.into(),
        address: "http://localhost:1".into(),
        version: "1".into(),
    };
    bench.storage.enter(entry).await.expect("enters");
    bench
}

/// A run of which a node has work out.
fn driven_by(node: &Bench) -> StoredRun {
    StoredRun {
        id: RunId::new(1),
        tenant: TenantRow(1),
        name: RunName {
            namespace: "n".into(),
            name: "r".into(),
        },
        position: Position(1),
        status: 0,
        is_out: true,
        owner: Some(node.storage.node()),
        has_timer: false,
        parent: None,
        entity: None,
        awaits: None,
        created: Timestamp::from_micros(0),
        ended: None,
        state: "{}".into(),
    }
}

#[tokio::test]
async fn what_a_node_has_taken_stays_its_own_before_others_know_of_it() {
    let database = database::Database::new(|_| {});
    let older = entered(&database, "older").await;
    let model = older.locked_model("m").await;
    let mut unit = older.unit();
    let image = image(&unit, &model, 1);
    let id = image.id;
    unit.create(&model, image, Vec::new(), None).expect("fits");
    unit.put_task(later(id, 7)).expect("fits");
    commit(unit).await.expect("commits");
    let number = |query: &str| database.execute(query).parse().expect("a number");
    let task = TaskRef {
        line: TaskLine(number("select t from task")),
        key: TaskKey(number("select k from task")),
    };
    let job = NewJob {
        id: JobId::fresh(),
        definitions: &model,
        at: older.storage.latest(),
        query: "{}".into(),
        created: older.storage.now(),
    };
    let submitted = older.storage.submit_job(&tenant(), job, None).await;
    submitted.expect("submits");
    // It has started since the last beat of the other, and takes what there is.
    let newer = entered(&database, "newer").await;
    assert!(!older.storage.live().contains(&newer.storage.node()));
    let claim = async |bench: &Bench| bench.storage.claim(&[task]).await.expect("claims").len();
    let jobs = async |bench: &Bench| {
        let jobs = bench.storage.jobs_to_run(JobRow(0), 10).await;
        jobs.expect("claims").len()
    };
    let ahead = async |bench: &Bench| {
        let (own, until) = (bench.storage.node(), bench.storage.now());
        let inner = &bench.storage.0;
        let ahead = inner.database.tasks_ahead(own, until, 10, Node::LIVE).await;
        ahead.expect("reads").len()
    };
    assert_eq!((claim(&newer).await, jobs(&newer).await), (1, 1));
    let found = (claim(&older).await, jobs(&older).await, ahead(&older).await);
    assert_eq!(found, (0, 0, 0), "the other has it");
    let run = driven_by(&newer);
    assert!(older.storage.is_driven(&run));
    // Not even it takes again what it is at work on.
    let found = (claim(&newer).await, jobs(&newer).await, ahead(&newer).await);
    assert_eq!(found, (0, 0, 0), "it has it already");
    // Once it is gone, all of that is free.
    database.execute("delete from node where name = 'newer'");
    let found = (ahead(&older).await, claim(&older).await, jobs(&older).await);
    assert_eq!(found, (1, 1, 1), "nobody has it");
    older.stop().await;
    newer.stop().await;
}
