//! What is written, but not on the disk yet.
#![cfg(test)]

use futures_util::FutureExt as _;
use tokio::sync::Semaphore;

use super::*;
use crate::storage::{Disturbance, Moment, Simulated};

/// A storage whose disk makes nothing durable without leave; what it says then is whether it could.
struct Slow {
    bench: Bench,
    leave: Arc<Semaphore>,
    written: Arc<Semaphore>,
}

impl Slow {
    /// Over a simulated database.
    async fn new(is_well: impl Fn(Moment) -> bool + Send + Sync + 'static) -> Self {
        Self::over(None, is_well).await
    }

    /// Over a database in a file, if there is one, or else a simulated one.
    async fn over(
        file: Option<std::path::PathBuf>,
        is_well: impl Fn(Moment) -> bool + Send + Sync + 'static,
    ) -> Self {
        let (leave, written) = (Arc::new(Semaphore::new(0)), Arc::new(Semaphore::new(0)));
        let (gate, count, is_well) = (Arc::clone(&leave), Arc::clone(&written), Arc::new(is_well));
        let disturbance = Disturbance::new(move |moment| {
            let (gate, count, is_well) =
                (Arc::clone(&gate), Arc::clone(&count), Arc::clone(&is_well));
            Box::pin(async move {
                match moment {
                    Moment::AfterWrite => count.add_permits(1),
                    Moment::Syncing => gate.acquire().await.expect("open").forget(),
                    Moment::BeforeWrite | Moment::Reopening => {}
                }
                is_well(moment)
            })
        });
        let (clock, tasks) = (ManualClock::default(), TaskTracker::new());
        clock.set(Timestamp::from_micros(1_000_000));
        let manual = Clock::Manual(clock.clone());
        let storage = if let Some(file) = file {
            let settings = settings(DatabaseLocation::File(file));
            Storage::open_disturbed(&settings, disturbance, manual, &tasks).await
        } else {
            let database = Arc::<Simulated>::default();
            Storage::open_simulated(&database, disturbance, manual, &tasks).await
        };
        Self {
            bench: Bench {
                _database: None,
                storage: storage.expect("opens"),
                clock,
                stop: CancellationToken::new(),
                tasks,
            },
            leave,
            written,
        }
    }

    /// Begins to commit a new entity; continues once it is written.
    async fn begin(
        &self,
        model: &Arc<Definitions>,
    ) -> tokio::task::JoinHandle<Result<Committed, Error>> {
        let mut unit = self.bench.unit();
        let image = image(&unit, model, 1);
        unit.create(model, image, Vec::new(), None).expect("fits");
        let committing = self.bench.tasks.spawn(commit(unit));
        self.written.acquire().await.expect("open").forget();
        committing
    }
}

#[tokio::test]
async fn nothing_is_answered_before_it_is_on_the_disk_and_the_next_is_written_meanwhile() {
    let slow = Slow::new(|_| true).await;
    let storage = &slow.bench.storage;
    let model = slow.bench.locked_model("m").await;
    let before = storage.latest();
    let first = slow.begin(&model).await;
    let second = slow.begin(&model).await;
    assert!(!first.is_finished() && !second.is_finished());
    assert_eq!(storage.latest(), before);
    assert!(storage.count(&model).now_or_never().is_none());
    slow.leave.add_permits(1);
    let first = first.await.expect("ends").expect("commits");
    assert_eq!(storage.latest(), first.sequence);
    assert!(!second.is_finished());
    slow.leave.add_permits(1);
    let second = second.await.expect("ends").expect("commits");
    assert_eq!(storage.latest(), second.sequence);
    assert_eq!(storage.count(&model).await.expect("counts"), 2);
}

#[tokio::test(start_paused = true)]
async fn a_disk_that_never_answers_is_not_waited_for_by_those_who_read() {
    let slow = Slow::new(|_| true).await;
    let model = slow.bench.locked_model("m").await;
    let _never = slow.begin(&model).await;
    let counted = slow.bench.storage.count(&model).await;
    assert!(matches!(counted, Err(Error::Unavailable)));
}

#[tokio::test]
async fn what_was_written_upon_what_the_disk_lost_sight_of_is_looked_for_as_well() {
    let slow = Slow::new(|moment| moment != Moment::Syncing).await;
    let model = slow.bench.locked_model("m").await;
    let units = [slow.begin(&model).await, slow.begin(&model).await];
    slow.leave.add_permits(2);
    // The database was opened again, and has both.
    for unit in units {
        unit.await.expect("ends").expect("commits");
    }
    let counted = slow.bench.storage.count(&model).await;
    assert_eq!(counted.expect("counts"), 2);
}

#[tokio::test]
async fn what_changes_an_entity_again_waits_for_what_changed_it() {
    let slow = Slow::new(|_| true).await;
    let storage = &slow.bench.storage;
    let model = slow.bench.locked_model("m").await;
    slow.leave.add_permits(1);
    let id = slow.bench.create(&model, 1).await;
    slow.written.acquire().await.expect("open").forget();
    let change = async || {
        let mut unit = slow.bench.unit();
        let version = unit.read(id).await.expect("reads").expect("there");
        let image = with(&version, 2);
        unit.update(&model, &version, image, Vec::new(), None)
            .expect("fits");
        (slow.bench.tasks.spawn(commit(unit)),)
    };
    let (first,) = change().await;
    slow.written.acquire().await.expect("open").forget();
    let (second,) = change().await;
    // As many turns as the committer may want to take it.
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    slow.leave.add_permits(2);
    assert!(first.await.expect("ends").is_ok());
    assert!(matches!(second.await.expect("ends"), Err(Error::Conflict)));
    let version = slow.bench.snapshot().await.entity(id).await.expect("reads");
    assert_eq!(document(version.as_ref()), Some(r#"{"n":2}"#));
    assert_eq!(storage.latest().0, version.expect("there").position.0 + 1);
}

#[tokio::test]
async fn what_a_search_by_state_finds_is_on_the_disk() {
    let folder = tempfile::tempdir().expect("a folder");
    let slow = Slow::over(Some(folder.path().join("a.db")), |_| true).await;
    let (model, other) = (
        slow.bench.locked_model("m").await,
        slow.bench.locked_model("o").await,
    );
    let storage = &slow.bench.storage;
    let probes = [Probe::State("A".into())];
    for n in 1..=2 {
        let _committing = slow.begin(&model).await;
        let snapshot = slow.bench.snapshot().await;
        let searching = async {
            let found: Vec<Position> = if n == 1 {
                let found = snapshot.look_up(&model, &probes, 9).await.expect("reads");
                let found = found.expect("few").into_iter();
                found.map(|version| version.position).collect()
            } else {
                let found = snapshot.found(&model, &probes, 9).await.expect("reads");
                let found = found.expect("few").into_iter();
                found.map(|(_, position)| position).collect()
            };
            assert_eq!(found.len(), n);
            let latest = storage.latest();
            assert!(found.iter().all(|found| found.0 <= latest.0), "{found:?}");
        };
        let others = async {
            // What is on its way to the disk is nothing to those who search another model.
            for _ in 0..20 {
                let found = snapshot.look_up(&other, &probes, 9).await.expect("reads");
                assert_eq!(found.map(|found| found.len()), Some(0));
            }
            slow.leave.add_permits(1);
        };
        tokio::join!(searching, others);
    }
}

#[tokio::test]
async fn a_database_behind_a_link_is_synced_where_it_is() {
    let folder = tempfile::tempdir().expect("a folder");
    let [there, link] = ["there.db", "link.db"].map(|name| folder.path().join(name));
    std::fs::write(&there, "").expect("written");
    std::os::unix::fs::symlink(&there, &link).expect("linked");
    let bench = Bench::on(DatabaseLocation::File(link)).await;
    let model = bench.locked_model("m").await;
    bench.create(&model, 1).await;
    assert!(folder.path().join("there.db-wal").exists());
    bench.stop().await;
}
