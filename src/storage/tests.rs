mod flight;
mod identities;
mod keys;
mod lines;
mod many;
mod outcomes;
mod widening;

use std::{sync::Arc, time::Duration};

use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::*;
use crate::clock::ManualClock;
use crate::engine::{RunRecord, StartKind};
use crate::entity::{Actor, ActorKind, ChangeKind, Changed, Document, Json};
use crate::error::Coded as _;
use crate::id::{EntityId, TransactionId};
use crate::model::{Lock, Schema};
use crate::workflow::{ImportMode, Workflow};

struct Bench {
    storage: Storage,
    clock: ManualClock,
    stop: CancellationToken,
    tasks: TaskTracker,
}

impl Bench {
    async fn start() -> Self {
        Self::on(Place::Memory).await
    }

    async fn on(place: Place) -> Self {
        let settings = Settings {
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
        };
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
            storage,
            clock,
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
async fn a_unit_goes_on_seeing_what_was_there_when_it_began_to_read() {
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
    let told: Vec<_> = history
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
        told,
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
async fn the_life_of_a_model_follows_its_table() {
    let bench = Bench::start().await;
    let key = ModelKey::new("m", 1);
    let schema = |json| Schema::infer(&Document::parse(json).expect(json));
    for change in [ModelChange::Lock, ModelChange::Unlock, ModelChange::Delete] {
        assert_eq!(
            bench.change(&key, change).await.expect_err("absent").code(),
            Code::ModelNotFound
        );
    }
    bench
        .change(&key, ModelChange::Import(schema(r#"{"n":1}"#)))
        .await
        .expect("imports");
    bench
        .change(&key, ModelChange::Import(schema(r#"{"s":"x"}"#)))
        .await
        .expect("merges");
    assert_eq!(
        *bench.definitions(&key).await.model.schema,
        schema(r#"{"n":1,"s":"x"}"#)
    );
    assert_eq!(
        bench
            .change(&key, ModelChange::Unlock)
            .await
            .expect_err("unlocked")
            .code(),
        Code::ModelAlreadyUnlocked
    );
    let unlocked = bench.definitions(&key).await;
    let mut unit = bench.unit();
    let new = image(&unit, &unlocked, 1);
    unit.create(&unlocked, new, Vec::new(), None).expect("fits");
    assert_eq!(
        commit(unit).await.expect_err("unlocked").code(),
        Code::ModelNotLocked
    );
    bench.change(&key, ModelChange::Lock).await.expect("locks");
    for change in [
        ModelChange::Lock,
        ModelChange::Delete,
        ModelChange::Import(schema("{}")),
    ] {
        assert_eq!(
            bench.change(&key, change).await.expect_err("locked").code(),
            Code::ModelAlreadyLocked
        );
    }
    let locked = bench.definitions(&key).await;
    let id = bench.create(&locked, 1).await;
    match bench.change(&key, ModelChange::Unlock).await {
        Err(Error::ModelHasEntities { count: 1, .. }) => {}
        other => panic!("{other:?}"),
    }
    let mut unit = bench.unit();
    let base = unit.read(id).await.expect("reads").expect("there");
    unit.remove(&locked, &base, None).expect("fits");
    commit(unit).await.expect("commits");
    bench
        .change(&key, ModelChange::Unlock)
        .await
        .expect("unlocks");
    assert_eq!(bench.definitions(&key).await.model.lock, Lock::Unlocked);
    bench
        .change(&key, ModelChange::Delete)
        .await
        .expect("deletes");
    assert!(
        bench
            .storage
            .definitions(&tenant(), &key)
            .await
            .expect("reads")
            .is_none()
    );
    // A model of the same name starts from nothing; what was relied on before is gone.
    bench
        .change(&key, ModelChange::Import(schema(r#"{"z":1}"#)))
        .await
        .expect("imports");
    bench.change(&key, ModelChange::Lock).await.expect("locks");
    assert_eq!(
        *bench.definitions(&key).await.model.schema,
        schema(r#"{"z":1}"#)
    );
    let mut unit = bench.unit();
    let stale = image(&unit, &locked, 1);
    unit.create(&locked, stale, Vec::new(), None).expect("fits");
    assert_eq!(
        commit(unit)
            .await
            .expect_err("relied on the old one")
            .code(),
        Code::Conflict
    );
    bench.stop().await;
}

#[tokio::test]
async fn workflows_are_kept_in_their_order_and_set_against_what_was_seen() {
    let bench = Bench::start().await;
    let model = bench.locked_model("m").await;
    let key = &model.model.key;
    let workflow = |name: &str| {
        let json = format!(r#"{{"name":"{name}","initialState":"A","states":{{"A":{{}}}}}}"#);
        Arc::new(Workflow::parse(&json).expect("valid").workflow).into()
    };
    let set = model
        .workflows
        .import(ImportMode::Merge, vec![workflow("b"), workflow("a")]);
    let set = set.import(ImportMode::Activate, vec![workflow("c")]);
    let change = |seen| ModelChange::SetWorkflows {
        seen,
        workflows: set.clone(),
    };
    bench.change(key, change(0)).await.expect("sets");
    assert_eq!(
        bench
            .change(key, change(0))
            .await
            .expect_err("stale")
            .code(),
        Code::Conflict
    );
    let stored = bench.definitions(key).await;
    let listed: Vec<_> = stored
        .workflows
        .entries
        .iter()
        .map(|entry| (entry.workflow.name.as_str(), entry.active))
        .collect();
    assert_eq!(listed, [("b", false), ("a", false), ("c", true)]);
    assert_eq!(
        stored.revision, model.revision,
        "running creates are not disturbed"
    );
    bench.stop().await;
}

#[tokio::test]
async fn everything_is_there_again_after_a_restart() {
    let folder = tempfile::tempdir().expect("a folder");
    let place = Place::File(folder.path().join("interlock.db"));
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
    let bench = Arc::new(Bench::on(Place::File(folder.path().join("interlock.db"))).await);
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

async fn dues(unit: &mut UnitOfWork, id: EntityId) -> Vec<i64> {
    let version = unit.read(id).await.expect("reads").expect("there");
    let tasks = unit.tasks(&version).await.expect("reads");
    tasks.iter().map(|task| task.due.micros()).collect()
}

#[tokio::test]
async fn a_rollback_brings_back_a_task_that_was_dropped_before_it_was_stored() {
    let bench = Bench::start().await;
    let model = bench.locked_model("m").await;
    let mut unit = bench.unit();
    let image = image(&unit, &model, 1);
    let id = image.id;
    unit.create(&model, image, Vec::new(), None).expect("fits");
    unit.put_task(later(id, 7)).expect("fits");
    let mark = unit.mark();
    let version = unit.peek_own(id).expect("saved");
    let tasks = unit.tasks(&version).await.expect("reads");
    unit.drop_task(&tasks[0]);
    assert!(dues(&mut unit, id).await.is_empty());
    unit.roll_back_to(&mark);
    unit.release(mark);
    assert_eq!(dues(&mut unit, id).await, [7]);
    commit(unit).await.expect("commits");
    assert_eq!(dues(&mut bench.unit(), id).await, [7]);
    bench.stop().await;
}

#[tokio::test]
async fn a_task_that_replaces_a_stored_one_takes_it_along_when_it_is_dropped() {
    let bench = Bench::start().await;
    let model = bench.locked_model("m").await;
    let id = bench.create(&model, 1).await;
    for (due, dropped, left) in [(7, false, vec![7]), (8, true, vec![])] {
        let mut unit = bench.unit();
        let version = unit.read(id).await.expect("reads").expect("there");
        unit.update(&model, &version, with(&version, due), Vec::new(), None)
            .expect("fits");
        unit.put_task(later(id, due)).expect("fits");
        if dropped {
            let tasks = unit.tasks(&version).await.expect("reads");
            unit.drop_task(&tasks[0]);
        }
        commit(unit).await.expect("commits");
        assert_eq!(dues(&mut bench.unit(), id).await, left);
    }
    bench.stop().await;
}

#[tokio::test]
async fn what_is_due_is_read_with_its_entity_which_must_not_move() {
    let bench = Bench::start().await;
    let model = bench.locked_model("m").await;
    let mut keys = Vec::new();
    let mut ids = Vec::new();
    for n in [1, 2] {
        let id = bench.create(&model, n).await;
        let mut unit = bench.unit();
        let version = unit.read(id).await.expect("reads").expect("there");
        unit.update(&model, &version, with(&version, n), Vec::new(), None)
            .expect("fits");
        unit.put_task(later(id, n)).expect("fits");
        commit(unit).await.expect("commits");
        let tasks = bench.unit().tasks(&version).await.expect("reads");
        keys.push(tasks[0].handle());
        ids.push(id);
    }
    let due = bench.storage.due(&keys).await.expect("reads");
    assert_eq!(
        due.iter().map(|due| due.task.handle()).collect::<Vec<_>>(),
        keys
    );
    let mut unit = bench.unit();
    let version = unit.read(ids[0]).await.expect("reads").expect("there");
    unit.update(&model, &version, with(&version, 3), Vec::new(), None)
        .expect("fits");
    commit(unit).await.expect("commits");
    for (due, stayed) in due.into_iter().zip([false, true]) {
        let mut unit = bench.unit();
        let seen = due.seen.expect("the entity is there");
        let (base, tasks) = unit.begin_with(seen).await.expect("begins");
        assert_eq!(tasks.len(), 1);
        unit.drop_task(&due.task);
        unit.update(&model, &base, with(&base, 4), Vec::new(), None)
            .expect("fits");
        assert_eq!(commit(unit).await.is_ok(), stayed);
    }
    let left = bench.storage.due(&keys).await.expect("reads");
    assert_eq!(left.len(), 1, "one is done");
    assert_eq!(left[0].task.handle(), keys[0]);
    bench.stop().await;
}

/// What a feed gives from a position on, up to a sequence; in the parts it gives it in.
async fn followed(
    bench: &Bench,
    tenant: &Tenant,
    wanted: Wanted,
    after: Option<Position>,
    until: Sequence,
) -> Vec<Changed> {
    let mut feed = bench
        .storage
        .follow(tenant, wanted, after)
        .await
        .expect("follows");
    let mut all: Vec<Changed> = Vec::new();
    while all
        .last()
        .is_none_or(|change| change.position.0 < until.0 - 1)
    {
        all.extend(feed.next().await.expect("changes"));
    }
    all
}

fn positions(changes: &[Changed]) -> Vec<i64> {
    changes.iter().map(|change| change.position.0).collect()
}

/// Writes at random: creations, updates, deletions and many at once, for a while.
async fn write_at_random(bench: &Bench, model: &Arc<Definitions>, writer: i64) {
    let mut ids = Vec::new();
    for n in 0..60 {
        let mut unit = bench.unit();
        match (n * 7 + writer) % 5 {
            0 if !ids.is_empty() => {
                let id = ids.swap_remove(0);
                let base = unit.read(id).await.expect("reads").expect("there");
                unit.remove(model, &base, None).expect("fits");
            }
            1 | 2 if !ids.is_empty() => {
                let id = ids[usize::try_from(n).expect("small") % ids.len()];
                let base = unit.read(id).await.expect("reads").expect("there");
                let state = if n % 2 == 0 { "B" } else { "A" };
                let image = Image {
                    state: state.into(),
                    ..with(&base, n)
                };
                unit.update(model, &base, image, Vec::new(), None)
                    .expect("fits");
            }
            _ => {
                for _ in 0..n % 4 {
                    let image = image(&unit, model, n);
                    ids.push(image.id);
                    unit.create(model, image, Vec::new(), None).expect("fits");
                }
            }
        }
        commit(unit).await.expect("commits");
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_feed_gives_every_version_once_in_order_whenever_it_is_read() {
    let folder = tempfile::tempdir().expect("a folder");
    let bench = Arc::new(Bench::on(Place::File(folder.path().join("interlock.db"))).await);
    let models = [bench.locked_model("m").await, bench.locked_model("n").await];
    let begun = bench.storage.latest();
    let documents = || Wanted {
        documents: true,
        ..Wanted::default()
    };
    let mut live = bench
        .storage
        .follow(&tenant(), documents(), None)
        .await
        .expect("follows");
    let writers: Vec<_> = (0..6)
        .map(|writer| {
            let (bench, model) = (Arc::clone(&bench), Arc::clone(&models[writer % 2]));
            let writer = i64::try_from(writer).expect("small");
            tokio::spawn(async move { write_at_random(&bench, &model, writer).await })
        })
        .collect();
    // One that reads while they write, one that comes late, and one that has to look everything up.
    let reading = tokio::spawn({
        let bench = Arc::clone(&bench);
        async move {
            let mut heard = Vec::new();
            while heard.len() < 100 {
                heard.extend(live.next().await.expect("changes"));
            }
            drop(live);
            let reached = heard.last().expect("some").position;
            (heard, reached, bench.storage.latest())
        }
    });
    for writer in writers {
        writer.await.expect("writes");
    }
    let (mut heard, reached, _) = reading.await.expect("reads");
    bench.create(&models[0], 1).await;
    let until = bench.storage.latest();
    heard.extend(followed(&bench, &tenant(), documents(), Some(reached), until).await);
    let all = followed(&bench, &tenant(), documents(), Some(Position(0)), until).await;
    assert!(positions(&all).is_sorted_by(|one, next| one < next));
    assert_eq!(positions(&heard), positions(&all));
    assert!(all[0].position.0 > begun.0);
    for (one, other) in heard.iter().zip(&all) {
        // From the ring and from the table: the same.
        assert_eq!(format!("{one:?}"), format!("{other:?}"));
    }
    let now = bench.snapshot().await;
    let mut told = 0;
    for id in all
        .iter()
        .map(|change| change.entity)
        .collect::<std::collections::BTreeSet<_>>()
    {
        let history = now.history(id, 1_000).await.expect("reads");
        let of_it: Vec<_> = all.iter().filter(|change| change.entity == id).collect();
        assert_eq!(history.len(), of_it.len());
        for (then, change) in history.iter().rev().zip(of_it) {
            assert_eq!(
                (then.position, then.kind, then.at, then.transaction),
                (change.position, change.kind, change.at, change.transaction)
            );
            told += 1;
        }
    }
    assert_eq!(told, all.len());
    for after in positions(&all).into_iter().step_by(37) {
        let rest = followed(
            &bench,
            &tenant(),
            Wanted::default(),
            Some(Position(after)),
            until,
        )
        .await;
        let expected: Vec<_> = positions(&all).into_iter().filter(|n| *n > after).collect();
        assert_eq!(positions(&rest), expected);
    }
    Arc::into_inner(bench).expect("the last one").stop().await;
}

#[tokio::test]
async fn a_feed_gives_what_is_wanted_of_it_from_the_ring_as_from_the_table() {
    let bench = Bench::start().await;
    let model = bench.locked_model("m").await;
    bench.locked_model("n").await;
    let wanted = [
        Wanted::default(),
        Wanted {
            model: Some(ModelKey::new("m", 1)),
            ..Wanted::default()
        },
        Wanted {
            model: Some(ModelKey::new("n", 1)),
            ..Wanted::default()
        },
        Wanted {
            states: Some(vec!["B".into()]),
            documents: true,
            ..Wanted::default()
        },
    ];
    let mut live = Vec::new();
    for wanted in &wanted {
        let begun = bench.storage.follow(&tenant(), wanted.clone(), None).await;
        live.push(begun.expect("follows"));
    }
    write_at_random(&bench, &model, 0).await;
    let last = bench.definitions(&ModelKey::new("n", 1)).await;
    let mut unit = bench.unit();
    for model in [&model, &last] {
        let image = Image {
            state: "B".into(),
            ..image(&unit, model, 1)
        };
        unit.create(model, image, Vec::new(), None).expect("fits");
    }
    commit(unit).await.expect("commits");
    let all = followed(
        &bench,
        &tenant(),
        Wanted::default(),
        Some(Position(0)),
        bench.storage.latest(),
    )
    .await;
    for (wanted, mut live) in wanted.into_iter().zip(live) {
        let fits = |change: &&Changed| {
            wanted
                .model
                .as_ref()
                .is_none_or(|model| *model == change.model)
                && wanted
                    .states
                    .as_ref()
                    .is_none_or(|states| states.contains(&change.state))
        };
        let expected: Vec<_> = all
            .iter()
            .filter(fits)
            .map(|change| change.position.0)
            .collect();
        assert!(!expected.is_empty());
        let mut heard = Vec::new();
        while heard.len() < expected.len() {
            heard.extend(live.next().await.expect("changes"));
        }
        assert_eq!(positions(&heard), expected);
        let has_documents = |change: &Changed| change.document.is_some();
        assert_eq!(heard.iter().any(has_documents), wanted.documents);
        drop(live);
        let mut again = bench
            .storage
            .follow(&tenant(), wanted.clone(), Some(Position(0)))
            .await
            .expect("follows");
        let mut read = Vec::new();
        while read.len() < expected.len() {
            read.extend(again.next().await.expect("changes"));
        }
        assert_eq!(format!("{read:?}"), format!("{heard:?}"));
    }
    bench.stop().await;
}

#[tokio::test]
async fn a_feed_begins_where_it_is_told_to_or_says_why_not() {
    let bench = Bench::start().await;
    let model = bench.locked_model("m").await;
    bench.create(&model, 1).await;
    let latest = bench.storage.latest();
    let follow = async |model: &str, after| {
        let wanted = Wanted {
            model: Some(ModelKey::new(model, 1)),
            ..Wanted::default()
        };
        bench.storage.follow(&tenant(), wanted, after).await
    };
    let ahead = follow("m", Some(Position(latest.0 + 1))).await;
    assert_eq!(ahead.expect_err("ahead").code(), Code::BadRequest);
    assert!(follow("m", Some(Position(latest.0))).await.is_ok());
    let unknown = follow("x", None).await;
    assert_eq!(unknown.expect_err("unknown").code(), Code::ModelNotFound);

    // Someone who has never written hears of the first thing they write.
    let newcomer = Tenant::from("newcomer");
    let mut feed = bench
        .storage
        .follow(&newcomer, Wanted::default(), None)
        .await
        .expect("follows");
    bench.create(&model, 2).await;
    let key = ModelKey::new("theirs", 1);
    for change in [ModelChange::Import(Schema::default()), ModelChange::Lock] {
        bench
            .storage
            .change_model(&newcomer, user("x"), &key, change)
            .await
            .expect("changes");
    }
    let theirs = bench
        .storage
        .definitions(&newcomer, &key)
        .await
        .expect("reads")
        .expect("a model");
    let mut unit = bench.storage.unit(&newcomer, user("x"));
    let image = image(&unit, &theirs, 3);
    unit.create(&theirs, image, Vec::new(), None).expect("fits");
    commit(unit).await.expect("commits");
    let heard = feed.next().await.expect("changes");
    assert_eq!((heard.len(), &heard[0].model), (1, &key));
    bench.stop().await;
}

#[tokio::test]
async fn a_page_of_the_feed_is_bounded_in_bytes_whatever_is_in_it() {
    let bench = Bench::start().await;
    let model = bench.locked_model("m").await;
    let sizes = [10, 200_000, 200_000, 700_000, 5, 5, 300_000, 1];
    for size in sizes {
        let mut unit = bench.unit();
        let image = Image {
            document: Json::trusted(format!(r#"{{"n":"{}"}}"#, "x".repeat(size))),
            ..image(&unit, &model, 1)
        };
        unit.create(&model, image, Vec::new(), None).expect("fits");
        commit(unit).await.expect("commits");
    }
    let wanted = Wanted {
        documents: true,
        ..Wanted::default()
    };
    let mut feed = bench
        .storage
        .follow(&tenant(), wanted, Some(Position(0)))
        .await
        .expect("follows");
    let mut heard = Vec::new();
    while heard.len() < sizes.len() {
        let part = feed.next().await.expect("changes");
        let bytes = |change: &Changed| change.document.as_ref().map_or(0, |d| d.as_str().len());
        assert!(part.len() == 1 || part.iter().map(bytes).sum::<usize>() <= 256 << 10);
        heard.extend(part);
    }
    assert!(positions(&heard).is_sorted_by(|one, next| one < next));
    bench.stop().await;
}
