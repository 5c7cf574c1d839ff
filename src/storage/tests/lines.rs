//! Tasks by tenant, as the runtime asks for them.

use std::collections::HashSet;

use super::*;

/// All that is due, by key, and how many pages that took.
async fn all_due(storage: &Storage) -> (Vec<i64>, usize) {
    let (mut all, mut pages) = (Vec::new(), 0);
    loop {
        match storage.next_task(1_000, &HashSet::new()) {
            NextTask::Due(due) => all.extend(due.iter().map(|task| task.key.0)),
            NextTask::Read(page) => {
                pages += 1;
                storage.read_tasks(page).await.expect("reads");
            }
            NextTask::Wait(_) | NextTask::Nothing => return (all, pages),
        }
    }
}

#[tokio::test]
async fn after_a_restart_many_tasks_of_one_instant_are_all_due() {
    const COUNT: i64 = 25_000;
    let folder = tempfile::tempdir().expect("a folder");
    let place = DatabaseLocation::File(folder.path().join("interlock.db"));
    let bench = Bench::on(place.clone()).await;
    let model = bench.locked_model("m").await;
    let id = bench.create(&model, 1).await;
    let mut unit = bench.unit();
    let version = unit.read(id).await.expect("reads").expect("there");
    unit.update(&model, &version, with(&version, 2), Vec::new(), None)
        .expect("fits");
    for n in 0..COUNT {
        let name = format!("later-{n}").into();
        unit.put_task(NewTask {
            name,
            ..later(id, 7)
        })
        .expect("fits");
    }
    commit(unit).await.expect("commits");
    assert_eq!(all_due(&bench.storage).await.0.len(), 25_000);
    bench.stop().await;

    let bench = Bench::on(place).await;
    let first = bench.storage.next_task(9, &HashSet::new());
    assert!(
        matches!(first, NextTask::Read(_)),
        "nothing is read at start"
    );
    let NextTask::Read(page) = first else { return };
    bench.storage.read_tasks(page).await.expect("reads");
    let (due, pages) = all_due(&bench.storage).await;
    let distinct: HashSet<i64> = due.iter().copied().collect();
    assert_eq!((due.len(), distinct.len(), pages), (25_000, 25_000, 2));
    bench.stop().await;
}

#[tokio::test]
async fn of_continuations_only_those_are_read_that_an_earlier_process_wrote() {
    let folder = tempfile::tempdir().expect("a folder");
    let place = DatabaseLocation::File(folder.path().join("interlock.db"));
    let bench = Bench::on(place.clone()).await;
    let model = bench.locked_model("m").await;
    let suspend = async |bench: &Bench, n: i64| {
        let id = bench.create(&model, n).await;
        let mut unit = bench.unit();
        let version = unit.read(id).await.expect("reads").expect("there");
        unit.update(&model, &version, with(&version, n), Vec::new(), None)
            .expect("fits");
        let kind = TaskKind::Continuation;
        unit.put_task(NewTask {
            kind,
            ..later(id, 7)
        })
        .expect("fits");
        commit(unit).await.expect("commits");
    };
    suspend(&bench, 1).await;
    assert_eq!(all_due(&bench.storage).await, (vec![], 0));
    bench.stop().await;

    let bench = Bench::on(place).await;
    suspend(&bench, 2).await;
    let (due, pages) = all_due(&bench.storage).await;
    assert_eq!((due.len(), pages), (1, 1));
    bench.stop().await;
}
