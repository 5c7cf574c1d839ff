#[expect(dead_code, reason = "tests of the whole service use the rest of it")]
#[path = "../../tests/it/support/database.rs"]
mod database;
#[expect(dead_code, reason = "tests of connectors use the rest of it")]
#[path = "../../tests/it/support/postgres.rs"]
mod postgres;

mod feed;
mod flight;
mod identities;
mod keys;
mod lines;
mod many;
mod messages;
mod models;
mod outcomes;
mod processes;
mod records;
mod retention;
mod tasks;
mod topics;
mod widening;

use std::{sync::Arc, time::Duration};

use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::*;
use crate::clock::{Clock, ManualClock, PointInTime, Timestamp};
use crate::engine::{RunRecord, StartKind};
use crate::entity::{
    Actor, ActorKind, ChangeKind, Changed, Document, Image, Json, Position, Sequence,
};
use crate::error::{Code, Coded as _};
use crate::id::{EntityId, ModelKey, Tenant, TransactionId};
use crate::model::{Lock, Schema};
use crate::workflow::{ImportMode, Workflow};

fn settings(place: DatabaseLocation) -> Settings {
    Settings {
        place,
        durability: Durability::Full,
        busy_timeout: Duration::from_secs(5),
        cache_kib: 4_000,
        scan_max: 0,
        absent_lists_are_null: false,
        queue_bytes: 64 << 20,
        start_check: Duration::ZERO,
        migrate: Migrate::Yes,
        indexes: IndexSettings::default(),
    }
}

fn place_of(database: &database::Database) -> DatabaseLocation {
    DatabaseLocation::Server(Server {
        url: database.url().into(),
        max_connections: 7,
        min_connections: 1,
        idle: Duration::from_mins(1),
        patience: Duration::from_secs(10),
    })
}

struct Bench {
    /// Dropped when the test is over.
    _database: Option<database::Database>,
    storage: Storage,
    clock: ManualClock,
    stop: CancellationToken,
    tasks: TaskTracker,
}

impl Bench {
    /// On a database in memory, or on a server if the tests are to run there.
    async fn start() -> Self {
        if !database::is_postgres() {
            return Self::on(DatabaseLocation::Memory).await;
        }
        let made = database::Database::new(|_| {});
        let place = place_of(&made);
        Self {
            _database: Some(made),
            ..Self::on(place).await
        }
    }

    async fn on(place: DatabaseLocation) -> Self {
        let settings = settings(place);
        let (clock, stop, tasks) = (
            ManualClock::default(),
            CancellationToken::new(),
            TaskTracker::new(),
        );
        clock.set(Timestamp::from_micros(1_000_000));
        let manual = Clock::Manual(clock.clone());
        let opening = Storage::open(&settings, manual, stop.clone());
        let (storage, committer) = opening.await.expect("opens");
        tasks.spawn(committer);
        Self {
            _database: None,
            storage,
            clock,
            stop,
            tasks,
        }
    }

    /// With a clock of its own, on a server that others use, too.
    async fn beside(database: &database::Database, clock: Clock) -> Self {
        let (stop, tasks) = (CancellationToken::new(), TaskTracker::new());
        let settings = settings(place_of(database));
        let opening = Storage::open(&settings, clock, stop.clone());
        let (storage, committer) = opening.await.expect("opens");
        tasks.spawn(committer);
        Self {
            _database: None,
            storage,
            clock: ManualClock::default(),
            stop,
            tasks,
        }
    }

    async fn stop(self) {
        self.stop.cancel();
        self.tasks.close();
        self.tasks.wait().await;
    }

    async fn locked_model(&self, name: &str) -> Arc<Definitions> {
        let key = ModelKey::new(name, 1);
        let sample = Document::parse(r#"{"n":1}"#).expect("JSON");
        self.change(&key, ModelChange::Import(Schema::infer(&sample)))
            .await
            .expect("imports");
        self.change(&key, ModelChange::Lock).await.expect("locks");
        self.definitions(&key).await
    }

    async fn change(&self, key: &ModelKey, change: ModelChange) -> Result<Committed, Error> {
        self.storage
            .change_model(&tenant(), user("u"), key, change)
            .await
    }

    async fn definitions(&self, key: &ModelKey) -> Arc<Definitions> {
        self.storage
            .definitions(&tenant(), key)
            .await
            .expect("reads")
            .expect("a model")
    }

    fn unit(&self) -> UnitOfWork {
        self.storage.unit(&tenant(), user("u"))
    }

    async fn create(&self, definitions: &Arc<Definitions>, n: i64) -> EntityId {
        let mut unit = self.unit();
        let image = image(&unit, definitions, n);
        let id = image.id;
        unit.create(definitions, image, Vec::new(), None)
            .expect("fits");
        commit(unit).await.expect("commits");
        id
    }

    async fn snapshot(&self) -> Snapshot {
        self.storage
            .snapshot(&tenant(), self.storage.latest())
            .await
            .expect("a snapshot")
    }
}

fn tenant() -> Tenant {
    "t".into()
}

fn user(name: &str) -> Attribution {
    Attribution {
        author: Actor {
            kind: ActorKind::User,
            name: name.into(),
        },
        executor: None,
    }
}

fn image(unit: &UnitOfWork, definitions: &Definitions, n: i64) -> Image {
    let at = Timestamp::from_micros(5);
    Image {
        id: EntityId::fresh(),
        model: definitions.model.key.clone(),
        state: "A".into(),
        document: Json::trusted(format!(r#"{{"n":{n}}}"#)),
        created: at,
        updated: at,
        transaction: unit.id(),
        transition: None,
        workflow: None,
    }
}

fn with(version: &Version, n: i64) -> Image {
    Image {
        document: Json::trusted(format!(r#"{{"n":{n}}}"#)),
        ..version.image.clone()
    }
}

async fn commit(unit: UnitOfWork) -> Result<Committed, Error> {
    unit.commit(&CancellationToken::new()).await
}

fn document(version: Option<&Version>) -> Option<&str> {
    version.map(|version| version.image.document.as_str())
}

async fn all(mut scan: Scan) -> Vec<String> {
    let mut documents = Vec::new();
    while let Some(part) = scan.next().await.expect("scans") {
        documents.extend(
            part.iter()
                .map(|version| version.image.document.to_string()),
        );
    }
    documents
}

#[tokio::test]
async fn a_unit_sees_what_it_wrote_and_others_see_it_once_it_is_committed() {
    let bench = Bench::start().await;
    let model = bench.locked_model("m").await;
    let mut unit = bench.unit();
    let image = image(&unit, &model, 1);
    let (id, transaction) = (image.id, unit.id());
    unit.create(&model, image, Vec::new(), None).expect("fits");
    assert_eq!(
        document(unit.read(id).await.expect("reads").as_ref()),
        Some(r#"{"n":1}"#)
    );
    assert!(
        bench
            .snapshot()
            .await
            .entity(id)
            .await
            .expect("reads")
            .is_none()
    );
    let before = bench.storage.latest();
    let committed = commit(unit).await.expect("commits");
    assert!(committed.sequence > before);
    let seen = bench
        .snapshot()
        .await
        .entity(id)
        .await
        .expect("reads")
        .expect("there");
    assert_eq!(
        (seen.image.updated, seen.image.transaction),
        (committed.at, transaction)
    );
    assert!(seen.position.0 < committed.sequence.0);
    bench.stop().await;
}

#[tokio::test]
async fn of_two_units_on_one_entity_the_first_committer_wins() {
    let bench = Bench::start().await;
    let model = bench.locked_model("m").await;
    let id = bench.create(&model, 1).await;
    let (mut one, mut other, mut reader) = (bench.unit(), bench.unit(), bench.unit());
    for (unit, n) in [(&mut one, 2), (&mut other, 3)] {
        let base = unit.read(id).await.expect("reads").expect("there");
        unit.update(&model, &base, with(&base, n), Vec::new(), None)
            .expect("fits");
    }
    reader.read(id).await.expect("reads");
    let unrelated = image(&reader, &model, 9);
    reader
        .create(&model, unrelated, Vec::new(), None)
        .expect("fits");
    commit(other).await.expect("commits");
    for loser in [one, reader] {
        assert_eq!(
            commit(loser).await.expect_err("lost").code(),
            Code::Conflict
        );
    }
    assert_eq!(
        document(
            bench
                .snapshot()
                .await
                .entity(id)
                .await
                .expect("reads")
                .as_ref()
        ),
        Some(r#"{"n":3}"#)
    );
    bench.stop().await;
}

#[tokio::test]
async fn a_unit_keeps_seeing_what_was_there_when_it_began_to_read() {
    let bench = Bench::start().await;
    let model = bench.locked_model("m").await;
    let (a, b) = (bench.create(&model, 1).await, bench.create(&model, 2).await);
    let mut unit = bench.unit();
    unit.peek(a).await.expect("reads");
    for id in [a, b] {
        let mut other = bench.unit();
        let base = other.read(id).await.expect("reads").expect("there");
        if id == a {
            other
                .update(&model, &base, with(&base, 7), Vec::new(), None)
                .expect("fits");
        } else {
            other.remove(&model, &base, None).expect("fits");
        }
        commit(other).await.expect("commits");
    }
    let late = bench.create(&model, 8).await;
    assert_eq!(
        document(unit.peek(a).await.expect("reads").as_ref()),
        Some(r#"{"n":1}"#)
    );
    assert_eq!(
        document(unit.peek(b).await.expect("reads").as_ref()),
        Some(r#"{"n":2}"#)
    );
    assert!(unit.peek(late).await.expect("reads").is_none());
    let snapshot = unit.snapshot().await.expect("a snapshot").clone();
    assert_eq!(
        all(snapshot.scan(&model)).await,
        [r#"{"n":1}"#, r#"{"n":2}"#]
    );
    assert_eq!(
        all(bench.snapshot().await.scan(&model)).await,
        [r#"{"n":7}"#, r#"{"n":8}"#]
    );
    bench.stop().await;
}

#[tokio::test]
async fn rolling_back_to_a_mark_keeps_what_was_before_it() {
    let bench = Bench::start().await;
    let model = bench.locked_model("m").await;
    let old = bench.create(&model, 1).await;
    let mut unit = bench.unit();
    let kept = image(&unit, &model, 2);
    let kept_id = kept.id;
    unit.create(&model, kept, Vec::new(), None).expect("fits");
    let mark = unit.mark();
    let lost = image(&unit, &model, 3);
    let lost_id = lost.id;
    unit.create(&model, lost, Vec::new(), None).expect("fits");
    let base = unit.read(old).await.expect("reads").expect("there");
    unit.remove(&model, &base, None).expect("fits");
    let mine = unit.read(kept_id).await.expect("reads").expect("there");
    unit.update(&model, &mine, with(&mine, 4), Vec::new(), None)
        .expect("fits");
    assert!(unit.read(old).await.expect("reads").is_none());
    unit.roll_back_to(&mark);
    unit.release(mark);
    assert_eq!(unit.own_changes(&model.model.key).len(), 1);
    commit(unit).await.expect("commits");
    let snapshot = bench.snapshot().await;
    for (id, expected) in [
        (old, Some(r#"{"n":1}"#)),
        (kept_id, Some(r#"{"n":2}"#)),
        (lost_id, None),
    ] {
        assert_eq!(
            document(snapshot.entity(id).await.expect("reads").as_ref()),
            expected
        );
    }
    bench.stop().await;
}

#[tokio::test]
async fn history_keeps_every_version_with_who_wrote_it() {
    let bench = Bench::start().await;
    let model = bench.locked_model("m").await;
    let id = bench.create(&model, 1).await;
    bench.clock.advance_ms(10);
    let between = PointInTime::parse("1970-01-01T00:00:01.005Z").expect("a time");
    let mut unit = bench.storage.unit(&tenant(), user("v"));
    let base = unit.read(id).await.expect("reads").expect("there");
    let by = Attribution {
        executor: user("w").author.into(),
        ..user("u")
    };
    unit.update(&model, &base, with(&base, 2), Vec::new(), Some(by))
        .expect("fits");
    let second = unit.id();
    commit(unit).await.expect("commits");
    let mut unit = bench.unit();
    let base = unit.read(id).await.expect("reads").expect("there");
    unit.remove(&model, &base, None).expect("fits");
    commit(unit).await.expect("commits");

    let now = bench.snapshot().await;
    assert!(now.entity(id).await.expect("reads").is_none());
    let history = now.history(id, 10).await.expect("reads");
    let listed: Vec<_> = history
        .iter()
        .map(|change| {
            (
                change.kind,
                &*change.author.name,
                change.executor.as_ref().map(|executor| &*executor.name),
            )
        })
        .collect();
    assert_eq!(
        listed,
        [
            (ChangeKind::Delete, "u", None),
            (ChangeKind::Update, "u", Some("w")),
            (ChangeKind::Create, "u", None)
        ]
    );
    let then = bench.storage.at(&between).await.expect("a sequence");
    let then = bench
        .storage
        .snapshot(&tenant(), then)
        .await
        .expect("a snapshot");
    assert_eq!(
        document(then.entity(id).await.expect("reads").as_ref()),
        Some(r#"{"n":1}"#)
    );
    assert_eq!(
        document(now.written_by(id, second).await.expect("reads").as_ref()),
        Some(r#"{"n":2}"#)
    );
    assert!(
        now.written_by(id, TransactionId::fresh())
            .await
            .expect("reads")
            .is_none()
    );
    bench.stop().await;
}

#[tokio::test]
async fn everything_is_there_again_after_a_restart() {
    let folder = tempfile::tempdir().expect("a folder");
    let place = DatabaseLocation::File(folder.path().join("interlock.db"));
    let bench = Bench::on(place.clone()).await;
    let model = bench.locked_model("m").await;
    let id = bench.create(&model, 1).await;
    let latest = bench.storage.latest();
    bench.stop().await;
    let bench = Bench::on(place).await;
    assert_eq!(bench.storage.latest(), latest);
    let model = bench.definitions(&model.model.key).await;
    assert_eq!(
        document(
            bench
                .snapshot()
                .await
                .entity(id)
                .await
                .expect("reads")
                .as_ref()
        ),
        Some(r#"{"n":1}"#)
    );
    let second = bench.create(&model, 2).await;
    assert!(second > id && bench.storage.latest() > latest);
    bench.stop().await;
}

#[tokio::test]
async fn one_unit_may_be_larger_than_a_text_takes() {
    const MANY: i64 = 1_500;
    let bench = Bench::start().await;
    let model = bench.locked_model("m").await;
    let mut unit = bench.unit();
    for n in 0..MANY {
        let image = image(&unit, &model, n);
        unit.create(&model, image, Vec::new(), None).expect("fits");
    }
    commit(unit).await.expect("commits");
    let mut unit = bench.unit();
    let mut scan = unit.snapshot().await.expect("a snapshot").scan(&model);
    let mut count = 0;
    while let Some(part) = scan.next().await.expect("scans") {
        for version in &part {
            if count % 2 == 0 {
                unit.remove(&model, version, None).expect("fits");
            } else {
                unit.update(&model, version, with(version, -1), Vec::new(), None)
                    .expect("fits");
            }
            count += 1;
        }
    }
    assert_eq!(count, MANY);
    commit(unit).await.expect("commits");
    let left = all(bench.snapshot().await.scan(&model)).await;
    assert_eq!(left.len(), 750);
    assert!(left.iter().all(|document| document == r#"{"n":-1}"#));
    assert_eq!(bench.storage.count(&model).await.expect("counts"), 750);
    bench.stop().await;
}

#[tokio::test]
async fn a_unit_is_bounded_and_says_so() {
    let bench = Bench::start().await;
    let model = bench.locked_model("m").await;
    let mut unit = bench.unit();
    let outcome = (0..100).try_for_each(|_| {
        let mut image = image(&unit, &model, 0);
        image.document = Json::trusted(format!("\"{}\"", "x".repeat(1 << 20)));
        unit.create(&model, image, Vec::new(), None)
    });
    assert_eq!(
        outcome.expect_err("too large").code(),
        Code::TransactionTooLarge
    );
    bench.stop().await;
}

#[tokio::test]
async fn what_is_rolled_back_or_replaced_leaves_room_in_a_unit() {
    let bench = Bench::start().await;
    let model = bench.locked_model("m").await;
    let mut unit = bench.unit();
    let large = image(&unit, &model, 0);
    let large = Image {
        document: Json::trusted(format!("\"{}\"", "x".repeat(1 << 20))),
        ..large
    };
    let create = |unit: &mut UnitOfWork| {
        let image = large.clone();
        unit.create(&model, image, Vec::new(), None)
    };
    for _ in 0..100 {
        let mark = unit.mark();
        create(&mut unit).expect("fits");
        unit.roll_back_to(&mark);
        unit.release(mark);
    }
    for _ in 0..100 {
        let mark = unit.mark();
        create(&mut unit).expect("fits");
        unit.release(mark);
    }
    bench.stop().await;
}

#[tokio::test]
async fn a_tenant_sees_nothing_of_another() {
    let bench = Bench::start().await;
    let model = bench.locked_model("m").await;
    let id = bench.create(&model, 1).await;
    for other in ["nobody", "other"] {
        let other = Tenant::from(other);
        if other.as_str() == "other" {
            bench
                .storage
                .change_model(
                    &other,
                    user("x"),
                    &ModelKey::new("m", 1),
                    ModelChange::Import(Schema::default()),
                )
                .await
                .expect("imports");
        }
        let latest = bench.storage.latest();
        let snapshot = bench
            .storage
            .snapshot(&other, latest)
            .await
            .expect("a snapshot");
        assert!(snapshot.version(id).await.expect("reads").is_none());
        assert!(snapshot.history(id, 10).await.expect("reads").is_empty());
        let listed = bench.storage.models(&other).await.expect("lists");
        assert_eq!(listed.len(), usize::from(other.as_str() == "other"));
        assert!(listed.iter().all(|model| model.lock == Lock::Unlocked));
    }
    bench.stop().await;
}

#[tokio::test]
async fn many_writers_share_commits_and_all_of_them_are_there() {
    let folder = tempfile::tempdir().expect("a folder");
    let bench =
        Arc::new(Bench::on(DatabaseLocation::File(folder.path().join("interlock.db"))).await);
    let model = bench.locked_model("m").await;
    let writers: Vec<_> = (0..32)
        .map(|writer| {
            let (bench, model) = (Arc::clone(&bench), Arc::clone(&model));
            tokio::spawn(async move {
                for n in 0..20 {
                    bench.create(&model, writer * 100 + n).await;
                }
            })
        })
        .collect();
    for writer in writers {
        writer.await.expect("writes");
    }
    assert_eq!(bench.storage.count(&model).await.expect("counts"), 640);
    assert_eq!(all(bench.snapshot().await.scan(&model)).await.len(), 640);
    Arc::into_inner(bench).expect("the last one").stop().await;
}

#[tokio::test]
async fn the_decisions_of_a_unit_are_one_record_per_entity() {
    let bench = Bench::start().await;
    let model = bench.locked_model("m").await;
    let run = |at| RunRecord {
        start: StartKind::Create,
        asked: None,
        at,
        entries: Vec::new(),
        ended: Vec::new(),
    };
    let mut unit = bench.unit();
    let first = image(&unit, &model, 1);
    let id = first.id;
    unit.create(&model, first, vec![run(1)], None)
        .expect("fits");
    let mine = unit.read(id).await.expect("reads").expect("there");
    unit.update(&model, &mine, with(&mine, 2), vec![run(2)], None)
        .expect("fits");
    commit(unit).await.expect("commits");
    assert_eq!(
        bench
            .snapshot()
            .await
            .history(id, 10)
            .await
            .expect("reads")
            .len(),
        1,
        "one version"
    );
    bench.stop().await;
}

/// A task of an entity.
fn later(entity: EntityId, due: i64) -> NewTask {
    NewTask {
        entity,
        kind: TaskKind::Schedule,
        name: "later".into(),
        due: Timestamp::from_micros(due),
        body: "{}".into(),
    }
}
